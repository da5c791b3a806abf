"""A head that judges each discard by what the observation tells about that card.

A layer with one logit for each discard has to learn from its own examples, for each of the 48 naturals, what a pair
is and what the next player collects. This head is one small network for all of them. It is asked once for each
natural in hand, and sees what the whole observation says and, in fixed places, what it says about this card: how
many of its number are held, what the hand loses without it, whether it fits the table, what whoever may take it is
known to want. What it learns about one card it knows about all (a candidate or action-in network).

Shapes: n observations of D small integers, m candidates (a natural that some row holds while it may discard), H units,
P features of a candidate.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from phase10_agents.neural.sparse_input import pack_pairs, sparse_linear
from phase10_env.observation import Layout
from phase10_env.rules.cards import NUMBERS, WILD
from phase10_env.rules.state import PLAY

__all__ = ["DiscardHead", "DiscardViews", "FoldedHead", "discard_views"]

_NEIGHBOURS = (-2, -1, 1, 2)
_BY_KIND = (
    "hand",
    "unseen",
    "pile",
    "keeps_distance",
    "hittable",
    "seat_0.known",
    "seat_1.known",
    "seat_1.recent",
    "discard_loss",
    "feeds",
)
_BY_NUMBER = (
    "unseen_numbers",
    "helps",
    "next_known",
    "own_known",
    "near_ends",
    "receiver_known",
    "receiver_threw",
)
_BY_COLOUR = ("receiver_known", "receiver_threw")
_LEVELS = 5  # "counts" tells by number whether at least 1, 2, ... 5 are held


@dataclasses.dataclass(frozen=True, slots=True)
class DiscardViews:
    """Hold where an observation tells about each natural.

    Attributes:
        columns: int64[48, P], entries of the observation.
        factors: float32[48, P], what they are multiplied with; 0 where there is no such entry.
        hand: first of the 50 entries for the hand.
        play: the entry that is 1 while the seat may discard.
    """

    columns: torch.Tensor
    factors: torch.Tensor
    hand: int
    play: int


def discard_views(layout: Layout) -> DiscardViews:
    """Return where observations of a layout tell about each natural; a lower level tells less.

    >>> from phase10_env.observation import observation_layout
    >>> discard_views(observation_layout(2, "candidates")).columns.shape
    torch.Size([48, 28])
    >>> discard_views(observation_layout(2)).columns.shape
    torch.Size([48, 21])
    """
    fields = layout.fields
    found = []
    for kind in range(WILD):
        number, colour = kind % NUMBERS, kind // NUMBERS
        places = [fields[name].start + kind for name in _BY_KIND if name in fields]
        places += [fields[name].start + number for name in _BY_NUMBER if name in fields]
        places += [fields[name].start + NUMBERS + colour for name in _BY_COLOUR if name in fields]
        places += [fields["counts"].start + _LEVELS * number + level for level in range(1, _LEVELS)]
        places.append(fields["hand_colours"].start + colour)
        for step in _NEIGHBOURS:
            there = 0 <= number + step < NUMBERS
            places.append(fields["hand_numbers"].start + number + step if there else -1)
        found.append(places)
    columns = torch.tensor(found)
    factors = torch.from_numpy(layout.scale)[columns.clamp(min=0)] * (columns >= 0)
    return DiscardViews(columns.clamp(min=0), factors, fields["hand"].start, fields["stage"].start + PLAY)


@dataclasses.dataclass(frozen=True, slots=True)
class FoldedHead:
    """Hold the head's weights in the form the products take.

    Attributes:
        state: [D, H], scales folded in, for raw integers; packed: the same as bf16 pairs, or None.
        kinds: [48, H]; told: [P, H]; direct: [P].
        hidden: (weight [H / 2, H], bias); out: [H / 2].
    """

    state: torch.Tensor
    packed: torch.Tensor | None
    kinds: torch.Tensor
    told: torch.Tensor
    direct: torch.Tensor
    hidden: tuple[torch.Tensor, torch.Tensor]
    out: torch.Tensor


class DiscardHead(nn.Module):
    """Score the naturals that a seat may discard; the scores are added to their logits.

    worth = out . relu(hidden relu(state x + kinds[k] + told v)) + direct . v, with v the entries about natural k; the
    score is that less the worth of the best natural in hand. So the head ranks the cards, and how much speaks for
    discarding at all is left to the rest of the network. At first every score is 0.

    Args:
        views: where the observation tells about a natural.
        scale: float32[D], factor of each entry; one of factor 0 is not read (except about the card itself).
        units: H, even.
        generator: of the initial weights.

    >>> from phase10_env.observation import observation_layout
    >>> layout = observation_layout(2)
    >>> head = DiscardHead(discard_views(layout), torch.from_numpy(layout.scale), 8, torch.Generator())
    >>> seen = torch.zeros(1, layout.size, dtype=torch.uint8)
    >>> seen[0, [5, 17, head.play]] = 1
    >>> rows, kinds, scores = head(seen, head.fold(torch.float32, True))
    >>> rows.tolist(), kinds.tolist(), scores.tolist()
    ([0, 0], [5, 17], [0.0, 0.0])
    """

    columns: torch.Tensor
    factors: torch.Tensor
    scale: torch.Tensor

    def __init__(
        self, views: DiscardViews, scale: torch.Tensor, units: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.hand, self.play = views.hand, views.play
        for name, values in (("columns", views.columns), ("factors", views.factors), ("scale", scale)):
            self.register_buffer(name, values, persistent=False)
        self._read = np.flatnonzero(scale.numpy(force=True)).astype(np.uint16)

        def uniform(rows: int, columns: int, fan_in: int) -> nn.Parameter:
            bound = fan_in**-0.5
            return nn.Parameter(torch.empty(rows, columns).uniform_(-bound, bound, generator=generator))

        told = views.columns.shape[1]
        self.state = uniform(len(scale), units, len(scale))
        self.bias = nn.Parameter(torch.zeros(units))
        self.kinds = uniform(len(views.columns), units, 4 * units)
        self.told = uniform(told, units, told)
        self.direct = nn.Parameter(torch.zeros(told))
        self.hidden = nn.utils.skip_init(nn.Linear, units, units // 2)  # type: ignore[no-untyped-call]  # untyped in torch
        self.hidden.weight = uniform(units // 2, units, units)
        nn.init.zeros_(self.hidden.bias)
        self.out = nn.Parameter(torch.zeros(units // 2))

    def fold(self, dtype: torch.dtype, sparse: bool) -> FoldedHead:
        """Return the weights ready for products in a precision."""
        scaled = self.state * self.scale[:, None]
        return FoldedHead(
            state=scaled if sparse else scaled.to(dtype),
            packed=pack_pairs(scaled) if sparse and dtype == torch.bfloat16 else None,
            kinds=self.kinds.to(dtype),
            told=self.told.to(dtype),
            direct=self.direct.to(dtype),
            hidden=(self.hidden.weight.to(dtype), self.hidden.bias.to(dtype)),
            out=self.out.to(dtype),
        )

    def forward(
        self, observations: torch.Tensor, folded: FoldedHead, dropout: float = 0.0
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the candidates of all rows: row int64[m], kind int64[m] and score float32[m].

        Args:
            observations: uint8[n, D].
            folded: `fold()` of the present weights.
            dropout: share of the first hidden layer that is left out, while it learns.
        """
        playing = observations[:, self.play].nonzero().squeeze(1)
        seen = observations.index_select(0, playing)
        places, kinds = (seen[:, self.hand : self.hand + len(self.columns)] > 0).nonzero(as_tuple=True)
        dtype = folded.kinds.dtype
        if self.state.device.type == "cpu" and folded.state.dtype == torch.float32:
            state = sparse_linear(seen, folded.state, self.bias, folded.packed, self._read)
        else:
            state = torch.addmm(self.bias.to(dtype), seen.to(dtype), folded.state)
        told = seen[places[:, None], self.columns[kinds]].float() * self.factors[kinds]
        told = told.to(dtype)
        hidden = torch.addmm(state[places] + folded.kinds[kinds], told, folded.told)
        hidden = functional.dropout(functional.relu(hidden), dropout, dropout > 0.0)
        hidden = functional.relu(functional.linear(hidden, *folded.hidden))
        worths = (hidden @ folded.out + told @ folded.direct).float()
        best = torch.full((len(seen),), -torch.inf, device=worths.device)
        best = best.scatter_reduce(0, places, worths, "amax")
        return playing[places], kinds, worths - best[places]
