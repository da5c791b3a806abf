"""The learner: schedules, one update, the two stages, the pool, the anchor, and the same run from the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from training.tiny import tiny_settings

from phase10_agents.catalog import load_agent
from phase10_agents.neural.agent import PolicyAgent
from phase10_agents.neural.networks import PolicyValueNet
from phase10_training.errors import UsageError
from phase10_training.ppo import Learner, make_network, schedule_at


def greedy_agent(net: PolicyValueNet) -> PolicyAgent:
    return PolicyAgent(net, "snapshot")


def weights(learner: Learner) -> list[np.ndarray[Any, Any]]:
    return [tensor.detach().numpy().copy() for tensor in learner.net.parameters()]


def test_the_schedule_goes_from_imitating_over_the_critic_alone_to_self_play() -> None:
    settings = tiny_settings(
        total_decisions=1000,
        clone={"agent": "greedy", "decisions": 200, "learning_rate": 1.0, "final_learning_rate": 0.5},
        optimizer={
            "learning_rate": 0.4,
            "final_learning_rate": 0.2,
            "final_entropy": 0.0,
            "critic_warmup": 100,
        },
        loss={"entropy": 0.1, "anchor": 0.3},
    )
    first, warm, middle = (schedule_at(settings, at) for at in (100, 250, 600))
    assert first.imitating
    assert first.learning_rate == pytest.approx(0.75)
    assert (first.loss.policy, first.loss.clone, first.loss.entropy, first.loss.anchor) == (
        0.0,
        1.0,
        0.0,
        0.0,
    )
    assert not warm.imitating
    assert (warm.loss.policy, warm.loss.clone, warm.loss.anchor) == (0.0, 0.0, 0.0)
    assert (middle.loss.policy, middle.loss.anchor) == (1.0, 0.3)
    assert middle.learning_rate == pytest.approx(0.3)
    assert middle.loss.entropy == pytest.approx(0.05)
    assert schedule_at(settings, 2000).learning_rate == pytest.approx(0.2)


def test_the_same_seed_gives_the_same_weights_and_statistics_and_another_seed_others() -> None:
    def run(seed: int) -> tuple[list[np.ndarray[Any, Any]], list[dict[str, float]]]:
        learner = Learner(tiny_settings(seed=seed))
        statistics = [learner.iterate() for _ in range(3)]
        learner.close()
        return weights(learner), statistics

    (one, log), (two, again), (other, _) = run(3), run(3), run(4)
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    assert log == again
    assert any((a != b).any() for a, b in zip(one, other, strict=True))


def test_imitating_raises_the_agreement_with_the_teacher() -> None:
    settings = tiny_settings(
        total_decisions=100_000,
        clone={"agent": "melder", "decisions": 50_000, "learning_rate": 5e-3, "random_moves": 0.0},
        rollout={"games": 32, "steps": 32},
        optimizer={"epochs": 2, "minibatch": 128},
    )
    learner = Learner(settings, teacher=load_agent("greedy"))
    agreement = [learner.iterate()["train/clone_agreement"] for _ in range(12)]
    learner.close()
    assert agreement[-1] > agreement[0] + 0.1


def test_a_decision_of_the_teacher_is_never_learned_as_one_of_the_policy() -> None:
    settings = tiny_settings(total_decisions=4096, clone={"agent": "greedy", "decisions": 512})
    learner = Learner(settings, teacher=load_agent("greedy"))
    learner.iterate()
    assert any((worker.seats[: worker.players] >= 0).any() for worker in learner.workers)
    learner.iterate()
    assert all((worker.seats[: worker.players] < 0).all() for worker in learner.workers)
    assert learner.iterate()["train/approx_kl"] < 0.05
    learner.close()


def test_the_critic_alone_leaves_the_policy_as_it_is() -> None:
    settings = tiny_settings(optimizer={"critic_warmup": 1_000_000})
    learner = Learner(settings)
    probe = torch.from_numpy(learner.workers[0].batch.observations.copy())
    with torch.no_grad():
        logits, values = learner.net(probe)
        learner.iterate()
        after, valued = learner.net(probe)
    learner.close()
    torch.testing.assert_close(logits, after)
    assert not torch.allclose(values, valued)


def test_the_policy_rate_shortens_the_steps_of_the_policy_and_of_nothing_else() -> None:
    def moves(rate: float) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        rollout = {"games": 8, "steps": 16, "workers": 1}
        learner = Learner(
            tiny_settings(rollout=rollout, optimizer={"policy_rate": rate, "epochs": 1, "minibatch": 4096})
        )
        width = learner.net.settings.actor[0]
        before = learner.net.input_weight.detach().numpy().copy()
        learner.iterate()
        learner.close()
        moved = learner.net.input_weight.detach().numpy() - before
        return moved[:, :width], moved[:, width:]

    (policy, critic), (whole_policy, whole_critic) = moves(0.25), moves(1.0)
    assert np.abs(whole_policy).max() > 0
    np.testing.assert_allclose(policy, 0.25 * whole_policy, rtol=1e-3, atol=1e-7)
    np.testing.assert_array_equal(critic, whole_critic)


def test_a_small_kl_limit_ends_the_passes_early() -> None:
    def updates(target: float) -> float:
        learner = Learner(tiny_settings(optimizer={"epochs": 4, "target_kl": target, "learning_rate": 1e-2}))
        found = learner.iterate()["train/updates"]
        learner.close()
        return found

    assert updates(1e-9) * 4 == updates(1e9)


def test_the_pool_keeps_the_newest_snapshots() -> None:
    settings = tiny_settings(pool={"share": 0.5, "snapshots": 2, "snapshot_every": 256})
    learner = Learner(settings, as_agent=greedy_agent)
    for _ in range(4):
        learner.iterate()
    assert len(learner.snapshots) == 2
    newest = learner.snapshots[-1].state_dict()
    for name, tensor in learner.net.state_dict().items():
        torch.testing.assert_close(newest[name], tensor)
    assert any((worker.controllers > 0).any() for worker in learner.workers)
    learner.close()


def test_the_anchor_starts_as_the_policy_and_follows_it_slowly() -> None:
    settings = tiny_settings(loss={"anchor": 0.5}, optimizer={"anchor_rate": 0.25, "learning_rate": 1e-2})
    learner = Learner(settings)
    start = [tensor.clone() for tensor in learner.net.policy_weights()]
    assert learner.iterate()["train/anchor_kl"] < 0.05
    assert learner.anchor is not None
    for ours, theirs in zip(learner.anchor.policy_weights(), start, strict=True):
        torch.testing.assert_close(ours, theirs)
    moved = [tensor.clone() for tensor in learner.net.policy_weights()]
    learner.iterate()
    for ours, old, new in zip(learner.anchor.policy_weights(), start, moved, strict=True):
        torch.testing.assert_close(ours, old + 0.25 * (new - old))
    learner.close()


def test_the_anchor_is_a_policy_and_needs_no_critic() -> None:
    settings = tiny_settings(loss={"anchor": 0.5}, rollout={"oracle_critic": True})
    learner = Learner(settings)
    learner.iterate()
    assert learner.anchor is not None
    assert learner.anchor.settings.critic == (2,)
    probe = torch.from_numpy(learner.workers[0].batch.observations.copy())
    again = Learner(settings)
    again.set_anchor(learner.anchor.state_dict())
    assert again.anchor is not None
    with torch.no_grad():
        assert torch.equal(learner.anchor(probe)[0], again.anchor(probe)[0])
    again.set_anchor(learner.net.state_dict())  # of a time when anchors had critics
    assert again.anchor.settings.critic == (2,)
    with torch.no_grad():
        logits, _ = learner.net(probe, torch.zeros(len(probe), len(learner.net.privileged_scale)).byte())
        assert torch.equal(again.anchor(probe)[0], logits)
    for one in (learner, again):
        one.close()


def test_a_heavy_anchor_holds_the_policy_back() -> None:
    def distance(anchor: float) -> float:
        settings = tiny_settings(
            loss={"anchor": anchor},
            optimizer={"anchor_rate": 1e-6, "learning_rate": 3e-3, "target_kl": 9.0, "epochs": 8},
        )
        learner = Learner(settings)
        probe = torch.from_numpy(learner.workers[0].batch.observations.copy())
        with torch.no_grad():
            before, _ = learner.net(probe)
            for _ in range(3):
                learner.iterate()
            after, _ = learner.net(probe)
        learner.close()
        return float((after.softmax(1) - before.softmax(1)).abs().sum())

    assert distance(100.0) < 0.7 * distance(0.0)


def test_the_oracle_critic_sees_more_and_the_policy_does_not() -> None:
    settings = tiny_settings(rollout={"oracle_critic": True})
    learner = Learner(settings)
    statistics = learner.iterate()
    assert np.isfinite(statistics["train/value_loss"])
    probe = torch.from_numpy(learner.workers[0].batch.observations.copy())
    width = len(learner.net.privileged_scale)
    hidden = torch.randint(0, 2, (len(probe), width), dtype=torch.uint8)
    with torch.no_grad():
        one, valued = learner.net(probe, hidden)
        two, other = learner.net(probe, 1 - hidden)
    learner.close()
    torch.testing.assert_close(one, two)
    assert not torch.allclose(valued, other)


def test_shaping_changes_advantages_and_leaves_returns_without_bootstrap_as_they_are() -> None:
    def credit(shaping: float) -> Any:
        settings = tiny_settings(
            environment={"shaping": shaping},
            rollout={"games": 4, "workers": 1, "steps": 128},
            advantage={"gae_lambda": 1.0},
        )
        learner = Learner(settings)
        with torch.no_grad():
            learner.workers[0].collect(0, learner.net.fold())
        learner.close()
        return learner.workers[0]

    plain, shaped = credit(0.0), credit(0.2)
    assert (plain.actions == shaped.actions).all()
    missing = plain.observations[..., plain._missing] @ np.arange(10, dtype=np.uint8)
    closed = plain.credit.closed
    # Potentials of a stream cancel but for the first: A' = A - Φ(own state) for decisions of finished episodes.
    ended = np.cumsum(plain.ends[::-1], axis=0)[::-1] > 0
    sure = closed & ended
    difference = shaped.credit.advantages - plain.credit.advantages
    np.testing.assert_allclose(difference[sure], 0.2 * missing[sure], atol=1e-4)


@pytest.mark.parametrize(
    ("section", "change", "words"),
    [
        ("rollout", {"games": 7}, "rollout.games must be a multiple"),
        ("pool", {"share": 0.5}, "pool.share needs"),
        ("clone", {"decisions": 5}, "clone.agent and clone.decisions"),
        ("environment", {"reward": "win"}, "environment.reward"),
        ("environment", {"num_players": 7}, "environment.num_players"),
        ("optimizer", {"anchor_rate": 0.0}, "optimizer.anchor_rate"),
        ("optimizer", {"final_entropy": -0.1}, "optimizer.final_entropy must be at least 0"),
        ("loss", {"anchor": -1.0}, "loss.anchor must be at least 0"),
        ("loss", {"entropy": -0.5}, "loss.entropy must be at least 0"),
        ("loss", {"value_clip": 0.0}, "loss.value_clip must be above 0"),
        ("advantage", {"gae_lambda": 1.5}, "advantage.gae_lambda must be from 0 to 1"),
        ("environment", {"reward_scale": 0.0}, "environment.reward_scale must be above 0"),
        ("checkpoint", {"keep": 0}, "checkpoint.keep"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_key(
    section: str, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        tiny_settings(**{section: change})


def test_a_fresh_network_depends_on_the_seed_alone() -> None:
    one, two = make_network(tiny_settings(seed=5)), make_network(tiny_settings(seed=5))
    assert all((a == b).all() for a, b in zip(one.parameters(), two.parameters(), strict=True))
