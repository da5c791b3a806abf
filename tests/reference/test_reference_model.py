"""What the reference model does within a round, sentence by sentence, by rule number."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import pytest

from reference import (
    ACTIONS,
    PRESETS,
    IllegalMoveError,
    ReferenceGame,
    Rules,
    action_index,
    action_text,
    all_cards,
    points_of,
    spellings,
    start_round,
)
from reference.situations import deal, meld, situation

OFFICIAL = Rules()
RUN_3_TO_6 = meld(0, 0, "run", 3, "R3 W B5 G6")
TWO_SETS = [meld(0, 0, "set", 4, "R4 B4 G4"), meld(0, 1, "set", 9, "R9 B9 G9")]
LAID = {0: {"laid": True}}
LAYS_TWO_SETS = "R4 B4 G4 R9 B9 G9"


def choices(game: ReferenceGame, word: str) -> list[str]:
    """Return what the legal actions beginning with a word name."""
    return [text.removeprefix(word + " ") for text in game.legal() if text.startswith(word + " ")]


def declared(hand: str, phase: int, rules: Rules = OFFICIAL) -> set[tuple[str, ...]]:
    """Return the declarations of all spellings of an official phase."""
    found = spellings(hand.split(), OFFICIAL.phases[phase - 1], rules)
    return {spelling.declarations for spelling in found}


def test_the_action_table_has_165_texts_and_both_ways_agree() -> None:
    assert len(set(ACTIONS)) == 165
    assert [action_index(action_text(index)) for index in range(165)] == list(range(165))
    landmarks = {"draw": 0, "lay 1": 2, "build 10": 21, "number 1": 22, "colour Y": 37, "play R1": 38}
    landmarks |= {"play W": 86, "onto 0.0": 87, "onto 5.1 high": 110, "discard R1": 111, "discard W": 159}
    assert {text: action_index(text) for text in landmarks} == landmarks
    with pytest.raises(ValueError, match="165 action texts"):
        action_index("discard S")
    with pytest.raises(ValueError, match="0 to 164"):
        action_text(165)


def test_r3_cards_cost_five_ten_fifteen_and_twenty_five() -> None:
    assert [points_of(card) for card in ("R1", "B9", "G10", "Y12", "S", "W")] == [5, 5, 10, 10, 15, 25]


def test_r6_the_seat_left_of_the_dealer_begins() -> None:
    game = start_round(OFFICIAL, 3, 1, **deal(OFFICIAL, "", "", ""))
    assert (game.to_act, game.stage, game.turn) == (2, "draw", 1)


def test_r7_an_opening_skip_costs_the_first_player_the_turn_and_blocks_the_pile() -> None:
    game = start_round(OFFICIAL, 3, 0, **deal(OFFICIAL, "", "", "", discard="S"))
    assert (game.to_act, game.turn) == (2, 2)
    assert game.legal() == ["draw"]


def test_r7_an_opening_wild_may_be_taken_by_the_first_player() -> None:
    game = start_round(OFFICIAL, 2, 0, **deal(OFFICIAL, "", "", discard="W"))
    game.play("take")
    assert game.hands[1].count("W") == 1
    assert game.discard == []


def test_r9_a_skip_on_the_pile_can_not_be_taken_nor_the_card_beneath_it() -> None:
    assert situation("R2", "R3", discard="S W", stage="draw").legal() == ["draw"]


def test_r10_a_lay_down_is_optional_and_happens_once_a_round() -> None:
    game = situation(LAYS_TWO_SETS + " R1 R2 R3 B1 B2 B3", "R5")
    assert {"lay 1", "build 1", "discard R1"} <= set(game.legal())
    game.play("lay 1")
    assert not choices(game, "lay")
    assert not choices(game, "build")


def test_r11_hits_wait_for_the_own_phase() -> None:
    game = situation(
        "Y4 R8", "B8", table=[{**group, "seat": 1} for group in TWO_SETS], seats={1: {"laid": True}}
    )
    assert not choices(game, "play")


@pytest.mark.parametrize(("hit_after_lay", "hits"), [("all", ["G8", "Y4"]), ("own", ["Y4"])])
def test_r11_hits_in_the_turn_of_the_lay_down_follow_the_option(
    hit_after_lay: Literal["all", "own"], hits: list[str]
) -> None:
    rules = replace(OFFICIAL, hit_after_lay=hit_after_lay)
    others = [meld(1, 0, "set", 8, "R8 B8 Y8"), meld(1, 1, "set", 2, "R2 B2 Y2")]
    game = situation(LAYS_TWO_SETS + " Y4 G8 Y12", "R5", rules=rules, table=others, seats={1: {"laid": True}})
    game.play("lay 1")
    assert choices(game, "play") == hits
    later = situation(
        "Y4 G8 Y12", "R5", rules=rules, table=[*others, *TWO_SETS], seats={**LAID, 1: {"laid": True}}
    )
    assert choices(later, "play") == ["G8", "Y4"]


def test_r12_the_card_just_taken_may_go_back_unless_the_option_forbids_it() -> None:
    assert choices(situation("R2 R5 R5", "B1", taken="R5"), "discard") == ["R2", "R5"]
    strict = replace(OFFICIAL, allow_return=False)
    assert choices(situation("R2 R5 R5", "B1", rules=strict, taken="R5"), "discard") == ["R2"]
    assert situation("R5 S", "B1", rules=strict, taken="R5").legal() == ["skip 1"]
    assert situation("R5 R5", "B1", rules=strict, taken="R5").legal() == ["discard R5"]


def test_r13_an_empty_stock_is_refilled_with_every_discard_but_the_top_one() -> None:
    rules = replace(OFFICIAL, deck={"R1": 4, "B2": 1, "G3": 1})
    game = situation("R1 R1", "R1 R1", rules=rules, discard="G3 B2", stage="draw")
    assert game.needs_reshuffle()
    with pytest.raises(ValueError, match="made of B2"):
        game.play("draw")
    with pytest.raises(ValueError, match="made of B2"):
        game.play("draw", reshuffled=["G3"])
    assert (game.stock, game.discard, game.stage) == ([], ["G3", "B2"], "draw")
    game.play("draw", reshuffled=lambda beneath: beneath[::-1])
    assert (game.hands[0], game.discard) == (["R1", "R1", "B2"], ["G3"])


def test_r13_a_seat_that_can_not_draw_plays_on_without() -> None:
    rules = replace(OFFICIAL, deck={"R1": 4, "S": 1})
    game = situation("R1 R1", "R1 R1", rules=rules, discard="S", stage="draw")
    assert (game.stage, game.legal()) == ("play", ["discard R1"])
    game.play("discard R1")
    assert (game.to_act, game.legal()) == (1, ["draw", "take"])


def test_r13_a_full_circle_without_a_draw_ends_the_round_without_a_winner() -> None:
    rules = replace(OFFICIAL, deck={"R1": 4, "S": 2})
    seats = {0: {"laid": True, "phase": 3}, 1: {"phase": 2}}
    game = situation("R1 R1 S S", "R1 R1", rules=rules, discard="", stage="draw", seats=seats)
    game.play("skip 1")
    assert game.awaiting_deal
    assert (game.went_out, game.scores, game.phases) == (None, [25, 10], [4, 2])


def test_r14_a_run_neither_wraps_nor_repeats_a_number() -> None:
    assert declared("R10 B11 G12 Y1 R2 B2 G3", 4) == set()
    assert declared("R1 B2 G2 Y3 R4 B5 G6", 4) == set()
    assert declared("R1 B2 G3 Y4 R5 B6 G7", 4) == {("number 1",)}


def test_r14_a_colour_group_may_repeat_a_card() -> None:
    found = spellings(["R1", "R1", "R2", "R2", "R3", "R4", "R12", "B1"], OFFICIAL.phases[7], OFFICIAL)
    assert [spelling.cards for spelling in found] == [("R1", "R1", "R2", "R2", "R3", "R4", "R12")]


def test_r15_two_sets_of_one_number_are_two_melds_and_both_sharings_are_spelled() -> None:
    found = spellings(["R5", "R5", "B5", "B5", "G5", "G5"], OFFICIAL.phases[0], OFFICIAL)
    shared = [tuple(group.cards for group in spelling.groups) for spelling in found]
    assert len(shared) == len(set(shared)) == 7
    assert all(tuple(reversed(pair)) in shared for pair in shared)


def test_r16_more_of_the_same_go_down_as_hits() -> None:
    game = situation(LAYS_TWO_SETS + " Y4 R12", "R5")
    game.play("build 1")
    for text in ("play R4", "play B4", "play G4"):
        game.play(text)
    assert game.stage == "play"
    assert [len(group.cards) for group in game.table] == [3, 3]
    assert choices(game, "play") == ["Y4"]


def test_r18_every_group_or_the_whole_phase_needs_a_natural() -> None:
    hand = "R5 B5 G5 W W W"
    per_group = {("number 5", "number 5")}
    assert declared(hand, 1) == per_group
    per_phase = declared(hand, 1, replace(OFFICIAL, naturals="phase"))
    assert per_phase == {("number 5", f"number {n}") for n in range(5, 13)} | {
        (f"number {n}", "number 5") for n in range(1, 6)
    }
    assert declared("W W W W W W", 1, replace(OFFICIAL, naturals="phase")) == set()


def test_r18_a_wild_may_stand_below_the_lowest_natural() -> None:
    assert declared("R9 B10 G11 Y12 W W W", 4) == {("number 6",)}


def test_r19_a_laid_wild_keeps_its_value() -> None:
    game = situation("R4 R7 R9", "R5", table=[RUN_3_TO_6], seats=LAID)
    assert choices(game, "play") == ["R7"]


def test_r20_a_wild_goes_to_the_end_of_a_run_that_the_player_chooses() -> None:
    game = situation("W R9", "R5", table=[RUN_3_TO_6], seats=LAID)
    game.play("play W")
    assert (game.stage, game.legal()) == ("onto", ["onto 0.0", "onto 0.0 high"])
    assert game.position()["card"] == "W"
    game.play("onto 0.0")
    assert (game.table[0].value, game.table[0].cards) == (2, ["W", "R3", "W", "B5", "G6"])


def test_r20_only_the_free_end_of_a_run_is_open_and_a_full_run_takes_nothing() -> None:
    full = "R1 R2 R3 R4 R5 R6 R7 R8 R9 R10 R11 R12"
    game = situation("W R9", "R5", table=[meld(0, 0, "run", 1, full)], seats=LAID)
    assert not choices(game, "play")
    low = situation("W R9", "R5", table=[meld(0, 0, "run", 1, "R1 B2 G3 Y4")], seats=LAID)
    low.play("play W")
    assert low.table[0].cards[-1] == "W"
    high = situation("W R3", "R5", table=[meld(0, 0, "run", 9, "R9 B10 G11 Y12")], seats=LAID)
    high.play("play W")
    assert high.table[0].cards[0] == "W"


def test_r20_r22_melds_take_hits_by_their_own_kind_and_value() -> None:
    table = [
        meld(0, 0, "set", 7, "R7 B7 W"),
        meld(1, 0, "colour", "G", "G1 G2 G3 G4 G5 G6 W"),
    ]
    seats = {0: {"laid": True, "phase": 8}, 1: {"laid": True, "phase": 1}}
    game = situation("G7 G12 Y7 Y6 W S", "R5", table=table, seats=seats)
    assert choices(game, "play") == ["G7", "G12", "Y7", "W"]
    game.play("play G7")
    assert game.legal() == ["onto 0.0", "onto 1.0"]


def test_r21_a_skip_is_never_laid_hit_or_discarded() -> None:
    game = situation("S S R7", "R5", table=[meld(0, 0, "set", 7, "G7 B7 W")], seats=LAID)
    assert game.legal() == ["play R7", "discard R7", "skip 1"]
    assert declared("S S S R1 R2 R3", 1) == set()


def test_r23_the_target_of_a_skip_follows_the_option_and_loses_its_next_turn() -> None:
    game = situation("S R7", "R5", "R6", "R8")
    assert choices(game, "skip") == ["1", "2", "3"]
    game.play("skip 1")
    assert game.to_act == 2
    assert choices(situation("S R7", "R5", "R6", rules=replace(OFFICIAL, skip_target="next")), "skip") == [
        "1"
    ]


def test_r24_a_skip_in_front_reaches_the_pile_when_the_turn_is_lost() -> None:
    game = situation("S R7", "R5", "R6", discard="B3")
    game.play("skip 2")
    assert (game.to_act, game.legal(), game.skipped) == (1, ["draw", "take"], [False, False, True])
    assert all_cards(game).count("S") == OFFICIAL.deck["S"]
    game.play("take")
    game.play("discard R5")
    assert (game.to_act, game.discard, game.legal()) == (0, ["S", "R5"], ["draw"])


def test_r24_a_skip_on_the_pile_blocks_it_at_once() -> None:
    game = situation("S R7", "R5", "R6", discard="B3", rules=PRESETS["pile-skip"])
    game.play("skip 2")
    assert (game.to_act, game.discard, game.legal()) == (1, ["S", "B3"], ["draw"])


def test_r25_nobody_is_skipped_twice_at_a_time() -> None:
    game = situation("S R7", "R5", "R6", seats={1: {"skipped": True}})
    assert choices(game, "skip") == ["2"]


def test_r26_with_two_players_the_skipper_takes_another_whole_turn() -> None:
    game = situation("S R7", "R5", discard="B3")
    game.play("skip 1")
    assert (game.to_act, game.stage, game.discard, game.turn) == (0, "draw", ["S", "B3"], 3)


def test_lay_takes_the_fewest_wilds_then_the_most_points_then_the_first_spelling() -> None:
    def laid(hand: str, phase: int) -> list[str]:
        game = situation(hand, "R5", phases=[phase, 1])
        game.play(f"lay {phase}")
        return [" ".join(group.cards) for group in game.table]

    assert laid("R3 B3 G3 R10 B10 G10 R5 B5 G5 W Y1", 1) == ["R3 B3 G3", "R10 B10 G10"]
    assert laid("R3 B3 G3 R2 B2 G2 Y3 W Y12", 1) == ["R2 B2 G2", "R3 B3 G3"]
    assert laid("R3 B3 G3 Y3 R4 B4 G4", 1) == ["R3 B3 G3", "R4 B4 G4"]


def test_building_asks_only_where_there_is_a_choice_and_reaches_every_spelling() -> None:
    only = situation(LAYS_TWO_SETS + " R12", "R5")
    only.play("build 1")
    assert (only.stage, only.laid[0]) == ("play", True)
    game = situation("R4 B4 G4 R9 B9 G9 W Y12", "R5")
    every = spellings(game.hands[0], OFFICIAL.phases[0], OFFICIAL)
    game.play("build 1")
    reached = _ends_of(game, lambda node: node.stage == "build")
    tables = {tuple((m.value, *m.cards) for m in end.table) for end in reached}
    assert len(reached) == len(tables) == len(every)


def _ends_of(game: ReferenceGame, unfinished: Callable[[ReferenceGame], bool]) -> list[ReferenceGame]:
    if not unfinished(game):
        return [game]
    children = []
    for text in game.legal():
        children.append(game.copy())
        children[-1].play(text)
    assert len(children) > 1
    return list(itertools.chain.from_iterable(_ends_of(child, unfinished) for child in children))


def test_a_compact_game_asks_only_for_declarations() -> None:
    game = situation("R4 B4 G4 Y4 R9 B9 G9 R11 B11 G11 W", "R5")
    game.play("build 1", mode="compact")
    assert game.legal("compact") == ["number 4", "number 9"]
    game.play("number 4", mode="compact")
    assert (game.stage, game.spelled) == ("build", ["number 4"])
    assert game.legal("compact") == ["number 9", "number 11"]
    assert game.legal("full") == ["play R4", "play B4", "play G4"]
    game.play("number 11", mode="compact")
    assert [group.cards for group in game.table] == [["R4", "B4", "G4"], ["R11", "B11", "G11"]]


def test_a_compact_lay_down_is_made_at_once_where_only_the_cards_are_open() -> None:
    game = situation("R4 B4 G4 Y4 R9 B9 G9 W Y12", "R5")
    game.play("build 1", mode="compact")
    assert [group.cards for group in game.table] == [["R4", "B4", "G4"], ["R9", "B9", "G9"]]


def test_a_compact_game_merges_colours_where_no_colour_group_can_matter() -> None:
    hand, table = "R2 B2 R7 B7 Y7 S", [meld(0, 0, "set", 7, "G7 G7 W")]
    assert situation(hand, "R5", table=table, seats=LAID).legal("compact") == [
        "play R7",
        "discard R2",
        "discard R7",
        "skip 1",
    ]
    for phases, others in (([1, 8], []), ([1, 1], [meld(1, 0, "colour", "G", "G1 G2 G3 G4 G5 G6 W")])):
        seats = {**LAID, 1: {"laid": bool(others)}}
        game = situation(hand, "R5", table=[*table, *others], seats=seats, phases=phases)
        assert game.legal("compact") == game.legal("full")


def test_an_illegal_action_changes_nothing() -> None:
    game = situation("R4 R7", "R5")
    before = game.position()
    with pytest.raises(IllegalMoveError, match="expected one of discard R4, discard R7, found 'draw'"):
        game.play("draw")
    assert game.position() == before
