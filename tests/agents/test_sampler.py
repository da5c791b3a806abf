"""Sampled deals obey every public fact, and each consistent deal is as likely as any other."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from phase10_agents.belief import improve_hands
from phase10_agents.catalog import load_agent
from phase10_agents.sampler import sample_hidden
from phase10_env import GameBatch, RuleSet
from phase10_env.rules.check import Broken, check
from phase10_env.rules.kernel import kernel
from phase10_env.rules.state import GAME

HIDDEN = ("stock", "hands", "held", "numbers", "colours", "seed")
PRESETS = ("official", "pile-skip", "pick-a-phase")


@kernel
def _improve_all(games, rules, effort, key):  # type: ignore[no-untyped-def]
    for row in range(len(games)):
        improve_hands(games[row], rules[0], games[row].to_act, effort, key + row)


def positions(preset: str, players: int, decisions: int) -> GameBatch:
    batch = GameBatch(32, players, preset, seed=decisions, observation=None)
    agent = load_agent("greedy:epsilon=0.1")
    for _ in range(decisions):
        batch.step(agent.act(batch.view()))
    return batch


def dealt(batch: GameBatch, key: int, effort: float = 0.0) -> np.ndarray:
    games = batch.view().information
    sample_hidden(games, batch.ruleset.record, np.uint64(key))
    if effort:
        _improve_all(games, batch.ruleset.record, effort, np.int64(key))
    return games


@pytest.mark.parametrize("effort", [0.0, 1.0])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("players", "decisions"), [(2, 3), (2, 41), (4, 60), (6, 77)])
def test_a_sample_obeys_every_public_fact(preset: str, players: int, decisions: int, effort: float) -> None:
    batch = positions(preset, players, decisions)
    games = dealt(batch, 5, effort)
    assert check(games, batch.ruleset) == Broken.NOTHING
    own = batch.games["to_act"]
    rows = np.arange(len(games))
    assert (games["hands"][rows, own] == batch.games["hands"][rows, own]).all()
    assert (games["hands"] >= games["known"]).all()
    assert (games["hand_sizes"] == batch.games["hand_sizes"]).all()
    assert (games["stock_size"] == batch.games["stock_size"]).all()
    for field in GAME.names or ():
        if field not in (*HIDDEN, "hand_sizes", "stock_size", "placed", "meld_cards", "discard"):
            known = batch.view().information[field]
            assert (games[field] == known).all(), field


def test_known_cards_occur_in_the_positions_tested() -> None:
    assert positions("official", 4, 60).games["known"].any()
    assert positions("official", 4, 60).games["skipped"].any()


def small_batch() -> GameBatch:
    """Two players with hands of three and few cards: 3 hidden in the other hand, the rest in the stock."""
    rules = RuleSet(
        name="small",
        phases=("set 2",),
        hand_size=3,
        deck={"R1": 2, "R2": 2, "B1": 2, "B2": 1, "W": 2, "S": 1},
    )
    batch = GameBatch(1, 2, rules, seed=3, observation=None)
    batch.step(np.array([0]))
    return batch


def test_every_consistent_deal_is_as_likely() -> None:
    batch = small_batch()
    view = batch.view()
    own = batch.games["hands"][0, view.seats[0]].astype(int)
    left = np.array(batch.ruleset.deck) - own - batch.games["pile_counts"][0]
    cards = np.repeat(np.arange(50), left)
    size = int(batch.games["hand_sizes"][0, 1 - view.seats[0]])
    expected = Counter(tuple(sorted(hand)) for hand in itertools.combinations(cards.tolist(), size))
    samples = 20_000
    games = np.repeat(view.information, samples)
    sample_hidden(games, batch.ruleset.record, np.uint64(8))
    hands = games["hands"][:, 1 - view.seats[0]]
    seen = Counter(tuple(np.repeat(np.arange(50), hand).tolist()) for hand in hands)
    assert set(seen) == set(expected)
    total = sum(expected.values())
    kinds = sorted(expected)
    found = chisquare([seen[k] for k in kinds], [samples * expected[k] / total for k in kinds])
    assert found.pvalue > 1e-3


def test_the_order_of_the_stock_is_uniform_too() -> None:
    batch = small_batch()
    samples = 20_000
    games = np.repeat(batch.view().information, samples)
    sample_hidden(games, batch.ruleset.record, np.uint64(9))
    size = int(games["stock_size"][0])
    tops = Counter(games["stock"][:, size - 1].tolist())
    bottoms = Counter(games["stock"][:, 0].tolist())
    left = (
        np.array(batch.ruleset.deck) - batch.games["hands"][0, batch.seats[0]] - batch.games["pile_counts"][0]
    )
    kinds = np.flatnonzero(left)
    for counts in (tops, bottoms):
        assert chisquare([counts[k] for k in kinds], samples * left[kinds] / left.sum()).pvalue > 1e-3


def test_samples_differ_in_the_seed_of_later_reshuffles() -> None:
    batch = positions("official", 2, 12)
    games = dealt(batch, 1)
    assert len(set(games["seed"].tolist())) == len(games)
    assert (games["seed"] != batch.games["seed"]).all()
