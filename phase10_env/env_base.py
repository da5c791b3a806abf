"""TableEnv: what the PettingZoo environments share: one game, its spaces, state, pictures and infos."""

from __future__ import annotations

import secrets
import sys
from operator import index
from typing import Any, TypedDict

import gymnasium
import numpy as np
import numpy.typing as npt

from phase10_env.actions import ActionError
from phase10_env.game_batch import GameBatch
from phase10_env.observation import LEVELS, encode_state, state_layout
from phase10_env.rules.phases import ADVANCE_PICK, OPTION_VALUES
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.table import NUM_ACTIONS
from phase10_env.single import SingleGame

__all__ = ["Options", "TableEnv", "no_action"]

RENDER_MODES = ("ansi", "human", "rgb_array")
MASK_PLACES = ("observation", "info")


class Options(TypedDict, total=False):
    """The arguments of every constructor here; the page of phase10_v0 says what they mean."""

    num_players: int
    ruleset: str | RuleSet | dict[str, Any]
    actions: str
    observation: str
    pad_seats: bool
    episode: str
    reward: str | None
    start: str | dict[str, npt.ArrayLike]
    mask_in: str
    render_mode: str | None


class TableEnv:
    """What both environments share: one game, its spaces, state, pictures and infos."""

    metadata: dict[str, Any] = {  # noqa: RUF012  # PettingZoo declares it as a plain attribute
        "name": "phase10_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        num_players: int = 2,
        ruleset: str | RuleSet | dict[str, Any] = "official",
        *,
        actions: str = "full",
        observation: str = "full",
        pad_seats: bool = False,
        episode: str = "game",
        reward: str | None = None,
        start: str | dict[str, npt.ArrayLike] = "first",
        mask_in: str = "observation",
        render_mode: str | None = None,
    ) -> None:
        _check_choice("mask_in", mask_in, MASK_PLACES)
        if render_mode is not None:
            _check_choice("render_mode", render_mode, RENDER_MODES)
        _check_choice("observation", observation, LEVELS)
        self._batch_options: dict[str, Any] = {
            "num_players": num_players,
            "ruleset": ruleset,
            "actions": actions,
            "observation": observation,
            "pad_seats": pad_seats,
            "episode": episode,
            "reward": reward,
        }
        self.render_mode = render_mode
        self._mask_in_info = mask_in == "info"
        self._deal_table(start, secrets.randbits(64))
        self.possible_agents = [f"player_{seat}" for seat in range(num_players)]
        self.agents: list[str] = []
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        size = self._batch.layout.size
        vector = gymnasium.spaces.Box(0, 255, (size,), np.uint8)
        self.observation_spaces = {agent: self._observation_space(vector) for agent in self.possible_agents}
        self.action_spaces = {agent: gymnasium.spaces.Discrete(NUM_ACTIONS) for agent in self.possible_agents}
        hidden = state_layout(num_players).size
        self.state_space = gymnasium.spaces.Box(0, 255, (size + hidden,), np.uint8)

    def _observation_space(self, vector: gymnasium.spaces.Box) -> gymnasium.Space[Any]:
        own = gymnasium.spaces.Box(0, 255, vector.shape, np.uint8)
        if self._mask_in_info:
            return own
        mask = gymnasium.spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)
        return gymnasium.spaces.Dict({"observation": own, "action_mask": mask})

    def _deal_table(self, start: str | dict[str, npt.ArrayLike], seed: int) -> None:
        self._batch = GameBatch(
            num_games=1, start=start, seeds=[seed], auto_reset=False, **self._batch_options
        )
        self._game = SingleGame(self._batch)
        self._bind()

    def _bind(self) -> None:
        self._take = self._game.step
        self._observation = self._game.observation
        self._mask = self._game.mask

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is bound to this game's memory out of copies and pickles."""
        return {
            key: value
            for key, value in self.__dict__.items()
            if key not in ("_take", "_observation", "_mask")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Bind the copy to its own game."""
        self.__dict__.update(state)
        self._bind()

    def _deal(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Deal the next game, or with a seed the first one of that seed."""
        if options and "start" in options:
            games = self._batch.games
            self._deal_table(options["start"], int(games["seed"][0]))
            self._batch.games["episode"] = games["episode"]
        if seed is not None:
            self._batch.games["seed"] = index(seed) % (1 << 64)
            self._batch.games["episode"] = -1
        self._batch.reset()

    @property
    def num_players(self) -> int:
        """The number of players."""
        return self._batch.num_players

    @property
    def ruleset(self) -> RuleSet:
        """The rules of the game."""
        return self._batch.ruleset

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the observation space of an agent, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete:
        """Return the action space of an agent, always the same object."""
        return self.action_spaces[agent]

    def observe(self, agent: str) -> Any:
        """Return what an agent may know now, as new arrays."""
        seat = self._seat_of.get(agent)
        if seat is None:
            raise ValueError(f"agent must be one of {', '.join(self.possible_agents)}, found {agent!r}")
        acting = seat == self._game.seat
        vector = self._observation.copy() if acting else self._game.observe(seat)
        if self._mask_in_info:
            return vector
        return {"observation": vector, "action_mask": self._mask_of(acting)}

    def _mask_of(self, acting: bool) -> npt.NDArray[np.int8]:
        return self._mask.copy() if acting else np.zeros(NUM_ACTIONS, np.int8)

    def _infos(self) -> dict[str, dict[str, Any]]:
        """Return the infos of a moment in which nobody has ended."""
        if not self._mask_in_info:
            return {agent: {} for agent in self.possible_agents}
        acting = self._game.seat
        return {
            agent: {"action_mask": self._mask_of(seat == acting)} for agent, seat in self._seat_of.items()
        }

    def _final_infos(self) -> dict[str, dict[str, Any]]:
        """Return the infos of a game that is over: how each agent came off."""
        infos = self._infos()
        game = self._batch.games[0]
        picked = self._batch.ruleset.advance == OPTION_VALUES["advance"][ADVANCE_PICK]
        for agent, seat in self._seat_of.items():
            phases = int(game["done"][seat]).bit_count() if picked else int(game["phase"][seat])
            infos[agent] |= {
                "rank": int(game["rank"][seat]),
                "score": int(game["score"][seat]),
                "phases": phases,
            }
        return infos

    def state(self) -> npt.NDArray[np.uint8]:
        """Return the whole state, hidden cards included, uint8[S]: for centralised critics only.

        The observation of the seat to act, then `encode_state`.
        """
        return np.concatenate([self._observation, encode_state(self._batch.games, self._batch.ruleset)[0]])

    def render(self) -> Any:
        """Show the whole table: return it as text ("ansi") or pixels ("rgb_array"), or print it ("human")."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render mode; pass render_mode='ansi' to the constructor.")
            return None
        from phase10_env import render

        if self.render_mode == "rgb_array":
            return render.render_rgb(self._batch.games, self._batch.ruleset)
        text = render.render_ansi(self._batch.games, self._batch.ruleset)
        if self.render_mode == "ansi":
            return text
        sys.stdout.write(text + "\n")
        return None

    def close(self) -> None:
        """Do nothing: there is no window and no process to end."""


def no_action(action: object) -> ActionError:
    """Return the error for something that is no action index at all."""
    return ActionError(f"expected an action index from 0 to {NUM_ACTIONS - 1}, found {action!r}")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, found {value!r}")
