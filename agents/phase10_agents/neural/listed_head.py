"""The last layer of a policy for listed actions alone (CPU): of 165 logits a decision needs those of its legal ones.

Shapes: n decisions, H entries of the last hidden layer, A actions, L the longest list of legal actions; a decision's
legal actions are the first `counts[i]` entries of `legal[i]`. A decision has about four: the layer then takes a
twentieth of the products, and less time than writing all logits did.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from phase10_env.rules.kernel import vector_kernel, wide_registers

__all__ = ["add_listed_gradient", "listed_logits"]

_Float = npt.NDArray[np.float32]


@vector_kernel
def _products(hidden: _Float, weight: _Float, bias: _Float, legal: Any, counts: Any, logits: _Float) -> None:
    """Write the logits of listed actions."""
    wide_registers()
    for i in range(hidden.shape[0]):
        for k in range(counts[i]):
            action = legal[i, k]
            weights, inputs = weight[action], hidden[i]
            total = np.float32(0.0)
            for j in range(hidden.shape[1]):
                total += weights[j] * inputs[j]
            logits[i, action] = total + bias[action]


@vector_kernel
def _gradients(
    slopes: _Float,
    hidden: _Float,
    weight: _Float,
    legal: Any,
    counts: Any,
    weight_sum: _Float,
    bias_sum: _Float,
    out: _Float,
) -> None:
    """Add to the gradients of weight and bias, and write that of the hidden layer."""
    wide_registers()
    for i in range(hidden.shape[0]):
        result, inputs = out[i], hidden[i]
        result[:] = np.float32(0.0)
        for k in range(counts[i]):
            action = legal[i, k]
            slope = slopes[i, action]
            weights, total = weight[action], weight_sum[action]
            bias_sum[action] += slope
            for j in range(hidden.shape[1]):
                result[j] += slope * weights[j]
                total[j] += slope * inputs[j]


def listed_logits(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    legal: torch.Tensor,
    counts: torch.Tensor,
    out: torch.Tensor,
) -> None:
    """Write the logits of each decision's legal actions to `out` float32[n, >= A]; the rest of it stays as it is.

    Args:
        hidden: float32[n, H], contiguous.
        weight: float32[A, H], contiguous; bias: float32[A].
        legal: uint8[n, L]; counts: int16[n].

    >>> out = torch.zeros(1, 3)
    >>> weight, bias = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([0.5, 0.5, 0.5])
    >>> legal, counts = torch.tensor([[0, 2]], dtype=torch.uint8), torch.tensor([2], dtype=torch.int16)
    >>> listed_logits(torch.ones(1, 2), weight, bias, legal, counts, out)
    >>> out.tolist()
    [[3.5, 0.0, 11.5]]
    """
    _products(hidden.numpy(), weight.numpy(), bias.numpy(), legal.numpy(), counts.numpy(), out.numpy())


def add_listed_gradient(
    slopes: torch.Tensor,
    hidden: torch.Tensor,
    weight: torch.Tensor,
    legal: torch.Tensor,
    counts: torch.Tensor,
    weight_sum: torch.Tensor,
    bias_sum: torch.Tensor,
    out: torch.Tensor,
) -> None:
    """Add the layer's gradients to `weight_sum` and `bias_sum`, and write the hidden layer's to `out`.

    Args:
        slopes: float32[n, >= A], gradient for the logits; those of legal actions are read.
        out: float32[n, H], contiguous. The rest as in `listed_logits`.

    >>> weight, bias_sum, weight_sum = (
    ...     torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
    ...     torch.zeros(2),
    ...     torch.zeros(2, 2),
    ... )
    >>> legal, counts = torch.tensor([[1]], dtype=torch.uint8), torch.tensor([1], dtype=torch.int16)
    >>> out = torch.empty(1, 2)
    >>> add_listed_gradient(
    ...     torch.tensor([[9.0, 2.0]]), torch.ones(1, 2), weight, legal, counts, weight_sum, bias_sum, out
    ... )
    >>> out.tolist(), weight_sum.tolist(), bias_sum.tolist()
    ([[6.0, 8.0]], [[0.0, 0.0], [2.0, 2.0]], [0.0, 2.0])
    """
    _gradients(
        slopes.numpy(),
        hidden.numpy(),
        weight.numpy(),
        legal.numpy(),
        counts.numpy(),
        weight_sum.numpy(),
        bias_sum.numpy(),
        out.numpy(),
    )
