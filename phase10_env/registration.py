"""Registration of the environments with Gymnasium, by names only, so that nothing else is loaded."""

from __future__ import annotations

import gymnasium

__all__ = ["ENV_ID", "register_gymnasium"]

ENV_ID = "phase10/Phase10-v0"
"""Name of the environment in Gymnasium's and PettingZoo's registries."""


def register_gymnasium() -> None:
    """Enter the environments with one learner in Gymnasium's registry, once."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(
            ENV_ID,
            entry_point="phase10_env.vector:Phase10Env",
            vector_entry_point="phase10_env.vector:Phase10VectorEnv",
        )
