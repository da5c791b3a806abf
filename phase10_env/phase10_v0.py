"""Phase 10 for PettingZoo: the environment of this package, and its page.

| | |
|---|---|
| Creation | `phase10_v0.env()`, `raw_env()`, `parallel_env()`; `pettingzoo.make("aec", "phase10/Phase10-v0")` |
| Agents | `player_0` ... `player_{P-1}`, one for each seat, P = 2-6 (default 2) |
| Turn order | AEC: one decision a step; a turn is several decisions of the same agent |
| Actions | `Discrete(165)`, the same table for every ruleset and number of players |
| Observations | dict of `observation`: `Box(0, 255, (D,), uint8)` and `action_mask`: `Box(0, 1, (165,), int8)` |
| D | {observation sizes} |
| State | `state()`: the observation of the seat to act, then all hands and the stock: `Box(0, 255, (S,), uint8)` |
| Rewards | one for each agent, summing to 0; by default only at the end of the game |
| Render modes | `ansi`, `human`, `rgb_array` |

`env()` adds PettingZoo's usual wrappers: an illegal action ends the game with -1 for its agent and 0 for the
others, one outside the table is an assertion. `raw_env()` refuses both with a sentence and changes nothing.

>>> from phase10_env import phase10_v0
>>> env = phase10_v0.env(num_players=3)
>>> env.reset(seed=42)
>>> for agent in env.agent_iter(max_iter=100):
...     observation, reward, termination, truncation, info = env.last()
...     if termination or truncation:
...         action = None
...     else:
...         action = env.action_space(agent).sample(observation["action_mask"])
...     env.step(action)

## Arguments

| argument | default | meaning |
|---|---|---|
| `num_players` | `2` | 2-6 |
| `ruleset` | `'official'` | name of a preset, path of a TOML file, dict of fields or `RuleSet` |
| `actions` | `'full'` | `'full'`, or `'compact'`: fewer choices of equal cards, for quicker learning |
| `observation` | `'full'` | `'full'`; `'basic'`: without the derived meld features; `'candidates'`: with candidate features |
| `pad_seats` | `False` | lay observations out for six seats, whatever the number of players |
| `episode` | `'game'` | `'game'`, or `'round'`: one round |
| `reward` | `None` | `'win'`, `'rank'`, `'points'`, `'equity'`; `None`: `'win'` for games, `'equity'` for rounds |
| `start` | `'first'` | how round episodes start: `'first'`, `'mixed'`, or a dict of `phases`, `scores`, `dealers`, `done` |
| `mask_in` | `'observation'` | where the action mask is: `'observation'` (a dict) or `'info'` (the observation is an array) |
| `render_mode` | `None` | `'ansi'`, `'human'`, `'rgb_array'` or `None` |

`reset(seed=s)` deals the game that `Game(seed=s)` deals; `reset()` deals the next game of the same stream (at
first one that nobody has chosen). Every argument stays as it is. `reset(options={"start": ...})` changes `start`
from then on; other options are ignored.

## Observations

An observation is `common | one block for each seat | derived`, from the point of view of its agent: block 0 is
the agent itself, block r the seat r places to the left. `observation_layout(P).fields` gives each field's slice,
`describe(observation)` prints it. Any agent may be observed at any time; the mask of an agent that is not to act
is all zeros.

{observation table}

## Candidate features

With `observation="candidates"` the observation goes on with what each draw and each discard would do, written for
the agent that is to act when it draws or discards, and zero otherwise. The worth of a hand is the sum over the
lay-downs within reach of exp(-0.45 T), T the expected turns until its missing cards have come.

{candidate table}

## Actions

| index | text | legal when |
|---|---|---|
| 0 | `draw` | the turn begins and the stock can give a card |
| 1 | `take` | the turn begins and the top discard may be taken |
| 2-11 | `lay K` | the hand holds phase K and it has not been laid: the whole lay-down, cards chosen by rule |
| 12-21 | `build K` | as `lay K`: begins a lay-down in which the player chooses every card |
| 22-33 | `number N` | building: number of the set, or lowest number of the run, for the group in hand |
| 34-37 | `colour C` | building: colour of the colour group |
| 38-86 | `play X` | building: put X into the group being filled; otherwise hit with X |
| 87-110 | `onto D.G` | where a hit goes, asked only where it fits more than one place; `high` is the high end of a run |
| 111-159 | `discard X` | ends the turn |
| 160-164 | `skip D` | plays a Skip on the player D seats to the left; ends the turn |

`phase10_env.actions.action_text(index)` and `parse_action(text)` translate.

## Rewards

| reward | paid | to a seat |
|---|---|---|
| `win` | at the end of a game | a sole winner gets +1, the others -1 / (P - 1); k winners share the mean of their places |
| `rank` | at the end of a game | linear from +1 to -1 by place; equal ranks share |
| `points` | after each round | mean of the others' penalty points less the own, over 100 |
| `equity` | after each round | change of the chance to win the game |

A game broken off at the caps of the ruleset is truncated and pays 0. Terminal rewards reach every seat: the
rewards that `last()` gives an agent add up to its return. When the game is over, `infos` has each agent's `rank`
(0: nobody was ranked), `score` and `phases` (completed).

## Parallel

`parallel_env()` is the same game with all agents at once. Every agent gets its observation at each step, only the
one to act has a mask that is not all zeros, and only its action counts: actions of the others are ignored and may
be left out. `infos[agent]["active_agent"]` names the one to act. An illegal action ends the game as in `env()`.
Libraries that draw a legal action for every agent at every step, as TorchRL does, want `env()`: here all agents but
one have none.

## Version history

* v0: first version (0.1.0)
"""  # noqa: E501

from __future__ import annotations

from operator import index
from typing import Any, Unpack

import numpy as np
import pettingzoo
from pettingzoo.utils import wrappers
from pettingzoo.utils.env import AECEnv, ParallelEnv

from phase10_env.env_base import Options, TableEnv, no_action
from phase10_env.observation import Field, observation_layout
from phase10_env.registration import ENV_ID, register_gymnasium
from phase10_env.row_steps import ENDED, REWARDED, SEAT
from phase10_env.rules.state import TRUNCATED

__all__ = ["ENV_ID", "Options", "env", "parallel_env", "raw_env", "raw_parallel_env"]

ILLEGAL_REWARD = -1.0


def env(**options: Unpack[Options]) -> AECEnv[str, Any, Any]:
    """Return the AEC environment with PettingZoo's usual wrappers (the page above has the arguments).

    >>> env(num_players=4).possible_agents
    ['player_0', 'player_1', 'player_2', 'player_3']
    """
    wrapped: AECEnv[str, Any, Any] = raw_env(**options)
    wrapped = _TerminateIllegal(wrapped, illegal_reward=ILLEGAL_REWARD)
    wrapped = _AssertOutOfBounds(wrapped)
    return _OrderEnforcing(wrapped)


def parallel_env(**options: Unpack[Options]) -> ParallelEnv[str, Any, Any]:
    """Return the environment with all agents at once (the page above has the arguments).

    >>> observations, infos = parallel_env().reset(seed=1)
    >>> infos["player_0"]["active_agent"] in observations
    True
    """
    return raw_parallel_env(**options)


def _inner(name: str) -> property:
    """Return a property that stands for an attribute of the environment within all wrappers."""

    def read(self: Any) -> Any:
        if self._has_reset:
            return getattr(self._inner, name)
        raise AttributeError(name)  # PettingZoo's own look-up follows, which says what is wrong

    def write(self: Any, value: Any) -> None:
        setattr(self._inner, name, value)

    return property(read, write)


class _Direct:
    """Reads what a loop needs at every step from the innermost environment, not through wrapper after wrapper."""

    _has_reset = True  # the wrapper that enforces order keeps an account of its own

    def __init__(self, env: Any, **options: Any) -> None:
        self._inner = env.unwrapped
        super().__init__(env, **options)  # type: ignore[call-arg]  # of the wrapper it is mixed into

    agents = _inner("agents")
    agent_selection = _inner("agent_selection")
    rewards = _inner("rewards")
    terminations = _inner("terminations")
    truncations = _inner("truncations")
    infos = _inner("infos")
    _cumulative_rewards = _inner("_cumulative_rewards")


class _TerminateIllegal(_Direct, wrappers.TerminateIllegalWrapper):  # type: ignore[misc]  # untyped
    """PettingZoo's wrapper: an illegal action ends the game."""


class _AssertOutOfBounds(_Direct, wrappers.AssertOutOfBoundsWrapper):  # type: ignore[misc]  # untyped
    """PettingZoo's wrapper: an action outside the table is an assertion."""


class _OrderEnforcing(_Direct, wrappers.OrderEnforcingWrapper):  # type: ignore[misc]  # untyped
    """PettingZoo's wrapper: reset before step, and one step for each agent of `agent_iter`."""

    def __str__(self) -> str:
        return str(self.env)


class raw_env(TableEnv, AECEnv[str, Any, Any]):  # type: ignore[misc]  # noqa: N801  # untyped; its name
    """The AEC environment without wrappers; an illegal action raises IllegalActionError and changes nothing.

    The page above has the arguments.
    """

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal the next game; with a seed the first one of that seed, as `Game(seed=seed)`."""
        self._deal(seed, options)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = self._infos()
        self._paid = False
        self._skip_agent_selection: str | None = None
        self.agent_selection = self._acting = self.possible_agents[self._game.seat]
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Any:
        """Return what an agent may know now, as new arrays."""
        if agent != self._acting:
            return super().observe(agent)
        if self._mask_in_info:
            return self._observation.copy()
        return {"observation": self._observation.copy(), "action_mask": self._mask.copy()}

    def step(self, action: int | np.integer[Any] | None) -> None:
        """Take an action for `agent_selection`, or None if it has ended.

        Raises:
            IllegalActionError: the rules forbid it; nothing has changed.
            ActionError: it is no whole number.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        try:
            result = self._take(index(action))  # type: ignore[arg-type]  # None ends up below
        except (TypeError, OverflowError):
            raise no_action(action) from None
        if result < 0:
            raise self._game.refusal(int(action))  # type: ignore[arg-type]
        if self._paid:
            self._clear_rewards()
            self._paid = False
        self._cumulative_rewards[agent] = 0.0
        self._acting = self.agent_selection = acting = self.possible_agents[result & SEAT]
        if self._mask_in_info:
            self.infos[agent] = {"action_mask": self._mask_of(False)}
            self.infos[acting] = {"action_mask": self._mask_of(True)}
        if result >= REWARDED:
            self._pay(result)
        if self.render_mode == "human":
            self.render()

    def _pay(self, result: int) -> None:
        """Hand out the rewards of a round that is over, and end everybody's game if that is over too."""
        self.rewards = dict(zip(self.agents, self._batch.rewards[0].tolist(), strict=True))
        self._accumulate_rewards()
        self._paid = True
        if result >= ENDED:
            truncated = bool(self._batch.games["status"][0] == TRUNCATED)
            self.terminations = dict.fromkeys(self.agents, not truncated)
            self.truncations = dict.fromkeys(self.agents, truncated)
            self.infos = self._final_infos()
            self._deads_step_first()


class raw_parallel_env(TableEnv, ParallelEnv[str, Any, Any]):  # type: ignore[misc]  # noqa: N801  # likewise
    """The environment with all agents at once; only the action of the one to act counts.

    The page above has the arguments.
    """

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Deal the next game; with a seed the first one of that seed. Return observations and infos."""
        self._deal(seed, options)
        self.agents = self.possible_agents[:]
        if self.render_mode == "human":
            self.render()
        return self._observations(), self._named_infos()

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Take the action of the agent to act; those of the others are ignored.

        Returns:
            observations, rewards, terminations, truncations, infos, each by agent; empty when nobody is left.
        """
        if not self.agents:
            return {}, {}, {}, {}, {}
        acting = self.possible_agents[self._game.seat]
        action = actions.get(acting)
        if action is None:
            raise ValueError(
                f"expected an action of {acting}, who is to act, found none; see infos['active_agent']"
            )
        try:
            result = self._take(index(action))
        except (TypeError, OverflowError):
            raise no_action(action) from None
        terminated = truncated = False
        rewards = dict.fromkeys(self.agents, 0.0)
        if result < 0:
            rewards[acting] = ILLEGAL_REWARD
            terminated = truncated = True
        elif result >= REWARDED:
            rewards = dict(zip(self.agents, self._batch.rewards[0].tolist(), strict=True))
            truncated = bool(self._batch.games["status"][0] == TRUNCATED)
            terminated = result >= ENDED and not truncated
        ended = terminated or truncated
        infos = self._final_infos() if ended else self._named_infos()
        results = (
            self._observations(),
            rewards,
            dict.fromkeys(self.agents, terminated),
            dict.fromkeys(self.agents, truncated),
            infos,
        )
        if ended:
            self.agents = []
        if self.render_mode == "human":
            self.render()
        return results

    def _observations(self) -> dict[str, Any]:
        return {agent: self.observe(agent) for agent in self.possible_agents}

    def _named_infos(self) -> dict[str, dict[str, Any]]:
        infos = self._infos()
        acting = self.possible_agents[self._game.seat]
        for info in infos.values():
            info["active_agent"] = acting
        return infos


def _completed(page: str) -> str:
    """Return the page with what the layout of observations tells filled in."""
    sizes = [observation_layout(players).size for players in range(2, 7)]
    seat = sizes[1] - sizes[0]
    derived = sizes[0] - observation_layout(2, "basic").size
    full = observation_layout(2).fields
    candidates = [f for f in observation_layout(2, "candidates").fields.values() if f.name not in full]
    seats = [f for f in full.values() if not f.name.startswith("seat_1.")]
    told = (
        f"{sizes[0] - 2 * seat - derived} + {seat} P + {derived}: {', '.join(map(str, sizes))} for 2-6 "
        f'players; {derived} less with `observation="basic"`'
    )
    page = page.replace("{observation table}", _field_table(seats))
    return page.replace("{candidate table}", _field_table(candidates)).replace("{observation sizes}", told)


def _field_table(fields: list[Field]) -> str:
    rows = ["| field | entries | meaning |", "|---|---|---|"]
    for field in fields:
        name = field.name.replace("seat_0.", "seat_r.")
        rows.append(f"| `{name}` | {field.size} | {field.meaning} |")
    return "\n".join(rows)


def _register() -> None:
    """Enter the environments in Gymnasium's registry and, where this version has one, in PettingZoo's."""
    register_gymnasium()
    if hasattr(pettingzoo, "register") and ENV_ID not in pettingzoo.aec_registry:
        pettingzoo.register("aec", ENV_ID, entry_point=f"{__name__}:env")
        pettingzoo.register("parallel", ENV_ID, entry_point=f"{__name__}:parallel_env")


__doc__ = _completed(__doc__ or "")
_register()
