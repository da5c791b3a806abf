"""Phase 10 for Gymnasium: one learner, agents at the other seats; one game, or many in one batch.

Shapes: B environments, P players, D observation entries (`phase10_env.observation.observation_layout`).

>>> import gymnasium
>>> import phase10_env.vector
>>> class First:
...     name = "first"
...
...     def act(self, view):
...         return view.legal_actions[:, 0]
>>> env = gymnasium.make("phase10/Phase10-v0", opponents=First())
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
>>> envs = gymnasium.make_vec("phase10/Phase10-v0", num_envs=8, opponents=First())
>>> observations, infos = envs.reset(seed=1)
>>> infos["action_mask"].shape
(8, 165)

The action mask is in `info["action_mask"]` (int8, 1 = legal) and from the method `action_masks()` (bool). An
illegal action ends the episode with -1 and `info["illegal"]`, or is an error under `on_illegal="raise"`. The
last info of an episode has the learner's `rank` (1 = winner, 0 = nobody was ranked), `score` and `phases`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Unpack

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from phase10_env.learner_games import LearnerGames, LearnerOptions
from phase10_env.registration import ENV_ID, register_gymnasium
from phase10_env.rules.table import NUM_ACTIONS

__all__ = ["ENV_ID", "Phase10Env", "Phase10VectorEnv"]

RENDER_MODES = ("ansi", "human", "rgb_array")

Observations = npt.NDArray[np.uint8]
Infos = dict[str, Any]


def _check_render_mode(render_mode: str | None) -> None:
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise ValueError(f"render_mode must be one of {', '.join(RENDER_MODES)}, found {render_mode!r}")


def _picture(games: LearnerGames, row: int, render_mode: str) -> Any:
    """Return one game as its learner sees it, as text or uint8[H, W, 3]."""
    from phase10_env import render

    record = games.batch.games[row : row + 1]
    viewer = int(games.learner_seats[row])
    if render_mode == "rgb_array":
        return render.render_rgb(record, games.batch.ruleset, viewer)
    return render.render_ansi(record, games.batch.ruleset, viewer)


class Phase10Env(gymnasium.Env[Observations, Any]):
    """One game with one learner; `gymnasium.make("phase10/Phase10-v0", ...)`.

    Args:
        render_mode: "ansi", "human", "rgb_array" or None; the table as the learner sees it.
        **options: the arguments of `phase10_env.learner_games.LearnerGames`.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012  # declared so by Gymnasium

    def __init__(self, render_mode: str | None = None, **options: Unpack[LearnerOptions]) -> None:
        _check_render_mode(render_mode)
        self.render_mode = render_mode
        self.games = LearnerGames(1, **options)
        size = self.games.batch.layout.size
        self.observation_space = gymnasium.spaces.Box(0, 255, (size,), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Deal the next game, with a seed the first one of that seed, up to the learner's first decision."""
        super().reset(seed=seed)
        self.games.deal(seeds=None if seed is None else [seed])
        if self.render_mode == "human":
            self.render()
        return self.games.batch.observations[0].copy(), self._info()

    def step(self, action: Any) -> tuple[Observations, float, bool, bool, Infos]:
        """Take the learner's action and play on to its next decision or the end.

        Raises:
            ValueError: the episode is over.
        """
        games = self.games
        if games.ended[0]:
            raise ValueError("expected reset() after the end of an episode, found step(); call reset() first")
        games.step([action])
        if self.render_mode == "human":
            self.render()
        observation = games.batch.observations[0].copy()
        ends = bool(games.terminated[0]), bool(games.truncated[0])
        return observation, float(games.rewards[0]), *ends, self._info()

    def _info(self) -> Infos:
        info: Infos = {"action_mask": self.games.batch.action_masks[0].astype(np.int8)}
        if self.games.ended[0]:
            info |= {key: int(value[0]) for key, value in self.games.standings(np.array([0])).items()}
            info["illegal"] = bool(self.games.illegal[0])
        return info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return bool[165], True = legal, under the name that sb3-contrib looks for."""
        return self.games.batch.action_masks[0].copy()  # type: ignore[no-any-return]

    def render(self) -> Any:
        """Return the table as text or pixels, or write it to standard output ("human")."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render mode; pass render_mode='ansi' to make().")
            return None
        if self.render_mode != "human":
            return _picture(self.games, 0, self.render_mode)
        sys.stdout.write(_picture(self.games, 0, "ansi") + "\n")
        return None


class Phase10VectorEnv(VectorEnv[Observations, Any, npt.NDArray[Any]]):
    """B games in one batch, each with one learner; `gymnasium.make_vec("phase10/Phase10-v0", num_envs=B)`.

    Opponents are asked in batches, one call for all games that wait for the same agent.

    Args:
        num_envs: B.
        autoreset_mode: of gymnasium.vector.AutoresetMode, or its value: "NextStep", "SameStep" or "Disabled".
        copy: return new observations; False returns the batch's own buffer, which the next call overwrites.
        render_mode: "ansi", "rgb_array" or None.
        **options: the arguments of `phase10_env.learner_games.LearnerGames`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # declared so by Gymnasium
        "render_modes": ["ansi", "rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        **options: Unpack[LearnerOptions],
    ) -> None:
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        _check_render_mode(render_mode)
        if render_mode == "human":
            raise ValueError("render_mode must be 'ansi' or 'rgb_array' for many environments, found 'human'")
        self.render_mode = render_mode
        self.num_envs = num_envs
        self.games = LearnerGames(num_envs, **options)
        self._copy = copy
        size = self.games.batch.layout.size
        self.single_observation_space = gymnasium.spaces.Box(0, 255, (size,), np.uint8)
        self.single_action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._waiting = np.ones(num_envs, np.bool_)  # episodes that must be dealt before the next action

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Deal the next game of every environment.

        Args:
            seed: environment i starts the first game of seed + i, or of seed[i] where a list is given; where
                that is None, its next game.
            options: "reset_mask" bool[B] names the environments to reset; the others stay as they are.
        """
        chosen = np.ones(self.num_envs, np.bool_)
        if options and "reset_mask" in options:
            chosen = _checked_mask(options["reset_mask"], self.num_envs)
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            seed = [int(seed) + place for place in range(self.num_envs)]
        if seed is None:
            self.games.deal(np.flatnonzero(chosen))
        else:
            if len(seed) != self.num_envs:
                raise ValueError(f"expected {self.num_envs} seeds, found {len(seed)}")
            seeded = np.array([value is not None for value in seed])
            rows = np.flatnonzero(chosen & seeded).tolist()
            self.games.deal(rows, seeds=[value for row in rows if (value := seed[row]) is not None])
            self.games.deal(np.flatnonzero(chosen & ~seeded))
        self._waiting[chosen] = False
        return self._observations(), self._infos(chosen)

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Observations, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], Infos]:
        """Take the learners' actions int[B].

        NEXT_STEP: an environment that is over is reset by the next call, which ignores its action. SAME_STEP:
        it is reset at once; `infos["final_obs"]` and `["final_info"]` have its last observation and info.
        DISABLED: it must be reset through `reset(options={"reset_mask": ...})`.
        """
        games = self.games
        taken = np.asarray(actions)
        if taken.shape != (self.num_envs,):
            raise ValueError(
                f"expected one action for each of {self.num_envs} environments, found {taken.shape}"
            )
        fresh = np.flatnonzero(self._waiting)
        if len(fresh) and self.autoreset_mode is not AutoresetMode.NEXT_STEP:
            raise ValueError(
                f"environment {fresh[0]} is over; call reset(options={{'reset_mask': ...}}) first"
            )
        running = np.flatnonzero(~self._waiting)
        if len(fresh):
            games.deal(fresh)
        games.step(taken[running], running)
        rewards, terminated, truncated = games.rewards.copy(), games.terminated.copy(), games.truncated.copy()
        ended = terminated | truncated
        infos: Infos = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            if ended.any():
                infos = self._final(ended)
                games.deal(np.flatnonzero(ended))
        else:
            self._waiting[:] = ended
        infos |= self._infos(np.ones(self.num_envs, np.bool_))
        return self._observations(), rewards, terminated, truncated, infos

    def _observations(self) -> Observations:
        observations: Observations = self.games.batch.observations
        return observations.copy() if self._copy else observations

    def _infos(self, chosen: npt.NDArray[np.bool_]) -> Infos:
        """Return infos in Gymnasium's form: an array for each key, and bool[B]: whom it concerns."""
        infos: Infos = {
            "action_mask": self.games.batch.action_masks.astype(np.int8),
            "_action_mask": chosen.copy(),
        }
        ended = self.games.ended & chosen
        if ended.any():
            rows = np.flatnonzero(ended)
            for key, values in self.games.standings(rows).items():
                infos[key] = np.zeros(self.num_envs, np.int64)
                infos[key][rows] = values
                infos[f"_{key}"] = ended.copy()
            infos["illegal"] = self.games.illegal.copy()
            infos["_illegal"] = ended.copy()
        return infos

    def _final(self, ended: npt.NDArray[np.bool_]) -> Infos:
        """Return the last observations and infos of the environments that are about to be reset."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended):
            final_obs[row] = self.games.batch.observations[row].copy()
        return {
            "final_obs": final_obs,
            "_final_obs": ended.copy(),
            "final_info": self._infos(ended),
            "_final_info": ended.copy(),
        }

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return bool[B, 165], True = legal."""
        return self.games.batch.action_masks.copy()

    def render(self) -> tuple[Any, ...] | None:
        """Return each table as its learner sees it."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render mode; pass render_mode='ansi' to make_vec().")
            return None
        return tuple(_picture(self.games, row, self.render_mode) for row in range(self.num_envs))


def _checked_mask(mask: Any, num_envs: int) -> npt.NDArray[np.bool_]:
    if (
        not isinstance(mask, np.ndarray)
        or mask.shape != (num_envs,)
        or mask.dtype != np.bool_
        or not mask.any()
    ):
        raise ValueError(f"reset_mask must be bool[{num_envs}] with at least one True, found {mask!r}")
    return mask


register_gymnasium()
