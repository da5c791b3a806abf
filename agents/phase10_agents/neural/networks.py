"""The policy and value network: small counts in, action logits and a value out.

Shapes: n observations of D small integers (uint8), A actions (165), Q privileged integers for the critic.
Weights are float32; products may run in bf16.
"""

from __future__ import annotations

import copy
import dataclasses
import fnmatch
import math
from typing import Literal

import msgspec
import numpy as np
import torch
from torch import nn
from torch.nn import functional

from phase10_agents.neural.discard_head import DiscardHead, DiscardViews, FoldedHead, discard_views
from phase10_agents.neural.listed_head import listed_logits
from phase10_agents.neural.sparse_input import pack_pairs, sparse_linear
from phase10_env.actions import DISCARD
from phase10_env.names import hint
from phase10_env.observation import Layout

__all__ = [
    "IGNORED_FIELDS",
    "SHORTCUT_GAIN",
    "FoldedWeights",
    "NetworkError",
    "NetworkSettings",
    "PolicyValueNet",
    "fast_precision",
    "input_scale",
    "masked_log_softmax",
    "network_for",
    "shortcut_columns",
]

ACTIONS = 165

SHORTCUT_GAIN = 50.0
"""Factor on shortcut weights: a choice between two discards turns on hundredths, and Adam moves a weight only by
the learning rate at each step, so that without it the weights would take thousands of steps to get there."""

Precision = Literal["fp32", "bf16"]


IGNORED_FIELDS = (
    "hand_numbers",
    "pile",
    "table",
    "unseen",
    "players",
    "rules_*",
    "seat_*.present",
    "seat_*.active",
    "seat_*.done",
)


class NetworkError(ValueError):
    """A network cannot be built or fed as asked."""


class NetworkSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the shape of the network and how it computes.

    Attributes:
        actor: widths of the policy's hidden layers.
        critic: widths of the value's hidden layers; the first of both must add up to an even number.
        precision: of matrix products; "auto" is bf16 where the device multiplies it natively.
        input_layer: "sparse" skips the zeros of the observation (CPU only), "dense" does not, "auto" is
            sparse on a CPU.
        ignored: fields of the observation that the network does not read, `*` for any letters. The default
            leaves out what other fields tell as well, and the rules, which do not change within a training.
        shortcut: fields that also reach the policy's logits directly, through one linear layer: what an
            action would do may then speak for it without passing through the hidden layers.
        discards: units of a head that judges each discard by what the observation tells about that card
            (discard_head.py), an even number; 0: none.

    >>> NetworkSettings(actor=(512, 256)).critic
    (128, 128)
    """

    actor: tuple[int, ...] = (256, 256)
    critic: tuple[int, ...] = (128, 128)
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    input_layer: Literal["auto", "dense", "sparse"] = "auto"
    ignored: tuple[str, ...] = IGNORED_FIELDS
    shortcut: tuple[str, ...] = ()
    discards: int = 0


def input_scale(layout: Layout, settings: NetworkSettings) -> torch.Tensor:
    """Return the factor of each observation entry, float32[D]: the layout's, 0 where the network does not read.

    Raises:
        NetworkError: an ignored name that no field has.

    >>> from phase10_env.observation import observation_layout
    >>> scale = input_scale(observation_layout(2), NetworkSettings(ignored=("hand",)))
    >>> scale[:51].tolist()[-2:]
    [0.0, 0.25]
    """
    scale = torch.from_numpy(layout.scale)
    for name in _names(layout, "ignored", settings.ignored):
        scale[layout.fields[name].slice] = 0.0
    return scale


def shortcut_columns(layout: Layout, settings: NetworkSettings) -> torch.Tensor:
    """Return the observation entries that reach the logits directly, int64[S].

    Raises:
        NetworkError: a name that no field has.

    >>> from phase10_env.observation import observation_layout
    >>> len(shortcut_columns(observation_layout(2), NetworkSettings(shortcut=("keeps_distance",))))
    48
    """
    names = _names(layout, "shortcut", settings.shortcut)
    entries = [layout.fields[name] for name in names]
    return torch.tensor([at for field in entries for at in range(field.start, field.slice.stop)]).long()


def _names(layout: Layout, option: str, patterns: tuple[str, ...]) -> list[str]:
    """Return the fields that patterns name."""
    found: list[str] = []
    for pattern in patterns:
        names = fnmatch.filter(layout.fields, pattern)
        if not names:
            raise NetworkError(
                f"network.{option} names {pattern!r}, which no field has; {hint(pattern, layout.fields, 'field')}"
            )
        found += names
    return found


def network_for(
    layout: Layout,
    settings: NetworkSettings,
    *,
    privileged_scale: torch.Tensor | None = None,
    seed: int = 0,
) -> PolicyValueNet:
    """Return a fresh network for observations of a layout.

    Args:
        layout: of the observations.
        settings: the shape.
        privileged_scale: float32[Q] for a critic that also sees hidden state, else None.
        seed: of the initial weights.

    Raises:
        NetworkError: a shape that cannot be built, or a name of no field.

    >>> from phase10_env.observation import observation_layout
    >>> net = network_for(observation_layout(2), NetworkSettings(actor=(16,), critic=(8,), discards=4))
    >>> net.discards is not None
    True
    """
    return PolicyValueNet(
        input_scale(layout, settings),
        settings,
        privileged_scale=privileged_scale,
        shortcut=shortcut_columns(layout, settings),
        views=discard_views(layout) if settings.discards else None,
        seed=seed,
    )


def fast_precision(device: torch.device) -> Precision:
    """Return "bf16" if the device has matrix instructions for it (on a CPU: AMX), else "fp32".

    Without them bf16 products are slower than fp32: through conversions, or, where a CPU has dot products of bf16
    pairs alone (AVX-512 BF16), at about half the rate.

    >>> fast_precision(torch.device("cpu")) in ("fp32", "bf16")
    True
    """
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    if device.type == "cpu" and hasattr(torch.cpu, "get_capabilities"):
        found = torch.cpu.get_capabilities()
        return "bf16" if found.get("amx_bf16") or found.get("bf16") else "fp32"
    return "fp32"


@dataclasses.dataclass(frozen=True, slots=True)
class FoldedWeights:
    """Hold the weights in the form the products take: scales folded in, rounded to the precision.

    Attributes:
        input: [D, Ha + Hc], first layers of actor and critic side by side, for raw integers.
        packed: the same as bf16 pairs for the sparse product, or None.
        privileged: [Q, Hc] or None.
        actor, critic: (weight [out, in], bias) of the further layers, the heads last.
        shortcut: [S, A] or None, from the shortcut entries to the logits.
        discards: of the discard head, or None.
    """

    input: torch.Tensor
    packed: torch.Tensor | None
    privileged: torch.Tensor | None
    actor: tuple[tuple[torch.Tensor, torch.Tensor], ...]
    critic: tuple[tuple[torch.Tensor, torch.Tensor], ...]
    shortcut: torch.Tensor | None = None
    discards: FoldedHead | None = None


class PolicyValueNet(nn.Module):
    """Map observations to action logits and values with separate actor and critic trunks.

    The first layers of both trunks are one product. The observation's scales are folded into its weights, so
    raw integers go in. Layers start orthogonal with gain √2, the policy head with 0.01, the value head with
    1, biases at zero.

    Args:
        scale: float32[D], factor of each observation entry (about 1 / its largest value); an entry of factor
            0 is not read.
        settings: widths and precision.
        privileged_scale: float32[Q] for a critic that also sees hidden state, else None.
        shortcut: int64[S], entries that also reach the logits directly (`shortcut_columns`).
        views: where the observation tells about each discard (`discard_views`), for a network with a head for them.
        actions: A.
        seed: of the initial weights.

    Raises:
        NetworkError: no hidden layer, or an odd first layer or discard head.

    >>> net = PolicyValueNet(torch.ones(40), NetworkSettings(actor=(16,), critic=(16, 8)), seed=1)
    >>> logits, values = net(torch.zeros(3, 40, dtype=torch.uint8))
    >>> logits.shape, values.shape
    (torch.Size([3, 165]), torch.Size([3]))
    """

    scale: torch.Tensor
    privileged_scale: torch.Tensor
    shortcut_columns: torch.Tensor

    def __init__(
        self,
        scale: torch.Tensor,
        settings: NetworkSettings,
        *,
        privileged_scale: torch.Tensor | None = None,
        shortcut: torch.Tensor | None = None,
        views: DiscardViews | None = None,
        actions: int = ACTIONS,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not settings.actor or not settings.critic or (settings.actor[0] + settings.critic[0]) % 2:
            raise NetworkError(
                f"expected at least one layer a trunk and first widths with an even sum, found actor "
                f"{settings.actor} and critic {settings.critic}; choose widths such as (256, 256)"
            )
        if settings.discards < 0 or settings.discards % 2 or (settings.discards > 0 and views is None):
            raise NetworkError(
                f"expected discards to be an even number of units, and the network to be made for a layout, "
                f"found {settings.discards}; choose 0 or a number such as 128, and use network_for"
            )
        self.settings, self.views = settings, views
        self.register_buffer("scale", scale.to(torch.float32), persistent=False)
        self.read = np.flatnonzero(scale.numpy(force=True)).astype(np.uint16)  # entries it does not ignore
        no_state = torch.zeros(0)
        self.register_buffer(
            "privileged_scale",
            no_state if privileged_scale is None else privileged_scale.float(),
            persistent=False,
        )
        generator = torch.Generator().manual_seed(seed)

        def orthogonal(rows: int, columns: int, gain: float) -> nn.Parameter:
            weight = torch.empty(rows, columns)
            return nn.Parameter(nn.init.orthogonal_(weight, gain, generator=generator))

        def trunk(widths: tuple[int, ...], out: int, head_gain: float) -> nn.ModuleList:
            layers = nn.ModuleList()
            for i, (width, after) in enumerate(zip(widths, (*widths[1:], out), strict=True)):
                # Without skip_init the layer would draw weights from the global random generator.
                layer = nn.utils.skip_init(nn.Linear, width, after)  # type: ignore[no-untyped-call]  # untyped in torch
                layer.weight = orthogonal(after, width, head_gain if i == len(widths) - 1 else math.sqrt(2))
                nn.init.zeros_(layer.bias)
                layers.append(layer)
            return layers

        first = [
            orthogonal(len(scale), widths[0], math.sqrt(2)) for widths in (settings.actor, settings.critic)
        ]
        self.input_weight = nn.Parameter(torch.cat([part.detach() for part in first], dim=1))
        self.input_bias = nn.Parameter(torch.zeros(self.input_weight.shape[1]))
        self.privileged_weight: nn.Parameter | None = None
        if privileged_scale is not None:
            self.privileged_weight = orthogonal(len(privileged_scale), settings.critic[0], math.sqrt(2))
        columns = torch.zeros(0, dtype=torch.int64) if shortcut is None else shortcut
        self.register_buffer("shortcut_columns", columns, persistent=False)
        self.shortcut_weight: nn.Parameter | None = None
        if len(columns):
            self.shortcut_weight = nn.Parameter(torch.zeros(len(columns), actions))
        self.actor = trunk(settings.actor, actions, 0.01)
        self.critic = trunk(settings.critic, 1, 1.0)
        self.discards: DiscardHead | None = None
        if views is not None and settings.discards:
            self.discards = DiscardHead(views, self.scale, settings.discards, generator)

    def twin(self) -> PolicyValueNet:
        """Return a network that shares this one's weights, now and later, but has gradients of its own."""
        twin = copy.deepcopy(self)
        for theirs, ours in zip(twin.parameters(), self.parameters(), strict=True):
            theirs.data = ours.data
        return twin

    def sibling(
        self,
        settings: NetworkSettings,
        *,
        privileged_scale: torch.Tensor | None = None,
        views: DiscardViews | None = None,
        seed: int = 0,
    ) -> PolicyValueNet:
        """Return a fresh network for the same observations, of another shape or sight.

        `views` are for a discard head that this network lacks.
        """
        return PolicyValueNet(
            self.scale,
            settings,
            privileged_scale=privileged_scale,
            shortcut=self.shortcut_columns,
            views=self.views or views,
            seed=seed,
        )

    def policy_copy(self) -> PolicyValueNet:
        """Return a copy of the policy alone, with the least critic there can be; its values mean nothing."""
        settings = msgspec.structs.replace(self.settings, critic=(2 - self.settings.actor[0] % 2,))
        other = self.sibling(settings).to(self.device)
        with torch.no_grad():
            for ours, theirs in zip(other.policy_weights(), self.policy_weights(), strict=True):
                ours.copy_(theirs)
        return other

    def policy_weights(self) -> list[torch.Tensor]:
        """Return the weights that the policy depends on, as views: those of the actor, without the critic's."""
        width = self.settings.actor[0]
        shortcut = [] if self.shortcut_weight is None else [self.shortcut_weight]
        head = [] if self.discards is None else list(self.discards.parameters())
        return [
            self.input_weight[:, :width],
            self.input_bias[:width],
            *shortcut,
            *self.actor.parameters(),
            *head,
        ]

    @property
    def sight(self) -> torch.Tensor | None:
        """The factors of the hidden state that the critic sees, or None."""
        return self.privileged_scale if len(self.privileged_scale) else None

    @property
    def device(self) -> torch.device:
        """The device that holds the weights."""
        return self.input_weight.device

    @property
    def precision(self) -> Precision:
        """The precision of products on the present device."""
        return fast_precision(self.device) if self.settings.precision == "auto" else self.settings.precision

    @property
    def is_sparse(self) -> bool:
        """Whether the first layer skips zeros on the present device."""
        return self.device.type == "cpu" and self.settings.input_layer != "dense"

    def fold(self) -> FoldedWeights:
        """Return the weights ready for products; differentiable, unless called under `torch.no_grad`.

        A rollout calls this once and passes the result to `forward`: its weights do not change.
        """
        dtype = torch.bfloat16 if self.precision == "bf16" else torch.float32
        scaled = self.input_weight * self.scale[:, None]
        packed = pack_pairs(scaled) if self.is_sparse and dtype == torch.bfloat16 else None
        privileged = None
        if self.privileged_weight is not None:
            privileged = (self.privileged_weight * self.privileged_scale[:, None]).to(dtype)
        shortcut = None
        if self.shortcut_weight is not None:
            shortcut = self.shortcut_matrix().to(dtype)

        def layers(trunk: nn.ModuleList) -> tuple[tuple[torch.Tensor, torch.Tensor], ...]:
            linear = [layer for layer in trunk if isinstance(layer, nn.Linear)]
            return tuple((layer.weight.to(dtype), layer.bias.to(dtype)) for layer in linear)

        return FoldedWeights(
            input=scaled if self.is_sparse else scaled.to(dtype),
            packed=packed,
            privileged=privileged,
            actor=layers(self.actor),
            critic=layers(self.critic),
            shortcut=shortcut,
            discards=None if self.discards is None else self.discards.fold(dtype, self.is_sparse),
        )

    @property
    def shortcut_scale(self) -> torch.Tensor:
        """The factors folded into the shortcut's weights, float32[S]."""
        return SHORTCUT_GAIN * self.scale[self.shortcut_columns]

    def shortcut_matrix(self) -> torch.Tensor:
        """Return what the shortcut multiplies raw integers with, float32[S, A]."""
        assert self.shortcut_weight is not None
        return self.shortcut_weight * self.shortcut_scale[:, None]

    def forward(
        self,
        observations: torch.Tensor,
        privileged: torch.Tensor | None = None,
        *,
        folded: FoldedWeights | None = None,
        legal: tuple[torch.Tensor, torch.Tensor] | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits float32[n, A] and values float32[n].

        Args:
            observations: uint8[n, D].
            privileged: uint8[n, Q], exactly when the network has a `privileged_scale`.
            folded: `fold()` of the present weights, to save folding them again.
            legal: legal actions uint8[n, L] and how many of them count, int16[n]: of other actions no logit is asked
                for, which saves time in float32 on a CPU. Without gradients only.

        Raises:
            NetworkError: widths that do not fit.
        """
        self._check(observations, privileged)
        weights = self.fold() if folded is None else folded
        dtype = weights.actor[0][0].dtype
        if self.is_sparse:
            hidden = sparse_linear(observations, weights.input, self.input_bias, weights.packed, self.read)
        else:
            hidden = torch.addmm(self.input_bias.to(dtype), observations.to(dtype), weights.input)
        actor, critic = torch.split(hidden, [self.settings.actor[0], self.settings.critic[0]], dim=1)
        if privileged is not None and weights.privileged is not None:
            critic = torch.addmm(critic, privileged.to(dtype), weights.privileged)
        actor = _through_hidden(functional.relu(actor), weights.actor)
        if legal is not None and self.device.type == "cpu" and dtype == torch.float32:
            weight, bias = weights.actor[-1]
            logits = torch.zeros(len(actor), len(weight))
            listed_logits(actor.contiguous(), weight.contiguous(), bias, *legal, logits)
        else:
            logits = functional.linear(actor, *weights.actor[-1])
        if weights.shortcut is not None:
            entries = observations.index_select(1, self.shortcut_columns).to(dtype)
            logits = torch.addmm(logits, entries, weights.shortcut)
        if self.discards is not None and weights.discards is not None:
            rows, kinds, scores = self.discards(observations, weights.discards)
            logits = logits.float().index_put((rows, DISCARD + kinds), scores, accumulate=True)
        values = functional.linear(
            _through_hidden(functional.relu(critic), weights.critic), *weights.critic[-1]
        )
        return logits.float(), values.float().squeeze(1)

    def _check(self, observations: torch.Tensor, privileged: torch.Tensor | None) -> None:
        width = 0 if privileged is None else privileged.shape[1]
        if observations.shape[1] != len(self.scale) or width != len(self.privileged_scale):
            raise NetworkError(
                f"expected observations of {len(self.scale)} and privileged state of "
                f"{len(self.privileged_scale)} entries, found {observations.shape[1]} and {width}; use the "
                f"observation layout the network was made for"
            )


def _through_hidden(
    hidden: torch.Tensor, layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]
) -> torch.Tensor:
    """Return what reaches the head, the last of the layers."""
    for weight, bias in layers[:-1]:
        hidden = functional.relu(functional.linear(hidden, weight, bias))
    return hidden


def masked_log_softmax(logits: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities float[n, A] with -inf for illegal actions.

    Args:
        logits: float[n, A].
        masks: bool[n, A], True where legal; at least one a row.

    >>> masked_log_softmax(torch.zeros(1, 3), torch.tensor([[True, False, True]])).exp().tolist()
    [[0.5, 0.0, 0.5]]
    """
    return torch.log_softmax(logits.masked_fill(~masks, float("-inf")), dim=1)
