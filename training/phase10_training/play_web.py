"""The web server of `phase10 play --web`: pages, and tables as JSON; nothing but the standard library.

Pages are static; a browser listens to `events` (one table state a message, server-sent events) and posts what
its player does. Every request is checked here or by the engine: the seat by a secret cookie, the sender's page
by the Origin and Host headers (so no other site can play, nor read by rebinding its name), sizes and types by
this file, moves by the rules. A seat gets its own view of the table and no other.
"""

import contextlib
import http.cookies
import ipaddress
import json
import logging
import re
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from phase10_agents.catalog import AGENTS
from phase10_env.render.replay_page import page_file, replay_html
from phase10_env.rules.rulebook import rule_text
from phase10_env.rules.ruleset import PRESETS, RuleSet
from phase10_training.play_session import HUMAN, PlayError
from phase10_training.play_tables import Table, Tables, UnknownTableError

__all__ = ["PlayServer", "offered_agents"]

_LOG = logging.getLogger(__name__)

LARGEST_BODY = 16_384
MOST_LISTENERS = 200
HEARTBEAT = 15.0
"""Seconds after which a listener without news gets a sign of life."""
COOKIE_AGE = 365 * 24 * 3600

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_FILES = {
    "/table.css": ("render", "text/css"),
    "/table.js": ("render", "text/javascript"),
    "/play.css": ("web", "text/css"),
    "/play.js": ("web", "text/javascript"),
    "/lobby.js": ("web", "text/javascript"),
}
_TABLE_PATH = re.compile(r"/(t|api/tables)/([a-z0-9]{1,16})(?:/([a-z]+))?")


class RequestError(ValueError):
    """A request that is refused, with its status."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        self.status = status
        super().__init__(message)


def offered_agents() -> list[str]:
    """Return the agents that a browser may seat: those that load nothing from the disk or from modules.

    >>> "greedy" in offered_agents(), "checkpoint" in offered_agents()
    (True, False)
    """
    return [name for name, entry in AGENTS.items() if not entry.argument]


class PlayServer:
    """Serve tables to browsers.

    Args:
        tables: the tables.
        host: address to listen on; the default is reached from this machine only.
        port: 0 takes any free one.
        agents: specifications that a browser may seat; default `offered_agents()`.
        rules: rulesets that a browser may choose, by name; default the presets.

    Attributes:
        address: such as "http://127.0.0.1:8010".

    Raises:
        OSError: the address cannot be used.
    """

    def __init__(
        self,
        tables: Tables,
        host: str = "127.0.0.1",
        port: int = 0,
        agents: Sequence[str] | None = None,
        rules: Mapping[str, RuleSet] = PRESETS,
    ) -> None:
        self.tables = tables
        self.agents = list(offered_agents() if agents is None else agents)
        self.rules = dict(rules)
        self.host = host
        self.listeners = 0
        self.listeners_lock = threading.Lock()
        self.closing = threading.Event()
        handler = type("Handler", (_Handler,), {"server_object": self})
        self._http = _HttpServer((host, port), handler)
        self.port = self._http.server_address[1]
        shown = f"[{host}]" if ":" in host else "127.0.0.1" if host in ("0.0.0.0", "") else host
        self.address = f"http://{shown}:{self.port}"

    def run(self) -> None:
        """Serve until `stop` is called from another thread, or Ctrl-C."""
        try:
            self._http.serve_forever(poll_interval=0.2)
        finally:
            self.stop()

    def stop(self) -> None:
        """End the server; tables stay saved."""
        if self.closing.is_set():
            return
        self.closing.set()
        threading.Thread(target=self._http.shutdown, daemon=True).start()
        self._http.server_close()
        self._http.hang_up()
        self.tables.close()

    def link(self, table: Table, seat: int) -> str:
        """Return the secret address of a seat, by which any browser takes it."""
        return f"{self.address}/t/{table.name}?key={table.keys[seat]}"

    def knows_host(self, header: str) -> bool:
        """Tell whether a Host header names this server; foreign names would be rebound ones."""
        name = urlsplit(f"//{header}").hostname or ""
        try:
            ipaddress.ip_address(name)
        except ValueError:
            machine = socket.gethostname().lower()
            return name in ("localhost", self.host.lower(), machine, f"{machine}.local")
        return True


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, and remember it."""
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that has ended."""
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End all connections, idle ones too."""
        with self._open_lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log instead of printing; a browser that goes away is no error."""
        _LOG.debug("a request of %s failed", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server_object: PlayServer
    protocol_version = "HTTP/1.1"
    server_version = "phase10"
    sys_version = ""
    timeout = 30

    # ---- in

    def do_GET(self) -> None:  # the name that http.server calls
        self._answer(self._get)

    def do_POST(self) -> None:  # the name that http.server calls
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        _LOG.debug("%s %s", self.address_string(), format % args)

    def _answer(self, respond: Callable[[str], None]) -> None:
        try:
            if not self.server_object.knows_host(self.headers.get("Host", "")):
                raise RequestError(HTTPStatus.MISDIRECTED_REQUEST, "This server has another name.")
            respond(urlsplit(self.path).path)
        except RequestError as problem:
            self._send_json({"error": str(problem)}, problem.status)
        except UnknownTableError as problem:
            self._send_json({"error": str(problem)}, HTTPStatus.NOT_FOUND)
        except PlayError as problem:
            self._send_json({"error": str(problem)}, HTTPStatus.CONFLICT)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True
        except ValueError as problem:
            self._send_json({"error": f"{problem}."}, HTTPStatus.BAD_REQUEST)

    def _get(self, path: str) -> None:
        if path in _FILES:
            folder, kind = _FILES[path]
            self._send(self._file(folder, path[1:]), kind)
        elif path == "/":
            self._send(self._file("web", "lobby.html"), "text/html")
        elif path == "/api/lobby":
            self._send_json(self._lobby())
        else:
            table, part, is_page = self._table(path)
            if is_page:
                self._get_page(table, part)
            elif part == "state":
                self._send_json(table.view(self._seat(table)))
            elif part == "events":
                self._listen(table)
            elif part == "record" and table.session.game.over:
                self._send(table.session.record(), "text/plain", f"{table.name}.p10")
            else:
                raise RequestError(
                    HTTPStatus.NOT_FOUND, "There is nothing here; a record comes when the game is over."
                )

    def _get_page(self, table: Table, part: str) -> None:
        if part == "":
            key = parse_qs(urlsplit(self.path).query).get("key", [""])[0]
            if key:
                self._accept_key(table, key)
            else:
                self._send(self._file("web", "table.html"), "text/html")
        elif part == "rules":
            self._send(rule_text(table.session.game.ruleset), "text/plain")
        elif part == "replay" and table.session.game.over:
            with table.changed:
                page = replay_html(table.session.game, names=table.session.names, title="Phase 10")
            self._send(
                page,
                "text/html",
                policy="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'",
            )
        else:
            raise RequestError(
                HTTPStatus.NOT_FOUND, "There is nothing here; a replay comes when the game is over."
            )

    def _accept_key(self, table: Table, key: str) -> None:
        """Give the browser that holds the link of a seat the cookie of the seat."""
        if table.seat_of(key) is None:
            raise RequestError(HTTPStatus.FORBIDDEN, "This link does not belong to a seat at the table.")
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", f"/t/{table.name}")
        self._send_cookie(table, key)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _post(self, path: str) -> None:
        body = self._body()
        if path == "/api/tables":
            self._create(body)
            return
        table, part, is_page = self._table(path)
        if is_page:
            raise RequestError(HTTPStatus.NOT_FOUND, "There is nothing here.")
        seat = self._seat(table)
        if part == "join":
            if seat is not None:
                raise PlayError("This browser has a seat at the table already.")
            self._send_json({"table": table.name}, cookie=(table, table.join(_text(body, "name", 40))))
            return
        if seat is None:
            raise RequestError(HTTPStatus.FORBIDDEN, "You have no seat at this table.")
        if part == "play":
            table.play(seat, _text(body, "action", 40), _whole(body, "version"))
        elif part == "undo":
            table.undo(seat)
        elif part == "hint":
            self._send_json({"hints": table.hint(seat, _text(body, "agent", 100))})
            return
        else:
            raise RequestError(HTTPStatus.NOT_FOUND, "There is nothing here.")
        self._send_json(table.view(seat))

    # ---- parts

    def _lobby(self) -> dict[str, Any]:
        server = self.server_object
        keys = {name.removeprefix("seat_"): cookie.value for name, cookie in self._cookies().items()}
        return {
            "tables": server.tables.listing(keys),
            "rules": list(server.rules),
            "agents": server.agents,
        }

    def _create(self, body: Mapping[str, Any]) -> None:
        server = self.server_object
        seats = body.get("seats")
        if not isinstance(seats, list) or not 2 <= len(seats) <= 6:
            raise RequestError(HTTPStatus.BAD_REQUEST, "A table has 2 to 6 seats.")
        for spec in seats:
            if spec != HUMAN and spec not in server.agents:
                raise RequestError(
                    HTTPStatus.BAD_REQUEST, f"A seat takes a person or one of {', '.join(server.agents)}."
                )
        if HUMAN not in seats:
            raise RequestError(HTTPStatus.BAD_REQUEST, "At least one seat is for a person.")
        rules = server.rules.get(_text(body, "rules", 100))
        if rules is None:
            raise RequestError(HTTPStatus.BAD_REQUEST, f"The rules are one of {', '.join(server.rules)}.")
        table = server.tables.create(seats, rules, name=_text(body, "name", 40))
        self._send_json({"table": table.name}, cookie=(table, table.keys[seats.index(HUMAN)]))

    def _table(self, path: str) -> tuple[Table, str, bool]:
        found = _TABLE_PATH.fullmatch(path)
        if found is None:
            raise RequestError(HTTPStatus.NOT_FOUND, "There is nothing here.")
        return self.server_object.tables.get(found[2]), found[3] or "", found[1] == "t"

    def _seat(self, table: Table) -> int | None:
        """Return the seat whose key this browser holds."""
        cookie = self._cookies().get(f"seat_{table.name}")
        return None if cookie is None else table.seat_of(cookie.value)

    def _cookies(self) -> Mapping[str, http.cookies.Morsel[str]]:
        try:
            return http.cookies.SimpleCookie(self.headers.get("Cookie", ""))
        except http.cookies.CookieError:
            return {}

    def _body(self) -> dict[str, Any]:
        """Return the JSON object of a request that came from a page of this server."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            self.close_connection = True
            raise RequestError(HTTPStatus.BAD_REQUEST, f"A request holds at most {LARGEST_BODY} bytes.")
        data = self.rfile.read(int(length))
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != self.headers.get("Host"):
            raise RequestError(HTTPStatus.FORBIDDEN, "This request came from a page of another server.")
        if self.headers.get_content_type() != "application/json":
            raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Requests are JSON.")
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            raise RequestError(HTTPStatus.BAD_REQUEST, "Requests are JSON.") from None
        if not isinstance(body, dict):
            raise RequestError(HTTPStatus.BAD_REQUEST, "A request is a JSON object.")
        return body

    # ---- out

    def _listen(self, table: Table) -> None:
        """Send the seat's view of a table now and after each change, until the browser goes away."""
        server = self.server_object
        with server.listeners_lock:
            if server.listeners >= MOST_LISTENERS:
                raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.")
            server.listeners += 1
        try:
            self.close_connection = True
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream")
            self._send_common_headers()
            self.send_header("Connection", "close")
            self.end_headers()
            seat = self._seat(table)
            sent = -1
            while not server.closing.is_set():
                with table.changed:
                    if table.version == sent:
                        table.changed.wait(HEARTBEAT)
                    news = table.version != sent
                    sent = table.version
                    message = f"data: {json.dumps(table.view(seat))}\n\n" if news else ": waiting\n\n"
                self.wfile.write(message.encode())
                self.wfile.flush()
        finally:
            with server.listeners_lock:
                server.listeners -= 1

    def _file(self, folder: str, name: str) -> str:
        if folder == "render":
            return page_file(name)
        return files("phase10_training").joinpath("web", name).read_text(encoding="utf-8")

    def _send(self, text: str, kind: str, download: str = "", policy: str = _POLICY) -> None:
        data = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", policy)
        if download:
            self.send_header("Content-Disposition", f'attachment; filename="{download}"')
        self._send_common_headers()
        self.end_headers()
        self.wfile.write(data)

    def _send_json(
        self, value: Any, status: HTTPStatus = HTTPStatus.OK, cookie: tuple[Table, str] | None = None
    ) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if cookie is not None:
            self._send_cookie(*cookie)
        self._send_common_headers()
        self.end_headers()
        self.wfile.write(data)

    def _send_common_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")  # an address may hold a key

    def _send_cookie(self, table: Table, key: str) -> None:
        # scripts cannot read it, and no other site's request carries it
        value = f"seat_{table.name}={key}; Path=/; HttpOnly; SameSite=Strict; Max-Age={COOKIE_AGE}"
        self.send_header("Set-Cookie", value)


def _text(body: Mapping[str, Any], name: str, longest: int) -> str:
    value = body.get(name)
    if not isinstance(value, str) or len(value) > longest:
        raise RequestError(HTTPStatus.BAD_REQUEST, f"'{name}' is a text of at most {longest} letters.")
    return value


def _whole(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    if type(value) is not int:
        raise RequestError(HTTPStatus.BAD_REQUEST, f"'{name}' is a whole number.")
    return value
