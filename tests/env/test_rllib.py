"""The adapter to RLlib: turns, keys, rewards, ends; training on a cluster of two nodes and what it exports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray", reason="needs the extra rllib")

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from phase10_agents.catalog import load_agent
from phase10_agents.neural.checkpoint import load_checkpoint
from phase10_env import RuleSet, phase10_v0
from phase10_env.compat.rllib import POLICY, MaskedModule, Phase10MultiAgentEnv
from phase10_training.errors import UsageError
from phase10_training.evaluate import evaluate
from phase10_training.metrics import read_metrics
from phase10_training.rllib import RLlibSettings, ppo_config, train_rllib

# Ray leaves warnings of its own behind: files and sockets that it closes late, names that it will rename
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

QUICK = RuleSet(name="quick", phases=("set 2",), hand_size=5, max_turns=40, max_rounds=6)
ROUNDS = QUICK.replace(phases=("set 2", "set 2", "set 3"))

TINY = RLlibSettings(
    total_decisions=512,
    ruleset=QUICK.to_dict(),
    episode="game",
    reward="win",
    env_runners=2,
    envs_per_runner=2,
    decisions=256,
    minibatch=64,
    epochs=1,
    actor=(32, 32),
    critic=(32, 32),
    final_deals=5,
    against=("random",),
)


def play(env: Phase10MultiAgentEnv, seed: int) -> tuple[dict[str, float], list[tuple[str, int]], Any]:
    """Play random legal actions to the end; return the returns, the moves and the last step."""
    rng = np.random.default_rng(seed)
    observations, _ = env.reset(seed=seed)
    returns = dict.fromkeys(env.possible_agents, 0.0)
    moves = []
    while True:
        [(agent, seen)] = observations.items()
        assert env.observation_spaces[agent].contains(seen)
        action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
        moves.append((agent, action))
        step = env.step({agent: action})
        assert set(step[1]) == set(env.possible_agents)
        for each, reward in step[1].items():
            returns[each] += reward
        if step[2]["__all__"] or step[3]["__all__"]:
            return returns, moves, step
        observations = step[0]


def test_only_the_seat_to_act_is_observed_with_the_keys_of_masking_modules() -> None:
    env = Phase10MultiAgentEnv({"num_players": 3, "ruleset": QUICK})
    observations, infos = env.reset(seed=4)
    [(agent, seen)] = observations.items()
    assert set(seen) == {"observations", "action_mask"}
    assert seen["action_mask"].dtype == np.float32
    assert seen["observations"].dtype == np.uint8
    assert list(infos) == [agent]
    table = phase10_v0.raw_env(num_players=3, ruleset=QUICK)
    table.reset(seed=4)
    assert table.agent_selection == agent
    assert (table.observe(agent)["observation"] == seen["observations"]).all()
    assert (table.observe(agent)["action_mask"] == seen["action_mask"]).all()


@pytest.mark.parametrize(("reward", "ruleset"), [("win", QUICK), ("points", ROUNDS), ("equity", ROUNDS)])
def test_rewards_reach_every_seat_and_are_those_of_the_game(reward: str, ruleset: RuleSet) -> None:
    options = {"num_players": 3, "ruleset": ruleset, "reward": reward}
    returns, moves, (observations, _, terminateds, truncateds, infos) = play(Phase10MultiAgentEnv(options), 6)
    table = phase10_v0.raw_env(**options)
    table.reset(seed=6)
    expected = dict.fromkeys(table.possible_agents, 0.0)
    for agent, action in moves:
        assert table.agent_selection == agent
        table.step(action)
        for each, paid in table.rewards.items():
            expected[each] += paid
    assert returns == pytest.approx(expected)
    assert any(returns.values())
    everyone = {*table.possible_agents, "__all__"}
    assert set(observations) == set(table.possible_agents)
    assert set(terminateds) == set(truncateds) == everyone
    assert terminateds["__all__"] != truncateds["__all__"]
    assert {info["rank"] for info in infos.values()} <= {0, 1, 2, 3}


def test_an_illegal_action_ends_the_game_at_the_cost_of_its_seat() -> None:
    env = Phase10MultiAgentEnv({"ruleset": QUICK})
    observations, _ = env.reset(seed=1)
    [(agent, seen)] = observations.items()
    _, rewards, terminateds, _, _ = env.step({agent: int(seen["action_mask"].argmin())})
    assert rewards == {each: -1.0 if each == agent else 0.0 for each in env.possible_agents}
    assert terminateds["__all__"]
    with pytest.raises(ValueError, match="call reset"):
        env.step({agent: 0})


@pytest.mark.parametrize("num_players", [2, 5])
def test_rllib_accepts_the_environment(num_players: int) -> None:
    for seed in range(3):
        env = Phase10MultiAgentEnv({"num_players": num_players, "ruleset": QUICK})
        env.action_spaces["player_0"].seed(seed)
        check_multiagent_environments(env)


def test_wrong_calls_are_refused_with_one_sentence() -> None:
    with pytest.raises(ValueError, match="leave mask_in out"):
        Phase10MultiAgentEnv({"mask_in": "info"})
    env = Phase10MultiAgentEnv()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="expected an action of player_"):
        env.step({})


def test_the_module_gives_illegal_actions_no_chance_and_reuses_its_values() -> None:
    module = ppo_config(TINY).rl_module_spec.rl_module_specs[POLICY].build()
    assert isinstance(module, MaskedModule)
    env = Phase10MultiAgentEnv({"ruleset": QUICK})
    [seen] = env.reset(seed=2)[0].values()
    batch = {Columns.OBS: {key: torch.from_numpy(value[None]) for key, value in seen.items()}}
    legal = seen["action_mask"] > 0
    for forward in (module.forward_inference, module.forward_exploration, module.forward_train):
        logits = forward(batch)[Columns.ACTION_DIST_INPUTS]
        chances = module.action_dist_cls.from_logits(logits)._dist.probs[0].detach().numpy()
        assert (chances[~legal] == 0).all()
        assert (chances[legal] > 0).all()
    trained = module.forward_train(batch)
    again = module.compute_values(batch, embeddings=trained[Columns.EMBEDDINGS])
    assert torch.equal(module.compute_values(batch), again)


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[set[str]]:
    """A local cluster of two nodes with one CPU each; gives the ids of the nodes."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "object_store_memory": 200_000_000}
    )
    cluster.add_node(num_cpus=1, object_store_memory=200_000_000)
    ray.init(address=cluster.address, log_to_driver=False)
    yield {node["NodeID"] for node in ray.nodes()}
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.slow
def test_training_on_two_nodes_exports_an_agent_that_plays_legal_games(
    two_nodes: set[str], tmp_path: Path
) -> None:
    assert len(two_nodes) == 2
    folder = tmp_path / "run"
    [result] = train_rllib(TINY, folder)
    assert result.illegal_actions == 0
    assert result.deals == 5
    lines = read_metrics(folder)
    assert len(lines) == 2
    assert all(np.isfinite(line["train/loss"]) for line in lines)
    assert json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))[0]["opponent"] == "random"

    checkpoint = load_checkpoint(folder)
    start = ppo_config(TINY).rl_module_spec.rl_module_specs[POLICY].build().net.state_dict()
    trained = checkpoint.weights("policy")
    assert set(trained) == set(start)
    assert not torch.equal(trained["input_weight"], start["input_weight"])
    [again] = evaluate(
        load_agent(f"checkpoint:{folder}"), ["greedy"], rules=QUICK, deals=4, actions="full", seed=9
    )
    assert again.illegal_actions == 0

    more = RLlibSettings(
        **{name: getattr(TINY, name) for name in TINY.__struct_fields__} | {"total_decisions": 700}
    )
    train_rllib(more, folder, resume=True)
    assert [line["step"] for line in read_metrics(folder)][:2] == [line["step"] for line in lines]
    assert len(read_metrics(folder)) == 3
    with pytest.raises(UsageError, match="already holds a run"):
        train_rllib(TINY, folder)


@pytest.mark.slow
def test_runners_sit_on_both_nodes_and_keep_to_the_mask(two_nodes: set[str]) -> None:
    algorithm = ppo_config(TINY).build_algo()
    try:
        placed = algorithm.env_runner_group.foreach_env_runner(_node_and_episodes, local_env_runner=False)
    finally:
        algorithm.stop()
    assert {node for node, _ in placed} == two_nodes
    for _, returns in placed:
        for game in returns:  # a sum of -1 would be an illegal action
            assert sum(game) == pytest.approx(0.0, abs=1e-6)


def _node_and_episodes(runner: Any) -> tuple[str, list[list[float]]]:
    import ray

    episodes = runner.sample(num_episodes=3, random_actions=False)
    whole = [episode for episode in episodes if episode.is_done]
    returns = [[single.get_return() for single in episode.agent_episodes.values()] for episode in whole]
    return ray.get_runtime_context().get_node_id(), returns
