"""Comparing two agents: the test stops by itself, is honest when undecided, and can take out luck."""

import json

import numpy as np
import pytest

from phase10_training.cli import main
from phase10_training.compare import compare
from phase10_training.evaluate import evaluate


def test_a_clearly_stronger_agent_is_accepted_at_the_first_look() -> None:
    result = compare("greedy", "greedy:epsilon=0.3", 0, 50, rules="short-5")
    assert result.decision == "accept_h1"
    assert result.deals == 100
    assert result.llr >= result.upper
    assert "greedy is stronger than greedy:epsilon=0.3" in result.verdict
    assert result.superiority > 0.99


def test_a_clearly_weaker_agent_is_refused() -> None:
    result = compare("greedy:epsilon=0.3", "greedy", 0, 50, rules="short-5")
    assert result.decision == "accept_h0"
    assert "is not +50 Elo stronger than greedy" in result.verdict


def test_equal_agents_tie_on_every_deal_and_are_not_called_stronger() -> None:
    result = compare("greedy", "greedy", 0, 10, rules="short-5", max_deals=400)
    assert result.decision == "accept_h0"
    assert result.outcomes == {0.5: result.deals}


@pytest.mark.parametrize("players", [2, 4])
def test_too_few_deals_are_undecided(players: int) -> None:
    result = compare("greedy:epsilon=0.01", "greedy", 0, 1, players, "short-5", max_deals=10)
    assert result.decision == "undecided"
    assert result.deals == 10
    assert result.lower < result.llr < result.upper
    assert "Undecided after 10 deals" in result.verdict
    assert sum(result.outcomes.values()) == 10


def test_the_deals_are_those_of_an_evaluation() -> None:
    result = compare("greedy:epsilon=0.1", "greedy", -10, 10, 3, "short-5", seed=4, max_deals=12)
    played = evaluate("greedy:epsilon=0.1", ["greedy"], 3, "short-5", deals=12, seed=4)[0]
    assert np.allclose(result.averages, played.shares.mean(axis=1))


def test_taking_out_luck_narrows_the_estimate_without_moving_it() -> None:
    result = compare("greedy:epsilon=0.05", "greedy", -1, 1, rules="short-5", max_deals=700, adjust_luck=True)
    assert result.adjusted is not None
    assert result.adjusted.used
    assert result.adjusted.mean_zero_p > 0.001
    assert result.adjusted.variance_reduction > 1.0
    assert result.adjusted.raw.mean == result.estimate.mean
    assert abs(result.adjusted.estimate.mean - result.estimate.mean) < 3 * result.estimate.standard_error


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="expected elo0 below elo1, found 10 and 0"):
        compare("greedy", "greedy", 10, 0)


def test_the_command_prints_the_verdict_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = "compare greedy melder --elo1 50 --rules short-5 --adjust-luck"
    assert main(words.split()) == 0
    out = capsys.readouterr().out
    assert out.startswith("greedy is stronger than melder")
    assert "less luck" in out
    assert main([*words.split(), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["decision"] == "accept_h1"
    assert found["par"] == 0.5
    assert found["interval"][0] <= found["win_share"] <= found["interval"][1]
    assert found["luck_adjusted"]["used"]
    assert sum(count for _, count in found["outcomes"]) == found["deals"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("compare greedy", "missing from phase10 compare"),
        ("compare greedy gredy", "unknown agent 'gredy'"),
        ("compare greedy melder --elo0 5 --elo1 5", "expected elo0 below elo1"),
        ("compare greedy melder --max-deals 1", "--max-deals expects at least 2, found 1"),
        ("compare greedy melder --alpha 0.7", "expected alpha and beta from 0 to 0.5"),
    ],
)
def test_bad_input_is_one_sentence(text: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(text.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
