"""Errors that callers of games and batches meet."""

from __future__ import annotations

from phase10_env.actions import action_text
from phase10_env.rules.table import NUM_ACTIONS

__all__ = ["IllegalActionError"]


class IllegalActionError(ValueError):
    """An action that the rules forbid now. Nothing has changed.

    Attributes:
        seat: the seat that was to act.
        action: index or text of the action.
        reason: a sentence, with the rule number.
        row: row of the batch, or None for a single game.
    """

    def __init__(self, seat: int, action: int | str, reason: str, row: int | None = None) -> None:
        self.seat = seat
        self.action = action
        self.reason = reason
        self.row = row
        shown = action
        if isinstance(action, int) and 0 <= action < NUM_ACTIONS:
            shown = f"{action_text(action)} ({action})"
        where = "" if row is None else f"game {row}: "
        super().__init__(f"{where}seat {seat} may not {shown}: {reason}")
