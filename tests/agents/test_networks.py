"""The network: shapes, folding of scales, precision, the privileged critic."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch

from phase10_agents.neural.networks import (
    NetworkError,
    NetworkSettings,
    PolicyValueNet,
    fast_precision,
    masked_log_softmax,
)
from phase10_training.fused_loss import LossBatch, LossSettings, policy_value_loss

WIDTH = 60


def scales() -> torch.Tensor:
    return torch.linspace(0.01, 1.0, WIDTH)


def observations(n: int = 20, seed: int = 0) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(
        ((rng.random((n, WIDTH)) < 0.3) * rng.integers(1, 9, (n, WIDTH))).astype(np.uint8)
    )


def settings(**changes: object) -> NetworkSettings:
    base = NetworkSettings(actor=(32, 24), critic=(16, 8), precision="fp32", input_layer="sparse")
    return msgspec.structs.replace(base, **changes)


def by_hand(net: PolicyValueNet, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    first = (x.float() * net.scale) @ net.input_weight + net.input_bias
    trunks = first[:, :32].relu(), first[:, 32:].relu()
    results = []
    for hidden, layers in zip(trunks, (net.actor, net.critic), strict=True):
        results.append(layers[1](layers[0](hidden).relu()))
    return results[0], results[1][:, 0]


@pytest.mark.parametrize("input_layer", ["dense", "sparse"])
def test_raw_integers_through_folded_scales_equal_scaled_floats(input_layer: str) -> None:
    net = PolicyValueNet(scales(), settings(input_layer=input_layer), seed=3)
    x = observations()
    for found, wanted in zip(net(x), by_hand(net, x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("input_layer", ["dense", "sparse"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_every_weight_learns_in_every_variant(input_layer: str, precision: str) -> None:
    net = PolicyValueNet(
        scales(), settings(input_layer=input_layer, precision=precision), privileged_scale=torch.ones(5)
    )
    reference = PolicyValueNet(scales(), settings(input_layer="dense"), privileged_scale=torch.ones(5))
    x, hidden = observations(), torch.ones(20, 5, dtype=torch.uint8)
    for model in (net, reference):
        logits, values = model(x, hidden)
        (logits.square().mean() + values.sum()).backward()
    for (name, one), (_, other) in zip(net.named_parameters(), reference.named_parameters(), strict=True):
        assert one.grad is not None, name
        assert one.grad.dtype == torch.float32
        error = (one.grad - other.grad).norm() / other.grad.norm()
        assert error < (0.05 if precision == "bf16" else 1e-4), name


def test_folded_weights_give_the_same_answer_as_the_network() -> None:
    for precision in ("fp32", "bf16"):
        net = PolicyValueNet(scales(), settings(precision=precision))
        with torch.inference_mode():
            folded = net.fold()
            one, other = net(observations(), folded=folded), net(observations())
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[1], other[1])


def test_the_first_policy_is_nearly_uniform() -> None:
    net = PolicyValueNet(scales(), settings(actor=(256, 256), critic=(256, 256)))
    logits, _ = net(observations())
    assert logits.abs().max() < 0.2


def test_equal_seeds_give_equal_weights_and_leave_the_global_generator_alone() -> None:
    before = torch.random.get_rng_state()
    one, other, third = (PolicyValueNet(scales(), settings(), seed=seed) for seed in (5, 5, 6))
    for (name, a), (_, b) in zip(one.state_dict().items(), other.state_dict().items(), strict=True):
        assert torch.equal(a, b), name
    assert not torch.equal(one.input_weight, third.input_weight)
    assert torch.equal(before, torch.random.get_rng_state()), (
        "nn.Linear draws weights from the global generator"
    )


def test_privileged_state_moves_the_value_and_never_the_policy() -> None:
    net = PolicyValueNet(scales(), settings(), privileged_scale=torch.ones(5))
    x = observations()
    one = net(x, torch.zeros(20, 5, dtype=torch.uint8))
    other = net(x, torch.full((20, 5), 3, dtype=torch.uint8))
    assert torch.equal(one[0], other[0])
    assert not torch.equal(one[1], other[1])


def test_observations_of_another_layout_are_refused() -> None:
    net = PolicyValueNet(scales(), settings())
    with pytest.raises(NetworkError, match="expected observations of 60 and privileged state of 0 entries"):
        net(observations()[:, :50])
    with pytest.raises(NetworkError, match="found 60 and 5"):
        net(observations(), torch.zeros(20, 5, dtype=torch.uint8))


@pytest.mark.parametrize("widths", [{"actor": ()}, {"actor": (31,)}])
def test_impossible_widths_are_refused(widths: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(NetworkError, match="first widths with an even sum"):
        PolicyValueNet(scales(), settings(**widths))


def test_automatic_precision_is_one_the_device_has() -> None:
    net = PolicyValueNet(scales(), settings(precision="auto"))
    assert net.precision == fast_precision(torch.device("cpu"))


def test_masked_log_softmax_sums_to_one_over_legal_actions() -> None:
    masks = torch.tensor([[True, False, True, True]])
    log_probs = masked_log_softmax(torch.tensor([[1.0, 50.0, -2.0, 0.0]]), masks)
    assert log_probs.exp().sum().item() == pytest.approx(1.0)
    assert log_probs[0, 1] == float("-inf")


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_few_steps_teach_a_rule_that_depends_on_the_observation(precision: str) -> None:
    net = PolicyValueNet(torch.ones(WIDTH) / 9, settings(precision=precision), seed=1)
    x = observations(256, seed=2)
    answer = (x[:, 0] > 0).long()
    legal = torch.tensor([[10, 20]], dtype=torch.uint8).repeat(256, 1)
    targets = torch.nn.functional.one_hot(answer, 2).float()
    batch = LossBatch.teaching(legal, torch.full((256,), 2, dtype=torch.int16), targets, answer.float())
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    options = LossSettings(policy=0.0, entropy=0.0, clone=1.0, value=1.0)
    for _ in range(150):
        optimizer.zero_grad()
        loss, statistics = policy_value_loss(*net(x), batch, options)
        loss.backward()
        optimizer.step()
    assert statistics[-1] > 0.98, "agreement with the teacher"
    assert loss < 0.1


@pytest.mark.parametrize(("actor", "shortcut"), [((32, 24), True), ((32,), False)])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_logits_of_legal_actions_are_those_of_all_actions(
    precision: str, actor: tuple[int, ...], shortcut: bool
) -> None:
    net = PolicyValueNet(
        scales(),
        settings(precision=precision, actor=actor),
        shortcut=torch.arange(5, 15) if shortcut else None,
        seed=4,
    )
    with torch.no_grad():
        for weight in net.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(2))
    legal = torch.tensor([[0, 7, 164, 255], [3, 255, 255, 255]], dtype=torch.uint8).repeat(10, 1)
    counts = torch.tensor([3, 1], dtype=torch.int16).repeat(10)
    with torch.inference_mode():
        found, values = net(observations(), legal=(legal, counts))
        wanted, same_values = net(observations())
    assert torch.equal(values, same_values)
    for row, count in enumerate(counts):
        places = legal[row, :count].long()
        torch.testing.assert_close(found[row, places], wanted[row, places], rtol=1e-5, atol=1e-5)
