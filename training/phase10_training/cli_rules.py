"""The commands that need no agent: `legal`, `perft`, `rules` and `replay`; the environment does the work."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from phase10_env.command_line import print_legal, print_perft, print_rules, verify_records
from phase10_training.cli_support import JsonOption

__all__ = [
    "LegalOptions",
    "PerftOptions",
    "ReplayOptions",
    "RulesOptions",
    "legal_command",
    "perft_command",
    "replay_command",
    "rules_command",
]

PositionFile = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="POSITION.json")]


@dataclass(frozen=True)
class LegalOptions:
    """Print the legal actions of a position, one a line, in index order.

    Example: phase10 legal position.json
    """

    position: PositionFile
    """A file with the JSON of a position; - is standard input."""
    json: JsonOption
    actions: Literal["full", "compact"] = "full"
    """Which of equal actions are listed."""


def legal_command(options: LegalOptions) -> int:
    """Run `phase10 legal`."""
    return print_legal(options.position, options.json.json, options.actions)


@dataclass(frozen=True)
class PerftOptions:
    """Print the number of action sequences of exactly DEPTH from a position.

    A finished round or game, or a draw that needs a reshuffle, ends a sequence.

    Example: phase10 perft position.json 4
    """

    position: PositionFile
    """A file with the JSON of a position; - is standard input."""
    depth: Annotated[int, tyro.conf.Positional, tyro.conf.arg(metavar="DEPTH")]
    """Actions in a sequence, 0 to 100."""
    json: JsonOption
    actions: Literal["full", "compact"] = "full"
    """Which of equal actions are counted."""


def perft_command(options: PerftOptions) -> int:
    """Run `phase10 perft`."""
    return print_perft(options.position, options.depth, options.json.json, options.actions)


@dataclass(frozen=True)
class RulesOptions:
    """Print the text of the rules, made from their options.

    Example: phase10 rules short-5
    """

    json: JsonOption
    preset: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PRESET|FILE")] = "official"
    """A preset of the rules, or a TOML file with options."""


def rules_command(options: RulesOptions) -> int:
    """Run `phase10 rules`."""
    return print_rules(options.preset, options.json.json)


@dataclass(frozen=True)
class ReplayOptions:
    """Replay and verify every game of some record files; the first wrong line of each is reported.

    Example: phase10 replay games/0000.p10
    """

    files: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """Records of games (.p10); - is standard input."""
    json: JsonOption
    rules: Annotated[str | None, tyro.conf.arg(metavar="PRESET|FILE")] = None
    """Rules of records that name no preset and do not hold their rules."""


def replay_command(options: ReplayOptions) -> int:
    """Run `phase10 replay`."""
    return verify_records(options.files, options.rules, options.json.json)
