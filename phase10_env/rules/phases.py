"""Phases as data (R14, R15, R36) and RULES, the record of rule options that every kernel receives."""

from __future__ import annotations

import numpy as np

from phase10_env.rules.cards import KINDS
from phase10_env.rules.state import MAX_DECK

__all__ = [
    "COLOUR_GROUP",
    "GROUP_KINDS",
    "MAX_PHASES",
    "NO_GROUP",
    "OPTION_VALUES",
    "RULES",
    "RUN",
    "SET",
    "STANDARD_PHASES",
]

MAX_PHASES = 10
NO_GROUP, SET, RUN, COLOUR_GROUP = 0, 1, 2, 3
GROUP_KINDS = ("none", "set", "run", "colour")

STANDARD_PHASES: tuple[tuple[tuple[str, int], ...], ...] = (
    (("set", 3), ("set", 3)),
    (("set", 3), ("run", 4)),
    (("set", 4), ("run", 4)),
    (("run", 7),),
    (("run", 8),),
    (("run", 9),),
    (("set", 4), ("set", 4)),
    (("colour", 7),),
    (("set", 5), ("set", 2)),
    (("set", 5), ("set", 3)),
)
"""The ten phases of R15; a phase is one or two groups (kind, size)."""

OPTION_VALUES: dict[str, tuple[str, ...]] = {
    "advance": ("completed", "every_round", "pick"),  # R35
    "skip_target": ("choose", "next"),  # R23
    "skip_placement": ("front", "pile"),  # R24
    "hit_after_lay": ("all", "own"),  # R11
    "go_out": ("any", "discard"),  # R28
    "winner": ("completed", "went_out"),  # R31
    "tie_break": ("go_out", "lay_down", "share"),  # R33
    "naturals": ("group", "phase"),  # R18
}
"""Rule options with their values; the first is the default, and its index is what RULES holds."""

ADVANCE_COMPLETED, ADVANCE_EVERY_ROUND, ADVANCE_PICK = 0, 1, 2
TARGET_CHOOSE, TARGET_NEXT = 0, 1
PLACE_FRONT, PLACE_PILE = 0, 1
HIT_ALL, HIT_OWN = 0, 1
OUT_ANY, OUT_DISCARD = 0, 1
WINNER_COMPLETED, WINNER_WENT_OUT = 0, 1
TIE_GO_OUT, TIE_LAY_DOWN, TIE_SHARE = 0, 1, 2
NATURALS_GROUP, NATURALS_PHASE = 0, 1

# signed fields throughout: mixing unsigned with signed integers turns Numba arithmetic into floats
RULES = np.dtype(
    [
        ("num_phases", np.int8),
        ("group_kinds", np.int8, (MAX_PHASES, 2)),  # NO_GROUP, SET, RUN or COLOUR_GROUP
        ("group_sizes", np.int8, (MAX_PHASES, 2)),
        ("advance", np.int8),
        ("skip_target", np.int8),
        ("skip_placement", np.int8),
        ("hit_after_lay", np.int8),
        ("go_out", np.int8),
        ("winner", np.int8),
        ("tie_break", np.int8),
        ("naturals", np.int8),
        ("allow_return", np.int8),
        ("hand_size", np.int8),
        ("dealer", np.int8),  # seat of the first dealer, or -1: drawn (R4)
        ("max_turns", np.int16),  # per player and round (R34)
        ("max_rounds", np.int16),
        ("deck_size", np.int8),
        ("deck_cards", np.int8, (MAX_DECK,)),  # every card of the deck, kinds ascending
        ("deck_counts", np.int8, (KINDS,)),
    ],
    align=True,
)
