"""A server of tables in this process, and clients that speak HTTP to it as browsers do."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from phase10_training.play_tables import Table, Tables
from phase10_training.play_web import PlayServer

PATIENCE = 240.0
"""Seconds; a first call may compile."""


@contextlib.contextmanager
def running_server(folder: Path, port: int = 0, **options: Any) -> Iterator[PlayServer]:
    """Serve the tables of a folder until the block ends."""
    server = PlayServer(Tables(folder, **{"pace": 0.0, "hints": ("greedy",), **options}), port=port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(10)


class Client:
    """One browser's HTTP: it keeps its cookies and sends JSON."""

    def __init__(self, server: PlayServer) -> None:
        self.server = server
        self.cookies: dict[str, str] = {}

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        """Send a request and return status, body and headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        sent = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())} if self.cookies else {}
        connection.request(method, path, body, {**sent, **(headers or {})})
        answer = connection.getresponse()
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, _, rest = cookie.partition("=")
            self.cookies[name] = rest.split(";")[0]
        data = answer.read()
        connection.close()
        return answer.status, data, answer.headers

    def get(self, path: str) -> tuple[int, Any]:
        """Return status and JSON."""
        status, data, _ = self.request("GET", path)
        return status, json.loads(data)

    def post(self, path: str, value: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """Post JSON and return status and JSON."""
        body = json.dumps(value).encode()
        status, data, _ = self.request(
            "POST", path, body, {"Content-Type": "application/json", **(headers or {})}
        )
        return status, json.loads(data)

    def open_table(self, *others: str, rules: str = "official", name: str = "Ann") -> str:
        """Create a table with this client in seat 0 and return its id."""
        status, data = self.post("/api/tables", {"seats": ["human", *others], "rules": rules, "name": name})
        assert status == 200, data
        return str(data["table"])

    def events(self, table: str, count: int) -> list[bytes]:
        """Return the first messages of the stream of events, as the server sends them."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        cookies = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        connection.request(
            "GET", f"/api/tables/{table}/events", headers={"Cookie": cookies} if cookies else {}
        )
        answer = connection.getresponse()
        messages = []
        while len(messages) < count:
            line = answer.readline()
            assert line, "the stream has ended"
            if line.startswith(b"data: "):
                messages.append(line)
        connection.close()
        return messages


def wait_for_people(table: Table) -> None:
    """Wait until the agents of a table have played."""
    deadline = time.monotonic() + PATIENCE
    with table.changed:
        while table.session.awaits_agent:
            assert table.changed.wait(max(0.0, deadline - time.monotonic())), "the agents do not play"
