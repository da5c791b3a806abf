"""The worth of a hand: more cards never hurt, useless ones change nothing, and rare outs take longer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_agents.policies import POLICIES, POLICY_WEIGHTS
from phase10_agents.scratch import new_scratch
from phase10_agents.targets import greedy_target, outside_target
from phase10_env import RuleSet
from phase10_env.distance import seat_outlook
from phase10_env.hand_worth import ALL_ASKED, count_unseen, gain_of, hand_changes, loss_of
from phase10_env.rules.cards import KIND_TEXTS
from phase10_env.rules.deal import add_card
from phase10_env.rules.kernel import kernel
from phase10_env.rules.state import GAME

RULES = RuleSet().record
AWARE = POLICY_WEIGHTS[POLICIES.index("aware") :][:1]


@kernel
def _reckon(games, rules, weights, scratch, more, out):  # type: ignore[no-untyped-def]
    count_unseen(games[0], rules[0], weights[0], scratch[0])
    hand_changes(games[0], rules[0], more, ALL_ASKED, weights[0], scratch[0])
    for kind in range(48):
        out[kind] = gain_of(kind, scratch[0]) if more else loss_of(kind, scratch[0])


@kernel
def _target(games, rules, kinds, out):  # type: ignore[no-untyped-def]
    phase, demand = greedy_target(games[0], rules[0])
    out[0] = outside_target(games[0], rules[0], phase, demand, kinds)
    _, out[1], out[2], out[3] = seat_outlook(games[0], rules[0], 0)


@kernel
def _hold(games, cards):  # type: ignore[no-untyped-def]
    for kind in cards:
        add_card(games[0], 0, kind)


def holding(kinds: list[int], phase: int) -> np.ndarray:
    games = np.zeros(1, GAME)
    games["num_players"] = 2
    games["phase"] = phase
    _hold(games, np.array(kinds, np.int64))
    return games


def reckoned(games: np.ndarray, more: bool) -> tuple[np.ndarray, np.ndarray]:
    scratch, out = new_scratch(), np.zeros(48)
    _reckon(games, RULES, AWARE, scratch, more, out)
    return out, scratch


def kinds_of(text: str) -> list[int]:
    return [KIND_TEXTS.index(card) for card in text.split()]


hands = st.lists(st.integers(0, 47), min_size=8, max_size=11).filter(lambda h: max(map(h.count, h)) <= 2)


@given(hands, st.integers(0, 9), st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_a_card_more_never_hurts_and_a_card_less_never_helps(hand: list[int], phase: int, wilds: int) -> None:
    games = holding(hand + [48] * wilds, phase)
    for more in (True, False):
        changes, scratch = reckoned(games, more)
        assert (changes >= -1e-9).all()
        assert scratch["value"][0] > 0
        _, distance, _, _ = outlook(games)
        assert scratch["distance"][0] == distance


def outlook(games: np.ndarray) -> tuple[int, int, int, int]:
    out = np.zeros(4, np.int64)
    _target(games, RULES, np.int64(games["held"][0, 0]) & ((1 << 48) - 1), out)
    return int(out[0]), int(out[1]), int(out[2]), int(out[3])


@given(hands, st.integers(0, 9), st.integers(0, 2))
@settings(max_examples=200, deadline=None)
def test_greedy_never_throws_a_card_that_it_needs(hand: list[int], phase: int, wilds: int) -> None:
    games = holding(hand + [48] * wilds, phase)
    outside, distance, _, needed = outlook(games)
    if distance > 0:
        assert outside & needed == 0


@given(hands, st.integers(0, 9))
@settings(max_examples=100, deadline=None)
def test_cards_that_lower_the_distance_are_worth_having(hand: list[int], phase: int) -> None:
    games = holding(hand, phase)
    gains, _ = reckoned(games, True)
    _, distance, lowers, _ = outlook(games)
    wanted = np.array([(lowers >> kind) & 1 for kind in range(48)], bool)
    if distance > 0:
        assert (gains[wanted] > 0).all()


@pytest.mark.parametrize(
    ("hand", "phase", "dear", "cheap"),
    [
        ("R3 B3 R7 B7 R1 B2 G5 Y12 R10 G8", 0, "R3", "Y12"),  # two sets: a pair against a single card
        ("R2 R3 R4 B6 B7 G8 Y12 R12 G12 B12", 3, "R4", "R12"),  # run of 7: its inside against a far number
        ("R1 R2 R5 R7 R9 B3 B4 G1 Y1 Y2", 7, "R1", "G1"),  # one colour
    ],
)
def test_losing_a_useful_card_costs_more(hand: str, phase: int, dear: str, cheap: str) -> None:
    losses, _ = reckoned(holding(kinds_of(hand), phase), False)
    assert losses[KIND_TEXTS.index(dear)] > losses[KIND_TEXTS.index(cheap)] + 0.2


def test_a_number_of_which_none_is_left_is_worth_less() -> None:
    games = holding(kinds_of("R3 B3 R7 B7 R1 B2 G5 Y12 R10 G8"), 0)
    before, _ = reckoned(games, True)
    for kind in (2, 14, 26, 38):  # the threes
        games["pile_counts"][0, kind] = 2 - games["hands"][0, 0, kind]
    after, _ = reckoned(games, True)
    seven = KIND_TEXTS.index("G7")
    assert after[seven] < before[seven] or after[KIND_TEXTS.index("G3")] < before[KIND_TEXTS.index("G3")]
