"""What the training loss needs: the weights of its terms, the decisions, and what its means divide by.

Shapes: n decisions, A actions (165), L the longest list of legal actions. A decision's legal actions are the
first `legal_counts[i]` entries of `legal_actions[i]`, ascending; the rest is ignored.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import torch

__all__ = ["LossBatch", "LossSettings", "LossSizes"]


class LossSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the weights of the loss terms; a weight of zero switches its term off.

    Attributes:
        policy: weight of the PPO surrogate (zero for critic warm-up and pure cloning).
        clip: PPO clip range of the probability ratio, as a distance from one.
        value: weight of the value loss.
        value_clip: clip range of the value step, or None for the plain squared error.
        entropy: weight of the entropy bonus.
        anchor: weight of KL(policy ‖ anchor), the magnet of MMD (Sokota et al. 2022).
        clone: weight of the cross-entropy towards target distributions.

    >>> LossSettings(entropy=0.005).clip
    0.2
    """

    policy: float = 1.0
    clip: float = 0.2
    value: float = 0.5
    value_clip: float | None = None
    entropy: float = 0.01
    anchor: float = 0.0
    clone: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class LossBatch:
    """Hold what the loss needs of n decisions, as tensors on one device.

    Attributes:
        legal_actions: uint8[n, L], legal actions of each decision, ascending.
        legal_counts: int16[n], how many of them are valid (at least 1).
        actions: uint8[n], the action chosen.
        old_log_probs: float32[n], its log-probability under the policy that chose it.
        advantages: float32[n].
        returns: float32[n], targets of the value.
        old_values: float32[n], values when the decision was taken (used by `value_clip` alone).
        anchor_logits: float32[n, A] of the anchor policy, or None; those of legal actions are read.
        targets: float32[n, L], target probabilities of the legal actions in list order, or None; a row of
            zeros is a decision without a teacher.
    """

    legal_actions: torch.Tensor
    legal_counts: torch.Tensor
    actions: torch.Tensor
    old_log_probs: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor
    old_values: torch.Tensor
    anchor_logits: torch.Tensor | None = None
    targets: torch.Tensor | None = None

    @classmethod
    def teaching(
        cls,
        legal_actions: torch.Tensor,
        legal_counts: torch.Tensor,
        targets: torch.Tensor,
        returns: torch.Tensor | None = None,
    ) -> LossBatch:
        """Build a batch for cloning or distillation; without `returns` the value has no sensible target."""
        zeros = torch.zeros(len(legal_counts), device=legal_counts.device)
        return cls(
            legal_actions=legal_actions,
            legal_counts=legal_counts,
            actions=legal_actions[:, 0].contiguous(),
            old_log_probs=zeros,
            advantages=zeros,
            returns=zeros if returns is None else returns,
            old_values=zeros,
            targets=targets,
        )

    def to(self, device: torch.device) -> LossBatch:
        """Return the same decisions on another device."""
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        moved: dict[str, Any] = {
            name: None if all_ is None else all_.to(device) for name, all_ in given.items()
        }
        return LossBatch(**moved)

    def rows(self, index: torch.Tensor | slice) -> LossBatch:
        """Return the decisions chosen by `index` (int64[m], or a slice, which copies nothing)."""
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        chosen: dict[str, Any] = {name: None if all_ is None else all_[index] for name, all_ in given.items()}
        return LossBatch(**chosen)


@dataclasses.dataclass(frozen=True, slots=True)
class LossSizes:
    """Hold what the means of the loss divide by.

    A large batch can be handled in parts: losses and gradients of the parts add up to those of the whole if
    every part is given the sizes of the whole.

    Attributes:
        decisions: n, for the value.
        choices: M, decisions with more than one legal action, for the policy.
        taught: K, those of them with a target, for cloning.
    """

    decisions: int
    choices: int
    taught: int

    @classmethod
    def of(cls, batch: LossBatch) -> LossSizes:
        """Count the decisions of a batch; each count is at least 1, so that an empty mean is zero.

        >>> legal, counts = torch.tensor([[3, 7]], dtype=torch.uint8), torch.tensor([2], dtype=torch.int16)
        >>> LossSizes.of(LossBatch.teaching(legal, counts, torch.tensor([[0.0, 1.0]])))
        LossSizes(decisions=1, choices=1, taught=1)
        """
        choices = batch.legal_counts > 1
        taught = 0 if batch.targets is None else int((choices & (batch.targets.sum(dim=1) > 0)).sum())
        return cls(max(len(choices), 1), max(int(choices.sum()), 1), max(taught, 1))
