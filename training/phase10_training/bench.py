"""The command `phase10 bench`: how fast everything is here and now, as a table and as JSON.

Machines differ and are rarely idle. So items take turns and the medians are shown, wall and CPU time apart;
`--baseline` shows ratios to an earlier run, `--peers` adds other people's games to the same run.
"""

import json
import os
import platform
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import tyro

from phase10_training.bench_items import (
    bytes_a_game,
    engine_items,
    gpu_items,
    measure,
    peer_items,
    python_items,
    start_up,
    thread_rates,
)
from phase10_training.cli_support import JsonOption, SetOptions
from phase10_training.config import config_to_dict, load_config
from phase10_training.errors import UsageError, check_range
from phase10_training.rules_option import load_rules

__all__ = ["BenchOptions", "BenchSettings", "bench", "bench_command"]

FOLDER = "benchmarks"
MOST = 1_000_000
"""Games, repetitions or decisions in one item."""


class BenchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold what is measured and how long.

    Attributes:
        kind: "engine", or "training": the learner beside MaskablePPO.
        players: numbers of players, each measured for itself.
        rules: a preset, a name under configs/rules or a TOML file.
        games: played side by side.
        repetitions: calls of each item; the median counts.
        decisions: of every game in one call.
        python_decisions: of one call of a Python loop.
        cold: compile every kernel afresh in a folder of its own, and time it.
        config: of the training that is measured, a name under configs/train.
        sb3_games, sb3_steps: games at once and decisions of each a rollout, of MaskablePPO.

    >>> BenchSettings().games
    1024
    """

    kind: Literal["engine", "training"] = "engine"
    players: tuple[int, ...] = (2, 4)
    rules: str = "official"
    games: int = 1024
    repetitions: int = 7
    decisions: int = 128
    python_decisions: int = 10_000
    cold: bool = True
    config: str = "quickstart"
    sb3_games: int = 256
    sb3_steps: int = 64

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("games", "repetitions", "decisions", "python_decisions", "sb3_games", "sb3_steps"):
            check_range(name, getattr(self, name), 1, MOST)
        if not self.players or not all(2 <= players <= 6 for players in self.players):
            raise ValueError(f"players expects numbers from 2 to 6, found {list(self.players)}")


def _machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "numba": metadata.version("numba"),
        "phase10-env": metadata.version("phase10-env"),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def bench(settings: BenchSettings, peers: bool = False) -> dict[str, Any]:
    """Measure what the settings say and return plain values that JSON can hold.

    Arguments:
        settings: what to measure.
        peers: measure OpenSpiel's games in the same turns.

    Returns:
        `rates`: by "item, P players", {"wall", "cpu"} in decisions a second; `threads`: wall decisions a
        second; `seconds`: first use; `bytes`: memory of one game; `machine`; `settings`.

    Raises:
        UsageError: peers are asked for and not installed.
    """
    result: dict[str, Any] = {"machine": _machine(), "settings": config_to_dict(settings)}
    if settings.kind == "training":
        from phase10_training.bench_training import training_rates

        return result | {
            "rates": training_rates(
                settings.config, settings.sb3_games, settings.sb3_steps, settings.repetitions
            )
        }
    rules = load_rules(settings.rules)
    compiled, stepped = [], []
    for players in settings.players:
        compiled += engine_items(settings.games, players, rules, settings.decisions)
        compiled += gpu_items(settings.games, players, rules, settings.decisions)
        stepped += python_items(players, rules, settings.python_decisions)
    others = peer_items(settings.python_decisions) if peers else []
    if peers and not others:
        raise UsageError("--peers needs OpenSpiel; install it with pip install 'phase10-env[peers]'.")
    rates = measure(compiled, settings.repetitions) + measure(stepped + others, settings.repetitions)
    few = min(settings.players)
    return result | {
        "rates": {
            f"{rate.name}, {rate.players} players": {"wall": rate.wall, "cpu": rate.cpu} for rate in rates
        },
        "threads": thread_rates(settings.games, few, rules, settings.decisions, settings.repetitions),
        "seconds": start_up(settings.games, settings.cold, settings.repetitions),
        "bytes": {
            f"{level}, {players} players": bytes_a_game(players, level, rules)
            for players in settings.players
            for level in ("basic", "full")
        },
    }


# ---- command -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BenchOptions:
    """Measure decisions a second, threads, first use and memory; or `training`: the learner beside MaskablePPO.

    Example: phase10 bench quick --baseline before.json
    """

    sets: SetOptions
    json: JsonOption
    config: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CONFIG")] = "default"
    """Configuration: default, quick, training, or a TOML file."""
    baseline: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """JSON of an earlier run; ratios to it are shown."""
    peers: bool = False
    """Measure the card games of OpenSpiel too (needs the extra `peers`)."""


def bench_command(options: BenchOptions) -> int | None:
    """Run `phase10 bench`."""
    settings = load_config(BenchSettings, options.config, options.sets.overrides, FOLDER)
    earlier = _flat(_read_baseline(options.baseline)) if options.baseline else {}
    result = bench(settings, options.peers)
    if earlier:
        found = _flat(result)
        result["ratios"] = {name: found[name] / earlier[name] for name in found if earlier.get(name)}
    if options.json.json:
        sys.stdout.write(json.dumps(result, indent=1) + "\n")
    else:
        _print(result)
    return None


def _read_baseline(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or not isinstance(found["rates"], dict):
            raise ValueError("no rates")
    except (KeyError, ValueError) as problem:
        raise UsageError(
            f"--baseline expects JSON that phase10 bench --json wrote, found {str(path)!r} ({problem})."
        ) from None
    return found


def _flat(result: dict[str, Any]) -> dict[str, float]:
    """Return every figure by one name."""
    flat = {
        f"{name} ({clock})": float(value)
        for name, clocks in result["rates"].items()
        for clock, value in clocks.items()
    }
    for part in ("threads", "seconds", "bytes"):
        flat |= {f"{part}: {name}": float(value) for name, value in result.get(part, {}).items()}
    return flat


def _print(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    ratios = result.get("ratios", {})
    machine = result["machine"]
    table = Table(title="decisions a second")
    for heading in (
        "what",
        "by CPU time",
        "by wall time",
        *(["ratio, CPU", "ratio, wall"] if ratios else []),
    ):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, clocks in result["rates"].items():
        row = [name, f"{clocks['cpu']:,.0f}", f"{clocks['wall']:,.0f}"]
        if ratios:
            row += [_ratio(ratios, f"{name} ({clock})") for clock in ("cpu", "wall")]
        table.add_row(*row)
    for name, rate in result.get("threads", {}).items():
        row = [f"full observation, {name}", "", f"{rate:,.0f}"]
        table.add_row(*row, *(["", _ratio(ratios, f"threads: {name}")] if ratios else []))
    console = Console(highlight=False)
    console.print(table)
    for name, seconds in result.get("seconds", {}).items():
        console.print(f"first step, {name}: {seconds:.2f} s {_ratio(ratios, f'seconds: {name}')}")
    for name, size in result.get("bytes", {}).items():
        console.print(f"memory of a game, {name}: {size:,.0f} bytes {_ratio(ratios, f'bytes: {name}')}")
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, load {machine['load']}; medians of "
        f"{result['settings']['repetitions']} turns. One process, one thread where nothing else is said."
    )


def _ratio(ratios: dict[str, float], name: str) -> str:
    return f"x {ratios[name]:.2f}" if name in ratios else ""
