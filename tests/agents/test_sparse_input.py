"""The zero-skipping first layer against dense products."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_agents.neural.sparse_input import pack_pairs, sparse_linear


def problem(seed: int, n: int, width: int, out: int, density: float) -> tuple[torch.Tensor, ...]:
    rng = np.random.default_rng(seed)
    x = ((rng.random((n, width)) < density) * rng.integers(1, 256, (n, width))).astype(np.uint8)
    weight = torch.from_numpy(rng.standard_normal((width, out)).astype(np.float32))
    bias = torch.from_numpy(rng.standard_normal(out).astype(np.float32))
    gradient = torch.from_numpy(rng.standard_normal((n, out)).astype(np.float32))
    return torch.from_numpy(x), weight, bias, gradient


sizes = {
    "seed": st.integers(0, 2**32 - 1),
    "n": st.integers(1, 40),
    "width": st.integers(1, 70),
    "out": st.sampled_from([2, 6, 64, 130]),
    "density": st.sampled_from([0.0, 0.1, 0.7, 1.0]),
}


@given(**sizes)
@settings(max_examples=60, deadline=None)
def test_float32_product_and_gradients_equal_the_dense_ones(
    seed: int, n: int, width: int, out: int, density: float
) -> None:
    x, weight, bias, gradient = problem(seed, n, width, out, density)
    weight.requires_grad_()
    bias.requires_grad_()
    result = sparse_linear(x, weight, bias)
    result.backward(gradient)
    exact = x.double() @ weight.detach().double() + bias.detach().double()
    torch.testing.assert_close(result.detach().double(), exact, rtol=1e-5, atol=2e-3)
    torch.testing.assert_close(weight.grad.double(), x.double().T @ gradient.double(), rtol=1e-5, atol=2e-3)
    torch.testing.assert_close(bias.grad, gradient.sum(dim=0), rtol=1e-4, atol=1e-4)


@given(**sizes)
@settings(max_examples=60, deadline=None)
def test_packed_product_and_gradients_round_only_what_bf16_rounds(
    seed: int, n: int, width: int, out: int, density: float
) -> None:
    x, weight, bias, gradient = problem(seed, n, width, out, density)
    weight.requires_grad_()
    bias.requires_grad_()
    result = sparse_linear(x, weight, bias, pack_pairs(weight))
    assert result.dtype == torch.bfloat16
    result.backward(gradient.to(torch.bfloat16))
    rounded = weight.detach().to(torch.bfloat16).double()
    exact = x.double() @ rounded + bias.detach().double()
    # One rounding to 8 significant bits at the end; float32 sums before it.
    torch.testing.assert_close(result.detach().double(), exact, rtol=2**-8, atol=1e-3)
    wanted = x.double().T @ gradient.to(torch.bfloat16).double()
    torch.testing.assert_close(weight.grad.double(), wanted, rtol=1e-5, atol=2e-3)


def test_rounding_to_bf16_is_torchs() -> None:
    x, weight, bias, _ = problem(1, 300, 20, 64, 0.5)
    packed = pack_pairs(weight)
    result = sparse_linear(x, weight, bias, packed)
    in_float = sparse_linear(x, weight.to(torch.bfloat16).float(), bias)
    assert torch.equal(result, in_float.to(torch.bfloat16))


def test_pairs_unpack_to_both_halves() -> None:
    matrix = torch.tensor([[1.0, -2.0, 0.5, 3.0]])
    words = pack_pairs(matrix).numpy().view(np.uint32)
    low = (words << 16).view(np.float32)
    high = (words & 0xFFFF0000).astype(np.uint32).view(np.float32)
    assert low.tolist() == [[1.0, -2.0]]
    assert high.tolist() == [[0.5, 3.0]]


@pytest.mark.parametrize("packed", [False, True])
def test_a_row_does_not_depend_on_its_neighbours(packed: bool) -> None:
    x, weight, bias, _ = problem(3, 30, 50, 64, 0.2)
    pairs = pack_pairs(weight) if packed else None
    together = sparse_linear(x, weight, bias, pairs)
    alone = torch.cat([sparse_linear(x[i : i + 1], weight, bias, pairs) for i in range(30)])
    assert torch.equal(together, alone)
