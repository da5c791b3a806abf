"""The gradient in blocks is autograd's, for every part a network can have and whatever the minibatch's size."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from phase10_agents.neural.discard_head import DiscardViews
from phase10_agents.neural.networks import NetworkSettings, PolicyValueNet
from phase10_training import block_gradient
from phase10_training.block_gradient import BlockGradient
from phase10_training.fused_loss import LossBatch, LossSettings, LossSizes, policy_value_loss
from phase10_training.learner_bench import LearnerBenchSettings, SyntheticDecisions

ENTRIES, STATE = 90, 20
SETTINGS = LossSettings(entropy=0.01, anchor=0.2, clone=0.3, value_clip=0.2)


def network(
    actor: tuple[int, ...], critic: tuple[int, ...], oracle: bool, shortcut: bool, head: bool = False
) -> PolicyValueNet:
    rng = torch.Generator().manual_seed(5)
    scale = torch.rand(ENTRIES, generator=rng)
    scale[7:19] = 0.0  # ignored
    places = torch.randint(0, ENTRIES, (48, 6), generator=rng)
    net = PolicyValueNet(
        scale,
        NetworkSettings(
            actor=actor, critic=critic, precision="fp32", input_layer="sparse", discards=10 if head else 0
        ),
        privileged_scale=torch.rand(STATE, generator=rng) if oracle else None,
        shortcut=torch.arange(20, 35) if shortcut else None,
        views=DiscardViews(places, torch.rand(places.shape, generator=rng), hand=30, play=80),
    )
    with torch.no_grad():
        for weight in net.parameters():
            weight += 0.05 * torch.randn(weight.shape, generator=rng)
    return net


def decisions(n: int) -> tuple[torch.Tensor, torch.Tensor, LossBatch]:
    drawn = SyntheticDecisions.draw(n, LearnerBenchSettings(observation_size=ENTRIES, minibatch=n))
    rng = torch.Generator().manual_seed(6)
    batch = dataclasses.replace(
        drawn.batch,
        anchor_logits=torch.randn(n, 165, generator=rng),
        targets=torch.rand(drawn.batch.legal_actions.shape, generator=rng),
    )
    return drawn.observations, torch.randint(0, 3, (n, STATE), dtype=torch.uint8, generator=rng), batch


@pytest.mark.parametrize(
    ("oracle", "shortcut", "head"),
    [
        (False, False, False),
        (True, False, False),
        (False, True, False),
        (True, True, True),
        (False, False, True),
    ],
)
@pytest.mark.parametrize(("actor", "critic"), [((48, 40, 24), (32,)), ((30,), (18, 17))])
@pytest.mark.parametrize("n", [1, 512, 1100])
def test_it_equals_autograd(
    actor: tuple[int, ...],
    critic: tuple[int, ...],
    oracle: bool,
    shortcut: bool,
    head: bool,
    n: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(block_gradient, "_NUMBERS", 512 * (actor[0] + critic[0]))  # blocks of 512
    net = network(actor, critic, oracle, shortcut, head)
    observations, hidden, batch = decisions(n)
    privileged = hidden if oracle else None
    sizes = LossSizes.of(batch)
    logits, values = net(observations, privileged)
    loss, expected = policy_value_loss(logits, values, batch, SETTINGS, sizes)
    torch.autograd.backward(loss)
    wanted = {name: weight.grad for name, weight in net.named_parameters()}
    net.zero_grad(set_to_none=True)

    gradient = BlockGradient(net)
    for _ in range(2):  # nothing stays of a call before
        found = gradient(observations, privileged, batch, SETTINGS, sizes)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-7)
    for name, weight in net.named_parameters():
        wish = wanted[name]
        assert weight.grad is not None
        assert wish is not None
        scale = float(wish.abs().max())
        torch.testing.assert_close(weight.grad, wish, rtol=0, atol=2e-6 * scale, msg=name)


def test_it_follows_the_weights() -> None:
    net = network((16,), (16,), oracle=False, shortcut=False)
    observations, _, batch = decisions(20)
    gradient = BlockGradient(net)
    before = gradient(observations, None, batch, SETTINGS, LossSizes.of(batch))
    with torch.no_grad():
        net.actor[0].weight += 0.5 * torch.randn(165, 16, generator=torch.Generator().manual_seed(1))
    after = gradient(observations, None, batch, SETTINGS, LossSizes.of(batch))
    assert abs(before[0] - after[0]) > 1e-3


@pytest.mark.parametrize(
    ("precision", "input_layer", "served"),
    [("fp32", "sparse", True), ("bf16", "sparse", False), ("fp32", "dense", False)],
)
def test_it_serves_what_it_computes(precision: str, input_layer: str, served: bool) -> None:
    settings = NetworkSettings(actor=(8,), critic=(8,), precision=precision, input_layer=input_layer)  # type: ignore[arg-type]
    assert BlockGradient.serves(PolicyValueNet(torch.ones(ENTRIES), settings)) is served
