"""Records of games (`.p10`): read as a stream, every move replayed and verified, or made from actions.

The cards are those of the record: hands and stocks are taken from its lines, never from the seed. Everything
else (moves, lost turns, scores, phases, dealers, results) is what the rules make of it and must agree.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

from phase10_env.actions import DRAW, ActionError, action_text, parse_action
from phase10_env.errors import IllegalActionError
from phase10_env.events import Deal, Decision, Event, LostTurn, Reshuffle, Result, Score
from phase10_env.game import LARGEST_SEED, Game
from phase10_env.input_files import unreadable
from phase10_env.position_fields import parse_json
from phase10_env.positions import ACTION_MODES, PositionError
from phase10_env.record_text import UNFINISHED, format_record
from phase10_env.rules.ruleset import PRESETS, RuleSet, RuleSetError, get_ruleset
from phase10_env.rules.validity import nearest, shown

__all__ = ["RecordError", "Replay", "format_record", "record_from_actions", "replay", "verify"]

LONGEST_LINE = 1_000_000
HEADERS = ("ruleset", "rules", "players", "seed", "episode", "actions", "agents", "position")

_RULE = re.compile(r"\((R[0-9][^)]*)\)")
_HEADER = re.compile(r"\[([a-z]+)(?: (.*))?\]")
_ROUND = re.compile(r"round ([0-9]{1,9}) dealer ([0-9])")
_TURN = re.compile(r"([0-9]): ?(.*)")

Source = str | os.PathLike[str] | TextIO


class RecordError(ValueError):
    """A record that cannot be read, or that the rules do not allow.

    Attributes:
        problem: one sentence: what was expected and what was found.
        line: number of the line, from 1; 0 where it is no matter of a line.
        move: the move at fault, or None.
        rule: the rule at fault, such as "R9", or None.
        name: the file, or None for text.
    """

    def __init__(self, problem: str, line: int = 0, move: str | None = None, name: str | None = None) -> None:
        self.problem = problem
        self.line = line
        self.move = move
        found = _RULE.search(problem)
        self.rule = found[1] if found else None
        self.name = name
        where = [name] if name else []
        where += [f"line {line}"] if line else []
        where += [f"move '{move}'"] if move else []
        super().__init__(f"{', '.join(where)}: {problem}" if where else problem)


@dataclass(frozen=True)
class Replay:
    """One game of a record, replayed and verified.

    Args:
        game: the game at its last recorded moment, with its history; `pop` goes back through it.
        agents: who played, by seat; empty where the record does not say.
        line: number of the game's first line.
    """

    game: Game
    agents: tuple[str, ...]
    line: int


def replay(source: Source, ruleset: RuleSet | str | Mapping[str, Any] | None = None) -> Iterator[Replay]:
    """Replay and verify the games of a record, one after another.

    Args:
        source: the text itself (it begins with "["), a path or an open file.
        ruleset: the rules of records that name neither a preset nor hold their rules.

    Yields:
        Each game as soon as it is verified; a long file is never held whole.

    Raises:
        RecordError: at the first line that is wrong.

    >>> game = Game(seed=7)
    >>> game.play("draw")
    >>> [replayed.game.history == game.history for replayed in replay(game.record())]
    [True]
    """
    given = None if ruleset is None else get_ruleset(ruleset)
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("[")):
        yield from _games(_Lines(io.StringIO(source), None), given)
    elif isinstance(source, (str, os.PathLike)):
        try:
            # damaged bytes become characters that no line of a record has
            with open(source, encoding="utf-8", errors="replace") as file:
                yield from _games(_Lines(file, os.fspath(source)), given)
        except (OSError, ValueError) as error:
            if isinstance(error, RecordError):
                raise
            raise RecordError(unreadable("a record", error), name=os.fspath(source)) from None
    else:
        yield from _games(_Lines(source, getattr(source, "name", None)), given)


def verify(source: Source, ruleset: RuleSet | str | Mapping[str, Any] | None = None) -> int:
    """Replay and verify every game of a record and return their number.

    Args:
        source: as for `replay`.
        ruleset: as for `replay`.

    Raises:
        RecordError: at the first line that is wrong.
    """
    return sum(1 for _ in replay(source, ruleset))


def record_from_actions(
    seed: int,
    num_players: int,
    ruleset: RuleSet | str | Mapping[str, Any],
    actions: Iterable[int | str],
    agents: Sequence[str] = (),
    *,
    mode: str = "full",
    dealer: int | None = None,
    episode: int = 0,
) -> str:
    """Return the record of a game from the actions taken in it.

    Args:
        seed: the game's own seed.
        num_players: 2-6.
        ruleset: the rules.
        actions: every decision of the game in order, index or text.
        agents: who played, by seat, without blanks.
        mode: "full" or "compact".
        dealer: seat of the first dealer; None leaves it to the rules.
        episode: games played before on the row of the batch.

    Raises:
        IllegalActionError: an action is not legal at its place.

    >>> print(record_from_actions(7, 2, "official", ["draw"]).splitlines()[-2:])
    ['1: draw', '[result unfinished]']
    """
    game = Game(num_players, ruleset, seed, mode, dealer, episode=episode)
    for action in actions:
        game.play(action)
    return game.record(agents)


# ---- reading -----------------------------------------------------------------------------------------------


class _Lines:
    """The lines of a record, numbered, without blanks at their ends; blank lines are passed over."""

    def __init__(self, file: TextIO, name: str | None) -> None:
        self._file = file
        self._waiting: str | None = None
        self.name = name
        self.number = 0

    def peek(self) -> str | None:
        """Return the next line, or None at the end."""
        while self._waiting is None:
            line = self._file.readline(LONGEST_LINE)
            if not line:
                return None
            self.number += 1
            if len(line) >= LONGEST_LINE:
                self.fail(f"expected lines of less than {LONGEST_LINE} characters")
            self._waiting = " ".join(line.split()) or None
        return self._waiting

    def take(self, expected: str) -> str:
        """Return the next line and go on."""
        line = self.peek()
        if line is None:
            self.fail(f"the record ends before {expected}")
        self._waiting = None
        return line

    def fail(self, problem: str, move: str | None = None) -> NoReturn:
        raise RecordError(problem, self.number, move, self.name)


def _games(lines: _Lines, ruleset: RuleSet | None) -> Iterator[Replay]:
    while lines.peek() is not None:
        yield _Reader(lines, ruleset).read()


class _Reader:
    """Reads one game: what the rules say must follow is compared line by line."""

    def __init__(self, lines: _Lines, ruleset: RuleSet | None) -> None:
        self._lines = lines
        self._given = ruleset
        self._headers: dict[str, tuple[int, str]] = {}
        self._finished = False

    def read(self) -> Replay:
        first = self._lines.number
        self._read_headers()
        ruleset = self._ruleset()
        players = self._number("players", 2, 6)
        seed = self._number("seed", 0, LARGEST_SEED)
        episode = self._number("episode", 0, 2**62, 0)
        mode = self._headers.get("actions", (0, "full"))[1]
        if mode not in ACTION_MODES:
            self._fail_header(
                "actions", f"expected one of {', '.join(ACTION_MODES)}{nearest(mode, ACTION_MODES)}"
            )
        agents = tuple(self._headers.get("agents", (0, ""))[1].split())
        if agents and len(agents) != players:
            self._fail_header("agents", f"expected {players} names, one a seat, found {len(agents)}")
        if "position" in self._headers:
            self._load_position(ruleset, players, mode)
        else:
            self._start(ruleset, players, seed, mode, episode)
        while not self._finished:
            self._read_turn()
        return Replay(self._game, agents, first)

    # ---- headers

    def _read_headers(self) -> None:
        while (line := self._lines.peek()) is not None and line.startswith("[") and not _is_result(line):
            found = _HEADER.fullmatch(line)
            name = found[1] if found else ""
            if found is None or name not in HEADERS:
                self._lines.fail(
                    f"{shown(line)} is no header: expected one of {', '.join(f'[{h} ...]' for h in HEADERS)}"
                    f"{nearest(name, HEADERS)}"
                )
            if not self._headers and name != "ruleset":
                self._lines.fail(
                    f"found {shown(line)}: expected a game to begin with '[ruleset NAME DIGEST]'"
                )
            if name in self._headers:
                if name == "ruleset":
                    self._lines.fail("found '[ruleset ...]' again: expected the moves of the game before it")
                self._lines.fail(f"[{name}] is given twice: expected each header once")
            self._headers[name] = (self._lines.number, found[2] or "")
            self._lines.take("")
        for name in ("ruleset", "players", "seed"):
            if name not in self._headers:
                found_line = "the end of the record" if line is None else shown(line)
                self._lines.fail(f"expected '[{name} ...]' among the headers, found {found_line}")

    def _fail_header(self, name: str, problem: str) -> NoReturn:
        line, value = self._headers[name]
        raise RecordError(f"[{name}] is {shown(value)}: {problem}", line, None, self._lines.name)

    def _number(self, name: str, low: int, high: int, default: int | None = None) -> int:
        if name not in self._headers and default is not None:
            return default
        value = self._headers[name][1]
        if not re.fullmatch("[0-9]{1,20}", value) or not low <= int(value) <= high:
            self._fail_header(name, f"expected a whole number from {low} to {high}")
        return int(value)

    def _ruleset(self) -> RuleSet:
        words = self._headers["ruleset"][1].split()
        if len(words) != 2:
            self._fail_header("ruleset", "expected the name of the rules and their digest of eight digits")
        name, digest = words
        ruleset = self._embedded_rules() or PRESETS.get(name) or self._given
        if ruleset is None:
            self._fail_header(
                "ruleset",
                f"expected a preset ({', '.join(PRESETS)}), a line '[rules {{...}}]' or the rules given with "
                f"the record{nearest(name, PRESETS)}",
            )
        if ruleset.digest != digest:
            self._fail_header(
                "ruleset",
                f"expected the digest {ruleset.digest} of the rules '{ruleset.name}'; the record was made "
                "under other rules",
            )
        return ruleset

    def _embedded_rules(self) -> RuleSet | None:
        if "rules" not in self._headers:
            return None
        fields, problems = parse_json(self._headers["rules"][1])
        if not isinstance(fields, dict) or problems:
            self._fail_header(
                "rules", "expected the fields of a ruleset as JSON" + "".join(f"; {p}" for p in problems)
            )
        try:
            return RuleSet.from_dict(fields)
        except RuleSetError as error:
            self._fail_header("rules", "; ".join(error.problems))

    # ---- the beginning

    def _load_position(self, ruleset: RuleSet, players: int, mode: str) -> None:
        try:
            self._game = Game.from_position(self._headers["position"][1], mode)
        except PositionError as error:
            self._fail_header("position", "; ".join(error.problems))
        if self._game.ruleset.digest != ruleset.digest:
            self._fail_header(
                "position", f"expected a position under the rules '{ruleset.name}' of the record"
            )
        if self._game.num_players != players:
            self._fail_header("position", f"expected {players} players, as [players] says")

    def _start(self, ruleset: RuleSet, players: int, seed: int, mode: str, episode: int) -> None:
        line = self._lines.peek() or ""
        found = _ROUND.fullmatch(line)
        dealer = int(found[2]) if found else 0
        if dealer >= players:
            self._lines.fail(f"{shown(line)}: expected a dealer from 0 to {players - 1} (R4)")
        if ruleset.dealer is not None and dealer != ruleset.dealer:
            self._lines.fail(f"{shown(line)}: expected dealer {ruleset.dealer}, as the rules say (R4)")
        try:
            self._game = Game(players, ruleset, seed, mode, dealer, episode=episode)
        except RuleSetError as error:
            self._fail_header("players", "; ".join(error.problems))
        self._follow(self._game.events[:1])

    # ---- what must follow

    def _follow(self, events: Iterable[Event]) -> None:
        """Compare the next lines with what happened."""
        for event in events:
            match event:
                case Deal():
                    self._read_deal(event)
                    return  # what followed came from another deal
                case LostTurn(seat):
                    self._expect(f"{seat}: skipped", "R7, R23")
                case Score(out, scores, phases):
                    self._expect("out nobody" if out is None else f"out {out}", "R13, R28")
                    self._expect(f"scores: {' '.join(map(str, scores))}", "R29")
                    self._expect(f"phases: {phases}", "R30, R35")
                case Result(ranks):
                    self._expect(f"[result {' '.join(map(str, ranks)) if ranks else 'truncated'}]", "R31-R34")
                    self._finished = True
                case Decision() | Reshuffle():
                    pass

    def _expect(self, expected: str, rule: str) -> None:
        line = self._lines.take(f"'{expected}' ({rule})")
        if line != expected:
            self._lines.fail(f"found {shown(line)}: expected '{expected}' ({rule})")

    def _read_deal(self, deal: Deal) -> None:
        self._expect(f"round {deal.round} dealer {deal.dealer}", "R4")
        first = self._lines.number
        hands: list[str | None] = []
        for seat, hand in enumerate(deal.hands):
            hands.append(None if hand is None else self._cards(f"hand {seat}:", "R5"))
        discard = self._cards("discard:", "R5")
        stock = self._cards("stock:", "R5")
        try:
            self._game.deal(hands, discard, stock)
        except PositionError as error:
            problem = f"the deal is impossible: {'; '.join(error.problems)}"
            raise RecordError(problem, first, None, self._lines.name) from None
        last = max(i for i, event in enumerate(self._game.events) if isinstance(event, Deal))
        self._follow(self._game.events[last + 1 :])

    def _cards(self, label: str, rule: str) -> str:
        line = self._lines.take(f"'{label} ...' ({rule})")
        if not line.startswith(label):
            self._lines.fail(f"found {shown(line)}: expected '{label} ...' ({rule})")
        return line.removeprefix(label).strip()

    # ---- turns

    def _read_turn(self) -> None:
        """Read one line of moves, with the new stock before it and all that follows from it."""
        stock = None
        line = self._lines.take("its '[result ...]'")
        if _is_result(line):
            self._end_unfinished(line)
            return
        if line.startswith("stock:"):
            stock = line.removeprefix("stock:").strip()
            line = self._lines.take("the turn that draws from the new stock (R13)")
        found = _TURN.fullmatch(line)
        if found is None:
            self._lines.fail(f"{shown(line)} is no turn: expected such as '0: draw; discard R5'")
        seat, moves = int(found[1]), [move.strip() for move in found[2].split(";")]
        if seat != self._game.to_act:
            self._lines.fail(f"found a turn of seat {seat}: seat {self._game.to_act} is to act (R6, R23)")
        if moves == ["skipped"]:
            self._lines.fail(f"seat {seat} does not lose this turn, expected its moves (R23)")
        for place, move in enumerate(moves):
            events = self._play(move, stock)
            stock = None
            decision = next(event for event in events if isinstance(event, Decision))
            if decision.ends_turn and place < len(moves) - 1:
                self._lines.fail("the turn is over before this move (R12, R28)", moves[place + 1])
            if not decision.ends_turn and place == len(moves) - 1:
                following = self._lines.peek()
                if following is None or not _is_result(following):
                    self._lines.fail(
                        "the turn is not finished on its line, expected a last move such as a discard (R12)"
                    )
            self._follow(events)

    def _play(self, move: str, stock: str | None) -> list[Event]:
        before = len(self._game.events)
        try:
            action = parse_action(move)
        except ActionError as error:
            self._lines.fail(str(error), shown(move)[1:-1])
        if action == DRAW and stock is None and self._needs_stock():
            self._lines.fail(
                "the stock is empty: expected a line 'stock: ...' with the new one before it (R13)", move
            )
        try:
            self._game.play(action, stock)
        except IllegalActionError as error:
            self._lines.fail(f"seat {error.seat} may not {action_text(action)}: {error.reason}", move)
        except ValueError as error:
            self._lines.fail(str(error), move)
        return self._game.events[before:]

    def _needs_stock(self) -> bool:
        return self._game.stage == "draw" and self._game.state["stock_size"][0] == 0

    def _end_unfinished(self, line: str) -> None:
        if line != f"[result {UNFINISHED}]":
            self._lines.fail(f"found {shown(line)}: the game is not over, expected more moves (R31)")
        self._finished = True


def _is_result(line: str) -> bool:
    return line.startswith("[result")
