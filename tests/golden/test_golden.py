"""One readable game per preset, kept as a record: replayed, verified and made anew from seed and actions.

To write the records again after a deliberate change of the rules: PHASE10_WRITE_GOLDEN=1 pytest tests/golden
"""

import os
from pathlib import Path

import pytest
from env.simple_play import play_out

from phase10_env.events import Decision
from phase10_env.game import Game
from phase10_env.records import record_from_actions, replay, verify
from phase10_env.rules.ruleset import PRESETS

FOLDER = Path(__file__).parent
PLAYERS = {name: 2 + place % 5 for place, name in enumerate(PRESETS)}
SEED = 2


def write_record(preset: str) -> None:
    """Play the golden game of a preset and keep its record."""
    players = PLAYERS[preset]
    game = play_out(Game(players, preset, SEED), SEED)
    (FOLDER / f"{preset}.p10").write_text(game.record(agents=["simple"] * players), encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def _written_anew() -> None:
    if os.environ.get("PHASE10_WRITE_GOLDEN"):
        for preset in PRESETS:
            write_record(preset)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_golden_game_is_verified_move_by_move(preset: str) -> None:
    assert verify(FOLDER / f"{preset}.p10") == 1


@pytest.mark.parametrize("preset", PRESETS)
def test_the_golden_game_is_complete_and_written_again_byte_for_byte(preset: str) -> None:
    text = (FOLDER / f"{preset}.p10").read_text(encoding="utf-8")
    (replayed,) = replay(text)
    assert replayed.game.over
    assert not replayed.game.truncated
    assert replayed.game.num_players == PLAYERS[preset]
    assert replayed.game.ruleset == PRESETS[preset]
    assert replayed.game.record(agents=replayed.agents) == text


@pytest.mark.parametrize("preset", PRESETS)
def test_seed_and_actions_of_the_golden_game_give_its_record_again(preset: str) -> None:
    text = (FOLDER / f"{preset}.p10").read_text(encoding="utf-8")
    (replayed,) = replay(text)
    actions = [event.action for event in replayed.game.events if isinstance(event, Decision)]
    players = PLAYERS[preset]
    assert record_from_actions(SEED, players, preset, actions, ["simple"] * players) == text
