"""What the commands `legal`, `perft`, `rules` and `replay --verify` do, as functions returning an exit code.

Results go to standard output, one sentence on bad input to standard error. Exit codes: 0 done, 2 bad input.
The path "-" stands for standard input.
"""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phase10_env.game import Game, perft
from phase10_env.input_files import one_sentence, read_file
from phase10_env.positions import PositionError
from phase10_env.records import RecordError, replay
from phase10_env.rules.rulebook import rule_text
from phase10_env.rules.ruleset import RuleSetError, get_ruleset

__all__ = ["print_legal", "print_perft", "print_rules", "read_game", "verify_records"]

EXIT_DONE = 0
EXIT_BAD_INPUT = 2
LARGEST_POSITION = 10_000_000
"""Characters; more are no position."""


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _complain(problem: str | Exception) -> int:
    sentence = " ".join((problem if isinstance(problem, str) else one_sentence(problem)).split())
    # a name that is no Unicode text must not turn into a second error
    sys.stderr.write(f"error: {sentence}\n".encode("utf-8", "replace").decode())
    return EXIT_BAD_INPUT


def read_game(path: str, actions: str = "full") -> Game:
    """Return the game of a position file.

    Args:
        path: file with the JSON of a position, or "-".
        actions: "full" or "compact".

    Raises:
        ValueError: it cannot be read or holds no position; one sentence, with the path and every problem.
    """
    where = "standard input" if path == "-" else path
    text = (
        sys.stdin.read(LARGEST_POSITION + 1)
        if path == "-"
        else read_file(path, "a position", LARGEST_POSITION + 1)
    )
    if len(text) > LARGEST_POSITION:
        raise ValueError(f"{where}: expected a position, found more than {LARGEST_POSITION} characters")
    try:
        return Game.from_position(text, actions)
    except PositionError as error:
        raise ValueError(f"{where}: {one_sentence(error)}") from None


def print_legal(path: str, json: bool = False, actions: str = "full") -> int:
    """Print the legal actions of a position in index order, one a line.

    Args:
        path: file with the JSON of a position, or "-".
        json: print one JSON object with `seat`, `stage`, `legal` (texts) and `indices` instead.
        actions: "full" or "compact".

    Returns:
        The exit code.
    """
    try:
        game = read_game(path, actions)
    except ValueError as error:
        return _complain(error)
    legal = game.legal_actions()
    if json:
        values: dict[str, Any] = {"seat": game.to_act, "stage": game.stage, "legal": legal}
        _say(json_text.dumps({**values, "indices": game.legal_indices()}))
    else:
        _say("\n".join(legal))
    return EXIT_DONE


def print_perft(path: str, depth: int, json: bool = False, actions: str = "full") -> int:
    """Print the number of action sequences of exactly `depth` from a position.

    Args:
        path: file with the JSON of a position, or "-".
        depth: 0-100.
        json: print one JSON object with `depth` and `count` instead.
        actions: "full" or "compact".

    Returns:
        The exit code.
    """
    try:
        count = perft(read_game(path, actions), depth)
    except ValueError as error:
        return _complain(error)
    _say(json_text.dumps({"depth": depth, "count": count}) if json else str(count))
    return EXIT_DONE


def print_rules(spec: str = "official", json: bool = False) -> int:
    """Print the rule text of a ruleset.

    Args:
        spec: name of a preset, or path of a TOML file.
        json: print its fields and digest as one JSON object instead.

    Returns:
        The exit code.
    """
    try:
        ruleset = get_ruleset(spec)
    except RuleSetError as error:
        return _complain(error)
    _say(
        json_text.dumps({**ruleset.to_dict(), "digest": ruleset.digest})
        if json
        else rule_text(ruleset).rstrip()
    )
    return EXIT_DONE


def verify_records(paths: Sequence[str], ruleset: str | None = None, json: bool = False) -> int:
    """Replay and verify every game of some records; report the first wrong line of each file.

    Args:
        paths: files of records; "-" is standard input.
        ruleset: the rules of records that name neither a preset nor hold their rules.
        json: print one JSON object a file, with `path`, `games` and, where one is wrong, `error`, `line`,
            `move` and `rule`.

    Returns:
        The exit code.
    """
    if not paths:
        return _complain("expected the path of at least one record, or '-' for standard input")
    try:
        rules = None if ruleset is None else get_ruleset(ruleset)
    except RuleSetError as error:
        return _complain(error)
    code = EXIT_DONE
    for path in paths:
        games = 0
        wrong: dict[str, Any] = {}
        try:
            for _ in replay(sys.stdin if path == "-" else Path(path), rules):
                games += 1
            if games == 0:
                raise RecordError("expected at least one game, found none", name=path)
        except RecordError as error:
            code = _complain(error)
            wrong = {"error": error.problem, "line": error.line, "move": error.move, "rule": error.rule}
        except UnicodeDecodeError as error:
            code = _complain(f"standard input: expected the text of a record, found: {error.reason}")
            wrong = {"error": error.reason, "line": 0, "move": None, "rule": None}
        if json:
            _say(json_text.dumps({"path": path, "games": games, **wrong}))
        elif not wrong:
            _say(f"{path}: {games} {'game' if games == 1 else 'games'} verified")
    return code
