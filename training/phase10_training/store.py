"""Keeps the results of a tournament in one SQLite file that survives a kill at any moment.

A block of games is one transaction: after a kill it is there as a whole or not at all. Blocks and games are
keyed by their numbers in the schedule, so nothing can be counted twice. Tables: `meta` (settings), `blocks`,
`games` (one row a game), `seats` (one row a seat of a game), `faults`.
"""

import json
import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phase10_training.blocks import BlockGames
from phase10_training.errors import UsageError
from phase10_training.matches import GameResults
from phase10_training.round_stats import LUCK, RoundStats
from phase10_training.statistics import FloatArray

__all__ = ["STORE_FILE", "ResultStore", "StoreError", "StoredGames"]

STORE_FILE = "results.sqlite"
FORMAT = 1
LOCKED = "locked"

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE blocks (stage INTEGER, block INTEGER, stats BLOB NOT NULL, PRIMARY KEY (stage, block));
CREATE TABLE games (
    game INTEGER PRIMARY KEY, stage INTEGER, block INTEGER, deal INTEGER, line_up INTEGER, seed TEXT,
    status INTEGER, rounds INTEGER, actions BLOB);
CREATE TABLE seats (
    game INTEGER, seat INTEGER, agent INTEGER, share REAL, rank INTEGER, score INTEGER, phases INTEGER,
    decisions INTEGER, seconds REAL, illegal INTEGER, luck BLOB, PRIMARY KEY (game, seat)) WITHOUT ROWID;
CREATE TABLE faults (
    game INTEGER PRIMARY KEY, seat INTEGER, agent INTEGER, kind TEXT, detail TEXT, position TEXT);
"""


class StoreError(UsageError):
    """Report a results file that cannot be used, in one sentence."""


@dataclass(frozen=True)
class StoredGames:
    """Hold all games of a store in the order of their numbers: G games, P seats.

    Attributes:
        number, stage, deal, line_up, rounds: int64[G].
        seeds: uint64[G].
        status: int8[G].
        seats: int64[G, P], agent of each seat.
        share, seconds: float64[G, P].
        rank, score, phases, decisions, illegal: int64[G, P].
        luck: float64[G, P, k].
    """

    number: NDArray[np.int64]
    stage: NDArray[np.int64]
    deal: NDArray[np.int64]
    line_up: NDArray[np.int64]
    rounds: NDArray[np.int64]
    seeds: NDArray[np.uint64]
    status: NDArray[np.int8]
    seats: NDArray[np.int64]
    share: FloatArray
    seconds: FloatArray
    rank: NDArray[np.int64]
    score: NDArray[np.int64]
    phases: NDArray[np.int64]
    decisions: NDArray[np.int64]
    illegal: NDArray[np.int64]
    luck: FloatArray


class ResultStore:
    """Open the results file of a folder for writing, or make it.

    Only one process at a time may have it open.

    Args:
        folder: where the file is.
        settings: what is played; a file with other settings is refused.
        resume: whether a file may already be there.

    Raises:
        StoreError: there are results already and `resume` is false, or they belong to other settings, or
            the file is damaged or in use.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any], resume: bool = False) -> None:
        self.path = folder / STORE_FILE
        if self.path.exists() and not resume:
            raise StoreError(
                f"{str(folder)!r} already holds results; go on with --resume, or name another --out."
            )
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._database = _connect(self.path)
            self._prepare(settings)
        except sqlite3.DatabaseError as problem:
            raise _explained(self.path, problem) from None

    def _prepare(self, settings: Mapping[str, Any]) -> None:
        self._database.execute("BEGIN EXCLUSIVE")
        tables = {
            row[0] for row in self._database.execute("SELECT name FROM sqlite_master WHERE type='table'")
        }
        if not tables:
            for statement in SCHEMA.split(";")[:-1]:
                self._database.execute(statement)
            values = {"format": FORMAT, "settings": dict(settings)}
            self._database.executemany(
                "INSERT INTO meta VALUES (?, ?)", [(key, json.dumps(value)) for key, value in values.items()]
            )
        self._database.execute("COMMIT")
        _check_format(self.path, self._database)
        found = _read_meta(self._database, "settings")
        given = json.loads(json.dumps(dict(settings)))
        for key in sorted(found.keys() | given.keys()):
            if found.get(key) != given.get(key):
                raise StoreError(
                    f"{str(self.path)!r} was made with {key} = {json.dumps(found.get(key))}, found "
                    f"{json.dumps(given.get(key))}; resume with the same settings, or name another --out."
                )

    def done(self, stage: int) -> set[int]:
        """Return the numbers of the blocks of a stage that are stored."""
        return {
            row[0] for row in self._database.execute("SELECT block FROM blocks WHERE stage = ?", (stage,))
        }

    def games_done(self) -> int:
        """Return the number of games stored."""
        return int(self._database.execute("SELECT count(*) FROM games").fetchone()[0])

    def add(self, stage: int, block: int, games: BlockGames, results: GameResults) -> None:
        """Store a block: all of it, or nothing where the process dies meanwhile.

        Raises:
            StoreError: the block is there already, or the disk is full.
        """
        assert results.round_stats is not None
        assert results.actions is not None
        database = self._database
        try:
            database.execute("BEGIN EXCLUSIVE")
            database.execute(
                "INSERT INTO blocks VALUES (?, ?, ?)", (stage, block, results.round_stats.to_bytes())
            )
            database.executemany(
                "INSERT INTO games VALUES (?,?,?,?,?,?,?,?,?)", _game_rows(stage, block, games, results)
            )
            database.executemany(
                "INSERT INTO seats VALUES (?,?,?,?,?,?,?,?,?,?,?)", _seat_rows(games, results)
            )
            database.executemany(
                "INSERT INTO faults VALUES (?,?,?,?,?,?)",
                [
                    (int(games.number[f.game]), f.seat, f.agent, f.kind, f.detail, json.dumps(f.position))
                    for f in results.faults
                ],
            )
            database.execute("COMMIT")
        except sqlite3.DatabaseError as problem:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise _explained(self.path, problem) from None

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    # ---- reading

    @classmethod
    def open(cls, folder: Path) -> "ResultStore":
        """Open the results of a folder, whatever their settings.

        Raises:
            StoreError: there are none, or they are damaged or in use.
        """
        path = folder / STORE_FILE
        if not path.is_file():
            raise StoreError(
                f"expected results in {str(path)!r}, found none; name the folder of a tournament."
            )
        store = cls.__new__(cls)
        store.path = path
        try:
            store._database = _connect(path)
            _check_format(path, store._database)
        except sqlite3.DatabaseError as problem:
            raise _explained(path, problem) from None
        return store

    @property
    def settings(self) -> dict[str, Any]:
        """What is played."""
        found: dict[str, Any] = _read_meta(self._database, "settings")
        return found

    def games(self) -> StoredGames:
        """Return all games stored so far."""
        database = self._database
        rows = database.execute(
            "SELECT game, stage, deal, line_up, rounds, status, seed FROM games ORDER BY game"
        ).fetchall()
        numbers = np.array([row[:6] for row in rows], dtype=np.int64).reshape(len(rows), 6)
        seats = database.execute(
            "SELECT agent, rank, score, phases, decisions, illegal, share, seconds, luck FROM seats "
            "ORDER BY game, seat"
        ).fetchall()
        players = len(seats) // max(len(rows), 1)
        whole = np.array([row[:6] for row in seats], dtype=np.int64).reshape(len(rows), players, 6)
        parts = np.array([row[6:8] for row in seats], dtype=np.float64).reshape(len(rows), players, 2)
        luck = np.frombuffer(b"".join(row[8] for row in seats), "<f8").reshape(len(rows), players, len(LUCK))
        return StoredGames(
            number=numbers[:, 0],
            stage=numbers[:, 1],
            deal=numbers[:, 2],
            line_up=numbers[:, 3],
            rounds=numbers[:, 4],
            seeds=np.array([int(row[6]) for row in rows], dtype=np.uint64),
            status=numbers[:, 5].astype(np.int8),
            seats=whole[:, :, 0],
            share=parts[:, :, 0],
            seconds=parts[:, :, 1],
            rank=whole[:, :, 1],
            score=whole[:, :, 2],
            phases=whole[:, :, 3],
            decisions=whole[:, :, 4],
            illegal=whole[:, :, 5],
            luck=luck,
        )

    def round_stats(self, agents: int, players: int) -> RoundStats:
        """Return the counts of rounds over all blocks, added in the order of the blocks."""
        total = RoundStats.empty(agents, players)
        for (data,) in self._database.execute("SELECT stats FROM blocks ORDER BY stage, block"):
            total += RoundStats.from_bytes(data, agents, players)
        return total

    def faults(self) -> list[dict[str, Any]]:
        """Return every fault: `game`, `seat`, `agent` (index), `kind`, `detail`, `position`."""
        names = ("game", "seat", "agent", "kind", "detail", "position")
        rows = self._database.execute(f"SELECT {', '.join(names)} FROM faults ORDER BY game")
        return [{**dict(zip(names, row, strict=True)), "position": json.loads(row[5])} for row in rows]

    def actions(self, game: int) -> list[int]:
        """Return the actions of a game by its number, in order.

        Raises:
            StoreError: there is no such game.
        """
        row = self._database.execute("SELECT actions FROM games WHERE game = ?", (game,)).fetchone()
        if row is None:
            raise StoreError(f"expected the number of a game in {str(self.path)!r}, found {game}.")
        return list(zlib.decompress(row[0]))


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=2.0, isolation_level=None)
    # Held until the file is closed, so that two processes cannot play the same tournament.
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    database.execute("PRAGMA synchronous = FULL")
    return database


def _read_meta(database: sqlite3.Connection, key: str) -> Any:
    row = database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else json.loads(row[0])


def _check_format(path: Path, database: sqlite3.Connection) -> None:
    found = _read_meta(database, "format")
    if found != FORMAT:
        raise StoreError(f"{str(path)!r} has format {found}, expected {FORMAT}; play the tournament anew.")


def _explained(path: Path, problem: sqlite3.DatabaseError) -> StoreError:
    if LOCKED in str(problem):
        return StoreError(f"{str(path)!r} is in use by another process; wait for it, or name another --out.")
    if isinstance(problem, sqlite3.IntegrityError):
        return StoreError(f"{str(path)!r} already holds these games: {problem}; nothing was added.")
    return StoreError(f"{str(path)!r} cannot be used as a file of results: {problem}; name another --out.")


def _game_rows(stage: int, block: int, games: BlockGames, results: GameResults) -> list[tuple[Any, ...]]:
    assert results.actions is not None
    return [
        (
            int(games.number[row]),
            stage,
            block,
            int(games.deal[row]),
            int(games.line_up[row]),
            str(int(games.seeds[row])),
            int(results.status[row]),
            int(results.rounds[row]),
            zlib.compress(results.actions[row]),
        )
        for row in range(len(games.number))
    ]


def _seat_rows(games: BlockGames, results: GameResults) -> list[tuple[Any, ...]]:
    assert results.luck is not None
    luck = results.luck.astype("<f8")
    size, players = games.seats.shape
    columns = [
        np.repeat(games.number, players),
        np.tile(np.arange(players), size),
        games.seats,
        results.share,
        results.rank,
        results.score,
        results.phases,
        results.decisions,
        results.seconds,
        results.illegal,
    ]
    lists = [np.asarray(column).ravel().tolist() for column in columns]
    return list(zip(*lists, [luck[g, p].tobytes() for g in range(size) for p in range(players)], strict=True))
