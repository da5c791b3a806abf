"""Teaches a policy one question apart: which card to discard.

The discards' logits come from a head of their own (`phase10_agents.neural.discard_head`), which judges a card by what
the observation tells about it; of what the policy thought of them a share stays, to decide between cards that the
head finds alike. For a decision with discards k and labels Q the head's scores s are fitted by regression, both less
their means over the decision's discards,

    UNIT * s_k  ~  Q(k)

so that the policy throws what is expected to cost it least. The best card in hand has the score 0, so discards stand
to other actions about as they did; when to lay down is a lesson for afterwards (`grown_lessons.py`). Most differences
between two discards are far smaller than a label's noise: the head is kept from learning that noise by dropout
(Srivastava et al. 2014) and weight decay, and by being one function for all cards. Where that is not enough, as with
three opponents, of whom a discard helps one, it also imitates the heuristic, by a cross-entropy of some weight, and
leaves the heuristic's discard only where the labels speak clearly for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np
import torch

from phase10_agents.neural.discard_head import discard_views
from phase10_agents.neural.networks import PolicyValueNet
from phase10_env.actions import DISCARD
from phase10_env.observation import Layout
from phase10_env.rules.cards import WILD
from phase10_training.errors import UsageError
from phase10_training.grown_lessons import ERROR, UNIT, imitation_loss
from phase10_training.labels import Labels

__all__ = ["DiscardLesson", "discard_labels", "teach_discards", "with_discard_head"]

_DISCARDS = slice(DISCARD, DISCARD + WILD)
"""The actions that discard a natural."""


@dataclass(frozen=True)
class DiscardLesson:
    """Hold how the question is taught.

    Attributes:
        units: of the head, an even number.
        epochs: passes over the labels.
        minibatch: decisions in one gradient step.
        learning_rate: of the first step; it falls to zero.
        weight_decay: of the head's weights (Loshchilov and Hutter 2019).
        dropout: share of the head's first layer that is left out in each step.
        kept: share of the policy's own logits of discards that stays, if they came from no head.
        imitation: weight of the cross-entropy towards the heuristic's discard, beside the squared error in units of
            ERROR.
        question: what it is about, and the name of the option that asks for it.
    """

    units: int = 128
    epochs: int = 4
    minibatch: int = 1024
    learning_rate: float = 5e-4
    weight_decay: float = 0.3
    dropout: float = 0.3
    kept: float = 0.25
    imitation: float = 0.0
    question: ClassVar[str] = "discards"

    def __post_init__(self) -> None:
        """Refuse what cannot be taught."""
        if self.units < 2 or self.units % 2:
            raise UsageError(f"discards must be an even number of units, at least 2, found {self.units}.")
        for name in ("epochs", "minibatch", "learning_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"{name} must be above 0 and finite, found {getattr(self, name)}.")
        if not 0 <= self.dropout < 1:
            raise UsageError(f"dropout must be from 0 to 1, and below 1, found {self.dropout}.")
        if not 0 <= self.kept <= 1:
            raise UsageError(f"kept must be from 0 to 1, found {self.kept}.")
        if not 0 <= self.imitation < math.inf:
            raise UsageError(f"imitation must be at least 0 and finite, found {self.imitation}.")


def with_discard_head(
    net: PolicyValueNet, layout: Layout, units: int, kept: float = DiscardLesson.kept, seed: int = 0
) -> PolicyValueNet:
    """Return the same policy and values but for discards, which a fresh head will judge.

    Args:
        net: stays as it is; a head that it has is left out.
        layout: of its observations.
        units: of the head, an even number.
        kept: share of its logits of discards that stays. Of a network that had a head, whose logits mean nothing
            without it, nothing stays.
        seed: of the head's weights.

    >>> from phase10_agents.neural.networks import NetworkSettings, network_for
    >>> from phase10_env.observation import observation_layout
    >>> layout = observation_layout(2)
    >>> net = network_for(layout, NetworkSettings(actor=(8,), critic=(4,)), seed=1)
    >>> seen = torch.zeros(1, layout.size, dtype=torch.uint8)
    >>> before, after = net(seen)[0], with_discard_head(net, layout, 16)(seen)[0]
    >>> (
    ...     torch.allclose(after[:, 111:159], before[:, 111:159] / 4),
    ...     torch.equal(after[:, :111], before[:, :111]),
    ... )
    (True, True)
    """
    other = net.sibling(
        msgspec.structs.replace(net.settings, discards=units),
        privileged_scale=net.sight,
        views=discard_views(layout),
        seed=seed,
    )
    fresh = {name: value for name, value in other.state_dict().items() if name.startswith("discards.")}
    rest = {name: value for name, value in net.state_dict().items() if not name.startswith("discards.")}
    other.load_state_dict(rest | fresh)
    head = other.actor[-1]
    assert isinstance(head, torch.nn.Linear)
    share = kept if net.discards is None else 0.0
    with torch.no_grad():
        head.weight[_DISCARDS] *= share
        head.bias[_DISCARDS] *= share
        if other.shortcut_weight is not None:
            other.shortcut_weight[:, _DISCARDS] *= share
    return other


def discard_labels(labels: Labels) -> Labels:
    """Return the labels of decisions with two discards at least."""
    return labels.rows(np.flatnonzero(labels.places(_DISCARDS).sum(axis=1) > 1))


def teach_discards(
    net: PolicyValueNet, labels: Labels, lesson: DiscardLesson, seed: int = 0
) -> Iterator[dict[str, float]]:
    """Teach a network's discard head; after each epoch yield its errors.

    Args:
        net: from `with_discard_head`; its head changes, nothing else.
        labels: from `discard_labels`.
        lesson: how.
        seed: of the order of the labels and of what is left out.

    Yields:
        `distill/discard_error`, the root of the mean squared error in units of equity, and
        `distill/imitation_loss`, the cross-entropy of the heuristic's discards in nats.
    """
    head = net.discards
    if head is None:
        raise ValueError("expected a network with a discard head; make it with with_discard_head")
    optimizer = torch.optim.AdamW(
        head.parameters(), lr=lesson.learning_rate, weight_decay=lesson.weight_decay
    )
    steps = max(1, len(labels) // lesson.minibatch)
    for epoch in range(lesson.epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(labels))
        torch.manual_seed(seed + epoch)
        sums = np.zeros(2)
        for step, rows in enumerate(np.array_split(order, steps)):
            rate = lesson.learning_rate * (1.0 - (epoch * steps + step) / (lesson.epochs * steps))
            for group in optimizer.param_groups:
                group["lr"] = rate
            error, distance = _losses(net, labels.rows(rows), lesson.dropout)
            loss = error + lesson.imitation * distance
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimizer.step()
            sums += float(error.detach()), float(distance.detach())
        yield {
            "distill/discard_error": ERROR * float(np.sqrt(sums[0] / steps)),
            "distill/imitation_loss": float(sums[1] / steps),
            "train/learning_rate": rate,
        }


def _losses(net: PolicyValueNet, labels: Labels, dropout: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean squared error of the differences between discards, and the cross-entropy of the heuristic's."""
    assert net.discards is not None
    observations = torch.from_numpy(labels.observations)
    folded = net.discards.fold(torch.float32, net.is_sparse)
    rows, kinds, scores = net.discards(observations, folded, dropout)
    table = torch.zeros(len(labels), WILD).index_put((rows, kinds), scores)
    valid = torch.from_numpy(labels.places(_DISCARDS))
    places = torch.from_numpy(labels.legal_actions.astype(np.int64)) - DISCARD
    listed = table.gather(1, places.clamp(0, WILD - 1))
    count = valid.sum(dim=1, keepdim=True)

    def centred(values: torch.Tensor) -> torch.Tensor:
        return (values - (values * valid).sum(dim=1, keepdim=True) / count) * valid

    difference = centred(UNIT * listed) - centred(torch.from_numpy(labels.values))
    return (difference / ERROR).square().sum() / count.sum(), imitation_loss(listed, labels, valid)
