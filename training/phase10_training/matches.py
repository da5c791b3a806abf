"""Plays scheduled games: one big batch, its rows grouped by the agent to act, one call an agent and step.

Shapes: G games, P seats. A schedule is `seeds` uint64[G] (the cards) and `line_ups` int[G, P] (the index of
the agent in each seat). Games with equal seeds have equal deals, reshuffles and agent streams whatever the
seating: the random stream of a decision is keyed by the game's seed and the number of the decision, apart
from the streams of the cards. So two copies of an agent in one game never share random numbers, and equal
agents in exchanged seats play the same game.

An agent may say what it reads with two attributes: `observation` (a level, or None) and `information`
(whether it wants game records); without them it gets everything.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phase10_agents.base import observation_level
from phase10_env.actions import action_text
from phase10_env.decision import Agent
from phase10_env.game_batch import GameBatch
from phase10_env.positions import position_of
from phase10_env.rules.batch import explain_row
from phase10_env.rules.legal import REASONS
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import RUNNING, TERMINATED, TRUNCATED
from phase10_training.errors import UsageError
from phase10_training.guarded import Fault, GuardedAgent, Problem
from phase10_training.round_stats import RoundStats, RoundTracker
from phase10_training.statistics import FloatArray

__all__ = [
    "FORFEITED",
    "GameResults",
    "PlaySettings",
    "check_table",
    "observation_level",
    "play_games",
    "win_shares",
]

SECONDS_BETWEEN_NEWS = 2.0

FORFEITED = 3
"""Status of a game that ended by a fault, next to TERMINATED and TRUNCATED."""


@dataclass(frozen=True)
class PlaySettings:
    """Say how scheduled games are played.

    Arguments:
        ruleset: the rules.
        actions: "full" or "compact".
        time_limit: seconds for one decision, or None.
        keep_actions: keep every action, for records.
        track_rounds: count what happens in the rounds, and the luck of the cards.
        threads: worker threads of the engine.
    """

    ruleset: RuleSet
    actions: Literal["full", "compact"] = "full"
    time_limit: float | None = None
    keep_actions: bool = False
    track_rounds: bool = False
    threads: int = 1


@dataclass(frozen=True)
class GameResults:
    """Hold the results of G games with P seats, in the order of the schedule.

    Attributes:
        share: float64[G, P], win share: 1 for a sole winner, 1/k for k winners; 1/P each where the game was
            truncated (R34); 0 for the seat that forfeited and 1/(P - 1) for the others.
        rank: int8[G, P], 1 = best; all 1 where truncated; P for the seat that forfeited, else 1.
        status: int8[G], TERMINATED, TRUNCATED or FORFEITED.
        score, phases: int32[G, P] penalty points and phases completed.
        rounds: int32[G].
        decisions: int32[G, P]; `seconds` float64[G, P] spent on them.
        illegal: int8[G, P], 1 where the seat lost the game by an illegal action.
        faults: every fault, with its position.
        luck: float64[G, P, len(LUCK)], cards above expectation (round_stats.py), or None.
        actions: the actions of each game in order, as bytes, or None.
        round_stats: counts of rounds by agent, or None.
    """

    share: FloatArray
    rank: NDArray[np.int8]
    status: NDArray[np.int8]
    score: NDArray[np.int32]
    phases: NDArray[np.int32]
    rounds: NDArray[np.int32]
    decisions: NDArray[np.int32]
    seconds: FloatArray
    illegal: NDArray[np.int8]
    faults: tuple[Fault, ...]
    luck: FloatArray | None = None
    actions: tuple[bytes, ...] | None = None
    round_stats: RoundStats | None = None


def win_shares(rank: ArrayLike) -> FloatArray:
    """Return the win share float64[..., P] of each seat from ranks int[..., P]: winners share one win.

    >>> win_shares([[1, 2, 3], [1, 1, 3]]).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    """
    first = np.asarray(rank) == 1
    return np.asarray(first / np.maximum(first.sum(axis=-1, keepdims=True), 1), dtype=np.float64)


def play_games(
    agents: Sequence[Agent] | Sequence[GuardedAgent],
    seeds: ArrayLike,
    line_ups: ArrayLike,
    settings: PlaySettings,
    progress: Callable[[int], None] | None = None,
    shown: NDArray[np.bool_] | None = None,
) -> GameResults:
    """Play G whole games to their end and return their results.

    Arguments:
        agents: the agents that `line_ups` names by index; guarded ones keep their clocks.
        seeds: `[G]` game seeds.
        line_ups: `[G, P]` agent index of each seat.
        settings: how to play.
        progress: called now and then with the number of games played so far, unfinished ones in part.
        shown: `[G]`, the games whose cards are counted (RoundTracker).

    Raises:
        UsageError: shapes that do not fit, or an index without an agent.

    >>> from phase10_agents.catalog import load_agent
    >>> from phase10_env.rules.ruleset import get_ruleset
    >>> players = [load_agent("melder"), load_agent("greedy")]
    >>> results = play_games(players, [5, 5], [[0, 1], [1, 0]], PlaySettings(get_ruleset("official")))
    >>> results.share.sum(axis=1).tolist()
    [1.0, 1.0]
    """
    return _Play(agents, seeds, line_ups, settings, shown).run(progress)


def check_table(agents: Sequence[Agent], num_players: int, settings: PlaySettings) -> None:
    """Ask each agent for one decision, so that one made for another table is known before anything is played.

    Raises:
        AgentError: the agent cannot play at this table at all.
    """
    batch = GameBatch(
        1,
        num_players,
        settings.ruleset,
        actions=settings.actions,
        observation=observation_level(agents),
        auto_reset=False,
    )
    for agent in agents:
        GuardedAgent(agent, settings.time_limit).act(batch.view())


class _Play:
    """One batch on its way to the end of every game."""

    def __init__(
        self,
        agents: Sequence[Agent] | Sequence[GuardedAgent],
        seeds: ArrayLike,
        line_ups: ArrayLike,
        settings: PlaySettings,
        shown: NDArray[np.bool_] | None,
    ) -> None:
        self.settings = settings
        self.line_ups = np.asarray(line_ups, dtype=np.int64)
        cards = np.asarray(seeds, dtype=np.uint64)
        if self.line_ups.ndim != 2 or cards.shape != self.line_ups.shape[:1]:
            raise UsageError(
                f"expected seeds[G] and line_ups[G, P], found {cards.shape} and {self.line_ups.shape}; "
                "give one row a game."
            )
        if self.line_ups.min() < 0 or self.line_ups.max() >= len(agents):
            raise UsageError(
                f"line_ups expects agent indices from 0 to {len(agents) - 1}, found {self.line_ups.min()} to "
                f"{self.line_ups.max()}."
            )
        self.guarded = [
            agent if isinstance(agent, GuardedAgent) else GuardedAgent(agent, settings.time_limit)
            for agent in agents
        ]
        for guard in self.guarded:
            guard.new_block()
        self.games, self.players = self.line_ups.shape
        self.batch = GameBatch(
            self.games,
            self.players,
            settings.ruleset,
            actions=settings.actions,
            observation=observation_level([guard.agent for guard in self.guarded]),
            auto_reset=False,
            seeds=cards,
            threads=settings.threads,
        )
        shape = (self.games, self.players)
        self.decisions = np.zeros(shape, np.int32)
        self.seconds = np.zeros(shape, np.float64)
        self.forfeit = np.full(self.games, -1, np.int64)
        self.illegal = np.zeros(shape, np.int8)
        self.faults: list[Fault] = []
        self.begun = np.zeros(self.games, np.float64)
        self.log: list[tuple[NDArray[np.int64], NDArray[np.uint8]]] = []
        self.tracker = (
            RoundTracker(self.batch, self.line_ups, len(agents), shown) if settings.track_rounds else None
        )

    def run(self, progress: Callable[[int], None] | None) -> GameResults:
        batch = self.batch
        rows = np.arange(self.games)
        actions = np.zeros(self.games, np.int64)
        told = time.monotonic()
        while rows.size:
            seats = batch.seats[rows].astype(np.int64)
            kept = self._ask(rows, seats, actions)
            rows, seats = rows[kept], seats[kept]
            chosen = actions[rows]
            if self.settings.keep_actions:
                self.log.append((rows, chosen.astype(np.uint8)))
            if self.tracker:
                self.tracker.before(rows, seats, chosen)
            batch.step(actions, check=False)
            if self.tracker:
                self.tracker.after(rows)
            rows = rows[batch.games["status"][rows] == RUNNING]
            if progress and time.monotonic() - told > SECONDS_BETWEEN_NEWS:
                told = time.monotonic()
                progress(int(self.games - rows.size + self._begun(rows)))
        if progress:
            progress(self.games)
        return self._results()

    def _begun(self, rows: NDArray[np.int64]) -> float:
        """Return how many whole games the unfinished ones amount to; it never falls for a game.

        A game is as far as its most advanced seat, or as its turns and rounds are towards the limits that break
        it off (R34): agents that never lay down get nowhere else.
        """
        games: Any = self.batch.games
        rules = self.settings.ruleset
        done = np.maximum(games["phase"][rows], np.bitwise_count(games["done"][rows]))  # one of them is 0
        reached = (
            done.max(axis=1) / len(rules.phases),
            games["turn"][rows] / (self.players * rules.max_turns),
            games["round"][rows] / (rules.max_rounds + 1),
            self.begun[rows],
        )
        self.begun[rows] = np.minimum(np.max(reached, axis=0), 1.0)
        return float(self.begun[rows].sum())

    def _ask(
        self, rows: NDArray[np.int64], seats: NDArray[np.int64], actions: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Write the actions of the running rows; return which of them go on (False: forfeited)."""
        actors = self.line_ups[rows, seats]
        order = np.argsort(actors, kind="stable")
        kept = np.ones(len(rows), np.bool_)
        ends = np.flatnonzero(np.diff(actors[order], append=-1)) + 1
        for first, last in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            places = order[first:last]
            mine = rows[places]
            guard = self.guarded[actors[places[0]]]
            before = guard.seconds
            view = self.batch.view(mine, information=getattr(guard.agent, "information", True))
            chosen, problems = guard.act(view)
            actions[mine] = chosen
            self.seconds[mine, seats[places]] += (guard.seconds - before) / len(mine)
            for row, problem in problems.items():
                kept[places[row]] = False
                self._forfeit(int(mine[row]), int(seats[places[row]]), problem)
        self.decisions[rows, seats] += 1
        return kept

    def _forfeit(self, game: int, seat: int, problem: Problem) -> None:
        record = self.batch.games[game : game + 1]
        detail = problem.detail
        if problem.kind == "illegal":
            self.illegal[game, seat] = 1
            detail = self._illegal_text(game, int(problem.detail))
        position = position_of(record.copy(), self.settings.ruleset)
        agent = int(self.line_ups[game, seat])
        self.faults.append(Fault(game, agent, seat, problem.kind, detail, position))
        self.forfeit[game] = seat
        record["status"] = TRUNCATED  # the engine leaves games alone that are over

    def _illegal_text(self, game: int, action: int) -> str:
        known = self.batch.action_masks.shape[1]
        if not 0 <= action < known:
            return f"action {action} is not one of 0 to {known - 1}"
        reason = explain_row(self.batch.games, self.settings.ruleset.record, game, action)
        return f"{action_text(action)}: {REASONS[reason][1]}"

    def _results(self) -> GameResults:
        players = self.players
        final = self.batch.results
        games: Any = self.batch.games
        status = games["status"].astype(np.int8)
        rank = np.where((status == TERMINATED)[:, None], final["rank"][:, :players], 1).astype(np.int8)
        share = win_shares(rank)
        lost = np.flatnonzero(self.forfeit >= 0)
        status[lost] = FORFEITED
        rank[lost, self.forfeit[lost]] = players
        share[lost] = 1.0 / (players - 1)
        share[lost, self.forfeit[lost]] = 0.0
        phases = final["phases"][:, :players].astype(np.int32)
        score = final["score"][:, :players].astype(np.int32)
        rounds = final["rounds"].astype(np.int32)
        phases[lost] = games["phase"][lost][:, :players]
        score[lost] = games["score"][lost][:, :players]
        rounds[lost] = games["round"][lost]
        return GameResults(
            share=share,
            rank=rank,
            status=status,
            score=score,
            phases=phases,
            rounds=rounds,
            decisions=self.decisions,
            seconds=self.seconds,
            illegal=self.illegal,
            faults=tuple(sorted(self.faults, key=lambda fault: fault.game)),
            luck=self.tracker.luck if self.tracker else None,
            actions=self._actions() if self.settings.keep_actions else None,
            round_stats=self.tracker.stats if self.tracker else None,
        )

    def _actions(self) -> tuple[bytes, ...]:
        rows = np.concatenate([part for part, _ in self.log])
        chosen = np.concatenate([part for _, part in self.log])
        order = np.argsort(rows, kind="stable")
        ends = np.cumsum(np.bincount(rows, minlength=self.games))
        return tuple(part.tobytes() for part in np.split(chosen[order], ends[:-1]))
