"""The league keeps the better policy only where the deals say so, plays on while they do not, and rates everybody."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from phase10_env import Agent
from phase10_training.evaluate import EvaluationResult
from phase10_training.league import League
from phase10_training.settings import EvaluationSettings


class Player:
    """An agent known by its strength alone."""

    def __init__(self, name: str, strength: float) -> None:
        self.name, self.strength = name, strength

    def act(self, view: Any) -> Any:
        raise AssertionError("nobody plays in these tests")


GREEDY = Player("greedy", 0.5)


class Table:
    """Stands in for games: a deal is won if its luck is below the strength; the same deals for everybody."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, int, int]] = []

    def __call__(
        self, agent: Agent, against: Sequence[Agent], first: int, deals: int
    ) -> list[EvaluationResult]:
        results = []
        for opponent in against:
            self.asked.append((agent.name, opponent.name, first, deals))
            luck = np.random.default_rng(7).random((4000, 2))[first : first + deals]
            shares = (luck < agent.strength).astype(float)  # type: ignore[attr-defined]
            results.append(
                EvaluationResult(
                    agent=agent.name,
                    opponent=opponent.name,
                    players=2,
                    par=0.5,
                    deals=deals,
                    win_share=float(shares.mean()),
                    interval=(0.0, 1.0),
                    standard_error=0.0,
                    shares=shares,
                    illegal_actions=0,
                    opponent_illegal_actions=0,
                    faults=(),
                    truncated=0,
                    rounds=1.0,
                    decisions=1.0,
                    seconds=0.0,
                )
            )
        return results


def league(**settings: Any) -> tuple[League, Table]:
    table = Table()
    chosen = EvaluationSettings(against=("greedy",), deals=100, test_deals=800, **settings)
    return League(chosen, 2, table), table


def test_the_first_policy_is_the_best_without_a_test() -> None:
    found, table = league()
    trial = found.judge(Player("policy", 0.4), "policy at 1", None, [GREEDY])
    assert trial.is_best
    assert table.asked == [("policy", "greedy", 0, 100)]
    assert trial.metrics()["eval/win_share_greedy"] == trial.results[0].win_share


@pytest.mark.parametrize(("strength", "replaces"), [(0.5, False), (0.45, False), (0.55, True), (0.9, True)])
def test_only_a_stronger_policy_replaces_the_best(strength: float, replaces: bool) -> None:
    found, _table = league(test_elo=10.0)
    found.judge(Player("old", 0.5), "policy at 1", None, [GREEDY])
    trial = found.judge(Player("new", strength), "policy at 2", Player("old", 0.5), [GREEDY])
    assert trial.is_best == replaces
    assert found.best_name == ("policy at 2" if replaces else "policy at 1")
    if strength == 0.9:
        assert trial.deals < 400
        assert trial.gain == pytest.approx(0.4, abs=0.1)


def test_an_undecided_test_plays_on_with_both_on_the_same_new_deals_and_ends() -> None:
    found, table = league(test_elo=1.0)
    found.judge(Player("old", 0.5), "policy at 1", None, [GREEDY])
    table.asked.clear()
    trial = found.judge(Player("new", 0.503), "policy at 2", Player("old", 0.5), [GREEDY])
    assert trial.decision == "undecided"
    assert trial.deals == 800
    assert table.asked[0] == ("new", "greedy", 0, 100)
    assert table.asked[1:3] == [("new", "greedy", 100, 100), ("old", "greedy", 100, 100)]
    table.asked.clear()
    # what the best has played once it need not play again
    found.judge(Player("third", 0.502), "policy at 3", Player("old", 0.5), [GREEDY])
    assert {name for name, *_ in table.asked} == {"third"}


def test_without_a_limit_of_its_own_a_test_takes_the_deals_of_the_evaluation() -> None:
    table = Table()
    found = League(EvaluationSettings(against=("greedy",), deals=100, test_elo=1.0), 2, table)
    found.judge(Player("old", 0.5), "policy at 1", None, [GREEDY])
    assert found.judge(Player("new", 0.503), "policy at 2", Player("old", 0.5), [GREEDY]).deals == 100


def test_ratings_follow_the_games_and_snapshots_are_met() -> None:
    found, table = league()
    weak, strong = Player("weak", 0.1), Player("strong", 0.9)
    found.judge(weak, "policy at 1", None, [GREEDY])
    found.judge(strong, "policy at 2", weak, [GREEDY], {"snapshot at 1": weak})
    assert ("strong", "weak", 0, 25) in table.asked
    ratings = found.metrics("policy at 2", ["greedy"])
    assert set(ratings) == {"league/rating_policy", "league/rating_best", "league/rating_greedy"}
    assert ratings["league/rating_policy"] > ratings["league/rating_greedy"]
    assert found.ratings["policy at 1"].mu < found.ratings["greedy"].mu
    assert found.ratings["snapshot at 1"].games == 50


def test_a_league_goes_on_from_its_state() -> None:
    one, _ = league()
    one.judge(Player("old", 0.5), "policy at 1", None, [GREEDY])
    other, _ = league()
    other.restore(json.loads(json.dumps(one.state())))
    for each in (one, other):
        each.judge(Player("new", 0.52), "policy at 2", Player("old", 0.5), [GREEDY])
    assert one.state() == other.state()
