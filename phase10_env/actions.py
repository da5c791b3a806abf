"""The action table in words: the text of each of the 165 actions, and the way back from text to index."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from phase10_env.names import nearest
from phase10_env.rules.cards import COLOUR_LETTERS, KIND_TEXTS, WILD
from phase10_env.rules.table import (
    BUILD,
    COLOUR,
    DISCARD,
    DRAW,
    LAY,
    NUM_ACTIONS,
    NUMBER,
    ONTO,
    PLAY,
    SKIP,
    TAKE,
)

__all__ = [
    "ACTION_TEXTS",
    "BUILD",
    "COLOUR",
    "DISCARD",
    "DRAW",
    "LAY",
    "NUMBER",
    "NUM_ACTIONS",
    "ONTO",
    "PLAY",
    "SKIP",
    "TAKE",
    "ActionError",
    "action_text",
    "parse_action",
]

_PLAYABLE = KIND_TEXTS[: WILD + 1]

ACTION_TEXTS: tuple[str, ...] = (
    "draw",
    "take",
    *(f"lay {phase}" for phase in range(1, 11)),
    *(f"build {phase}" for phase in range(1, 11)),
    *(f"number {number}" for number in range(1, 13)),
    *(f"colour {letter}" for letter in COLOUR_LETTERS),
    *(f"play {text}" for text in _PLAYABLE),
    *(f"onto {left}.{group}{end}" for left in range(6) for group in range(2) for end in ("", " high")),
    *(f"discard {text}" for text in _PLAYABLE),
    *(f"skip {left}" for left in range(1, 6)),
)
"""Text of each action, by index."""

_INDEX = {text: index for index, text in enumerate(ACTION_TEXTS)}
_LOWER = {text.lower(): index for index, text in enumerate(ACTION_TEXTS)}

_ARGUMENTS: dict[str, str] = {
    "draw": "nothing, as in 'draw'",
    "take": "nothing, as in 'take'",
    "lay": "a phase from 1 to 10, as in 'lay 1'",
    "build": "a phase from 1 to 10, as in 'build 1'",
    "number": "a number from 1 to 12, as in 'number 7'",
    "colour": "one of the letters R, B, G, Y, as in 'colour R'",
    "play": "a card from R1 to Y12 or W, as in 'play R7'",
    "onto": "seats to the left 0-5, a dot and group 0 or 1, then 'high' for the high end of a run, "
    "as in 'onto 0.1 high'",
    "discard": "a card from R1 to Y12 or W, as in 'discard R7'",
    "skip": "a player 1 to 5 seats to the left, as in 'skip 1'",
}
"""What follows the first word of an action."""


class ActionError(ValueError):
    """An action index or text that the table does not have."""


def action_text(index: SupportsIndex) -> str:
    """Return the text of an action.

    Args:
        index: action index, 0 ... 164.

    Raises:
        ActionError: the index is not in the table.

    >>> action_text(0), action_text(90), action_text(164)
    ('draw', 'onto 0.1 high', 'skip 5')
    """
    try:
        number = operator.index(index)
    except TypeError:
        raise ActionError(f"expected an action index from 0 to {NUM_ACTIONS - 1}, found {index!r}") from None
    if not 0 <= number < NUM_ACTIONS:
        raise ActionError(f"expected an action index from 0 to {NUM_ACTIONS - 1}, found {number}")
    return ACTION_TEXTS[number]


def parse_action(text: str) -> int:
    """Return the index of an action written as text; case and extra blanks do not matter.

    Args:
        text: one of `ACTION_TEXTS`.

    Raises:
        ActionError: no action has this text; the message says what would do.

    >>> parse_action("draw"), parse_action("play R1"), parse_action("skip 2")
    (0, 38, 161)
    >>> parse_action("discrad R1")
    Traceback (most recent call last):
    phase10_env.actions.ActionError: unknown action 'discrad R1': the nearest is 'discard R1'
    """
    if not isinstance(text, str):
        raise ActionError(f"expected an action as text, such as 'draw' or 'discard R7', found {text!r}")
    if text in _INDEX:
        return _INDEX[text]
    words = text.lower().split()
    if (index := _LOWER.get(" ".join(words))) is not None:
        return index
    raise ActionError(f"unknown action {_shown(text)}: {_advice(words)}")


def _shown(text: str) -> str:
    """Return a text in quotes, cut to a length that fits a message."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _advice(words: list[str]) -> str:
    """Return what to write instead of these words, which are no action."""
    if not words:
        return "expected one such as 'draw', 'lay 1', 'play R7' or 'discard R7'"
    word, rest = words[0], " ".join(words[1:])
    if word in ("discard", "play") and rest == "s":
        return "a Skip is played on a player 1 to 5 seats to the left, as in 'skip 1'"
    if word in _ARGUMENTS:
        return f"'{word}' is followed by {_ARGUMENTS[word]}"
    verb = nearest(word, _ARGUMENTS)
    if verb is None:
        return f"an action begins with one of {', '.join(_ARGUMENTS)}"
    meant = _LOWER.get(f"{verb} {rest}".strip())
    if meant is not None:
        return f"the nearest is '{ACTION_TEXTS[meant]}'"
    return f"the nearest word is '{verb}', followed by {_ARGUMENTS[verb]}"
