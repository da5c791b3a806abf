"""The Gymnasium environments: checks of the libraries, autoreset, opponents, masks, seeds and errors."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import phase10_env.learner_games as learner_games
from phase10_env import DecisionView, Game, IllegalActionError, RuleSet
from phase10_env.learner_games import LearnerGames, load_opponent
from phase10_env.vector import ENV_ID, Phase10Env, Phase10VectorEnv

QUICK = RuleSet(name="quick", phases=("set 2",), hand_size=5, max_turns=40, max_rounds=6)
ROUNDS = QUICK.replace(phases=("set 2", "set 3"))  # games of several rounds


class First:
    """Takes the first legal action and remembers how often it was asked, and for whom."""

    name = "first"

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.seats: set[int] = set()

    def act(self, view: DecisionView) -> np.ndarray:
        self.asked.append(len(view))
        self.seats |= set(view.seats.tolist())
        return view.legal_actions[:, 0]


class Uniform:
    """Draws from each row's own stream, so that equal games are played alike wherever they are stored."""

    name = "uniform"

    def act(self, view: DecisionView) -> np.ndarray:
        place = (view.random >> np.uint64(33)).astype(np.int64) % view.legal_counts
        return view.legal_actions[np.arange(len(view)), place]


class Wrong:
    name = "wrong"

    def act(self, view: DecisionView) -> np.ndarray:
        return np.full(len(view), 164)


class Mute:
    name = "mute"

    def act(self, view: DecisionView) -> np.ndarray:
        return np.zeros(0, np.int64)


def make(**options: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(ENV_ID, **{"opponents": Uniform(), **options})


def make_vec(num_envs: int = 6, **options: Any) -> Phase10VectorEnv:
    envs = gymnasium.make_vec(
        ENV_ID, num_envs=num_envs, **{"opponents": Uniform(), "ruleset": QUICK, **options}
    )
    assert isinstance(envs, Phase10VectorEnv)
    return envs


def sample(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random legal action of each row, 0 where there is none."""
    return np.where(masks, rng.random(masks.shape), -1).argmax(axis=1)


@pytest.mark.parametrize("options", [{}, {"num_players": 4, "episode": "round", "learner_seat": 2}])
def test_gymnasium_accepts_the_single_environment(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*render.*", category=UserWarning)
        check_env(Phase10Env(opponents=Uniform(), **options), skip_render_check=True)
        check_env(make(**options).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("render_mode", ["ansi", "rgb_array"])
def test_pictures_are_drawn_as_the_learner_sees_the_table(render_mode: str) -> None:
    env = make(render_mode=render_mode, num_players=3)
    env.reset(seed=1)
    picture = env.render()
    envs = make_vec(2, render_mode=render_mode, ruleset="official", num_players=3)
    envs.reset(seed=1)
    pictures = envs.render()
    assert pictures is not None
    assert len(pictures) == 2
    if render_mode == "ansi":
        assert isinstance(picture, str)
        assert pictures[0] == picture
    else:
        assert isinstance(picture, np.ndarray)
        assert picture.dtype == np.uint8
        assert (pictures[0] == picture).all()


def test_human_rendering_writes_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    env = make(render_mode="human")
    env.reset(seed=1)
    assert "Phase 10" in capsys.readouterr().out


@pytest.mark.parametrize("num_players", [2, 4])
def test_a_seed_deals_the_game_of_that_seed_to_the_learner(num_players: int) -> None:
    env = make(num_players=num_players, learner_seat=1)
    for seed in (3, 4, 2**63):
        observation, _ = env.reset(seed=seed)
        assert (observation[:50] == Game(num_players, seed=seed).observation(1)[:50]).all()
        if Game(num_players, seed=seed).to_act == 1:
            assert (observation == Game(num_players, seed=seed).observation(1)).all()


def test_the_mask_is_in_the_info_and_from_the_method() -> None:
    env = make()
    _, info = env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(30):
        masks = env.unwrapped.action_masks()  # type: ignore[attr-defined]
        assert info["action_mask"].dtype == np.int8
        assert (info["action_mask"] == masks).all()
        assert masks.any()
        _, _, _, _, info = env.step(int(sample(masks[None], rng)[0]))
    envs = make_vec()
    _, infos = envs.reset(seed=1)
    assert (infos["action_mask"] == envs.action_masks()).all()
    assert infos["_action_mask"].all()
    assert envs.action_masks().any(axis=1).all()


def test_what_was_returned_does_not_change_later() -> None:
    envs = make_vec()
    returned = [envs.reset(seed=1)]
    before = copy.deepcopy(returned)
    rng = np.random.default_rng(1)
    for _ in range(20):
        returned.append(envs.step(sample(envs.action_masks(), rng)))  # type: ignore[arg-type]
        before.append(copy.deepcopy(returned[-1]))
    assert data_equivalence(returned, before, exact=True)


def test_without_copies_the_batch_itself_is_returned() -> None:
    envs = make_vec(copy=False)
    observations, _ = envs.reset(seed=1)
    assert np.shares_memory(observations, envs.games.batch.observations)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize(
    "options", [{"num_players": 3, "reward": "points", "ruleset": ROUNDS}, {"num_players": 2}]
)
def test_the_native_vector_environment_is_many_single_ones(
    mode: AutoresetMode, options: dict[str, Any]
) -> None:
    native = make_vec(5, autoreset_mode=mode, **options)
    single = {"opponents": Uniform(), "ruleset": QUICK, **options}
    sync = SyncVectorEnv([lambda: Phase10Env(**single)] * 5, autoreset_mode=mode)
    assert native.single_observation_space == sync.single_observation_space
    assert native.action_space == sync.action_space
    assert native.metadata["autoreset_mode"] is mode
    seen = [native.reset(seed=11), sync.reset(seed=11)]
    assert data_equivalence(*seen, exact=True)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(150):
        masks = native.action_masks()
        actions = sample(masks, rng)
        steps = [native.step(actions), sync.step(actions)]
        for first, second in zip(steps[0][:4], steps[1][:4], strict=True):
            assert (first == second).all()
        assert plain(steps[0][4]) == plain(steps[1][4])
        ended = steps[0][2] | steps[0][3]
        ends += int(ended.sum())
        if mode is AutoresetMode.DISABLED and ended.any():
            resets = [envs.reset(options={"reset_mask": ended.copy()}) for envs in (native, sync)]
            assert (resets[0][0] == resets[1][0]).all()
    assert ends > 2


def plain(infos: dict[str, Any]) -> Any:
    """Return infos as comparable data, with what concerns nobody left out."""
    found: dict[str, Any] = {}
    for key, value in infos.items():
        if key.startswith("_"):
            found[key] = value.tolist()
        elif isinstance(value, dict):
            found[key] = plain(value)
        else:
            found[key] = [str(value[row].tolist()) for row in np.flatnonzero(infos[f"_{key}"])]
    return found


def test_next_step_mode_ignores_the_action_after_the_end_and_pays_nothing() -> None:
    envs = make_vec(3, autoreset_mode="NextStep")
    envs.reset(seed=2)
    rng = np.random.default_rng(2)
    ended = np.zeros(3, bool)
    seen = 0
    for _ in range(120):
        masks = envs.action_masks()
        assert (masks.any(axis=1) == ~ended).all()
        actions = sample(masks, rng)
        actions[ended] = 164
        episodes = envs.games.batch.games["episode"].copy()
        _, rewards, terminated, truncated, infos = envs.step(actions)
        assert (envs.games.batch.games["episode"] - episodes == ended).all()
        assert (rewards[ended] == 0).all()
        assert not (terminated | truncated)[ended].any()
        seen += int(ended.sum())
        ended = terminated | truncated
        assert ("rank" in infos) == bool(ended.any())
        assert "final_obs" not in infos
    assert seen > 2


def test_same_step_mode_gives_the_last_observation_and_info_apart() -> None:
    envs = make_vec(3, autoreset_mode="SameStep", num_players=2, learner_seat=0)
    envs.reset(seed=2)
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(200):
        observations, rewards, terminated, truncated, infos = envs.step(sample(envs.action_masks(), rng))
        ended = terminated | truncated
        assert ("final_obs" in infos) == ended.any()
        assert infos["action_mask"].any(axis=1).all()
        for row in np.flatnonzero(ended):
            last, final = infos["final_obs"][row], infos["final_info"]
            assert last.shape == observations[row].shape
            assert (last != observations[row]).any()
            assert not final["action_mask"][row].any()
            assert final["_rank"][row]
            if terminated[row]:
                assert (final["rank"][row] == 1) == (rewards[row] > 0)
            seen += 1
        if ended.any():
            assert (infos["_final_obs"] == ended).all()
            assert (infos["_final_info"] == ended).all()
            assert all(infos["final_obs"][row] is None for row in np.flatnonzero(~ended))
    assert seen > 5


def test_disabled_mode_asks_for_a_reset_of_what_is_over() -> None:
    envs = make_vec(4, autoreset_mode="Disabled")
    envs.reset(seed=2)
    rng = np.random.default_rng(2)
    ended = np.zeros(4, bool)
    while not ended.any():
        _, _, terminated, truncated, _ = envs.step(sample(envs.action_masks(), rng))
        ended = terminated | truncated
    with pytest.raises(ValueError, match="is over; call reset"):
        envs.step(sample(envs.action_masks(), rng))
    kept = envs.games.batch.games[~ended].copy()
    _, infos = envs.reset(options={"reset_mask": ended})
    assert (envs.games.batch.games[~ended] == kept).all()
    assert (infos["_action_mask"] == ended).all()
    envs.step(sample(envs.action_masks(), rng))
    for wrong in ([True] * 4, np.zeros(4, bool), np.ones(3, bool), np.ones(4, np.int8)):
        with pytest.raises(ValueError, match=r"reset_mask must be bool\[4\]"):
            envs.reset(options={"reset_mask": wrong})


def test_seeds_may_be_a_list_with_gaps() -> None:
    envs, other = make_vec(3), make_vec(3)
    first, _ = envs.reset(seed=[5, 6, 7])
    second, _ = other.reset(seed=5)
    assert (first == second).all()
    envs.reset(seed=[8, None, 8])
    assert envs.games.batch.games["seed"].tolist() == [8, 6, 8]
    assert envs.games.batch.games["episode"][1] >= 1
    with pytest.raises(ValueError, match="expected 3 seeds, found 2"):
        envs.reset(seed=[1, 2])


@pytest.mark.parametrize("num_players", [2, 5])
def test_the_learner_rotates_over_the_seats_or_stays(num_players: int) -> None:
    games = LearnerGames(num_players, opponents=First(), num_players=num_players, ruleset=QUICK)
    games.deal(seeds=list(range(num_players)))
    if (games.batch.games["episode"] == 0).all():
        assert sorted(games.learner_seats.tolist()) == list(range(num_players))
    before = games.learner_seats.copy()
    games.deal()
    moved = games.batch.games["episode"]
    assert (games.learner_seats == (np.arange(num_players) + moved) % num_players).all()
    assert (games.learner_seats != before).any()
    fixed = LearnerGames(4, opponents=First(), num_players=num_players, learner_seat=num_players - 1)
    fixed.deal()
    assert (fixed.learner_seats == num_players - 1).all()


def test_each_opponent_sits_at_its_place_from_the_learners_left() -> None:
    agents = [First(), First(), First()]
    games = LearnerGames(6, opponents=agents, num_players=4, learner_seat=1)
    games.deal(seeds=list(range(6)))
    for _ in range(10):
        games.step(games.batch.legal_actions[:, 0])
    assert [agent.seats for agent in agents] == [{2}, {3}, {0}]


def test_opponents_are_asked_in_batches() -> None:
    agent = First()
    games = LearnerGames(50, opponents=[agent, agent], num_players=3, learner_seat=0)
    games.deal(seeds=list(range(50)))
    assert len(games.opponents) == 1
    assert max(agent.asked) > 10


def test_rewards_before_the_first_decision_are_not_lost() -> None:
    # with one card to lay, a round may be over before the learner has had a turn
    rules = RuleSet(name="tiny", phases=("set 2", "set 2"), hand_size=3, max_turns=20, max_rounds=8)
    games = LearnerGames(64, opponents=First(), num_players=3, ruleset=rules, reward="points", learner_seat=0)
    games.deal(seeds=list(range(64)))
    early = games.batch.games["round"] > 1
    assert early.any()
    expected = games._carried.copy()
    assert (expected[early] != 0).any()
    rounds = games.batch.games["round"].copy()
    games.step(games.batch.action_masks.argmax(axis=1))
    same_round = early & (games.batch.games["round"] == rounds) & ~games.ended
    assert same_round.any()
    assert (games.rewards[same_round] == expected[same_round]).all()
    assert (games._carried == 0).all()


def test_the_sum_of_rewards_is_the_learners_return() -> None:
    games = LearnerGames(40, opponents=Uniform(), num_players=3, ruleset=QUICK)
    games.deal(seeds=list(range(40)))
    rng = np.random.default_rng(0)
    rows = np.arange(40)
    returns = np.zeros(40)
    while len(rows):
        games.step(sample(games.batch.action_masks[rows], rng), rows)
        returns += games.rewards
        rows = rows[~games.ended[rows]]
    ranks = games.standings(np.arange(40))["rank"]
    won = ranks == 1
    assert (returns[won] > 0).all()
    assert (returns[~won & games.terminated] < 0).all()
    assert (returns[games.truncated] == 0).all()
    assert won.any()


def test_points_add_up_to_the_difference_of_the_scores() -> None:
    games = LearnerGames(40, opponents=Uniform(), num_players=3, ruleset=ROUNDS, reward="points")
    games.deal(seeds=list(range(40)))
    rng = np.random.default_rng(0)
    returns, rows = np.zeros(40), np.arange(40)
    while len(rows):
        games.step(sample(games.batch.action_masks[rows], rng), rows)
        returns += games.rewards
        rows = rows[~games.ended[rows]]
    scores = games.batch.games["score"][:, :3]
    own = scores[np.arange(40), games.learner_seats]
    expected = ((scores.sum(axis=1) - own) / 2 - own) / 100
    whole = games.terminated & (games.batch.games["tie_break"] == 0)
    assert (games.batch.games["round"][whole] > 1).any()
    assert returns[whole] == pytest.approx(expected[whole], abs=1e-5)


def test_an_illegal_action_of_the_learner_ends_its_episode() -> None:
    env = make()
    env.reset(seed=1)
    for wrong in (164, -1, 165, 10**6):
        env.reset(seed=1)
        observation, reward, terminated, truncated, info = env.step(wrong)
        assert (reward, terminated, truncated, info["illegal"]) == (-1.0, True, False, True)
        assert not info["action_mask"].any()
        assert env.observation_space.contains(observation)
        with pytest.raises(ValueError, match="call reset"):
            env.step(0)
    envs = make_vec(3)
    envs.reset(seed=1)
    actions = envs.action_masks().argmax(axis=1)
    actions[1] = 164
    _, rewards, terminated, _, infos = envs.step(actions)
    assert rewards[1] == -1
    assert terminated.tolist() == [False, True, False]
    assert infos["illegal"].tolist() == [False, True, False]


def test_an_illegal_action_is_an_error_on_request_and_changes_nothing() -> None:
    envs = make_vec(3, on_illegal="raise")
    envs.reset(seed=1)
    before = envs.games.batch.games.copy()
    actions = envs.action_masks().argmax(axis=1)
    actions[2] = 164
    with pytest.raises(IllegalActionError, match="game 2: seat"):
        envs.step(actions)
    assert (envs.games.batch.games == before).all()


@pytest.mark.parametrize(
    ("agent", "message"),
    [(Wrong(), "chosen by the opponent 'wrong'"), (Mute(), "opponent 'mute' must return .* found")],
)
def test_an_opponent_that_breaks_the_rules_is_named(agent: Any, message: str) -> None:
    env = make(opponents=agent, num_players=6, learner_seat=0)
    with pytest.raises(ValueError, match=message):
        env.reset(seed=next(seed for seed in range(99) if Game(6, seed=seed).to_act != 0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opponents": ["a", "b"]}, "expected one opponent for all, or a list of 1 for 2 players, found 2"),
        ({"opponents": 3}, r"expected an agent with a method act\(view\) or its name, found 3"),
        ({"learner_seat": 2}, "learner_seat must be 'rotate' or 0-1, found 2"),
        ({"learner_seat": "first"}, "learner_seat must be 'rotate' or 0-1, found 'first'"),
        ({"on_illegal": "ignore"}, "on_illegal must be 'lose' or 'raise', found 'ignore'"),
        ({"observation": None}, "observation must be one of basic, full, candidates, found None"),
        ({"num_players": 9}, "expected 2 to 6 players"),
    ],
)
def test_wrong_arguments_are_refused_with_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Phase10Env(**{"opponents": First(), **options})


def test_wrong_vector_arguments_are_refused_with_one_sentence() -> None:
    with pytest.raises(ValueError, match="render_mode must be 'ansi' or 'rgb_array' for many"):
        Phase10VectorEnv(2, opponents=First(), render_mode="human")
    with pytest.raises(ValueError, match="Soon"):
        Phase10VectorEnv(2, opponents=First(), autoreset_mode="Soon")
    envs = make_vec(2)
    envs.reset()
    with pytest.raises(ValueError, match="expected one action for each of 2 environments, found"):
        envs.step([0])


def test_opponents_are_found_by_name_among_installed_packages() -> None:
    agent = load_opponent("random")
    assert callable(agent.act)
    assert load_opponent(agent) is agent
    with pytest.raises(ValueError, match="no-such-agent"):
        load_opponent("no-such-agent")


def test_without_a_package_of_agents_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_games, "entry_points", lambda group: ())
    with pytest.raises(
        ValueError, match=r"'greedy' cannot be found; install phase10_agents or pass an agent"
    ):
        load_opponent("greedy")


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_a_copy_goes_on_alike(how: str) -> None:
    games = LearnerGames(5, opponents=Uniform(), num_players=3, ruleset=QUICK)
    games.deal(seeds=[1, 2, 3, 4, 5])
    twin = copy.deepcopy(games) if how == "deepcopy" else pickle.loads(pickle.dumps(games))
    for _ in range(8):
        for each in (games, twin):
            rows = np.flatnonzero(~each.ended)
            each.step(each.batch.action_masks[rows].argmax(axis=1), rows)
        assert (games.batch.games == twin.batch.games).all()
        assert (games.rewards == twin.rewards).all()


@pytest.mark.parametrize("imported", ["from phase10_env import phase10_v0", "import phase10_env.vector", ""])
def test_gymnasium_makes_the_environment_after_an_import_or_by_module(imported: str) -> None:
    name = ENV_ID if imported else f"phase10_env.vector:{ENV_ID}"
    code = f"{imported}\nimport gymnasium\nprint(gymnasium.make({name!r}, opponents='random').unwrapped)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"Phase10Env<{ENV_ID}>" in done.stdout, done.stderr


def test_round_episodes_start_as_asked() -> None:
    envs = make_vec(4, ruleset="official", episode="round", start={"phases": [4, 9], "scores": [15, 0]})
    envs.reset(seed=1)
    assert envs.games.batch.games["phase"][:, :2].tolist() == [[3, 8]] * 4
    mixed = make_vec(64, ruleset="official", episode="round", start="mixed")
    mixed.reset(seed=1)
    assert len(np.unique(mixed.games.batch.games["phase"][:, 0])) > 5
