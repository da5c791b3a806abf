"""The action table in numbers: 165 actions, the same for every ruleset, player count and mode.

Each name is the index of the first action of its kind; the argument is added to it:

- `LAY + k`, `BUILD + k`: phase k, counted from 0 into the ruleset's list
- `NUMBER + n - 1`: number n; `COLOUR + c`: colour c, 0-3
- `PLAY + kind`, `DISCARD + kind`: a kind 0-48, that is every kind but the Skip
- `ONTO + 4 * d + 2 * g + end`: group g of the seat d to the left; end 1 is the high end of a run
- `SKIP + d - 1`: the player d seats to the left, 1-5
"""

from __future__ import annotations

__all__ = [
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
]

DRAW = 0
TAKE = 1
LAY = 2
BUILD = 12
NUMBER = 22
COLOUR = 34
PLAY = 38
ONTO = 87
DISCARD = 111
SKIP = 160
NUM_ACTIONS = 165
