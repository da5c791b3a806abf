"""The end of a round and of the game: points, phases, ties, ranks (R28-R35)."""

from __future__ import annotations

from phase10_env.rules.cards import KINDS, points_of
from phase10_env.rules.deal import next_active
from phase10_env.rules.kernel import kernel
from phase10_env.rules.phases import (
    ADVANCE_EVERY_ROUND,
    ADVANCE_PICK,
    TIE_GO_OUT,
    TIE_SHARE,
    WINNER_WENT_OUT,
)
from phase10_env.rules.state import MAX_PLAYERS, OVER, TERMINATED, TRUNCATED

__all__ = ["award", "hand_points", "has_finished", "phases_completed", "score_round", "share_win", "truncate"]

NOBODY = -1


@kernel
def hand_points(game, seat):  # type: ignore[no-untyped-def]
    """Return the penalty points of the cards in a hand (R3)."""
    total = 0
    for kind in range(KINDS):
        total += game.hands[seat, kind] * points_of(kind)
    return total


@kernel
def phases_completed(game, rules, seat):  # type: ignore[no-untyped-def]
    """Return how many phases a seat has completed (R32); under `every_round` that does not count."""
    if rules.advance == ADVANCE_PICK:
        count = 0
        for phase in range(rules.num_phases):
            count += (game.done[seat] >> phase) & 1
        return count
    if rules.advance == ADVANCE_EVERY_ROUND:
        return 0
    return game.phase[seat]


@kernel
def has_finished(game, rules, seat):  # type: ignore[no-untyped-def]
    """Tell whether a seat competes for the win once the game has ended (R31, R35)."""
    if rules.advance == ADVANCE_EVERY_ROUND:
        return game.phase[seat] >= rules.num_phases
    return phases_completed(game, rules, seat) >= rules.num_phases


@kernel
def _rank_seats(game, rules):  # type: ignore[no-untyped-def]
    """Rank the seats that do not share the first place: phases completed, then points (R32).

    Winners have rank 1 already; everybody else ends up above it, so ranks can be written while they are read.
    """
    winners = 0
    for seat in range(game.num_players):
        winners += game.rank[seat] == 1
    for seat in range(game.num_players):
        if game.rank[seat] == 1:
            continue
        better = winners
        phases = phases_completed(game, rules, seat)
        for other in range(game.num_players):
            if game.rank[other] == 1 or other == seat:
                continue
            theirs = phases_completed(game, rules, other)
            if theirs > phases or (theirs == phases and game.score[other] < game.score[seat]):
                better += 1
        game.rank[seat] = better + 1


@kernel
def _end(game, rules):  # type: ignore[no-untyped-def]
    if game.tie_break and rules.advance != ADVANCE_PICK:
        for seat in range(game.num_players):
            if game.active[seat]:
                game.phase[seat] = rules.num_phases
    _rank_seats(game, rules)
    game.status = TERMINATED
    game.stage = OVER


@kernel
def award(game, rules, winner):  # type: ignore[no-untyped-def]
    """End the game with one winner (R31-R33)."""
    game.rank[winner] = 1
    _end(game, rules)


@kernel
def share_win(game, rules):  # type: ignore[no-untyped-def]
    """End the game with the first place shared by the seats of the round, all of them tied (R33)."""
    for seat in range(game.num_players):
        if game.active[seat]:
            game.rank[seat] = 1
    _end(game, rules)


@kernel
def truncate(game):  # type: ignore[no-untyped-def]
    """End the game at a cap: nothing is scored and nobody wins (R34)."""
    game.status = TRUNCATED
    game.stage = OVER


@kernel
def _advance(game, rules, out_seat):  # type: ignore[no-untyped-def]
    """Move seats to their next phases (R30, R31, R35)."""
    for seat in range(game.num_players):
        if rules.advance == ADVANCE_EVERY_ROUND:
            game.phase[seat] += 1
        elif game.laid[seat]:
            if rules.advance == ADVANCE_PICK:
                game.done[seat] |= 1 << game.laid_phase[seat]
            else:
                last = game.phase[seat] == rules.num_phases - 1
                if not (last and rules.winner == WINNER_WENT_OUT and seat != out_seat):
                    game.phase[seat] += 1


@kernel
def _decide(game, rules):  # type: ignore[no-untyped-def]
    """End the game if somebody has finished; make the tied seats the active ones. Return True to go on."""
    lowest = -1
    for seat in range(game.num_players):
        if has_finished(game, rules, seat) and (lowest < 0 or game.score[seat] < lowest):
            lowest = game.score[seat]
    if lowest < 0:
        return True
    tied = 0
    count = 0
    winner = 0
    for seat in range(game.num_players):
        if has_finished(game, rules, seat) and game.score[seat] == lowest:
            tied |= 1 << seat
            count += 1
            winner = seat
    if count == 1:
        award(game, rules, winner)
        return False
    for seat in range(game.num_players):
        game.active[seat] = (tied >> seat) & 1
    if rules.tie_break == TIE_SHARE or game.round >= rules.max_rounds:
        share_win(game, rules)
        return False
    game.tie_break = 1
    return True


@kernel
def score_round(game, rules, out_seat):  # type: ignore[no-untyped-def]
    """Score a finished round; end the game or name the next dealer. Return True when another round follows.

    `out_seat` is the seat that went out, or NOBODY (R13). A tie-break round leaves scores and phases alone.
    """
    game.round_over = 1
    game.out_seat = out_seat
    for seat in range(MAX_PLAYERS):
        game.round_points[seat] = 0 if game.tie_break else hand_points(game, seat)
        game.round_laid[seat] = game.laid[seat]
    if game.tie_break:
        if out_seat != NOBODY and rules.tie_break == TIE_GO_OUT:
            award(game, rules, out_seat)
            return False
        if game.round >= rules.max_rounds:
            share_win(game, rules)
            return False
    else:
        for seat in range(game.num_players):
            game.score[seat] += game.round_points[seat]
        _advance(game, rules, out_seat)
        if game.single_round:
            game.status = TERMINATED
            game.stage = OVER
            return False
        if not _decide(game, rules):
            return False
        if game.round >= rules.max_rounds:
            truncate(game)
            return False
    game.dealer = next_active(game, game.dealer)
    game.round += 1
    return True
