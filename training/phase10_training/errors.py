"""Errors in what a user gave us: the base class, and the nearest valid name for a wrong one."""

import difflib
from collections.abc import Iterable

__all__ = ["UsageError", "nearest"]


class UsageError(ValueError):
    """Report a wrong option, name or value in one sentence: expected, found, what to do."""


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """Return the choice that is spelled most like `name` or has its letters as initials, or None of none.

    Args:
        name: what was given.
        choices: what would have been valid; of equally near ones the first wins.

    >>> nearest("quikstart", ["quickstart", "two_players"])
    'quickstart'
    >>> nearest("lr", ["clip", "optimizer.learning_rate"])
    'optimizer.learning_rate'
    >>> nearest("x", []) is None
    True
    """
    valid = list(choices)
    if not valid:
        return None
    given = name.lower()

    def similarity(choice: str) -> float:
        last = choice.lower().rpartition(".")[2]
        if given == "".join(word[:1] for word in last.split("_")):
            return 1.0
        return difflib.SequenceMatcher(None, given, choice.lower()).ratio()

    return max(valid, key=similarity)
