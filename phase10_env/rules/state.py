"""GAME: the record type of one game, every field with its meaning.

One game is one numpy record; a batch is an array of records. Cloning a game is an assignment, saving is
`np.save`, comparing is `==`. Seats run 0 ... P-1; arrays over seats always have six places. Meld m belongs to
seat m // 2, group m % 2.
"""

from __future__ import annotations

import numpy as np

from phase10_env.rules.cards import KINDS

__all__ = [
    "BUILD",
    "DRAW",
    "GAME",
    "MAX_DECK",
    "MAX_HAND",
    "MAX_PLAYERS",
    "MELDS",
    "MELD_CARDS",
    "ONTO",
    "OVER",
    "PLAY",
    "RECENT",
    "RUNNING",
    "STAGES",
    "TERMINATED",
    "TRUNCATED",
]

MAX_PLAYERS = 6
MAX_DECK = 108
MAX_HAND = 14
"""Largest hand a ruleset may deal; counts by number are packed in four bits."""
MELDS = 2 * MAX_PLAYERS
MELD_CARDS = 32
"""Most cards a meld can hold: a colour group of 24 naturals and 8 Wilds."""
RECENT = 8
"""Discards of each seat that are remembered in order."""

DRAW, PLAY, BUILD, ONTO, OVER = 0, 1, 2, 3, 4
STAGES = ("draw", "play", "build", "onto", "over")

RUNNING, TERMINATED, TRUNCATED = 0, 1, 2

# signed fields but for the seed: mixing unsigned with signed integers turns Numba arithmetic into floats
GAME = np.dtype(
    [
        # random streams (random.py)
        ("seed", np.uint64),  # the game's own seed
        ("episode", np.int64),  # games played before on this row
        ("decisions", np.int64),  # decisions taken in this episode
        # the deal and the turn
        ("num_players", np.int8),
        ("dealer", np.int8),
        ("to_act", np.int8),  # seat that takes the next decision
        ("stage", np.int8),  # DRAW, PLAY, BUILD, ONTO or OVER
        ("status", np.int8),  # RUNNING, TERMINATED or TRUNCATED
        ("compact", np.int8),  # 1: actions="compact"
        ("single_round", np.int8),  # 1: the episode is one round
        ("tie_break", np.int8),  # 1: this round replays the last phase among the tied (R33)
        ("round", np.int16),  # counts from 1
        ("turn", np.int32),  # turns of this round before the present one, lost ones included
        ("reshuffles", np.int16),  # of this round
        ("no_draw", np.int8),  # turns in a row in which nothing could be drawn (R13)
        ("taken", np.int8),  # kind taken from the pile this turn, or NO_CARD (R12)
        ("laid_this_turn", np.int8),
        # what the last step ended, for rewards
        ("round_over", np.int8),  # 1: the last step ended a round that was scored
        ("last_lost", np.int8),  # seats that lost a turn in the last step, as a bit set
        ("out_seat", np.int8),  # seat that went out in the last scored round, or -1
        # stock and discard pile: the top card is the last one
        ("stock_size", np.int8),
        ("discard_size", np.int8),
        ("stock", np.int8, (MAX_DECK,)),
        ("discard", np.int8, (MAX_DECK,)),
        ("pile_counts", np.int8, (KINDS,)),  # the discard pile by kind
        ("table_counts", np.int8, (KINDS,)),  # the melds by kind
        # hands, as counts by kind and derived sums (kept together by add_card / remove_card)
        ("hands", np.int8, (MAX_PLAYERS, KINDS)),
        ("hand_sizes", np.int8, (MAX_PLAYERS,)),
        ("held", np.int64, (MAX_PLAYERS,)),  # set of kinds in hand
        ("numbers", np.int64, (MAX_PLAYERS,)),  # naturals by number, four bits each, number 1 lowest
        ("colours", np.int64, (MAX_PLAYERS,)),  # naturals by colour, eight bits each
        # seats
        ("phase", np.int8, (MAX_PLAYERS,)),  # current phase, counts from 0; num_phases = all done
        ("done", np.int16, (MAX_PLAYERS,)),  # phases finished, as a bit set (advance="pick")
        ("laid", np.int8, (MAX_PLAYERS,)),
        ("laid_phase", np.int8, (MAX_PLAYERS,)),  # the phase laid this round (where laid)
        ("skipped", np.int8, (MAX_PLAYERS,)),  # a Skip is pending
        ("active", np.int8, (MAX_PLAYERS,)),  # takes part in this round
        ("score", np.int32, (MAX_PLAYERS,)),
        ("rank", np.int8, (MAX_PLAYERS,)),  # 1 = winner, set when the game is over; 0 before
        # the last scored round
        ("round_points", np.int32, (MAX_PLAYERS,)),  # penalty points of that round, 0 in a tie-break round
        ("round_laid", np.int8, (MAX_PLAYERS,)),  # who laid down in it
        # melds
        ("meld_kind", np.int8, (MELDS,)),  # NO_GROUP, SET, RUN or COLOUR_GROUP
        ("meld_value", np.int8, (MELDS,)),  # number of a set, colour of a colour group, low end of a run
        ("meld_high", np.int8, (MELDS,)),  # high end of a run
        ("meld_size", np.int8, (MELDS,)),
        ("meld_fits", np.int64, (MELDS,)),  # set of kinds that may be added (R20)
        ("meld_cards", np.int8, (MELDS, MELD_CARDS)),  # a run from its low end up, else as laid
        # a lay-down being built, or a hit looking for its place
        ("build_phase", np.int8),
        ("declared", np.int8, (2,)),  # number (set), low (run), colour + 1 (colour group); 0 = open
        ("placed_sizes", np.int8, (2,)),
        ("placed", np.int8, (2, MAX_HAND + 1)),  # cards spelled so far, still in the hand
        ("free", np.int8, (KINDS,)),  # the hand less the cards spelled
        ("free_numbers", np.int64),  # likewise, packed as `numbers`
        ("onto_card", np.int8),
        # what the course of the round tells everyone
        ("known", np.int8, (MAX_PLAYERS, KINDS)),  # taken from the pile and not yet seen again
        ("recent", np.int8, (MAX_PLAYERS, RECENT)),  # last discards of a seat, newest first, NO_CARD = none
        ("refused", np.int8, (MAX_PLAYERS,)),  # last pile top a seat could have taken and did not
    ],
    align=True,
)
