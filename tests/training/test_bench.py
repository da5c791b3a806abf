"""`phase10 bench`: every figure is there, ratios hold against an earlier run, bad input is one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from phase10_env.rules.ruleset import RuleSet
from phase10_training.bench import BenchSettings, bench
from phase10_training.bench_items import Item, bytes_a_game, engine_items, measure
from phase10_training.cli import main
from phase10_training.config import config_names, load_config

TINY = ["games=8", "repetitions=1", "decisions=4", "python_decisions=20", "players=[2]", "cold=false"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Run the command and return what it printed as JSON."""
    settings = [word for text in TINY for word in ("--set", text)]
    assert main(["bench", "--json", *settings, *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_every_figure_is_measured_and_ratios_to_an_earlier_run_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = run(capsys)
    assert {name.split(",")[0] for name in first["rates"]} >= {
        "engine alone",
        "batch",
        "greedy playouts",
        "AEC env()",
    }
    assert all(rate > 0 for clocks in first["rates"].values() for rate in clocks.values())
    assert set(first["threads"]) == {
        "1 thread",
        "2 threads",
        "1 thread, a core held",
        "2 threads, a core held",
    }
    assert set(first["seconds"]) == {"warm, wall", "warm, CPU"}
    file = tmp_path / "before.json"
    earlier = {**first, "bytes": {name: value / 2 for name, value in first["bytes"].items()}}
    file.write_text(json.dumps(earlier), encoding="utf-8")
    second = run(capsys, "--baseline", str(file))
    assert second["ratios"]["bytes: full, 2 players"] == 2
    assert set(second["ratios"]) >= {
        "engine alone, 2 players (cpu)",
        "threads: 2 threads",
        "seconds: warm, wall",
    }


def test_a_file_that_is_no_earlier_run_is_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "other.json"
    file.write_text("[]", encoding="utf-8")
    assert main(["bench", "quick", "--baseline", str(file)]) == 2
    assert "phase10 bench --json" in capsys.readouterr().err


def test_every_shipped_configuration_can_be_read() -> None:
    for name in config_names("benchmarks"):
        assert load_config(BenchSettings, name, folder="benchmarks").repetitions > 0


@pytest.mark.parametrize("setting", ["games=0", "players=[7]", "repetitions=0"])
def test_settings_out_of_range_are_refused(setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "quick", "--set", setting]) == 2
    assert setting.split("=")[0] in capsys.readouterr().err


def test_an_item_is_called_once_more_than_it_counts() -> None:
    calls: list[int] = []
    (rate,) = measure([Item("calls", 2, 5, lambda: calls.append(1))], repetitions=4)
    assert len(calls) == 5
    assert rate.name == "calls"


def test_a_game_with_its_buffers_fits_into_four_kilobytes() -> None:
    assert bytes_a_game(2, "full", RuleSet()) <= 4096


def test_the_items_name_the_decisions_they_take() -> None:
    names = {item.name: item.decisions for item in engine_items(4, 3, RuleSet(), 16)}
    assert names["engine alone"] == 64
    assert names["aware playouts"] == 8


@pytest.mark.slow
def test_the_learner_is_measured_beside_maskable_ppo() -> None:
    settings = load_config(BenchSettings, "training", ["repetitions=1", "sb3_games=16"], folder="benchmarks")
    rates = bench(msgspec.structs.replace(settings, sb3_steps=32))["rates"]
    assert set(rates) == {"phase10 train quickstart", "MaskablePPO"}
