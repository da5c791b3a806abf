"""Lets the newest snapshot of a training run play, game after game, in the terminal or in browsers.

Before each game the newest checkpoint of the run is loaded, so that what is seen keeps up with the training.
"""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from phase10_agents.catalog import load_agent
from phase10_env.decision import Agent
from phase10_env.render.ansi import draw_ansi, plain
from phase10_env.rules.ruleset import RuleSet
from phase10_training.errors import UsageError
from phase10_training.play_session import HUMAN, PlaySession
from phase10_training.play_tables import Table

__all__ = ["newest_snapshot", "watch_in_terminal", "watch_table", "watched_session"]

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
TRIES = 5
BETWEEN_GAMES = 5.0
"""Seconds for which the end of a game stays on the table."""


def newest_snapshot(run: Path) -> str:
    """Return the specification of the newest checkpoint of a run.

    Raises:
        ValueError: there is none.
    """
    from phase10_agents.neural.checkpoint import latest_checkpoint  # brings torch

    return f"checkpoint:{latest_checkpoint(run)}"


def _load(spec: str) -> Agent:
    """Return an agent; a checkpoint that the training replaces in this moment is looked for again."""
    kind, _, path = spec.partition(":")
    for attempt in range(TRIES):
        try:
            return load_agent(spec)
        except ValueError:
            if kind != "checkpoint" or attempt == TRIES - 1:
                raise
            time.sleep(0.5)
            spec = newest_snapshot(Path(path).parent)
    raise AssertionError("the last try returns or raises")


def watched_session(
    run: Path, against: Sequence[str], ruleset: str | RuleSet = "official", seed: int = 0
) -> PlaySession:
    """Return a new game of the newest snapshot of a run, in seat 0, against others.

    Args:
        run: folder of the run.
        against: the other seats: specifications of agents, or `human`.
        ruleset: the rules.
        seed: of the deals.

    Raises:
        ValueError: no checkpoint there, an unknown agent, or too many seats.
    """
    if not 1 <= len(against) <= 5:
        raise UsageError(f"expected 1 to 5 opponents, found {len(against)}")
    snapshot = newest_snapshot(run)
    step = Path(snapshot).name
    names = [step, *("Player" if spec == HUMAN else spec for spec in against)]
    return PlaySession([snapshot, *against], ruleset, seed, names, _load)


def watch_in_terminal(
    begin: Callable[[int], PlaySession],
    games: int = 0,
    pace: float = 0.5,
    colour: bool = True,
    out: TextIO | None = None,
) -> None:
    """Show games of agents as they are played.

    Args:
        begin: returns the session of game number 0, 1, ...
        games: how many; 0 goes on until Ctrl-C.
        pace: seconds between decisions.
        colour: redraw the screen in colours; without it only the moves are told.
        out: where to write; default standard output.
    """
    stream = out or sys.stdout
    number = 0
    while not games or number < games:
        session = begin(number)
        stream.write(f"Game {number + 1}: {', '.join(session.names)}\n")
        while not session.game.over:
            session.run_agent()
            words = session.told(None, len(session.moves) - 1)
            text = "\n".join([*words, "", draw_ansi(session.facts(None))])
            stream.write(f"{_CLEAR}{text}\n" if colour else "".join(f"  {line}\n" for line in words))
            stream.flush()
            if pace:
                time.sleep(pace)
        stream.write(plain(draw_ansi(session.facts(None))).splitlines()[-1] + "\n")
        number += 1


def watch_table(table: Table, begin: Callable[[int], PlaySession], stop: threading.Event) -> None:
    """Begin another game at a table whenever one is over, until `stop` is set.

    Args:
        table: the table, with its first game.
        begin: returns the session of game number 1, 2, ...
        stop: ends it.
    """
    number = 1
    while not stop.is_set():
        with table.changed:
            over = table.session.game.over
            if not over:
                table.changed.wait(1.0)
        if over and not stop.wait(BETWEEN_GAMES):
            table.replace(begin(number))
            number += 1
