"""Errors in what a user gave us: the base class, and numbers out of range."""

__all__ = ["LARGEST_COUNT", "LONGEST_TIME", "UsageError", "check_range"]

LARGEST_COUNT = 1_000_000_000
"""Most deals, games or decisions that a command takes: more would not end, and numbers of games must fit 64 bits."""
LONGEST_TIME = 86_400.0
"""Most seconds for one decision: a day."""


class UsageError(ValueError):
    """Report a wrong option, name or value in one sentence: expected, found, what to do."""


def check_range(name: str, value: float, least: float, most: float, *, above: bool = False) -> None:
    """Refuse a number out of its range; nan is out of every range.

    Args:
        name: of the option or setting.
        value: what was given.
        least, most: both allowed, `least` not with `above`.
        above: the number must be above `least`.

    Raises:
        UsageError: with the limit that was not kept.

    >>> check_range("--deals", 10, 1, LARGEST_COUNT)
    >>> check_range("--time-limit", float("inf"), 0, LONGEST_TIME, above=True)
    Traceback (most recent call last):
    phase10_training.errors.UsageError: --time-limit expects at most 86400, found inf.
    """
    if value > most:
        raise UsageError(f"{name} expects at most {_digits(most)}, found {value}.")
    if not (value > least if above else value >= least):
        words = "a number above" if above else "at least"
        raise UsageError(f"{name} expects {words} {_digits(least)}, found {value}.")


def _digits(limit: float) -> str:
    return str(int(limit)) if limit == int(limit) else str(limit)
