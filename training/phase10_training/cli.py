"""The program `phase10`: finds the command that is asked for, reads its options and runs it.

Each command is a function of one frozen dataclass of options, whose docstring is the command's help; its
module is imported only when the command is used.
"""

import os
import sys
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from phase10_env.names import hint
from phase10_training.errors import UsageError

__all__ = ["COMMANDS", "CommandEntry", "load_command", "main"]


@dataclass(frozen=True)
class CommandEntry:
    """Say where a command is (`module:function`), what it does in a line, and an example of it."""

    target: str
    summary: str
    example: str


COMMANDS: dict[str, CommandEntry] = {
    "train": CommandEntry(
        "phase10_training.train:train_command",
        "train a policy by self-play and evaluate it",
        "phase10 train quickstart",
    ),
    "evaluate": CommandEntry(
        "phase10_training.evaluate:evaluate_command",
        "win share of an agent against others, on paired deals",
        "phase10 evaluate greedy --against random melder --deals 1000",
    ),
    "compare": CommandEntry(
        "phase10_training.compare:compare_command",
        "which of two agents is stronger, by a test that stops itself",
        "phase10 compare aware greedy --elo0 0 --elo1 10",
    ),
    "tournament": CommandEntry(
        "phase10_training.tournament_command:tournament_command",
        "many agents, ratings with intervals, report",
        "phase10 tournament random melder greedy aware --deals 500",
    ),
    "play": CommandEntry(
        "phase10_training.cli_play:play_command",
        "play against agents or people, in the terminal or the browser",
        "phase10 play human aware greedy --web",
    ),
    "watch": CommandEntry(
        "phase10_training.cli_play:watch_command",
        "watch the newest snapshot of a training run play",
        "phase10 watch runs/quickstart --against aware",
    ),
    "bench": CommandEntry(
        "phase10_training.bench:bench_command",
        "speed, first use and memory, as ratios to an earlier run or to peers",
        "phase10 bench quick",
    ),
    "exploit": CommandEntry(
        "phase10_training.exploit:exploit_command",
        "train a best response against a frozen agent",
        "phase10 exploit aware",
    ),
    "label": CommandEntry(
        "phase10_training.labels:label_command",
        "label decisions with the worth of every action, found by playouts",
        "phase10 label --out runs/labels --decisions 1000000",
    ),
    "distill": CommandEntry(
        "phase10_training.distill:distill_command",
        "teach a policy what labels say",
        "phase10 distill runs/labels --start-from runs/clone --out runs/distilled",
    ),
    "export": CommandEntry(
        "phase10_training.export:export_command",
        "a policy as ONNX, in a folder with a model card",
        "phase10 export runs/quickstart --out exported",
    ),
    "replay": CommandEntry(
        "phase10_training.cli_play:replay_command",
        "step through a recorded game, or verify whole files",
        "phase10 replay games.p10 --verify",
    ),
    "explain": CommandEntry(
        "phase10_training.cli_explain:explain_command",
        "what an agent thinks of each action of a position",
        "phase10 explain position.json --agent aware",
    ),
    "equity": CommandEntry(
        "phase10_training.equity_fit:equity_command",
        "fit the win equity between rounds",
        "phase10 equity aware --players 4 --out equity-4.json",
    ),
    "rules": CommandEntry(
        "phase10_training.cli_rules:rules_command",
        "the text of the rules",
        "phase10 rules official",
    ),
    "legal": CommandEntry(
        "phase10_training.cli_rules:legal_command",
        "the legal actions of a position",
        "phase10 legal position.json",
    ),
    "perft": CommandEntry(
        "phase10_training.cli_rules:perft_command",
        "the number of action sequences from a position",
        "phase10 perft position.json 4",
    ),
}
"""Every command by name, in the order of the help."""


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = ["usage: phase10 COMMAND [OPTIONS]", "", "The card game Phase 10 for reinforcement learning.", ""]
    lines += ["commands:"]
    lines += [f"  {name:{width}}  {entry.summary}" for name, entry in COMMANDS.items()]
    lines += ["", "examples:"]
    lines += [f"  {entry.example}" for entry in COMMANDS.values()]
    lines += [
        "",
        "'phase10 COMMAND --help' explains the options of a command; 'phase10 --version' names the version.",
    ]
    return "\n".join(lines)


def load_command(name: str) -> tuple[Callable[[Any], int | None], type[Any]]:
    """Return a command's function and the type of its options.

    Raises:
        UsageError: there is no such command; the sentence names the one that was meant.

    >>> load_command("evaluat")
    Traceback (most recent call last):
    phase10_training.errors.UsageError: there is no command 'evaluat'; the nearest is 'evaluate'; see ...
    """
    if name not in COMMANDS:
        raise UsageError(f"there is no command {name!r}; {hint(name, COMMANDS)}; see phase10 --help.")
    module, _, function_name = COMMANDS[name].target.partition(":")
    function = getattr(import_module(module), function_name)
    hints = typing.get_type_hints(function)
    hints.pop("return", None)
    (options,) = hints.values()
    return function, options


def _run(arguments: Sequence[str]) -> int | None:
    from phase10_training.cli_support import parse_arguments

    if arguments[0].startswith("-"):
        raise UsageError(f"expected a command before {arguments[0]!r}; see phase10 --help.")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # agents of the user's own are modules of the folder they work in
    # Products of these sizes gain nothing from a second thread, and two commands with two each slow down fourfold.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    function, options = load_command(arguments[0])
    return function(parse_arguments(options, arguments[1:], prog=f"phase10 {arguments[0]}"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code: 0 done, 1 failed, 2 wrong usage or input, 130 interrupted.

    Args:
        arguments: words of the command line; those of this process if None.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("--help", "-h", "help"):
        print(_help())
        return 0 if words else 2
    if words[0] == "--version":
        from phase10_env import __version__

        print(f"phase10 {__version__}")
        return 0
    from phase10_training.cli_support import run_command

    return run_command(lambda: _run(words))


if __name__ == "__main__":
    sys.exit(main())
