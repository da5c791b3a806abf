"""The slow, plain-Python model of the rules that the compiled engine is compared with."""

from .cards import ACTIONS, KINDS, action_index, action_text, points_of
from .lay_downs import LaidGroup, Spelling, spellings
from .melds import Meld
from .model import IllegalMoveError, ReferenceGame, perft, start_round
from .positions import all_cards, normalised
from .rules import PRESETS, Rules

__all__ = [
    "ACTIONS",
    "KINDS",
    "PRESETS",
    "IllegalMoveError",
    "LaidGroup",
    "Meld",
    "ReferenceGame",
    "Rules",
    "Spelling",
    "action_index",
    "action_text",
    "all_cards",
    "normalised",
    "perft",
    "points_of",
    "spellings",
    "start_round",
]
