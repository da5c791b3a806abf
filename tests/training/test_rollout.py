"""Rollouts: every decision of the learner is credited once, to the seat that took it, across rollouts and tables."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import torch
from training.tiny import tiny_settings

from phase10_agents.catalog import load_agent
from phase10_training.advantages import NO_SEAT
from phase10_training.ppo import make_network
from phase10_training.rollout import RolloutWorker
from phase10_training.settings import TrainingSettings


def worker_of(settings: TrainingSettings, pool_share: float = 0.0) -> RolloutWorker:
    return RolloutWorker(
        0,
        make_network(settings),
        settings.environment,
        settings.rollout,
        settings.advantage,
        settings.seed,
        None,
        pool_share,
    )


def played(worker: RolloutWorker, iteration: int, **options: Any) -> None:
    with torch.no_grad():
        folded = worker.net.fold()
    worker.collect(iteration, folded, **options)


@pytest.mark.parametrize("episode", ["round", "game"])
@pytest.mark.parametrize("players", [2, 4])
def test_each_decision_earns_what_its_seat_got_until_its_next_one_also_across_rollouts(
    players: int, episode: str
) -> None:
    settings = tiny_settings(
        environment={"num_players": players, "episode": episode},
        rollout={"games": 6, "workers": 1, "steps": 9},
        advantage={"gae_lambda": 0.0},
    )
    worker = worker_of(settings)
    open_now: dict[tuple[int, int], float] = {}  # reward so far of the last decision of (game, seat)
    expected: dict[tuple[int, int], list[float]] = defaultdict(list)
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    for iteration in range(60):
        played(worker, iteration)
        assert worker.credit is not None
        for game in range(worker.games):
            for row in range(players, players + worker.steps):
                mover = game, int(worker.seats[row, game])
                if mover in open_now:  # with lambda 0 the next own decision is worth its value
                    expected[mover].append(open_now[mover] + float(worker.values[row, game]))
                open_now[mover] = 0.0
                for seat in range(players):
                    if (game, seat) in open_now:
                        open_now[game, seat] += float(worker.rewards[row, game, seat])
                        if worker.ends[row, game]:
                            expected[game, seat].append(open_now.pop((game, seat)))
        rows, games = np.unravel_index(worker.chosen, worker.seats.shape)
        order = np.lexsort((rows, games))
        for row, game in zip(rows[order], games[order], strict=True):
            found[int(game), int(worker.seats[row, game])].append(float(worker.credit.returns[row, game]))
        worker.carry_over()
    assert sum(map(len, found.values())) > 1000
    for key, outcomes in expected.items():
        np.testing.assert_allclose(found[key], outcomes, atol=1e-5)


def test_every_open_decision_is_carried_over_with_what_it_needs() -> None:
    settings = tiny_settings(environment={"num_players": 3}, rollout={"games": 8, "workers": 1, "steps": 17})
    worker = worker_of(settings)
    for iteration in range(5):
        played(worker, iteration)
        assert worker.credit is not None
        open_rows = worker.credit.open_rows.copy()
        actions, observations = worker.actions.copy(), worker.observations.copy()
        pending = worker.credit.pending.copy()
        worker.carry_over()
        for game in range(worker.games):
            for seat in range(3):
                row = open_rows[game, seat]
                if row < 0:
                    assert worker.seats[seat, game] == NO_SEAT
                    continue
                assert worker.seats[seat, game] == seat
                assert worker.actions[seat, game] == actions[row, game]
                assert (worker.observations[seat, game] == observations[row, game]).all()
                assert worker.rewards[seat, game, seat] == pending[game, seat]


def test_open_decisions_can_be_dropped() -> None:
    worker = worker_of(tiny_settings(rollout={"games": 8, "workers": 1}))
    played(worker, 0)
    worker.carry_over(keep=False)
    assert (worker.seats[: worker.players] == NO_SEAT).all()
    assert (worker.rewards[: worker.players] == 0).all()


def test_decisions_of_pool_seats_are_never_learned_and_learner_seats_always_are() -> None:
    settings = tiny_settings(environment={"num_players": 3}, rollout={"games": 16, "workers": 1, "steps": 96})
    worker = worker_of(settings, pool_share=1.0)
    pool = [load_agent("random"), load_agent("greedy")]
    seen = np.zeros(3, np.int64)
    for iteration in range(4):
        before = worker.controllers.copy()
        played(worker, iteration, opponents=pool)
        first = worker.ends[worker.players :].argmax(axis=0)
        for game in range(worker.games):
            ended = worker.ends[worker.players :, game].any()
            last = first[game] if ended else worker.steps - 1
            for step in range(last + 1):
                row = worker.players + step
                if worker.seats[row, game] != NO_SEAT:
                    assert before[game, worker.seats[row, game]] == 0
        for controllers in worker.controllers:
            if controllers.any():
                assert (controllers == 0).sum() == 1
                assert len(set(controllers[controllers > 0].tolist())) == 1
                seen[controllers.max()] += 1
        worker.carry_over()
    assert (seen[1:] > 0).all()


def test_all_actions_of_a_rollout_are_legal_and_log_probabilities_are_those_of_the_policy() -> None:
    settings = tiny_settings(rollout={"games": 8, "workers": 1})
    worker = worker_of(settings)
    played(worker, 0)
    rows = slice(worker.players, None)
    legal = worker.legal[rows] == worker.actions[rows][:, :, None]
    assert (legal & (np.arange(worker.legal.shape[2]) < worker.counts[rows][:, :, None])).any(axis=2).all()
    assert (worker.log_probs[rows] <= 0).all()
    observations, _, batch = worker.minibatch(
        worker.chosen, np.zeros(worker.seats.size, np.float32), taught=False
    )
    with torch.no_grad():
        logits, values = worker.net(observations)
    listed = logits.gather(1, batch.legal_actions.long())
    valid = torch.arange(listed.shape[1]) < batch.legal_counts[:, None]
    chances = listed.masked_fill(~valid, float("-inf")).log_softmax(dim=1)
    place = ((batch.legal_actions == batch.actions[:, None]) & valid).float().argmax(dim=1, keepdim=True)
    torch.testing.assert_close(chances.gather(1, place)[:, 0], batch.old_log_probs, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(values, batch.old_values, atol=1e-4, rtol=1e-4)


def test_games_do_not_depend_on_how_many_workers_share_them() -> None:
    def games(workers: int) -> list[tuple[Any, ...]]:
        settings = tiny_settings(rollout={"games": 8, "workers": workers})
        found = []
        for number in range(workers):
            worker = RolloutWorker(
                number, make_network(settings), settings.environment, settings.rollout, settings.advantage, 1
            )
            played(worker, 0)
            found += [tuple(worker.actions[worker.players :, game].tolist()) for game in range(worker.games)]
        return found

    assert games(1) == games(2) == games(4)


def test_a_taught_rollout_holds_the_teachers_choice_and_full_returns() -> None:
    settings = tiny_settings(rollout={"games": 8, "workers": 1, "steps": 64}, advantage={"gae_lambda": 0.5})
    worker = worker_of(settings)
    teacher = load_agent("greedy")
    played(worker, 0, teacher=teacher, random_moves=0.3)
    assert worker.credit is not None
    rows = slice(worker.players, None)
    differs = worker.teacher[rows] != worker.actions[rows]
    assert 0.05 < differs.mean() < 0.35
    for game in range(worker.games):
        end = int(worker.ends[:, game].argmax())
        if not worker.ends[end, game]:
            continue
        for row in range(worker.players, end + 1):
            seat = worker.seats[row, game]
            assert worker.credit.returns[row, game] == pytest.approx(
                worker.rewards[end, game, seat], abs=1e-6
            )


def test_a_worker_goes_on_from_its_state_as_if_nothing_had_happened() -> None:
    settings = tiny_settings(environment={"num_players": 3}, rollout={"games": 8, "workers": 1, "steps": 128})
    pool = [load_agent("random")]
    one, two = worker_of(settings, 0.5), worker_of(settings, 0.5)
    for iteration in range(2):
        played(one, iteration, opponents=pool)
        one.carry_over()
    assert (one.controllers > 0).any()
    two.restore(one.state())
    for worker in (one, two):
        played(worker, 2, opponents=pool)
    assert (one.actions[3:] == two.actions[3:]).all()
    assert one.credit is not None
    assert two.credit is not None
    np.testing.assert_array_equal(one.credit.returns, two.credit.returns)
    np.testing.assert_array_equal(one.chosen, two.chosen)
    assert (one.controllers == two.controllers).all()


def test_targets_are_the_teachers_choice_smoothed_over_the_legal_actions() -> None:
    worker = worker_of(tiny_settings(rollout={"games": 8, "workers": 1}))
    played(worker, 0, teacher=load_agent("greedy"))
    none = np.zeros(worker.seats.size, np.float32)
    _, _, batch = worker.minibatch(worker.chosen, none, taught=True, smoothing=0.2)
    assert batch.targets is not None
    counts = batch.legal_counts[:, None]
    valid = torch.arange(batch.targets.shape[1]) < counts
    taught = (batch.legal_actions == torch.from_numpy(worker.teacher.ravel()[worker.chosen])[:, None]) & valid
    expected = torch.where(valid, 0.2 / counts, 0.0) + 0.8 * taught
    torch.testing.assert_close(batch.targets, expected)
