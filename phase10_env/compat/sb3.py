"""Phase 10 for Stable-Baselines3: a native VecEnv with batched action masks, and scaled observations.

Shapes: B environments, D observation entries. Needs stable-baselines3, and sb3-contrib for MaskablePPO.

>>> from sb3_contrib import MaskablePPO
>>> envs = Phase10VecEnv(8, opponents="random", ruleset="short-5")
>>> model = MaskablePPO("MlpPolicy", envs, n_steps=16, batch_size=64, n_epochs=1, device="cpu")
>>> model.learn(128).num_timesteps
128
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Unpack

import gymnasium
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.utils import obs_as_tensor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from phase10_env.learner_games import LearnerGames, LearnerOptions
from phase10_env.observation import Layout
from phase10_env.rules.table import NUM_ACTIONS

__all__ = ["Phase10VecEnv", "ScaledObservation", "scaled_policy"]

Infos = list[dict[str, Any]]


class Phase10VecEnv(VecEnv):
    """B games in one batch, each with one learner, as Stable-Baselines3 wants them.

    `env_method("action_masks")` gives the masks, so that MaskablePPO works as it is. A game that is over is
    dealt anew in the same step: `infos[i]["terminal_observation"]` has its last observation,
    `infos[i]["episode"]` return and length as Monitor gives them; beside them are the learner's `rank`,
    `score` and `phases`.

    Args:
        num_envs: B.
        render_mode: "rgb_array", "ansi" or None.
        **options: the arguments of `phase10_env.learner_games.LearnerGames`.
    """

    def __init__(
        self, num_envs: int = 64, render_mode: str | None = None, **options: Unpack[LearnerOptions]
    ) -> None:
        if render_mode not in (None, "ansi", "rgb_array"):
            raise ValueError(f"render_mode must be 'ansi', 'rgb_array' or None, found {render_mode!r}")
        self.games = LearnerGames(num_envs, **options)
        self.render_mode = render_mode
        size = self.games.batch.layout.size
        super().__init__(
            num_envs, gymnasium.spaces.Box(0, 255, (size,), np.uint8), gymnasium.spaces.Discrete(NUM_ACTIONS)
        )
        self._actions: npt.NDArray[np.int64] = np.zeros(num_envs, np.int64)
        self._returns = np.zeros(num_envs, np.float64)
        self._lengths = np.zeros(num_envs, np.int64)
        self._started = time.time()

    def reset(self) -> npt.NDArray[np.uint8]:
        """Deal the next game of every environment, those of `seed()` if it was called; return uint8[B, D]."""
        seeded = [row for row, seed in enumerate(self._seeds) if seed is not None]
        self.games.deal(np.array(seeded, np.int64), seeds=[seed for seed in self._seeds if seed is not None])
        self.games.deal(np.array([row for row, seed in enumerate(self._seeds) if seed is None], np.int64))
        self._returns[:] = 0.0
        self._lengths[:] = 0
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return self._observations()

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Remember the learners' actions int[B]."""
        self._actions = np.asarray(actions).astype(np.int64).reshape(-1)

    def step_wait(self) -> VecEnvStepReturn:
        """Take the actions; return observations uint8[B, D], rewards float32[B], dones bool[B] and infos."""
        games = self.games
        games.step(self._actions)
        rewards = games.rewards.astype(np.float32)
        dones = games.ended
        self._returns += games.rewards
        self._lengths += 1
        infos: Infos = [{} for _ in range(self.num_envs)]
        if dones.any():
            rows = np.flatnonzero(dones)
            self._describe_ends(rows, infos)
            games.deal(rows)
            self._returns[rows] = 0.0
            self._lengths[rows] = 0
        return self._observations(), rewards, dones, infos

    def _describe_ends(self, rows: npt.NDArray[np.int64], infos: Infos) -> None:
        standings = self.games.standings(rows)
        seconds = round(time.time() - self._started, 6)
        for place, row in enumerate(rows.tolist()):
            infos[row] |= {key: int(values[place]) for key, values in standings.items()}
            infos[row]["terminal_observation"] = self.games.batch.observations[row].copy()
            infos[row]["TimeLimit.truncated"] = bool(self.games.truncated[row])
            infos[row]["illegal"] = bool(self.games.illegal[row])
            infos[row]["episode"] = {
                "r": float(self._returns[row]),
                "l": int(self._lengths[row]),
                "t": seconds,
            }

    def _observations(self) -> npt.NDArray[np.uint8]:
        observations: npt.NDArray[np.uint8] = self.games.batch.observations
        return observations.copy()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return bool[B, 165], True = legal."""
        return self.games.batch.action_masks.copy()

    def close(self) -> None:
        """Do nothing: there is no process and no window to end."""

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute once for each environment; all share it."""
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of all environments; they cannot differ."""
        if indices is not None:
            raise ValueError(f"{attr_name} is shared by all environments; call set_attr without indices")
        setattr(self, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method for each environment: "action_masks" or "render"."""
        rows = list(self._get_indices(indices))
        if method_name == "action_masks":
            return list(self.action_masks()[rows])
        if method_name == "render":
            return [self._picture(row) for row in rows]
        raise AttributeError(f"expected the method 'action_masks' or 'render', found {method_name!r}")

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Return False for each environment: there are no wrapped environments inside."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """Return each table in pixels, as its learner sees it."""
        return [self._picture(row, "rgb_array") for row in range(self.num_envs)]

    def _picture(self, row: int, mode: str | None = None) -> Any:
        from phase10_env import render

        record, ruleset = self.games.batch.games[row : row + 1], self.games.batch.ruleset
        viewer = int(self.games.learner_seats[row])
        if (mode or self.render_mode) == "rgb_array":
            return render.render_rgb(record, ruleset, viewer)
        return render.render_ansi(record, ruleset, viewer)


class ScaledObservation(BaseFeaturesExtractor):
    """A features extractor that brings every entry near 0-1; `scaled_policy` gives its arguments.

    Args:
        observation_space: of the environment, Box (D,).
        scale: float[D], of the layout of observations.
    """

    def __init__(self, observation_space: gymnasium.spaces.Box, scale: Sequence[float]) -> None:
        super().__init__(observation_space, len(scale))
        values = np.asarray(scale, np.float32)
        self.register_buffer("scale", obs_as_tensor(values, "cpu"))  # type: ignore[arg-type]  # a name will do

    def forward(self, observations: Any) -> Any:
        """Return float32[n, D]."""
        return observations * self.scale


def scaled_policy(layout: Layout) -> dict[str, Any]:
    """Return `policy_kwargs` with which a policy of Stable-Baselines3 sees scaled observations.

    >>> envs = Phase10VecEnv(2, opponents="random")
    >>> sorted(scaled_policy(envs.games.batch.layout))
    ['features_extractor_class', 'features_extractor_kwargs']
    """
    return {
        "features_extractor_class": ScaledObservation,
        "features_extractor_kwargs": {"scale": layout.scale.tolist()},
    }
