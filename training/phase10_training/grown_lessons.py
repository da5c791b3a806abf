"""Teaches a policy one question apart: whether to lay its phase down, when to play a Skip, where a card goes.

A clone does what its teacher always does with odds of e^40, a question that comes once in fifty decisions hardly
moves the hidden layers that all share, and the other logits are worth keeping as they are. So the question gets
hidden units of its own: the actor *grows*, the new units reach no logit but those of the question's actions, and only
they and these logits learn.

Whether to lay down, and whether and on whom to play a Skip, is learned from what the labels are worth. For a decision
with an action a of the question, the policy's likeliest other action d and labels Q, the logits z are fitted by
regression to

    UNIT * (z_a - z_d)  ~  Q(a) - Q(d)

so that the policy takes the action exactly where that is expected to be worth more. To begin to lay down card by
card has the logit of laying down less 1: it leads to the same, and to choices of cards that no label teaches. A
regression moves a policy that is far too sure as quickly as any other, which the gradient of an expectation under
that policy does not.

Where a hit goes that fits several groups is a matter of looking, not of luck: there the heuristic is imitated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np
import torch

from phase10_agents.neural.networks import NetworkError, PolicyValueNet
from phase10_env.actions import BUILD, DISCARD, LAY, NUM_ACTIONS, NUMBER, ONTO, SKIP
from phase10_training.errors import UsageError
from phase10_training.labels import Labels

__all__ = [
    "GrownLesson",
    "LayDownLesson",
    "PlaceLesson",
    "SkipLesson",
    "grown",
    "imitation_loss",
    "question_labels",
    "teach_question",
]

UNIT = 0.002
"""Win equity that one logit stands for: differences in it are of some hundredths, so logits of some tens."""
_LAYING = slice(LAY, BUILD)
"""The actions that lay a phase down at once."""
_BUILDING = slice(BUILD, NUMBER)
"""The actions that begin to lay it down card by card: where one is legal, the other is."""
ERROR = 0.05
"""Win equity that counts as one unit of loss: about the standard error of a label."""


@dataclass(frozen=True)
class GrownLesson:
    """Hold how a question is taught.

    Attributes:
        units: new hidden units in each layer of the actor, an even number.
        epochs: passes over the labels.
        minibatch: decisions in one gradient step.
        learning_rate: of the first step; it falls to zero.
        weight_decay: of the new weights (Loshchilov and Hutter 2019).
        question: what it is about, and the name of the option that asks for it.
        actions: the actions whose logits learn.
    """

    units: int = 128
    epochs: int = 5
    minibatch: int = 2048
    learning_rate: float = 1e-3
    weight_decay: float = 0.3
    question: ClassVar[str]
    actions: ClassVar[slice]

    def __post_init__(self) -> None:
        """Refuse what cannot be taught."""
        if self.units < 2 or self.units % 2:
            raise UsageError(
                f"{self.question} must be an even number of units, at least 2, found {self.units}."
            )
        for name in ("epochs", "minibatch", "learning_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"{name} must be above 0 and finite, found {getattr(self, name)}.")


@dataclass(frozen=True)
class LayDownLesson(GrownLesson):
    """Teach whether to lay the phase down now, or to hold it back for a turn."""

    question: ClassVar[str] = "lay-downs"
    actions: ClassVar[slice] = _LAYING


@dataclass(frozen=True)
class SkipLesson(GrownLesson):
    """Teach whether to play a Skip, and on whom."""

    question: ClassVar[str] = "skips"
    actions: ClassVar[slice] = slice(SKIP, NUM_ACTIONS)


@dataclass(frozen=True)
class PlaceLesson(GrownLesson):
    """Teach where a card goes that fits several groups on the table, as the heuristic does."""

    epochs: int = 8
    minibatch: int = 1024
    weight_decay: float = 0.01
    question: ClassVar[str] = "places"
    actions: ClassVar[slice] = slice(ONTO, DISCARD)


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


def _learnable(net: PolicyValueNet, lesson: GrownLesson) -> dict[str, torch.Tensor]:
    """Return for each parameter that learns a mask of the entries that do: of new units and the question's logits."""
    first = net.settings.actor[0]

    def mask(weight: torch.Tensor) -> torch.Tensor:
        return torch.zeros(weight.shape, dtype=torch.bool)

    found = {"input_weight": mask(net.input_weight), "input_bias": mask(net.input_bias)}
    for name in found:
        found[name][..., first - lesson.units : first] = True
    for i, layer in enumerate(net.actor):
        assert isinstance(layer, torch.nn.Linear)
        last = i == len(net.actor) - 1
        rows = lesson.actions if last else slice(layer.out_features - lesson.units, None)
        for name, weight in (("weight", layer.weight), ("bias", layer.bias)):
            found[f"actor.{i}.{name}"] = mask(weight)
            found[f"actor.{i}.{name}"][rows] = True
    if net.shortcut_weight is not None:
        found["shortcut_weight"] = mask(net.shortcut_weight)
        found["shortcut_weight"][:, lesson.actions] = True
    return found


def _forget(net: PolicyValueNet, actions: slice) -> None:
    """Set what reaches the logits of actions to zero: odds of e^40 would take longer to unlearn than to leave out."""
    head = net.actor[-1]
    assert isinstance(head, torch.nn.Linear)
    with torch.no_grad():
        head.weight[actions] = 0.0
        head.bias[actions] = 0.0
        if net.shortcut_weight is not None:
            net.shortcut_weight[:, actions] = 0.0


def _build_as_laid(net: PolicyValueNet) -> None:
    """Make the logit to build a phase that to lay it at once, less 1."""
    head = net.actor[-1]
    assert isinstance(head, torch.nn.Linear)
    with torch.no_grad():
        head.weight[_BUILDING] = head.weight[_LAYING]
        head.bias[_BUILDING] = head.bias[_LAYING] - 1.0
        if net.shortcut_weight is not None:
            net.shortcut_weight[:, _BUILDING] = net.shortcut_weight[:, _LAYING]


def question_labels(labels: Labels, lesson: GrownLesson) -> Labels:
    """Return the labels of decisions that a lesson is about: an action of its question is legal, and something else.

    That is, for a place another place.
    """
    asked = labels.places(lesson.actions)
    if isinstance(lesson, PlaceLesson):
        return labels.rows(np.flatnonzero(asked.sum(axis=1) > 1))
    other = labels.legal & ~asked & ~labels.places(_BUILDING)
    return labels.rows(np.flatnonzero(asked.any(axis=1) & other.any(axis=1)))


def teach_question(
    net: PolicyValueNet, labels: Labels, lesson: GrownLesson, seed: int = 0
) -> Iterator[dict[str, float]]:
    """Teach a grown network one question; after each epoch yield what its error is.

    Args:
        net: from `grown`, with the lesson's units; it changes.
        labels: from `question_labels`.
        lesson: how, and about what.
        seed: of the order of the labels.

    Yields:
        `distill/regression_error`, the root of the mean squared error in units of equity, or for places
        `distill/imitation_loss`, the cross-entropy in nats.

    Raises:
        NetworkError: a network that has not so many units.
    """
    if min(net.settings.actor) <= lesson.units:
        raise NetworkError(f"the actor {net.settings.actor} has not grown by {lesson.units} units")
    masks = _learnable(net, lesson)
    _forget(net, lesson.actions)
    weights = {name: weight for name, weight in net.named_parameters() if name in masks}
    frozen = {name: weight.detach().clone() for name, weight in weights.items()}
    optimizer = torch.optim.AdamW(weights.values(), lr=lesson.learning_rate, weight_decay=lesson.weight_decay)
    imitates = isinstance(lesson, PlaceLesson)
    steps = max(1, len(labels) // lesson.minibatch)
    for epoch in range(lesson.epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(labels))
        error = 0.0
        for step, rows in enumerate(np.array_split(order, steps)):
            rate = lesson.learning_rate * (1.0 - (epoch * steps + step) / (lesson.epochs * steps))
            for group in optimizer.param_groups:
                group["lr"] = rate
            part = labels.rows(rows)
            logits, _ = net(torch.from_numpy(part.observations))
            listed = logits.gather(1, torch.from_numpy(part.legal_actions.astype(np.int64)))
            loss = (
                imitation_loss(listed, part, torch.from_numpy(part.legal))
                if imitates
                else _regression(listed, part, lesson.actions)
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
            optimizer.step()
            with torch.no_grad():
                for name, weight in weights.items():
                    weight.copy_(torch.where(masks[name], weight, frozen[name]))
            error += float(loss.detach())
        if isinstance(lesson, LayDownLesson):
            _build_as_laid(net)
        found = (
            {"distill/imitation_loss": error / steps}
            if imitates
            else {"distill/regression_error": ERROR * float(np.sqrt(error / steps))}
        )
        yield found | {"train/learning_rate": rate}


def _regression(listed: torch.Tensor, labels: Labels, actions: slice) -> torch.Tensor:
    """Return the mean squared error of how far the question's actions are ahead of the likeliest other one.

    Args:
        listed: float32[n, L], logits in list order.
        labels: n decisions.
        actions: of the question.
    """
    asked = labels.places(actions)
    other = torch.from_numpy(labels.legal & ~asked & ~labels.places(_BUILDING))
    values = torch.from_numpy(labels.values)
    logit, at = listed.masked_fill(~other, -torch.inf).max(dim=1, keepdim=True)
    lead = UNIT * (listed - logit) - (values - values.gather(1, at))
    return (lead[torch.from_numpy(asked)] / ERROR).square().mean()


def imitation_loss(listed: torch.Tensor, labels: Labels, valid: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy towards the heuristic's actions, where these are among the valid ones.

    Args:
        listed: float32[n, L], logits in list order.
        labels: n decisions.
        valid: bool[n, L], places of the actions between which the choice is.
    """
    chosen = torch.from_numpy(labels.legal_actions == labels.chosen[:, None]) & valid
    log_probs = torch.log_softmax(listed.masked_fill(~valid, -torch.inf), dim=1)
    return -log_probs[chosen].sum() / chosen.sum().clamp(min=1)
