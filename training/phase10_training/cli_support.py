"""What all commands share: options that mean the same everywhere, and errors as one sentence.

Exit codes: 0 done, 1 a failed run, 2 a usage or input error, 130 stopped with Ctrl-C.
"""

import contextlib
import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from phase10_env.input_files import one_sentence
from phase10_env.names import hint
from phase10_training.errors import LARGEST_COUNT, UsageError, check_range

__all__ = [
    "Command",
    "DealOptions",
    "DeviceOptions",
    "FailedRun",
    "GameOptions",
    "GameOverrides",
    "Interrupted",
    "JsonOption",
    "OutputOptions",
    "SetOptions",
    "parse_arguments",
    "run_command",
]

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130

Command = Callable[[], int | None]
"""Does the work of a command; returns an exit code, or None for 0."""


# ---------------------------------------------------------------- options


def _check_players(players: int | None) -> None:
    if players is not None and not 2 <= players <= 6:
        raise UsageError(f"--players expects 2 to 6, found {players}.")


def _check_seed(seed: int | None) -> None:
    if seed is not None and not 0 <= seed < 2**63:
        raise UsageError(f"--seed expects a whole number from 0 to 2^63 - 1, found {seed}.")


@dataclass(frozen=True)
class GameOptions:
    """Say which game is played."""

    players: Annotated[int, tyro.conf.arg(metavar="P")] = 2
    """Number of players, 2 to 6."""
    rules: Annotated[str, tyro.conf.arg(metavar="PRESET|FILE")] = "official"
    """A preset of the rules, or a TOML file with options."""
    seed: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """The same seed gives the same games."""

    def __post_init__(self) -> None:
        _check_players(self.players)
        _check_seed(self.seed)


@dataclass(frozen=True)
class GameOverrides:
    """Say what to play differently from the configuration; what is not given stays as it says."""

    players: Annotated[int | None, tyro.conf.arg(metavar="P")] = None
    """Number of players, 2 to 6."""
    rules: Annotated[str | None, tyro.conf.arg(metavar="PRESET|FILE")] = None
    """A preset of the rules, or a TOML file with options."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """The same seed gives the same games."""

    def __post_init__(self) -> None:
        _check_players(self.players)
        _check_seed(self.seed)


@dataclass(frozen=True)
class DealOptions:
    """Say how much is played."""

    deals: Annotated[int, tyro.conf.arg(metavar="N")] = 1000
    """Deals; each is played once from every seating of the agents."""

    def __post_init__(self) -> None:
        check_range("--deals", self.deals, 1, LARGEST_COUNT)


@dataclass(frozen=True)
class OutputOptions:
    """Say where results go."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Folder for everything that is written."""
    resume: bool = False
    """Go on from what that folder holds."""

    def __post_init__(self) -> None:
        if self.out is not None and self.out.exists() and not self.out.is_dir():
            raise UsageError(f"--out expects a folder, found the file {str(self.out)!r}; name another one.")


@dataclass(frozen=True)
class JsonOption:
    """Say how results are printed."""

    json: bool = False
    """Print only JSON on standard output; messages go to standard error."""


@dataclass(frozen=True)
class DeviceOptions:
    """Say what computes."""

    device: Literal["cpu", "cuda"] = "cpu"
    """Where networks run."""

    def __post_init__(self) -> None:
        if self.device == "cuda":
            import torch

            if not torch.cuda.is_available():
                raise UsageError(
                    "--device cuda needs a GPU that PyTorch can use, found none; use --device cpu."
                )


@dataclass(frozen=True)
class SetOptions:
    """Change single settings of a configuration."""

    overrides: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(name="set", metavar="SECTION.KEY=VALUE")
    ] = ()
    """Set one key of the configuration."""


# ---------------------------------------------------------------- parsing


def parse_arguments(commands: Any, arguments: Sequence[str] | None = None, prog: str = "phase10") -> Any:
    """Return the command that the arguments ask for.

    Args:
        commands: a dataclass, or a union of dataclasses annotated with `tyro.conf.subcommand`.
        arguments: words of the command line; those of this process if None.
        prog: the name of the program in help and errors.

    Raises:
        UsageError: the arguments are not understood; one sentence.
        SystemExit: with code 0, after help was printed.
    """
    caught = io.StringIO()
    markers = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes)
    try:
        with contextlib.redirect_stderr(caught):
            return tyro.cli(commands, prog=prog, args=arguments, config=markers)
    except SystemExit as leaving:
        if leaving.code in (0, None):
            raise
        raise UsageError(_sentence(caught.getvalue())) from None


_STEP = 4
"""Columns by which tyro moves the names of missing arguments to the right."""


def _sentence(box: str) -> str:
    """Make one sentence of the box that tyro prints: what is wrong, what was meant, where help is."""
    rows = [re.sub(r"\x1b\[[0-9;]*m", "", row) for row in box.splitlines()]
    inner = [row.strip("│ ") for row in rows if not row.startswith(("╭", "╰"))]
    parts = [" ".join(part.split()) for part in re.split(r"\n(?:─|-)+\n", "\n".join(inner))]
    if not any(row.startswith("╭") for row in rows):  # without line characters the box's title is a row
        parts = parts[1:] or parts
    problem = _missing(rows) or re.sub(r"^Error parsing __\S+: ", "", parts[0]).rstrip(".")
    no_number = re.search(
        r"^Error parsing (\S+): .*(?:invalid literal for int|could not convert string to float).*?: ('.*')$",
        problem,
    )
    if no_number:
        problem = f"{no_number[1]} expects a number, found {no_number[2]}"
    problem = re.sub(r"^Error parsing (?!-)\S+: ", "", problem)  # the name of a group of options helps nobody
    found = re.search(r"[Uu]nrecognized options: ([^\s,]+)", problem)
    for part in parts[1:]:
        available = re.match(r"Available subcommands: (.+)", part)
        meant = re.match(r"Perhaps you meant: (--?[\w-]+)", part)
        if available:
            names = available[1].split(", ")
            problem += f"; {hint(found[1], names)}" if found else ""
        elif meant:
            problem += f"; did you mean {meant[1]}?"
    asked_for_help = re.search(r"(?:run|see):? (\S.* --help)$", parts[-1])
    if asked_for_help:
        problem = f"{problem.rstrip('?')}{'?' if problem.endswith('?') else ';'} see {asked_for_help[1]}"
    if re.match(r"[A-Z][a-z]", problem):  # a word, not the name of an argument such as DEPTH
        problem = f"{problem[:1].lower()}{problem[1:]}"
    return f"{problem}."


def _missing(rows: Sequence[str]) -> str:
    """Return which arguments are missing, or "": tyro puts their names one step to the right, their help two."""
    inner = [row.strip("│").rstrip() for row in rows]
    indents = [len(row) - len(row.lstrip()) for row in inner]
    for place, row in enumerate(inner):
        if re.match(r"Missing from .*:$", row.strip()):
            following = inner[place + 1 :]
            end = next((k for k, row in enumerate(following) if re.match(r"\s*[─-]{2,}$", row)), None)
            here = indents[place] + _STEP
            names = [
                row.strip()
                for row, indent in zip(following[:end], indents[place + 1 :], strict=False)
                if indent == here
            ]
            return f"{row.strip()} {', '.join(names)}"
    return ""


# ---------------------------------------------------------------- running


class Interrupted(KeyboardInterrupt):
    """Stop after Ctrl-C, with a sentence that says how to go on."""


class FailedRun(RuntimeError):  # noqa: N818  # the name says what the exit code says
    """Report a run that came to its end in vain, in one sentence; the exit code is 1."""


def run_command(command: Command, resume_hint: str | None = None) -> int:
    """Run a command and return its exit code; problems become one sentence on standard error.

    Bad input (`ValueError` and its subclasses, files that are missing or must not be read) gives 2, a run in
    vain (`FailedRun`) or a failure of the machine (disk full, out of memory) 1, Ctrl-C 130. Anything else is a
    bug and keeps its traceback.
    With PHASE10_DEBUG=1 in the environment every traceback is shown.

    Args:
        command: does the work; returns an exit code, or None for 0.
        resume_hint: what to say after Ctrl-C; `Interrupted` brings its own.

    >>> run_command(lambda: None)
    0
    """
    try:
        return command() or EXIT_DONE
    except KeyboardInterrupt as stop:
        hint = str(stop) or resume_hint
        _say(f"interrupted; {hint}" if hint else "interrupted.")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone; what is still buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except (
        FileNotFoundError,
        PermissionError,
        IsADirectoryError,
        NotADirectoryError,
        FileExistsError,
    ) as problem:
        _report(f"{problem.filename!r} cannot be used: {problem.strerror}; check the path.")
        return EXIT_USAGE
    except OSError as problem:
        where = f" ({problem.filename!r})" if problem.filename else ""
        _report(f"the system refused{where}: {problem.strerror or problem}.")
        return EXIT_FAILED
    except MemoryError:
        _report("out of memory; use fewer games or a smaller batch.")
        return EXIT_FAILED
    except FailedRun as problem:
        _report(str(problem))
        return EXIT_FAILED
    except ValueError as problem:
        _report(one_sentence(problem))
        return EXIT_USAGE


def _report(sentence: str) -> None:
    if os.environ.get("PHASE10_DEBUG") == "1":
        traceback.print_exc(file=sys.stderr)
    _say(f"error: {' '.join(sentence.split())}")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
