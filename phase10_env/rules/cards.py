"""The deck: kinds of card, their text and their penalty points (R2, R3).

A *kind* is an index 0-49: `12 * colour + number - 1` for numbered cards (colours red, blue, green, yellow),
48 for a Wild, 49 for a Skip. Kernels also use 64-bit sets of kinds, bit k for kind k.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from phase10_env.rules.kernel import kernel

__all__ = [
    "COLOUR_LETTERS",
    "KINDS",
    "KIND_TEXTS",
    "NO_CARD",
    "POINTS",
    "SKIP",
    "STANDARD_DECK",
    "WILD",
    "colour_set",
    "lowest_bit",
    "number_set",
    "points_of",
    "popcount",
]

COLOURS = 4
NUMBERS = 12
WILD = 48
SKIP = 49
KINDS = 50
NO_CARD = 50
"""Stands for "no card" wherever a field holds a kind."""

NATURALS = (1 << WILD) - 1
WILD_BIT = 1 << WILD
SKIP_BIT = 1 << SKIP

COLOUR_LETTERS = "RBGY"
KIND_TEXTS: tuple[str, ...] = (
    *(f"{letter}{number}" for letter in COLOUR_LETTERS for number in range(1, NUMBERS + 1)),
    "W",
    "S",
)

POINTS: npt.NDArray[np.int64] = np.array(
    [5 if kind % NUMBERS < 9 else 10 for kind in range(WILD)] + [25, 15], dtype=np.int64
)
"""Penalty points by kind (R3)."""

STANDARD_DECK: npt.NDArray[np.uint8] = np.array([2] * WILD + [8, 4], dtype=np.uint8)
"""Copies of each kind in the 108-card deck (R2)."""


@kernel
def points_of(kind):  # type: ignore[no-untyped-def]
    """Return the penalty points of one card (R3)."""
    if kind == WILD:
        return 25
    if kind == SKIP:
        return 15
    return 5 if kind % NUMBERS < 9 else 10


@kernel
def number_set(number):  # type: ignore[no-untyped-def]
    """Return the set of the four kinds with a number 1-12 (empty for 0 and 13)."""
    if number < 1 or number > NUMBERS:
        return 0
    return (1 | 1 << 12 | 1 << 24 | 1 << 36) << (number - 1)


@kernel
def colour_set(colour):  # type: ignore[no-untyped-def]
    """Return the set of the twelve kinds of a colour 0-3."""
    return 0xFFF << (NUMBERS * colour)


@kernel
def popcount(bits):  # type: ignore[no-untyped-def]
    """Return the number of set bits of a non-negative integer."""
    x = bits
    x = x - ((x >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (x * 0x0101010101010101 >> 56) & 0x7F  # written so, compilers find the processor's own instruction


@kernel
def lowest_bit(bits):  # type: ignore[no-untyped-def]
    """Return the index of the lowest set bit of a positive integer."""
    return popcount((bits & -bits) - 1)
