"""Positions: to and from records at any moment, and every inconsistency reported with its field."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from env.simple_play import play_out
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_env.game import Game
from phase10_env.positions import PositionError, load_position
from phase10_env.rules.cards import KIND_TEXTS
from phase10_env.rules.ruleset import PRESETS, RuleSet, get_ruleset

Position = dict[str, Any]


def fill(position: Position) -> Position:
    """Put every card of the deck that lies nowhere else under the stock."""
    rules = get_ruleset(position["ruleset"])
    left = [text for text, copies in zip(KIND_TEXTS, rules.deck, strict=True) for _ in range(copies)]
    zones = [position["stock"], position["discard"], *(seat["hand"] for seat in position["seats"])]
    zones += [meld["cards"] for meld in position["table"]]
    if rules.skip_placement == "front":
        zones += ["S" for seat in position["seats"] if seat["skipped"]]
    for card in " ".join(zones).split():
        left.remove(card)
    return position | {"stock": " ".join([*position["stock"].split(), *left])}


def seat(hand: str, phase: int = 1, **fields: Any) -> Position:
    return {"hand": hand, "phase": phase, "laid": False, "score": 0, "skipped": False, **fields}


def laid_position(**fields: Any) -> Position:
    """A moment of play: seat 0 has laid down set 3 + run 4 this turn, seat 1 had laid seven of a colour."""
    table = [
        {"seat": 0, "group": 0, "kind": "set", "number": 7, "cards": "R7 B7 W"},
        {"seat": 0, "group": 1, "kind": "run", "low": 3, "cards": "R3 W B5 G6"},
        {"seat": 1, "group": 0, "kind": "colour", "colour": "G", "cards": "G1 G1 G4 G8 G9 G12 W"},
    ]
    position = {
        "ruleset": "official", "players": 3, "dealer": 2, "to_act": 0, "stage": "play", "round": 4, "turn": 9,
        "stock": "B3 W R1", "discard": "S G4",
        "seats": [
            seat("R2 G7 Y7 S", 2, laid=True, score=60),
            seat("B1 B2 B3", 8, laid=True, score=25),
            seat("R1 R2 R8 R9 B10 B11 B12 Y1 Y2 Y3", 3, skipped=True),
        ],
        "table": table, "laid_this_turn": True, "taken": "Y7",
    }  # fmt: skip
    return fill(position | fields)


def build_position(**fields: Any) -> Position:
    position = laid_position()
    hand = "R7 B7 G7 W R3 R4 R5 R6 Y9 Y10 Y11"
    position = {
        **position,
        "stock": "",
        "table": [],
        "seats": [
            seat(hand, 2),
            seat("B1 B2 B3 B4 B5 B6 B8 B9 G1 G2"),
            seat("R1 R2 R8 R9 B10 B11 B12 Y1 Y2 Y3"),
        ],
        "stage": "build",
        "laid_this_turn": False,
        "building": {"phase": 2, "spelled": ["number 7", "play R7"]},
    }
    del position["taken"]
    return fill(position | fields)


def onto_position(**fields: Any) -> Position:
    position = laid_position()
    position["seats"][0]["hand"] = "R2 G7 W S"
    return fill(position | {"stage": "onto", "card": "W", "taken": None, "stock": ""} | fields)


def pick_position(**fields: Any) -> Position:
    position = laid_position(ruleset="pick-a-phase", stock="", table=[])
    seats = [
        {
            "hand": "R1 R2 R3 R4 R5 R6 R8 R9 R10 R11 R12",
            "done": [1, 3],
            "laid": False,
            "score": 5,
            "skipped": False,
        },
        {"hand": "B1 B2", "done": [10], "laid": True, "laid_phase": 4, "score": 5, "skipped": False},
        {"hand": "B1 B2 B3 B4 B5 B6 B8 B9 G1 G2", "done": [], "laid": False, "score": 5, "skipped": True},
    ]
    table = [{"seat": 1, "group": 0, "kind": "run", "low": 2, "cards": "Y2 Y3 Y4 Y5 W Y7 Y8"}]
    extra = {"seats": seats, "table": table, "stock": "", "laid_this_turn": False, "taken": None}
    return fill({**position, **extra, **fields})


def tie_position(**fields: Any) -> Position:
    position = laid_position(stock="", table=[], stage="draw", laid_this_turn=False)
    del position["taken"]
    seats = [
        seat("R1 R2 R3 R4 R5 R6 R8 R9 R10 R11", 10, score=50),
        seat("", 11, score=80),
        seat("B1 B2 B3 B4 B5 B6 B8 B9 G1 G2", 10, score=50),
    ]
    return fill(position | {"seats": seats, "stock": "", "active": [0, 2]} | fields)


GOOD = [laid_position, build_position, onto_position, pick_position, tie_position]


@pytest.mark.parametrize("make", GOOD, ids=[make.__name__ for make in GOOD])
def test_positions_by_hand_are_accepted_and_written_as_they_were(make: Callable[[], Position]) -> None:
    position = make()
    game = Game.from_position(position)
    written = game.position()
    for name, value in position.items():
        if name == "building":
            # steps with a single child are walked
            assert written[name]["spelled"][: len(value["spelled"])] == value["spelled"]
        elif name == "seats":
            for entry, expected in zip(written[name], value, strict=True):
                assert {**entry, "hand": sorted(entry["hand"].split())} == {
                    **expected,
                    "hand": sorted(expected["hand"].split()),
                }
        elif value is not None and not (name == "laid_this_turn" and name not in written):
            assert written[name] == value, name
    play_out(game, 1)
    assert game.over


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(PRESETS)),
    st.integers(2, 6),
    st.integers(0, 2**64 - 1),
    st.integers(0, 500),
    st.sampled_from(["full", "compact"]),
)
def test_any_moment_of_any_game_is_restored_whole(
    preset: str, players: int, seed: int, decisions: int, mode: str
) -> None:
    game = play_out(Game(players, preset, seed, mode), seed, decisions)
    if game.over:
        return
    twin = Game.from_position(game.to_json(), mode)
    assert twin.position() == game.position()
    assert twin.legal_actions() == game.legal_actions()
    for observer in range(players):
        assert (twin.observation(observer) == game.observation(observer)).all()
    # the rest of the game is the same, reshuffles and later deals included
    chance = random.Random(seed)
    for _ in range(200):
        if game.over:
            break
        action = chance.choice(game.legal_actions())
        game.play(action)
        twin.play(action)
    assert twin.scores == game.scores
    assert twin.hands == game.hands
    assert game.over or twin.position() == game.position()


def test_positions_of_a_ruleset_of_ones_own_hold_the_rules() -> None:
    rules = RuleSet(name="mine", phases=("set 2", "run 3 + run 3"), hand_size=8, naturals="phase")
    game = play_out(Game(3, rules, 4), 4, 40)
    position = json.loads(game.to_json())
    assert position["ruleset"]["phases"] == ["set 2", "run 3 + run 3"]
    twin = Game.from_position(position)
    assert twin.ruleset == rules
    assert twin.position() == game.position()


def problems_of(position: Any) -> list[str]:
    with pytest.raises(PositionError) as caught:
        load_position(position)
    assert str(caught.value) == "\n".join(caught.value.problems)
    assert all("\n" not in problem for problem in caught.value.problems)
    return caught.value.problems


def with_seat(position: Position, number: int, **fields: Any) -> Position:
    position["seats"][number] |= fields
    return position


def with_meld(position: Position, place: int, /, **fields: Any) -> Position:
    position["table"][place] |= fields
    return position


def without(position: Position, *names: str) -> Position:
    return {name: value for name, value in position.items() if name not in names}


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: 3, "position is 3: expected an object"),
    (lambda: "{", "position: expected a JSON object"),
    (lambda: '{"stock": "", "stock": ""}', "stock is given twice"),
    (lambda: laid_position() | {"stok": ""}, "stok is an unknown field"),
    (lambda: laid_position() | {"stok": ""}, "the nearest is 'stock'"),
    *(
        (lambda name=name: without(laid_position(), name), f"{name} is missing")
        for name in (
            "ruleset",
            "players",
            "dealer",
            "to_act",
            "stage",
            "round",
            "turn",
            "stock",
            "discard",
            "seats",
            "table",
        )
    ),
    (lambda: laid_position() | {"ruleset": "offical"}, "ruleset is 'offical'"),
    (lambda: laid_position() | {"ruleset": "/dev/zero"}, "ruleset is '/dev/zero'"),
    (
        lambda: laid_position() | {"ruleset": {"base": "official", "go_out": "never"}},
        "ruleset: go_out is 'never'",
    ),
    (lambda: laid_position() | {"players": 7}, "players is 7"),
    (lambda: laid_position() | {"players": True}, "players is True"),
    (lambda: laid_position() | {"players": 2}, "seats has 3 entries: expected 2"),
    (lambda: laid_position() | {"dealer": 3}, "dealer is 3"),
    (lambda: laid_position() | {"to_act": 1.0}, "to_act is 1.0"),
    (lambda: laid_position() | {"stage": "drow"}, "the nearest is 'draw'"),
    (lambda: laid_position() | {"round": 0}, "round is 0"),
    (lambda: laid_position() | {"turn": -1}, "turn is -1"),
    (lambda: laid_position() | {"seed": 2**64}, "seed is 18446744073709551616"),
    (lambda: laid_position() | {"stock": "R13"}, "stock, card 1: 'R13' is no card"),
    (lambda: laid_position() | {"stock": ["R1"]}, "stock is ['R1']"),
    (lambda: laid_position() | {"discard": "S"}, "lack 1 card (G4)"),
    (lambda: laid_position() | {"discard": "S G4 G4"}, "hold 1 card (G4) more"),
    (lambda: with_seat(laid_position(), 2, skipped=False), "lack 1 card (S)"),
    (lambda: laid_position() | {"seats": 3}, "seats is 3"),
    (lambda: with_seat(laid_position(), 0, laid=1), "seats[0].laid is 1"),
    (lambda: with_seat(laid_position(), 0, score=-5), "seats[0].score is -5"),
    (lambda: with_seat(laid_position(), 0, phase=0), "seats[0].phase is 0"),
    (lambda: with_seat(laid_position(), 2, phase=11), "seats[2].phase is 11: expected 1 to 10"),
    (lambda: with_seat(laid_position(), 2, done=[1]), "seats[2].done: only rules with advance='pick'"),
    (lambda: with_seat(laid_position(), 2, hamd=""), "seats[2].hamd is an unknown field"),
    (lambda: with_seat(laid_position(), 2, hand=""), "seats[2].hand is empty"),
    (
        lambda: with_seat(laid_position(), 2, hand="R1 R2 R8 R9 B10 B11 B12 Y1 Y2 Y3 Y4"),
        "seats[2].hand has 11 cards: expected at most 10",
    ),
    (
        lambda: with_seat(laid_position(), 1, hand="B1 B2 B3 B4"),
        "seats[1].hand has 4 cards: expected at most 3 with phase 8",
    ),
    (
        lambda: with_seat(laid_position(), 0, hand="R2 G7 Y7 S B8"),
        "seats[0].hand has 5 cards: expected at most 4 after the draw",
    ),
    (lambda: with_seat(laid_position(), 0, skipped=True), "seats[0].skipped is true"),
    (lambda: with_seat(laid_position(), 0, laid=False), "table[0]: seat 0 has a meld but has not laid down"),
    (lambda: with_seat(laid_position(), 0, laid=False), "laid_this_turn is true"),
    (lambda: with_seat(laid_position(), 2, laid=True), "group 0 (set 4) of seat 2 is missing"),
    (
        lambda: with_seat(laid_position(), 0, phase=3),
        "table[0].cards has 3 cards: expected at least 4 for phase 3",
    ),
    (lambda: with_seat(laid_position(), 0, phase=8), "table[0].kind is 'set': expected 'colour'"),
    (lambda: with_seat(laid_position(), 0, phase=4), "table[1].group is 1: phase 4 of seat 0 has one group"),
    (lambda: with_meld(laid_position(), 0, seat=3), "table[0].seat is 3"),
    (lambda: with_meld(laid_position(), 0, group=1), "table[1]: seat 0 has group 1 twice"),
    (lambda: with_meld(laid_position(), 0, kind="sett"), "the nearest is 'set'"),
    (lambda: with_meld(laid_position(), 0, number=None), "table[0].number is None"),
    (lambda: with_meld(laid_position(), 0, low=3), "table[0].low: a set has 'number' instead"),
    (lambda: with_meld(laid_position(), 0, number=8), "table[0].cards, card 1: R7 is no 8"),
    (lambda: with_meld(laid_position(), 1, low=4), "table[1].cards, card 1: R3 is no 4"),
    (lambda: with_meld(laid_position(), 1, low=10), "passes 12"),
    (lambda: with_meld(laid_position(), 2, colour="P"), "table[2].colour is 'P'"),
    (lambda: with_meld(laid_position(), 2, colour="R"), "G1 is no card of colour R"),
    (lambda: with_meld(laid_position(), 0, cards="W W W"), "table[0].cards has Wilds only"),
    (lambda: with_meld(laid_position(), 0, cards="R7 B7 S"), "table[0].cards has a Skip"),
    (lambda: with_meld(laid_position(), 0, cards=""), "table[0].cards is empty"),
    (lambda: laid_position() | {"taken": "S"}, "taken is 'S'"),
    (lambda: laid_position() | {"taken": "Y12"}, "taken is Y12: expected a card in the hand of seat 0"),
    (lambda: laid_position() | {"stage": "draw"}, "laid_this_turn is true: expected false at the start"),
    (lambda: laid_position() | {"stage": "draw"}, "taken: expected none at the start"),
    (lambda: laid_position() | {"card": "R2"}, "card: expected only in stage 'onto'"),
    (
        lambda: laid_position() | {"building": {"phase": 2, "spelled": []}},
        "building: expected only in stage 'build'",
    ),
    (lambda: without(build_position(), "building"), "building is missing"),
    (lambda: build_position(building={"phase": 2}), "building.spelled is missing"),
    (lambda: build_position(building={"phase": 2, "spelled": [7]}), "building.spelled[0] is 7"),
    (lambda: build_position(building={"phase": 11, "spelled": []}), "building.phase is 11"),
    (
        lambda: build_position(building={"phase": 3, "spelled": []}),
        "building.phase is 3: this is not a phase",
    ),
    (lambda: with_seat(build_position(), 0, phase=9), "building.phase is 2: this is not a phase"),
    (
        lambda: build_position(building={"phase": 2, "spelled": ["numbr 7"]}),
        "building.spelled[0] is no action",
    ),
    (
        lambda: build_position(building={"phase": 2, "spelled": ["number 2"]}),
        "building.spelled[0] is 'number 2': ",
    ),
    (
        lambda: build_position(building={"phase": 2, "spelled": ["number 7", "play B7", "play R7"]}),
        "building.spelled[2] is 'play R7'",
    ),
    (
        lambda: build_position(building={"phase": 2, "spelled": ["number 7", "play R7", "play Y7"]}),
        "the card is not in the hand",
    ),
    (
        lambda: build_position(
            building={
                "phase": 2,
                "spelled": [
                    "number 7",
                    "play R7",
                    "play B7",
                    "play G7",
                    "number 3",
                    "play R3",
                    "play R4",
                    "play R5",
                    "play R6",
                    "play W",
                ],
            }
        ),
        "the lay-down is complete before it",
    ),
    (lambda: onto_position(card=None), "card is missing"),
    (lambda: onto_position(card="Y7"), "card is Y7: expected a card in the hand"),
    (lambda: onto_position(card="R2"), "card is R2: it fits one place"),
    (lambda: with_seat(onto_position(), 0, laid=False), "stage is 'onto': seat 0 has not laid down"),
    (lambda: pick_position(ruleset="official"), "seats[0].phase is missing"),
    (lambda: with_seat(pick_position(), 0, done=[1, 1]), "expected phases without repeats"),
    (lambda: with_seat(pick_position(), 0, done=list(range(1, 11))), "seats[0].done has all 10 phases"),
    (lambda: with_seat(pick_position(), 0, laid_phase=2), "seats[0].laid_phase is 2: expected none"),
    (lambda: with_seat(pick_position(), 1, laid_phase=None), "seats[1].laid_phase is missing"),
    (lambda: with_seat(pick_position(), 1, laid_phase=10), "seats[1].laid_phase is 10: it was done"),
    (lambda: tie_position(active=[0]), "active is [0]"),
    (lambda: tie_position(active=[0, 0]), "active is [0, 0]"),
    (lambda: tie_position(active=[0, 1]), "dealer is 2: expected one of the active seats [0, 1]"),
    (lambda: tie_position(to_act=1), "to_act is 1: expected one of the active seats"),
    (lambda: with_seat(tie_position(), 0, score=55), "active: the seats have scores 50, 55"),
    (lambda: with_seat(tie_position(), 0, phase=9), "seats[0].phase is 9: expected 10"),
    (lambda: with_seat(tie_position(), 1, hand="Y12"), "seats[1].hand has 1 cards: expected none"),
    (
        lambda: with_seat(tie_position(), 1, skipped=True),
        "seats[1].skipped is true: expected false, the seat is not",
    ),
    (lambda: tie_position(ruleset={"tie_break": "share"}), "active: expected none, under tie_break='share'"),
    (lambda: laid_position() | {"memory": {"known": ["", "B9", ""]}}, "memory.known[1] has 1 card (B9)"),
    (lambda: laid_position() | {"memory": {"known": ["R2"]}}, "memory.known has 1 entries: expected 3"),
    (lambda: laid_position() | {"memory": {"discards": ["S", "", ""]}}, "memory.discards[0]: a Skip"),
    (lambda: laid_position() | {"memory": {"refused": ["R1 R2", "", ""]}}, "memory.refused[0] has 2 cards"),
    (lambda: laid_position() | {"memory": {"knwon": []}}, "memory.knwon is an unknown field"),
]


@pytest.mark.parametrize(("make", "expected"), WRONG, ids=[expected for _, expected in WRONG])
def test_an_inconsistency_is_named_with_its_field(make: Callable[[], Any], expected: str) -> None:
    problems = problems_of(make())
    assert any(expected in problem for problem in problems), problems


def test_all_problems_are_reported_at_once() -> None:
    position = build_position(building={"phase": 2, "spelled": ["number 2"]}) | {"dealer": 9, "round": "1"}
    position["seats"][1]["hand"] += " R1"
    position["seats"][2]["scores"] = position["seats"][2].pop("score")
    problems = problems_of(position)
    for field in (
        "dealer is 9",
        "round is '1'",
        "seats[2].scores is an unknown field",
        "seats[2].score is missing",
        "seats[1].hand has 11 cards",
        "hold 1 card (R1) more",
        "building.spelled[0] is 'number 2'",
    ):
        assert any(field in problem for problem in problems), (field, problems)


def test_an_unreadable_hand_does_not_hide_other_problems_or_invent_new_ones() -> None:
    position = laid_position()
    position["seats"][2]["hand"] = "R1 R2 R8 R9 B10 B11 B12 Y1 Y2 Q3"
    assert problems_of(position) == [
        "seats[2].hand, card 10: 'Q3' is no card: expected a colour letter of RBGY and a number from 1 to "
        "12, or W, or S"
    ]


def test_under_pile_a_pending_skip_is_not_in_front_of_the_seat() -> None:
    position = laid_position(ruleset="pile-skip")
    assert Game.from_position(position).position()["seats"][2]["skipped"] is True
    in_front = laid_position()
    assert len(in_front["stock"].split()) + 1 == len(position["stock"].split())


def test_steps_with_a_single_child_are_walked_after_loading() -> None:
    game = Game.from_position(build_position(building={"phase": 2, "spelled": ["number 7", "play B7"]}))
    assert game.position()["building"]["spelled"] == ["number 7", "play B7", "play G7", "play W"]
    whole = ["number 7", "play R7", "play B7", "play G7", "number 3", "play R3", "play R4", "play R5"]
    laid = Game.from_position(build_position(building={"phase": 2, "spelled": [*whole, "play R6"]}))
    assert laid.stage == "play"
    assert [meld["cards"] for meld in laid.position()["table"]] == ["R7 B7 G7", "R3 R4 R5 R6"]


def test_where_nothing_can_be_drawn_the_seat_plays_on() -> None:
    rules = {
        "phases": ["set 2"],
        "hand_size": 3,
        "deck": {"numbers": "1-3", "colours": "R", "copies": 3, "wilds": 0, "skips": 2},
    }
    position = {
        "ruleset": rules, "players": 3, "dealer": 0, "to_act": 1, "stage": "draw", "round": 1, "turn": 2,
        "stock": "", "discard": "S", "table": [],
        "seats": [seat("R1 R1 R1"), seat("R2 R2 R3"), seat("R2 R3 R3", skipped=True)],
    }  # fmt: skip
    game = Game.from_position(position)
    assert game.stage == "play"
    assert game.position()["memory"]["no_draw"] == 1


def test_compact_play_goes_on_from_a_position_of_full_play() -> None:
    game = Game.from_position(build_position(), "compact")
    assert game.actions == "compact"
    while game.stage == "build":
        game.play(game.legal_actions()[0])
    assert {meld["kind"] for meld in game.position()["table"]} == {"set", "run"}
    with pytest.raises(PositionError, match="actions is 'brief'"):
        load_position(build_position(), "brief")


def test_loading_leaves_the_given_position_alone() -> None:
    position = build_position()
    before = copy.deepcopy(position)
    play_out(Game.from_position(position), 1, 20)
    assert position == before
