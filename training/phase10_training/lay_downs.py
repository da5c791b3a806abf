"""Teaches a policy one question apart: whether to lay its phase down now, or to hold it back for a turn.

A clone lays down at once, always, as its teacher does, with odds of e^40, and its other logits are worth keeping as
they are. So the question gets hidden units of its own: the actor *grows*, the new units reach no logit but those of
the lay-downs, and only they and these logits learn. For a decision with a lay-down l, the policy's likeliest other
action d and labels Q, the logits z are fitted by regression to

    UNIT * (z_d - z_l)  ~  Q(d) - Q(l)

so that the policy lays down exactly where that is expected to be worth more. To begin to lay down card by card has
the same logit less 1: it leads to the same, and to choices of cards that no label teaches. A regression moves a
policy that is far too sure as quickly as any other, which the gradient of an expectation under that policy does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch

from phase10_agents.neural.networks import NetworkError, PolicyValueNet
from phase10_env.actions import BUILD, LAY, NUMBER
from phase10_training.errors import UsageError
from phase10_training.labels import Labels

__all__ = ["LayDownLesson", "grown", "holding_labels", "teach_lay_downs"]

UNIT = 0.002
"""Win equity that one logit stands for: differences in it are of some hundredths, so logits of some tens."""
_LAYING = slice(LAY, BUILD)
"""The actions that lay a phase down at once."""
_BUILDING = slice(BUILD, NUMBER)
"""The actions that begin to lay it down card by card: where one is legal, the other is."""
ERROR = 0.05
"""Win equity that counts as one unit of loss: about the standard error of a label."""


@dataclass(frozen=True)
class LayDownLesson:
    """Hold how the question is taught.

    Attributes:
        units: new hidden units in each layer of the actor, an even number.
        epochs: passes over the labels.
        minibatch: decisions in one gradient step.
        learning_rate: of the first step; it falls to zero.
        weight_decay: of the new weights (Loshchilov and Hutter 2019).
    """

    units: int = 128
    epochs: int = 5
    minibatch: int = 2048
    learning_rate: float = 1e-3
    weight_decay: float = 0.3

    def __post_init__(self) -> None:
        """Refuse what cannot be taught."""
        if self.units < 2 or self.units % 2:
            raise UsageError(f"lay-downs must be an even number of units, at least 2, found {self.units}.")
        for name in ("epochs", "minibatch", "learning_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"{name} must be above 0 and finite, found {getattr(self, name)}.")


def grown(net: PolicyValueNet, units: int, seed: int = 0) -> PolicyValueNet:
    """Return the same policy and values, with more units in each of the actor's layers, that reach no logit yet.

    Args:
        net: stays as it is.
        units: new units a layer, an even number.
        seed: of the new weights.

    >>> from phase10_agents.neural.networks import NetworkSettings
    >>> net = PolicyValueNet(torch.ones(6), NetworkSettings(actor=(8, 4), critic=(4,), precision="fp32"))
    >>> wide = grown(net, 2)
    >>> x = torch.ones(1, 6, dtype=torch.uint8)
    >>> wide.settings.actor, torch.allclose(net(x)[0], wide(x)[0], atol=1e-6)
    ((10, 6), True)
    """
    actor = tuple(width + units for width in net.settings.actor)
    wide = net.sibling(
        msgspec.structs.replace(net.settings, actor=actor),
        privileged_scale=net.sight,
        seed=seed,
    )
    old, new = net.settings.actor[0], actor[0]
    with torch.no_grad():
        for ours, theirs in ((wide.input_weight, net.input_weight), (wide.input_bias, net.input_bias)):
            ours[..., :old] = theirs[..., :old]
            ours[..., new:] = theirs[..., old:]
        for layer, before in zip(wide.actor, net.actor, strict=True):
            assert isinstance(layer, torch.nn.Linear)
            assert isinstance(before, torch.nn.Linear)
            out, into = before.weight.shape
            layer.weight[:out, :into] = before.weight
            layer.weight[:out, into:] = 0.0
            layer.bias[:out] = before.bias
        wide.critic.load_state_dict(net.critic.state_dict())
        for name in ("shortcut_weight", "privileged_weight"):
            if getattr(net, name) is not None:
                getattr(wide, name).copy_(getattr(net, name))
    if net.discards is not None and wide.discards is not None:
        wide.discards.load_state_dict(net.discards.state_dict())
    return wide


def _learnable(net: PolicyValueNet, units: int) -> dict[str, torch.Tensor]:
    """Return for each parameter that learns a mask of the entries that do: those of new units and lay-downs."""
    first = net.settings.actor[0]

    def mask(weight: torch.Tensor) -> torch.Tensor:
        return torch.zeros(weight.shape, dtype=torch.bool)

    found = {"input_weight": mask(net.input_weight), "input_bias": mask(net.input_bias)}
    for name in found:
        found[name][..., first - units : first] = True
    for i, layer in enumerate(net.actor):
        assert isinstance(layer, torch.nn.Linear)
        last = i == len(net.actor) - 1
        rows = _LAYING if last else slice(layer.out_features - units, None)
        for name, weight in (("weight", layer.weight), ("bias", layer.bias)):
            found[f"actor.{i}.{name}"] = mask(weight)
            found[f"actor.{i}.{name}"][rows] = True
    if net.shortcut_weight is not None:
        found["shortcut_weight"] = mask(net.shortcut_weight)
        found["shortcut_weight"][:, _LAYING] = True
    return found


def _forget_lay_downs(net: PolicyValueNet) -> None:
    """Set what reaches the logits of lay-downs to zero: odds of e^40 would take longer to unlearn than to leave out."""
    head = net.actor[-1]
    assert isinstance(head, torch.nn.Linear)
    with torch.no_grad():
        head.weight[_LAYING] = 0.0
        head.bias[_LAYING] = 0.0
        if net.shortcut_weight is not None:
            net.shortcut_weight[:, _LAYING] = 0.0


def _build_as_laid(net: PolicyValueNet) -> None:
    """Make the logit to build a phase that to lay it at once, less 1."""
    head = net.actor[-1]
    assert isinstance(head, torch.nn.Linear)
    with torch.no_grad():
        head.weight[_BUILDING] = head.weight[_LAYING]
        head.bias[_BUILDING] = head.bias[_LAYING] - 1.0
        if net.shortcut_weight is not None:
            net.shortcut_weight[:, _BUILDING] = net.shortcut_weight[:, _LAYING]


def holding_labels(labels: Labels) -> Labels:
    """Return the labels of decisions in which a phase may be laid down, and something else done."""
    laying = labels.places(_LAYING)
    rows = np.flatnonzero(
        laying.any(axis=1) & (labels.legal & ~laying & ~labels.places(_BUILDING)).any(axis=1)
    )
    return labels.rows(rows)


def teach_lay_downs(
    net: PolicyValueNet, labels: Labels, lesson: LayDownLesson, seed: int = 0
) -> Iterator[dict[str, float]]:
    """Teach a grown network when to lay down; after each epoch yield the mean squared error, in units of equity.

    Args:
        net: from `grown`, with the lesson's units; it changes.
        labels: from `holding_labels`.
        lesson: how.
        seed: of the order of the labels.

    Raises:
        NetworkError: a network that has not so many units.
    """
    if min(net.settings.actor) <= lesson.units:
        raise NetworkError(f"the actor {net.settings.actor} has not grown by {lesson.units} units")
    masks = _learnable(net, lesson.units)
    _forget_lay_downs(net)
    weights = {name: weight for name, weight in net.named_parameters() if name in masks}
    frozen = {name: weight.detach().clone() for name, weight in weights.items()}
    optimizer = torch.optim.AdamW(weights.values(), lr=lesson.learning_rate, weight_decay=lesson.weight_decay)
    laying = labels.places(_LAYING)
    other = labels.legal & ~laying & ~labels.places(_BUILDING)
    steps = max(1, len(labels) // lesson.minibatch)
    for epoch in range(lesson.epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(labels))
        error = 0.0
        for step, rows in enumerate(np.array_split(order, steps)):
            rate = lesson.learning_rate * (1.0 - (epoch * steps + step) / (lesson.epochs * steps))
            for group in optimizer.param_groups:
                group["lr"] = rate
            logits, _ = net(torch.from_numpy(labels.observations[rows]))
            listed = logits.gather(1, torch.from_numpy(labels.legal_actions[rows].astype(np.int64)))
            found = [_best(listed, labels.values[rows], places[rows]) for places in (other, laying)]
            gap = found[0][0] - found[1][0]
            target = torch.from_numpy(found[0][1] - found[1][1])
            loss = ((UNIT * gap - target) / ERROR).square().mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
            optimizer.step()
            with torch.no_grad():
                for name, weight in weights.items():
                    weight.copy_(torch.where(masks[name], weight, frozen[name]))
            error += float(loss.detach())
        _build_as_laid(net)
        yield {"distill/lay_down_error": ERROR * float(np.sqrt(error / steps)), "train/learning_rate": rate}


def _best(
    listed: torch.Tensor, values: npt.NDArray[Any], places: npt.NDArray[np.bool_]
) -> tuple[torch.Tensor, npt.NDArray[Any]]:
    """Return the highest logit [n] among places bool[n, L], and the label of that action."""
    logits, at = listed.masked_fill(torch.from_numpy(~places), -torch.inf).max(dim=1)
    return logits, values[np.arange(len(values)), at.numpy()]
