"""The kernels on one game, typed: `games` is GAME[1], the rules are a RuleSet, actions are indices.

These are for objects and tools that handle one game at a time; batches call the kernels themselves. Questions
are asked of a copy, because kernels use some places of a record as scratch.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from phase10_env.rules import batch, table
from phase10_env.rules.kernel import announce
from phase10_env.rules.legal import OK, REASONS
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import DRAW, GAME, PLAY, RUNNING

__all__ = ["Record", "apply_action", "count_sequences", "legal_indices", "reason_against", "settle", "start"]

Record = npt.NDArray[np.void]
"""One game: an array of shape (1,) and dtype `GAME`."""

UNINTERRUPTED_DEPTH = 3
"""Deeper counts come back to Python now and then, so that Ctrl-C stops them."""


def _scratch(rows: int = 1) -> npt.NDArray[np.uint8]:
    announce(batch.__name__)
    return np.zeros((rows, table.NUM_ACTIONS), dtype=np.uint8)


def start(games: Record, ruleset: RuleSet, dealer: int | None = None) -> None:
    """Start a whole game on a record whose seed, episode and number of players are set.

    Args:
        games: GAME[1], changed.
        ruleset: the rules.
        dealer: seat of the first dealer; None leaves it to the rules (R4).
    """
    rules = ruleset.record
    if dealer is not None:
        rules = rules.copy()
        rules["dealer"] = dealer
        rules.flags.writeable = False  # as `RuleSet.record`: kernels are compiled for one kind of array
    _scratch()
    batch.start_games(games, rules, 0, 1)


def legal_indices(games: Record, ruleset: RuleSet) -> list[int]:
    """Return the legal actions, ascending."""
    out = _scratch()[0]
    count = batch.list_legal(games.copy(), ruleset.record, 0, out)
    return [int(action) for action in out[:count]]


def reason_against(games: Record, ruleset: RuleSet, action: int) -> str | None:
    """Return why an action is illegal, as a sentence with its rule number, or None where it is legal."""
    _scratch()
    reason = batch.explain_row(games.copy(), ruleset.record, 0, action)
    return None if reason == OK else REASONS[reason][1]


def apply_action(games: Record, ruleset: RuleSet, action: int) -> str | None:
    """Take an action; return None, or why it is illegal, changing nothing."""
    out = _scratch()[0]
    reason = batch.apply_row(games, ruleset.record, 0, action, out)
    return None if reason == OK else REASONS[reason][1]


def settle(games: Record, ruleset: RuleSet) -> None:
    """Walk a loaded record on to a moment of choice (R13, single children of the building tree)."""
    batch.settle_row(games, ruleset.record, 0, _scratch()[0])
    if games["stage"][0] == DRAW and not legal_indices(games, ruleset):
        games["stage"] = PLAY  # nothing can be drawn: the seat plays on without (R13)
        games["no_draw"] += 1


def count_sequences(games: Record, ruleset: RuleSet, depth: int) -> int:
    """Return the number of action sequences of exactly `depth` (see `phase10_env.perft`)."""
    if depth <= UNINTERRUPTED_DEPTH:
        stack = np.zeros(depth + 1, dtype=GAME)
        stack[0] = games[0]
        legal = _scratch(depth + 1)
        return int(batch.perft_row(stack, ruleset.record, 0, depth, legal))
    total = 0
    for action in legal_indices(games, ruleset):
        following = games.copy()
        needs_reshuffle = action == table.DRAW and games["stock_size"][0] == 0
        if not needs_reshuffle:
            apply_action(following, ruleset, action)
        if needs_reshuffle or following["round_over"][0] or following["status"][0] != RUNNING:
            total += 1
        else:
            total += count_sequences(following, ruleset, depth - 1)
    return total
