"""Phase 10 for Ray RLlib: a MultiAgentEnv in which only the seat to act is observed. Needs ray[rllib].

The keys of an observation are those that RLlib's own action masking modules expect: `observations` uint8[D] and
`action_mask` float32[165], 1 = legal. `phase10_training.rllib` has a module that respects the mask and a PPO
configuration for self-play.

>>> env = Phase10MultiAgentEnv({"num_players": 3, "ruleset": "short-5"})
>>> observations, infos = env.reset(seed=1)
>>> [(agent, seen["action_mask"].sum()) for agent, seen in observations.items()]
[('player_1', 2.0)]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from phase10_env.errors import IllegalActionError
from phase10_env.phase10_v0 import ILLEGAL_REWARD, raw_env
from phase10_env.rules.table import NUM_ACTIONS

__all__ = ["Phase10MultiAgentEnv"]

Dicts = dict[str, Any]


class Phase10MultiAgentEnv(MultiAgentEnv):  # type: ignore[misc]  # ray is untyped here
    """One game for RLlib; its agents are the seats, `player_0` ... `player_{P-1}`.

    A step returns the observation of the next seat to act alone, and once the game is over the last observation
    of every seat, whose mask is all zeros. Each step gives every seat its reward, most of the time 0. An illegal action
    ends the game with -1 for its seat and 0 for the others, as in `phase10_v0.env`.

    Args:
        config: the arguments of `phase10_v0.env` by name, `mask_in` excepted.

    Raises:
        ValueError: `mask_in`, or an argument that phase10_v0 refuses.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        options = dict(config or {})
        if "mask_in" in options:
            raise ValueError("the mask is always in the observation here; leave mask_in out")
        self._table = raw_env(**options)
        self.render_mode = self._table.render_mode
        self.possible_agents = list(self._table.possible_agents)
        self.agents = list(self.possible_agents)  # RLlib looks the seats up here even when a game has ended
        self._playing = False
        [vector] = {self._table.observation_spaces[agent]["observation"].shape for agent in self.possible_agents}
        self.observation_spaces = {
            agent: gymnasium.spaces.Dict(
                {
                    "action_mask": gymnasium.spaces.Box(0.0, 1.0, (NUM_ACTIONS,), np.float32),
                    "observations": gymnasium.spaces.Box(0, 255, vector, np.uint8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = dict(self._table.action_spaces)
        super().__init__()

    def reset(self, *, seed: int | None = None, options: Dicts | None = None) -> tuple[Dicts, Dicts]:
        """Deal the next game, with a seed the first one of that seed; return the first seat's observation."""
        self._table.reset(seed, options)
        self._playing = True
        acting = self._table.agent_selection
        return {acting: self._seen(acting)}, {acting: {}}

    def step(self, action_dict: Mapping[str, Any]) -> tuple[Dicts, Dicts, Dicts, Dicts, Dicts]:
        """Take the action of the seat to act.

        Returns:
            observations, rewards, terminateds, truncateds and infos by seat; the last infos tell each seat's
            `rank`, `score` and `phases`.

        Raises:
            ValueError: no action of the seat to act, or after the end of the game.
        """
        table = self._table
        if not self._playing:
            raise ValueError("no game is being played; call reset")
        acting = table.agent_selection
        if acting not in action_dict:
            raise ValueError(f"expected an action of {acting}, who is to act, found {sorted(action_dict)}")
        try:
            table.step(action_dict[acting])
        except IllegalActionError:
            return self._broken_off(acting)
        rewards = {agent: float(reward) for agent, reward in table.rewards.items()}
        terminated, truncated = table.terminations[acting], table.truncations[acting]
        if terminated or truncated:
            return self._over(rewards, terminated, {agent: dict(info) for agent, info in table.infos.items()})
        following = table.agent_selection
        going_on = {"__all__": False}
        return {following: self._seen(following)}, rewards, going_on, dict(going_on), {following: {}}

    def _seen(self, agent: str) -> Dicts:
        seen = self._table.observe(agent)
        return {"action_mask": seen["action_mask"].astype(np.float32), "observations": seen["observation"]}

    def _broken_off(self, agent: str) -> tuple[Dicts, Dicts, Dicts, Dicts, Dicts]:
        rewards = {each: ILLEGAL_REWARD if each == agent else 0.0 for each in self.agents}
        return self._over(rewards, True, {each: {} for each in self.agents})

    def _over(
        self, rewards: Dicts, terminated: bool, infos: Dicts
    ) -> tuple[Dicts, Dicts, Dicts, Dicts, Dicts]:
        everyone = [*self.agents, "__all__"]
        observations = {agent: self._seen(agent) for agent in self.agents}
        for seen in observations.values():
            seen["action_mask"][:] = 0.0
        self._playing = False
        ends = dict.fromkeys(everyone, terminated), dict.fromkeys(everyone, not terminated)
        return observations, rewards, *ends, infos

    def render(self) -> Any:
        """Show the table as `render_mode` says."""
        return self._table.render()
