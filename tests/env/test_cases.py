"""The recorded cases of an independent model: legal actions and perft of each position agree."""

import json
from pathlib import Path

import pytest

from phase10_env.game import Game, perft

FILE = Path(__file__).parents[1] / "cases" / "positions.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def test_the_cases_cover_all_presets_stages_and_numbers_of_players() -> None:
    positions = [case["position"] for case in CASES]
    assert len(CASES) == 320
    assert len({position["ruleset"] for position in positions}) == 10
    assert {position["stage"] for position in positions} == {"draw", "play", "build", "onto"}
    assert {position["players"] for position in positions} == {2, 3, 4, 5, 6}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_legal_actions_and_perft_agree_with_the_independent_model(case: dict) -> None:
    game = Game.from_position(case["position"])
    assert game.legal_actions() == case["legal"]
    for depth, count in case["perft"].items():
        assert perft(game, int(depth)) == count


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_loaded_position_is_written_as_it_was(case: dict) -> None:
    written = Game.from_position(json.dumps(case["position"])).position()
    assert written.pop("seed") == 0
    assert _comparable(written) == _comparable(case["position"])


def _comparable(position: dict) -> dict:
    table = sorted(position["table"], key=lambda meld: (meld["seat"], meld["group"]))
    return {"laid_this_turn": False, **position, "table": table}
