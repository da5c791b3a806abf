"""The card game Phase 10 for reinforcement learning: rules, games, batches and environments.

>>> from phase10_env import GameBatch
>>> GameBatch(num_games=8, num_players=4).observations.shape[0]
8
"""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phase10_env import phase10_v0
    from phase10_env.decision import Agent, DecisionView
    from phase10_env.errors import IllegalActionError
    from phase10_env.game import Game, perft
    from phase10_env.game_batch import GameBatch
    from phase10_env.observation import describe, encode_state, observation_layout, state_layout
    from phase10_env.positions import PositionError, load_position, position_of
    from phase10_env.records import RecordError, replay, verify
    from phase10_env.rules.ruleset import PRESETS, RuleSet, RuleSetError, get_ruleset

__all__ = [
    "PRESETS",
    "Agent",
    "DecisionView",
    "Game",
    "GameBatch",
    "IllegalActionError",
    "PositionError",
    "RecordError",
    "RuleSet",
    "RuleSetError",
    "describe",
    "encode_state",
    "get_ruleset",
    "load_position",
    "observation_layout",
    "perft",
    "phase10_v0",
    "position_of",
    "replay",
    "state_layout",
    "verify",
]

__version__ = "0.1.0"

# Loaded on first use, so that importing the package costs nothing and needs no environment library.
_HOMES = {
    "Agent": "decision",
    "DecisionView": "decision",
    "Game": "game",
    "GameBatch": "game_batch",
    "IllegalActionError": "errors",
    "PRESETS": "rules.ruleset",
    "PositionError": "positions",
    "RecordError": "records",
    "RuleSet": "rules.ruleset",
    "RuleSetError": "rules.ruleset",
    "describe": "observation",
    "encode_state": "observation",
    "get_ruleset": "rules.ruleset",
    "observation_layout": "observation",
    "load_position": "positions",
    "perft": "game",
    "position_of": "positions",
    "replay": "records",
    "verify": "records",
    "state_layout": "observation",
}


try:
    from phase10_env.registration import register_gymnasium
except ImportError:  # without Gymnasium the games work all the same
    pass
else:
    register_gymnasium()


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use."""
    if name == "phase10_v0":
        return import_module("phase10_env.phase10_v0")
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(f"phase10_env.{_HOMES[name]}"), name)
        return value
    raise AttributeError(f"module 'phase10_env' has no attribute {name!r}")


if "pdoc" in sys.modules:  # it reads the module's dictionary, and lists the modules that __all__ names
    for _name in __all__:
        __getattr__(_name)
    __all__ += [_found.name for _found in iter_modules(__path__) if _found.name not in __all__]
