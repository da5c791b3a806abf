"""GameBatch from outside: independence of rows, seeds, rewards, buffers, cloning, refusals."""

from __future__ import annotations

import re
import threading
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from phase10_env import GameBatch, IllegalActionError, RuleSet
from phase10_env.cpu_rows import CpuRows, _cut
from phase10_env.game_batch import MAX_LEGAL, game_seeds
from phase10_env.rules.state import TERMINATED, TRUNCATED

QUICK = RuleSet.from_dict({"base": "official", "phases": ["set 3", "run 4"], "hand_size": 7})


def choose(batch: GameBatch) -> npt.NDArray[np.int64]:
    """Lay down or hit where that is legal, else act by each game's own random stream, so that games end."""
    view = batch.view(information=False)
    counts = np.maximum(view.legal_counts, 1).astype(np.uint64)
    places = (view.random % counts).astype(np.int64)
    first = view.legal_actions[:, 0]
    places[(first >= 2) & (first < 111)] = 0
    return view.legal_actions[np.arange(batch.num_games), places].astype(np.int64)


def play(batch: GameBatch, decisions: int, record: list[npt.NDArray[np.void]] | None = None) -> None:
    """Step a batch, keeping its states where asked to."""
    for _ in range(decisions):
        batch.step(choose(batch))
        if record is not None:
            record.append(batch.games.copy())


@pytest.mark.parametrize("players", [2, 3, 6])
def test_a_batch_of_n_equals_n_batches_of_one(players: int) -> None:
    together = GameBatch(5, players, QUICK, seed=11)
    steps: list[npt.NDArray[np.void]] = []
    play(together, 150, steps)
    for number in range(5):
        alone = GameBatch(1, players, QUICK, seed=11, first_game=number)
        own: list[npt.NDArray[np.void]] = []
        play(alone, 150, own)
        for whole, single in zip(steps, own, strict=True):
            assert whole[number] == single[0]
        assert (together.observations[number] == alone.observations[0]).all()
        assert (together.action_masks[number] == alone.action_masks[0]).all()


def test_threads_change_nothing() -> None:
    one, two, three = (GameBatch(137, 4, QUICK, seed=5, threads=threads) for threads in (1, 2, 3))
    ended = set()
    for batch in (one, two, three):
        play(batch, 120)
        ended.add(batch.play_random(50))
    assert len(ended) == 1
    for batch in (two, three):
        assert (one.games == batch.games).all()
        assert (one.observations == batch.observations).all()
        assert (one.rewards == batch.rewards).all()


def test_rows_are_cut_into_blocks_that_meet() -> None:
    for rows in (1, 31, 33, 1024, 5000):
        for threads in (1, 2, 7):
            blocks = _cut(rows, threads)
            assert [first for first, _ in blocks[1:]] == [last for _, last in blocks[:-1]]
            assert (blocks[0][0], blocks[-1][1]) == (0, rows)


def test_nobody_waits_for_a_helper_that_gets_no_processor() -> None:
    never = Event()
    rows = CpuRows(1000, threads=2)
    assert rows._pool is not None
    rows._pool.submit(never.wait)  # the one helper is kept away
    done: list[tuple[int, int]] = []
    assert rows._over_rows(lambda first, last: done.append((first, last)) or last - first, ()) == 1000
    assert done == _cut(1000, 2)
    never.set()


def test_what_fails_in_a_helper_fails_in_the_caller() -> None:
    caller = threading.get_ident()
    helped = Event()

    def fail(first: int, last: int) -> int:
        if threading.get_ident() != caller:
            helped.set()
            raise ZeroDivisionError("in the helper")
        assert helped.wait(60)
        return 0

    with pytest.raises(ZeroDivisionError, match="in the helper"):
        CpuRows(1000, threads=2)._over_rows(fail, ())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "tpu"}, "device must be one of cpu, cuda, found 'tpu'"),
        (
            {"device": "cuda", "threads": 2},
            "threads are for device='cpu'; with 'cuda' leave them out, found 2",
        ),
        (
            {"device": "cuda", "observation": "candidates"},
            "observation 'candidates' needs device='cpu'; with 'cuda' use 'full' or 'basic'",
        ),
        (
            {"device": "cuda"},
            "device='cuda' needs numba-cuda, found none; install it with pip install 'phase10-env[cuda]' or use "
            "device='cpu'",
        ),
    ],
)
def test_a_device_that_cannot_be_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr("phase10_env.game_batch.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=re.escape(message) + "$"):
        GameBatch(2, **options)


def test_random_play_inside_equals_steps_from_outside() -> None:
    outside, inside = GameBatch(8, 2, QUICK, seed=2), GameBatch(8, 2, QUICK, seed=2)
    inside.play_random(100)
    assert inside.games["decisions"].sum() + inside.games["episode"].sum() > 0
    assert (inside.legal_counts > 0).all()
    assert (outside.games != inside.games).any()


def test_reset_with_the_seed_deals_the_same_games_again() -> None:
    batch = GameBatch(4, 2, seed=3)
    first = batch.games.copy()
    play(batch, 200)
    batch.reset(seed=3)
    assert (batch.games == first).all()
    batch.reset()
    assert (batch.games != first).any()
    assert (batch.games["episode"] == 1).all()


def test_neighbouring_seeds_share_no_game() -> None:
    seeds = np.concatenate([game_seeds(seed, 0, 500) for seed in range(4)])
    assert len(np.unique(seeds)) == 2000


def test_the_legal_list_is_the_mask_in_ascending_order() -> None:
    batch = GameBatch(64, 6, "pick-a-phase", seed=1)
    for _ in range(60):
        play(batch, 5)
        for row in range(64):
            listed = batch.legal_actions[row, : batch.legal_counts[row]]
            assert listed.tolist() == np.flatnonzero(batch.action_masks[row]).tolist()
            assert 0 < len(listed) <= MAX_LEGAL


@pytest.mark.parametrize("reward", ["win", "rank", "points", "equity"])
@pytest.mark.parametrize("players", [2, 3, 5])
def test_rewards_of_every_kind_sum_to_zero_and_reach_every_seat(reward: str, players: int) -> None:
    batch = GameBatch(32, players, QUICK, seed=9, reward=reward)
    paid = np.zeros(players)
    endings = 0
    for _ in range(600):
        play(batch, 1)
        assert np.abs(batch.rewards.sum(axis=1)).max() < 1e-5
        paid += np.abs(batch.rewards).sum(axis=0)
        over = batch.terminations & ~batch.truncations
        endings += int(over.sum())
        for row in np.flatnonzero(over):
            ranks = batch.results[row]["rank"][:players]
            if reward == "win":
                winners = int((ranks == 1).sum())
                share = (1 - (winners - 1) / (players - 1)) / winners
                assert batch.rewards[row][ranks == 1] == pytest.approx(share)
                assert batch.rewards[row][ranks > 1] == pytest.approx(-1 / (players - 1))
            elif reward == "rank" and len(set(ranks.tolist())) == players:
                assert batch.rewards[row] == pytest.approx(1 - 2 * (ranks - 1.0) / (players - 1))
    assert endings > 0
    assert (paid > 0).all()


def test_equity_rewards_of_a_game_add_up_to_result_less_first_equity() -> None:
    batch = GameBatch(16, 3, QUICK, seed=4, reward="equity", auto_reset=False)
    start = batch.equities.copy()
    total = np.zeros((16, 3))
    for _ in range(4000):
        if batch.games["status"].all():
            break
        play(batch, 1)
        total += batch.rewards
    done = batch.games["status"] == TERMINATED
    assert done.any()
    ranks = batch.games["rank"][:, :3]
    wins = (ranks == 1) / np.maximum(1, (ranks == 1).sum(axis=1, keepdims=True))
    assert total[done] == pytest.approx((wins - start)[done], abs=1e-5)


def test_a_truncated_game_pays_nothing() -> None:
    capped = RuleSet.from_dict({"base": "official", "max_turns": 3})
    batch = GameBatch(16, 2, capped, seed=1, reward="equity")
    truncated = 0
    for _ in range(60):
        play(batch, 1)
        rows = batch.truncations
        truncated += int(rows.sum())
        assert not batch.rewards[rows].any()
        assert (batch.results["status"][rows] == TRUNCATED).all()
        assert not (batch.terminations & rows).any()
    assert truncated > 0


def test_an_illegal_action_is_refused_with_its_reason_and_nothing_changes() -> None:
    batch = GameBatch(3, 2, seed=1)
    before = batch.games.copy()
    with pytest.raises(
        IllegalActionError, match=r"game 1: seat \d may not discard R1 \(111\): .*\(R8\)"
    ) as caught:
        batch.step([0, 111, 0])
    assert caught.value.row == 1
    assert (batch.games == before).all()
    with pytest.raises(ValueError, match="one action for each of 3 games"):
        batch.step([0])


def test_copied_games_go_on_alike() -> None:
    batch = GameBatch(6, 2, seed=8)
    play(batch, 40)
    batch.copy_games([0, 1], [4, 5])
    assert (batch.observations[[0, 1]] == batch.observations[[4, 5]]).all()
    play(batch, 60)
    assert (batch.games[[0, 1]] == batch.games[[4, 5]]).all()


def test_round_episodes_start_where_they_are_told() -> None:
    start = {"phases": [[3, 7]], "scores": [[10, 20]], "dealers": 1}
    batch = GameBatch(4, 2, episode="round", start=start, seed=1)
    assert (batch.games["phase"][:, :2] == [2, 6]).all()
    assert (batch.games["score"][:, :2] == [10, 20]).all()
    assert (batch.games["dealer"] == 1).all()
    ended = 0
    for _ in range(3000):
        play(batch, 1)
        ended += int(batch.terminations.sum())
        if ended > 3:
            break
    assert ended > 3
    assert (batch.games["score"][:, :2] == [10, 20]).all()


def test_mixed_starts_cover_every_phase() -> None:
    batch = GameBatch(512, 4, episode="round", start="mixed", seed=1)
    assert set(np.unique(batch.games["phase"][:, :4])) == set(range(10))
    near = np.ptp(batch.games["phase"][:, :4].astype(int), axis=1) <= 4
    assert 0.6 < near.mean() < 0.95


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_games": 0}, "num_games must be at least 1, found 0"),
        ({"num_players": 7}, "7"),
        ({"ruleset": "offical"}, "official"),
        ({"actions": "short"}, "actions must be one of full, compact, found 'short'"),
        ({"observation": "all"}, "observation must be one of basic, full, candidates, found 'all'"),
        ({"episode": "round", "reward": "win"}, "needs whole games"),
        ({"reward": "money"}, "reward must be one of"),
        ({"episode": "round", "start": {"phase": 1}}, "start knows phases"),
        ({"episode": "round", "start": {"phases": 11}}, "from 1 to 10"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GameBatch(**{"num_games": 2, **arguments})  # type: ignore[arg-type]


def test_a_tie_break_ended_by_the_cap_pays_no_points_again() -> None:
    """Both seats finish with equal scores, then nobody goes out before the turns of the tie-break are over."""
    rules = RuleSet.from_dict({"base": "ten-rounds", "phases": ["set 2"] * 2, "hand_size": 3, "max_turns": 8})
    batch = GameBatch(512, 2, rules, seed=3, reward="points")
    capped = 0
    for _ in range(400):
        tied = batch.games["tie_break"] == 1
        before = batch.games["episode"].copy()
        play(batch, 1)
        over = (batch.games["episode"] != before) & tied
        shared = over & (batch.results["rank"][:, :2] == 1).all(axis=1)
        capped += int(shared.sum())
        assert not batch.rewards[over].any()
    assert capped > 0
