"""Single kernels and what they leave behind: bit sets, turn order, round episodes, counting, loading."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Rules, spellings
from reference.model import perft as model_perft
from rules.duel import model_of
from rules.situations import lay_downs_built, legal, meld, position, situation, table_of

from phase10_env import Game, GameBatch, RuleSet, perft
from phase10_env.actions import ACTION_TEXTS
from phase10_env.engine import apply_action, reason_against
from phase10_env.rules.batch import explain_row, list_legal
from phase10_env.rules.cards import (
    KIND_TEXTS,
    POINTS,
    colour_set,
    lowest_bit,
    number_set,
    points_of,
    popcount,
)
from phase10_env.rules.deal import next_active
from phase10_env.rules.state import GAME

# ---- bit sets and cards ------------------------------------------------------------------------------------


@given(st.integers(0, 2**62))
@settings(deadline=None)
def test_bits_are_counted(bits: int) -> None:
    assert popcount(bits) == bits.bit_count()
    if bits:
        assert 1 << lowest_bit(bits) == bits & -bits


@pytest.mark.parametrize("number", range(14))
def test_the_set_of_a_number_holds_its_four_kinds(number: int) -> None:
    found = [text for kind, text in enumerate(KIND_TEXTS) if number_set(number) >> kind & 1]
    assert found == ([f"{letter}{number}" for letter in "RBGY"] if 1 <= number <= 12 else [])


@pytest.mark.parametrize("colour", range(4))
def test_the_set_of_a_colour_holds_its_twelve_kinds(colour: int) -> None:
    found = [text for kind, text in enumerate(KIND_TEXTS) if colour_set(colour) >> kind & 1]
    assert found == [f"{'RBGY'[colour]}{number}" for number in range(1, 13)]


def test_points_are_those_of_the_table() -> None:
    assert [points_of(kind) for kind in range(50)] == POINTS.tolist()
    by_card = {"R1": 5, "G9": 5, "B10": 10, "Y12": 10, "S": 15, "W": 25}
    assert {text: points_of(KIND_TEXTS.index(text)) for text in by_card} == by_card


# ---- seats -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("active", "seat", "expected"),
    [([1, 1, 1], 0, 1), ([1, 1, 1], 2, 0), ([1, 0, 1], 0, 2), ([1, 0, 0], 0, 0), ([0, 0, 0], 1, 1)],
)
def test_the_next_active_seat_sits_to_the_left(active: list[int], seat: int, expected: int) -> None:
    games = np.zeros(1, GAME)
    games["num_players"] = 3
    games["active"][0, :3] = active
    assert next_active(games[0], seat) == expected


# ---- asking changes nothing --------------------------------------------------------------------------------


def test_asking_why_an_action_is_illegal_changes_no_byte_of_a_lay_down_being_built() -> None:
    hand = "R7 B7 G7 W W R9 B9 G9 Y9 R12"
    game = situation(hand, "B1", stage="build", building={"phase": 1, "spelled": ["number 7", "play R7"]})
    before = game.state.tobytes()
    for action in range(len(ACTION_TEXTS)):
        explain_row(game.state, game.ruleset.record, 0, action)
        assert game.state.tobytes() == before, ACTION_TEXTS[action]
    assert list_legal(game.state, game.ruleset.record, 0, np.zeros(165, np.uint8)) > 1
    assert game.state.tobytes() == before


def test_an_illegal_action_is_not_applied_and_its_reason_returned() -> None:
    game = situation("R1", "B1", stage="draw")
    before = game.state.tobytes()
    assert apply_action(game.state, game.ruleset, 111) == reason_against(game.state, game.ruleset, 111)
    assert game.state.tobytes() == before
    for action in (-1, 165):
        assert "no action with this number" in str(reason_against(game.state, game.ruleset, action))


def test_once_a_game_is_over_nothing_is_legal() -> None:
    game = situation("R2 R3", "B2 B3", rules=RuleSet(max_turns=1), turn=1)
    game.play("discard R2")
    assert (game.over, game.legal_actions()) == (True, [])
    assert game.why_illegal("draw") == "the game is over"


def test_a_turn_without_a_draw_begins_with_the_play_stage() -> None:
    rules = RuleSet(
        phases=["set 2"],
        hand_size=2,
        deck={"numbers": "1-2", "colours": "RBG", "copies": 1, "wilds": 0, "skips": 2},
    )
    game = situation("R1 S", "B1 B2", "G1 R2", rules=rules, discard="S", stock="G2", stage="draw")
    game.play("draw")
    game.play("skip 2")
    assert (game.to_act, game.stage, int(game.state["no_draw"][0])) == (1, "play", 1)
    assert game.legal_actions() == ["discard B1", "discard B2"]


def test_in_a_compact_tie_break_the_inactive_do_not_make_colours_matter() -> None:
    rules = RuleSet(phases=["colour 3", "set 3"])
    seats = {seat: {"phase": 3 if seat == 1 else 2} for seat in range(3)}
    game = situation(
        "R3 B3", "", "R1", rules=rules, seats=seats, active=[0, 2], actions="compact", discard="G1"
    )
    assert game.legal_actions() == ["discard R3"]
    assert (
        game.why_illegal("discard B3")
        == "with compact actions only the lowest colour of each number is offered"
    )


# ---- lay-downs of two kinds of groups -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "hand", "holds"),
    [
        ("run 3 + set 2", "R5 B5 G5 R6 R7 S", True),
        ("run 3 + set 2", "R5 B5 R6 R7 S", False),
        ("run 3 + run 3", "R6 B5 R7 B6 R8 B7 S", True),
        ("run 3 + run 4", "R5 B5 R6 R7 R8 G7 S", False),
        ("colour 2 + set 2", "R5 B5 R6 R7 S", True),
        ("colour 2 + set 2", "R5 R6 W W S", True),
        ("colour 2 + set 2", "R5 W W W S", False),
        ("colour 3 + set 2", "R5 R6 R7 W W S", True),
        ("colour 2 + run 2", "R5 B6 R6 R7 S", True),
        ("colour 3 + run 3", "R5 R6 R7 B5 B6 S", False),
        ("colour 2 + run 3", "R1 R1 R9 R9 B5 W S", False),
        ("run 3 + colour 2", "R1 R1 R9 R9 B5 W S", False),
        ("run 3 + colour 2", "R1 R1 R9 R9 B5 W W S", True),
        ("set 2 + run 3", "R1 B1 G1 Y1 R5 W W S", True),
        ("set 3 + run 3", "R1 B1 G1 Y1 R3 R5 W S", True),
    ],
)
def test_two_groups_share_the_hand_with_the_fewest_wilds(phase: str, hand: str, holds: bool) -> None:
    game = situation(hand, "B1", rules=RuleSet(phases=[phase]), discard="Y1")
    assert ("lay 1" in game.legal_actions()) == holds
    assert ("build 1" in game.legal_actions()) == holds
    if holds:
        found = spellings(hand.split(), game.ruleset.phases[0], Rules())
        assert lay_downs_built(game) == sorted([" ".join(g.cards) for g in s.groups] for s in found)
        best = min(found, key=lambda spelling: spelling.preference)
        game.play("lay 1")
        assert list(table_of(game).values()) == [" ".join(group.cards) for group in best.groups]


def test_a_lay_down_spelled_out_has_no_next_symbol() -> None:
    game = situation("R7 B7 S", "B1", rules=RuleSet(phases=["set 2"]), discard="Y1")
    state = game.state[0]
    state["stage"], state["declared"], state["placed_sizes"] = 2, [7, 0], [2, 0]
    assert list_legal(game.state, game.ruleset.record, 0, np.zeros(165, np.uint8)) == 0


# ---- episodes of one round ---------------------------------------------------------------------------------


def test_an_episode_of_one_round_ends_with_its_score_and_nobody_ranked() -> None:
    rules = RuleSet(phases=["set 2", "set 3"], hand_size=3)
    batch = GameBatch(8, 3, rules, episode="round", auto_reset=False, seed=3, observation=None)
    stream = np.random.default_rng(1)
    while (batch.games["status"] == 0).any():
        picks = stream.integers(0, np.maximum(batch.legal_counts, 1))
        batch.step(batch.legal_actions[np.arange(8), picks])
    for game in batch.games:
        assert (game["status"], game["round"], game["round_over"]) == (1, 1, 1)
        assert (game["rank"] == 0).all()
        assert (game["score"] == game["round_points"]).all()
        assert game["score"][game["out_seat"]] == 0
        assert (game["phase"] == game["round_laid"]).all()


# ---- counting action sequences -----------------------------------------------------------------------------

RUN_AND_SET = {
    "rules": RuleSet(phases=["set 2 + run 2", "set 3"], hand_size=6),
    "discard": "Y1",
    "stock": "Y5 Y6",
}


@pytest.mark.parametrize("mode", ["full", "compact"])
@pytest.mark.parametrize(
    ("hands", "options"),
    [
        (("R3 B3 R4 W", "B1 G1"), RUN_AND_SET),
        (("R3 R4", "B1"), {"stage": "draw", "discard": "G1 G2", "stock": "", "rest": "discard"}),
        (("R7 S", "B1"), {"seats": {0: {"laid": True}}, "table": [
            meld(0, 0, "set", 7, "R7 B7 G7"), meld(0, 1, "set", 9, "R9 B9 G9")]}),
        (("R7", "B1"), {"seats": {0: {"laid": True}}, "table": [
            meld(0, 0, "set", 7, "R7 B7 G7"), meld(0, 1, "set", 9, "R9 B9 G9")]}),
    ],
)  # fmt: skip
def test_sequences_are_counted_as_in_the_model(hands, options, mode: str) -> None:
    game = situation(*hands, actions=mode, **options)
    for depth in range(4):
        assert perft(game, depth) == model_perft(model_of(game), depth, mode), depth


# ---- loading -----------------------------------------------------------------------------------------------


def test_a_lay_down_with_one_way_to_go_is_walked_to_its_end_when_loaded() -> None:
    game = situation("R7 B7 G7 R9 B9 G9 R12", "B1", stage="build", building={"phase": 1, "spelled": []})
    assert (game.stage, len(table_of(game))) == ("play", 2)
    assert legal(game, "discard") == ["discard R12"]


def test_a_build_position_stops_at_the_next_choice() -> None:
    spelled = {"phase": 1, "spelled": ["number 7"]}
    game = situation("R7 B7 G7 Y7 R9 B9 G9 R12", "B1", stage="build", building=spelled)
    assert game.position()["building"]["spelled"] == ["number 7"]
    assert game.legal_actions() == ["play R7", "play B7"]
    again = Game.from_position(
        position("R7 B7 G7 Y7 R9 B9 G9 R12", "B1", stage="build", building=spelled), "compact"
    )
    assert again.stage == "play", "compact: the cards follow by rule"


def test_a_compact_game_goes_on_from_a_lay_down_half_spelled_in_full() -> None:
    spelled = {"phase": 1, "spelled": ["number 7", "play R7"]}
    hand = "R7 B7 G7 R9 B9 G9 R10 B10 G10 Y12 Y11"
    game = situation(hand, "B1", stage="build", building=spelled, actions="compact")
    assert game.legal_actions() == ["number 9", "number 10"]
    for text in ACTION_TEXTS:
        assert (game.why_illegal(text) is None) == (text in game.legal_actions())
    game.play("number 9")
    assert table_of(game) == {(0, 0): "R7 B7 G7", (0, 1): "R9 B9 G9"}


# ---- what everyone remembers -------------------------------------------------------------------------------


def test_the_last_eight_discards_of_a_seat_are_remembered_newest_first() -> None:
    cards = [f"R{n}" for n in range(1, 11)]
    game = situation(" ".join(cards), "B1 B2", discard="G1")
    for card in cards:
        game.play(f"discard {card}")
        game.play("draw")
        game.play(game.legal_actions()[-1])
        game.play("draw")
    discards = game.position()["memory"]["discards"]
    assert discards[0].split() == cards[:1:-1]
    assert len(discards[1].split()) == 8


def test_the_last_pile_top_that_a_seat_refused_is_remembered() -> None:
    game = situation("R1 R2 S", "B1 B2", "G4", discard="G1", stage="draw", stock="Y1 Y2 Y3 Y4")
    game.play("draw")
    assert game.position()["memory"]["refused"] == ["G1", "", ""]
    game.play("discard R1")
    game.play("take")
    assert game.position()["memory"]["refused"] == ["G1", "", ""], "taken, not refused"


def test_a_skip_on_the_pile_is_not_refused() -> None:
    game = situation("R1 R2", "B1", discard="S G1", stage="draw")
    game.play("draw")
    assert "refused" not in game.position().get("memory", {})


def test_a_known_card_is_forgotten_when_it_is_laid_down_or_hit() -> None:
    game = situation("R7 B7 R9 B9 G9 Y9 R1", "B1", discard="G7", stage="draw")
    game.play("take")
    assert game.position()["memory"]["known"] == ["G7", ""]
    game.play("lay 1")
    assert "known" not in game.position().get("memory", {})


def test_turns_lost_in_the_last_step_are_told() -> None:
    game = situation("R2 R3", "B2", "G2", "Y2", seats={1: {"skipped": True}, 2: {"skipped": True}})
    game.play("discard R2")
    assert game.state["last_lost"][0] == 0b0110
    game.play("draw")
    assert game.state["last_lost"][0] == 0
    assert game.state["decisions"][0] == 2
