"""The commands that need no agent: `legal`, `perft` and `rules`; the environment does the work."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from phase10_env.command_line import print_legal, print_perft, print_rules
from phase10_training.cli_support import JsonOption

__all__ = [
    "LegalOptions",
    "PerftOptions",
    "RulesOptions",
    "legal_command",
    "perft_command",
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
