"""The edge cases and their rulings, by number: endings, ties, variants, what is public (E46-E66)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rules.situations import legal, meld, play, position, situation

from phase10_env import (
    Game,
    GameBatch,
    IllegalActionError,
    RuleSet,
    describe,
    observation_layout,
)
from phase10_env.positions import PositionError
from phase10_env.rules.ruleset import RuleSetError

TEN = [("set", 5), ("set", 3)]
LOW = {0: "R1 R1 B1 B1 G1", 1: "R4 R4 B4 B4 G4", 2: "R6 R6 B6 B6 G6", 3: "R8 R8 B8 B8 G8"}
HIGH = {0: "R2 R2 B2", 1: "R5 R5 B5", 2: "R7 R7 B7", 3: "R9 R9 B9"}
NUMBERS = {0: (1, 2), 1: (4, 5), 2: (6, 7), 3: (8, 9)}


def phase_ten(*seats: int) -> list[dict[str, Any]]:
    """Return the melds of seats that have laid phase 10."""
    melds = []
    for seat in seats:
        melds.append(meld(seat, 0, "set", NUMBERS[seat][0], LOW[seat]))
        melds.append(meld(seat, 1, "set", NUMBERS[seat][1], HIGH[seat]))
    return melds


def last_round(scores: list[int], laid: list[int], hands: list[str], **options: Any) -> Game:
    """Return a last round: every seat on phase 10, some have laid it, seat 0 about to go out with Y1."""
    seats = {
        seat: {"phase": 10, "score": score, "laid": seat in laid} for seat, score in enumerate(scores)
    } | options.pop("seats", {})
    return situation("Y1", *hands, seats=seats, table=phase_ten(*laid), discard="Y12", **options)


# ---- who wins (R31, R32) -----------------------------------------------------------------------------------


def test_e46_among_those_who_completed_it_the_lowest_total_wins_whoever_went_out():
    game = last_round([50, 20], [0, 1], ["Y3 Y3"])
    game.play("play Y1")
    assert (game.over, game.scores, game.ranks) == (True, [50, 30], [2, 1])


def test_e47_who_completed_the_last_phase_wins_though_another_went_out():
    game = situation(
        "Y7", "Y3 Y3", discard="Y12",
        seats={0: {"laid": True, "phase": 1}, 1: {"laid": True, "phase": 10, "score": 300}},
        table=[meld(0, 0, "set", 7, "R7 B7 G7"), meld(0, 1, "set", 9, "R9 B9 G9"), *phase_ten(1)],
    )  # fmt: skip
    game.play("play Y7")
    assert (game.over, game.winner, game.phases) == (True, 1, [2, 11])


def test_e47_under_went_out_the_last_phase_does_not_count_without_going_out():
    rules = RuleSet(winner="went_out")
    game = situation(
        "Y7", "Y3 Y3", discard="Y12", rules=rules,
        seats={0: {"laid": True, "phase": 1}, 1: {"laid": True, "phase": 10, "score": 300}},
        table=[meld(0, 0, "set", 7, "R7 B7 G7"), meld(0, 1, "set", 9, "R9 B9 G9"), *phase_ten(1)],
    )  # fmt: skip
    game.play("play Y7")
    assert (game.over, game.round, game.phases, game.scores) == (False, 2, [2, 10], [0, 310])


def test_e47_under_went_out_who_lays_it_and_goes_out_wins_alone():
    game = last_round([500, 20], [0, 1], ["Y3 Y3"], rules=RuleSet(winner="went_out"))
    game.play("play Y1")
    assert (game.over, game.ranks, game.phases) == (True, [1, 2], [11, 10])


def test_e48_only_those_who_completed_the_last_phase_compete():
    game = last_round([400, 0, 5], [0], ["Y3", "Y4"])
    game.play("play Y1")
    assert (game.scores, game.ranks) == ([400, 5, 10], [1, 2, 3])


def test_the_ranking_orders_the_others_by_phases_then_points():
    seats = {2: {"phase": 9, "score": 0}, 3: {"phase": 10, "score": 70}}
    game = last_round([400, 100, 0, 0], [0], ["Y3", "Y4", "Y5"], seats=seats)
    game.play("play Y1")
    assert (game.scores, game.ranks) == ([400, 105, 5, 75], [1, 3, 4, 2])


def test_equal_ones_share_a_rank_below_the_winner():
    game = last_round([400, 100, 100], [0], ["Y3", "Y4"])
    game.play("play Y1")
    assert game.ranks == [1, 2, 2]


def test_e52_the_last_round_is_scored_before_totals_are_compared():
    game = last_round([30, 20], [0, 1], ["Y10 Y11"])
    game.play("play Y1")
    assert (game.scores, game.winner) == ([30, 40], 0)


# ---- ties (R33) --------------------------------------------------------------------------------------------


def tied(players: int, **options: Any) -> Game:
    """Return a game after a last round with seats 0 and 1 tied; seat 2, if any, has completed too."""
    scores = [20, 10, 90][:players]
    hands = ["Y3 Y3", "Y5 Y6"][: players - 1]
    game = last_round(scores, list(range(players)), hands, **options)
    return play(game, "play Y1")


def test_e49_equal_lowest_totals_replay_the_last_phase_among_the_tied_alone():
    game = tied(3)
    state = game.position()
    assert (game.over, game.active, game.round) == (False, [0, 1], 2)
    assert game.scores == [20, 20, 100]
    assert [len(hand.split()) for hand in game.hands] == [10, 10, 0]
    assert [seat["phase"] for seat in state["seats"]] == [10, 10, 11]
    assert (game.dealer, game.to_act in (0, 1)) == (0, True), "the next tied seat to the left deals"


def tie_break(*hands: str, tie: str = "go_out", **options: Any) -> Game:
    """Return a tie-break round of seats 0 and 2 of three on phase 2 of two, set 3."""
    rules = RuleSet(phases=["set 2", "set 3"], tie_break=tie, max_turns=options.pop("max_turns", 500))
    seats = {seat: {"phase": 3 if seat == 1 else 2, "score": 90 if seat == 1 else 20} for seat in range(3)}
    seats |= {seat: seats[seat] | extra for seat, extra in options.pop("seats", {}).items()}
    return situation(
        hands[0], "", hands[1], rules=rules, seats=seats, active=[0, 2], dealer=2, discard="Y12", **options
    )


def test_e49_under_go_out_the_first_to_go_out_wins_and_scores_stay():
    game = tie_break("R3 B3 G3 Y3", "R1 R1 R2")
    game.play("lay 2")
    assert not game.over
    game.play("play Y3")
    assert (game.over, game.ranks, game.scores) == (True, [1, 3, 2], [20, 90, 20])


def test_e49_under_lay_down_the_first_to_lay_it_down_wins_at_once():
    game = tie_break("R3 B3 G3 Y3", "R1 R1 R2", tie="lay_down")
    game.play("lay 2")
    assert (game.over, game.ranks, game.scores) == (True, [1, 3, 2], [20, 90, 20])


def test_e49_under_lay_down_a_built_lay_down_wins_as_well():
    game = tie_break("R3 B3 G3 Y3 W R9", "R1 R1 R2", tie="lay_down")
    game.play("build 2")
    while game.stage == "build":
        game.play(game.legal_actions()[-1])
    assert game.winners == [0]


def out_without_laying(max_rounds: int) -> Game:
    """Return a tie-break round under "lay_down" in which seat 0, who cannot draw, has discarded its last card."""
    rules = RuleSet(
        phases=["set 2"],
        hand_size=1,
        tie_break="lay_down",
        max_rounds=max_rounds,
        deck={"numbers": "1", "colours": "RBG", "copies": 1, "wilds": 0, "skips": 2},
    )
    seats = {2: {"skipped": True}}
    game = situation("R1", "B1", "G1", rules=rules, discard="S", seats=seats, active=[0, 1, 2], stage="draw")
    assert game.stage == "play", "nothing can be drawn"
    return play(game, "discard R1")


def test_under_lay_down_who_goes_out_without_laying_has_not_won():
    game = out_without_laying(max_rounds=9)
    assert (game.over, game.round, game.active, game.scores) == (False, 2, [0, 1, 2], [0, 0, 0])


def test_a_tie_break_without_a_winner_in_the_last_round_allowed_is_shared():
    game = out_without_laying(max_rounds=1)
    assert (game.over, game.truncated, game.ranks) == (True, False, [1, 1, 1])


def test_e49_inactive_seats_are_never_to_act_nor_a_target():
    game = tie_break("R3 S", "R1 R1 R2")
    assert legal(game, "skip") == ["skip 2"]
    assert game.why_illegal("skip 1") == "that player does not take part in this round (R33)"
    play(game, "discard R3")
    assert game.to_act == 2


def test_under_next_the_nearest_active_seat_is_the_only_target():
    rules = RuleSet(phases=["set 2", "set 3"], skip_target="next")
    seats = {seat: {"phase": 3 if seat == 1 else 2} for seat in range(4)}
    game = situation("R3 S", "", "R1", "R2", rules=rules, seats=seats, active=[0, 2, 3], dealer=3)
    assert legal(game, "skip") == ["skip 2"]
    assert game.why_illegal("skip 3") == "a Skip hits the next player (R23)"


def test_share_ends_the_game_with_equal_ranks():
    game = tied(3, rules=RuleSet(tie_break="share"))
    assert (game.over, game.truncated, game.ranks, game.winners) == (True, False, [1, 1, 3], [0, 1])
    assert game.winner is None


def test_e50_at_the_cap_a_tie_break_round_is_shared():
    game = tie_break("R3 B5 R9", "R1 R1 R2", max_turns=1)
    play(game, "discard R9", "draw", "discard R1")
    assert (game.over, game.truncated, game.ranks) == (True, False, [1, 3, 1])


def test_e50_three_may_be_tied():
    game = last_round([20, 10, 10, 0], [0, 1, 2], ["Y3 Y3", "Y5 Y6", "Y7"])
    game.play("play Y1")
    assert (game.over, game.active) == (False, [0, 1, 2])


def test_e50_a_tie_in_the_last_round_allowed_is_shared():
    game = tied(2, rules=RuleSet(max_rounds=1))
    assert (game.over, game.truncated, game.ranks) == (True, False, [1, 1])


def test_e51_a_tie_after_ten_rounds_replays_the_last_phase():
    seats = {0: {"phase": 10, "score": 20, "laid": True}, 1: {"phase": 10, "score": 10}}
    game = situation(
        "Y1", "Y3 Y3", rules="ten-rounds", seats=seats, table=phase_ten(0), discard="Y12", round=10
    )
    game.play("play Y1")
    assert (game.over, game.active, game.round, game.phases) == (False, [0, 1], 11, [10, 10])


def test_e51_after_ten_rounds_the_lowest_total_wins_done_or_not():
    seats = {0: {"phase": 10, "score": 200, "laid": True}, 1: {"phase": 10, "score": 10}}
    game = situation(
        "Y1", "Y3 Y3", rules="ten-rounds", seats=seats, table=phase_ten(0), discard="Y12", round=10
    )
    game.play("play Y1")
    assert (game.over, game.ranks) == (True, [2, 1])


def test_e53_a_short_game_replays_its_own_last_phase():
    rules = "short-5"
    run = "B1 B2 B3 B4 B5 B6 B7 B8"
    other = "G1 G2 G3 G4 G5 G6 G7 G8"
    seats = {0: {"phase": 5, "score": 10, "laid": True}, 1: {"phase": 5, "laid": True}}
    game = situation(
        "B9", "Y3 Y4", rules=rules, seats=seats, discard="Y12",
        table=[meld(0, 0, "run", 1, run), meld(1, 0, "run", 2, other.replace("G1 ", "") + " G9")],
    )  # fmt: skip
    play(game, "play B9")
    assert (game.over, game.active, game.phases) == (False, [0, 1], [5, 5])


@pytest.mark.parametrize(("preset", "sizes"), [("even-phases", 5), ("odd-phases", 5), ("short-8", 8)])
def test_e54_the_length_of_the_list_is_the_number_of_phases(preset: str, sizes: int):
    game = Game(ruleset=preset)
    assert len(game.ruleset.phases) == sizes
    last = position("R1", "B1", rules=preset, seats={0: {"phase": sizes + 1}})
    with pytest.raises(PositionError, match=f"expected 1 to {sizes}"):
        Game.from_position(last)


# ---- variants ----------------------------------------------------------------------------------------------


def test_e55_a_phase_is_picked_when_it_is_laid_down():
    hand = "R5 B5 G5 R1 R2 R3 R4 R6 R7 Y12"
    game = situation(hand, "B1", rules="pick-a-phase", seats={0: {"done": [4]}}, discard="G1")
    assert legal(game, "lay") == ["lay 2", "lay 8"]
    assert game.why_illegal("lay 4") == "this is not a phase the seat is on (R10, R30)"
    game.play("lay 2")
    assert legal(game, "lay") == []
    assert game.position()["seats"][0]["laid_phase"] == 2
    seats = {0: {"done": [4]}}
    assert legal(situation(hand, "B1", rules="pick-a-phase", seats=seats, actions="compact"), "lay")


def test_e55_the_game_ends_with_the_round_in_which_all_phases_are_done():
    nine = list(range(1, 10))
    game = situation(
        "Y1", "Y3", rules="pick-a-phase", discard="Y12", table=phase_ten(0),
        seats={0: {"done": nine, "laid": True, "laid_phase": 10}},
    )  # fmt: skip
    game.play("discard Y1")
    assert (game.over, game.winner, game.phases_done[0]) == (True, 0, list(range(1, 11)))


def test_e55_a_tie_break_under_pick_replays_the_last_phase_of_the_list():
    everything = list(range(1, 11))
    seats = {seat: {"done": everything} for seat in (0, 1)}
    hand = "R5 B5 G5 Y5 W R1 B1 G1 Y7 R9"
    game = situation(hand, "B2", rules="pick-a-phase", seats=seats, active=[0, 1], discard="G2")
    assert legal(game, "lay") == ["lay 10"]
    game.play("lay 10")
    assert game.winner == 0


def test_e56_a_meld_keeps_its_kind_when_its_owner_moves_on():
    seats = {0: {"laid": True, "phase": 1}, 1: {"laid": True, "phase": 4}}
    table = [
        meld(0, 0, "set", 7, "R7 B7 G7"), meld(0, 1, "set", 9, "R9 B9 G9"),
        meld(1, 0, "run", 2, "R2 R3 R4 R5 R6 Y7 R8"),
    ]  # fmt: skip
    game = situation("Y9 R1 Y1 B8", "B1", seats=seats, table=table, discard="G1")
    assert legal(game, "play") == ["play R1", "play Y1", "play Y9"]
    game.play("play Y9")
    assert game.legal_actions() == ["onto 0.1", "onto 1.0 high"]


def test_e57_the_deal_rotates_by_seat_and_the_next_seat_begins():
    game = situation("Y7", "B1", "B2", dealer=1, seats={0: {"laid": True}}, discard="G1", table=[
        meld(0, 0, "set", 7, "R7 B7 G7"), meld(0, 1, "set", 9, "R9 B9 G9")], seed=1)  # fmt: skip
    game.play("play Y7")
    first = 0 if game.history[-1] != (0, "skipped") else 1
    assert (game.dealer, game.to_act) == (2, first)


def test_e58_pending_skips_die_with_the_round():
    game = situation(
        "Y7", "B1", "B2", discard="G1", seats={0: {"laid": True}, 1: {"skipped": True}},
        table=[meld(0, 0, "set", 7, "R7 B7 G7"), meld(0, 1, "set", 9, "R9 B9 G9")],
    )  # fmt: skip
    game.play("play Y7")
    assert not any(seat["skipped"] for seat in game.position()["seats"])
    counts = game.state["stock_size"][0] + game.state["discard_size"][0] + game.state["hand_sizes"][0].sum()
    assert counts == 108


def test_e59_each_skipped_seat_loses_its_own_next_turn():
    game = situation("R2 R3", "B2", "G2", "Y2", seats={1: {"skipped": True}, 2: {"skipped": True}})
    game.play("discard R2")
    assert (game.to_act, game.turn) == (3, 3)
    assert game.history[-2:] == [(1, "skipped"), (2, "skipped")]
    assert game.position()["discard"].split()[:3] == ["S", "S", "R2"]


# ---- what is public ----------------------------------------------------------------------------------------


def field(game: Game, seat: int, name: str) -> np.ndarray:
    """Return a field of the observation of a seat."""
    return game.observation(seat)[observation_layout(game.num_players).fields[name].slice]


def test_e60_a_card_taken_from_the_pile_is_known_to_be_in_the_hand():
    game = situation("R2 R3", "B2", discard="R9", stage="draw")
    play(game, "take", "discard R2")
    assert field(game, 1, "seat_1.known").nonzero()[0].tolist() == [8]
    assert field(game, 1, "unseen")[8] == 1
    play(game, "draw", "discard B2", "draw", "discard R9")
    assert not field(game, 1, "seat_1.known").any()


def test_e61_hand_sizes_of_the_others_are_public():
    game = situation("R2 R3", "B2 B3 B4", "G2")
    assert [int(field(game, 0, f"seat_{d}.hand_size")[0]) for d in range(3)] == [2, 3, 1]


def test_e62_discards_since_the_last_reshuffle_are_public():
    game = situation("R2 R3", "B2", discard="R9 R9 S", stage="draw")
    pile = field(game, 0, "pile")
    assert (pile[8], pile[49], pile.sum()) == (2, 1, 3)


def test_e63_the_size_of_the_stock_is_public():
    game = situation("R2 R3", "B2", stage="draw")
    assert int(field(game, 1, "stock_size")[0]) == 108 - 4


# ---- caps, players, errors ---------------------------------------------------------------------------------


def test_e64_the_cap_of_turns_truncates_the_game_without_a_winner():
    game = situation("R2 R3", "B2 B3", rules=RuleSet(max_turns=2), turn=2, dealer=1)
    play(game, "discard R2", "draw")
    assert not game.over
    play(game, "discard B2")
    assert (game.over, game.truncated, game.ranks, game.scores) == (True, True, None, [0, 0])


def test_e64_lost_turns_count_towards_the_cap():
    game = situation("R2 S", "B2 B3", rules=RuleSet(max_turns=1), dealer=1)
    game.play("skip 1")
    assert game.truncated


def test_e64_the_cap_of_rounds_truncates_after_scoring_the_round():
    game = situation(
        "Y7", "B1 R12", rules=RuleSet(max_rounds=3), round=3, discard="G1", seats={0: {"laid": True}},
        table=[meld(0, 0, "set", 7, "R7 B7 G7"), meld(0, 1, "set", 9, "R9 B9 G9")],
    )  # fmt: skip
    game.play("play Y7")
    assert (game.over, game.truncated, game.ranks, game.scores) == (True, True, None, [0, 15])


@pytest.mark.parametrize("players", [0, 1, 7])
def test_e66_two_to_six_players(players: int):
    with pytest.raises(RuleSetError, match="expected 2 to 6 players"):
        Game(num_players=players)


def test_e67_in_a_batch_an_illegal_action_names_its_row_and_no_game_changes():
    batch = GameBatch(num_games=3, seed=1)
    actions = batch.legal_actions[:, 0].astype(int)
    actions[1] = 164
    before = batch.games.copy()
    with pytest.raises(IllegalActionError, match="a turn begins with a draw"):
        batch.step(actions)
    assert (batch.games == before).all()


def test_the_text_of_an_observation_names_the_top_discard():
    assert "top: R9" in describe(situation("R2", "B2", discard="R9", stage="draw").observation())
