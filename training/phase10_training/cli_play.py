"""The commands for people: `play`, `watch` and `replay`."""

import contextlib
import os
import secrets
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TextIO

import tyro

from phase10_agents.catalog import AGENTS, load_agent
from phase10_env.command_line import verify_records
from phase10_env.records import Replay, replay
from phase10_env.render.replay_page import replay_html
from phase10_env.render.replay_terminal import replay_terminal, tell_game
from phase10_env.rules.ruleset import PRESETS, RuleSet
from phase10_training.advice import advise_game
from phase10_training.cli_support import JsonOption
from phase10_training.errors import UsageError
from phase10_training.files import check_file, check_folder, write_text
from phase10_training.play_session import HUMAN, PlaySession
from phase10_training.play_tables import Table, Tables, UnknownTableError
from phase10_training.play_terminal import TerminalPlay
from phase10_training.play_web import PlayServer, offered_agents
from phase10_training.rules_option import load_rules

__all__ = [
    "PlayOptions",
    "ReplayOptions",
    "WatchOptions",
    "play_command",
    "replay_command",
    "watch_command",
]

FOLDER = Path("runs/play")
PORT = 8010
HINTS = ("aware", "champion", "search")
"""Agents that may be asked for hints, the first by default."""


def use_colours(stream: TextIO) -> bool:
    """Tell whether a stream shows colours: a terminal, unless the environment says NO_COLOR or TERM=dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


# ---------------------------------------------------------------- play


@dataclass(frozen=True)
class WebOptions:
    """Say where browsers reach the game."""

    web: bool = False
    """Play in a browser instead of the terminal."""
    host: Annotated[str, tyro.conf.arg(metavar="ADDRESS")] = "127.0.0.1"
    """Address to listen on; 0.0.0.0 lets other machines in."""
    port: Annotated[int, tyro.conf.arg(metavar="N")] = PORT
    """Port to listen on; 0 takes a free one."""
    pace: Annotated[float, tyro.conf.arg(metavar="SECONDS")] = 0.6
    """Seconds that agents wait before each decision."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise UsageError(f"--port expects a number from 0 to 65535, found {self.port}.")
        if not 0 <= self.pace <= 60:
            raise UsageError(f"--pace expects 0 to 60 seconds, found {self.pace:g}.")


@dataclass(frozen=True)
class PlayOptions:
    """Play against agents or other people, in the terminal or in the browser (--web).

    The game is saved after each move; --resume goes on with it. Finished games are kept as records (.p10).

    Example: phase10 play human aware greedy --rules short-5
    """

    web: WebOptions
    seats: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SEAT")] = ()
    """Who sits where: human, or an agent such as greedy; default: human, and aware elsewhere."""
    players: Annotated[int | None, tyro.conf.arg(metavar="P")] = None
    """Number of players, 2 to 6, where the seats are not named."""
    rules: Annotated[str, tyro.conf.arg(metavar="PRESET|FILE")] = "official"
    """A preset of the rules, or a TOML file with options."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """The same seed gives the same deals; default: drawn."""
    name: Annotated[str, tyro.conf.arg(metavar="NAME")] = "Player"
    """What you are called."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")] = FOLDER
    """Folder for saved games and records."""
    resume: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A saved game to go on with."""
    hints: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT")] = HINTS
    """Agents that may be asked for hints."""

    def __post_init__(self) -> None:
        if self.players is not None and not 2 <= self.players <= 6:
            raise UsageError(f"--players expects 2 to 6, found {self.players}.")
        if self.seats and self.players not in (None, len(self.seats)):
            raise UsageError(f"--players is {self.players}, but {len(self.seats)} seats are named.")
        if self.seats and not 2 <= len(self.seats) <= 6:
            raise UsageError(f"expected 2 to 6 seats, found {len(self.seats)}.")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise UsageError(f"--seed expects a whole number from 0 to 2^63 - 1, found {self.seed}.")
        if self.out.exists() and not self.out.is_dir():
            raise UsageError(f"--out expects a folder, found the file {str(self.out)!r}; name another one.")


def play_command(options: PlayOptions) -> int:
    """Run `phase10 play`."""
    seats = options.seats or (HUMAN, *["aware"] * ((options.players or 2) - 1))
    if options.web.web:
        return _play_in_browser(options, seats)
    if options.resume is not None:
        path = options.resume
        session = PlaySession.load(path)
    else:
        seed = secrets.randbits(32) if options.seed is None else options.seed
        rules = load_rules(options.rules)
        people = list(seats).count(HUMAN)
        if not people:
            raise UsageError("no seat is 'human'; watch agents with 'phase10 watch', or name a seat 'human'.")
        names = [options.name if spec == HUMAN else spec for spec in seats]
        session = PlaySession(seats, rules, seed, names)
        session.try_agents()
        path = options.out / f"{rules.name}-{len(seats)}p-{seed}.json"
        if path.exists():
            raise UsageError(
                f"{path} holds a game that is not finished; go on with --resume {path}, or name another --seed."
            )
    check_file("--out" if options.resume is None else "--resume", path)
    hints = _known(options.hints)
    return TerminalPlay(
        session,
        path,
        path.with_suffix(".p10"),
        hints=hints[0] if hints else "aware",
        colour=use_colours(sys.stdout),
    ).run()


def _known(specs: Sequence[str]) -> list[str]:
    """Return the specifications whose kind of agent exists here."""
    return [spec for spec in specs if spec.partition(":")[0] in AGENTS or ":" in spec]


def _play_in_browser(options: PlayOptions, seats: Sequence[str]) -> int:
    rules = load_rules(options.rules)
    own = {rules.name: rules} if rules.name not in PRESETS else {}
    opens = bool(options.seats or options.players or own)
    # whatever is wrong comes to light before there is a folder, a server or a table
    if options.resume is not None:
        PlaySession.load(options.resume)
    elif opens:
        PlaySession(seats, rules).try_agents()
    tables = Tables(options.out, _known(options.hints), options.web.pace)
    table = None if options.resume is None else _saved_table(tables, options.resume)
    agents = [*offered_agents(), *(spec for spec in seats if spec not in (HUMAN, *offered_agents()))]
    server = _server(tables, options.web, agents, {**own, **PRESETS})
    _say(f"Tables: {server.address}/")
    if table is None and opens:
        table = tables.create(seats, rules, options.seed, options.name)
    if table is None:
        return _serve(server)
    for seat in table.session.people:
        if table.keys[seat]:
            _say(f"Your seat: {server.link(table, seat)}")
        else:
            _say(f"Seat {seat} is for another person, who finds it at {server.address}/t/{table.name}")
    return _serve(server)


def _saved_table(tables: Tables, path: Path) -> Table:
    try:
        return tables.get(path.stem)
    except UnknownTableError:
        raise UsageError(
            f"--resume expects with --web a table of the folder {str(tables.folder)!r}, found {str(path)!r}; name "
            "its folder with --out, or go on without --web."
        ) from None


def _server(
    tables: Tables,
    web: WebOptions,
    agents: Sequence[str] | None = None,
    rules: Mapping[str, RuleSet] = PRESETS,
) -> PlayServer:
    try:
        return PlayServer(tables, web.host, web.port, agents, rules)
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise UsageError(
            f"--host {web.host} --port {web.port} cannot be listened on: {reason}; name another port or address."
        ) from None


def _serve(server: PlayServer) -> int:
    _say("Ctrl-C ends the server; every table is saved and there again next time.")
    if server.host not in ("127.0.0.1", "localhost", "::1"):
        _say("Other machines can reach this server; the seat links are secret, send each to one person only.")
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


# ---------------------------------------------------------------- watch


@dataclass(frozen=True)
class WatchOptions:
    """Watch the newest snapshot of a training run play, while the training goes on.

    Each game is played by the newest checkpoint there is. With --against human you play it yourself.

    Example: phase10 watch runs/quickstart --against aware
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run."""
    web: WebOptions
    against: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT")] = ("aware",)
    """The others at the table: agents, or human."""
    rules: Annotated[str, tyro.conf.arg(metavar="PRESET|FILE")] = "official"
    """A preset of the rules, or a TOML file with options."""
    seed: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """The same seed gives the same deals."""
    games: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Games to show in the terminal; 0 goes on until Ctrl-C."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")] = FOLDER
    """Folder for saved games and records."""

    def __post_init__(self) -> None:
        if self.games < 0:
            raise UsageError(f"--games expects 0 or more, found {self.games}.")
        if not 0 <= self.seed < 2**62:
            raise UsageError(f"--seed expects a whole number from 0 to 2^62 - 1, found {self.seed}.")


def watch_command(options: WatchOptions) -> int:
    """Run `phase10 watch`."""
    from phase10_training.watch import watch_in_terminal, watch_table, watched_session

    rules = load_rules(options.rules)

    def begin(number: int) -> PlaySession:
        return watched_session(options.run, options.against, rules, options.seed + number)

    first = begin(0)
    first.try_agents()
    if options.web.web:
        tables = Tables(options.out, _known(HINTS), options.web.pace)
        server = _server(tables, options.web)
        table = tables.seat(first)
        for seat in first.people:
            _say(f"Your seat: {server.link(table, seat)}")
        _say(f"Watch: {server.address}/t/{table.name}")
        follow = threading.Thread(target=watch_table, args=(table, begin, server.closing), daemon=True)
        follow.start()
        return _serve(server)
    colour = use_colours(sys.stdout)
    if first.people:
        check_folder("--out", options.out)
        path = options.out / f"watch-{rules.name}-{options.seed}.json"
        return TerminalPlay(first, path, path.with_suffix(".p10"), colour=colour).run()
    games = options.games or (0 if sys.stdout.isatty() else 1)
    watch_in_terminal(
        lambda number: begin(number) if number else first, games, options.web.pace if colour else 0.0, colour
    )
    return 0


# ---------------------------------------------------------------- replay


@dataclass(frozen=True)
class ReplayOptions:
    """Step through a recorded game in the terminal, write it as a page (--html), or only verify (--verify).

    Every move is replayed and verified in any case; the first wrong line is reported.

    Example: phase10 replay games.p10 --html game.html --agent aware
    """

    files: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """Records of games (.p10); - is standard input. Only --verify takes several."""
    json: JsonOption
    html: Annotated[Path | None, tyro.conf.arg(metavar="OUT")] = None
    """Write one self-contained page."""
    agent: Annotated[str | None, tyro.conf.arg(metavar="AGENT")] = None
    """Show what this agent would do at each decision, and its values."""
    game: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Which game of the file, from 1."""
    seat: Annotated[int | None, tyro.conf.arg(metavar="SEAT")] = None
    """Show only what this seat may see; default: the open table."""
    verify: bool = False
    """Verify every game of the files and show nothing."""
    rules: Annotated[str | None, tyro.conf.arg(metavar="PRESET|FILE")] = None
    """Rules of records that name no preset and do not hold their rules."""

    def __post_init__(self) -> None:
        if self.game < 1:
            raise UsageError(f"--game counts from 1, found {self.game}.")


def replay_command(options: ReplayOptions) -> int:
    """Run `phase10 replay`."""
    if options.verify or options.json.json:
        return verify_records(options.files, options.rules, options.json.json)
    if len(options.files) != 1:
        raise UsageError(f"expected one file to show, found {len(options.files)}; --verify takes several.")
    replayed = _recorded_game(options.files[0], options.game, options.rules)
    game = replayed.game
    names = _seat_names(replayed)
    if options.seat is not None and not 0 <= options.seat < game.num_players:
        raise UsageError(f"--seat expects 0 to {game.num_players - 1}, found {options.seat}.")
    if options.html is not None:
        check_file("--html", options.html)
    advice = advise_game(load_agent(options.agent), game) if options.agent else []
    adviser = options.agent or ""
    if options.html is not None:
        title = f"Phase 10: {', '.join(names)}"
        page = replay_html(
            game, viewer=options.seat, names=names, advice=advice, adviser=adviser, title=title
        )
        write_text(options.html, page)
        _say(f"{options.html}: {len(game.history)} events of one game")
    elif sys.stdin.isatty() and sys.stdout.isatty() and options.files[0] != "-":
        colour = use_colours(sys.stdout)
        replay_terminal(game, viewer=options.seat, names=names, advice=advice, adviser=adviser, colour=colour)
    else:
        tell_game(game, viewer=options.seat, names=names)
    return 0


def _recorded_game(file: str, number: int, rules: str | None) -> Replay:
    source = sys.stdin if file == "-" else Path(file)
    found = 0
    for replayed in replay(source, None if rules is None else load_rules(rules)):
        found += 1
        if found == number:
            return replayed
    raise UsageError(f"--game is {number}, but {file} holds {found} {'game' if found == 1 else 'games'}.")


def _seat_names(replayed: Replay) -> list[str]:
    """Return the names of a record, told apart by their seats where they are equal."""
    agents = list(replayed.agents) or [f"seat {seat}" for seat in range(replayed.game.num_players)]
    return [f"{name} ({k})" if agents.count(name) > 1 else name for k, name in enumerate(agents)]
