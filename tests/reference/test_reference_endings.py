"""How rounds and games end in the reference model, sentence by sentence, by rule number."""

from dataclasses import replace
from typing import Any

import pytest

from reference import PRESETS, ReferenceGame, Rules, perft, start_round
from reference.endings import end_round
from reference.situations import deal, meld, situation

OFFICIAL = Rules()
TWO_SETS = [meld(0, 0, "set", 4, "R4 B4 G4"), meld(0, 1, "set", 9, "R9 B9 G9")]
LAID = {"laid": True}


def last_card(*others: str, rules: Rules = OFFICIAL, **fields: Any) -> ReferenceGame:
    """Return a game in which seat 0, its phase down, holds only a red 12."""
    seats = {0: LAID, **fields.pop("seats", {})}
    return situation("R12", *others, rules=rules, table=TWO_SETS, seats=seats, **fields)


def tied_game(**options: Any) -> ReferenceGame:
    """Return a game of three just after seats 0 and 2 have tied on the only phase."""
    rules = replace(OFFICIAL, phases=OFFICIAL.phases[:1], **options)
    seats = {0: {"laid": True, "score": 20}, 1: {"score": 0}, 2: {"laid": True, "score": 10}}
    game = situation("R12", "R5 W", "B10", rules=rules, table=TWO_SETS, seats=seats, dealer=1)
    game.play("discard R12")
    return game


def tied_deal(game: ReferenceGame) -> dict[str, Any]:
    """Return a deal for the tied seats: seat 0 holds the phase."""
    return deal(game.rules, "R4 B4 G4 R9 B9 G9", "-", "S")


def test_r27_a_skip_may_be_the_last_card() -> None:
    game = situation("S", "R5", "W", table=TWO_SETS, seats={0: LAID})
    game.play("skip 2")
    assert (game.went_out, game.scores, game.awaiting_deal) == (0, [0, 5, 25], True)


def test_r27_pending_skips_die_with_the_round() -> None:
    game = last_card("R5", "R6", seats={1: {"skipped": True}})
    game.play("discard R12", next_round=deal(OFFICIAL, "", "", ""))
    assert (game.round, game.skipped, game.to_act) == (2, [False] * 3, 1)


@pytest.mark.parametrize("text", ["play Y4", "discard Y4"])
def test_r28_the_round_ends_by_a_hit_or_a_discard(text: str) -> None:
    game = situation("Y4", "R5", table=TWO_SETS, seats={0: LAID})
    game.play(text)
    assert (game.went_out, game.awaiting_deal, game.legal()) == (0, True, [])
    assert perft(game, 3) == 1


def test_r28_the_round_ends_by_a_lay_down_that_empties_the_hand() -> None:
    game = situation("R4 B4 G4 R9 B9 G9", "R5")
    game.play("lay 1")
    assert game.went_out == 0


def test_r28_under_go_out_discard_the_last_card_is_discarded() -> None:
    rules = replace(OFFICIAL, go_out="discard")
    assert situation("Y4", "R5", rules=rules, table=TWO_SETS, seats={0: LAID}).legal() == ["discard Y4"]
    assert "lay 1" not in situation("R4 B4 G4 R9 B9 G9", "R5", rules=rules).legal()
    assert "lay 1" in situation("R4 B4 G4 R9 B9 G9 S", "R5", rules=rules).legal()


def test_r29_everyone_but_the_one_who_went_out_scores_the_hand() -> None:
    game = last_card("R1 B10 S W", "R5", seats={1: {"laid": True, "score": 7}, 2: {"score": 100}})
    game.play("discard R12")
    assert game.scores == [0, 62, 105]


def test_r30_those_who_laid_down_move_on_and_the_others_repeat() -> None:
    game = last_card("R5", "R6", seats={1: LAID}, phases=[1, 4, 6])
    game.play("discard R12")
    assert game.phases == [2, 5, 6]


def test_r31_whoever_completed_the_last_phase_competes_without_having_gone_out() -> None:
    game = last_card("R5 W", "R6", "B7", seats={1: LAID, 2: LAID}, phases=[3, 10, 10, 9])
    game.play("discard R12")
    assert (game.over, game.truncated, game.winners) == (True, False, [2])
    assert game.ranks() == [4, 2, 1, 3]


def test_r31_under_went_out_the_last_phase_must_be_gone_out_with() -> None:
    rules = replace(OFFICIAL, winner="went_out")
    game = last_card("R5", "R6", rules=rules, seats={1: LAID}, phases=[3, 10, 1])
    game.play("discard R12")
    assert (game.over, game.phases) == (False, [4, 10, 1])
    game = last_card("R5", "R6", rules=rules, seats={1: LAID}, phases=[10, 10, 10])
    game.play("discard R12")
    assert game.ranks() == [1, 2, 2]


def test_r32_the_ranking_goes_by_completion_then_phases_then_points() -> None:
    scores = [{**LAID, "score": 90}, {**LAID, "score": 80}, {"score": 50}, {"score": 0}, {"score": 50}]
    game = last_card("R5", "R6", "W", "B6", seats=dict(enumerate(scores)), phases=[10, 10, 9, 8, 9])
    game.play("discard R12")
    assert game.ranks() == [2, 1, 3, 5, 3]


def test_r33_the_tied_players_alone_replay_the_last_phase() -> None:
    game = tied_game()
    assert (game.over, game.awaiting_deal, game.active, game.dealer) == (False, True, [0, 2], 2)
    game.begin_round(tied_deal(game))
    assert (game.round, game.to_act, game.position()["active"]) == (2, 0, [0, 2])
    game.play("draw")
    game.play("lay 1")
    game.play("discard R1")
    assert (game.to_act, game.over) == (2, False)
    game.play("draw")
    assert [text for text in game.legal() if text.startswith("skip")] == ["skip 1"]


def test_r33_first_to_go_out_wins_and_scores_do_not_change() -> None:
    seats = {0: {"score": 20}, 1: {"score": 30}, 2: {"score": 20}}
    game = last_card("", "W W", active=[0, 2], phases=[10, 9, 10], seats={**seats, 0: {**LAID, "score": 20}})
    game.play("discard R12")
    assert (game.over, game.winners, game.scores) == (True, [0], [20, 30, 20])
    assert game.ranks() == [1, 3, 2]


def test_r33_the_tied_players_stay_ahead_of_others_who_completed_the_last_phase() -> None:
    rules = replace(OFFICIAL, phases=OFFICIAL.phases[:1])
    seats = {0: {"laid": True, "score": 20}, 1: {"laid": True, "score": 50}, 2: {"laid": True, "score": 10}}
    game = situation("R12", "R5", "B10", "W", rules=rules, table=TWO_SETS, seats=seats)
    game.play("discard R12")
    game.begin_round(deal(rules, "", "-", "", "-"))
    assert (game.active, game.dealer, game.to_act) == ([0, 2], 0, 2)
    game.hands[game.to_act] = []
    end_round(game, game.to_act)
    assert game.ranks() == [2, 3, 1, 4]


def test_r33_the_last_phase_is_replayed_under_pick_too() -> None:
    seats = {seat: {"done": list(range(1, 11)), "score": 5} for seat in range(2)}
    hand = "R4 B4 G4 Y4 R5 B5 G5 Y5 W W R6"
    game = situation(hand, "B12", rules=PRESETS["pick-a-phase"], seats=seats, active=[0, 1])
    assert [text for text in game.legal() if text.startswith("lay")] == ["lay 10"]


def test_r33_under_lay_down_the_first_to_lay_wins_at_once() -> None:
    game = tied_game(tie_break="lay_down")
    game.begin_round(tied_deal(game))
    game.play("draw")
    game.play("lay 1")
    assert (game.over, game.ranks()) == (True, [1, 3, 2])


def test_r33_under_share_the_tied_players_have_equal_rank() -> None:
    assert tied_game(tie_break="share").ranks() == [1, 3, 1]


def test_r34_the_turn_cap_counts_lost_turns_and_truncates_without_scoring() -> None:
    rules = replace(OFFICIAL, max_turns=1)
    game = start_round(rules, 2, 0, **deal(rules, "", "", discard="S"))
    assert (game.to_act, game.turn) == (0, 2)
    game.play("draw")
    game.play("discard R1")
    assert (game.over, game.truncated, game.ranks(), game.scores) == (True, True, None, [0, 0])


def test_r34_the_round_cap_truncates() -> None:
    game = last_card("R5", rules=replace(OFFICIAL, max_rounds=1))
    game.play("discard R12")
    assert (game.over, game.truncated, game.scores) == (True, True, [0, 5])


def test_r34_a_tie_break_round_at_the_cap_is_shared() -> None:
    shared = tied_game(max_rounds=1)
    assert (shared.truncated, shared.ranks()) == (False, [1, 3, 1])
    game = tied_game(max_turns=1)
    game.begin_round(tied_deal(game))
    for _ in range(2):
        game.play("draw")
        game.play(next(text for text in game.legal() if text.startswith("discard")))
    assert (game.over, game.truncated, game.ranks()) == (True, False, [1, 3, 1])


def test_r35_every_round_moves_everybody_on_and_the_lowest_total_wins() -> None:
    rules = PRESETS["ten-rounds"]
    game = last_card("R5", "R6", rules=rules, phases=[3, 3, 3])
    game.play("discard R12")
    assert (game.over, game.phases) == (False, [4, 4, 4])
    seats = {0: {"laid": True, "score": 30}, 1: {"score": 0}, 2: {"score": 15}}
    game = last_card("R5", "W", rules=rules, phases=[10, 10, 10], seats=seats)
    game.play("discard R12")
    assert game.ranks() == [2, 1, 3]


def test_r35_under_pick_any_phase_not_yet_done_may_be_laid() -> None:
    hand = "R4 B4 G4 R9 B9 G9 Y10 R11 B12"
    game = situation(hand, "R5", rules=PRESETS["pick-a-phase"], seats={0: {"done": [5]}})
    assert [text for text in game.legal() if text.startswith("lay")] == ["lay 1", "lay 2"]
    game = situation(hand, "R5", rules=PRESETS["pick-a-phase"], seats={0: {"done": [1, 5]}})
    assert [text for text in game.legal() if text.startswith("lay")] == ["lay 2"]
    game.play("lay 2")
    seat = game.position()["seats"][0]
    assert (seat["done"], seat["laid_phase"]) == ([1, 5], 2)


def test_r35_under_pick_the_game_ends_when_someone_has_done_all() -> None:
    rules = PRESETS["pick-a-phase"]
    done = {"laid": True, "laid_phase": 1, "done": [2, 3, 4, 5, 6, 7, 8, 9, 10]}
    game = situation("R12", "R5", rules=rules, table=TWO_SETS, seats={0: done, 1: {"done": [1, 2]}})
    game.play("discard R12")
    assert (game.over, game.ranks(), game.done[0]) == (True, [1, 2], list(range(1, 11)))
