"""Two record types that kernels of agents share: SCRATCH, what they write on, and WEIGHTS, what a policy cares for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["SCRATCH", "WEIGHTS", "new_scratch"]

SCRATCH = np.dtype(
    [
        ("legal", np.uint8, (176,)),  # legal actions
        ("total", np.float64),  # cards nobody has shown
        ("wilds", np.float64),  # Wilds among them
        ("outs", np.float64, (12,)),  # naturals among them, by number
        ("colour_outs", np.float64, (4,)),  # likewise by colour
        ("wait", np.float64, (12,)),  # turns until a natural of a number comes, by number
        ("value", np.float64),  # worth of the hand: sum over targets
        ("change", np.float64, (12,)),  # change of that worth by a card more, or less, of a number
        ("colour_change", np.float64, (4,)),  # likewise of a colour
        ("wild_change", np.float64),
        ("asked", np.int64),  # numbers and Wild whose gain is asked for, as a bit set
        ("mixed", np.int64),  # kinds that matter to phases without numbers of their own to reckon with
        ("distance", np.int64),  # cards missing for the nearest phase
        ("shares", np.float64, (6,)),  # win equities
    ],
    align=True,
)

WEIGHTS = np.dtype(
    [
        ("discount", np.float64),  # loss of worth by a turn of waiting
        ("reach", np.float64),  # how much likelier a natural comes than by drawing alone
        ("points", np.float64),  # worth of a penalty point thrown
        ("late", np.float64),  # factor on it once somebody is about to go out
        ("feed", np.float64),  # harm of a card that the next player can hit
        ("known_number", np.float64),  # harm for each equal number known in the next hand, set phases
        ("known_colour", np.float64),  # harm for each card of the colour known there, colour phases
        ("spurned", np.float64),  # gain of a number (or colour) that the next player threw or left lying
        ("keep_hit", np.float64),  # worth of keeping a card that fits the table, before the own lay-down
        ("near_end", np.float64),  # likewise one step from the end of a run, after it
        ("shown", np.float64),  # cost of showing a card by taking it
    ],
    align=True,
)


def new_scratch() -> npt.NDArray[np.void]:
    """Return SCRATCH[1].

    >>> new_scratch().shape
    (1,)
    """
    return np.zeros(1, SCRATCH)
