"""Candidate features tell what each draw and each discard would do, and only to the seat that is to act."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from phase10_agents.catalog import load_agent
from phase10_env import Game, GameBatch, observation_layout
from phase10_env.observation import CANDIDATE_FIELDS, observe, write_candidates
from phase10_env.phase10_v0 import parallel_env, raw_env
from phase10_env.rules import table
from phase10_env.rules.cards import WILD
from phase10_env.rules.state import DRAW, PLAY
from phase10_env.vector import Phase10VectorEnv

NAMES = [name for name, *_ in CANDIDATE_FIELDS]


def part(observations: npt.NDArray[np.uint8], name: str, players: int = 2) -> npt.NDArray[np.uint8]:
    return observations[..., observation_layout(players, "candidates").fields[name].slice]


def position(seats: list[str], *, stage: str = "play", discard: str = "G12", phase: int = 1) -> Game:
    """A game of two in which seat 0 is to act."""
    left = {f"{colour}{number}": 2 for colour in "RBGY" for number in range(1, 13)} | {"W": 8, "S": 4}
    for card in " ".join([*seats, discard]).split():
        left[card] -= 1
    return Game.from_position(
        {
            "ruleset": "official", "players": 2, "dealer": 1, "to_act": 0, "stage": stage, "round": 1, "turn": 3,
            "stock": " ".join(card for card, count in left.items() for _ in range(count)),
            "discard": discard, "table": [],
            "seats": [
                {"hand": hand, "phase": phase, "laid": False, "score": 0, "skipped": False} for hand in seats
            ],
        }
    )  # fmt: skip


def features(game: Game, name: str) -> npt.NDArray[np.uint8]:
    return part(observe(game.state, game.ruleset, game.to_act, "candidates"), name)


OTHER = "Y1 Y2 Y3 Y4 Y6 Y7 Y8 Y9 Y10 Y11"


def test_discarding_a_card_of_a_set_costs_more_than_a_loose_one() -> None:
    game = position(["R3 B3 G3 R7 B7 R1 B2 G5 R9 R11 R12", OTHER])
    losses = features(game, "discard_loss")
    assert losses[2] > 50  # R3 of three 3s
    assert losses[6] > losses[8]  # R7 of two 7s, R9 alone
    held = np.flatnonzero(losses)
    assert set(held) <= {int(kind) for kind in np.flatnonzero(game.state["hands"][0, 0, :WILD])}
    assert not features(game, "gains").any()
    assert features(game, "worth")[0] > 0


def test_taking_a_card_that_completes_the_phase_beats_drawing() -> None:
    game = position(["R3 B3 G3 R7 B7 R1 B2 G5 R9 R11", OTHER], stage="draw", discard="G7")
    assert features(game, "take_gain")[0] > features(game, "draw_gain")[0] > 0
    useless = position(["R3 B3 G3 R7 B7 R1 B2 G5 R9 R11", OTHER], stage="draw", discard="G12")
    assert features(useless, "take_gain")[0] < features(useless, "draw_gain")[0]
    gains = features(game, "gains")
    assert gains[6] > gains[11]  # a 7 more, a 12 more
    assert gains[16] > 0  # a Wild
    assert not features(game, "discard_loss").any()


def test_every_row_after_every_kind_of_step_shows_its_own_features() -> None:
    batch = GameBatch(16, 3, seed=5, observation="candidates", episode="round", start="mixed")
    aware = load_agent("aware")
    seen = dict.fromkeys(NAMES, False)

    def check() -> None:
        expected = batch.observations.copy()
        expected[:, batch.layout.fields["worth"].start :] = 0
        write_candidates(batch.games, batch.ruleset, expected, batch.layout)
        np.testing.assert_array_equal(batch.observations, expected)
        for name in NAMES:
            seen[name] |= bool(part(batch.observations, name, 3).any())
        idle = ~np.isin(batch.games["stage"], (DRAW, PLAY))
        assert not batch.observations[idle, batch.layout.fields["worth"].start :].any()

    check()
    for _ in range(400):
        batch.step(aware.act(batch.view()))
        check()
    batch.play_random(3)
    check()
    batch.copy_games([0, 1], [2, 3])
    check()
    batch.reset(seed=9)
    check()
    assert all(seen.values()), seen


def test_the_level_begins_with_the_full_observation() -> None:
    full, more = (GameBatch(8, seed=2, observation=level) for level in ("full", "candidates"))
    for _ in range(60):
        actions = full.legal_actions[np.arange(8), full.legal_counts - 1]
        np.testing.assert_array_equal(more.observations[:, : full.layout.size], full.observations)
        full.step(actions)
        more.step(actions)


def test_a_discard_that_the_next_player_could_hit_is_marked() -> None:
    batch = GameBatch(32, seed=3, observation="candidates", episode="round", start="mixed")
    aware = load_agent("aware")
    marked = 0
    for _ in range(200):
        batch.step(aware.act(batch.view()))
        feeds = part(batch.observations, "feeds")
        hittable = batch.observations[:, batch.layout.fields["hittable"].slice][:, :WILD]
        next_laid = batch.observations[:, batch.layout.fields["seat_1.laid"].start]
        assert not (feeds.any(axis=1) & (next_laid == 0)).any()
        assert (feeds <= (batch.games["hands"][np.arange(32), batch.seats, :WILD] > 0)).all()
        discards = batch.action_masks[:, table.DISCARD : table.DISCARD + WILD]
        marked += int((feeds.astype(bool) & discards & hittable.astype(bool)).sum())
    assert marked > 0


@pytest.mark.parametrize("players", [2, 4])
def test_environments_show_the_features_to_the_agent_that_is_to_act(players: int) -> None:
    env = raw_env(num_players=players, observation="candidates")
    batch = GameBatch(1, players, seeds=[7], observation="candidates", auto_reset=False)
    env.reset(seed=7)
    start = batch.layout.fields["worth"].start
    for _ in range(80):
        seen = env.observe(env.agent_selection)["observation"]
        np.testing.assert_array_equal(seen, batch.observations[0])
        for agent in env.agents:
            if agent != env.agent_selection:
                assert not env.observe(agent)["observation"][start:].any()
        action = int(batch.legal_actions[0, -1 + batch.legal_counts[0]])
        env.step(action)
        batch.step([action])


def test_parallel_and_vector_environments_have_the_level_too() -> None:
    env = parallel_env(observation="candidates")
    observations, infos = env.reset(seed=4)
    acting = infos["player_0"]["active_agent"]
    assert part(observations[acting]["observation"], "gains").any()
    envs = Phase10VectorEnv(4, opponents="greedy", observation="candidates")
    seen, infos = envs.reset(seed=1)
    for _ in range(50):
        expected = seen.copy()
        write_candidates(envs.games.batch.games, envs.games.batch.ruleset, expected, envs.games.batch.layout)
        np.testing.assert_array_equal(seen, expected)
        actions = np.argmax(infos["action_mask"], axis=1)
        seen, _, _, _, infos = envs.step(actions)
