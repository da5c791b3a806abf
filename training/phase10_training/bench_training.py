"""Measures the learner end to end, play, advantages and updates, beside MaskablePPO of sb3-contrib in one run.

Both play the same game with the same observations and policy networks of the same widths; each in its own way, with
the settings it ships.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from phase10_env.compat.sb3 import Phase10VecEnv
from phase10_training.config import load_config
from phase10_training.ppo import Learner
from phase10_training.sb3 import SB3Settings, new_model
from phase10_training.settings import TrainingSettings

__all__ = ["training_rates"]


def training_rates(
    config: str, sb3_games: int, sb3_steps: int, repetitions: int
) -> dict[str, dict[str, float]]:
    """Return decisions learned from a second, wall and CPU, by name of the learner.

    Args:
        config: name under configs/train, or a TOML file.
        sb3_games, sb3_steps: size of a rollout of MaskablePPO.
        repetitions: iterations of each; the median counts. A first one does not.

    CPU time is that of all threads, so with several workers it is the lower figure.
    """
    settings = load_config(TrainingSettings, config)
    torch.set_num_threads(settings.torch_threads)
    learner = Learner(settings)
    per_iteration = settings.rollout.games * settings.rollout.steps
    sb3 = SB3Settings(num_envs=sb3_games, steps=sb3_steps, network=tuple(settings.network.actor))
    envs = Phase10VecEnv(
        sb3.num_envs,
        opponents=sb3.opponents,
        actions=sb3.actions,
        episode=sb3.episode,
        observation=settings.environment.observation,
    )
    model: Any = new_model(sb3, envs, "cpu")

    def learn() -> None:
        model.learn(sb3.num_envs * sb3.steps, reset_num_timesteps=False)

    calls = {
        f"phase10 train {config}": (per_iteration, learner.iterate),
        "MaskablePPO": (sb3.num_envs * sb3.steps, learn),
    }
    wall: dict[str, list[float]] = {name: [] for name in calls}
    cpu: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repetitions + 1):
        for name, (_, call) in calls.items():
            started, used = time.perf_counter(), time.process_time()
            call()
            if turn:
                wall[name].append(time.perf_counter() - started)
                cpu[name].append(time.process_time() - used)
    learner.close()
    return {
        name: {
            "wall": decisions / statistics.median(wall[name]),
            "cpu": decisions / statistics.median(cpu[name]),
        }
        for name, (decisions, _) in calls.items()
    }
