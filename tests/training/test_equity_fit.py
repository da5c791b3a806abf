"""Equity models: fitted to games, better than flat ones, written and read back, shares that add up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phase10_env.equity import EquityModel, default_equity, equities_of, shipped_equity
from phase10_env.rules.ruleset import PRESETS, RuleSet
from phase10_env.rules.state import GAME
from phase10_training.cli import main
from phase10_training.config import load_config
from phase10_training.equity_data import Standings, collect_standings
from phase10_training.equity_fit import fit_equity, fit_strengths, fit_table, log_likelihoods
from phase10_training.exploit import exploit_settings
from phase10_training.settings import TrainingSettings

OFFICIAL = RuleSet()


def drawn(model: EquityModel, players: int, count: int, seed: int = 0) -> Standings:
    """Return standings whose winners are drawn from a model's own equities."""
    rng = np.random.default_rng(seed)
    games = np.zeros(count, GAME)
    games["num_players"] = players
    games["active"][:, :players] = 1
    base = rng.integers(0, 9, (count, 1))
    games["phase"][:, :players] = np.clip(base + rng.integers(-2, 3, (count, players)), 0, 9)
    games["score"][:, :players] = 5 * rng.integers(0, 40, (count, players))
    equities = np.zeros((count, players))
    equities_of(games, OFFICIAL.record, model.record, equities)
    winner = (rng.random((count, 1)) > equities.cumsum(axis=1)).sum(axis=1)
    shares = np.eye(players)[np.minimum(winner, players - 1)]
    done = games["phase"][:, :players].astype(np.int16)
    return Standings(done, games["score"][:, :players].copy(), shares, done, np.arange(count))


def test_a_fit_finds_the_numbers_that_made_the_games() -> None:
    true = EquityModel(
        strength=(0.0, 0.2, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 5.0),
        lag=0.1,
        score_weight=0.9,
        score_near=0.7,
        score_scale=30.0,
        score_left=10.0,
    )
    found, _ = fit_strengths(drawn(true, 3, 60_000), OFFICIAL)
    np.testing.assert_allclose(found.strength, true.strength, atol=0.3)
    assert found.lag == pytest.approx(0.1, abs=0.03)
    assert found.score_weight == pytest.approx(0.9, abs=0.15)
    test = drawn(true, 3, 20_000, seed=1)
    lost = (log_likelihoods(true, test, OFFICIAL) - log_likelihoods(found, test, OFFICIAL)).mean()
    assert abs(lost) < 0.002


def test_fitted_models_beat_equal_chances_on_held_out_games() -> None:
    standings = collect_standings("greedy", 3, PRESETS["short-5"], games=400, seed=3)
    fit = fit_equity(standings, PRESETS["short-5"])
    assert fit.games == 400
    assert fit.held_out > np.log(1 / 3) + 0.05


def test_standings_are_the_same_through_compiled_policies_and_through_an_agent() -> None:
    class Asked:
        name = "asked"

        def __init__(self) -> None:
            from phase10_agents.catalog import load_agent

            self.act = load_agent("greedy").act

    one = collect_standings("greedy", 3, PRESETS["short-5"], games=12, seed=4)
    two = collect_standings(Asked(), 3, PRESETS["short-5"], games=12, seed=4)
    for name in ("done", "scores", "shares", "next_done", "game"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_the_table_of_two_players_is_fair_and_grows_with_the_own_phases() -> None:
    model, _ = fit_table(collect_standings("greedy", 2, OFFICIAL, games=300, seed=1))
    table = np.array(model.table)
    np.testing.assert_allclose(table + table.T, 1.0, atol=2e-5)
    assert (np.diff(table[:10, :10].mean(axis=1)) > 0).all()


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_shipped_equities_are_shares_and_a_phase_or_fewer_points_never_hurt(
    preset: str, players: int
) -> None:
    ruleset = PRESETS[preset]
    model = default_equity(ruleset, players)
    rng = np.random.default_rng(2)
    games = np.zeros(300, GAME)
    games["num_players"] = players
    games["active"][:, :players] = 1
    last = len(ruleset.phases) - 1
    done = rng.integers(0, last, (300, players))
    games["phase"][:, :players] = done
    games["score"][:, :players] = 5 * rng.integers(0, 40, (300, players))
    before, after, lighter = (np.zeros((300, players)) for _ in range(3))
    games["done"][:, :players] = (1 << done) - 1
    equities_of(games, ruleset.record, model.record, before)
    np.testing.assert_allclose(before.sum(axis=1), 1.0)
    fewer = games.copy()
    fewer["score"][:, 0] -= 25
    equities_of(fewer, ruleset.record, model.record, lighter)
    assert (lighter[:, 0] >= before[:, 0] - 1e-12).all()
    if ruleset.advance == "every_round":
        return
    fewer = games.copy()
    level = np.broadcast_to(done[:, :1], done.shape)  # among equals in phases and points
    fewer["phase"][:, :players] = level
    fewer["done"][:, :players] = (1 << level) - 1
    fewer["score"][:, :players] = 0
    fewer["phase"][:, 0] += 1
    fewer["done"][:, 0] = (1 << fewer["phase"][:, 0].astype(np.int64)) - 1
    equities_of(fewer, ruleset.record, model.record, after)
    assert (after[:, 0] > 1 / players).all()


def test_models_are_found_by_their_hash_and_the_former_table_is_still_there() -> None:
    assert shipped_equity("90e8675e") is not None
    assert shipped_equity("00000000") is None
    assert len({default_equity(OFFICIAL, players).hash for players in range(2, 7)}) == 5


def test_the_command_writes_a_file_that_a_training_can_name(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "equity.json"
    words = ["equity", "greedy", "--players", "3", "--rules", "short-5", "--games", "60", "--out", str(out)]
    assert main(words) == 0
    data = json.loads(out.read_text())
    model = EquityModel.from_file(out)
    assert model.hash == data["hash"]
    assert data["games"] == 60
    assert len(data["standard_errors"]["steps"]) == 4
    data["score_scale"] += 1
    out.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="have the hash"):
        EquityModel.from_file(out)
    capsys.readouterr()
    assert main(["equity", "nobody", "--games", "60"]) == 2
    assert main(["equity", "greedy", "--games", "5"]) == 2
    assert capsys.readouterr().err.count("error: ") == 2


@pytest.mark.parametrize(
    ("text", "words"), [("{}", "no 'table'"), ("[1]", "not an equity model"), ("{", "not an equity model")]
)
def test_what_is_no_model_is_refused_in_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=words):
        EquityModel.from_file(file)


def test_a_best_response_meets_one_agent_at_every_table() -> None:
    settings = load_config(TrainingSettings, "exploit", [], "train")
    cloned = exploit_settings(settings, "aware")
    assert (cloned.pool.share, cloned.pool.agents, cloned.clone.agent) == (1.0, ("aware",), "aware")
    own = exploit_settings(settings, "checkpoint:runs/x,temperature=1")
    assert (own.start_from, own.clone.decisions) == ("runs/x", 0)
    scratch = exploit_settings(settings, "checkpoint:runs/x", scratch=True)
    assert (scratch.start_from, scratch.clone.decisions) == ("", 0)
    assert own.evaluation.against == ("checkpoint:runs/x,temperature=1",)


def test_exploit_trains_against_the_frozen_agent_and_reports_its_share(tmp_path: Path, capsys: Any) -> None:
    small = [
        "total_decisions=512",
        "rollout.games=16",
        "rollout.steps=16",
        "network.actor=[8]",
        "network.critic=[8]",
    ]
    small += [
        "clone.decisions=256",
        "evaluation.final_deals=2",
        "evaluation.every=0",
        "optimizer.minibatch=64",
    ]
    sets = [word for each in small for word in ("--set", each)]
    assert main(["exploit", "random", "--out", str(tmp_path / "run"), "--json", *sets]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["opponent"], result["deals"]) == ("random", 2)
    seeing = ["--set", 'environment.observation="candidates"', "--set", "total_decisions=256"]
    victim = str(tmp_path / "victim")
    assert (
        main(
            [
                "train",
                "smoke",
                "--out",
                victim,
                "--json",
                *sets,
                "--set",
                "clone.decisions=0",
                "--set",
                'clone.agent=""',
                *seeing,
            ]
        )
        == 0
    )
    attack = ["exploit", f"checkpoint:{victim}", "--out", str(tmp_path / "attack"), "--json", *sets]
    assert main(attack) == 0  # without being told what the victim sees
    assert main(["exploit", "nobody", "--out", str(tmp_path / "other")]) == 2
    assert not (tmp_path / "other").exists()
