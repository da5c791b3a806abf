"""The policies that come with the package: they load, play legally where they were trained, and are no beginners."""

from __future__ import annotations

import numpy as np
import pytest

from phase10_agents.base import AgentError
from phase10_agents.catalog import load_agent
from phase10_env import GameBatch
from phase10_training.evaluate import evaluate


@pytest.mark.parametrize("players", [2, 4])
@pytest.mark.parametrize("mode", ["full", "compact"])
def test_the_champion_plays_legally_and_the_same_in_batches_of_any_size(players: int, mode: str) -> None:
    champion = load_agent("champion")
    batch = GameBatch(24, players, seed=3, actions=mode, observation="candidates")
    for _ in range(150):
        actions = champion.act(batch.view())
        assert batch.action_masks[np.arange(24), actions].all()
        batch.step(actions)
    few = champion.act(batch.view([5, 17]))
    assert (few == champion.act(batch.view())[[5, 17]]).all()


def test_other_tables_are_refused_in_a_sentence() -> None:
    champion = load_agent("champion")
    with pytest.raises(AgentError, match="champion has weights for 2, 4 players, found 3"):
        champion.act(GameBatch(1, 3, observation="candidates").view())


@pytest.mark.parametrize("players", [2, 4])
def test_the_champion_beats_greedy(players: int) -> None:
    (result,) = evaluate("champion", ["greedy"], players, deals=60)
    assert result.illegal_actions == 0
    assert result.win_share > 1.1 * result.par
