"""What to say about a name that is not known: the valid one that was meant, or the valid ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["hint", "nearest"]

NEAR = 0.6
"""Similarity (0 to 1) from which one name may be meant by another."""

MOST_LISTED = 20
LONGEST = 100
"""Letters of a name that are looked at."""


def nearest(name: str, choices: Iterable[str], near: float = NEAR) -> str | None:
    """Return the choice that is spelled most like a name or has its letters as initials, or None if none is near.

    Args:
        name: what was given.
        choices: what would have been valid; of equally near ones the first wins.
        near: the least similarity, 0 to 1; 0 gives a choice whatever was given.

    >>> nearest("quikstart", ["quickstart", "two_players"])
    'quickstart'
    >>> nearest("lr", ["clip", "optimizer.learning_rate"])
    'optimizer.learning_rate'
    >>> nearest("chess", ["quickstart", "two_players"]) is None
    True
    """
    given = name[:LONGEST].lower()
    best, most = None, -1.0
    for choice in choices:
        last = choice.lower().rpartition(".")[2]
        initials = "".join(word[:1] for word in last.split("_"))
        found = 1.0 if given == initials else difflib.SequenceMatcher(None, given, choice.lower()).ratio()
        if found > most:
            best, most = choice, found
    return best if most >= near else None


def hint(name: str, choices: Iterable[str], kind: str = "") -> str:
    """Return a half sentence that helps on: the valid name that was probably meant, else all of them if they are few.

    Args:
        name: what was given.
        choices: what would have been valid.
        kind: what the names are names of, in the singular.

    >>> hint("gredy", ["random", "greedy"])
    "the nearest is 'greedy'"
    >>> hint("chess", ["random", "greedy"], "agent")
    "expected one of the agents 'random', 'greedy'"
    >>> hint("chess", (f"field_{number}" for number in range(100)), "field")
    'none of the 100 fields is like it'
    """
    valid = list(choices)
    meant = nearest(name, valid)
    if meant is not None:
        return f"the nearest {f'{kind} ' if kind else ''}is {meant!r}"
    kinds = f"{kind}s" if kind else "names"
    if not valid:
        return f"there are no {kinds}"
    if len(valid) > MOST_LISTED:
        return f"none of the {len(valid)} {kinds} is like it"
    return f"expected one of {f'the {kinds} ' if kind else ''}{', '.join(map(repr, valid))}"
