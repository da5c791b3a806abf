"""Learned policies as agents: full mode move for move as in compact mode, always legal, rows on their own."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from phase10_agents.base import AgentError
from phase10_agents.neural.agent import PolicyAgent
from phase10_agents.neural.networks import (
    SHORTCUT_GAIN,
    NetworkSettings,
    network_for,
)
from phase10_env import GameBatch
from phase10_env.observation import observation_layout
from phase10_env.rules.state import BUILD, RUNNING

SMALL = NetworkSettings(actor=(16,), critic=(16,), precision="fp32")


def wild_policy(players: int, seed: int, temperature: float = 0.0, level: str = "full") -> PolicyAgent:
    """Return a policy whose preferences are large and random, so that it takes every kind of lay-down."""
    settings = (
        SMALL
        if level == "full"
        else msgspec.structs.replace(SMALL, shortcut=("discard_loss", "take_gain"), discards=8)
    )
    net = network_for(observation_layout(players, level), settings, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=generator))
        net.actor[-1].bias[:150] += 3.0  # lay down and hit rather than discard, build rather than draw
    return PolicyAgent(net, "wild", temperature, players, level, compact=True)


def courses(
    agent: PolicyAgent, players: int, mode: str, decisions: int, level: str = "full"
) -> list[list[tuple[Any, ...]]]:
    """Play 24 games and return for each what it looked like whenever no lay-down was being built."""
    batch = GameBatch(24, players, seed=11, actions=mode, observation=level, episode="round", start="mixed")
    courses: list[list[tuple[Any, ...]]] = [[] for _ in range(24)]
    for _ in range(decisions):
        for row, game in enumerate(batch.games):
            if game["stage"] != BUILD and game["status"] == RUNNING:
                fields = (
                    "episode",
                    "turn",
                    "to_act",
                    "stage",
                    "hands",
                    "laid",
                    "meld_kind",
                    "meld_value",
                    "meld_high",
                )
                courses[row].append(
                    tuple(game[name].tobytes() for name in (*fields, "meld_cards", "discard"))
                )
        actions = agent.act(batch.view())
        assert batch.action_masks[np.arange(24), actions].all()
        batch.step(actions)
    return courses


@pytest.mark.parametrize(
    ("players", "level"), [(2, "full"), (3, "full"), (4, "full"), (5, "full"), (6, "full"), (2, "candidates")]
)
def test_a_policy_plays_in_full_mode_move_for_move_what_it_plays_in_compact_mode(
    players: int, level: str
) -> None:
    agent = wild_policy(players, seed=players, level=level)
    compact = courses(agent, players, "compact", 500, level)
    full = courses(agent, players, "full", 650, level)
    laid = np.frombuffer(b"".join(each[5] for course in compact for each in course), np.int8)
    assert laid.sum() > 100
    for one, two in zip(compact, full, strict=True):
        shared = min(len(one), len(two))
        assert shared > 100
        assert one[:shared] == two[:shared]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_choices_depend_on_the_row_alone(temperature: float) -> None:
    agent = wild_policy(3, seed=2, temperature=temperature)
    batch = GameBatch(40, 3, seed=5)
    batch.play_random(37)
    together = agent.act(batch.view())
    order = np.random.default_rng(0).permutation(40)
    assert (agent.act(batch.view(order)) == together[order]).all()
    assert [int(agent.act(batch.view([row]))[0]) for row in range(40)] == together.tolist()


def test_values_are_log_probabilities_of_the_legal_actions() -> None:
    agent = wild_policy(2, seed=3)
    batch = GameBatch(16, 2, seed=5, actions="compact")
    batch.play_random(20)
    view = batch.view()
    values = agent.values(view)
    assert (np.isnan(values) == ~view.action_masks).all()
    np.testing.assert_allclose(np.nansum(np.exp(values), axis=1), 1.0)
    assert (np.nanargmax(values, axis=1) == agent.act(view)).all()


def test_hidden_cards_change_nothing() -> None:
    agent = wild_policy(3, seed=4)
    batch = GameBatch(32, 3, seed=6, actions="compact")
    batch.play_random(25)
    before = agent.logits(batch.view())
    rng = np.random.default_rng(1)
    for game in batch.games:
        size = int(game["stock_size"])
        game["stock"][:size] = rng.permutation(game["stock"][:size])
    batch.refresh()
    np.testing.assert_array_equal(agent.logits(batch.view()), before)


def test_a_higher_level_of_observation_holds_what_a_policy_reads() -> None:
    agent = wild_policy(2, seed=1)
    full, more = (GameBatch(16, 2, seed=3, observation=level) for level in ("full", "candidates"))
    for batch in (full, more):
        batch.play_random(20)
    np.testing.assert_array_equal(agent.logits(full.view()), agent.logits(more.view()))


def test_the_shortcut_adds_to_the_logits_what_its_entries_say() -> None:
    agent = wild_policy(2, seed=1, level="candidates")
    view = GameBatch(4, 2, seed=3, observation="candidates").view()
    before = agent.logits(view)
    net = agent.net
    assert net.shortcut_weight is not None
    with torch.no_grad():
        net.shortcut_weight[48, 1] += 1.0  # take_gain, the second field, to the action "take"
    column = observation_layout(2, "candidates").fields["take_gain"]
    assert int(net.shortcut_columns[48]) == column.start
    after = PolicyAgent(net, "moved", level="candidates").logits(view)
    expected = SHORTCUT_GAIN * column.scale * view.observations[:, column.start]
    np.testing.assert_allclose(after[:, 1] - before[:, 1], expected, rtol=1e-4, atol=1e-4)
    assert expected.any()
    np.testing.assert_array_equal(after[:, 2:], before[:, 2:])


def test_other_players_or_observations_are_refused() -> None:
    agent = wild_policy(2, seed=1)
    with pytest.raises(AgentError, match="trained for 2 players, found 3"):
        agent.act(GameBatch(1, 3).view())
    with pytest.raises(AgentError, match="layout"):
        agent.act(GameBatch(1, 2, observation="basic").view())
    demanding = wild_policy(2, seed=1, level="candidates")
    assert len(demanding.act(GameBatch(1, 2).view())) == 1  # the candidate features follow from the rest
    for view in (GameBatch(1, 2).view(information=False), GameBatch(1, 2, observation="basic").view()):
        with pytest.raises(AgentError, match="observation='candidates'"):
            demanding.act(view)
