"""The commands on positions, rules and records: output, one sentence per problem, exit codes."""

import io
import json
from pathlib import Path

import pytest
from env.simple_play import play_out

from phase10_env.command_line import print_legal, print_perft, print_rules, verify_records
from phase10_env.game import Game, perft
from phase10_env.rules.ruleset import PRESETS


@pytest.fixture
def position(tmp_path: Path) -> Path:
    path = tmp_path / "position.json"
    path.write_text(play_out(Game(3, seed=2), 2, 21).to_json(), encoding="utf-8")
    return path


def test_legal_prints_one_action_a_line(position: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = Game.from_position(position.read_text(encoding="utf-8"))
    assert print_legal(str(position)) == 0
    assert capsys.readouterr().out.splitlines() == game.legal_actions()
    assert print_legal(str(position), json=True) == 0
    assert json.loads(capsys.readouterr().out) == {
        "seat": game.to_act,
        "stage": game.stage,
        "legal": game.legal_actions(),
        "indices": game.legal_indices(),
    }


def test_perft_prints_the_count(position: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = perft(Game.from_position(position.read_text(encoding="utf-8")), 4)
    assert print_perft(str(position), 4) == 0
    assert print_perft(str(position), 4, json=True) == 0
    plain, as_json = capsys.readouterr().out.splitlines()
    assert plain == str(count)
    assert json.loads(as_json) == {"depth": 4, "count": count}
    assert print_perft(str(position), -1) == 2
    problem = capsys.readouterr().err
    assert problem.startswith("error: ")
    assert "depth is -1" in problem


def test_a_dash_reads_standard_input(
    position: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(position.read_text(encoding="utf-8")))
    assert print_legal("-") == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(Game(seed=1).record()))
    assert verify_records(["-"]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("{}"))
    assert print_legal("-") == 2
    assert "standard input: ruleset is missing" in capsys.readouterr().err


def test_all_problems_of_a_position_are_one_sentence_on_standard_error(
    position: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = json.loads(position.read_text(encoding="utf-8")) | {"dealer": 9, "colour": 1}
    position.write_text(json.dumps(wrong), encoding="utf-8")
    assert print_legal(str(position)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: {position}: ")
    assert "colour" in captured.err
    assert "; dealer is 9: expected" in captured.err
    assert captured.err.count("error: ") == captured.err.count("\n") == 1
    assert print_perft(str(position), 1) == 2
    assert capsys.readouterr().err == captured.err
    none = position.parent / "none.json"
    assert print_legal(str(none)) == 2
    assert capsys.readouterr().err == (
        f"error: {none}: expected a readable file with a position, found: No such file or directory; "
        "check the path\n"
    )


def test_all_problems_of_rules_are_one_sentence_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('skip_target = "nobody"\ngo_out = "never"\n', encoding="utf-8")
    assert print_rules(str(file)) == 2
    problem = capsys.readouterr().err
    assert "skip_target is 'nobody'" in problem
    assert "go_out is 'never'" in problem
    assert problem.count("error: ") == problem.count("\n") == 1


def test_rules_prints_text_or_fields(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_rules("short-5") == 0
    assert "short-5" in capsys.readouterr().out
    assert print_rules("short-5", json=True) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["digest"] == PRESETS["short-5"].digest
    assert print_rules("short5") == 2
    assert "the nearest is 'short-5'" in capsys.readouterr().err


def test_records_are_verified_and_the_wrong_ones_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.p10", tmp_path / "bad.p10"
    record = play_out(Game(2, "short-5", seed=1), 1).record()
    good.write_text(record * 2, encoding="utf-8")
    bad.write_text(record.replace("discard", "dicard", 2), encoding="utf-8")
    assert verify_records([str(good)]) == 0
    assert capsys.readouterr().out == f"{good}: 2 games verified\n"
    assert verify_records([str(bad), str(good)], json=True) == 2
    captured = capsys.readouterr()
    first, second = (json.loads(line) for line in captured.out.splitlines())
    assert first["games"] == 0
    assert first["line"] > 1
    assert second == {"path": str(good), "games": 2}
    assert f"{bad}, line {first['line']}" in captured.err
    assert verify_records([]) == 2
    assert verify_records([str(good)], ruleset="nonsense") == 2


def test_a_file_without_a_game_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.p10"
    empty.write_text("")
    assert verify_records([str(empty)]) == 2
    assert capsys.readouterr().err == f"error: {empty}: expected at least one game, found none\n"
