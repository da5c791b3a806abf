"""`phase10 explain` prints each legal action with its value, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phase10_env import Game
from phase10_training.cli import main


@pytest.mark.parametrize("agent", ["aware", "greedy", "random"])
def test_json_holds_every_legal_action_and_the_choice(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game = Game(num_players=2, seed=3, dealer=0)
    game.play("draw")
    position = tmp_path / "position.json"
    position.write_text(json.dumps(game.position()), encoding="utf-8")
    assert main(["explain", str(position), "--agent", agent, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["agent"] == agent
    assert sorted(row["text"] for row in found["actions"]) == sorted(game.legal_actions())
    assert sum(row["chosen"] for row in found["actions"]) == 1


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("aware", "heuristic score, on a scale of its own; higher is better"),
        ("search:playouts=2", "win equity after the round, 0 to 1, and a little for points; mean over the playouts; "
         "higher is better"),
        ("champion", "log-probability of the policy, 0 is certain; higher is better"),
        ("random", "gives no values"),
    ],
)  # fmt: skip
def test_a_line_above_the_values_says_what_they_are(
    agent: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    position = tmp_path / "position.json"
    position.write_text(Game(num_players=2, seed=3).to_json(), encoding="utf-8")
    assert main(["explain", str(position), "--agent", agent]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{agent}: {told}"
    assert main(["explain", str(position), "--agent", agent, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)["values"]
    assert values == (None if agent == "random" else told.removesuffix("; higher is better"))


def test_a_broken_or_missing_position_is_told_as_by_legal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.json"
    position = Game(num_players=2, seed=3).position() | {"dealer": 9, "to_act": 7}
    broken.write_text(json.dumps(position), encoding="utf-8")
    for file in (broken, tmp_path / "none.json", tmp_path):
        told = []
        for command in ("explain", "legal"):
            assert main([command, str(file)]) == 2
            told.append(capsys.readouterr().err)
        assert told[0] == told[1]
        assert told[0].startswith(f"error: {file}: ")
        assert told[0].count("\n") == 1
