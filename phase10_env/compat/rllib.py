"""Phase 10 for Ray RLlib: an environment, a module that keeps to the action mask, PPO by self-play.

The keys of an observation are those that RLlib's own action masking modules expect: `observations` uint8[D] and
`action_mask` float32[165], 1 = legal; only the seat to act is observed. `phase10 train rllib-quickstart` trains
with it, on one machine or a cluster. Needs ray[rllib] (new API stack) and torch.

>>> env = Phase10MultiAgentEnv({"num_players": 3, "ruleset": "short-5"})
>>> observations, infos = env.reset(seed=1)
>>> [(agent, seen["action_mask"].sum()) for agent, seen in observations.items()]
[('player_1', 2.0)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical
from ray.rllib.core.rl_module.apis import InferenceOnlyAPI, ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from phase10_env.errors import IllegalActionError
from phase10_env.phase10_v0 import ILLEGAL_REWARD, raw_env
from phase10_env.rules.table import NUM_ACTIONS

__all__ = ["POLICY", "MaskedModule", "Phase10MultiAgentEnv", "self_play_config"]

POLICY = "shared"
"""Name of the one policy of all seats."""

Dicts = dict[str, Any]

_LEAST = -1e9
"""Logit of an illegal action: no chance in a softmax, and finite, so that entropies stay numbers."""


class Phase10MultiAgentEnv(MultiAgentEnv):  # type: ignore[misc]  # ray is untyped here
    """One game for RLlib; its agents are the seats, `player_0` ... `player_{P-1}`.

    A step returns the observation of the next seat to act alone, and once the game is over the last observation
    of every seat, whose mask is all zeros. Each step gives every seat its reward, most of the time 0. An illegal action
    ends the game with -1 for its seat and 0 for the others, as in `phase10_v0.env`.

    Args:
        config: the arguments of `phase10_v0.env` by name, `mask_in` excepted, and `reward_scale`, a factor on
            all rewards (1 if left out).

    Raises:
        ValueError: `mask_in`, or an argument that phase10_v0 refuses.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        options = dict(config or {})
        if "mask_in" in options:
            raise ValueError("the mask is always in the observation here; leave mask_in out")
        self._factor = float(options.pop("reward_scale", 1.0))
        self._table = raw_env(**options)
        self.render_mode = self._table.render_mode
        self.possible_agents = list(self._table.possible_agents)
        self.agents = list(self.possible_agents)  # RLlib looks the seats up here even when a game has ended
        self._playing = False
        size = self._table._batch.layout.size
        self.observation_spaces = {
            agent: gymnasium.spaces.Dict(
                {
                    "action_mask": gymnasium.spaces.Box(0.0, 1.0, (NUM_ACTIONS,), np.float32),
                    "observations": gymnasium.spaces.Box(0, 255, (size,), np.uint8),
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
        rewards = {agent: self._factor * float(reward) for agent, reward in table.rewards.items()}
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
        rewards = {each: self._factor * ILLEGAL_REWARD if each == agent else 0.0 for each in self.agents}
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


class MaskedModule(TorchRLModule, InferenceOnlyAPI, ValueFunctionAPI):  # type: ignore[misc]  # likewise
    """An RLModule of the new API stack around any network of logits and values; illegal actions have no chance.

    Its `model_config` names `network`, a function that makes a torch module from `arguments` (a dict); the
    module turns observations uint8[n, D] into logits float32[n, 165] and values float32[n].
    """

    def setup(self) -> None:
        """Build the network."""
        self.net = self.model_config["network"](**self.model_config["arguments"])
        self.action_dist_cls = TorchCategorical

    def _masked(self, batch: Mapping[str, Any]) -> tuple[Any, Any]:
        seen = batch[Columns.OBS]
        logits, values = self.net(seen["observations"])
        return logits.masked_fill(seen["action_mask"] <= 0, _LEAST), values

    def _forward(self, batch: Mapping[str, Any], **_: Any) -> Dicts:
        return {Columns.ACTION_DIST_INPUTS: self._masked(batch)[0]}

    def _forward_train(self, batch: Mapping[str, Any], **_: Any) -> Dicts:
        logits, values = self._masked(batch)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: values}

    def compute_values(self, batch: Mapping[str, Any], embeddings: Any = None) -> Any:
        """Return values float32[n]; `embeddings` are the values that `forward_train` has computed already."""
        return self._masked(batch)[1] if embeddings is None else embeddings

    def get_non_inference_attributes(self) -> list[str]:
        """Return nothing: those who play hold the whole network."""
        return []


def self_play_config(
    options: Mapping[str, Any], network: Callable[..., Any], arguments: Mapping[str, Any]
) -> PPOConfig:
    """Return a configuration of RLlib's PPO in which one policy plays all seats.

    Rollouts, optimisation and resources have RLlib's defaults; set them with its own methods, then `build_algo()`.

    Args:
        options: of the environment, the `config` of `Phase10MultiAgentEnv`.
        network: makes the network (`MaskedModule`); a function of a module that every node can import.
        arguments: what `network` is called with.
    """
    probe = Phase10MultiAgentEnv(options)
    first = probe.possible_agents[0]
    module = RLModuleSpec(
        module_class=MaskedModule,
        observation_space=probe.observation_spaces[first],
        action_space=probe.action_spaces[first],
        model_config={"network": network, "arguments": dict(arguments)},
    )
    config = PPOConfig().environment(Phase10MultiAgentEnv, env_config=dict(options)).framework("torch")
    config = config.multi_agent(policies={POLICY}, policy_mapping_fn=_to_shared_policy)
    return config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={POLICY: module}))


def _to_shared_policy(agent: Any, *_: Any, **__: Any) -> str:
    return POLICY
