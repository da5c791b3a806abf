"""The policies that come with the package: they load, play legally where they were trained, and are no beginners."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from phase10_agents.base import AgentError
from phase10_agents.catalog import load_agent
from phase10_env import Game, GameBatch
from phase10_training.cli import main
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


@pytest.mark.parametrize("mode", ["full", "compact"])
def test_the_champion_finds_the_candidate_features_of_a_full_view_itself(mode: str) -> None:
    champion = load_agent("champion")
    batches = [
        GameBatch(64, 2, seed=5, actions=mode, observation=level, episode="round", start="mixed")
        for level in ("full", "candidates")
    ]
    for _ in range(60):
        full, candidates = (batch.view() for batch in batches)
        actions = champion.act(candidates)
        assert (champion.act(full) == actions).all()
        for batch in batches:
            batch.step(actions)
    bare = batches[0].view(information=False)
    with pytest.raises(AgentError, match="observation='candidates'"):
        champion.act(bare)


def test_the_champion_plays_wherever_an_agent_may_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    position = tmp_path / "position.json"
    position.write_text(json.dumps(Game(num_players=2, seed=3, dealer=0).position()))
    assert main(["explain", str(position), "--agent", "champion"]) == 0
    assert "draw" in capsys.readouterr().out
    envs = gymnasium.make_vec("phase10/Phase10-v0", num_envs=4, opponents="champion")
    _, infos = envs.reset(seed=1)
    for _ in range(20):
        *_, infos = envs.step(infos["action_mask"].argmax(axis=1))
    envs.close()
