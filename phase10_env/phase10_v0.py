"""Phase 10 for PettingZoo: the environment of this package, and its page.

| | |
|---|---|
| Creation | `phase10_v0.env()`, `raw_env()`, `parallel_env()`; `pettingzoo.make("aec", "phase10/Phase10-v0")` |
| Agents | `player_0` ... `player_{P-1}`, one for each seat, P = 2-6 (default 2) |
| Turn order | AEC: one decision a step; a turn is several decisions of the same agent |
| Actions | `Discrete(165)`, the same table for every ruleset and number of players |
| Observations | dict of `observation`: `Box(0, 255, (D,), uint8)` and `action_mask`: `Box(0, 1, (165,), int8)` |
| D | 428 + 214 P + 241: 1097, 1311, 1525, 1739, 1953 for 2-6 players; 241 less with `observation="basic"` |
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
| `observation` | `'full'` | `'full'`, or `'basic'`: without the derived meld features |
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

| field | entries | meaning |
|---|---|---|
| `hand` | 50 | own cards by kind |
| `hand_numbers` | 12 | own naturals by number |
| `hand_colours` | 4 | own naturals by colour |
| `stage` | 4 | draw, play, build or onto, one-hot |
| `build_phase` | 10 | phase being built, one-hot |
| `build_group` | 2 | group being filled, one-hot |
| `build_declared` | 32 | per group: number or low end (12) or colour (4) declared, one-hot |
| `build_left` | 2 | per group: cards still to be spelled |
| `build_cards` | 50 | cards spelled so far, by kind |
| `onto_card` | 18 | card waiting for its place: number (12), colour (4), Wild, Skip |
| `taken` | 18 | card taken from the pile this turn, likewise |
| `laid_this_turn` | 1 | 1 in the turn of the own lay-down |
| `top` | 18 | top discard, likewise; all zero: the pile is empty |
| `under_top` | 18 | discard beneath the top, likewise |
| `pile` | 50 | discard pile since the last reshuffle, by kind |
| `table` | 50 | cards in melds, by kind |
| `unseen` | 50 | cards nobody has shown yet, by kind: stock and others' unknown cards |
| `stock_size` | 1 | cards in the stock |
| `round` | 1 | round of the game, 255 at most |
| `turn` | 2 | turns of this round so far (two bytes, high first) |
| `reshuffles` | 1 | reshuffles in this round |
| `tie_break` | 1 | 1 in a tie-break round |
| `players` | 5 | number of players 2-6, one-hot |
| `rules_phases` | 10 | number of phases, one-hot |
| `rules_hand` | 1 | cards dealt |
| `rules_options` | 17 | advance 3, skip target 2, placement 2, hit after lay 2, go out 2, winner 2, tie break 3, allow return 1 |
| `seat_r.present` | 1 | 1: there is such a player |
| `seat_r.active` | 1 | 1: takes part in this round |
| `seat_r.dealer` | 1 | 1: deals this round |
| `seat_r.hand_size` | 1 | cards in hand |
| `seat_r.phase` | 10 | phases the seat may lay in this round, as a set |
| `seat_r.done` | 10 | phases finished in earlier rounds, as a set |
| `seat_r.laid` | 1 | 1: has laid down this round |
| `seat_r.skipped` | 1 | 1: a Skip is pending |
| `seat_r.score` | 2 | penalty points (two bytes, high first) |
| `seat_r.known` | 50 | cards known to be in the hand, taken from the pile, by kind |
| `seat_r.recent` | 50 | last discards: 8 for the newest, 7 for the one before, ...; by kind |
| `seat_r.refused` | 18 | last pile top that the seat could have taken and did not |
| `seat_r.meld_0` | 34 | first meld: set, run, colour group (3); number or low end (12); colour (4); high end (12); size; low end open, high end open |
| `seat_r.meld_1` | 34 | second meld, likewise |
| `counts` | 60 | per number: at least 1, 2, 3, 4, 5 in hand |
| `missing` | 10 | cards missing for the nearest open phase, one-hot 0-9; all zero once laid |
| `keeps_distance` | 48 | per kind held: discarding it leaves the cards missing unchanged |
| `top_helps` | 2 | the top discard lowers the cards missing; it could be hit |
| `hittable` | 49 | kinds that fit a meld now |
| `helps` | 12 | numbers of which a card would lower the cards missing |
| `next_known` | 24 | per number: the next player is known to hold one; two |
| `own_known` | 12 | per number: the others know that one is in this hand |
| `unseen_numbers` | 12 | unseen cards by number |
| `pile_numbers` | 12 | discard pile by number |

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
from phase10_env.rules.state import TRUNCATED
from phase10_env.single import ENDED, REWARDED, SEAT

__all__ = ["ENV_ID", "Options", "env", "parallel_env", "raw_env", "raw_parallel_env"]

ENV_ID = "phase10/Phase10-v0"
ILLEGAL_REWARD = -1.0


def env(**options: Unpack[Options]) -> AECEnv[str, Any, Any]:
    """Return the AEC environment with PettingZoo's usual wrappers (the page above has the arguments).

    >>> env(num_players=4).possible_agents
    ['player_0', 'player_1', 'player_2', 'player_3']
    """
    wrapped: AECEnv[str, Any, Any] = raw_env(**options)
    wrapped = wrappers.TerminateIllegalWrapper(wrapped, illegal_reward=ILLEGAL_REWARD)
    wrapped = wrappers.AssertOutOfBoundsWrapper(wrapped)
    return wrappers.OrderEnforcingWrapper(wrapped)


def parallel_env(**options: Unpack[Options]) -> ParallelEnv[str, Any, Any]:
    """Return the environment with all agents at once (the page above has the arguments).

    >>> observations, infos = parallel_env().reset(seed=1)
    >>> infos["player_0"]["active_agent"] in observations
    True
    """
    return raw_parallel_env(**options)


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


def _register() -> None:
    """Enter the environments in PettingZoo's registry, where the installed version has one."""
    if hasattr(pettingzoo, "register") and ENV_ID not in pettingzoo.aec_registry:
        pettingzoo.register("aec", ENV_ID, entry_point=f"{__name__}:env")
        pettingzoo.register("parallel", ENV_ID, entry_point=f"{__name__}:parallel_env")


_register()
