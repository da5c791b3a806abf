"""Settings of trainings that take seconds, for tests."""

from __future__ import annotations

from typing import Any

from phase10_training.config import build_config
from phase10_training.settings import TrainingSettings

TINY: dict[str, Any] = {
    "total_decisions": 1024,
    "network": {"actor": [16], "critic": [16], "precision": "fp32"},
    "rollout": {"games": 8, "steps": 32, "workers": 2},
    "optimizer": {"epochs": 2, "minibatch": 64},
    "evaluation": {"against": ["random"], "deals": 2, "final_deals": 2},
    "checkpoint": {"every": 256},
}
"""Four iterations of 256 decisions by two workers."""


def tiny_settings(**sections: Any) -> TrainingSettings:
    """Return TINY with some keys changed: a dict changes keys of a section, another value replaces it."""
    data: dict[str, Any] = {
        key: dict(value) if isinstance(value, dict) else value for key, value in TINY.items()
    }
    for key, value in sections.items():
        data[key] = {**data.get(key, {}), **value} if isinstance(value, dict) else value
    return build_config(TrainingSettings, data)
