"""Rates and selects the policies of a training: live ratings, and the best kept by a sequential test.

At each evaluation the present policy meets fixed yardsticks and the pool's snapshots on paired deals.
OpenSkill ratings follow every game. The present policy replaces the best one only when a sequential test on
the difference of their deal averages, against the same yardsticks on the same deals, says that it is stronger.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from phase10_env import Agent
from phase10_training.evaluate import EvaluationResult
from phase10_training.live_ratings import LiveRatings
from phase10_training.sequential import Decision, SequentialTest
from phase10_training.settings import EvaluationSettings
from phase10_training.statistics import FloatArray

__all__ = ["League", "Trial"]

Evaluate = Callable[[Agent, Sequence[Agent], int, int], list[EvaluationResult]]
"""Plays an agent against opponents on deals from a first one on: (agent, opponents, first, deals) -> results."""

BEST = "best"
POLICY = "policy"


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """Hold the outcome of one evaluation.

    Attributes:
        results: against each yardstick.
        decision: of the test against the best policy; "accept_h1" for the first policy, which has no rival.
        deals: that the test took.
        gain: mean difference of the win shares, present less best; 0 for the first.
    """

    results: tuple[EvaluationResult, ...]
    decision: Decision
    deals: int
    gain: float

    @property
    def is_best(self) -> bool:
        """Whether the present policy becomes the best."""
        return self.decision == "accept_h1"

    def metrics(self) -> dict[str, float]:
        """Return what TensorBoard shows of it."""
        found = {
            "league/gain_over_best": self.gain,
            "league/test_deals": float(self.deals),
            "league/replaced_best": float(self.is_best),
        }
        for result in self.results:
            found[f"eval/win_share_{result.opponent}"] = result.win_share
            found[f"eval/low_{result.opponent}"] = result.interval[0]
            found[f"eval/high_{result.opponent}"] = result.interval[1]
        return found


class League:
    """Keep the ratings, and the results of the best policy on the deals it has played.

    Args:
        settings: deals, yardsticks and the test.
        num_players: seats at a table.
        evaluate: plays paired deals; the same arguments give the same deals.

    >>> from phase10_agents.catalog import load_agent
    >>> from phase10_training.evaluate import evaluate
    >>> settings = EvaluationSettings(against=("greedy",), deals=100, test_elo=50.0)
    >>> league = League(
    ...     settings,
    ...     2,
    ...     lambda one, against, first, deals: evaluate(one, against, deals=deals, first_deal=first),
    ... )
    >>> yardsticks = [load_agent("greedy")]
    >>> league.judge(load_agent("melder"), "policy at 0", None, yardsticks).is_best
    True
    >>> trial = league.judge(load_agent("aware"), "policy at 1", load_agent("melder"), yardsticks)
    >>> trial.decision, trial.gain > 0.4
    ('accept_h1', True)
    """

    def __init__(self, settings: EvaluationSettings, num_players: int, evaluate: Evaluate) -> None:
        self.settings, self.num_players = settings, num_players
        self._evaluate = evaluate
        self.ratings = LiveRatings()
        self.best_averages: FloatArray | None = None  # [deals], mean over the yardsticks
        self.best_name = ""

    def judge(
        self,
        policy: Agent,
        name: str,
        best: Agent | None,
        yardsticks: Sequence[Agent],
        snapshots: Mapping[str, Agent] | None = None,
    ) -> Trial:
        """Evaluate the present policy, rate everybody it met, and test it against the best one.

        Args:
            policy: as it plays now; `name` is its name in the ratings.
            best: the best policy so far, or None.
            yardsticks: fixed opponents.
            snapshots: earlier policies by name; they are met on a quarter of the deals, for the ratings alone.
        """
        deals = self.settings.deals
        results = self._evaluate(policy, yardsticks, 0, deals)
        for result in results:
            self._rate(name, result)
        for rival, agent in (snapshots or {}).items():
            (met,) = self._evaluate(policy, [agent], 0, max(2, deals // 4))
            self._rate(name, dataclasses.replace(met, opponent=rival))
        averages = _deal_averages(results)
        if best is None or self.best_averages is None:
            trial = Trial(tuple(results), "accept_h1", 0, 0.0)
        else:
            trial = self._test(policy, best, yardsticks, results, averages)
        if trial.is_best:
            self.best_averages, self.best_name = averages, name
        return trial

    def _test(
        self,
        policy: Agent,
        best: Agent,
        yardsticks: Sequence[Agent],
        results: Sequence[EvaluationResult],
        averages: FloatArray,
    ) -> Trial:
        """Play on, both policies on the same deals, until the test is decided or the deals are used up."""
        assert self.best_averages is not None
        settings = self.settings
        most = max(settings.deals, settings.test_deals)
        test = SequentialTest(0.0, settings.test_elo, min_deals=min(100, settings.deals), max_deals=most)
        theirs = self.best_averages
        while True:
            known = min(len(averages), len(theirs))
            decision = test.add((1.0 + averages[test.deals : known] - theirs[test.deals : known]) / 2.0)
            if decision != "continue" or known >= most:
                break
            step = min(settings.deals, most - known)
            if len(averages) < known + step:
                more = self._evaluate(policy, yardsticks, len(averages), known + step - len(averages))
                averages = np.concatenate([averages, _deal_averages(more)])
            if len(theirs) < known + step:
                more = self._evaluate(best, yardsticks, len(theirs), known + step - len(theirs))
                theirs = np.concatenate([theirs, _deal_averages(more)])
        self.best_averages = theirs
        used = test.deals
        gain = float((averages[:used] - theirs[:used]).mean())
        return Trial(tuple(results), test.decision, used, gain)

    def _rate(self, name: str, result: EvaluationResult) -> None:
        """Take in every game of a result: the seat under test, and the opponent in the others."""
        others = self.num_players - 1
        for share in result.shares.ravel().tolist():
            mine, rest = (1.0, 2.0) if share == 1.0 else (2.0, 1.0) if share == 0.0 else (1.0, 1.0)
            self.ratings.update([name, *[result.opponent] * others], [mine, *[rest] * others])

    def metrics(self, name: str, yardsticks: Sequence[str]) -> dict[str, float]:
        """Return the ratings (mu on OpenSkill's scale) that TensorBoard shows: of the policy, the best, yardsticks."""
        found = {f"league/rating_{POLICY}": self.ratings[name].mu}
        if self.best_name:
            found[f"league/rating_{BEST}"] = self.ratings[self.best_name].mu
        return found | {f"league/rating_{spec}": self.ratings[spec].mu for spec in yardsticks}

    def state(self) -> dict[str, Any]:
        """Return everything the next evaluation depends on, as plain values."""
        return {
            "ratings": self.ratings.to_dict(),
            "best_name": self.best_name,
            "best_averages": None if self.best_averages is None else self.best_averages.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.ratings = LiveRatings.from_dict(state["ratings"])
        self.best_name = str(state["best_name"])
        averages = state["best_averages"]
        self.best_averages = None if averages is None else np.asarray(averages, np.float64)


def _deal_averages(results: Sequence[EvaluationResult]) -> FloatArray:
    """Return float64[deals]: the mean win share on each deal over its rotations and the yardsticks."""
    found: FloatArray = np.mean([result.shares.mean(axis=1) for result in results], axis=0)
    return found
