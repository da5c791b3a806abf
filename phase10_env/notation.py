"""Cards as text: `R1` ... `Y12`, `W`, `S`, and hands or piles as cards separated by blanks.

Kinds are indices 0-49 (see `phase10_env.rules.cards`); counts are arrays of 50 numbers of cards, by kind.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from phase10_env.rules.cards import COLOUR_LETTERS, KIND_TEXTS, KINDS, NUMBERS

__all__ = [
    "NotationError",
    "format_card",
    "format_cards",
    "format_counts",
    "parse_card",
    "parse_cards",
    "parse_counts",
]

_KIND = {text: kind for kind, text in enumerate(KIND_TEXTS)}
_KIND.update({text.lower(): kind for text, kind in list(_KIND.items())})

_WORDS = {"wild": "W", "skip": "S"}


class NotationError(ValueError):
    """Text that stands for no card, or a number that is no kind of card."""


def parse_card(text: str) -> int:
    """Return the kind of a card written as text; lower case will do.

    Args:
        text: `R1` ... `Y12`, `W` or `S`.

    Returns:
        The kind, 0 ... 49.

    Raises:
        NotationError: no card is written so.

    >>> parse_card("R1"), parse_card("Y12"), parse_card("W"), parse_card("S")
    (0, 47, 48, 49)
    >>> parse_card("R13")
    Traceback (most recent call last):
    phase10_env.notation.NotationError: 'R13' is no card: the numbers of a colour run from R1 to R12
    """
    if not isinstance(text, str):
        raise NotationError(f"{_shown(text)} is no card: expected text such as 'R7', 'W' or 'S'")
    kind = _KIND.get(text.strip())
    if kind is None:
        raise NotationError(f"{_shown(text)} is no card: {_advice(text.strip())}")
    return kind


def format_card(kind: SupportsIndex) -> str:
    """Return the text of a kind of card.

    Raises:
        NotationError: the kind is not in 0 ... 49.

    >>> format_card(47)
    'Y12'
    """
    try:
        index = operator.index(kind)
    except TypeError:
        index = -1
    if not 0 <= index < KINDS:
        raise NotationError(
            f"{_shown(kind)} is no kind of card: expected a whole number from 0 to {KINDS - 1}"
        )
    return KIND_TEXTS[index]


def parse_cards(text: str, field: str = "cards") -> list[int]:
    """Return the kinds of cards separated by blanks, in their order.

    Args:
        text: such as `"R1 W B12"`; empty for no cards.
        field: what an error calls this text, such as `"seats[0].hand"`.

    Raises:
        NotationError: naming the first card that is none, and its place.

    >>> parse_cards("R1 W  B12")
    [0, 48, 23]
    >>> parse_cards("R1 B0", field="discard")
    Traceback (most recent call last):
    phase10_env.notation.NotationError: discard, card 2: 'B0' is no card: the numbers of a colour run from
    B1 to B12
    """
    if not isinstance(text, str):
        raise NotationError(
            f"{field} is {_shown(text)}: expected cards separated by blanks, as in 'R1 W B12'"
        )
    kinds = []
    for place, word in enumerate(text.split(), 1):
        try:
            kinds.append(parse_card(word))
        except NotationError as error:
            raise NotationError(f"{field}, card {place}: {error}") from None
    return kinds


def format_cards(kinds: Iterable[SupportsIndex]) -> str:
    """Return cards as text, in their order; `parse_cards` reads it back.

    Raises:
        NotationError: one of them is no kind of card.

    >>> format_cards([0, 48, 23])
    'R1 W B12'
    """
    return " ".join(format_card(kind) for kind in kinds)


def parse_counts(text: str, field: str = "cards") -> npt.NDArray[np.uint8]:
    """Return how many cards of each kind a text holds.

    Args:
        text: cards separated by blanks, in any order.
        field: what an error calls this text.

    Returns:
        uint8[50], copies by kind.

    Raises:
        NotationError: as `parse_cards`, or more than 255 cards of one kind.

    >>> parse_counts("R2 W R2")[[0, 1, 48]]
    array([0, 2, 1], dtype=uint8)
    """
    counts = np.bincount(np.array(parse_cards(text, field), dtype=np.int64), minlength=KINDS)
    if counts.max() > 255:
        kind = int(counts.argmax())
        raise NotationError(f"{field} has {counts[kind]} cards {KIND_TEXTS[kind]}: expected at most 255")
    return counts.astype(np.uint8)


def format_counts(counts: Sequence[int] | npt.NDArray[np.integer]) -> str:
    """Return cards counted by kind as text, kinds ascending.

    Args:
        counts: 50 numbers of cards, by kind.

    Raises:
        NotationError: not 50 numbers, or one is negative.

    >>> format_counts(parse_counts("W R2 R2"))
    'R2 R2 W'
    """
    array = np.asarray(counts)
    if array.shape != (KINDS,) or array.dtype.kind not in "iu":
        found = f"shape {array.shape} of {array.dtype}"
        raise NotationError(f"counts have {found}: expected {KINDS} whole numbers, one for each kind of card")
    if array.min() < 0:
        kind = int(array.argmin())
        raise NotationError(f"counts have {array[kind]} cards {KIND_TEXTS[kind]}: expected 0 or more")
    return format_cards(np.repeat(np.arange(KINDS), array).tolist())


def _shown(value: object) -> str:
    """Return a value as a message shows it: its repr, cut to 40 characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits has no repr
        return "a value too large to show"
    return text if len(text) <= 40 else f"{text[:37]}..."


def _advice(text: str) -> str:
    """Return what to write instead of a text that is no card."""
    letter, rest = text[:1].upper(), text[1:]
    if letter in set(COLOUR_LETTERS) and rest.isdecimal():
        return f"the numbers of a colour run from {letter}1 to {letter}{NUMBERS}"
    meant = _WORDS.get(text.lower()) or f"{text[-1:]}{text[:-1]}".upper()
    if meant in _KIND:
        return f"the nearest is '{meant}'"
    return f"expected a colour letter of {COLOUR_LETTERS} and a number from 1 to {NUMBERS}, or W, or S"
