"""Numbers that no command can use (nan, infinite, negative, zero, huge) are refused before anything is played."""

from pathlib import Path
from typing import Any

import pytest

from phase10_training.cli import main
from phase10_training.sequential import SequentialTest
from phase10_training.statistics import ResultsError

HUGE = 10**30

COMPARE = "compare greedy melder"
EVALUATE = "evaluate greedy --against melder"
TOURNAMENT = "tournament greedy melder --out OUT"
EQUITY = "equity greedy --out OUT/fit.json"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{COMPARE} --elo1 inf", "--elo1 expects at most 3000, found inf."),
        (f"{COMPARE} --elo1 nan", "--elo1 expects at least -3000, found nan."),
        (f"{COMPARE} --elo1 1e300", "--elo1 expects at most 3000, found 1e+300."),
        (f"{COMPARE} --elo1 -5", "expected elo0 below elo1, found 0.0 and -5.0; exchange them"),
        (f"{COMPARE} --elo1 0", "expected elo0 below elo1, found 0.0 and 0.0; exchange them"),
        (f"{COMPARE} --elo0 -inf", "--elo0 expects at least -3000, found -inf."),
        (f"{COMPARE} --alpha nan", "expected alpha and beta from 0 to 0.5, found nan and 0.05"),
        (f"{COMPARE} --beta inf", "expected alpha and beta from 0 to 0.5, found 0.05 and inf"),
        (f"{COMPARE} --time-limit 0", "--time-limit expects a number above 0, found 0.0."),
        (f"{COMPARE} --time-limit inf", "--time-limit expects at most 86400, found inf."),
        (f"{COMPARE} --max-deals {HUGE}", "--max-deals expects at most 1000000000, found 1"),
        (f"{EVALUATE} --time-limit nan", "--time-limit expects a number above 0, found nan."),
        (f"{EVALUATE} --time-limit inf", "--time-limit expects at most 86400, found inf."),
        (f"{EVALUATE} --deals {HUGE}", "--deals expects at most 1000000000, found 1"),
        (f"{EVALUATE} --deals -3", "--deals expects at least 1, found -3"),
        (f"{TOURNAMENT} --deals {HUGE}", "--deals expects at most 1000000000, found 1"),
        (f"{TOURNAMENT} --deals {10**12}", "--deals expects at most 1000000000, found 1"),
        (
            f"{TOURNAMENT} --deals 0",
            "error: --deals expects at least 1, found 0; see phase10 tournament --help.",
        ),
        (f"{TOURNAMENT} --workers {HUGE}", "--workers expects at most 1024, found 1"),
        (f"{TOURNAMENT} --set time_limit=nan", "expects a finite number of at most 64 bits, found nan"),
        (f"{TOURNAMENT} --set time_limit=1e9", "the key 'time_limit' in --set expects a number <= 86400"),
        (f"{TOURNAMENT} --set seed={2**63}", "expects a finite number of at most 64 bits"),
        (f"{TOURNAMENT} --set resamples=1", "the key 'resamples' in --set expects a whole number >= 2"),
        (f"{EQUITY} --games {HUGE}", "--games expects at most 10000000, found 1"),
        (f"{EQUITY} --mixed nan", "--mixed expects at least 0, found nan"),
        (f"bench --set games={10**9}", "games expects at most 1000000, found 1000000000"),
        (f"bench --set repetitions={HUGE}", "expects a finite number of at most 64 bits"),
        (
            "train quickstart --set optimizer.learning_rate=inf --out OUT",
            "the key 'optimizer.learning_rate' in --set optimizer.learning_rate expects a finite number of at "
            "most 64 bits, found inf.",
        ),
        (f"train quickstart --set total_decisions={HUGE} --out OUT", "expects a finite number of at most 64"),
        (
            "evaluate greedy --against checkpoint:none,temperature=nan",
            "a number of at least 0, after the path",
        ),
        ("evaluate greedy --against greedy:epsilon=nan", "epsilon of agent 'greedy' is a number from 0 to 1"),
        ("evaluate greedy --against search:playouts=inf", "playouts of agent 'search' is a number from 2 to"),
    ],
)
def test_numbers_out_of_range_are_one_sentence_and_nothing_is_written(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(text.replace("OUT", str(tmp_path / "out")).split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("elo", [{"elo1": float("inf")}, {"elo0": float("-inf")}, {"elo1": float("nan")}])
def test_a_sequential_test_refuses_strengths_that_no_share_stands_for(elo: dict[str, Any]) -> None:
    with pytest.raises(ResultsError, match="expected elo0 and elo1 from -3000 to 3000, found"):
        SequentialTest(**{"elo0": 0.0, "elo1": 10.0, **elo})


def test_the_greatest_strengths_can_still_be_tested() -> None:
    for players in (2, 6):
        test = SequentialTest(-3000.0, 3000.0, players=players, max_deals=200)
        assert test.add([0.5] * 200) in ("accept_h0", "accept_h1", "undecided")
        assert abs(test.llr) < float("inf")
