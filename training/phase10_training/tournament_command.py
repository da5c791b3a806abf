"""The command `phase10 tournament`: reads its options, plays, prints the table, writes report and records."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import tyro

from phase10_env.names import hint
from phase10_env.rules.ruleset import RuleSet
from phase10_training.cli_support import GameOverrides, Interrupted, JsonOption, OutputOptions, SetOptions
from phase10_training.config import build_config, config_names, config_to_dict, load_config, parse_override
from phase10_training.errors import LARGEST_COUNT, UsageError, check_range
from phase10_training.files import check_folder, check_own
from phase10_training.game_records import write_records
from phase10_training.guarded import FORFEIT_RULE
from phase10_training.progress import TrainingProgress
from phase10_training.standings import Standings
from phase10_training.store import STORE_FILE
from phase10_training.tournament import (
    Play,
    TournamentConfig,
    play_in_processes,
    run_tournament,
    saved_tournament,
    total_games,
)

__all__ = ["TournamentOptions", "print_standings", "tournament_command"]

FOLDER = "tournaments"
RUNS = Path("runs")
MOST_WORKERS = 1024


@dataclass(frozen=True)
class TournamentOptions:
    """Play a tournament and rate the agents; a kill at any moment loses the games in play alone (--resume).

    Give the name of a configuration (configs/tournaments), a path to one, or two agents or more. Deals are
    fixed by the seed; each is played under every rotation of the line-up. An agent that is named twice takes
    part twice, the second time as greedy#2. A tournament that was stopped goes on from its folder alone: phase10
    tournament --resume --out runs/ladder. Games are kept by blocks of 1024; slow agents lose less with smaller
    ones: --set block_games=64

    Example: phase10 tournament random melder greedy aware --deals 500 --out runs/ladder
    """

    what: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="CONFIG|AGENTS")]
    """A configuration, or agents; not needed with --resume."""
    game: GameOverrides
    output: OutputOptions
    json: JsonOption
    settings: SetOptions
    deals: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Deals a line-up; each is played once from every seating."""
    format: Literal["round-robin", "field", "gauntlet", "swiss"] | None = None
    """Who meets whom. In a gauntlet the first agent challenges the others unless the configuration says."""
    records: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Write every game as a record (.p10), one file a deal."""
    workers: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Processes that play side by side; the table does not depend on it."""
    engine: Literal["local", "ray"] = "local"
    """Where games are played: on this machine, or on the Ray cluster that is running."""
    report: bool = True
    """Write report.html, table.csv and pictures into the folder."""

    def __post_init__(self) -> None:
        if self.deals is not None:
            check_range("--deals", self.deals, 1, LARGEST_COUNT)


def tournament_config(options: TournamentOptions) -> tuple[str, TournamentConfig]:
    """Return the name of the tournament and its settings, options of the command line applied.

    Raises:
        UsageError: no such configuration, an unknown key, fewer than two agents.
    """
    if not options.what:
        raise UsageError(
            "expected a configuration or at least two agents, found nothing; see phase10 tournament --help."
        )
    if len(options.what) == 1 and not _is_config(options.what[0]):
        names = config_names(FOLDER)
        raise UsageError(
            f"expected a configuration or at least two agents, found {options.what[0]!r}; "
            f"{hint(options.what[0], names, 'configuration')}."
        )
    if len(options.what) == 1:
        name = Path(options.what[0]).stem
        config = load_config(TournamentConfig, options.what[0], options.settings.overrides, FOLDER)
    else:
        name = "tournament"
        config = _overridden(TournamentConfig(agents=options.what), options)
    fields = {**config_to_dict(config), **_changes(options)}
    if fields["format"] == "gauntlet" and not fields["challengers"]:
        fields["challengers"] = [fields["agents"][0]]
    return name, build_config(TournamentConfig, fields, "the command line")


def _overridden(config: TournamentConfig, options: TournamentOptions) -> TournamentConfig:
    """Return settings with the keys that --set gives."""
    fields = config_to_dict(config)
    for text in options.settings.overrides:
        key, value = parse_override(TournamentConfig, text)
        fields[key] = value
    return build_config(TournamentConfig, fields, "--set")


def _changes(options: TournamentOptions) -> dict[str, Any]:
    """Return the settings that have options of their own and are given."""
    given = {
        "players": options.game.players,
        "rules": options.game.rules,
        "seed": options.game.seed,
        "deals": options.deals,
        "format": options.format,
    }
    return {key: value for key, value in given.items() if value is not None}


def _saved(options: TournamentOptions, folder: Path) -> tuple[TournamentConfig, RuleSet | None]:
    """Return what the folder of a tournament says; what is given besides must say the same, or the store objects."""
    config, rules = saved_tournament(folder)
    changes = _changes(options)
    fields = {**config_to_dict(_overridden(config, options)), **changes}
    changed = build_config(TournamentConfig, fields, "the command line")
    return changed, rules if changed.rules == config.rules else None


def _is_config(text: str) -> bool:
    return text.endswith(".toml") or "/" in text or text in config_names(FOLDER)


def _folder(options: TournamentOptions, name: str) -> Path:
    """Return the folder to use: the one given, else a new one under runs/."""
    if options.output.out is not None:
        check_own("--out", options.output.out, STORE_FILE)
        return options.output.out
    if options.output.resume:
        raise UsageError("--resume expects the folder to go on with; name it with --out.")
    number = 1
    while (RUNS / f"{name}-{number}").exists():
        number += 1
    return RUNS / f"{name}-{number}"


def _player(options: TournamentOptions) -> Play | None:
    check_range("--workers", options.workers, 1, MOST_WORKERS)
    if options.engine == "ray":
        from phase10_training.ray_engine import play_on_ray

        return play_on_ray()
    return play_in_processes(options.workers) if options.workers > 1 else None


def tournament_command(options: TournamentOptions) -> int | None:
    """Run `phase10 tournament`."""
    rules: RuleSet | None = None
    if options.output.resume and not options.what:
        folder = _folder(options, "")
        name = folder.name
        config, rules = _saved(options, folder)
    else:
        name, config = tournament_config(options)
        folder = _folder(options, name)
    play = _player(options)
    if options.records is not None:
        check_folder("--records", options.records)
    try:
        with TrainingProgress(total_games(config), title="games", unit="games") as bar:
            standings = run_tournament(
                config,
                folder,
                resume=options.output.resume,
                rules=rules,
                play=play,
                progress=lambda done, _total: bar.update(done),
            )
    except KeyboardInterrupt:
        raise Interrupted(
            f"what is finished is kept; go on with 'phase10 tournament --resume --out {folder}'."
        ) from None
    if options.records is not None:
        written = write_records(folder, options.records)
        sys.stderr.write(f"{written} games written to {options.records}\n")
    if options.report:
        from phase10_training.report import write_report

        write_report(folder, name)
    if options.json.json:
        found: dict[str, Any] = {"folder": str(folder), "settings": msgspec.to_builtins(config)}
        sys.stdout.write(json.dumps({**found, **standings.to_dict()}, indent=1) + "\n")
        return None
    print_standings(standings, config)
    print_places(folder, options)
    return None


def print_places(folder: Path, options: TournamentOptions) -> None:
    """Say on standard output where everything is."""
    sys.stdout.write(f"results  {folder / 'results.sqlite'}\n")
    if options.report:
        sys.stdout.write(f"report   {folder / 'report.html'}\n")


# ---- table -------------------------------------------------------------------------------------------------


def print_standings(standings: Standings, config: TournamentConfig) -> None:
    """Print the table, the cross table and all warnings."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    title = f"{config.format}, {standings.players} players, {config.rules}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    headings = ["", "agent", "Elo", "win share %", "ms/move"] + ["faults"] * (standings.forfeited > 0)
    for heading in headings:
        if heading == "agent":  # folded, not cut: what is cut off cannot be looked up anywhere
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in standings.rows:
        elo = ""
        if row.elo is not None and row.elo_low is not None and row.elo_high is not None:
            elo = rf"{row.elo:+.0f} \[{row.elo_low:+.0f}, {row.elo_high:+.0f}]"
        cells = [
            str(row.rank),
            row.agent,
            elo,
            rf"{100 * row.win_share:.1f} \[{100 * row.low:.1f}, {100 * row.high:.1f}]",
            f"{row.ms_per_decision:.3f}",
            str(row.illegal_actions + row.crashes + row.stalls),
        ]
        table.add_row(*cells[: len(headings)])
    console.print(table)
    console.print(_cross_table(standings))
    for line in _remarks(standings, config):
        console.print(line, markup=False)


def _cross_table(standings: Standings) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    cross, par = standings.cross, standings.cross_par
    order = [standings.agents.index(row.agent) for row in standings.rows]
    table = Table(title=f"%, {standings.cross_meaning}", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("agent", overflow="fold")
    for place in range(1, len(order) + 1):
        table.add_column(str(place), justify="right")
    for place, one in enumerate(order, start=1):
        cells = []
        for two in order:
            low, high = cross.low[one, two], cross.high[one, two]
            colour = "green" if low > par else "red" if high < par else "default"
            cells.append(f"[{colour}]{100 * cross.mean[one, two]:.1f}[/]" if cross.deals[one, two] else "")
        table.add_row(f"{place} {standings.agents[one]}", *cells)
    return table


def _remarks(standings: Standings, config: TournamentConfig) -> Iterable[str]:
    par = f"{100 * standings.par:.1f} %"
    yield (
        f"{standings.games} games on {standings.deals} deals, seed {config.seed}; par {par}; "
        "95 % intervals, clustered by deal."
    )
    if standings.truncated:
        yield f"{standings.truncated} games ended without a winner (R34) and count {par} for everybody."
    if standings.forfeited:
        yield f"{standings.forfeited} games were lost by a fault. {FORFEIT_RULE}"
    yield from standings.warnings
