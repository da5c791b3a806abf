"""The edge cases and their rulings, by number: cards, Skips, groups, hits and rounds (E1-E45, E67, E68)."""

from __future__ import annotations

from collections import Counter

import pytest
from rules.situations import legal, meld, play, situation, table_of

from phase10_env import Game, IllegalActionError, RuleSet, describe
from phase10_env.actions import ACTION_TEXTS
from phase10_env.positions import PositionError

LAID = {"laid": True}
SETS = [meld(0, 0, "set", 7, "R7 B7 G7"), meld(0, 1, "set", 9, "R9 B9 G9")]
OTHER_SETS = [meld(1, 0, "set", 2, "R2 B2 G2"), meld(1, 1, "set", 3, "R3 B3 G3")]


def run_of_seat_0(low: int, size: int) -> dict:
    """Return seats and table in which seat 0 has laid phase 4, a run of 7 grown to some size."""
    cards = " ".join(f"{'RB'[n % 2]}{n}" for n in range(low, low + size))
    return {"seats": {0: {"laid": True, "phase": 4}}, "table": [meld(0, 0, "run", low, cards)]}


# ---- stock and discard pile --------------------------------------------------------------------------------


def test_e1_an_empty_stock_is_replaced_at_the_moment_of_the_draw():
    game = situation("R2 R3", "B2", stock="G1", discard="R1", rest="discard", stage="draw")
    play(game, "draw", "discard R2")
    assert game.position()["stock"] == "", "nothing is shuffled before a draw asks for it"
    pile = game.position()["discard"].split()
    game.play("draw")
    assert game.position()["discard"] == "R2"
    assert len(game.position()["stock"].split()) == len(pile) - 2


TINY = RuleSet(
    phases=["set 1", "set 2"],
    hand_size=2,
    deck={"numbers": "1-2", "colours": "RB", "copies": 1, "wilds": 0, "skips": 2},
)


def drawless() -> Game:
    """Return a turn in which nothing can be drawn or taken: a Skip lies alone on the pile."""
    table = [meld(1, 0, "set", 2, "R2 B2")]
    return situation("R1 S", "B1", rules=TINY, discard="S", stage="draw", seats={1: LAID}, table=table)


def test_e2_with_no_card_to_draw_or_take_the_seat_plays_on_without():
    game = drawless()
    assert (game.position()["stock"], game.position()["discard"]) == ("", "S")
    assert game.stage == "play"
    assert game.legal_actions() == ["lay 1", "build 1", "discard R1", "skip 1"]


def test_e2_a_full_circle_without_a_draw_ends_the_round_with_no_one_out():
    game = drawless()
    game.play("skip 1")
    assert (game.round, game.history[-2]) == (2, (-1, "nobody out"))
    assert game.scores == [5, 5], "everyone scores"
    assert game.phases == [1, 2], "who laid down advances"


def test_e2_a_discard_gives_the_next_seat_a_card_to_take():
    game = drawless()
    game.play("discard R1")
    assert (game.round, game.to_act, game.legal_actions()) == (1, 1, ["draw", "take"])


def test_e2_a_draw_between_breaks_the_circle():
    game = situation(
        "R1 B2", "B1", rules=TINY, discard="S", stage="draw", table=[meld(1, 0, "set", 2, "R2")],
        seats={1: {"laid": True}}, stock="S",
    )  # fmt: skip
    play(game, "draw", "skip 1")
    assert (game.round, game.stage, game.to_act) == (1, "draw", 0), (
        "the Skip and the one beneath can be drawn"
    )
    assert game.legal_actions() == ["draw"]


def test_e3_a_reshuffle_moves_every_discard_but_the_top_one():
    game = situation("R2 R3", "B2", discard="G1", rest="discard", stage="draw")
    before = game.position()["discard"].split()
    game.play("draw")
    after = game.position()
    drawn = Counter(game.hands[0].split()) - Counter(["R2", "R3"])
    assert after["discard"] == "G1"
    assert Counter(after["stock"].split()) + drawn == Counter(before[1:])
    assert after["stock"].split() != before[2:], "shuffled, not turned over"


def test_e4_a_skip_on_top_is_never_taken_nor_what_lies_beneath():
    game = situation("R2 R3", "B2", discard="S R4 R5", stage="draw")
    assert game.legal_actions() == ["draw"]
    assert game.why_illegal("take") == "a Skip can never be taken from the discard pile (R9)"


def test_e5_with_an_empty_pile_the_next_player_draws_from_the_stock():
    game = situation("R2 S", "B2", "G2", discard="R1", stage="draw")
    play(game, "take", "skip 2")
    assert (game.to_act, game.position()["discard"]) == (1, "")
    assert game.legal_actions() == ["draw"]
    assert game.why_illegal("take") == "the discard pile is empty"
    assert "\ntop:" not in describe(game.observation())


@pytest.mark.parametrize(
    ("rules", "after_skip", "takes"),
    [("official", "R5", ["draw", "take"]), ("pile-skip", "S R5", ["draw"])],
)
def test_e6_what_lies_on_top_after_a_skip(rules: str, after_skip: str, takes: list[str]):
    game = situation("R2 R3 S", "B2", "G2", rules=rules, discard="R5")
    game.play("skip 2")
    assert (game.to_act, game.position()["discard"]) == (1, after_skip)
    assert game.legal_actions() == takes


def test_e6_in_front_the_skip_reaches_the_pile_when_the_turn_is_lost():
    game = situation("R2 R3 S", "B2", "G2", discard="R5")
    play(game, "skip 2", "draw", "discard B2")
    assert game.to_act == 0
    assert game.position()["discard"].split()[:2] == ["S", "B2"]
    assert game.legal_actions() == ["draw"]


def dealt(first: str, players: int = 3) -> Game:
    """Return a game whose first face-up card is this one."""
    game = Game(num_players=players, dealer=0)
    deal = game.events[0]
    cards = [*(hand.split() for hand in deal.hands), [deal.discard], deal.stock.split()]
    everything = [card for zone in cards for card in zone]
    everything.remove(first)
    hands = [" ".join(everything[10 * seat : 10 * seat + 10]) for seat in range(players)]
    game.deal(hands, first, " ".join(everything[10 * players :]))
    return game


def test_e7_an_opening_skip_costs_the_first_player_the_turn():
    game = dealt("S")
    assert (game.to_act, game.turn) == (2, 1)
    assert game.legal_actions() == ["draw"]
    assert game.history[-1] == (1, "skipped")
    assert game.position()["discard"] == "S"
    assert not any(seat["skipped"] for seat in game.position()["seats"])


def test_e8_an_opening_wild_may_be_taken_by_the_first_player():
    game = dealt("W")
    assert (game.to_act, game.legal_actions()) == (1, ["draw", "take"])
    wilds = game.hands[1].split().count("W")
    game.play("take")
    assert game.hands[1].split().count("W") == wilds + 1


# ---- Skips -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["official", "pile-skip", "next-player-skip"])
def test_e9_with_two_players_the_skipper_takes_another_whole_turn(rules: str):
    game = situation("R2 R3 S", "B2", rules=rules, discard="R5")
    game.play("skip 1")
    assert (game.to_act, game.stage, game.turn) == (0, "draw", 2)
    assert game.position()["discard"].split()[0] == "S", "the lost turn brings the Skip to the pile"
    assert not game.position()["seats"][1]["skipped"]


def test_e10_with_two_players_a_second_skip_follows_at_once():
    game = situation("R2 R3 S S", "B2", discard="R5")
    play(game, "skip 1", "draw")
    assert legal(game, "skip") == ["skip 1"]


def test_e11_a_seat_with_a_pending_skip_is_no_target():
    game = situation("R2 S", "B2", "G2", seats={2: {"skipped": True}})
    assert legal(game, "skip") == ["skip 1"]
    assert game.why_illegal("skip 2") == "that player already has a Skip pending (R25)"


@pytest.mark.parametrize(("rules", "pending"), [("official", (1, 2)), ("next-player-skip", (1,))])
def test_e12_a_skip_always_has_a_legal_target(rules: str, pending: tuple[int, ...]):
    seats = {seat: {"skipped": True} for seat in pending}
    with pytest.raises(
        PositionError, match=r"seats\[1\].skipped is true: expected a player whom seat 0 could"
    ):
        situation("S", "B2", "G2", rules=rules, seats=seats)


# ---- groups ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("naturals", "may_lay"), [("group", []), ("phase", ["lay 1"])])
def test_e13_a_natural_is_asked_for_in_each_group_or_in_the_phase(naturals: str, may_lay: list[str]):
    rules = RuleSet(phases=["set 3 + set 3"], naturals=naturals)
    hand = "R3 W W W W W S"
    assert legal(situation(hand, "B1", rules=rules), "lay") == may_lay


def test_e13_never_is_a_phase_laid_with_wilds_alone():
    for naturals in ("group", "phase"):
        rules = RuleSet(phases=["set 3 + set 3"], naturals=naturals)
        assert legal(situation("W W W W W W S", "B1", rules=rules), "lay") == []


def test_e14_a_set_of_wilds_but_one_is_a_set():
    game = situation("R3 W W R5 W W S", "B1")
    game.play("lay 1")
    assert {cards.count("W") for cards in table_of(game).values()} == {2}


def test_e15_a_group_of_wilds_alone_is_declared_by_its_number():
    rules = RuleSet(phases=["set 2 + run 2"], naturals="phase")
    game = situation("R3 W W W S", "B1", rules=rules)
    game.play("build 1")
    assert "number 11" in game.legal_actions()
    game.play("number 11")
    while game.stage == "build":
        game.play(game.legal_actions()[0])
    melds = {(m["kind"], m.get("number") or m.get("low"), m["cards"]) for m in game.position()["table"]}
    assert ("set", 11, "W W") in melds


def test_e15_laid_by_rule_a_group_of_wilds_takes_the_lowest_number():
    rules = RuleSet(phases=["set 2 + set 2"], naturals="phase")
    game = situation("R3 W W W S", "B1", rules=rules)
    game.play("lay 1")
    assert [(m["number"], m["cards"]) for m in game.position()["table"]] == [(1, "W W"), (3, "R3 W")]


def test_e16_a_wild_takes_the_colour_of_its_group():
    game = situation("R1 R2 R3 R4 R5 R6 W B9 R9", "B1", seats={0: {"phase": 8}})
    play(game, "build 8", *(f"play R{n}" for n in (1, 2, 3, 4, 5, 6)), "play W")
    assert game.position()["table"][0]["colour"] == "R"
    assert legal(game, "play") == ["play R9"]


def test_e17_colour_groups_may_hold_duplicates():
    game = situation("R1 R1 R3 R3 R5 R5 R9 B9", "B1", seats={0: {"phase": 8}}, discard="G1")
    game.play("lay 8")
    assert table_of(game)[0, 0] == "R1 R1 R3 R3 R5 R5 R9"


def test_e18_a_skip_is_in_no_group():
    game = situation("R1 R2 R3 R4 R5 R6 S B9", "B1", seats={0: {"phase": 8}}, discard="G1")
    assert legal(game, "lay") == []


def test_e19_a_run_holds_no_number_twice():
    game = situation("R1 R2 R3 R4 R5 R6 B6 G12", "B1", seats={0: {"phase": 4}}, discard="G1")
    assert legal(game, "lay") == []


def test_e20_a_run_does_not_go_on_from_12_to_1():
    game = situation("R8 R9 R10 R11 R12 R1 B2 B3", "B1", seats={0: {"phase": 4}}, discard="G1")
    assert legal(game, "lay") == []


def test_e21_a_run_of_twelve_takes_nothing_not_even_a_wild():
    game = situation(
        "W R1 R12",
        "B1",
        discard="G1",
        **run_of_seat_0(1, 12) | {"table": [meld(0, 0, "run", 1, " ".join(f"B{n}" for n in range(1, 13)))]},
    )
    assert legal(game, "play") == []
    assert game.why_illegal("play W") == "the card fits no meld on the table (R20)"


@pytest.mark.parametrize(("low", "cards"), [(1, "{} W"), (6, "W {}")])
def test_e22_a_wild_goes_to_the_only_free_end_without_a_question(low: int, cards: str):
    game = situation("W G5", "B1", discard="G1", **run_of_seat_0(low, 7))
    before = table_of(game)[0, 0]
    game.play("play W")
    assert (game.stage, table_of(game)[0, 0]) == ("play", cards.format(before))


@pytest.mark.parametrize(("place", "cards", "low"), [("onto 0.0", "W {}", 2), ("onto 0.0 high", "{} W", 3)])
def test_e23_a_wild_on_an_open_run_asks_for_the_end(place: str, cards: str, low: int):
    game = situation("W G5", "B1", discard="G1", **run_of_seat_0(3, 7))
    before = table_of(game)[0, 0]
    game.play("play W")
    assert (game.stage, game.legal_actions()) == ("onto", ["onto 0.0", "onto 0.0 high"])
    assert "W" in game.hands[0].split(), "still in the hand until its place is named"
    game.play(place)
    assert table_of(game)[0, 0] == cards.format(before)
    assert game.position()["table"][0]["low"] == low


def test_e24_a_laid_wild_is_neither_replaced_nor_moved():
    seats = {0: {"laid": True, "phase": 4}}
    table = [meld(0, 0, "run", 3, "R3 R4 W B6 B7 B8 B9")]
    game = situation("B5 G2 G5", "B1", discard="G1", seats=seats, table=table)
    assert legal(game, "play") == ["play G2"]
    game.play("play G2")
    assert table_of(game)[0, 0] == "G2 R3 R4 W B6 B7 B8 B9"


def test_e25_where_a_run_begins_is_part_of_the_lay_down():
    game = situation("R4 R5 W R1 R2 R3 W B9 G12", "B1", discard="G1", seats={0: {"phase": 4}})
    game.play("build 4")
    assert table_of(game)[0, 0] == "R1 R2 R3 R4 R5 W W", "with one way to go nothing is asked"
    game = situation("R4 R5 R6 R7 R8 R9 W B12 G12", "B1", discard="G1", seats={0: {"phase": 4}})
    game.play("build 4")
    assert legal(game, "number") == ["number 3", "number 4"]
    play(game, "number 3")
    assert game.position()["table"][0] | {"cards": ""} == meld(0, 0, "run", 3, "")
    assert table_of(game)[0, 0] == "W R4 R5 R6 R7 R8 R9"


def test_e26_more_of_the_same_goes_down_as_hits_in_the_same_turn():
    game = situation("R7 B7 G7 Y7 R9 B9 G9 R1", "B1", discard="G1")
    game.play("lay 1")
    assert table_of(game) == {(0, 0): "R7 B7 G7", (0, 1): "R9 B9 G9"}
    play(game, "play Y7")
    assert table_of(game)[0, 0] == "R7 B7 G7 Y7"


def test_e27_a_third_set_is_no_new_meld():
    game = situation("R7 B7 G7 R9 B9 G9 R2 B2 G2 R1", "B1", discard="G1")
    play(game, "lay 1")
    assert len(table_of(game)) == 2
    assert (legal(game, "lay"), legal(game, "build")) == ([], [])
    assert legal(game, "play") == []


def test_e28_both_sets_may_have_one_number_and_stay_two_melds():
    game = situation("R7 R7 B7 B7 G7 G7 Y7 R1", "B1", discard="G1")
    play(game, "lay 1")
    assert [m["number"] for m in game.position()["table"]] == [7, 7]
    game.play("play Y7")
    assert game.legal_actions() == ["onto 0.0", "onto 0.1"]
    game.play("onto 0.1")
    assert sorted(map(len, (cards.split() for cards in table_of(game).values()))) == [3, 4]


def test_e29_the_most_frequent_number_may_also_be_needed_by_the_run():
    game = situation("R5 B5 G5 Y5 R3 R4 R6 R12 B12", "B1", discard="G1", seats={0: {"phase": 2}})
    game.play("lay 2")
    assert table_of(game) == {(0, 0): "R5 B5 G5", (0, 1): "R3 R4 Y5 R6"}


def test_e29_a_wild_may_have_to_stand_below_the_lowest_natural():
    game = situation("R5 B5 G5 R10 R11 R12 W S", "B1", discard="G1", seats={0: {"phase": 2}})
    game.play("lay 2")
    assert table_of(game)[0, 1] == "W R10 R11 R12"


def test_e30_laying_down_is_never_compulsory():
    game = situation("R7 B7 G7 R9 B9 G9 R1", "B1", discard="G1")
    assert "discard R1" in game.legal_actions()
    play(game, "discard R1", "draw")
    assert not game.position()["seats"][0]["laid"]


# ---- hits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "hits"), [("official", ["play R2", "play Y7"]), ("next-player-skip", ["play Y7"])]
)
def test_e31_other_melds_in_the_turn_of_the_lay_down(rules: str, hits: list[str]):
    game = situation(
        "R7 B7 G7 R9 B9 G9 Y7 R2 R12", "B1", rules=rules, discard="G1", seats={1: LAID},
        table=[meld(1, 0, "set", 2, "R2 B2 G2"), meld(1, 1, "set", 3, "R3 B3 G3")],
    )  # fmt: skip
    game.play("lay 1")
    assert legal(game, "play") == hits
    if rules != "official":
        assert game.why_illegal("play R2") == "in the turn of the lay-down only own melds may be hit (R11)"
    play(game, "discard R12", "draw", "discard B1", "draw")
    assert "play R2" in game.legal_actions(), "from the next turn on all melds may be hit"


def test_e32_no_hit_before_the_own_phase_is_down():
    game = situation("R2 R5", "B1", discard="G1", seats={1: LAID}, table=OTHER_SETS)
    assert legal(game, "play") == []
    assert game.why_illegal("play R2") == "cards are hit only once the own phase is down (R11)"


def test_e33_one_card_a_hit_and_the_next_may_follow_on_it():
    game = situation("R10 R11 G1", "B1", **run_of_seat_0(3, 7))
    assert legal(game, "play") == ["play R10"]
    game.play("play R10")
    assert legal(game, "play") == ["play R11"]


def test_e34_a_skip_is_never_a_hit():
    game = situation("S R5", "B1", seats={0: LAID}, table=SETS)
    assert "play S" not in ACTION_TEXTS
    assert legal(game, "play") == []


def test_e35_nothing_that_lies_on_the_table_comes_back():
    game = situation("R7 B7 G7 R9 B9 G9 Y7 R1 R2", "B1", discard="G1")
    seen = Counter[str]()
    for action in ("lay 1", "play Y7", "discard R1", "draw", "discard B1"):
        game.play(action)
        lying = Counter(" ".join(table_of(game).values()).split())
        assert not seen - lying
        seen = lying


def test_e36_going_out_by_hits_alone_ends_the_round_without_a_discard():
    game = situation("Y7", "B1 R12", seats={0: LAID}, table=SETS)
    game.play("play Y7")
    assert (game.round, game.scores) == (2, [0, 15])


def test_e37_going_out_by_the_lay_down_alone():
    rules = RuleSet(phases=["set 2", "set 3"], hand_size=2)
    game = situation("R1 B1", "G1 G2", rules=rules, discard="Y1")
    game.play("lay 1")
    assert (game.round, game.scores, game.phases) == (2, [0, 10], [2, 1])


def test_e37_not_where_the_last_card_must_be_discarded():
    rules = RuleSet(phases=["set 2"], hand_size=3, go_out="discard")
    game = situation("R1 B1", "G1 G2", rules=rules, discard="Y1")
    assert (legal(game, "lay"), legal(game, "build")) == ([], [])
    assert game.why_illegal("lay 1") == "the last card must be discarded (R28)"


def test_e38_where_the_last_card_must_be_discarded_it_is_no_hit():
    game = situation("Y7 R7", "B1", rules="next-player-skip", seats={0: LAID}, table=[
        meld(0, 0, "set", 7, "R7 B7 G7"), SETS[1]])  # fmt: skip
    assert legal(game, "play") == ["play R7", "play Y7"]
    game.play("play Y7")
    assert game.legal_actions() == ["discard R7"]
    assert game.why_illegal("play R7") == "the last card must be discarded (R28)"


def test_e39_a_skip_may_be_the_last_card_and_names_a_target():
    game = situation("S", "B1", "G1", seats={0: LAID}, table=SETS)
    assert game.legal_actions() == ["skip 1", "skip 2"]
    game.play("skip 2")
    assert (game.round, game.scores) == (2, [0, 5, 5])
    assert not any(seat["skipped"] for seat in game.position()["seats"])


def test_e40_a_wild_may_be_the_last_discard():
    game = situation("W", "B1", rules="next-player-skip", seats={0: LAID}, table=SETS)
    game.play("discard W")
    assert game.round == 2


def test_e41_the_card_just_taken_may_be_discarded():
    game = situation("R2 R3", "B2", discard="R9", stage="draw")
    play(game, "take", "discard R9")
    assert (game.to_act, game.position()["discard"]) == (1, "R9")


def test_e41_without_allow_return_the_kind_just_taken_stays_while_another_card_can_go():
    rules = RuleSet(allow_return=False)
    game = situation("R2 R9", "B2", rules=rules, discard="R9", stage="draw")
    game.play("take")
    assert legal(game, "discard") == ["discard R2"]
    assert game.why_illegal("discard R9").endswith("(R12)")
    drawn = situation("R2 R9", "B2", rules=rules, discard="R1", stock="R9", stage="draw")
    assert "discard R9" in play(drawn, "draw").legal_actions(), "only a card from the pile counts"


@pytest.mark.parametrize(
    ("hand", "expected"),
    [("R9 R9", ["discard R9"]), ("R9 S", ["skip 1"]), ("W R9", ["discard W"])],
)
def test_e41_the_last_kind_may_go_back_where_nothing_else_can(hand: str, expected: list[str]):
    game = situation(hand, "B2", rules=RuleSet(allow_return=False), discard="R1", taken="R9")
    assert game.legal_actions() == expected


def test_e42_an_empty_hand_before_the_draw_is_no_position():
    with pytest.raises(PositionError, match=r"seats\[0\].hand is empty"):
        situation("", "B2", stage="draw")


# ---- the end of a round ------------------------------------------------------------------------------------


def test_e43_a_phase_not_done_costs_its_cards_only_and_is_repeated():
    game = situation("Y7", "R1 R10 S W", seats={0: LAID}, table=SETS, discard="G1")
    game.play("play Y7")
    assert (game.scores, game.phases) == ([0, 5 + 10 + 15 + 25], [2, 1])


def test_e44_who_laid_down_advances_and_still_scores_the_hand():
    game = situation("Y7", "R1 R10 S W", seats={0: LAID, 1: LAID}, table=[*SETS, *OTHER_SETS], discard="G1")
    game.play("play Y7")
    assert (game.scores, game.phases) == ([0, 55], [2, 2])


def test_e45_nobody_has_a_last_turn():
    game = situation("Y7", "R1 R1 B1 R4 B4 G4 R12", seats={0: LAID}, table=SETS, discard="G1")
    game.play("play Y7")
    assert (game.round, game.phases[1], game.scores[1]) == (2, 1, 40)


def test_e67_an_illegal_action_raises_and_changes_nothing():
    game = situation("R2 R3", "B2", stage="draw")
    before = game.state.copy()
    with pytest.raises(IllegalActionError, match="seat 0 may not discard R2: a turn begins with a draw"):
        game.play("discard R2")
    assert game.state == before


def test_e68_a_card_that_left_the_hand_cannot_be_hit_again():
    game = situation("W R5", "B1", seats={0: LAID}, table=SETS)
    play(game, "play W", "onto 0.0")
    assert game.why_illegal("play W") == "the card is not in the hand"
    with pytest.raises(IllegalActionError):
        game.play("play W")
