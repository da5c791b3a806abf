"""The hand-written agents: legal under every preset, blind to hidden cards, and true to their rules."""

from __future__ import annotations

import numpy as np
import pytest
from agents.match import play_match
from agents.positions import position

from phase10_agents.catalog import load_agent
from phase10_agents.explain import explain
from phase10_env import PRESETS, GameBatch, RuleSet
from phase10_env.testing import check_agent

LADDER = ("random", "melder", "greedy", "greedy:epsilon=0.3", "expected-turns", "aware")

ODD_RULES = {
    "returns": RuleSet(allow_return=False, go_out="discard", naturals="phase"),
    "mixed": RuleSet(name="mixed", phases=("colour 4 + set 3", "run 3 + run 4", "run 4 + set 3")),
    "next": RuleSet(skip_target="next", winner="went_out", phases=("set 3 + set 3", "set 6", "run 5")),
    "all": RuleSet(advance="pick", phases=("set 4", "colour 6", "set 2 + set 3", "run 6")),
}


@pytest.mark.parametrize("spec", LADDER)
def test_agents_pass_the_check_of_agents(spec: str) -> None:
    assert check_agent(load_agent(spec), num_players=(2, 3, 6), decisions=120) == []


@pytest.mark.parametrize("mode", ["full", "compact"])
@pytest.mark.parametrize("rules", [*PRESETS, *ODD_RULES])
def test_every_ruleset_is_played_to_its_end_by_legal_actions(rules: str, mode: str) -> None:
    for players in (2, 5):
        batch = GameBatch(
            6, players, ODD_RULES.get(rules, rules), seed=4, actions=mode, observation=None, auto_reset=False
        )
        agents = [load_agent(spec) for spec in ("greedy", "aware", "greedy:epsilon=0.3", "expected-turns")]
        actions = np.zeros(6, np.int64)
        while (running := batch.games["status"] == 0).any():
            for place, agent in enumerate(agents):
                rows = np.flatnonzero(running & (batch.seats % len(agents) == place))
                if len(rows):
                    actions[rows] = agent.act(batch.view(rows))
            batch.step(actions)
        assert (batch.results["rank"][:, :players] >= 1).all()


@pytest.mark.parametrize("spec", ["greedy", "expected-turns", "aware"])
def test_the_action_taken_has_the_best_value(spec: str) -> None:
    agent = load_agent(spec)
    batch = GameBatch(32, 3, "pick-a-phase", seed=6, observation=None)
    stray = load_agent("random")
    for turn in range(150):
        view = batch.view()
        chosen = agent.act(view)
        values = agent.values(batch.view())
        assert (np.isnan(values) == ~batch.action_masks).all()
        best = np.nanmax(values, axis=1)
        assert (values[np.arange(32), chosen] == best).all()
        batch.step(stray.act(view) if turn % 10 == 9 else chosen)


def choice(where: dict[str, object], spec: str) -> str:
    return next(row.text for row in explain(where, spec) if row.chosen)


@pytest.mark.parametrize("spec", ["greedy", "expected-turns", "aware"])
def test_a_card_that_completes_the_phase_is_taken(spec: str) -> None:
    hand = "R3 B3 G3 R7 B7 R1 B2 G5 Y12 R10"
    assert choice(position(hand, discard="Y7"), spec) == "take"
    assert choice(position(hand, discard="Y11"), spec) == "draw"
    assert choice(position(hand, discard="W"), spec) == "take"


@pytest.mark.parametrize("spec", ["greedy", "expected-turns", "aware"])
def test_a_phase_in_hand_is_laid_down(spec: str) -> None:
    assert choice(position("R3 B3 G3 R7 B7 Y7 R1 B2 G5 Y12 R10", stage="play"), spec) == "lay 1"


@pytest.mark.parametrize("spec", ["greedy", "expected-turns", "aware"])
def test_a_useless_dear_card_goes_first(spec: str) -> None:
    assert choice(position("R3 B3 G3 R7 B7 R1 B2 G5 W W Y12", stage="play"), spec) in ("lay 1", "discard Y12")
    assert choice(position("R3 B3 R7 B7 R1 B1 G2 Y5 R6 G8 Y12", stage="play"), spec) == "discard Y12"


def test_aware_does_not_feed_a_player_who_collects_the_number() -> None:
    hand = "R3 B3 R7 B7 R1 B1 R5 B5 R8 B8 G12"
    plain = position(hand, stage="play", other="R12 B12 R4")
    assert choice(plain, "aware") == "discard G12"
    told = {**plain, "memory": {"known": ["", "R12 B12"]}}
    assert choice(told, "expected-turns") == "discard G12"
    assert choice(told, "aware") != "discard G12"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "least"),
    [
        ("greedy", "melder", 0.99),
        ("expected-turns", "greedy", 0.58),
        ("aware", "greedy", 0.74),
        ("aware", "expected-turns", 0.64),
    ],
)
def test_the_ladder_is_a_ladder(first: str, second: str, least: float) -> None:
    shares, _ = play_match([load_agent(first), load_agent(second)], 1000, seed=1)
    assert shares.mean() > least
