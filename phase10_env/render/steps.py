"""The moves of a played game one by one, each with the game record before and after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from phase10_env.actions import parse_action
from phase10_env.game import Game
from phase10_env.render.facts import Record

__all__ = ["Advice", "Step", "game_steps"]


@dataclass(frozen=True, slots=True)
class Step:
    """One decision of a game: GAME[1] before it, the action (index) and GAME[1] after it."""

    before: Record
    action: int
    after: Record


@dataclass(frozen=True, slots=True)
class Advice:
    """What an agent would do at a decision.

    Attributes:
        choice: the action it takes, index.
        values: its value of each legal action, by index, higher is better; empty where it gives none.
    """

    choice: int
    values: Mapping[int, float]


def game_steps(game: Game) -> tuple[Record, list[Step]]:
    """Return the first moment of a game, GAME[1], and all its steps; the game stays as it is.

    >>> game = Game(seed=7)
    >>> game.play("draw")
    >>> first, steps = game_steps(game)
    >>> [step.action for step in steps]
    [0]
    """
    twin = game.copy()
    records = [twin.state.copy()]
    actions = []
    while True:
        try:
            actions.append(parse_action(twin.pop()))
        except IndexError:
            break
        records.append(twin.state.copy())
    records.reverse()
    actions.reverse()
    steps = [Step(records[k], action, records[k + 1]) for k, action in enumerate(actions)]
    return records[0], steps
