"""Known numbers: how often a dealt hand holds a phase, a round opens with a Skip or Wild; fair shuffles."""

from __future__ import annotations

import math
from collections import Counter

import numba
import numpy as np
import pytest
from rules.situations import play, situation

from phase10_env import GameBatch
from phase10_env.notation import parse_card
from phase10_env.rules.cards import SKIP, WILD
from phase10_env.rules.lay_downs import can_lay

DEALT_PHASE = (18.28, 29.81, 5.34, 15.57, 6.49, 1.99, 0.33, 2.77, 3.11, 0.35)
"""Published chance in per cent that ten dealt cards hold phase 1 ... 10 (a simulation of 5e11 samples)."""

ROUNDING = 0.005 / 100


@numba.njit
def count_holders(games, rules, counts):  # type: ignore[no-untyped-def]
    """Count in counts int64[10] how many hands of all games hold each phase."""
    for row in range(len(games)):
        for seat in range(6):
            for phase in range(10):
                if can_lay(games[row], rules[0], seat, phase):
                    counts[phase] += 1


def deals(number: int, games: int, seed: int):
    """Return batches of freshly dealt games of six players."""
    batch = GameBatch(games, 6, seed=seed, observation=None)
    for _ in range(number):
        yield batch
        batch.reset()


def check_dealt_phases(number: int, games: int) -> None:
    counts = np.zeros(10, np.int64)
    for batch in deals(number, games, seed=5):
        count_holders(batch.games, batch.ruleset.record, counts)
    hands = 6 * number * games
    for phase, per_cent in enumerate(DEALT_PHASE):
        chance = per_cent / 100
        error = math.sqrt(chance * (1 - chance) / hands)
        assert counts[phase] / hands == pytest.approx(chance, abs=4 * error + ROUNDING), f"phase {phase + 1}"


def check_openings(number: int, games: int) -> None:
    opened = np.concatenate([batch.games["discard"][:, 0].copy() for batch in deals(number, games, seed=6)])
    for kind, copies in ((SKIP, 4), (WILD, 8), (0, 2), (47, 2)):
        chance = copies / 108
        error = math.sqrt(chance * (1 - chance) / len(opened))
        assert (opened == kind).mean() == pytest.approx(chance, abs=4 * error)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="thousands of hands need compiled kernels")
def test_a_dealt_hand_holds_a_phase_as_often_as_published():
    check_dealt_phases(4, 2500)


@pytest.mark.slow
def test_a_dealt_hand_holds_a_phase_as_often_as_published_to_the_third_digit():
    check_dealt_phases(200, 5000)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="thousands of deals need compiled kernels")
def test_a_round_opens_with_a_skip_in_4_and_a_wild_in_8_of_108_deals():
    check_openings(8, 2500)


@pytest.mark.slow
def test_openings_in_a_million_deals():
    check_openings(200, 5000)


def test_the_first_dealer_is_drawn_evenly_and_every_kind_is_dealt_to_every_seat():
    batch = GameBatch(600, 6, seed=3, observation=None)
    dealers = np.bincount(batch.games["dealer"], minlength=6)
    assert dealers.min() > 60
    assert (batch.games["hands"].sum(axis=0)[:, :50] > 0).all()


# ---- reshuffles --------------------------------------------------------------------------------------------


def reshuffled(seed: int) -> list[str]:
    """Return the stock after a draw that had to reshuffle a pile of all cards but a few."""
    game = situation("R2 R3", "B2", discard="G1", rest="discard", stage="draw", seed=seed)
    game.play("draw")
    drawn = Counter(game.hands[0].split()) - Counter(["R2", "R3"])
    return [*drawn, *game.position()["stock"].split()]


def test_a_reshuffle_is_the_same_for_the_same_seed_and_another_for_another():
    assert reshuffled(1) == reshuffled(1)
    assert len({tuple(reshuffled(seed)) for seed in range(20)}) == 20


def test_any_card_may_come_first_after_a_reshuffle():
    first = [reshuffled(seed)[0] for seed in range(300)]
    assert len(set(first)) > 40, "of 50 kinds"
    assert 5 <= first.count("W") <= 45, "8 of 104 cards"


def test_the_second_reshuffle_of_a_round_differs_from_the_first():
    game = situation("R2 R3", "B2", discard="G1 G2 G3 G4 G5 G6 G7", rest="discard", stage="draw")
    assert game.state["reshuffles"][0] == 0
    game.play("draw")
    assert game.state["reshuffles"][0] == 1
    first = game.position()["stock"].split()
    game.state["stock_size"] = 0
    pile = game.state["discard"][0]
    pile[: len(first)] = [parse_card(card) for card in reversed(first)]
    game.state["discard_size"] = len(first)
    play(game, "discard R2", "draw")
    assert game.state["reshuffles"][0] == 2
    assert game.position()["stock"].split() != first[1:]
