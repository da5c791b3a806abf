"""The fused loss against autograd through its plain-torch twin in double precision."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_training.fused_loss import (
    STATISTICS,
    IllegalActionError,
    LossBatch,
    LossSettings,
    LossSizes,
    fused_loss,
    policy_value_loss,
    torch_loss,
)

ACTIONS = 165


def random_problem(
    seed: int, n: int, longest: int, spread: float, *, forced: float = 0.2
) -> tuple[torch.Tensor, torch.Tensor, LossBatch]:
    """Draw logits [n, 165], values [n] and a batch with every optional part."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, longest + 1, n).astype(np.int16)
    counts[rng.random(n) < forced] = 1
    legal = rng.integers(0, 256, (n, longest)).astype(np.uint8)  # junk past the count must not matter
    actions = np.zeros(n, np.uint8)
    targets = np.zeros((n, longest), np.float32)
    for i, count in enumerate(counts):
        legal[i, :count] = np.sort(rng.choice(ACTIONS, count, replace=False))
        actions[i] = legal[i, rng.integers(count)]
        if rng.random() < 0.7:
            targets[i, :count] = rng.dirichlet(np.ones(count))
    logits = (spread * rng.standard_normal((n, ACTIONS))).astype(np.float32)
    listed = [logits[i, legal[i, :c]].astype(float) for i, c in enumerate(counts)]
    log_p = [row - np.logaddexp.reduce(row) for row in listed]
    chosen = [log_p[i][list(legal[i, :c]).index(actions[i])] for i, c in enumerate(counts)]
    old = np.asarray(chosen) + 0.3 * rng.standard_normal(n)
    normal = lambda: torch.from_numpy(rng.standard_normal(n).astype(np.float32))  # noqa: E731
    batch = LossBatch(
        legal_actions=torch.from_numpy(legal),
        legal_counts=torch.from_numpy(counts),
        actions=torch.from_numpy(actions),
        old_log_probs=torch.from_numpy(old.astype(np.float32)),
        advantages=normal(),
        returns=normal(),
        old_values=normal(),
        anchor_logits=torch.from_numpy((spread * rng.standard_normal((n, ACTIONS))).astype(np.float32)),
        targets=torch.from_numpy(targets),
    )
    return torch.from_numpy(logits), normal(), batch


def in_double(batch: LossBatch) -> LossBatch:
    return LossBatch(
        **{
            field.name: value.double() if value is not None and value.is_floating_point() else value
            for field in dataclasses.fields(batch)
            for value in [getattr(batch, field.name)]
        }
    )


def both(
    logits: torch.Tensor, values: torch.Tensor, batch: LossBatch, options: LossSettings
) -> list[tuple[torch.Tensor, ...]]:
    found = []
    for twin, z, v, data in (
        (fused_loss, logits, values, batch),
        (torch_loss, logits.double(), values.double(), in_double(batch)),
    ):
        z, v = z.clone().requires_grad_(), v.clone().requires_grad_()
        loss, statistics = twin(z, v, data, options)
        loss.backward()
        assert z.grad is not None
        assert v.grad is not None
        found.append((loss.detach().double(), statistics, z.grad.double(), v.grad.double()))
    return found


def assert_equal_up_to_rounding(found: list[tuple[torch.Tensor, ...]], tolerance: float = 1e-6) -> None:
    fused, exact = found
    for a, b in zip(fused, exact, strict=True):
        scale = b.abs().max().clamp(min=1e-9)
        assert ((a - b).abs().max() / scale).item() < tolerance


weight = st.sampled_from([0.0, 0.01, 1.0])


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    longest=st.sampled_from([1, 2, 5, 14, 64]),
    spread=st.sampled_from([0.0, 1.0, 5.0]),
    options=st.builds(
        LossSettings,
        policy=weight,
        clip=st.sampled_from([0.05, 0.2]),
        value=weight,
        value_clip=st.sampled_from([None, 0.5]),
        entropy=weight,
        anchor=weight,
        clone=weight,
    ),
)
@settings(max_examples=60, deadline=None)
def test_kernel_and_autograd_give_the_same_loss_and_gradient(
    seed: int, n: int, longest: int, spread: float, options: LossSettings
) -> None:
    assert_equal_up_to_rounding(both(*random_problem(seed, n, longest, spread), options))


@pytest.mark.parametrize("spread", [50.0, 1e4])
def test_extreme_logits_stay_finite_and_equal(spread: float) -> None:
    options = LossSettings(anchor=0.1, clone=0.1)
    assert_equal_up_to_rounding(both(*random_problem(5, 64, 14, spread), options))


def test_every_term_has_a_gradient_of_its_own() -> None:
    logits, values, batch = random_problem(3, 64, 8, 1.0)
    nothing = LossSettings(policy=0.0, value=0.0, entropy=0.0)
    for term in ("policy", "entropy", "anchor", "clone", "value"):
        _, _, z_grad, v_grad = both(logits, values, batch, LossSettings(**{**as_dict(nothing), term: 1.0}))[0]
        moved = v_grad if term == "value" else z_grad
        still = z_grad if term == "value" else v_grad
        assert moved.abs().max() > 0
        assert still.abs().max() == 0


def as_dict(options: LossSettings) -> dict[str, float | None]:
    return {name: getattr(options, name) for name in options.__struct_fields__}


def test_illegal_actions_and_forced_decisions_get_no_gradient() -> None:
    logits, values, batch = random_problem(7, 50, 6, 2.0)
    _, _, gradient, _ = both(logits, values, batch, LossSettings(anchor=1.0, clone=1.0))[0]
    for i in range(50):
        count = int(batch.legal_counts[i])
        legal = batch.legal_actions[i, :count].long()
        outside = torch.ones(ACTIONS, dtype=torch.bool)
        outside[legal] = False
        assert not gradient[i, outside].any()
        if count == 1:
            assert not gradient[i].any()


def test_a_batch_of_forced_decisions_has_finite_statistics() -> None:
    logits, values, batch = random_problem(1, 9, 1, 1.0)
    for loss, statistics, *_ in both(logits, values, batch, LossSettings()):
        assert torch.isfinite(loss)
        assert statistics[STATISTICS.index("entropy")] == 0
    assert_equal_up_to_rounding(both(logits, values, batch, LossSettings()))


def test_entropy_is_averaged_over_decisions_with_a_choice() -> None:
    _, values, batch = random_problem(2, 4, 4, 1.0, forced=0.0)
    batch = dataclasses.replace(
        batch,
        legal_actions=torch.tensor([[1, 2], [5, 0]], dtype=torch.uint8),
        legal_counts=torch.tensor([2, 1], dtype=torch.int16),
        actions=torch.tensor([1, 5], dtype=torch.uint8),
        **{
            name: getattr(batch, name)[:2]
            for name in ("old_log_probs", "advantages", "returns", "old_values", "anchor_logits")
        },
        targets=None,
    )
    _, statistics = fused_loss(torch.zeros(2, ACTIONS), values[:2], batch, LossSettings())
    assert statistics[STATISTICS.index("entropy")].item() == pytest.approx(np.log(2.0))


def test_an_action_that_is_not_legal_is_refused() -> None:
    logits, values, batch = random_problem(4, 5, 6, 1.0)
    actions = batch.actions.clone()
    actions[3] = next(a for a in range(ACTIONS) if a not in batch.legal_actions[3].tolist())
    with pytest.raises(IllegalActionError, match=r"expected every action .* in decision 3; store"):
        fused_loss(logits, values, dataclasses.replace(batch, actions=actions), LossSettings())


def test_ratio_one_gives_the_plain_policy_gradient() -> None:
    logits = torch.zeros(1, ACTIONS, requires_grad=True)
    batch = LossBatch(
        legal_actions=torch.tensor([[2, 4, 9, 11]], dtype=torch.uint8),
        legal_counts=torch.tensor([4], dtype=torch.int16),
        actions=torch.tensor([4], dtype=torch.uint8),
        old_log_probs=torch.tensor([0.25]).log(),
        advantages=torch.tensor([2.0]),
        returns=torch.zeros(1),
        old_values=torch.zeros(1),
    )
    fused_loss(logits, torch.zeros(1), batch, LossSettings(entropy=0.0))[0].backward()
    assert logits.grad is not None
    assert logits.grad[0, [2, 4, 9, 11]].tolist() == pytest.approx([0.5, -1.5, 0.5, 0.5])


def test_selected_rows_keep_every_field() -> None:
    logits, values, batch = random_problem(6, 20, 6, 1.0)
    index = torch.tensor([3, 3, 17])
    part = batch.rows(index)
    assert torch.equal(part.actions, batch.actions[index])
    loss, _ = policy_value_loss(logits[index], values[index], part, LossSettings(clone=1.0))
    assert torch.isfinite(loss)


def test_a_gradient_scaled_by_the_caller_scales() -> None:
    logits, values, batch = random_problem(8, 20, 6, 1.0)
    gradients = []
    for factor in (1.0, 3.0):
        z = logits.clone().requires_grad_()
        (factor * fused_loss(z, values, batch, LossSettings())[0]).backward()
        assert z.grad is not None
        gradients.append(z.grad)
    torch.testing.assert_close(gradients[1], 3.0 * gradients[0])


@pytest.mark.parametrize("twin", [fused_loss, torch_loss])
def test_parts_of_a_batch_add_up_to_the_whole(twin: Callable[..., tuple[torch.Tensor, torch.Tensor]]) -> None:
    logits, values, batch = random_problem(12, 40, 6, 1.0)
    options = LossSettings(anchor=0.1, clone=0.5)
    sizes = LossSizes.of(batch)
    whole = logits.clone().requires_grad_()
    loss, statistics = twin(whole, values, batch, options)
    loss.backward()
    pieces = logits.clone().requires_grad_()
    total = torch.zeros_like(statistics)
    for index in torch.arange(40).split(7):
        part, part_statistics = twin(pieces[index], values[index], batch.rows(index), options, sizes)
        part.backward()
        total += part_statistics
    torch.testing.assert_close(total, statistics, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(pieces.grad, whole.grad, rtol=1e-5, atol=1e-7)
