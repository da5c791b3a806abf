"""The reference model agrees with the recorded cases: legal lists and perft counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from reference import PRESETS, ReferenceGame, perft

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "positions.jsonl").read_text().splitlines()
]


def cases_of(preset: str) -> list[dict[str, Any]]:
    """Return the recorded cases of one preset; there is at least one of each."""
    cases = [case for case in CASES if case["position"]["ruleset"] == preset]
    assert cases
    return cases


def test_the_cases_cover_every_preset_and_stage() -> None:
    """Check that no preset and no stage of a turn is without a case."""
    assert {case["position"]["ruleset"] for case in CASES} == set(PRESETS)
    assert {case["position"]["stage"] for case in CASES} == {"draw", "play", "build", "onto"}


@pytest.mark.parametrize("preset", PRESETS)
def test_the_legal_actions_are_those_of_the_cases(preset: str) -> None:
    """Compare the legal action texts, in index order, of every case."""
    for case in cases_of(preset):
        assert ReferenceGame.from_position(case["position"]).legal() == case["legal"], case["id"]


@pytest.mark.parametrize("preset", PRESETS)
def test_perft_counts_are_those_of_the_cases(preset: str) -> None:
    """Compare the number of action sequences of each recorded length."""
    for case in cases_of(preset):
        game = ReferenceGame.from_position(case["position"])
        counts = {depth: perft(game, int(depth)) for depth in case["perft"]}
        assert counts == case["perft"], case["id"]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_position_read_and_written_is_unchanged(preset: str) -> None:
    """Compare each case's position with what the model writes for it."""
    for case in cases_of(preset):
        assert ReferenceGame.from_position(case["position"]).position() == case["position"], case["id"]
