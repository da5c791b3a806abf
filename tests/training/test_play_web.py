"""The server of tables: who sees what, who may do what, and what survives. All by reading what it sends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from play_clients import PATIENCE, Client, running_server, wait_for_people
from render_games import deal_hidden_anew, random_choice

from phase10_env.records import replay
from phase10_training.play_session import PlayError, PlaySession
from phase10_training.play_tables import Tables
from phase10_training.play_web import PlayServer, offered_agents


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PlayServer]:
    with running_server(tmp_path) as running:
        yield running


def play_on(server: PlayServer, client: Client, table: str, decisions: int, seed: int = 0) -> None:
    """Let a client play at random."""
    rng = np.random.default_rng(seed)
    for _ in range(decisions):
        wait_for_people(server.tables.get(table))
        _, state = client.get(f"/api/tables/{table}/state")
        if state["over"] or not state["your_turn"]:
            return
        texts = [entry["text"] for entry in state["legal"]]
        game = server.tables.get(table).session.game
        action = texts[game.legal_indices().index(random_choice(np.array(game.legal_indices()), rng))]
        status, data = client.post(
            f"/api/tables/{table}/play", {"action": action, "version": state["version"]}
        )
        assert status == 200, data


# ---- what a seat sees


def test_a_seat_is_sent_its_own_hand_and_no_other(server: PlayServer) -> None:
    ann, bo = Client(server), Client(server)
    table = ann.open_table("human", "greedy")
    assert bo.post(f"/api/tables/{table}/join", {"name": "Bo"})[0] == 200
    for turn in range(40):
        wait_for_people(server.tables.get(table))
        for seat, client in enumerate((ann, bo)):
            (message,) = client.events(table, 1)
            state = json.loads(message.removeprefix(b"data: "))
            assert state["seat"] == seat
            assert [one["hand"] is not None for one in state["facts"]["seats"]] == [
                k == seat for k in range(3)
            ]
            session = server.tables.get(table).session
            told = json.dumps([state["moves"], state["news"]])
            for move in session.moves:
                if move.seat != seat and "draws" in move.words[-1] and move.words[-1] in told:
                    raise AssertionError(f"seat {seat} was told {move.words[-1]!r}")
            assert state["your_turn"] or (state["legal"], state["drawn"]) == ([], "")
        for client in (ann, bo):
            play_on(server, client, table, 1, turn)


def test_what_is_sent_does_not_depend_on_hidden_cards(server: PlayServer) -> None:
    ann = Client(server)
    name = ann.open_table("greedy", "greedy")
    play_on(server, ann, name, 12)
    table = server.tables.get(name)
    wait_for_people(table)
    before = ann.events(name, 1)
    table.session.game.state[:] = deal_hidden_anew(table.session.game.state, 0, 3)
    assert ann.events(name, 1) == before


def test_without_a_seat_nothing_of_the_game_is_sent(server: PlayServer) -> None:
    ann, stranger = Client(server), Client(server)
    table = ann.open_table("human")
    for cookies in ({}, {f"seat_{table}": "guess"}, {f"seat_{table}": ""}, {"seat_other": "x"}):
        stranger.cookies = dict(cookies)
        status, state = stranger.get(f"/api/tables/{table}/state")
        assert status == 200
        assert state["seat"] is None
        assert set(state) == {"table", "version", "seat", "names", "free", "over", "problem"}
        assert stranger.events(table, 1)[0] == b"data: " + json.dumps(state).encode() + b"\n"
    status, page, _ = stranger.request("GET", f"/t/{table}")
    assert status == 200
    assert server.tables.get(table).keys[0].encode() not in page
    assert server.tables.get(table).keys[0] not in json.dumps(stranger.get("/api/lobby")[1])


def test_a_table_of_agents_alone_is_open_to_everybody(server: PlayServer) -> None:
    table = server.tables.create(["greedy", "greedy"], "short-5", 1)
    _, state = Client(server).get(f"/api/tables/{table.name}/state")
    assert all(seat["hand"] is not None for seat in state["facts"]["seats"])
    assert state["legal"] == []


def test_record_and_replay_come_only_when_the_game_is_over(server: PlayServer) -> None:
    ann = Client(server)
    table = ann.open_table("greedy", rules="short-5")
    for path in (f"/api/tables/{table}/record", f"/t/{table}/replay"):
        status, data = ann.get(path)
        assert status == 404
        assert "when the game is over" in data["error"]
    play_on(server, ann, table, 3000)
    status, record, headers = ann.request("GET", f"/api/tables/{table}/record")
    assert status == 200
    assert headers["Content-Disposition"] == f'attachment; filename="{table}.p10"'
    (replayed,) = replay(record.decode())
    assert replayed.game.over
    assert (server.tables.folder / f"{table}.p10").read_text() == record.decode()
    assert ann.request("GET", f"/t/{table}/replay")[1].startswith(b"<!doctype html>")
    status, data = ann.post(
        f"/api/tables/{table}/play",
        {"action": "draw", "version": ann.get(f"/api/tables/{table}/state")[1]["version"]},
    )
    assert (status, data["error"]) == (409, "The game is over.")


# ---- who may do what


def test_a_second_client_cannot_play_another_seat(server: PlayServer) -> None:
    ann, bo, stranger = Client(server), Client(server), Client(server)
    table = ann.open_table("human")
    bo.post(f"/api/tables/{table}/join", {"name": "Bo"})
    session = server.tables.get(table).session
    clients = [ann, bo]
    actor, other = clients[session.to_act], clients[1 - session.to_act]
    version = ann.get(f"/api/tables/{table}/state")[1]["version"]
    before = session.game.state.copy()
    status, data = other.post(f"/api/tables/{table}/play", {"action": "draw", "version": version})
    assert status == 409
    assert "'s turn, not " in data["error"]
    for part, body in (
        ("play", {"action": "draw", "version": version}),
        ("undo", {}),
        ("hint", {"agent": "greedy"}),
    ):
        status, data = stranger.post(f"/api/tables/{table}/{part}", body)
        assert (status, data["error"]) == (403, "You have no seat at this table.")
    assert (session.game.state == before).all()
    assert actor.post(f"/api/tables/{table}/play", {"action": "draw", "version": version})[0] == 200
    status, data = other.post(f"/api/tables/{table}/hint", {"agent": "greedy"})
    assert status == 409


def test_seats_are_given_once(server: PlayServer) -> None:
    ann, bo, cy = Client(server), Client(server), Client(server)
    table = ann.open_table("human")
    assert ann.post(f"/api/tables/{table}/join", {"name": "Ann"})[1]["error"].startswith(
        "This browser has a seat"
    )
    assert bo.post(f"/api/tables/{table}/join", {"name": "Bo"})[0] == 200
    assert cy.post(f"/api/tables/{table}/join", {"name": "Cy"}) == (
        409,
        {"error": "Every seat at this table is taken."},
    )
    assert server.tables.get(table).session.names == ["Ann", "Bo"]


def test_the_link_of_a_seat_gives_it_to_another_browser(server: PlayServer) -> None:
    ann, phone = Client(server), Client(server)
    name = ann.open_table("greedy")
    table = server.tables.get(name)
    status, _, headers = phone.request("GET", f"/t/{name}?key={table.keys[0]}")
    assert (status, headers["Location"]) == (303, f"/t/{name}")
    assert "HttpOnly" in headers["Set-Cookie"]
    assert "SameSite=Strict" in headers["Set-Cookie"]
    assert phone.get(f"/api/tables/{name}/state")[1]["seat"] == 0
    status, data = Client(server).get(f"/t/{name}?key=wrong")
    assert (status, data["error"]) == (403, "This link does not belong to a seat at the table.")


def test_illegal_moves_get_a_sentence_with_the_rule(server: PlayServer) -> None:
    ann = Client(server)
    table = ann.open_table("greedy")
    wait_for_people(server.tables.get(table))
    version = ann.get(f"/api/tables/{table}/state")[1]["version"]
    status, data = ann.post(f"/api/tables/{table}/play", {"action": "discard W", "version": version})
    assert status == 409
    assert data["error"].startswith("You may not discard W: a turn begins with a draw")
    assert "(R8)" in data["error"]


def test_a_move_that_was_sent_twice_is_played_once(server: PlayServer) -> None:
    ann = Client(server)
    table = ann.open_table("greedy")
    wait_for_people(server.tables.get(table))
    version = ann.get(f"/api/tables/{table}/state")[1]["version"]
    answers: list[int] = []

    def send() -> None:
        twin = Client(server)
        twin.cookies = dict(ann.cookies)
        answers.append(twin.post(f"/api/tables/{table}/play", {"action": "draw", "version": version})[0])

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200, 409, 409, 409, 409, 409]


def test_undo_and_hints_work_for_the_seat(server: PlayServer) -> None:
    ann = Client(server)
    table = ann.open_table("greedy")
    wait_for_people(server.tables.get(table))
    before = ann.get(f"/api/tables/{table}/state")[1]
    status, data = ann.post(f"/api/tables/{table}/hint", {"agent": "greedy"})
    assert status == 200
    assert {entry["text"] for entry in data["hints"]} == {entry["text"] for entry in before["legal"]}
    assert sum(entry["choice"] for entry in data["hints"]) == 1
    status, data = ann.post(f"/api/tables/{table}/hint", {"agent": "os:getcwd"})
    assert (status, data["error"]) == (409, "For hints ask one of greedy.")
    ann.post(f"/api/tables/{table}/play", {"action": "draw", "version": before["version"]})
    status, after = ann.post(f"/api/tables/{table}/undo", {})
    assert status == 200
    assert after["facts"] == before["facts"]
    assert after["version"] > before["version"]


def test_browsers_cannot_seat_agents_that_load_files_or_modules(server: PlayServer) -> None:
    ann = Client(server)
    for spec in ("checkpoint:/etc/passwd", "sb3:x", "os:getcwd", "", "greedy:epsilon=1", None, 3):
        status, data = ann.post("/api/tables", {"seats": ["human", spec], "rules": "official", "name": "Ann"})
        assert (status, data["error"][:12]) == (400, "A seat takes")
    for seats in ([], ["human"], ["human"] * 7, "human", None, {"a": 1}):
        status, data = ann.post("/api/tables", {"seats": seats, "rules": "official", "name": "Ann"})
        assert (status, data["error"]) == (400, "A table has 2 to 6 seats.")
    assert ann.post("/api/tables", {"seats": ["greedy"] * 2, "rules": "official", "name": "x"})[0] == 400
    status, data = ann.post(
        "/api/tables", {"seats": ["human", "greedy"], "rules": "/etc/passwd", "name": "x"}
    )
    assert status == 400
    assert data["error"].startswith("The rules are one of official, ")
    assert list(server.tables.folder.iterdir()) == []
    assert all(":" not in name for name in offered_agents())


def test_requests_of_other_sites_are_refused(server: PlayServer) -> None:
    ann = Client(server)
    table = ann.open_table("greedy")
    path = f"/api/tables/{table}/undo"
    status, data = ann.post(path, {}, {"Origin": "http://evil.example"})
    assert (status, data["error"]) == (403, "This request came from a page of another server.")
    assert ann.post(path, {}, {"Origin": server.address})[0] == 409
    status, data, _ = ann.request("POST", path, b"{}", {"Content-Type": "text/plain"})
    assert status == 415
    for host in ("evil.example", "evil.example:8010", "localhost.evil.example", ""):
        assert ann.request("GET", f"/api/tables/{table}/state", headers={"Host": host})[0] == 421
    assert (
        ann.request("GET", f"/api/tables/{table}/state", headers={"Host": f"localhost:{server.port}"})[0]
        == 200
    )


def test_pages_forbid_foreign_scripts_and_frames(server: PlayServer) -> None:
    for path in ("/", "/table.js", "/play.css"):
        _, _, headers = Client(server).request("GET", path)
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    ["/x", "/t/", "/t/../secret", "/t/..%2f..%2fetc", "/api/tables/aaaaaaaa/state", "/api/tables/AAAAAAAA/state",
     "/t/aaaaaaaa/replay", "/play.py", "/web/play.js", "/api/tables", "/t/aaaaaaaa/rules/x"],
)  # fmt: skip
def test_unknown_addresses_are_not_found(server: PlayServer, path: str) -> None:
    assert Client(server).request("GET", path)[0] == 404


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    part=st.sampled_from(["play", "undo", "hint", "join", "state", "x"]),
    body=st.one_of(
        st.binary(max_size=60),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=12)),
            lambda inner: st.one_of(
                st.lists(inner, max_size=3),
                st.dictionaries(st.sampled_from(["action", "version", "agent", "name"]), inner, max_size=4),
            ),
            max_leaves=6,
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_whatever_is_posted_is_answered_and_changes_nothing(
    server: PlayServer, part: str, body: bytes
) -> None:
    client = Client(server)
    tables = list(server.tables._tables)
    if not tables:
        client.open_table("greedy")
        tables = list(server.tables._tables)
        wait_for_people(server.tables.get(tables[0]))
    table = server.tables.get(tables[0])
    client.cookies = {f"seat_{table.name}": table.keys[0]}
    before = table.session.game.state.copy()
    status, data, _ = client.request(
        "POST", f"/api/tables/{table.name}/{part}", body, {"Content-Type": "application/json"}
    )
    assert status in (400, 404, 409), (status, data)
    assert json.loads(data)["error"]
    assert (table.session.game.state == before).all()


def test_a_body_that_is_too_large_is_refused(server: PlayServer) -> None:
    status, data, _ = Client(server).request("POST", "/api/tables", b"", {"Content-Length": "99999999"})
    assert status == 400
    assert b"at most 16384 bytes" in data


# ---- several tables, and death


def test_several_tables_run_at_once_and_do_not_mix(server: PlayServer) -> None:
    clients = [Client(server) for _ in range(4)]
    names = [client.open_table("greedy", rules="short-5") for client in clients]
    threads = [
        threading.Thread(target=play_on, args=(server, client, name, 25, seed))
        for seed, (client, name) in enumerate(zip(clients, names, strict=True))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client, name in zip(clients, names, strict=True):
        assert client.get(f"/api/tables/{name}/state")[1]["seat"] == 0
        session = server.tables.get(name).session
        (replayed,) = replay(session.record())
        assert replayed.game.history == session.game.history
        others = [other for other in clients if other is not client]
        assert all(other.get(f"/api/tables/{name}/state")[1]["seat"] is None for other in others)
    listed = {entry["table"] for entry in clients[0].get("/api/lobby")[1]["tables"]}
    assert listed == set(names)


def test_changes_are_pushed_to_everybody_at_the_table(server: PlayServer) -> None:
    ann, bo = Client(server), Client(server)
    table = ann.open_table("human")
    bo.post(f"/api/tables/{table}/join", {"name": "Bo"})
    received: list[list[bytes]] = []
    listener = threading.Thread(target=lambda: received.append(bo.events(table, 2)))
    listener.start()
    while not server.listeners:
        time.sleep(0.01)
    actor = [ann, bo][server.tables.get(table).session.to_act]
    version = ann.get(f"/api/tables/{table}/state")[1]["version"]
    actor.post(f"/api/tables/{table}/play", {"action": "draw", "version": version})
    listener.join(30)
    states = [json.loads(message.removeprefix(b"data: ")) for message in received[0]]
    assert [state["facts"]["stage"] for state in states] == ["draw", "play"]


def test_a_server_that_starts_again_has_every_table(tmp_path: Path) -> None:
    with running_server(tmp_path) as first:
        ann = Client(first)
        table = ann.open_table("greedy", "greedy")
        play_on(first, ann, table, 15)
        wait_for_people(first.tables.get(table))
        before = ann.get(f"/api/tables/{table}/state")[1]
    with running_server(tmp_path) as second:
        ann.server = second
        assert ann.get(f"/api/tables/{table}/state")[1] == before
        assert ann.post(f"/api/tables/{table}/undo", {})[0] == 200
        play_on(second, ann, table, 5)


SERVE = """
import sys
from pathlib import Path
from typing import Any
from phase10_training.play_tables import Tables
from phase10_training.play_web import PlayServer
server = PlayServer(Tables(Path(sys.argv[1]), ("greedy",), 0.0), port=int(sys.argv[2]))
print(server.port, flush=True)
server.run()
"""


def test_nothing_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    def start(port: int) -> tuple[Any, int]:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(tmp_path), str(port)], stdout=subprocess.PIPE, text=True
        )
        return process, int(process.stdout.readline())  # type: ignore[union-attr]

    class Remote:
        port = 0

    remote = Remote()
    ann = Client(remote)  # type: ignore[arg-type]
    process, remote.port = start(0)
    try:
        table = ann.open_table("random")
        acknowledged: list[str] = []
        for _ in range(3):
            for _ in range(6):
                deadline = time.monotonic() + PATIENCE
                state = ann.get(f"/api/tables/{table}/state")[1]
                while not state["your_turn"]:
                    assert time.monotonic() < deadline, state
                    time.sleep(0.02)
                    state = ann.get(f"/api/tables/{table}/state")[1]
                action = state["legal"][-1]["text"]
                status, _ = ann.post(
                    f"/api/tables/{table}/play", {"action": action, "version": state["version"]}
                )
                assert status == 200
                acknowledged.append(action)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
            session = PlaySession.load(tmp_path / f"{table}.json")
            kept = [
                text for seat, text in session.game.history if seat == 0 and text not in ("out", "skipped")
            ]
            assert kept == acknowledged
            process, _ = start(remote.port)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    (tmp_path / ".x.json.1-2.partial").write_text("{")
    Tables(tmp_path).close()
    assert list(tmp_path.glob(".*")) == []


def test_a_damaged_table_hides_no_other(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        ann = Client(server)
        table = ann.open_table("greedy")
        (tmp_path / "aaaaaaaa.json").write_text("{")
        assert [entry["table"] for entry in ann.get("/api/lobby")[1]["tables"]] == [table]
        status, data = ann.get("/api/tables/aaaaaaaa/state")
        assert status == 400
        assert "expected a saved game, found no JSON" in data["error"]


def test_an_agent_that_fails_is_shown_at_its_table(tmp_path: Path) -> None:
    class Failing:
        name = "failing"

        def act(self, view: object) -> np.ndarray:
            raise RuntimeError("boom")

    tables = Tables(tmp_path, (), 0.0, lambda spec: Failing())
    table = tables.create(["failing", "failing"], "official", 1)
    with table.changed:
        assert table.changed.wait_for(lambda: table._problem, 30)
    assert table.view(None)["problem"] == "agent 'failing' failed: RuntimeError: boom."
    tables.close()


def test_there_is_a_limit_of_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phase10_training.play_tables.MOST_TABLES", 2)
    tables = Tables(tmp_path, (), 0.0)
    for seed in range(2):
        tables.create(["human", "human"], "official", seed)
    with pytest.raises(PlayError, match="There are 2 tables already"):
        tables.create(["human", "human"], "official", 3)
    tables.close()


def test_the_server_listens_on_this_machine_only_unless_told_otherwise(server: PlayServer) -> None:
    assert server.host == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.port}"


def test_a_move_that_cannot_be_saved_is_not_played(
    server: PlayServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = Client(server)
    name = ann.open_table("random")
    table = server.tables.get(name)
    wait_for_people(table)
    before, version = table.session.game.state.copy(), table.version

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    status, data = ann.post(f"/api/tables/{name}/play", {"action": "draw", "version": version})
    told = "The table could not be saved (No space left on device); nothing was done."
    assert (status, data["error"]) == (409, told)
    assert (table.session.game.state == before).all()
    assert table.version == version
    monkeypatch.undo()
    assert ann.post(f"/api/tables/{name}/play", {"action": "draw", "version": version})[0] == 200


def test_agents_stop_with_a_reason_when_their_move_cannot_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = Tables(tmp_path, (), 0.2)
    table = tables.create(["random", "random"], "official", 1)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with table.changed:
        assert table.changed.wait_for(lambda: table._problem, PATIENCE)
        moves = len(table.session.moves)
    assert "could not be saved" in table.view(None)["problem"]
    monkeypatch.undo()
    table.start()
    with table.changed:
        assert table.changed.wait_for(lambda: len(table.session.moves) > moves, PATIENCE)
    tables.close()


def test_strange_cookies_do_no_harm(server: PlayServer) -> None:
    for cookie in ("seat_", "=;=;", "seat_aaaaaaaa=\x7f", "a" * 4000, 'seat_x="'):
        assert Client(server).request("GET", "/api/lobby", headers={"Cookie": cookie})[0] == 200
