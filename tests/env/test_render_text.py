"""A game as text and moves in words."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from render_games import deal_hidden_anew, moment, random_choice

from phase10_env import PRESETS, GameBatch
from phase10_env.positions import load_position
from phase10_env.render import ViewError, action_in_words, move_in_words, render_ansi, table_facts
from phase10_env.render.ansi import WIDTH, plain
from phase10_env.render.facts import card_points, sort_cards

POSITION = {
    "ruleset": "official",
    "players": 3,
    "dealer": 0,
    "to_act": 1,
    "stage": "play",
    "round": 2,
    "turn": 14,
    "stock": "",
    "discard": "S G4",
    "seats": [
        {"hand": "R1 W", "phase": 2, "laid": False, "score": 35, "skipped": True},
        {"hand": "R5 B2 G12 S", "phase": 2, "laid": True, "score": 0, "skipped": False},
        {"hand": "Y1 Y2", "phase": 1, "laid": False, "score": 50, "skipped": False},
    ],
    "table": [
        {"seat": 1, "group": 0, "kind": "set", "number": 7, "cards": "R7 B7 W"},
        {"seat": 1, "group": 1, "kind": "run", "low": 3, "cards": "R3 W B5 G6"},
    ],
    "memory": {"known": ["R1", "", ""]},
}


def position_game() -> tuple[np.ndarray, object]:
    """Load the position above; every card that is not in it lies in the stock."""
    used = " ".join(
        [
            POSITION["discard"],
            *(s["hand"] for s in POSITION["seats"]),
            *(m["cards"] for m in POSITION["table"]),
        ]
    )
    deck = [f"{c}{n}" for c in "RBGY" for n in range(1, 13) for _ in range(2)] + ["W"] * 8 + ["S"] * 4
    for card in [*used.split(), "S"]:  # one Skip lies in front of seat 0
        deck.remove(card)
    return load_position({**POSITION, "stock": " ".join(deck)})


def test_the_table_is_readable_without_colours() -> None:
    games, ruleset = position_game()
    text = render_ansi(games, ruleset, viewer=1, colour=False, names=["Ann", "Bo", "Cy"])
    assert "\x1b" not in text
    assert "round 2, turn 15   dealer: Ann" in text
    assert "discard   S on top (2 cards; beneath: G4)" in text
    assert "> Bo (you)" in text
    assert "phase   2: a set of 3 and a run of 4" in text
    assert "hand    B2 R5 G12 S (4 cards, 35 points)" in text
    assert "table   set of 7s: R7 B7 W" in text
    assert "table   run 3-6: R3 W B5 G6" in text
    assert re.search(r"  Ann +SKIP pending   score 35", text)
    assert "hand    R1 ?? x 1" in text
    assert "hand    ?? x 2" in text
    assert text.endswith("Bo (you) to act: hit, or end the turn with a discard or a Skip")


def test_colours_add_nothing_but_escapes() -> None:
    games, ruleset = position_game()
    assert plain(render_ansi(games, ruleset, 1)) == render_ansi(games, ruleset, 1, colour=False)
    assert "\x1b[97;48;5;160mR5\x1b[0m" in render_ansi(games, ruleset, 1)


def test_the_open_table_shows_every_hand() -> None:
    games, ruleset = position_game()
    text = render_ansi(games, ruleset, colour=False)
    assert "hand    R1 W (2 cards, 30 points)" in text
    assert "hand    Y1 Y2 (2 cards, 10 points)" in text
    assert "??" not in text


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    decisions=st.integers(0, 400),
    players=st.integers(2, 6),
    preset=st.sampled_from(sorted(PRESETS)),
    viewer=st.integers(0, 5),
)
def test_every_moment_fits_80_columns(
    seed: int, decisions: int, players: int, preset: str, viewer: int
) -> None:
    games, ruleset = moment(seed, decisions, players, preset)
    names = [f"an agent with a very long name {seat}" for seat in range(players)]
    seat = viewer if viewer < players else None
    for line in render_ansi(games, ruleset, seat, colour=False, names=names).splitlines():
        assert len(line) <= WIDTH, line


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    decisions=st.integers(0, 300),
    players=st.integers(2, 6),
    viewer=st.integers(0, 5),
    shuffle=st.integers(0, 10**6),
)
def test_a_viewer_sees_the_same_however_the_hidden_cards_lie(
    seed: int, decisions: int, players: int, viewer: int, shuffle: int
) -> None:
    games, ruleset = moment(seed, decisions, players)
    seat = viewer % players
    other = deal_hidden_anew(games, seat, shuffle)
    assert table_facts(games, ruleset, seat) == table_facts(other, ruleset, seat)
    assert render_ansi(games, ruleset, seat) == render_ansi(other, ruleset, seat)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), players=st.integers(2, 6), preset=st.sampled_from(sorted(PRESETS)))
def test_moves_in_words_tell_a_viewer_nothing_hidden(seed: int, players: int, preset: str) -> None:
    batch = GameBatch(1, players, preset, seed, observation=None, auto_reset=False)
    rng = np.random.default_rng(seed)
    for _ in range(150):
        before = batch.games.copy()
        if before["status"][0]:
            break
        action = random_choice(batch.legal_actions[0, : batch.legal_counts[0]], rng)
        batch.step([action])
        actor = int(before["to_act"][0])
        viewer = (actor + 1) % players
        open_text = move_in_words(before, batch.games, batch.ruleset, action)
        text = move_in_words(before, batch.games, batch.ruleset, action, viewer)
        assert open_text.startswith(f"seat {actor} ")
        if action == 0:
            assert re.match(rf"seat {actor} draws from the stock[.,]", text)
            assert re.match(rf"seat {actor} draws [RBGYWS]\d* from the stock[.,]", open_text)
        elif 12 <= action < 38 and batch.games["stage"][0] == 2:
            assert text == ""
        else:
            assert text in ("", open_text)
        assert action_in_words(before, batch.ruleset, action)


def test_what_a_seat_builds_is_shown_to_that_seat_alone() -> None:
    for seed in range(200):
        games, ruleset = moment(seed, 400, 2, "official")
        batch_stage = int(games["stage"][0])
        if batch_stage in (2, 3):
            actor = int(games["to_act"][0])
            own, others = table_facts(games, ruleset, actor), table_facts(games, ruleset, 1 - actor)
            assert (own.building is not None) == (batch_stage == 2)
            assert (own.onto_card != "") == (batch_stage == 3)
            assert others.stage == "play"
            assert others.building is None
            assert others.onto_card == ""
            return
    raise AssertionError("no game stopped inside a lay-down or a hit")


def test_hits_and_skips_are_told_with_their_places() -> None:
    games, ruleset = position_game()
    assert action_in_words(games, ruleset, 160) == "skip seat 2"
    games["skipped"][0] = 0
    assert action_in_words(games, ruleset, 111 + 4) == "discard R5"
    assert action_in_words(games, ruleset, 38 + 13) == "hit with B2 on your own run 3-6"


def test_the_end_of_a_round_is_told_with_its_points() -> None:
    batch = GameBatch(1, 2, "official", 3, observation=None, auto_reset=False)
    rng = np.random.default_rng(3)
    while True:
        before = batch.games.copy()
        action = random_choice(batch.legal_actions[0, : batch.legal_counts[0]], rng)
        batch.step([action])
        if batch.games["round_over"][0]:
            break
    text = move_in_words(before, batch.games, batch.ruleset, action, names=["Ann", "Bo"])
    out = ["Ann", "Bo"][int(batch.games["out_seat"][0])]
    points = batch.games["round_points"][0]
    assert f"{out} goes out. Round 1 scores: Ann {points[0]}, Bo {points[1]}." in text
    assert "deals round 2." in text


def test_hands_are_sorted_by_number_and_by_colour_for_a_colour_phase() -> None:
    assert sort_cards(["Y1", "W", "R12", "S", "B1"]) == ("B1", "Y1", "R12", "W", "S")
    assert sort_cards(["Y1", "W", "R12", "S", "B1"], by_colour=True) == ("R12", "B1", "Y1", "W", "S")
    assert card_points(["Y1", "W", "R12", "S", "B1"]) == 5 + 25 + 10 + 15 + 5


def test_a_viewer_and_names_that_do_not_fit_are_refused() -> None:
    games, ruleset = moment(1, 0, 2)
    with pytest.raises(ViewError, match="viewer is 2: expected a seat from 0 to 1, or None"):
        render_ansi(games, ruleset, viewer=2)
    with pytest.raises(ViewError, match="expected a list of 2 labels, one for each seat"):
        render_ansi(games, ruleset, names=["Ann"])


def test_names_cannot_smuggle_in_control_characters() -> None:
    games, ruleset = moment(1, 0, 2)
    text = render_ansi(games, ruleset, colour=False, names=["A\x1b[31m\nnn", "Bo"])
    assert "A?[31m?nn" in text
