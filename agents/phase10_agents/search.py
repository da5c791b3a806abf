"""`search`: play the candidates out on sampled deals and leave the base policy's move only for strong evidence."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phase10_agents.base import Agent, AgentError, DecisionView, ValuingAgent, observation_level
from phase10_agents.lookahead import colours_count, drop_losers, gated_choice, play_samples
from phase10_agents.playouts import play_with_agent
from phase10_agents.policies import POLICIES, POLICY_WEIGHTS, policy_number
from phase10_agents.scratch import new_scratch
from phase10_env.equity import EquityModel, default_equity
from phase10_env.names import hint
from phase10_env.rules import table
from phase10_env.rules.cards import NUMBERS, WILD
from phase10_env.rules.kernel import announce
from phase10_env.rules.state import GAME, MAX_PLAYERS

__all__ = ["Search", "SearchSettings"]

BLOCKS = 8
"""Elimination rounds: after each block of samples the candidates that are clearly behind drop out."""
_LEAST_BLOCK = 16
CLEAR_DRAW = 0.9
"""A draw is not searched where the base policy values it so much higher: it hardly ever errs then.

On the scale of the heuristics; a base agent with values of another kind says its own as `clear_draw`.
"""


@dataclass(frozen=True)
class SearchSettings:
    """How long and how boldly to search.

    Attributes:
        playouts: most deals per candidate.
        milliseconds: time for a decision instead, if not 0; results then depend on the machine.
        gate: standard errors by which another move must be ahead of the base policy's.
        candidates: most moves that are compared.
        effort: how much better than at random the others have played, in swaps a turn (belief.py); 0: uniform.
        threads: rows searched at the same time.
    """

    playouts: int = 64
    milliseconds: float = 0.0
    gate: float = 1.75
    candidates: int = 4
    effort: float = 1.0
    threads: int = 1


class Search:
    """`search`: one step of lookahead by playouts on deals that agree with everything public.

    For a draw, a lay-down, a discard, a Skip or the place of a hit, it takes the base policy's move and its
    best-valued alternatives, deals the hidden cards anew many times, plays every candidate out to the end of the
    round on the same deals, each seat by the playout policy, and compares the win equities reached. So it may hold
    a lay-down back for a turn, which no heuristic here does. Candidates clearly behind drop out after each block of
    deals. It leaves the base policy's move only for one that is ahead by `gate` standard errors of the paired
    difference: without that gate the noise of a maximum over many candidates ruins a good base policy.

    Weakness: it thinks that everybody plays like the playout policy and reads nothing from what the others have
    thrown or left lying (belief.py only makes their hands as good as hands are after so many turns); it looks one
    move ahead; the gate asks for more evidence than a small budget can give.

    Args:
        base: agent whose move is kept by default.
        playout: name of the compiled policy that plays the rounds out, or an agent (slower).
        settings: budget and gate.
        equity: worth of the standings after the round; default: the shipped model.
        name: shown in tables.
    """

    value_meaning = "win equity after the round, 0 to 1, and a little for points; mean over the playouts"

    def __init__(
        self,
        base: Agent,
        playout: str | Agent = "aware",
        settings: SearchSettings | None = None,
        equity: EquityModel | None = None,
        name: str = "search",
    ) -> None:
        announce("phase10_agents.lookahead")
        policy = policy_number(playout) if isinstance(playout, str) else -1
        if isinstance(playout, str) and policy < 0:
            raise AgentError(f"no compiled policy is called {playout!r}: {hint(playout, POLICIES)}")
        self.name = name
        self.base = base
        self.playout = playout
        self.settings = settings or SearchSettings()
        self.equity = equity
        self._policies = np.full(MAX_PLAYERS, policy, np.int64)
        asked = [agent for agent in (base, playout) if not isinstance(agent, str)]
        self.observation = observation_level(asked)

    def act(self, view: DecisionView) -> npt.NDArray[np.integer]:
        """Return int64[n], a legal action for each row."""
        chosen = np.array(self.base.act(view), np.int64)
        worths = self.base.values(view) if isinstance(self.base, ValuingAgent) else None
        jobs = []
        for row in range(len(view)):
            actions = self._candidates(view, row, chosen[row], None if worths is None else worths[row])
            if len(actions) > 1:
                jobs.append((row, actions))
        if self.settings.threads > 1 and len(jobs) > 1:
            with ThreadPoolExecutor(self.settings.threads) as pool:
                results = list(pool.map(lambda job: self._search(view, *job), jobs))
        else:
            results = [self._search(view, *job) for job in jobs]
        for (row, _), action in zip(jobs, results, strict=True):
            chosen[row] = action
        return chosen

    def values(self, view: DecisionView) -> npt.NDArray[np.float64]:
        """Return float64[n, 165], the mean worth reached by each legal action over `playouts` deals."""
        out = np.full((len(view), table.NUM_ACTIONS), np.nan)
        for row in range(len(view)):
            actions = view.legal_actions[row, : view.legal_counts[row]].astype(np.int64)
            reached = np.zeros((len(actions), self.settings.playouts))
            alive = np.ones(len(actions), np.bool_)
            self._play(view, row, actions, alive, 0, self.settings.playouts, reached)
            out[row, actions] = reached.mean(1)
        return out

    def _candidates(
        self, view: DecisionView, row: int, base: int, worths: npt.NDArray[np.float64] | None
    ) -> npt.NDArray[np.int64]:
        """Return the moves to compare, the base policy's first; that alone where it hits or builds."""
        legal = view.legal_actions[row, : view.legal_counts[row]].astype(np.int64)
        if len(legal) == 1 or table.NUMBER <= base < table.ONTO:
            return np.array([base])
        others = [a for a in legal if a != base and not table.BUILD <= a < table.NUMBER]
        if worths is not None:
            others.sort(key=lambda action: -worths[action])
            if (
                base <= table.TAKE
                and others
                and worths[base] - worths[others[0]] > getattr(self.base, "clear_draw", CLEAR_DRAW)
            ):
                return np.array([base])
        if not colours_count(view.information, view.ruleset.record, row):
            others = _one_of_each_number(base, others)
        return np.array([base, *others[: self.settings.candidates - 1]], np.int64)

    def _search(self, view: DecisionView, row: int, actions: npt.NDArray[np.int64]) -> int:
        """Return the best of the candidates of a row; the first is the base policy's."""
        start = time.perf_counter()
        timed = self.settings.milliseconds > 0
        step = _LEAST_BLOCK if timed else max(_LEAST_BLOCK, -(-self.settings.playouts // BLOCKS))
        most = 1 << 14 if timed else self.settings.playouts
        values = np.zeros((len(actions), min(most, 1024)))
        alive = np.ones(len(actions), np.bool_)
        done = 0
        while done < most:
            last = min(done + step, most)
            if last > values.shape[1]:
                values = np.concatenate([values, np.zeros_like(values)], axis=1)
            self._play(view, row, actions, alive, done, last, values)
            done = last
            if drop_losers(values, alive, done) == 1:
                break
            if timed and 1000 * (time.perf_counter() - start) > self.settings.milliseconds:
                break
        return int(actions[gated_choice(values, alive, done, self.settings.gate)])

    def _play(
        self,
        view: DecisionView,
        row: int,
        actions: npt.NDArray[np.int64],
        alive: npt.NDArray[np.bool_],
        first: int,
        last: int,
        values: npt.NDArray[np.float64],
    ) -> None:
        """Play the candidates still in on some samples and write what they reach into values[:, first:last]."""
        equity = self.equity or default_equity(view.ruleset, view.num_players)
        known = view.information[row : row + 1]
        if isinstance(self.playout, str):
            play_samples(
                known,
                view.ruleset.record,
                equity.record,
                self._policies,
                POLICY_WEIGHTS,
                new_scratch(),
                np.zeros(2, GAME),
                actions,
                alive,
                self.settings.effort,
                first,
                last,
                view.random[row],
                values,
            )
        else:
            play_with_agent(
                self.playout,
                view,
                known,
                equity,
                actions,
                alive,
                self.settings.effort,
                first,
                last,
                view.random[row],
                values,
            )


def _one_of_each_number(base: int, actions: list[int]) -> list[int]:
    """Leave one discard of each number: kinds that differ only in colour are interchangeable."""

    def number(action: int) -> int:
        kind = action - table.DISCARD
        return action if not 0 <= kind < WILD else table.DISCARD + kind % NUMBERS

    seen = {number(base)}
    kept = []
    for action in actions:
        if number(action) not in seen:
            seen.add(number(action))
            kept.append(action)
    return kept
