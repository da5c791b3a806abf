"""check_agent names each fault of an agent in a sentence; check_ruleset those of rules in play."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from phase10_env import GameBatch, RuleSet
from phase10_env.decision import DecisionView
from phase10_env.rules.check import Broken, check
from phase10_env.rules.random import random_below
from phase10_env.testing import check_agent, check_ruleset, redeal_hidden


class Faulty:
    """An agent that behaves, but for one way of choosing."""

    name = "faulty"

    def __init__(self, choose: Callable[[Faulty, DecisionView], Any]) -> None:
        self.choose = choose
        self.calls = 0

    def act(self, view: DecisionView) -> Any:
        self.calls += 1
        return self.choose(self, view)


def first(agent: Faulty, view: DecisionView) -> Any:
    return view.legal_actions[:, 0].astype(np.int64)


def by_stream(agent: Faulty, view: DecisionView) -> Any:
    places = [
        random_below(key, 0, int(count)) for key, count in zip(view.random, view.legal_counts, strict=True)
    ]
    return view.legal_actions[np.arange(len(view)), places].astype(np.int64)


def at(view: DecisionView, which: Any) -> Any:
    places = np.asarray(which).astype(np.int64) % view.legal_counts
    return view.legal_actions[np.arange(len(view)), places].astype(np.int64)


def writes(agent: Faulty, view: DecisionView) -> Any:
    actions = first(agent, view)
    view.action_masks[:] = False
    return actions


def raises(agent: Faulty, view: DecisionView) -> Any:
    raise KeyError("no plan")


def peeks(agent: Faulty, view: DecisionView) -> Any:
    """Look for the batch among the objects of the process and count the other hand's numbers."""
    batch = next(found for found in gc.get_objects() if isinstance(found, GameBatch) and found.num_games == 8)
    hidden = {int(game["decisions"]): int(game["numbers"].sum()) for game in batch.games}
    wanted = [hidden.get(int(row["decisions"]), 0) >> 1 for row in view.information]
    return at(view, wanted)


def test_agents_that_behave_are_not_blamed() -> None:
    assert check_agent(Faulty(first), decisions=40) == []
    assert check_agent(Faulty(by_stream), decisions=40) == []


@pytest.mark.parametrize(
    ("choose", "sentence"),
    [
        (
            lambda agent, view: np.zeros(len(view), np.int64),
            "act chose 'draw' (0) where only these are legal",
        ),
        (lambda agent, view: np.full(len(view), 999), "act chose 999, which is no action, where only these"),
        (lambda agent, view: view.legal_actions[:1, 0], "act returned shape (1,) for a view of 8 rows"),
        (lambda agent, view: first(agent, view) + 0.5, "act returned dtype float64: expected integers"),
        (raises, "act raised KeyError: 'no plan'"),
        (writes, "act changed view.action_masks"),
        (
            lambda agent, view: at(view, np.full(len(view), agent.calls)),
            "act answers the same view differently",
        ),
        (
            lambda agent, view: at(view, np.arange(len(view))),
            "act answers a row differently when the rows come in",
        ),
        (
            lambda agent, view: at(view, np.full(len(view), len(view))),
            "act answers a row differently when it is asked",
        ),
    ],
)
def test_each_fault_has_its_sentence(choose: Callable[[Faulty, DecisionView], Any], sentence: str) -> None:
    found = check_agent(Faulty(choose), num_players=2, decisions=40)
    assert any(line.startswith(sentence) for line in found), found


def test_peeking_through_the_process_is_found() -> None:
    assert any("dealt anew" in line for line in check_agent(Faulty(peeks), num_players=2, decisions=16))


def test_state_between_games_is_found() -> None:
    def tires(agent: Faulty, view: DecisionView) -> Any:
        return at(view, np.full(len(view), int(agent.calls > 200)))

    found = check_agent(Faulty(tires), num_players=2, decisions=150)
    assert any(line.startswith("act answers the first decisions differently") for line in found), found


def test_what_is_no_agent_is_told_so() -> None:
    assert check_agent(object()) == [
        "the agent has no 'name', a text that tables show",
        "the agent has no method 'act(view)' that returns one action for each row",
    ]


def test_hidden_cards_dealt_anew_leave_what_is_known() -> None:
    batch = GameBatch(16, 4, seed=5)
    for _ in range(70):
        batch.step(at_random(batch))
    before = batch.view()
    games = redeal_hidden(batch.games, batch.ruleset, np.random.default_rng(1))
    assert check(games, batch.ruleset) == Broken.NOTHING
    assert (games["stock"] != batch.games["stock"]).any(axis=1).all()
    batch.games[:] = games
    batch.refresh()
    after = batch.view()
    assert (after.observations == before.observations).all()
    assert np.array_equal(after.information, before.information)


def at_random(batch: GameBatch) -> Any:
    return by_stream(Faulty(first), batch.view())


def test_rulesets_of_the_house_are_sound() -> None:
    assert check_ruleset("pick-a-phase", num_players=3, num_games=4, decisions=200) == []


def test_a_ruleset_that_is_hardly_ever_finished_is_named() -> None:
    hopeless = RuleSet(name="hopeless", phases=("run 10",), max_turns=3, max_rounds=2)
    found = check_ruleset(hopeless, num_players=2, num_games=4, decisions=300)
    assert len(found) == 1
    assert "ended at the caps of 3 turns a round" in found[0]
