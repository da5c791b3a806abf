"""What each draw and each discard would do: the features that level "candidates" adds to an observation.

They tell what `hand_worth` reckons – how far the hand is from its phase, in turns – and what a discard would
give away. Like the rest of an observation they follow from public facts and the own hand alone (I4). They are
written only for the seat to act, at the moments when a card is drawn or discarded; a pass of its own after a
step writes them, so that the other levels do not pay for them.
"""

from __future__ import annotations

import numpy as np

from phase10_env import observation_fields as at
from phase10_env.hand_worth import ALL_ASKED, count_unseen, expected_gain, gain_of, hand_changes, loss_of
from phase10_env.next_player import NOBODY, known_like, near_ends, receiver_of, spurned, table_fits
from phase10_env.rules.cards import NUMBERS, WILD
from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import can_take
from phase10_env.rules.state import DRAW, PLAY, RUNNING

__all__ = ["write_candidate_rows", "write_candidates"]


@kernel
def _hundredths(change):  # type: ignore[no-untyped-def]
    """Return 100 times a change of ln worth as a byte."""
    return min(255, max(0, int(100.0 * change + 0.5)))


@kernel
def _write_gains(game, rules, line, scratch):  # type: ignore[no-untyped-def]
    """Write what cards more would gain: before a draw."""
    hand_changes(game, rules, True, ALL_ASKED, scratch, scratch)
    line[at.DRAW_GAIN] = _hundredths(expected_gain(scratch))
    if can_take(game):
        top = game.discard[game.discard_size - 1]
        line[at.TAKE_GAIN] = _hundredths(gain_of(top, scratch))
    for number in range(NUMBERS):
        line[at.GAINS + number] = _hundredths(np.log1p(scratch.change[number] / scratch.value))
    for colour in range(4):
        change = scratch.colour_change[colour] / scratch.value
        line[at.GAINS + NUMBERS + colour] = _hundredths(np.log1p(change))
    line[at.GAINS + NUMBERS + 4] = _hundredths(gain_of(WILD, scratch))


@kernel
def _write_losses(game, rules, line, scratch):  # type: ignore[no-untyped-def]
    """Write what each discard would lose."""
    hand_changes(game, rules, False, ALL_ASKED, scratch, scratch)
    for kind in range(WILD):
        if game.hands[game.to_act, kind] > 0:
            line[at.DISCARD_LOSS + kind] = _hundredths(loss_of(kind, scratch))


@kernel
def _write_gifts(game, rules, line):  # type: ignore[no-untyped-def]
    """Write what each discard would give to whoever may take it."""
    ends = near_ends(game)
    for number in range(NUMBERS):
        line[at.NEAR_ENDS + number] = (ends >> (number + 1)) & 1
    receiver = receiver_of(game, rules)
    if receiver == NOBODY:
        return
    if game.laid[receiver]:
        fits = table_fits(game) & game.held[game.to_act]
        for kind in range(WILD):
            line[at.FEEDS + kind] = (fits >> kind) & 1
        return
    for number in range(NUMBERS):
        line[at.RECEIVER_KNOWN + number] = known_like(game, receiver, number, False)
        line[at.RECEIVER_THREW + number] = spurned(game, receiver, number, False)
    for colour in range(4):
        line[at.RECEIVER_KNOWN + NUMBERS + colour] = known_like(game, receiver, NUMBERS * colour, True)
        line[at.RECEIVER_THREW + NUMBERS + colour] = spurned(game, receiver, NUMBERS * colour, True)


@kernel
def write_candidates(game, rules, line, scratch):  # type: ignore[no-untyped-def]
    """Write the candidate features of the seat to act into line uint8[CANDIDATE_SIZE], which holds zeros.

    `scratch` is a HAND_SCRATCH record.
    """
    if game.status != RUNNING or (game.stage != DRAW and game.stage != PLAY):
        return
    if not game.laid[game.to_act]:
        count_unseen(game, rules, scratch, scratch)
        if game.stage == DRAW:
            _write_gains(game, rules, line, scratch)
        else:
            _write_losses(game, rules, line, scratch)
        line[at.WORTH] = min(255, max(0, int(60.0 - 20.0 * np.log(scratch.value) + 0.5)))
    if game.stage == PLAY:
        _write_gifts(game, rules, line)


@kernel
def write_candidate_rows(games, rules, observations, start, rows, scratch):  # type: ignore[no-untyped-def]
    """Write the candidate features of some rows (int64[n]) from column `start` of observations uint8[B, D] on."""
    for index in range(len(rows)):
        row = rows[index]
        line = observations[row, start : start + at.CANDIDATE_SIZE]
        for place in range(at.CANDIDATE_SIZE):
            line[place] = 0
        write_candidates(games[row], rules[0], line, scratch[0])
