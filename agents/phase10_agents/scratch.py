"""Two record types that kernels of agents share: SCRATCH, what they write on, and WEIGHTS, what a policy cares for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from phase10_env.hand_worth import HAND_FIELDS

__all__ = ["SCRATCH", "WEIGHTS", "new_scratch"]

SCRATCH = np.dtype(
    [
        ("legal", np.uint8, (176,)),  # legal actions
        *HAND_FIELDS,
        ("shares", np.float64, (6,)),  # win equities
        ("ends", np.int64, (6,)),  # ends of the parts of the stock (own_draws.py)
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
