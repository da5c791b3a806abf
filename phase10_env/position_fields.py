"""Reads the fields of a position (plain data or JSON text) and notes every wrong key, type and range.

Nothing here looks at two fields together; that is `position_checks.py`. What cannot be read is None in the
draft, so that the remaining checks can still run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from phase10_env.notation import NotationError, parse_card
from phase10_env.rules.cards import COLOUR_LETTERS, NUMBERS, SKIP
from phase10_env.rules.phases import COLOUR_GROUP, GROUP_KINDS, MAX_PHASES, RUN, SET
from phase10_env.rules.ruleset import PRESETS, RuleSet, RuleSetError, get_ruleset
from phase10_env.rules.state import MAX_DECK, MAX_PLAYERS, RECENT, STAGES
from phase10_env.rules.validity import nearest, shown

__all__ = ["MEMORY_FIELDS", "Draft", "MeldDraft", "MemoryDraft", "SeatDraft", "parse_json", "read_fields"]

VALUE_FIELDS = {SET: "number", RUN: "low", COLOUR_GROUP: "colour"}
"""What the value of a meld is called, by its kind."""

MEMORY_FIELDS = ("known", "discards", "refused", "reshuffles", "no_draw", "episode")
"""Fields of a position about what happened before it; all may be left out."""

LARGEST_COUNT = 1_000_000_000
LARGEST_ROUND = 30_000
LARGEST_SEED = 2**64 - 1
MOST_CARDS_SHOWN = 5

_FIELDS = (
    "ruleset", "players", "dealer", "to_act", "stage", "round", "turn", "stock", "discard", "seats", "table",
    "laid_this_turn", "taken", "building", "card", "active", "memory", "seed",
)  # fmt: skip
_SEAT_FIELDS = ("hand", "phase", "laid", "score", "skipped", "done", "laid_phase")
_MELD_FIELDS = ("seat", "group", "kind", "number", "low", "colour", "cards")
_BUILDING_FIELDS = ("phase", "spelled")


@dataclass
class SeatDraft:
    """One entry of `seats`: kinds, phases counted from 1."""

    hand: list[int] | None = None
    phase: int | None = None
    laid: bool | None = None
    score: int | None = None
    skipped: bool | None = None
    done: list[int] | None = None
    laid_phase: int | None = None


@dataclass
class MeldDraft:
    """One entry of `table`: `kind` as in `GROUP_KINDS`, `value` a number, a low end or a colour 0-3."""

    seat: int | None = None
    group: int | None = None
    kind: int | None = None
    value: int | None = None
    cards: list[int] | None = None


@dataclass
class MemoryDraft:
    """The field `memory`: cards by seat, refused kinds by seat, and counters."""

    known: list[list[int] | None] = field(default_factory=list)
    discards: list[list[int] | None] = field(default_factory=list)
    refused: list[list[int] | None] = field(default_factory=list)
    reshuffles: int | None = 0
    no_draw: int | None = 0
    episode: int | None = 0


@dataclass
class Draft:
    """A position as far as it could be read."""

    ruleset: RuleSet | None = None
    players: int | None = None
    dealer: int | None = None
    to_act: int | None = None
    stage: str | None = None
    round: int | None = None
    turn: int | None = None
    stock: list[int] | None = None
    discard: list[int] | None = None
    seats: list[SeatDraft] | None = None
    table: list[MeldDraft] | None = None
    laid_this_turn: bool | None = False
    taken: int | None = None
    has_building: bool = False
    build_phase: int | None = None
    spelled: list[str] | None = None
    card: int | None = None
    active: list[int] | None = None
    has_active: bool = False
    memory: MemoryDraft = field(default_factory=MemoryDraft)
    seed: int | None = 0


class _Reader:
    """Reads values of known types; each wrong one adds a sentence to `problems`."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def expected(self, where: str, value: object, expected: str) -> None:
        self.problems.append(f"{where} is {shown(value)}: expected {expected}")

    def keys(self, where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                name = f"{where}.{key}" if where else key
                self.problems.append(
                    f"{shown(name)[1:-1]} is an unknown field: expected one of {', '.join(known)}"
                    f"{nearest(key, known)}"
                )

    def table(self, where: str, value: object) -> Mapping[str, Any] | None:
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return value
        self.expected(where, value, "an object of fields by name")
        return None

    def array(self, where: str, value: object, most: int, what: str) -> list[Any] | None:
        if not isinstance(value, (list, tuple)):
            self.expected(where, value, f"a list of {what}")
            return None
        if len(value) > most:
            self.problems.append(f"{where} has {len(value)} entries: expected at most {most} {what}")
            return None
        return list(value)

    def integer(self, where: str, value: object, low: int, high: int) -> int | None:
        if type(value) is int and low <= value <= high:
            return value
        self.expected(where, value, f"a whole number from {low} to {high}")
        return None

    def flag(self, where: str, value: object) -> bool | None:
        if isinstance(value, bool):
            return value
        self.expected(where, value, "true or false")
        return None

    def choice(self, where: str, value: object, choices: tuple[str, ...]) -> str | None:
        if isinstance(value, str) and value in choices:
            return value
        self.expected(where, value, f"one of {', '.join(choices)}{nearest(value, choices)}")
        return None

    def cards(self, where: str, value: object, most: int = MAX_DECK) -> list[int] | None:
        if not isinstance(value, str):
            self.expected(where, value, "cards separated by blanks, as in 'R1 W B12'")
            return None
        words = value.split()
        if len(words) > most:
            self.problems.append(f"{where} has {len(words)} cards: expected at most {most}")
            return None
        kinds = []
        wrong = 0
        for place, word in enumerate(words, 1):
            try:
                kinds.append(parse_card(word))
            except NotationError as error:
                wrong += 1
                if wrong <= MOST_CARDS_SHOWN:
                    self.problems.append(f"{where}, card {place}: {error}")
        if wrong > MOST_CARDS_SHOWN:
            self.problems.append(f"{where}: {wrong - MOST_CARDS_SHOWN} more words are no cards")
        return None if wrong else kinds

    def card(self, where: str, value: object) -> int | None:
        """Read one card that is not a Skip."""
        kinds = self.cards(where, value, 1)
        if kinds is None:
            return None
        if len(kinds) != 1 or kinds[0] == SKIP:
            self.expected(where, value, "one card that is not a Skip, as in 'R5'")
            return None
        return kinds[0]


def parse_json(text: str) -> tuple[object, list[str]]:
    """Return what a JSON text holds, and what is wrong with the text itself.

    >>> parse_json('{"stock": "", "stock": "R1"}')
    ({'stock': 'R1'}, ['stock is given twice in one object: expected each field once'])
    """
    problems: list[str] = []

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table: dict[str, Any] = {}
        for key, value in pairs:
            if key in table:
                problems.append(f"{shown(key)[1:-1]} is given twice in one object: expected each field once")
            table[key] = value
        return table

    try:
        return json.loads(text, object_pairs_hook=no_duplicates), problems
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        return None, [f"position: expected a JSON object, found text that is none ({reason})"]


def read_fields(value: object) -> tuple[Draft, list[str]]:
    """Read a position from plain data.

    Returns:
        The draft, and one sentence for each field that is missing, unknown, or of a wrong type or range.
    """
    reader = _Reader()
    draft = Draft()
    position = reader.table("position", value)
    if position is None:
        return draft, reader.problems
    reader.keys("", position, _FIELDS)
    _read_rules(reader, position, draft)
    seats = MAX_PLAYERS if draft.players is None else draft.players
    required: dict[str, Callable[[str, object], object]] = {
        "dealer": lambda where, found: reader.integer(where, found, 0, seats - 1),
        "to_act": lambda where, found: reader.integer(where, found, 0, seats - 1),
        "stage": lambda where, found: reader.choice(where, found, STAGES[:4]),
        "round": lambda where, found: reader.integer(where, found, 1, LARGEST_ROUND),
        "turn": lambda where, found: reader.integer(where, found, 0, LARGEST_COUNT),
        "stock": reader.cards,
        "discard": reader.cards,
        "seats": lambda where, found: _read_seats(reader, found, draft),
        "table": lambda where, found: _read_table(reader, found, seats),
    }
    for name, read in required.items():
        if name in position:
            setattr(draft, name, read(name, position[name]))
        else:
            reader.problems.append(f"{name} is missing")
    _read_turn(reader, position, draft, seats)
    if "memory" in position:
        _read_memory(reader, position["memory"], draft, seats)
    if "seed" in position:
        draft.seed = reader.integer("seed", position["seed"], 0, LARGEST_SEED)
    return draft, reader.problems


def _read_rules(reader: _Reader, position: Mapping[str, Any], draft: Draft) -> None:
    for name in ("ruleset", "players"):
        if name not in position:
            reader.problems.append(f"{name} is missing")
    if "ruleset" in position:
        spec = position["ruleset"]
        # only a regular file is opened: a device named here could be read for ever
        named = isinstance(spec, str) and (spec in PRESETS or _is_file(spec))
        if not (named or isinstance(spec, (Mapping, RuleSet))):
            reader.expected(
                "ruleset",
                spec,
                f"a ruleset's fields, the path of a TOML file or one of {', '.join(PRESETS)}"
                f"{nearest(spec, PRESETS)}",
            )
        else:
            try:
                draft.ruleset = get_ruleset(spec)
            except RuleSetError as error:
                reader.problems.extend(f"ruleset: {problem}" for problem in error.problems)
    if "players" in position:
        draft.players = reader.integer("players", position["players"], 2, MAX_PLAYERS)
    if draft.ruleset is not None and draft.players is not None:
        try:
            draft.ruleset.check_players(draft.players)
        except RuleSetError as error:
            reader.problems.extend(f"players: {problem}" for problem in error.problems)


def _is_file(path: str) -> bool:
    try:
        return os.path.isfile(path)
    except ValueError:
        return False


def _read_seats(reader: _Reader, value: object, draft: Draft) -> list[SeatDraft] | None:
    entries = reader.array("seats", value, MAX_PLAYERS, "seats")
    if entries is None:
        return None
    if draft.players is not None and len(entries) != draft.players:
        reader.problems.append(f"seats has {len(entries)} entries: expected {draft.players}, one a player")
    return [_read_seat(reader, f"seats[{seat}]", entry, draft.ruleset) for seat, entry in enumerate(entries)]


def _read_seat(reader: _Reader, where: str, value: object, ruleset: RuleSet | None) -> SeatDraft:
    seat = SeatDraft()
    entry = reader.table(where, value)
    if entry is None:
        return seat
    reader.keys(where, entry, _SEAT_FIELDS)
    pick = ruleset is not None and ruleset.advance == "pick"
    # one more than there are phases: a seat that has done all and watches a tie-break round
    last = (MAX_PHASES if ruleset is None else len(ruleset.phases)) + 1
    required: dict[str, Callable[[str, object], object]] = {
        "hand": reader.cards,
        "laid": reader.flag,
        "score": lambda at, found: reader.integer(at, found, 0, LARGEST_COUNT),
        "skipped": reader.flag,
    }
    if pick:
        required["done"] = lambda at, found: _read_numbers(reader, at, found, 1, last - 1, "phases")
    else:
        required["phase"] = lambda at, found: reader.integer(at, found, 1, last)
        if entry.get("done"):
            reader.problems.append(f"{where}.done: only rules with advance='pick' have it (R35)")
    for name, read in required.items():
        if name in entry:
            setattr(seat, name, read(f"{where}.{name}", entry[name]))
        else:
            reader.problems.append(f"{where}.{name} is missing")
    if entry.get("laid_phase") is not None:
        seat.laid_phase = reader.integer(f"{where}.laid_phase", entry["laid_phase"], 1, last - 1)
    return seat


def _read_numbers(
    reader: _Reader, where: str, value: object, low: int, high: int, what: str
) -> list[int] | None:
    entries = reader.array(where, value, high - low + 1, what)
    if entries is None:
        return None
    numbers = [reader.integer(f"{where}[{i}]", entry, low, high) for i, entry in enumerate(entries)]
    whole = [number for number in numbers if number is not None]
    if len(set(whole)) < len(whole):
        reader.expected(where, value, f"{what} without repeats")
        return None
    return whole if len(whole) == len(numbers) else None


def _read_table(reader: _Reader, value: object, seats: int) -> list[MeldDraft] | None:
    entries = reader.array("table", value, 2 * seats, "melds, two a player")
    if entries is None:
        return None
    return [_read_meld(reader, f"table[{i}]", entry, seats) for i, entry in enumerate(entries)]


def _read_meld(reader: _Reader, where: str, value: object, seats: int) -> MeldDraft:
    meld = MeldDraft()
    entry = reader.table(where, value)
    if entry is None:
        return meld
    reader.keys(where, entry, _MELD_FIELDS)
    required: dict[str, Callable[[str, object], object]] = {
        "seat": lambda at, found: reader.integer(at, found, 0, seats - 1),
        "group": lambda at, found: reader.integer(at, found, 0, 1),
        "kind": lambda at, found: _group_kind(reader, at, found),
        "cards": reader.cards,
    }
    for name, read in required.items():
        if name in entry:
            setattr(meld, name, read(f"{where}.{name}", entry[name]))
        else:
            reader.problems.append(f"{where}.{name} is missing")
    if meld.kind is None:
        return meld
    name = VALUE_FIELDS[meld.kind]
    for other in VALUE_FIELDS.values():
        if other != name and entry.get(other) is not None:
            reader.problems.append(f"{where}.{other}: a {GROUP_KINDS[meld.kind]} has '{name}' instead")
    if name not in entry:
        reader.problems.append(f"{where}.{name} is missing: a {GROUP_KINDS[meld.kind]} needs it")
    elif meld.kind == COLOUR_GROUP:
        letter = reader.choice(f"{where}.colour", entry[name], tuple(COLOUR_LETTERS))
        meld.value = None if letter is None else COLOUR_LETTERS.index(letter)
    else:
        meld.value = reader.integer(f"{where}.{name}", entry[name], 1, NUMBERS)
    return meld


def _group_kind(reader: _Reader, where: str, value: object) -> int | None:
    kind = reader.choice(where, value, GROUP_KINDS[1:])
    return None if kind is None else GROUP_KINDS.index(kind)


def _read_turn(reader: _Reader, position: Mapping[str, Any], draft: Draft, seats: int) -> None:
    """Read the fields that only some moments have; a null stands for an absent one."""
    if "laid_this_turn" in position:
        draft.laid_this_turn = reader.flag("laid_this_turn", position["laid_this_turn"])
    if position.get("taken") is not None:
        draft.taken = reader.card("taken", position["taken"])
    if position.get("card") is not None:
        draft.card = reader.card("card", position["card"])
    if position.get("active") is not None:
        draft.has_active = True
        draft.active = _read_numbers(reader, "active", position["active"], 0, seats - 1, "seats")
    if position.get("building") is not None:
        draft.has_building = True
        building = reader.table("building", position["building"])
        if building is not None:
            _read_building(reader, building, draft)


def _read_building(reader: _Reader, building: Mapping[str, Any], draft: Draft) -> None:
    reader.keys("building", building, _BUILDING_FIELDS)
    for name in _BUILDING_FIELDS:
        if name not in building:
            reader.problems.append(f"building.{name} is missing")
    last = MAX_PHASES if draft.ruleset is None else len(draft.ruleset.phases)
    if "phase" in building:
        draft.build_phase = reader.integer("building.phase", building["phase"], 1, last)
    if "spelled" in building:
        words = reader.array("building.spelled", building["spelled"], 64, "actions")
        if words is not None:
            for i, word in enumerate(words):
                if not isinstance(word, str):
                    reader.expected(f"building.spelled[{i}]", word, "an action such as 'number 7'")
            if all(isinstance(word, str) for word in words):
                draft.spelled = words


def _read_memory(reader: _Reader, value: object, draft: Draft, seats: int) -> None:
    memory = reader.table("memory", value)
    if memory is None:
        return
    reader.keys("memory", memory, MEMORY_FIELDS)
    for name, most in (("known", MAX_DECK), ("discards", RECENT), ("refused", 1)):
        if name not in memory:
            continue
        entries = reader.array(f"memory.{name}", memory[name], seats, "texts, one a player")
        if entries is None:
            continue
        if len(entries) != seats:
            reader.problems.append(
                f"memory.{name} has {len(entries)} entries: expected {seats}, one a player"
            )
            continue
        cards = [reader.cards(f"memory.{name}[{i}]", entry, most) for i, entry in enumerate(entries)]
        for i, kinds in enumerate(cards):
            if SKIP in (kinds or []):
                reader.problems.append(f"memory.{name}[{i}]: a Skip is neither taken nor discarded (R9, R12)")
        setattr(draft.memory, name, cards)
    for name in ("reshuffles", "no_draw", "episode"):
        if name in memory:
            high = {"reshuffles": LARGEST_ROUND, "no_draw": 100, "episode": 2**62}[name]
            setattr(draft.memory, name, reader.integer(f"memory.{name}", memory[name], 0, high))
