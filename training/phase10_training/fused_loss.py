"""The training loss and its gradient: masked policy, PPO, value, anchor and cloning terms in one pass.

Shapes: n decisions, A actions (165), L the longest list of legal actions. All arrays are C-contiguous; a
decision's legal actions are the first `legal_counts[i]` entries of `legal_actions[i]`, the rest is ignored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from phase10_env.rules.kernel import kernel
from phase10_training.loss_batch import LossBatch, LossSettings, LossSizes

__all__ = [
    "STATISTICS",
    "IllegalActionError",
    "LossBatch",
    "LossSettings",
    "LossSizes",
    "fused_loss",
    "loss_gradient",
    "policy_value_loss",
    "torch_loss",
]

_Float = npt.NDArray[np.float32]
_Double = npt.NDArray[np.float64]

STATISTICS = (
    "loss",
    "policy_loss",
    "value_loss",
    "entropy",
    "anchor_kl",
    "clone_loss",
    "approx_kl",
    "clip_fraction",
    "clone_agreement",
)
"""What the statistics vector of a loss holds, in this order.

`approx_kl` is the mean of r - 1 - ln r (Schulman 2020), `clip_fraction` the share of ratios outside the clip
range, `clone_agreement` the share of taught decisions whose likeliest action is the target's.
"""

_POLICY, _VALUE, _ENTROPY, _ANCHOR, _CLONE, _KL, _CLIPPED, _AGREED = range(8)


class IllegalActionError(ValueError):
    """A decision's action is not in its list of legal actions."""


# ---------------------------------------------------------------- the kernel


@kernel
def _log_softmax(logits: _Float, legal: Any, count: int, log_probs: _Double) -> None:
    """Write the masked log-softmax of one row into `log_probs[:count]`, in list order."""
    top = np.float64(logits[legal[0]])
    for k in range(1, count):
        top = max(top, np.float64(logits[legal[k]]))
    total = 0.0
    for k in range(count):
        log_probs[k] = np.float64(logits[legal[k]]) - top
        total += np.exp(log_probs[k])
    log_total = np.log(total)
    for k in range(count):
        log_probs[k] -= log_total


@kernel
def _loss_rows(
    logits: _Float,
    values: _Float,
    legal_actions: Any,
    legal_counts: Any,
    actions: Any,
    old_log_probs: _Float,
    advantages: _Float,
    returns: _Float,
    old_values: _Float,
    anchor_logits: _Float,
    targets: _Float,
    weights: _Double,
    log_probs: _Double,
    anchor_log_probs: _Double,
    logit_gradient: _Float,
    value_gradient: _Float,
    sums: _Double,
) -> int:
    """Write both gradients and add each term's row values to `sums`; return the first bad row or -1.

    `weights` holds [policy / M, clip, value / n, value_clip, entropy / M, anchor / M, clone / K] (see
    `fused_loss`); a negative value_clip means none. Empty `anchor_logits` or `targets` switch terms off.
    """
    w_policy, clip, w_value, value_clip = weights[0], weights[1], weights[2], weights[3]
    w_entropy, w_anchor, w_clone = weights[4], weights[5], weights[6]
    has_anchor = anchor_logits.shape[0] > 0
    has_targets = targets.shape[0] > 0
    bad = -1
    for i in range(logits.shape[0]):
        error = np.float64(values[i]) - returns[i]
        slope = error
        squared = error * error
        if value_clip >= 0.0:
            step = np.float64(values[i]) - old_values[i]
            held = min(max(step, -value_clip), value_clip)
            held_error = old_values[i] + held - returns[i]
            if held_error * held_error > squared:
                squared = held_error * held_error
                slope = held_error if held == step else 0.0
        value_gradient[i] = w_value * slope
        sums[_VALUE] += 0.5 * squared

        for action in range(logits.shape[1]):
            logit_gradient[i, action] = 0.0
        count = legal_counts[i]
        legal = legal_actions[i]
        chosen = -1
        for k in range(count):
            if legal[k] == actions[i]:
                chosen = k
        if chosen < 0:
            bad = i if bad < 0 else bad
            continue
        if count == 1:
            continue

        _log_softmax(logits[i], legal, count, log_probs)
        entropy = 0.0
        for k in range(count):
            entropy -= np.exp(log_probs[k]) * log_probs[k]
        anchor_kl = 0.0
        if has_anchor:
            _log_softmax(anchor_logits[i], legal, count, anchor_log_probs)
            for k in range(count):
                anchor_kl += np.exp(log_probs[k]) * (log_probs[k] - anchor_log_probs[k])
        taught = 0.0
        if has_targets:
            best, target_best = 0, 0
            for k in range(count):
                taught += targets[i, k]
                sums[_CLONE] -= targets[i, k] * log_probs[k]
                best = k if log_probs[k] > log_probs[best] else best
                target_best = k if targets[i, k] > targets[i, target_best] else target_best
            if taught > 0.0 and best == target_best:
                sums[_AGREED] += 1.0

        log_ratio = log_probs[chosen] - old_log_probs[i]
        ratio = np.exp(log_ratio)
        plain = ratio * advantages[i]
        held_ratio = min(max(ratio, 1.0 - clip), 1.0 + clip) * advantages[i]
        pull = -w_policy * plain if plain <= held_ratio else 0.0
        sums[_POLICY] -= min(plain, held_ratio)
        sums[_ENTROPY] += entropy
        sums[_ANCHOR] += anchor_kl
        sums[_KL] += ratio - 1.0 - log_ratio
        sums[_CLIPPED] += 1.0 if abs(ratio - 1.0) > clip else 0.0

        for k in range(count):
            p = np.exp(log_probs[k])
            gradient = -pull * p + w_entropy * p * (log_probs[k] + entropy)
            if has_anchor:
                gradient += w_anchor * p * (log_probs[k] - anchor_log_probs[k] - anchor_kl)
            if has_targets:
                gradient += w_clone * (p * taught - targets[i, k])
            logit_gradient[i, legal[k]] = gradient
        logit_gradient[i, legal[chosen]] += pull
    return bad


def _array(tensor: torch.Tensor | None, missing: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return missing if tensor is None else np.ascontiguousarray(tensor.detach().numpy())


_NO_ROWS = np.zeros((0, 0), np.float32)


def loss_gradient(
    logits: torch.Tensor, values: torch.Tensor, batch: LossBatch, settings: LossSettings, sizes: LossSizes
) -> tuple[_Double, torch.Tensor, torch.Tensor]:
    """Return the statistics (in the order of `STATISTICS`) and the gradients for logits and values.

    Arguments and errors as in `fused_loss`.
    """
    counts = _array(batch.legal_counts, _NO_ROWS)
    targets = _array(batch.targets, _NO_ROWS)
    n, m, k = sizes.decisions, sizes.choices, sizes.taught
    weights = np.array(
        [
            settings.policy / m,
            settings.clip,
            settings.value / n,
            -1.0 if settings.value_clip is None else settings.value_clip,
            settings.entropy / m,
            settings.anchor / m,
            settings.clone / k,
        ]
    )
    logit_gradient = np.empty(tuple(logits.shape), np.float32)
    value_gradient = np.empty(len(counts), np.float32)
    sums = np.zeros(8)
    scratch = np.empty((2, batch.legal_actions.shape[1]))
    bad = _loss_rows(
        _array(logits, _NO_ROWS),
        _array(values, _NO_ROWS),
        _array(batch.legal_actions, _NO_ROWS),
        counts,
        _array(batch.actions, _NO_ROWS),
        _array(batch.old_log_probs, _NO_ROWS),
        _array(batch.advantages, _NO_ROWS),
        _array(batch.returns, _NO_ROWS),
        _array(batch.old_values, _NO_ROWS),
        _array(batch.anchor_logits, _NO_ROWS),
        targets,
        weights,
        scratch[0],
        scratch[1],
        logit_gradient,
        value_gradient,
        sums,
    )
    if bad >= 0:
        raise IllegalActionError(
            f"expected every action to be among its decision's legal actions, found action "
            f"{int(batch.actions[bad])} in decision {bad}; store actions and legal lists of the same step"
        )
    means = sums / np.array([m, n, m, m, k, m, m, k])
    loss = (
        settings.policy * means[_POLICY]
        + settings.value * means[_VALUE]
        - settings.entropy * means[_ENTROPY]
        + settings.anchor * means[_ANCHOR]
        + settings.clone * means[_CLONE]
    )
    statistics = np.concatenate([[loss], means])
    return statistics, torch.from_numpy(logit_gradient), torch.from_numpy(value_gradient)


class _FusedLoss(torch.autograd.Function):
    """Hand the kernel's gradient to autograd."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: torch.Tensor,
        values: torch.Tensor,
        batch: LossBatch,
        settings: LossSettings,
        sizes: LossSizes,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        statistics, logit_gradient, value_gradient = loss_gradient(logits, values, batch, settings, sizes)
        ctx.save_for_backward(logit_gradient, value_gradient)
        vector = torch.from_numpy(statistics)
        ctx.mark_non_differentiable(vector)
        return vector[0].to(torch.float32), vector

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None, None, None]:
        logit_gradient, value_gradient = ctx.saved_tensors
        return logit_gradient * grads[0], value_gradient * grads[0], None, None, None


# ---------------------------------------------------------------- the two twins


def fused_loss(
    logits: torch.Tensor,
    values: torch.Tensor,
    batch: LossBatch,
    settings: LossSettings,
    sizes: LossSizes | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Compute the loss and its analytic gradient in one pass over the legal actions (CPU).

    Indices: i a decision, j, k its legal actions, a its chosen action. Means over i run over the M decisions
    with more than one legal action (a forced action teaches the policy nothing), over all n decisions for the
    value, and over the K of the M that have a target t for cloning.

        ℓ_j = z_j − ln Σ_k exp z_k        p_j = exp ℓ_j        r = exp(ℓ_a − ℓ_a^old)

        L = c_π mean[−min(r A, clip(r, 1−ε, 1+ε) A)]        PPO (Schulman et al. 2017)
          + c_v mean[½ max((v − R)², (v_c − R)²)]            v_c = v_old + clip(v − v_old, −ε_v, ε_v)
          − c_H mean[H]                                      H = −Σ_j p_j ℓ_j
          + c_m mean[D]                                      D = Σ_j p_j (ℓ_j − q_j), q = ln anchor
          + c_t mean[−Σ_j t_j ℓ_j]

    Gradient for the logit z_j of one decision (∂ℓ_k/∂z_j = δ_jk − p_j; zero for illegal actions):

        ∂L/∂z_j = −c_π/M · r A (δ_ja − p_j)      where r A ≤ clip(r, 1−ε, 1+ε) A, otherwise 0
                  + c_H/M · p_j (ℓ_j + H)
                  + c_m/M · p_j (ℓ_j − q_j − D)
                  + c_t/K · (p_j Σ_k t_k − t_j)

    and for the value: c_v/n · (v − R) where (v − R)² is the maximum, c_v/n · (v_c − R) where the other one is
    and the step is inside ±ε_v, otherwise 0.

    Args:
        logits: float32[n, A].
        values: float32[n].
        batch: the decisions.
        settings: weights of the terms.
        sizes: what the means divide by, if this is part of a larger batch.

    Returns:
        The loss (a scalar that `backward` accepts) and the statistics float64[9], see `STATISTICS`.

    Raises:
        IllegalActionError: an action is not among its decision's legal actions.

    >>> logits = torch.zeros(1, 165, requires_grad=True)
    >>> batch = LossBatch(
    ...     legal_actions=torch.tensor([[3, 7]], dtype=torch.uint8),
    ...     legal_counts=torch.tensor([2], dtype=torch.int16),
    ...     actions=torch.tensor([7], dtype=torch.uint8),
    ...     old_log_probs=torch.tensor([0.5]).log(),
    ...     advantages=torch.ones(1),
    ...     returns=torch.zeros(1),
    ...     old_values=torch.zeros(1),
    ... )
    >>> loss, statistics = fused_loss(
    ...     logits, torch.zeros(1, requires_grad=True), batch, LossSettings(entropy=0.0)
    ... )
    >>> loss.backward()
    >>> logits.grad[0, [3, 7, 9]].tolist()
    [0.5, -0.5, 0.0]
    """
    loss, statistics = _FusedLoss.apply(logits, values, batch, settings, sizes or LossSizes.of(batch))  # type: ignore[no-untyped-call]
    return loss, statistics


def torch_loss(
    logits: torch.Tensor,
    values: torch.Tensor,
    batch: LossBatch,
    settings: LossSettings,
    sizes: LossSizes | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the loss of `fused_loss` in plain torch, on any device and in the precision of `logits`.

    The gradient is autograd's. Actions are not checked: on a GPU that would wait for the device.

    >>> logits = torch.zeros(1, 165)
    >>> batch = LossBatch.teaching(
    ...     torch.tensor([[3, 7]], dtype=torch.uint8),
    ...     torch.tensor([2], dtype=torch.int16),
    ...     torch.tensor([[0.0, 1.0]]),
    ... )
    >>> round(torch_loss(logits, torch.zeros(1), batch, LossSettings(clone=1.0, entropy=0.0))[0].item(), 4)
    0.6931
    """
    sizes = sizes or LossSizes.of(batch)
    places = torch.arange(batch.legal_actions.shape[1], device=logits.device)
    valid = places < batch.legal_counts[:, None]
    legal = batch.legal_actions.long().masked_fill(~valid, 0)
    choice = (batch.legal_counts > 1).to(logits.dtype)

    def listed_log_softmax(scores: torch.Tensor) -> torch.Tensor:
        listed = scores.gather(1, legal).masked_fill(~valid, float("-inf"))
        return torch.log_softmax(listed, dim=1).masked_fill(~valid, 0.0)

    def mean_choice(rows: torch.Tensor) -> torch.Tensor:
        return (choice * rows).sum() / sizes.choices

    log_probs = listed_log_softmax(logits)
    probs = log_probs.exp().masked_fill(~valid, 0.0)
    chosen = valid & (batch.legal_actions == batch.actions[:, None])
    log_ratio = log_probs.masked_fill(~chosen, 0.0).sum(dim=1) - batch.old_log_probs
    log_ratio = log_ratio.masked_fill(choice == 0, 0.0)
    ratio = log_ratio.exp()
    held_ratio = ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip)
    policy_loss = mean_choice(-torch.minimum(ratio * batch.advantages, held_ratio * batch.advantages))
    entropy = mean_choice(-(probs * log_probs).sum(dim=1))
    squared = (values - batch.returns).square()
    if settings.value_clip is not None:
        held = batch.old_values + (values - batch.old_values).clamp(-settings.value_clip, settings.value_clip)
        squared = torch.maximum(squared, (held - batch.returns).square())
    value_loss = 0.5 * squared.sum() / sizes.decisions
    loss = settings.policy * policy_loss + settings.value * value_loss - settings.entropy * entropy

    zero = torch.zeros((), dtype=logits.dtype, device=logits.device)
    anchor_kl, clone_loss, agreement = zero, zero, zero
    if batch.anchor_logits is not None:
        anchor = listed_log_softmax(batch.anchor_logits.to(logits.dtype))
        anchor_kl = mean_choice((probs * (log_probs - anchor)).sum(dim=1))
        loss = loss + settings.anchor * anchor_kl
    if batch.targets is not None:
        targets = batch.targets.to(logits.dtype).masked_fill(~valid, 0.0)
        taught = choice * (targets.sum(dim=1) > 0)
        clone_loss = -(taught[:, None] * targets * log_probs).sum() / sizes.taught
        likeliest = log_probs.masked_fill(~valid, float("-inf")).argmax(dim=1)
        agreement = (taught * (likeliest == targets.argmax(dim=1))).sum() / sizes.taught
        loss = loss + settings.clone * clone_loss
    approx_kl = mean_choice(ratio - 1.0 - log_ratio)
    clip_fraction = mean_choice(((ratio - 1.0).abs() > settings.clip).to(logits.dtype))
    terms = (
        loss,
        policy_loss,
        value_loss,
        entropy,
        anchor_kl,
        clone_loss,
        approx_kl,
        clip_fraction,
        agreement,
    )
    return loss, torch.stack([term.detach().double() for term in terms])


def policy_value_loss(
    logits: torch.Tensor,
    values: torch.Tensor,
    batch: LossBatch,
    settings: LossSettings,
    sizes: LossSizes | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute loss and statistics with the kernel on a CPU and with plain torch elsewhere.

    Args and result as in `fused_loss`.

    >>> batch = LossBatch.teaching(
    ...     torch.tensor([[3, 7]], dtype=torch.uint8),
    ...     torch.tensor([2], dtype=torch.int16),
    ...     torch.tensor([[0.0, 1.0]]),
    ... )
    >>> loss, statistics = policy_value_loss(
    ...     torch.zeros(1, 165), torch.zeros(1), batch, LossSettings(clone=1.0)
    ... )
    >>> dict(zip(STATISTICS, statistics.tolist()))["clone_agreement"]
    0.0
    """
    twin = fused_loss if logits.device.type == "cpu" and logits.dtype == torch.float32 else torch_loss
    return twin(logits, values, batch, settings, sizes)
