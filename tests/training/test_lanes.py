"""Gradients from several lanes against one pass over the whole batch."""

from __future__ import annotations

import pytest
import torch
from phase10_training.fused_loss import LossSettings, policy_value_loss
from phase10_training.lanes import GradientLanes
from phase10_training.learner_bench import LearnerBenchSettings, SyntheticDecisions
from phase10_training.networks import NetworkSettings, PolicyValueNet

SETTINGS = LearnerBenchSettings(
    observation_size=50, network=NetworkSettings(actor=(32, 16), critic=(16, 8), precision="fp32")
)
LOSS = LossSettings(entropy=0.02)


def network() -> PolicyValueNet:
    return PolicyValueNet(torch.ones(50), SETTINGS.network, seed=2)


def data(n: int = 230) -> SyntheticDecisions:
    return SyntheticDecisions.draw(n, SETTINGS, seed=4)


def gradients(net: PolicyValueNet) -> list[torch.Tensor]:
    found = [parameter.grad for parameter in net.parameters()]
    return [gradient for gradient in found if gradient is not None]


@pytest.mark.parametrize(("lanes", "chunk"), [(1, 1000), (1, 64), (2, 64), (3, 17), (5, 100)])
def test_lanes_and_chunks_add_up_to_one_pass(lanes: int, chunk: int) -> None:
    decisions, net, whole = data(), network(), network()
    loss, statistics = policy_value_loss(*whole(decisions.observations), decisions.batch, LOSS)
    loss.backward()
    with GradientLanes(net, lanes=lanes, chunk=chunk) as workers:
        found = workers.gradient(decisions.observations, decisions.batch, LOSS)
    torch.testing.assert_close(found, statistics, rtol=1e-5, atol=1e-6)
    assert len(gradients(net)) == len(gradients(whole)) == len(list(net.parameters()))
    for one, other in zip(gradients(net), gradients(whole), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-6)


def test_the_number_of_threads_changes_no_bit_over_several_steps() -> None:
    decisions = data()
    results = []
    for threads in (1, 2, 3):
        net = network()
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        with GradientLanes(net, lanes=2, threads=threads, chunk=40) as workers:
            for _ in range(4):
                workers.gradient(decisions.observations, decisions.batch, LOSS)
                optimizer.step()
        results.append([parameter.detach().clone() for parameter in net.parameters()])
    assert not torch.equal(results[0][0], network().input_weight), "the steps must reach the lanes' weights"
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_lanes_follow_weights_loaded_later() -> None:
    net, other = network(), PolicyValueNet(torch.ones(50), SETTINGS.network, seed=77)
    decisions = data(20)
    with GradientLanes(net, lanes=1) as workers, GradientLanes(other, lanes=1) as fresh:
        net.load_state_dict(other.state_dict())
        one = workers.gradient(decisions.observations, decisions.batch, LOSS)
        assert torch.equal(one, fresh.gradient(decisions.observations, decisions.batch, LOSS))
