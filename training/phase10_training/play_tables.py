"""Tables at which people and agents play in browsers: who sits where, what each may see, and what is kept.

A table is locked while it changes; agents think outside the lock, and their move is dropped if the table has
moved on meanwhile. Every change is saved before anybody sees it. A person is known by the secret key of a seat.
"""

import hmac
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from phase10_agents.catalog import load_agent
from phase10_env.actions import ACTION_TEXTS
from phase10_env.render.words import action_in_words, status_in_words
from phase10_env.rules.ruleset import RuleSet
from phase10_training.advice import AgentFaultError, advise, choose, opinions
from phase10_training.errors import UsageError
from phase10_training.files import write_text
from phase10_training.play_session import HUMAN, PlayError, PlaySession, read_saved

__all__ = ["Table", "Tables", "UnknownTableError"]

_LOG = logging.getLogger(__name__)

_ID = re.compile(r"[a-z0-9]{8}")
MOVES_SENT = 80
"""Moves in words that a browser gets, the newest ones."""
MOST_TABLES = 500
TABLES_LISTED = 30


class UnknownTableError(PlayError):
    """Report a table that does not exist."""


class Table:
    """One table: a session, the keys of its seats, and a thread that plays for the agents.

    Args:
        name: the table's id.
        session: the game.
        path: file that it is saved in.
        keys: secret of each seat that a person has taken, "" elsewhere.
        hints: specifications of the agents that may be asked for hints.
        pace: seconds before each decision of an agent.
        version: changes so far.
    """

    def __init__(
        self,
        name: str,
        session: PlaySession,
        path: Path,
        keys: Sequence[str],
        hints: Sequence[str] = (),
        pace: float = 0.6,
        version: int = 0,
    ) -> None:
        self.name = name
        self.session = session
        self.keys = list(keys)
        self.hints = tuple(hints)
        self.version = version
        self.changed = threading.Condition(threading.RLock())
        self._path = path
        self._pace = pace
        self._problem = ""
        self._thinking = threading.Lock()
        self._worker: threading.Thread | None = None
        self._closed = False

    # ---- seats

    def seat_of(self, key: str) -> int | None:
        """Return the seat that a key belongs to, or None."""
        for seat, own in enumerate(self.keys):
            if own and hmac.compare_digest(own.encode(), key.encode()):
                return seat
        return None

    def free_seats(self) -> list[int]:
        """Return the seats of people that nobody has taken yet."""
        return [seat for seat in self.session.people if not self.keys[seat]]

    def join(self, name: str) -> str:
        """Give a free seat to a person and return its key.

        Raises:
            PlayError: every seat is taken.
        """
        with self.changed:
            free = self.free_seats()
            if not free:
                raise PlayError("Every seat at this table is taken.")
            self.keys[free[0]] = secrets.token_urlsafe(18)
            self.session.rename(free[0], name)
            self._keep()
            return self.keys[free[0]]

    # ---- what a browser gets

    def view(self, seat: int | None) -> dict[str, Any]:
        """Return all that a seat may see; without a seat, the open table only where no person plays."""
        with self.changed:
            session = self.session
            common = {
                "table": self.name,
                "version": self.version,
                "seat": seat,
                "names": list(session.names),
                "free": self.free_seats(),
                "over": session.game.over,
                "problem": self._problem,
            }
            if seat is None and session.people:
                return common
            facts = session.facts(seat)
            own = seat is not None and not session.game.over and session.to_act == seat
            moves = session.told(seat)
            return {
                **common,
                "facts": facts.to_dict(),
                "status": status_in_words(facts),
                "your_turn": own,
                "legal": self._legal() if own else [],
                "drawn": session.drawn(seat) if own and seat is not None else "",
                "moves": moves[-MOVES_SENT:],
                "moves_before": max(0, len(moves) - MOVES_SENT),
                "news": self._news(seat),
                "can_undo": seat is not None and session.can_undo(seat),
                "hints": list(self.hints),
            }

    def _legal(self) -> list[dict[str, str]]:
        game = self.session.game
        return [
            {
                "text": ACTION_TEXTS[action],
                "words": action_in_words(game.state, game.ruleset, action, self.session.names),
            }
            for action in game.legal_indices()
        ]

    def _news(self, seat: int | None) -> list[str]:
        """Return what has happened since the seat's own last move, that move included."""
        moves = self.session.moves
        last = max((k for k, move in enumerate(moves) if move.seat == seat), default=0)
        return self.session.told(seat, last)[-12:]

    # ---- what a browser may ask for

    def play(self, seat: int, action: str, version: int) -> None:
        """Take an action for a person.

        Args:
            seat: who asks.
            action: text of the action.
            version: the version that the person has seen.

        Raises:
            PlayError: the table has changed since, it is not this seat's turn, or a rule forbids the action.
        """
        with self.changed:
            if version != self.version:
                raise PlayError("The table has changed since you looked; nothing was done.")
            self.session.play(seat, action)
            self._keep_move()
        self.start()

    def undo(self, seat: int) -> None:
        """Take a person's last decision back, with all that followed.

        Raises:
            PlayError: other people play too, or there is nothing to take back.
        """
        with self.changed:
            self.session.undo(seat)
            self._keep()
        self.start()

    def hint(self, seat: int, spec: str) -> list[dict[str, Any]]:
        """Return what an agent thinks of each action that a person could take.

        Raises:
            PlayError: it is not this seat's turn, or the agent may not be asked.
            ValueError: the agent cannot be loaded or failed.
        """
        if spec not in self.hints:
            raise PlayError(f"For hints ask one of {', '.join(self.hints)}.")
        with self._thinking:
            with self.changed:
                agent, view = self.session.hint_decision(seat, spec)
                legal = self.session.game.legal_indices()
                words = {entry["text"]: entry["words"] for entry in self._legal()}
            found = opinions(advise(agent, view), legal)
        return [
            {"text": each.text, "words": words[each.text], "value": each.value, "choice": each.choice}
            for each in found
        ]

    # ---- agents

    def start(self) -> None:
        """Let the agents play, in a thread of their own, until a person is to act."""
        with self.changed:
            if self._closed or (self._worker and self._worker.is_alive()) or not self.session.awaits_agent:
                return
            self._problem = ""
            self._worker = threading.Thread(target=self._run_agents, daemon=True, name=f"table {self.name}")
            self._worker.start()

    def _run_agents(self) -> None:
        while True:
            if self._pace:
                time.sleep(self._pace)
            with self._thinking:
                with self.changed:
                    if self._closed or not self.session.awaits_agent:
                        self._worker = None
                        return
                    version = self.version
                    agent, view = self.session.agent_decision()
                try:
                    action = choose(agent, view)
                except AgentFaultError as fault:
                    with self.changed:
                        self._stop_agents(f"{fault}.")
                    return
            with self.changed:
                if self.version == version and not self._closed:
                    self.session.take(action)
                    try:
                        self._keep_move()
                    except PlayError as problem:
                        self._stop_agents(str(problem))
                        return

    def _stop_agents(self, problem: str) -> None:
        """Tell everybody why the agents do not go on."""
        _LOG.warning("table %s: %s", self.name, problem)
        self._problem = problem
        self._worker = None
        self.version += 1
        self.changed.notify_all()

    # ---- keeping

    def _keep(self) -> None:
        """Save the table, then tell everybody who watches.

        Raises:
            PlayError: it cannot be saved.
        """
        try:
            self.session.save(self._path, keys=self.keys, version=self.version + 1)
            if self.session.game.over:
                write_text(self._path.with_suffix(".p10"), self.session.record())
        except OSError as problem:
            raise PlayError(f"The table could not be saved ({problem.strerror}); nothing was done.") from None
        self.version += 1
        self.changed.notify_all()

    def _keep_move(self) -> None:
        """Save the table after a move, or take the move back."""
        try:
            self._keep()
        except PlayError:
            self.session.take_back()
            raise

    def replace(self, session: PlaySession) -> None:
        """Begin another game at this table."""
        with self.changed:
            self.session = session
            self._keep()
        self.start()

    def close(self) -> None:
        """Stop the agents."""
        with self.changed:
            self._closed = True
            self.changed.notify_all()
        if self._worker is not None:
            self._worker.join(5)


class Tables:
    """All tables of a server, kept in a folder; those of an earlier run are there again.

    Args:
        folder: where tables and records are kept.
        hints: specifications of the agents that may be asked for hints.
        pace: seconds before each decision of an agent.
        loader: makes an agent of a specification.
    """

    def __init__(
        self,
        folder: Path,
        hints: Sequence[str] = (),
        pace: float = 0.6,
        loader: Callable[..., Any] = load_agent,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for partial in folder.glob(".*.partial"):  # a server was killed while it wrote
            partial.unlink(missing_ok=True)
        self.folder = folder
        self.hints = tuple(hints)
        self._pace = pace
        self._loader = loader
        self._tables: dict[str, Table] = {}
        self._lock = threading.Lock()

    def create(
        self,
        seats: Sequence[str],
        ruleset: str | RuleSet,
        seed: int | None = None,
        name: str = "Player",
    ) -> Table:
        """Open a table; the first seat of a person is taken at once.

        Args:
            seats: `human` or the specification of an agent, by seat.
            ruleset: the rules.
            seed: of the deals; None draws one.
            name: what the first person is called.

        Raises:
            ValueError: an unknown agent, or rules that do not fit the number of seats.
        """
        seed = secrets.randbits(63) if seed is None else seed
        people = [seat for seat, spec in enumerate(seats) if spec == HUMAN]
        names = [f"Player {seat}" if spec == HUMAN else spec for seat, spec in enumerate(seats)]
        if people:
            names[people[0]] = name
        return self.seat(PlaySession(seats, ruleset, seed, names, self._loader))

    def seat(self, session: PlaySession) -> Table:
        """Open a table for a session; its first person has the key of their seat at once.

        Raises:
            PlayError: there are too many tables.
        """
        with self._lock:
            if len(list(self.folder.glob("*.json"))) >= MOST_TABLES:
                raise PlayError(f"There are {MOST_TABLES} tables already; delete old ones in {self.folder}.")
            identity = "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(8))
            keys = ["" for _ in session.seats]
            if session.people:
                keys[session.people[0]] = secrets.token_urlsafe(18)
            table = Table(identity, session, self._path(identity), keys, self.hints, self._pace)
            self._tables[identity] = table
        with table.changed:
            table._keep()
        table.start()
        return table

    def _path(self, identity: str) -> Path:
        return self.folder / f"{identity}.json"

    def get(self, identity: str) -> Table:
        """Return a table; one of an earlier run goes on from its file.

        Raises:
            UnknownTableError: there is no such table.
            UsageError: its file is damaged.
        """
        with self._lock:
            if identity not in self._tables:
                path = self._path(identity) if _ID.fullmatch(identity) else None
                if path is None or not path.exists():
                    raise UnknownTableError("There is no such table; it may have been deleted.")
                self._tables[identity] = self._load(identity, path)
                self._tables[identity].start()
            return self._tables[identity]

    def _load(self, identity: str, path: Path) -> Table:
        data = read_saved(path)
        session = PlaySession.from_data(data, self._loader, path)
        keys, version = data.get("keys"), data.get("version")
        if not isinstance(keys, list) or len(keys) != len(session.seats) or not isinstance(version, int):
            raise UsageError(f"{path}: expected 'keys' of all seats and a 'version'")
        return Table(identity, session, path, [str(key) for key in keys], self.hints, self._pace, version)

    def listing(self, keys: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the newest tables, as their files tell.

        Args:
            keys: the keys that a browser holds, by table.

        Returns:
            For each `table`: `names` and `free` seats, `seat` of the browser or None, `over`, `round`, `rules`.
        """
        newest = sorted(self.folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        tables = []
        for path in newest[:TABLES_LISTED]:
            try:
                tables.append(_summary(path, keys.get(path.stem, "")))
            except (UsageError, KeyError, TypeError, ValueError, IndexError) as problem:
                _LOG.warning("%s is no saved table: %s", path, problem)
        return tables

    def close(self) -> None:
        """Stop the agents of all tables."""
        for table in list(self._tables.values()):
            table.close()


def _summary(path: Path, key: str) -> dict[str, Any]:
    """Return what the lobby shows of a saved table, without replaying it."""
    data = read_saved(path)
    record, own = data["record"], list(data["keys"])
    held = [key != "" and hmac.compare_digest(str(each).encode(), key.encode()) for each in own]
    return {
        "table": path.stem,
        "names": list(data["names"]),
        "free": [seat for seat, spec in enumerate(data["seats"]) if spec == HUMAN and not own[seat]],
        "seat": held.index(True) if any(held) else None,
        "over": not record.rstrip().endswith("[result unfinished]"),
        "round": int(re.findall(r"^round ([0-9]+)", record, re.MULTILINE)[-1]),
        "rules": re.findall(r"^\[ruleset (\S+)", record)[0],
    }
