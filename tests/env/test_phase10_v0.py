"""The PettingZoo environments: PettingZoo's own tests, rewards, seeds, copies, masks and errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test
from pettingzoo.test.state_test import state_test

from phase10_env import Game, GameBatch, IllegalActionError, RuleSet, phase10_v0
from phase10_env.actions import ActionError
from phase10_env.observation import observation_layout

PRESETS = ("official", "next-player-skip", "pick-a-phase", "ten-rounds", "short-5")
# short games: one phase that is soon laid, few turns
QUICK = RuleSet(name="quick", phases=("set 2",), hand_size=5, max_turns=40, max_rounds=6)
ROUNDS = QUICK.replace(phases=("set 2", "set 2", "set 3"))  # games of several rounds


def choose(mask: np.ndarray, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def mask_of(observation: Any, info: dict[str, Any]) -> np.ndarray:
    return info["action_mask"] if "action_mask" in info else observation["action_mask"]


def play(env: Any, seed: int, steps: int = 10**9) -> dict[str, float]:
    """Play random legal actions to the end; return the sum of what last() paid each agent."""
    rng = np.random.default_rng(seed)
    returns = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter(steps):
        observation, reward, termination, truncation, info = env.last()
        returns[agent] += reward
        env.step(None if termination or truncation else choose(mask_of(observation, info), rng))
    return returns


@pytest.mark.parametrize("mask_in", ["observation", "info"])
@pytest.mark.parametrize(("num_players", "ruleset"), list(zip(range(2, 7), PRESETS, strict=True)))
def test_pettingzoo_accepts_the_environment(num_players: int, ruleset: str, mask_in: str) -> None:
    def make(**options: Any) -> Any:
        return phase10_v0.env(num_players=num_players, ruleset=ruleset, mask_in=mask_in, **options)

    api_test(make(), num_cycles=60)
    api_test(phase10_v0.raw_env(num_players=num_players, ruleset=ruleset, mask_in=mask_in), num_cycles=60)
    seed_test(make, num_cycles=20)


@pytest.mark.parametrize("mask_in", ["observation", "info"])
@pytest.mark.parametrize(("num_players", "ruleset"), [(2, QUICK), (4, "next-player-skip"), (6, "official")])
def test_pettingzoo_accepts_the_parallel_environment(num_players: int, ruleset: Any, mask_in: str) -> None:
    parallel_api_test(
        phase10_v0.parallel_env(num_players=num_players, ruleset=ruleset, mask_in=mask_in), num_cycles=150
    )


@pytest.mark.parametrize("num_players", [2, 6])
def test_every_render_mode_gives_what_pettingzoo_expects(num_players: int) -> None:
    render_test(lambda **options: phase10_v0.env(num_players=num_players, **options))


def test_the_state_lies_in_its_space() -> None:
    # actions are sampled without a mask there, so that illegal ones end games
    state_test(phase10_v0.env(num_players=3), phase10_v0.parallel_env(num_players=3), num_cycles=5)


def test_the_state_is_the_acting_observation_and_the_hidden_cards() -> None:
    env = phase10_v0.raw_env(num_players=3)
    env.reset(seed=5)
    state = env.state()
    seen = env.observe(env.agent_selection)["observation"]
    assert (state[: len(seen)] == seen).all()
    hands = state[len(seen) + 50 + 6 * 18 + 108 :].reshape(3, -1)[:, :50]
    assert hands.sum(axis=1).tolist() == [10, 10, 10]


@pytest.mark.parametrize("mask_in", ["observation", "info"])
def test_only_the_agent_to_act_has_a_mask(mask_in: str) -> None:
    env = phase10_v0.raw_env(num_players=4, mask_in=mask_in)
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(50):
        for agent in env.agents:
            mask = mask_of(env.observe(agent), env.infos[agent])
            assert mask.any() == (agent == env.agent_selection)
        env.step(choose(mask_of(env.observe(env.agent_selection), env.infos[env.agent_selection]), rng))


def test_what_was_observed_does_not_change_later() -> None:
    env = phase10_v0.raw_env(num_players=3)
    env.reset(seed=1)
    kept = [env.observe(agent) for agent in env.agents]
    copies = copy.deepcopy(kept)
    play(env, 1, steps=30)
    for seen, before in zip(kept, copies, strict=True):
        assert (seen["observation"] == before["observation"]).all()
        assert (seen["action_mask"] == before["action_mask"]).all()


def test_every_agent_is_observed_from_its_own_seat() -> None:
    env = phase10_v0.raw_env(num_players=3)
    game = Game(num_players=3, seed=9)
    env.reset(seed=9)
    for seat, agent in enumerate(env.agents):
        assert (env.observe(agent)["observation"] == game.observation(seat)).all()


@pytest.mark.parametrize("num_players", [2, 5])
def test_a_seed_deals_the_game_of_that_seed(num_players: int) -> None:
    env = phase10_v0.env(num_players=num_players)
    for seed in (0, 7, 2**63):
        env.reset(seed=seed)
        game = Game(num_players=num_players, seed=seed)
        for _ in range(30):
            assert env.agent_selection == f"player_{game.to_act}"
            mask = env.last()[0]["action_mask"]
            action = int(np.flatnonzero(mask)[-1])
            env.step(action)
            game.play(action)


def test_without_a_seed_the_stream_goes_on() -> None:
    first, second = phase10_v0.raw_env(), phase10_v0.raw_env()
    first.reset(seed=3)
    second.reset(seed=3)
    seen = []
    for _ in range(3):
        first.reset()
        second.reset()
        seen.append(first.state().tobytes())
        assert second.state().tobytes() == seen[-1]
    assert len(set(seen)) == 3
    assert (Game(seed=3, episode=3).observation(0) == first.observe("player_0")["observation"]).all()


def test_two_unseeded_environments_deal_different_games() -> None:
    first, second = phase10_v0.raw_env(), phase10_v0.raw_env()
    first.reset()
    second.reset()
    assert (first.state() != second.state()).any()


def test_resetting_keeps_every_option() -> None:
    options: dict[str, Any] = {
        "num_players": 3,
        "ruleset": "pick-a-phase",
        "actions": "compact",
        "observation": "basic",
        "pad_seats": True,
        "episode": "round",
        "reward": "points",
        "start": {"scores": [10, 20, 30]},
        "mask_in": "info",
    }
    env = phase10_v0.raw_env(**options)
    for seed in (None, 1, None):
        env.reset(seed=seed)
        game = env.unwrapped._batch.games[0]
        assert game["score"][:3].tolist() == [10, 20, 30]
        assert (game["compact"], game["single_round"]) == (1, 1)
        assert env.observe("player_0").shape == (observation_layout(3, "basic", True).size,)
        assert env.ruleset.name == "pick-a-phase"
        play(env, 1)
        assert env.unwrapped._batch.reward == "points"


def test_options_of_reset_may_change_the_start() -> None:
    env = phase10_v0.env(episode="round")
    env.reset(seed=4, options={"start": {"phases": [3, 8], "dealers": 1}})
    for _ in range(2):
        game = env.unwrapped._batch.games[0]
        assert game["phase"][:2].tolist() == [2, 7]
        assert game["dealer"] == 1
        env.reset()
    assert game["episode"] == 2


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(("reward", "num_players"), [("win", 3), ("rank", 4), ("points", 2), ("equity", 5)])
def test_what_last_pays_is_the_return_and_sums_to_zero(reward: str, num_players: int, wrapped: bool) -> None:
    make = phase10_v0.env if wrapped else phase10_v0.raw_env
    env = make(num_players=num_players, ruleset=ROUNDS, reward=reward)
    batch = GameBatch(1, num_players, ROUNDS, seeds=[11], reward=reward, auto_reset=False)
    paid_to_many = 0
    for seed in range(11, 15):
        env.reset(seed=seed)
        returns = play(env, seed)
        batch.games["seed"] = seed
        batch.games["episode"] = -1
        batch.reset()
        rng = np.random.default_rng(seed)
        expected = np.zeros(num_players)
        while not (batch.terminations[0] or batch.truncations[0]):
            batch.step([choose(batch.action_masks[0], rng)])
            expected += batch.rewards[0]
        assert list(returns.values()) == pytest.approx(expected.tolist(), abs=1e-6)
        assert sum(returns.values()) == pytest.approx(0, abs=1e-6)
        paid_to_many += sum(value != 0 for value in returns.values()) > 1
    assert paid_to_many


def test_a_sole_winner_gets_one_and_the_others_share_the_loss() -> None:
    env = phase10_v0.env(num_players=4, ruleset=QUICK.replace(tie_break="go_out"))
    env.reset(seed=2)
    returns = sorted(play(env, 2).values())
    assert returns == pytest.approx([-1 / 3, -1 / 3, -1 / 3, 1])


def test_final_infos_tell_how_each_agent_came_off() -> None:
    env = phase10_v0.raw_env(num_players=3, ruleset=QUICK)
    env.reset(seed=2)
    while not any(env.terminations.values()):
        env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[0]))
    ranks = {agent: info["rank"] for agent, info in env.infos.items()}
    assert sorted(ranks.values())[0] == 1
    winner = min(ranks, key=ranks.__getitem__)
    assert env.infos[winner]["phases"] == 1
    assert env.infos[winner]["score"] <= max(info["score"] for info in env.infos.values())


def test_a_game_at_the_cap_is_truncated_and_pays_nothing() -> None:
    rules = RuleSet(name="endless", phases=("set 10",), max_turns=3)
    env = phase10_v0.env(num_players=2, ruleset=rules)
    env.reset(seed=1)
    ends = []
    for _ in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        assert reward == 0
        if termination or truncation:
            ends.append((termination, truncation))
        env.step(None if truncation else int(np.flatnonzero(observation["action_mask"])[0]))
    assert ends == [(False, True)] * 2


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("steps", [1, 18, 45])
def test_a_copy_in_the_middle_of_a_turn_goes_on_alike(how: str, wrapped: bool, steps: int) -> None:
    make = phase10_v0.env if wrapped else phase10_v0.raw_env
    env = make(num_players=3, ruleset=QUICK)
    env.reset(seed=8)
    play(env, 3, steps=steps)
    twin = copy.deepcopy(env) if how == "deepcopy" else pickle.loads(pickle.dumps(env))
    before = twin.unwrapped.state().tobytes()
    first = play(env, 4)
    assert twin.unwrapped.state().tobytes() == before, "the copy shares memory with the original"
    assert play(twin, 4) == first
    env.reset()
    twin.reset()
    assert (env.state() == twin.state()).all()


def test_a_copy_of_a_parallel_environment_goes_on_alike() -> None:
    env = phase10_v0.parallel_env(num_players=3)
    env.reset(seed=8)
    twin = pickle.loads(pickle.dumps(env))
    for _ in range(40):
        seen = [e.step({a: int(e._mask.argmax()) for a in e.agents}) for e in (env, twin)]
        assert str(seen[0]) == str(seen[1])


def test_an_illegal_action_ends_a_wrapped_game_and_is_refused_by_the_raw_one() -> None:
    env = phase10_v0.env(num_players=3)
    env.reset(seed=1)
    offender = env.agent_selection
    env.step(164)
    returns = {}
    for agent in env.agent_iter():
        _, reward, termination, _, _ = env.last()
        assert termination
        returns[agent] = reward
        env.step(None)
    assert returns == {agent: -1.0 if agent == offender else 0.0 for agent in env.possible_agents}
    env.reset()
    assert env.agents == env.possible_agents

    raw = phase10_v0.raw_env(num_players=3)
    raw.reset(seed=1)
    state = raw.state()
    for action, reason in ((164, "turn begins with a draw"), (165, "there is no action"), (-1, "no action")):
        with pytest.raises(IllegalActionError, match=reason):
            raw.step(action)
    with pytest.raises(ValueError, match=r"table has 165|from 0 to 164"):
        raw.step(10**30)
    for wrong in (1.5, None, "draw"):
        with pytest.raises(ActionError, match="expected an action index from 0 to 164, found "):
            raw.step(wrong)  # type: ignore[arg-type]
    assert (raw.state() == state).all()
    raw.step(np.int32(0))


def test_actions_of_agents_not_to_act_are_ignored_in_parallel() -> None:
    env = phase10_v0.parallel_env(num_players=3)
    observations, infos = env.reset(seed=1)
    acting = infos["player_0"]["active_agent"]
    assert [agent for agent in env.agents if observations[agent]["action_mask"].any()] == [acting]
    twin = phase10_v0.parallel_env(num_players=3)
    twin.reset(seed=1)
    everyone = env.step(dict.fromkeys(env.agents, 0))
    alone = twin.step({acting: 0})
    assert str(everyone) == str(alone)
    with pytest.raises(ValueError, match="expected an action of player_"):
        env.step({})


def test_an_illegal_action_ends_a_parallel_game() -> None:
    env = phase10_v0.parallel_env(num_players=3)
    _, infos = env.reset(seed=1)
    acting = infos["player_0"]["active_agent"]
    _, rewards, terminations, truncations, _ = env.step({acting: 164})
    assert rewards == {agent: -1.0 if agent == acting else 0.0 for agent in env.possible_agents}
    assert all(terminations.values())
    assert all(truncations.values())
    assert env.agents == []
    assert env.step({}) == ({}, {}, {}, {}, {})


def test_the_parallel_game_is_the_aec_game() -> None:
    aec = phase10_v0.raw_env(num_players=3, ruleset=QUICK)
    parallel = phase10_v0.parallel_env(num_players=3, ruleset=QUICK)
    aec.reset(seed=6)
    parallel.reset(seed=6)
    rng = np.random.default_rng(6)
    while parallel.agents:
        acting = aec.agent_selection
        action = choose(aec.observe(acting)["action_mask"], rng)
        aec.step(action)
        observations, rewards, terminations, _, _ = parallel.step({acting: action})
        assert rewards == aec.rewards
        assert terminations == aec.terminations
        for agent in aec.agents:
            assert (observations[agent]["observation"] == aec.observe(agent)["observation"]).all()


def test_an_action_without_a_reset_is_refused_by_the_wrapped_environment() -> None:
    env = phase10_v0.env()
    for name in ("agents", "agent_selection", "rewards", "infos"):
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(env, name)
    env.reset()
    with pytest.raises(AssertionError, match="action is not in action space"):
        env.step(165)
    assert str(env) == "phase10_v0"


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="this PettingZoo has no registry")
def test_the_registry_makes_both_environments() -> None:
    aec = pettingzoo.make("aec", phase10_v0.ENV_ID, num_players=5)
    assert aec.possible_agents[-1] == "player_4"
    parallel = pettingzoo.make("parallel", phase10_v0.ENV_ID, num_players=2)
    assert isinstance(parallel, pettingzoo.ParallelEnv)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 7}, "expected 2 to 6 players"),
        ({"ruleset": "offical"}, "unknown ruleset 'offical'"),
        ({"mask_in": "obs"}, "mask_in must be one of observation, info, found 'obs'"),
        ({"render_mode": "svg"}, "render_mode must be one of ansi, human, rgb_array, found 'svg'"),
        ({"observation": "raw"}, "observation must be one of basic, full, candidates, found 'raw'"),
        ({"actions": "all"}, "actions must be one of full, compact, found 'all'"),
        ({"episode": "round", "reward": "win"}, "reward 'win' needs whole games"),
    ],
)
def test_wrong_arguments_are_refused_with_one_sentence(options: dict[str, Any], message: str) -> None:
    for make in (phase10_v0.env, phase10_v0.parallel_env):
        with pytest.raises(ValueError, match=message):
            make(**options)


def test_human_rendering_writes_the_table_once_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    env = phase10_v0.raw_env(render_mode="human")
    env.reset(seed=1)
    env.step(0)
    env.close()
    assert capsys.readouterr().out.count("Phase 10") == 2


def test_rendering_without_a_mode_warns_and_gives_nothing() -> None:
    env = phase10_v0.raw_env()
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
