"""The adapter to Stable-Baselines3: its checks, masks, ends of episodes, training, and models as agents."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import VecMonitor

from phase10_agents.base import AgentError
from phase10_agents.catalog import load_agent
from phase10_agents.sb3_agent import SB3Agent, load_sb3_agent, mark_model
from phase10_env import DecisionView, GameBatch, RuleSet
from phase10_env.compat.sb3 import Phase10VecEnv, scaled_policy
from phase10_env.rules.state import BUILD
from phase10_env.vector import Phase10Env
from phase10_training.errors import UsageError
from phase10_training.metrics import read_metrics
from phase10_training.sb3 import SB3Settings, train_sb3

QUICK = RuleSet(name="quick", phases=("set 2",), hand_size=5, max_turns=40, max_rounds=6)


class Uniform:
    name = "uniform"

    def act(self, view: DecisionView) -> np.ndarray:
        place = (view.random >> np.uint64(33)).astype(np.int64) % view.legal_counts
        return view.legal_actions[np.arange(len(view)), place]


def make(num_envs: int = 6, **options: Any) -> Phase10VecEnv:
    return Phase10VecEnv(num_envs, **{"opponents": Uniform(), "ruleset": QUICK, **options})


def legal(envs: Any) -> np.ndarray:
    return np.stack(envs.env_method("action_masks")).argmax(axis=1)


def small_model(envs: Any, **options: Any) -> MaskablePPO:
    return MaskablePPO(
        "MlpPolicy",
        envs,
        **{"n_steps": 16, "batch_size": 64, "n_epochs": 2, "seed": 1, "device": "cpu", **options},
    )


def test_the_single_environment_passes_their_check() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(Phase10Env(opponents=Uniform()), skip_render_check=True)


def test_masks_are_found_by_sb3_contrib_and_are_those_of_the_batch() -> None:
    envs = make()
    envs.reset()
    assert is_masking_supported(envs)
    assert is_masking_supported(VecMonitor(envs))
    for _ in range(30):
        masks = get_action_masks(envs)
        assert masks.shape == (6, 165)
        assert (masks == envs.games.batch.action_masks).all()
        assert masks.any(axis=1).all()
        envs.step(legal(envs))
    assert (np.stack(envs.env_method("action_masks", indices=[2, 0])) == get_action_masks(envs)[[2, 0]]).all()


def test_an_end_brings_the_last_observation_and_the_episode() -> None:
    envs = make(reward="win", learner_seat=0)
    envs.seed(3)
    observations = envs.reset()
    returns, lengths = np.zeros(6), np.zeros(6, int)
    ends = 0
    for _ in range(200):
        observations, rewards, dones, infos = envs.step(legal(envs))
        returns += rewards
        lengths += 1
        for row in np.flatnonzero(dones):
            info = infos[row]
            assert info["terminal_observation"].shape == observations[row].shape
            assert (info["terminal_observation"] != observations[row]).any()
            assert info["episode"]["r"] == pytest.approx(returns[row])
            assert info["episode"]["l"] == lengths[row]
            assert (info["rank"] == 1) == (rewards[row] > 0)
            returns[row] = lengths[row] = 0
            ends += 1
        assert all("terminal_observation" not in infos[row] for row in np.flatnonzero(~dones))
    assert ends > 5


def test_a_game_at_the_cap_is_marked_as_truncated() -> None:
    envs = make(2, ruleset=RuleSet(name="endless", phases=("set 10",), max_turns=2))
    envs.reset()
    marks = []
    for _ in range(12):
        _, rewards, dones, infos = envs.step(legal(envs))
        marks += [infos[row]["TimeLimit.truncated"] for row in np.flatnonzero(dones)]
        assert (rewards == 0).all()
    assert marks
    assert all(marks)


def test_their_monitor_and_ours_agree() -> None:
    plain, monitored = make(), VecMonitor(make())
    for envs in (plain, monitored):
        envs.seed(5)
        envs.reset()
    episodes = 0
    for _ in range(120):
        first, second = plain.step(legal(plain))[3], monitored.step(legal(monitored))[3]
        for ours, theirs in zip(first, second, strict=True):
            assert ("episode" in ours) == ("episode" in theirs)
            if "episode" in ours:
                assert ours["episode"]["r"] == pytest.approx(theirs["episode"]["r"])
                assert ours["episode"]["l"] == theirs["episode"]["l"]
                episodes += 1
    assert episodes > 3


def test_equal_seeds_give_equal_games_and_what_was_returned_stays() -> None:
    first, second = make(), make()
    seen: list[Any] = []
    for envs in (first, second):
        envs.seed(7)
        returned = [envs.reset()]
        kept = copy.deepcopy(returned)
        for _ in range(20):
            step = envs.step(legal(envs))
            returned.append(step[0])
            kept.append(step[0].copy())
        assert all((a == b).all() for a, b in zip(returned, kept, strict=True))
        seen.append(np.stack(kept))
    assert (seen[0] == seen[1]).all()
    first.seed(8)
    assert (first.reset() != seen[0][0]).any()


def test_attributes_are_shared_by_all_environments() -> None:
    envs = make(3, render_mode="ansi")
    envs.reset()
    assert envs.get_attr("render_mode") == ["ansi"] * 3
    assert envs.get_attr("num_envs", indices=1) == [3]
    assert not envs.has_attr("no_such_thing")
    assert envs.env_is_wrapped(object) == [False] * 3  # type: ignore[arg-type]
    assert all("Phase 10" in picture for picture in envs.env_method("render"))
    envs.set_attr("render_mode", "rgb_array")
    image = envs.render()
    assert image is not None
    assert image.dtype == np.uint8
    assert image.shape[2] == 3
    envs.close()
    with pytest.raises(ValueError, match="render_mode is shared by all environments"):
        envs.set_attr("render_mode", None, indices=[0])
    with pytest.raises(AttributeError, match="expected the method 'action_masks' or 'render', found 'step'"):
        envs.env_method("step")
    with pytest.raises(ValueError, match="render_mode must be 'ansi', 'rgb_array' or None, found 'human'"):
        make(render_mode="human")


def test_maskable_ppo_learns_and_its_model_plays_as_an_agent(tmp_path: Path) -> None:
    envs = make(8)
    model = small_model(envs, policy_kwargs=scaled_policy(envs.games.batch.layout))
    before = [parameter.detach().clone() for parameter in model.policy.parameters()]
    model.learn(512)
    assert model.num_timesteps == 512
    moved = [bool((a != b).any()) for a, b in zip(before, model.policy.parameters(), strict=True)]
    assert any(moved)
    assert len(model.ep_info_buffer) > 0
    model.save(tmp_path / "model")

    batch = GameBatch(16, ruleset=QUICK, seed=3)
    played = [
        SB3Agent(model),
        *(load_sb3_agent(path) for path in (tmp_path, tmp_path / "model", tmp_path / "model.zip")),
    ]
    for _ in range(20):
        actions = [agent.act(batch.view()) for agent in played]
        assert all((chosen == actions[0]).all() for chosen in actions)
        assert batch.action_masks[np.arange(16), actions[0]].all()
        batch.step(actions[0])
    assert load_agent(f"sb3:{tmp_path}").name == f"sb3:{tmp_path}"


def test_the_scaled_policy_sees_entries_near_one() -> None:
    envs = make(8, ruleset="official", episode="round", start="mixed")
    layout = envs.games.batch.layout
    model = small_model(envs, policy_kwargs=scaled_policy(layout))
    observations = envs.reset()
    tensor, _ = model.policy.obs_to_tensor(observations)
    seen = model.policy.extract_features(tensor)
    assert np.allclose(seen.numpy(), observations * layout.scale)
    assert seen.abs().max() < 8


def test_masks_reach_the_policy_whatever_the_model_prefers() -> None:
    """An untrained policy prefers illegal actions nearly everywhere."""
    envs = make(4)
    agent = SB3Agent(small_model(envs))
    batch = GameBatch(64, ruleset=QUICK, seed=1)
    unmasked, _ = agent.model.predict(batch.observations, deterministic=True)
    assert not batch.action_masks[np.arange(64), unmasked].all()
    for deterministic in (True, False):
        agent.deterministic = deterministic
        assert batch.action_masks[np.arange(64), agent.act(batch.view())].all()


def test_a_model_for_other_observations_is_refused() -> None:
    agent = SB3Agent(small_model(make(4)), name="mine")
    with pytest.raises(
        AgentError, match=r"agent 'mine' expects observations of shape \(\d+,\), found \(\d+,\)"
    ):
        agent.act(GameBatch(2, num_players=4).view())
    mark_model(agent.model, "00000000", 2, "full")
    with pytest.raises(AgentError, match="reads observations of layout 00000000, found"):
        SB3Agent(agent.model).act(GameBatch(2).view())
    mark_model(agent.model, GameBatch(2).layout.digest, 3, "full")
    with pytest.raises(AgentError, match="was trained for 3 players, found 2"):
        SB3Agent(agent.model).act(GameBatch(2).view())


def test_a_model_trained_on_compact_actions_plays_the_same_moves_in_full_mode() -> None:
    envs = make(4, ruleset="official")
    model = small_model(envs)
    mark_model(model, envs.games.batch.layout.digest, 2, "compact")
    agent = SB3Agent(model)
    # phases without colours, so that a compact action stands for any colour of its number
    compact = GameBatch(32, ruleset="short-5", seed=1, actions="compact")
    full = GameBatch(32, ruleset="short-5", seed=1)
    for _ in range(60):
        first, second = agent.act(compact.view()), agent.act(full.view())
        assert full.action_masks[np.arange(32), second].all()
        if BUILD in compact.games["stage"] or BUILD in full.games["stage"]:
            break  # building is spelled differently in the two modes
        assert (first == second).all()
        compact.step(first)
        full.step(second)
    assert compact.games["decisions"].min() > 3


def test_files_that_hold_no_model_are_refused_with_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="found no file"):
        load_sb3_agent(tmp_path / "nothing")
    (tmp_path / "text.zip").write_text("no model")
    with pytest.raises(AgentError, match="found no zip archive"):
        load_agent(f"sb3:{tmp_path / 'text.zip'}")
    envs = make(2)
    small_model(envs).save(tmp_path / "good")
    data = (tmp_path / "good.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[: len(data) // 2])
    with pytest.raises(AgentError, match="found no zip archive"):
        load_sb3_agent(tmp_path / "cut.zip")
    damaged = bytearray(data)
    damaged[len(data) // 3 : len(data) // 3 + 2000] = bytes(2000)
    (tmp_path / "damaged.zip").write_bytes(bytes(damaged))
    with pytest.raises(AgentError, match="is no model of MaskablePPO that this installation can read"):
        load_sb3_agent(tmp_path / "damaged.zip")
    PPO("MlpPolicy", envs, n_steps=8, batch_size=16, device="cpu").save(tmp_path / "unmasked")
    with pytest.raises(AgentError, match="is no model of MaskablePPO"):
        load_sb3_agent(tmp_path / "unmasked.zip")


TINY = SB3Settings(
    total_decisions=256,
    ruleset="short-5",
    opponents="random",
    num_envs=8,
    steps=16,
    batch_size=64,
    epochs=1,
    network=(16,),
    save_every=128,
    evaluate_every=128,
    deals=4,
    final_deals=6,
    against=("random",),
)


def test_a_training_run_is_logged_saved_evaluated_and_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    results = train_sb3(TINY, folder)
    assert [(result.opponent, result.deals, result.illegal_actions) for result in results] == [
        ("random", 6, 0)
    ]
    assert json.loads((folder / "evaluation.json").read_text())[0]["win_share"] == results[0].win_share
    lines = read_metrics(folder)
    assert [line["step"] for line in lines] == [128, 256]
    assert {"eval/win_share_random", "time/fps"} <= set(lines[-1])
    assert "train/value_loss" in lines[-1]
    assert list((folder / "tensorboard").iterdir())
    assert load_agent(f"sb3:{folder}").act(GameBatch(2, ruleset="short-5").view()).shape == (2,)
    assert load_sb3_agent(folder)._trained_on["actions"] == "compact"
    assert not list(folder.glob(".*"))

    with pytest.raises(UsageError, match="already holds a run; go on with --resume"):
        train_sb3(TINY, folder)
    longer = SB3Settings(
        **{**{key: getattr(TINY, key) for key in TINY.__struct_fields__}, "total_decisions": 384}
    )
    train_sb3(longer, folder, resume=True)
    assert [line["step"] for line in read_metrics(folder)] == [128, 256, 384]
    with pytest.raises(UsageError, match=r"total_decisions expects at least 384, .* found 256"):
        train_sb3(TINY, folder, resume=True)
    assert json.loads((folder / "settings.json").read_text())["total_decisions"] == 384
    with pytest.raises(UsageError, match=r"holds no model\.zip"):
        train_sb3(TINY, tmp_path / "empty", resume=True)
