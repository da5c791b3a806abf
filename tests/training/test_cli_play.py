"""The commands play, watch and replay: what they print, write and refuse."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
import types
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from play_clients import running_server
from render_games import played_game

from phase10_env.decision import DecisionView
from phase10_env.records import replay
from phase10_training import cli_play, watch
from phase10_training.cli_play import (
    PlayOptions,
    ReplayOptions,
    WatchOptions,
    WebOptions,
    play_command,
    replay_command,
    watch_command,
)
from phase10_training.cli_support import JsonOption, parse_arguments, run_command
from phase10_training.errors import UsageError
from phase10_training.play_session import PlaySession
from phase10_training.play_tables import Tables


def replay_options(*files: Path, **values: Any) -> ReplayOptions:
    return ReplayOptions(files=tuple(map(str, files)), json=JsonOption(), **values)


def play_options(folder: Path, *seats: str, web: WebOptions | None = None, **values: Any) -> PlayOptions:
    return PlayOptions(web=web or WebOptions(), seats=seats, out=folder, **values)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    file = tmp_path / "games.p10"
    file.write_text("".join(played_game(seed=seed).record(["a", "b"]) for seed in (3, 4)))
    return file


# ---- replay


def test_replay_writes_a_page(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "out" / "game.html"
    assert replay_command(replay_options(record, html=page, agent="greedy")) == 0
    text = page.read_text(encoding="utf-8")
    assert "Values of greedy" in text
    assert "<title>Phase 10: a, b</title>" in text
    assert str(page) in capsys.readouterr().out
    assert page.stat().st_mode & 0o444 == 0o444


def test_replay_without_a_keyboard_tells_the_moves(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay_command(replay_options(record, game=2)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Round 1"
    assert re.match(r"  [ab] (draws|takes) \S+ from", lines[1])


def test_replay_for_a_seat_tells_what_it_may_know(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay_command(replay_options(record, seat=0))
    out = capsys.readouterr().out
    assert "  b draws from the stock" in out
    assert not re.search(r"  b draws \S+ from the stock", out.replace("draws from", ""))


def test_replay_verifies_all_games(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay_command(replay_options(record, verify=True)) == 0
    assert capsys.readouterr().out == f"{record}: 2 games verified\n"


def test_replay_refuses_what_it_cannot_show(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.p10"
    wrong.write_text(record.read_text().replace("draw;", "take;", 1))
    for options, told in (
        (replay_options(record, game=3), f"--game is 3, but {record} holds 2 games."),
        (replay_options(record, seat=2), "--seat expects 0 to 1, found 2."),
        (replay_options(record, record), "expected one file to show, found 2; --verify takes several."),
        (
            replay_options(tmp_path / "none.p10"),
            "none.p10: expected a readable file with a record, found: No such file",
        ),
        (replay_options(wrong), "line "),
        (replay_options(record, agent="gredy"), "unknown agent 'gredy': the nearest is 'greedy'"),
    ):
        assert run_command(lambda options=options: replay_command(options)) == 2  # type: ignore[misc]
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1


def test_replay_in_a_terminal_steps_with_keys(record: Path, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    import os
    import select

    code = (
        "import sys; from pathlib import Path; from phase10_training.cli_play import *; "
        "from phase10_training.cli_support import JsonOption; "
        "sys.exit(replay_command(ReplayOptions(files=(sys.argv[1],), json=JsonOption())))"
    )
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(record)], stdin=child, stdout=child, stderr=child, close_fds=True
    )
    os.close(child)
    shown = b""

    def read_until(text: bytes) -> None:
        nonlocal shown
        while text not in shown:
            assert select.select([parent], [], [], 120)[0], f"waited in vain for {text!r}, shown: {shown!r}"
            shown += os.read(parent, 4096)

    read_until(b"q quit")
    for key, text in (
        (b"\x1b[C", b"move 1 of"),
        (b" ", b"move 2 of"),
        (b"\x1b[D", b"move 1 of"),
        (b"v", b"hands: a only"),
    ):
        shown = b""
        os.write(parent, key)
        read_until(text)
    assert b"\x1b[" in shown
    os.write(parent, b"q")
    assert process.wait(60) == 0
    os.close(parent)


# ---- play


def test_play_in_the_terminal_saves_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    lines = iter(["draw", "quit"])
    assert play_command(play_options(tmp_path, "human", "random", seed=5)) == 0
    (saved,) = tmp_path.glob("*.json")
    assert f"--resume {saved}" in capsys.readouterr().out
    with pytest.raises(UsageError, match="holds a game that is not finished; go on with --resume"):
        play_command(play_options(tmp_path, "human", "random", seed=5))
    lines = iter(["quit"])
    assert play_command(play_options(tmp_path, resume=saved)) == 0
    assert PlaySession.load(saved).game.stage == "play"


def test_play_refuses_what_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--players is 3, but 2 seats are named"):
        play_options(tmp_path, "human", "greedy", players=3)
    with pytest.raises(UsageError, match="--players expects 2 to 6, found 7"):
        play_options(tmp_path, players=7)
    with pytest.raises(UsageError, match="expected 2 to 6 seats, found 1"):
        play_options(tmp_path, "human")
    with pytest.raises(UsageError, match="--out expects a folder, found the file"):
        play_options(tmp_path / "file")
    with pytest.raises(UsageError, match="--port expects a number from 0 to 65535, found 70000"):
        WebOptions(port=70000)
    with pytest.raises(UsageError, match="--pace expects 0 to 60 seconds, found -1"):
        WebOptions(pace=-1)
    with pytest.raises(UsageError, match="no seat is 'human'"):
        play_command(play_options(tmp_path, "greedy", "greedy"))
    with pytest.raises(ValueError, match="unknown agent 'gredy'"):
        play_command(play_options(tmp_path, "human", "gredy"))
    with pytest.raises(ValueError, match="unknown ruleset 'offical'"):
        play_command(play_options(tmp_path, "human", "greedy", rules="offical"))


class Broken:
    name = "broken"

    def act(self, view: DecisionView) -> np.ndarray:
        raise RuntimeError("no idea")


@pytest.mark.parametrize("web", [False, True])
@pytest.mark.parametrize(
    ("seats", "rules", "told"),
    [
        (("human", "gredy"), "official", "unknown agent 'gredy'"),
        (("human", "my_broken:Broken"), "official", "agent 'broken' failed: RuntimeError: no idea"),
        (("my_broken:Broken", "human"), "official", "agent 'broken' failed: RuntimeError: no idea"),
        (("human", "greedy"), "offical", "unknown ruleset 'offical'"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_play_that_cannot_begin_leaves_nothing(
    seats: tuple[str, ...],
    rules: str,
    told: str,
    web: bool,
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = types.ModuleType("my_broken")
    module.Broken = Broken  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_broken", module)
    monkeypatch.setattr("builtins.input", lambda prompt: "quit")
    monkeypatch.setattr(cli_play, "_serve", lambda server: pytest.fail("the server has started"))
    options = play_options(
        tmp_path / "out", *seats, rules=rules, seed=seed, web=WebOptions(web=web, port=0, pace=0.0)
    )
    with pytest.raises(ValueError, match=told):
        play_command(options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("web", [False, True])
def test_a_file_that_is_no_saved_game_is_named(web: bool, tmp_path: Path) -> None:
    file = tmp_path / "position.json"
    file.write_text("{}")
    options = play_options(tmp_path / "out", resume=file, web=WebOptions(web=web, port=0))
    with pytest.raises(UsageError, match=rf"^{re.escape(str(file))}: expected a saved game of format 1"):
        play_command(options)
    options = play_options(tmp_path / "out", resume=tmp_path / "none", web=WebOptions(web=web, port=0))
    with pytest.raises(UsageError, match=r"none: expected a readable file with a saved game, found: No such"):
        play_command(options)
    assert not (tmp_path / "out").exists()


def test_a_game_of_the_terminal_is_no_table(tmp_path: Path) -> None:
    PlaySession(["human", "greedy"]).save(tmp_path / "official-2p-1.json")
    options = play_options(tmp_path, resume=tmp_path / "official-2p-1.json", web=WebOptions(web=True, port=0))
    with pytest.raises(UsageError, match="--resume expects with --web a table of the folder"):
        play_command(options)


def test_the_words_of_the_command_line_are_understood() -> None:
    words = ["human", "greedy", "--rules", "short-5", "--web", "--port", "0"]
    options = parse_arguments(PlayOptions, words, prog="phase10 play")
    assert options.seats == ("human", "greedy")
    assert (options.rules, options.web.web, options.web.port, options.web.host) == (
        "short-5",
        True,
        0,
        "127.0.0.1",
    )
    options = parse_arguments(
        ReplayOptions, ["x.p10", "--html", "y.html", "--agent", "aware"], prog="phase10 replay"
    )
    assert (options.files, options.html, options.agent) == (("x.p10",), Path("y.html"), "aware")
    options = parse_arguments(WatchOptions, ["runs/x", "--against", "greedy", "aware"], prog="phase10 watch")
    assert (options.run, options.against) == (Path("runs/x"), ("greedy", "aware"))


def test_play_in_the_browser_prints_the_link_of_the_seat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    got: list[tuple[str, int]] = []

    def serve(server: Any) -> int:
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        out = capsys.readouterr().out
        for address in re.findall(r"http://\S+", out):
            with urllib.request.urlopen(address, timeout=60) as answer:
                got.append((address, answer.status))
        server.stop()
        return 0

    monkeypatch.setattr(cli_play, "_serve", serve)
    web = WebOptions(web=True, port=0, pace=0.0)
    assert play_command(play_options(tmp_path, "human", "human", web=web, seed=1)) == 0
    assert [status for _, status in got] == [200, 200, 200]
    assert [("key=" in address) for address, _ in got] == [False, True, False]
    (table,) = tmp_path.glob("*.json")
    got.clear()
    assert play_command(play_options(tmp_path, web=web, resume=table)) == 0
    assert "key=" in got[1][0]
    got.clear()
    assert play_command(play_options(tmp_path, web=web)) == 0
    assert len(got) == 1


def test_a_port_that_is_taken_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        web = WebOptions(web=True, port=server.port)
        with pytest.raises(
            UsageError, match=rf"--port {server.port} cannot be listened on: Address already in use"
        ):
            play_command(play_options(tmp_path / "other", web=web))
    with pytest.raises(UsageError, match=r"--host 203\.0\.113\.7 --port 0 cannot be listened on"):
        play_command(play_options(tmp_path, web=WebOptions(web=True, host="203.0.113.7", port=0)))


# ---- watch


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for a training run whose newest snapshot changes from game to game."""
    snapshots = iter(["random", "greedy", "random", "greedy"])
    loaded: list[str] = []

    def newest(_: Path) -> str:
        loaded.append(next(snapshots))
        return loaded[-1]

    monkeypatch.setattr(watch, "newest_snapshot", newest)
    return loaded


def test_watch_plays_each_game_with_the_newest_snapshot(
    run: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = WatchOptions(run=tmp_path, web=WebOptions(), against=("random",), rules="short-5", games=2)
    assert watch_command(options) == 0
    out = capsys.readouterr().out
    assert run == ["random", "greedy"]
    assert "Game 1: random (0), random (1)\n" in out
    assert "Game 2: greedy, random\n" in out
    assert out.count("The game is over: ") == 2


def test_a_watched_table_begins_another_game_when_one_is_over(
    run: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "BETWEEN_GAMES", 0.0)

    def begin(number: int) -> PlaySession:
        return watch.watched_session(tmp_path, ["random"], "short-5", number)

    tables = Tables(tmp_path / "tables", (), 0.0)
    table = tables.seat(begin(0))
    first = table.session
    stop = threading.Event()
    thread = threading.Thread(target=watch.watch_table, args=(table, begin, stop))
    thread.start()
    with table.changed:
        assert table.changed.wait_for(lambda: table.session is not first, 240)
    stop.set()
    thread.join(30)
    tables.close()
    assert first.game.over
    assert run[:2] == ["random", "greedy"]


def test_a_person_plays_against_the_snapshot(
    run: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: "quit")
    options = WatchOptions(run=tmp_path, web=WebOptions(), against=("human",), out=tmp_path)
    assert watch_command(options) == 0
    (saved,) = tmp_path.glob("watch-*.json")
    assert PlaySession.load(saved).seats == ("random", "human")


def test_watch_refuses_a_folder_without_checkpoints(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"holds no checkpoint|there is no checkpoint"):
        watch_command(WatchOptions(run=tmp_path, web=WebOptions()))
    with pytest.raises(UsageError, match="expected 1 to 5 opponents, found 0"):
        watch.watched_session(tmp_path, [])


def test_moves_told_while_watching_are_plain_without_colours(run: list[str]) -> None:
    out = io.StringIO()
    watch.watch_in_terminal(
        lambda number: watch.watched_session(Path(), ["random"], "short-5"), 1, 0.0, colour=False, out=out
    )
    assert "\x1b" not in out.getvalue()
    coloured = io.StringIO()
    watch.watch_in_terminal(
        lambda number: watch.watched_session(Path(), ["random"], "short-5"), 1, 0.0, colour=True, out=coloured
    )
    assert "\x1b[H" in coloured.getvalue()


def test_a_record_kept_by_play_can_be_replayed(tmp_path: Path) -> None:
    session = PlaySession(["random", "random"], "short-5", 3)
    session.run_agents()
    (replayed,) = replay(session.record())
    assert replayed.agents == ("random_(0)", "random_(1)")
