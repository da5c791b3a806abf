"""Loops over many games: start, apply, legal actions; the entry points that Python calls.

Arrays: `games` GAME[B], `rules` RULES[1], `legal` uint8[B, 165] with `counts` int16[B]. Rows never influence
each other, so any block of rows may run in any thread.
"""

from __future__ import annotations

import numpy as np

from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import OK, legal_actions, why_illegal
from phase10_env.rules.state import RUNNING
from phase10_env.rules.step import apply, settle, start_game

__all__ = [
    "apply_row",
    "explain_row",
    "list_legal",
    "perft_row",
    "settle_row",
    "start_games",
]


@kernel
def start_games(games, rules, first, last):  # type: ignore[no-untyped-def]
    """Start a new whole game on each row first ... last - 1."""
    for row in range(first, last):
        start_game(games[row], rules[0])


@kernel
def settle_row(games, rules, row, scratch):  # type: ignore[no-untyped-def]
    """Walk a loaded row on to a moment of choice."""
    settle(games[row], rules[0], scratch)


@kernel
def apply_row(games, rules, row, action, scratch):  # type: ignore[no-untyped-def]
    """Take an action on one row after checking it; return OK or the reason, changing nothing."""
    reason = why_illegal(games[row], rules[0], action)
    if reason == OK:
        apply(games[row], rules[0], action, scratch)
    return reason


@kernel
def explain_row(games, rules, row, action):  # type: ignore[no-untyped-def]
    """Return OK or the reason why an action is illegal on a row."""
    return why_illegal(games[row], rules[0], action)


@kernel
def list_legal(games, rules, row, out):  # type: ignore[no-untyped-def]
    """Write the legal actions of a row and return their number."""
    return legal_actions(games[row], rules[0], out)


@kernel
def perft_row(games, rules, row, depth, legal):  # type: ignore[no-untyped-def]
    """Count action sequences of exactly `depth` from a row (interfaces: perft).

    `games` GAME[row + depth + 1] is a stack of copies, `legal` uint8[depth + 1, 165] their legal actions. A
    finished round or game, or a draw that needs a reshuffle, is a leaf and counts as one.
    """
    if depth == 0:
        return 1
    total = 0
    out = legal[depth]
    count = legal_actions(games[row], rules[0], out)
    for place in range(count):
        action = np.int64(out[place])
        if action == 0 and games[row].stock_size == 0:
            total += 1
            continue
        games[row + 1] = games[row]
        apply(games[row + 1], rules[0], action, legal[0])
        if games[row + 1].round_over or games[row + 1].status != RUNNING:
            total += 1
        else:
            total += perft_row(games, rules, row + 1, depth - 1, legal)
    return total
