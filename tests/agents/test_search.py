"""The search: same answer for the same stream, no peeking, its gate, its elimination, any agent inside."""

from __future__ import annotations

import numpy as np
import pytest
from agents.match import play_match
from agents.positions import position

from phase10_agents.base import AgentError
from phase10_agents.catalog import load_agent
from phase10_agents.explain import explain
from phase10_agents.lookahead import drop_losers, gated_choice, paired_score
from phase10_agents.search import Search, SearchSettings
from phase10_env import GameBatch
from phase10_env.testing import check_agent


def middle_of_rounds(games: int = 24, decisions: int = 31, **options: object) -> GameBatch:
    batch = GameBatch(games, seed=3, **options)  # type: ignore[arg-type]
    aware = load_agent("aware")
    for _ in range(decisions):
        batch.step(aware.act(batch.view()))
    return batch


def test_search_passes_the_check_of_agents() -> None:
    agent = load_agent("search:playouts=8,gate=0.5")
    assert check_agent(agent, num_players=(2, 3), num_games=4, decisions=40) == []


def test_a_bold_search_leaves_the_base_and_a_timid_one_never() -> None:
    batch = middle_of_rounds()
    base = load_agent("aware").act(batch.view())
    timid = Search(load_agent("aware"), settings=SearchSettings(playouts=16, gate=1e6)).act(batch.view())
    bold = Search(load_agent("aware"), settings=SearchSettings(playouts=16, gate=0.0)).act(batch.view())
    assert (timid == base).all()
    assert (bold != base).any()


def test_threads_change_nothing() -> None:
    batch = middle_of_rounds()
    one = load_agent("search:playouts=16,gate=0.5").act(batch.view())
    three = load_agent("search:playouts=16,gate=0.5,threads=3").act(batch.view())
    assert (one == three).all()


def test_another_stream_may_choose_otherwise() -> None:
    batch = middle_of_rounds(48)
    agent = load_agent("search:playouts=8,gate=0")
    view = batch.view()
    other = batch.view()
    other.random[:] += 1
    assert (agent.act(view) != agent.act(other)).any()


def test_a_learned_policy_can_play_the_rounds_out() -> None:
    batch = middle_of_rounds(4)
    by_name = Search(load_agent("aware"), "greedy", SearchSettings(playouts=16, gate=0.0))
    by_asking = Search(load_agent("aware"), load_agent("greedy"), SearchSettings(playouts=16, gate=0.0))
    assert (by_name.act(batch.view()) == by_asking.act(batch.view())).all()
    assert np.allclose(by_name.values(batch.view()), by_asking.values(batch.view()), equal_nan=True)


def test_a_search_works_under_every_mode_of_observation() -> None:
    for level in ("full", "basic", None):
        batch = middle_of_rounds(2, observation=level)
        agent = Search(load_agent("greedy"), load_agent("melder"), SearchSettings(playouts=4))
        actions = agent.act(batch.view())
        assert batch.action_masks[np.arange(2), actions].all()


def test_a_budget_of_time_gives_a_legal_action() -> None:
    batch = middle_of_rounds(4)
    actions = load_agent("search:milliseconds=2").act(batch.view())
    assert batch.action_masks[np.arange(4), actions].all()


def test_compact_actions_and_other_presets_are_searched_too() -> None:
    for preset in ("pick-a-phase", "ten-rounds", "next-player-skip"):
        batch = middle_of_rounds(6, 25, ruleset=preset, actions="compact", num_players=3)
        actions = load_agent("search:playouts=8,gate=0").act(batch.view())
        assert batch.action_masks[np.arange(6), actions].all()


def test_the_search_prefers_going_out() -> None:
    """One card left that fits nothing: discarding it wins the round; every sample says so."""
    where = position("R12", stage="play", discard="G9")
    seats = where["seats"]
    assert isinstance(seats, list)
    seats[0].update(laid=True)
    where["table"] = [
        {"seat": 0, "group": 0, "kind": "set", "number": 3, "cards": "R3 B3 G3"},
        {"seat": 0, "group": 1, "kind": "set", "number": 7, "cards": "R7 B7 G7"},
    ]
    stock = str(where["stock"]).split()
    for card in ("R3", "B3", "G3", "R7", "B7", "G7"):
        stock.remove(card)
    where["stock"] = " ".join(stock)
    best = explain(where, "search:playouts=8")[0]
    assert best.text == "discard R12"
    assert best.value > 0.5


def test_the_worth_of_a_difference_is_paired() -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(size=200)
    values = np.stack([shared, shared + 0.01 + 0.001 * rng.normal(size=200)])
    mean, error = paired_score(values, 1, 0, 200)
    assert mean == pytest.approx(0.01, abs=1e-3)
    assert error < 2e-4


def test_candidates_behind_or_as_good_as_equal_drop_out_but_never_the_base() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(size=64)
    behind = base - 1 + 0.1 * rng.normal(size=64)
    equal = base + 1e-4 * rng.normal(size=64)
    ahead = base + 0.1 + 0.1 * rng.normal(size=64)
    alive = np.ones(4, np.bool_)
    assert drop_losers(np.stack([base, behind, ahead, equal]), alive, 64) == 2
    assert alive.tolist() == [True, False, True, False]


@pytest.mark.parametrize(("lead", "chosen"), [(0.05, 1), (0.0, 0), (-0.05, 0)])
def test_the_gate_asks_for_evidence(lead: float, chosen: int) -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=400) * 0.2
    noise -= noise.mean()
    values = np.stack([np.zeros(400), noise + lead])
    assert gated_choice(values, np.ones(2, np.bool_), 400, 2.0) == chosen
    assert gated_choice(values, np.array([True, False]), 400, 2.0) == 0


def test_an_unknown_playout_policy_is_refused() -> None:
    with pytest.raises(AgentError, match="no compiled policy is called 'awake': the nearest is 'aware'"):
        Search(load_agent("aware"), "awake")


@pytest.mark.slow
def test_search_beats_its_base() -> None:
    shares, _ = play_match([load_agent("search:playouts=256,threads=2"), load_agent("aware")], 300, seed=4)
    assert shares.mean() > 0.55
