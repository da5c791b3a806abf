"""Files that a user names: reading them, and saying in one sentence why that is impossible or what is wrong in them."""

from __future__ import annotations

import os

__all__ = ["one_sentence", "read_file", "unreadable"]


def read_file(path: str | os.PathLike[str], what: str, most: int = -1) -> str:
    """Return the text of a file; damaged bytes become characters that nothing expects.

    Args:
        path: the file.
        what: it holds, such as "a position".
        most: characters that are read; -1: all.

    Raises:
        ValueError: it cannot be read; one sentence.

    >>> read_file("none.json", "a position")
    Traceback (most recent call last):
    ValueError: none.json: expected a readable file with a position, found: No such file or directory; ...
    """
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(most)
    except (OSError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)}: {unreadable(what, error)}") from None


def unreadable(what: str, error: Exception) -> str:
    """Return why a file cannot be read, to stand behind its name.

    Args:
        what: it was to hold, such as "a position".
        error: `OSError`, or the `ValueError` of a path that is none.
    """
    reason = getattr(error, "strerror", None) or str(error)
    return f"expected a readable file with {what}, found: {reason}; check the path"


def one_sentence(error: Exception) -> str:
    """Return the text of an error; several problems (`error.problems`) become one sentence.

    >>> from phase10_env.positions import PositionError
    >>> one_sentence(PositionError("dealer is missing", "stage is missing"))
    'dealer is missing; stage is missing'
    """
    return "; ".join(getattr(error, "problems", None) or [str(error)])
