"""TorchRL and Tianshou play whole episodes through their own wrappers, and keep to the masks."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from phase10_env import DecisionView, RuleSet, phase10_v0
from phase10_env.vector import ENV_ID

# both libraries warn of versions, of types and of their own plans
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

QUICK = RuleSet(name="quick", phases=("set 2",), hand_size=5, max_turns=40, max_rounds=6)
ROUNDS = QUICK.replace(phases=("set 2", "set 3"))


class Uniform:
    name = "uniform"

    def act(self, view: DecisionView) -> np.ndarray:
        place = (view.random >> np.uint64(33)).astype(np.int64) % view.legal_counts
        return view.legal_actions[np.arange(len(view)), place]


@pytest.mark.parametrize(("num_players", "reward"), [(2, "win"), (3, "points")])
def test_torchrl_plays_whole_games_through_its_pettingzoo_wrapper(num_players: int, reward: str) -> None:
    torch = pytest.importorskip("torch")
    wrappers = pytest.importorskip("torchrl.envs.libs.pettingzoo", reason="needs the extra wrappers")
    table = phase10_v0.env(num_players=num_players, ruleset=ROUNDS, reward=reward)
    env = wrappers.PettingZooWrapper(table, use_mask=True, return_state=True, categorical_actions=True)
    for seed in range(3):
        torch.manual_seed(seed)
        env.set_seed(seed)
        games = env.rollout(5000)
        assert bool(games["next", "done"][-1])
        assert not games["next", "done"][:-1].any()
        decisions = torch.zeros(len(games), dtype=torch.int64)
        returns = []
        for agent in table.possible_agents:
            acts, mask = games[agent, "mask"][:, 0], games[agent, "action_mask"][:, 0]
            chosen = mask.gather(1, games[agent, "action"]).squeeze(1)
            assert chosen[acts].all(), "an illegal action"
            decisions += acts
            returns.append(float(games["next", agent, "reward"].sum()))
        assert (decisions == 1).all(), "one seat acts at a time"
        assert sum(returns) == pytest.approx(0.0, abs=1e-5)
        assert {info["rank"] for info in table.unwrapped.infos.values()} <= set(range(num_players + 1))
        if reward == "win" and all(info["rank"] for info in table.unwrapped.infos.values()):
            assert max(returns) == pytest.approx(1.0)


def test_torchrl_plays_the_gymnasium_environment_with_its_own_action_mask() -> None:
    torch = pytest.importorskip("torch")
    envs = pytest.importorskip("torchrl.envs", reason="needs the extra wrappers")
    from torchrl.data import Binary, Composite
    from torchrl.envs.gym_like import default_info_dict_reader

    base = envs.GymWrapper(
        gymnasium.make(ENV_ID, opponents=Uniform(), ruleset=QUICK), categorical_action_encoding=True
    )
    masks = Composite(action_mask=Binary(165, dtype=torch.bool))
    base.set_info_dict_reader(default_info_dict_reader(["action_mask"], spec=masks))
    env = envs.TransformedEnv(base, envs.ActionMask())
    env.set_seed(1)
    for _ in range(3):
        games = env.rollout(5000)
        assert bool(games["next", "done"][-1])
        assert games["action_mask"].gather(1, games["action"][:, None]).all()
        reward = float(games["next", "reward"].sum())
        assert reward in (-1.0, 0.0, 1.0)


def test_tianshou_collects_whole_games_through_its_pettingzoo_wrapper() -> None:
    data = pytest.importorskip("tianshou.data", reason="needs the extra wrappers")
    from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
    from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
    from tianshou.env import DummyVectorEnv, PettingZooEnv

    def make() -> Any:
        return PettingZooEnv(phase10_v0.env(num_players=3, ruleset=QUICK))

    first = make()
    seats = [MARLRandomDiscreteMaskedOffPolicyAlgorithm(first.action_space) for _ in range(3)]
    together = MultiAgentOffPolicyAlgorithm(algorithms=seats, env=first)
    kept = data.VectorReplayBuffer(20_000, 2)
    collector = data.Collector(together, DummyVectorEnv([make, make]), kept)
    result = collector.collect(n_episode=6, reset_before_collect=True)
    assert result.n_collected_episodes == 6
    assert len(result.returns) == 6
    for returns in result.returns:
        assert returns.sum() == pytest.approx(0.0, abs=1e-6)
        assert returns.max() in (0.0, 0.25, 1.0)  # a cap; a shared win; a win
    batch = kept[:]
    assert set(batch.obs.agent_id) == {"player_0", "player_1", "player_2"}
    assert np.take_along_axis(batch.obs.mask, batch.act[:, None], axis=1).all()
