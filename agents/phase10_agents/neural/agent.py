"""Agents that play a learned policy: from a checkpoint on disk, or the weights that come with the package."""

from __future__ import annotations

import math
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch

from phase10_agents.base import AgentError
from phase10_agents.neural.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from phase10_agents.neural.compact import compact_choices, full_actions
from phase10_agents.neural.inference import choose_actions
from phase10_agents.neural.networks import NetworkSettings, PolicyValueNet, network_for
from phase10_env.decision import DecisionView
from phase10_env.observation import Layout, observation_layout, write_candidates

__all__ = ["PolicyAgent", "load_champion", "load_checkpoint_agent", "policy_of"]

CHAMPIONS = {2: "two-players", 4: "four-players"}
"""Folders of the weights that come with the package, by number of players."""


CLEAR_LOG_ODDS = 3.0
"""A draw that the policy prefers by so much, twenty to one, is not worth a search."""


class PolicyAgent:
    """Play a policy network: its likeliest legal action, or a sample.

    Weakness: it knows only what its training showed it; other rulesets and player counts than the ones it was
    trained for are refused.

    Args:
        net: the policy.
        name: shown in tables.
        temperature: 0 takes the likeliest action, 1 samples from the policy.
        num_players: players it was trained for.
        level: of the observations it was trained on; views of a higher level hold them.
        compact: it was trained on compact actions; games in full mode are then read as compact ones.

    >>> from phase10_env import GameBatch
    >>> batch = GameBatch(num_games=3)
    >>> net = PolicyValueNet(torch.from_numpy(batch.layout.scale), NetworkSettings())
    >>> agent = PolicyAgent(net, "untrained", num_players=2, level="full")
    >>> len(agent.act(batch.view()))
    3
    """

    clear_draw = CLEAR_LOG_ODDS
    value_meaning = "log-probability of the policy, 0 is certain"

    def __init__(
        self,
        net: PolicyValueNet,
        name: str,
        temperature: float = 0.0,
        num_players: int = 2,
        level: str = "full",
        compact: bool = True,
    ) -> None:
        self.net, self.name, self.temperature = net, name, temperature
        self.num_players, self.observation, self.compact = num_players, level, compact
        self._layout = observation_layout(num_players, level)
        with torch.no_grad():
            self._folded = net.fold()
        self._zero_state = torch.zeros(1, len(net.privileged_scale), dtype=torch.uint8)

    def logits(self, view: DecisionView) -> npt.NDArray[np.float32]:
        """Return the policy's logits float32[n, 165] for each row of a view.

        Raises:
            AgentError: other players or observations than it was trained for.
        """
        if view.num_players != self.num_players:
            raise AgentError(
                f"agent {self.name!r} was trained for {self.num_players} players, found {view.num_players}; "
                "choose another agent or --players"
            )
        seen = self._observations(view)
        with torch.inference_mode():
            observations = torch.from_numpy(np.ascontiguousarray(seen)).to(self.net.device)
            hidden = None
            if self._zero_state.shape[1]:
                hidden = self._zero_state.expand(len(view), -1).to(self.net.device)
            logits, _ = self.net(observations, hidden, folded=self._folded)
        found: npt.NDArray[np.float32] = logits.cpu().numpy()
        return found

    def _observations(self, view: DecisionView) -> npt.NDArray[np.uint8]:
        """Return what the network reads, uint8[n, D]: a part of the view's observations, or those and candidates.

        A view of level "full" lacks the candidate features; they follow from what the seat knows of the game.
        """
        if view.layout.begins_with(self._layout):
            return view.observations[:, : self._layout.size]
        full = observation_layout(view.num_players)
        lacks_candidates = view.layout.digest == full.digest and self._layout.begins_with(full)
        if not lacks_candidates or len(view.information) != len(view):
            raise AgentError(
                f"agent {self.name!r} reads observations of layout {self._layout.digest}, found "
                f"{view.layout.digest}; make the batch with observation={self.observation!r}"
            )
        found = np.zeros((len(view), self._layout.size), np.uint8)
        found[:, : view.layout.size] = view.observations
        write_candidates(view.information, view.ruleset, found, self._layout)
        return found

    def act(self, view: DecisionView) -> npt.NDArray[np.integer[Any]]:
        """Return one legal action for each row."""
        translate = self.compact and len(view.information) > 0 and not view.information["compact"].all()
        seen = compact_choices(view) if translate else view
        actions = choose_actions(
            self.logits(seen),
            seen.legal_actions,
            seen.legal_counts,
            view.random,
            np.zeros(len(view), np.uint64),
            temperature=self.temperature,
        ).actions.astype(np.int64)
        return full_actions(view, actions) if translate else actions

    def values(self, view: DecisionView) -> npt.NDArray[np.float64]:
        """Return the policy's log-probability of each legal action, float64[n, 165], NaN for illegal ones."""
        logits = self.logits(view).astype(np.float64)
        logits[~view.action_masks] = -np.inf
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        logits[~view.action_masks] = np.nan
        return logits


def policy_of(checkpoint: Checkpoint) -> PolicyValueNet:
    """Return the policy network of a checkpoint.

    Raises:
        CheckpointError: its settings or weights do not fit together.
    """
    try:
        config = checkpoint.manifest["config"]
        settings = msgspec.convert(config["network"], NetworkSettings)
        weights = checkpoint.weights("policy")
        layout = _layout_of(config)
        privileged = None
        if "privileged_weight" in weights:
            privileged = torch.from_numpy(_state_scale(int(config["environment"]["num_players"])))
        net = network_for(layout, settings, privileged_scale=privileged)
        net.load_state_dict(weights)
    except (KeyError, TypeError, ValueError, RuntimeError, msgspec.ValidationError) as problem:
        first = str(problem).splitlines()[0]
        raise CheckpointError(
            f"{str(checkpoint.path)!r} holds no policy that this version can play ({first}); train it anew."
        ) from None
    return net


def _layout_of(config: dict[str, Any]) -> Layout:
    environment = config["environment"]
    return observation_layout(int(environment["num_players"]), environment.get("observation", "full"))


def _state_scale(players: int) -> npt.NDArray[np.float32]:
    from phase10_env.observation import state_layout

    return state_layout(players).scale


def load_checkpoint_agent(argument: str, name: str | None = None) -> PolicyAgent:
    """Return the agent of a checkpoint folder or run, `PATH` or `PATH,temperature=1`.

    Raises:
        CheckpointError: nothing there, or damaged.
        AgentError: a wrong temperature.
    """
    path, _, option = argument.partition(",")
    temperature = 0.0
    if option:
        key, _, value = option.partition("=")
        try:
            temperature = float(value) if key.strip() == "temperature" else -1.0
        except ValueError:
            temperature = -1.0
        if not 0 <= temperature < math.inf:
            raise AgentError(
                f"expected 'temperature=NUMBER', a number of at least 0, after the path, found {option!r}"
            )
    checkpoint = load_checkpoint(path)
    config = checkpoint.manifest["config"]
    found = str(checkpoint.manifest["layout_digest"])
    expected = _layout_of(config).digest
    if found != expected:
        raise CheckpointError(
            f"{str(checkpoint.path)!r} was trained on observations of layout {found}, this version writes "
            f"{expected}; train it anew."
        )
    return PolicyAgent(
        policy_of(checkpoint),
        name or f"checkpoint:{argument}",
        temperature,
        int(config["environment"]["num_players"]),
        config["environment"].get("observation", "full"),
        config["environment"].get("actions", "compact") == "compact",
    )


class Champion:
    """Play the weights that come with the package, for two and for four players of the official rules.

    Weakness: other player counts have no weights and are refused.
    """

    name = "champion"
    observation = "candidates"
    clear_draw = CLEAR_LOG_ODDS
    value_meaning = "log-probability of the policy, 0 is certain"

    def __init__(self) -> None:
        self._agents: dict[int, PolicyAgent] = {}

    def _agent(self, players: int) -> PolicyAgent:
        if players not in self._agents:
            folder = Path(str(resources.files("phase10_agents"))) / "weights" / CHAMPIONS.get(players, "none")
            if not folder.is_dir():
                known = ", ".join(str(count) for count in available_champions())
                raise AgentError(
                    f"champion has weights for {known or 'no number of'} players, found {players}; choose "
                    "another agent"
                )
            self._agents[players] = load_checkpoint_agent(str(folder), name="champion")
        return self._agents[players]

    def act(self, view: DecisionView) -> npt.NDArray[np.integer[Any]]:
        """Return one legal action for each row."""
        return self._agent(view.num_players).act(view)

    def values(self, view: DecisionView) -> npt.NDArray[np.float64]:
        """Return the policy's log-probability of each legal action, NaN for illegal ones."""
        return self._agent(view.num_players).values(view)


def available_champions() -> list[int]:
    """Return the player counts for which weights come with the package."""
    root = Path(str(resources.files("phase10_agents"))) / "weights"
    return [players for players, folder in CHAMPIONS.items() if (root / folder).is_dir()]


def load_champion() -> Champion:
    """Return the shipped champion.

    Raises:
        AgentError: no weights come with this copy of the package.
    """
    if not available_champions():
        raise AgentError("no weights come with this copy of the package; train some and use checkpoint:PATH")
    return Champion()
