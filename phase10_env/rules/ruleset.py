"""RuleSet: one validated set of rules as frozen data, with its presets, its digest and its TOML form."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from phase10_env.rules.cards import COLOUR_LETTERS, KIND_TEXTS, KINDS, NUMBERS, SKIP, STANDARD_DECK, WILD
from phase10_env.rules.phases import GROUP_KINDS, OPTION_VALUES, RULES, STANDARD_PHASES
from phase10_env.rules.state import MAX_PLAYERS
from phase10_env.rules.validity import Deck, Phase, RuleSetError, checked, nearest, phase_text, shown

__all__ = ["CUSTOM", "PRESETS", "RuleSet", "RuleSetError", "get_ruleset", "phase_text"]

CUSTOM = "custom"
"""Name of rules that were given none of their own."""

NO_DEALER = -1
"""Stands in the record for a first dealer who is drawn."""


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class RuleSet:
    """Hold the rules of a game; whatever cannot be played is refused at once (R37).

    Phases may be given as text (`"set 3 + run 4"`, `"colour 7"`), the deck as a table (see `from_dict`). The
    name of a preset stands for that preset alone: other rules under it are named "custom".

    Args:
        name: letters, digits, dots, dashes; not part of the digest.
        phases: 1-10 phases, each one or two groups (kind, size), kind "set", "run" or "colour" (R36).
        advance: who moves to the next phase (R35).
        skip_target: who may be skipped (R23).
        skip_placement: where a Skip is put (R24).
        hit_after_lay: melds that may be hit in the turn of the lay-down (R11).
        go_out: how the last card may leave the hand (R28).
        winner: who competes at the end (R31).
        tie_break: what decides between equal totals (R33).
        naturals: where at least one natural card is asked for (R18).
        allow_return: the card just taken may be discarded (R12).
        hand_size: cards dealt to each player, 1-14 (R5).
        deck: copies of each kind of card, 50 numbers (R2).
        dealer: seat of the first dealer, or None: drawn (R4).
        max_turns: turns per player and round, 1-10000 (R34).
        max_rounds: rounds per game, 1-10000 (R34).

    Raises:
        RuleSetError: with one sentence per problem.

    >>> RuleSet(name="quick", phases=("set 3", "set 2 + run 3"), hand_size=7).phases[1]
    (('set', 2), ('run', 3))
    >>> RuleSet(skip_target="nxt")
    Traceback (most recent call last):
    phase10_env.rules.validity.RuleSetError: skip_target is 'nxt': expected one of 'choose', 'next'; the
    nearest is 'next'
    """

    name: str = "official"
    phases: tuple[Phase, ...] = STANDARD_PHASES
    advance: str = "completed"
    skip_target: str = "choose"
    skip_placement: str = "front"
    hit_after_lay: str = "all"
    go_out: str = "any"
    winner: str = "completed"
    tie_break: str = "go_out"
    naturals: str = "group"
    allow_return: bool = True
    hand_size: int = 10
    deck: Deck = tuple(STANDARD_DECK.tolist())
    dealer: int | None = None
    max_turns: int = 500
    max_rounds: int = 200

    def __post_init__(self) -> None:
        fields = checked({field: getattr(self, field) for field in FIELDS})
        if fields["name"] in _PRESET_OPTIONS:
            preset = {**DEFAULTS, **_PRESET_OPTIONS[fields["name"]]}
            if any(fields[field] != preset[field] for field in FIELDS if field != "name"):
                fields["name"] = CUSTOM
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        values = self.to_dict()
        changed = [f for f in FIELDS if f != "name" and getattr(self, f) != DEFAULTS[f]]
        return f"RuleSet({', '.join(f'{field}={values[field]!r}' for field in ['name', *changed])})"

    def __getstate__(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in FIELDS}  # a copied record would be writable

    @property
    def deck_size(self) -> int:
        """The number of cards of the deck."""
        return sum(self.deck)

    @property
    def max_players(self) -> int:
        """The most players whom the deck leaves a stock (R1, R5)."""
        return min(MAX_PLAYERS, (self.deck_size - 2) // self.hand_size)

    @cached_property
    def digest(self) -> str:
        """Eight hexadecimal digits that stand for everything but the name."""
        values: dict[str, Any] = {field: getattr(self, field) for field in FIELDS if field != "name"}
        values["phases"] = [phase_text(phase) for phase in self.phases]
        canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:8]

    @cached_property
    def record(self) -> npt.NDArray[np.void]:
        """The rules as kernels read them: an array of shape (1,) and dtype RULES, read-only."""
        rules = np.zeros(1, dtype=RULES)
        row = rules[0]
        row["num_phases"] = len(self.phases)
        for k, phase in enumerate(self.phases):
            for g, (kind, size) in enumerate(phase):
                row["group_kinds"][k, g] = GROUP_KINDS.index(kind)
                row["group_sizes"][k, g] = size
        for field, choices in OPTION_VALUES.items():
            row[field] = choices.index(getattr(self, field))
        for field in ("allow_return", "hand_size", "max_turns", "max_rounds", "deck_size"):
            row[field] = getattr(self, field)
        row["dealer"] = NO_DEALER if self.dealer is None else self.dealer
        row["deck_counts"] = self.deck
        row["deck_cards"][: self.deck_size] = np.repeat(np.arange(KINDS), self.deck)
        rules.flags.writeable = False
        return rules

    def check_players(self, num_players: int) -> None:
        """Refuse a number of players whom these rules do not fit (R1, R37).

        Raises:
            RuleSetError: with one sentence per problem.

        >>> RuleSet().check_players(7)
        Traceback (most recent call last):
        phase10_env.rules.validity.RuleSetError: num_players is 7: expected 2 to 6 players (R1)
        """
        if type(num_players) is bool or not isinstance(num_players, (int, np.integer)):
            raise RuleSetError(
                f"num_players is {shown(num_players)}: expected a whole number from 2 to 6 (R1)"
            )
        if not 2 <= num_players <= MAX_PLAYERS:
            raise RuleSetError(f"num_players is {num_players}: expected 2 to {MAX_PLAYERS} players (R1)")
        problems = []
        needed = num_players * self.hand_size + 2
        if self.deck_size < needed:
            problems.append(
                f"deck has {self.deck_size} cards: {num_players} players with hand_size {self.hand_size} "
                f"need at least {needed}; play with at most {self.max_players}, add cards or deal fewer"
            )
        if self.dealer is not None and self.dealer >= num_players:
            problems.append(
                f"dealer is {self.dealer}: with {num_players} players expected a seat "
                f"from 0 to {num_players - 1}"
            )
        if problems:
            raise RuleSetError(*problems)

    def replace(self, **changes: Any) -> Self:
        """Return these rules with some fields changed.

        Raises:
            RuleSetError: unknown fields, or rules that cannot be played.

        >>> RuleSet().replace(hand_size=8, phases=["run 7"]).hand_size
        8
        """
        problems = _unknown(changes, FIELDS)
        if problems:
            raise RuleSetError(*problems)
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data that JSON can hold; `from_dict` reads it back.

        >>> RuleSet().to_dict()["deck"]
        {'numbers': '1-12', 'colours': 'RBGY', 'copies': 2, 'wilds': 8, 'skips': 4}
        """
        values: dict[str, Any] = {field: getattr(self, field) for field in FIELDS}
        values["phases"] = [phase_text(phase) for phase in self.phases]
        values["deck"] = _deck_table(self.deck)
        return values

    @property
    def spec(self) -> str | dict[str, Any]:
        """What `get_ruleset` turns into these rules again: a preset's name, or all fields."""
        return self.name if self.name in PRESETS else self.to_dict()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a ruleset from plain data.

        Args:
            values: fields by name; fields left out are those of the preset named by `base` (default
                "official"). `deck` is a table of kinds, `{"R1": 2, "W": 8}`, or a table with any of `numbers`
                ("1-9" or a list), `colours` ("RBGY"), `copies`, `wilds` and `skips`.

        Raises:
            RuleSetError: with one sentence per problem, unknown fields included.

        >>> RuleSet.from_dict({"base": "short-5", "deck": {"wilds": 4}}).deck_size
        104
        """
        problems = _unknown(values, ("base", *FIELDS))
        base = values.get("base", "official")
        if not isinstance(base, str) or base not in PRESETS:
            raise RuleSetError(
                *problems,
                f"base is {shown(base)}: expected one of {', '.join(PRESETS)}{nearest(base, PRESETS)}",
            )
        fields = {field: getattr(PRESETS[base], field) for field in FIELDS}
        fields.update((key, value) for key, value in values.items() if key in FIELDS)
        try:
            ruleset = cls(**fields)
        except RuleSetError as error:
            raise RuleSetError(*problems, *error.problems) from None
        if problems:
            raise RuleSetError(*problems)
        return ruleset

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Self:
        """Read a ruleset from a TOML file with the keys of `from_dict`.

        A file without `name` gives the rules its own name.

        Raises:
            RuleSetError: with one sentence per problem, each beginning with the path.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
            values = tomllib.loads(text)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise RuleSetError(
                f"{path}: expected a readable file with rules, found: {reason}; check the path"
            ) from None
        except (ValueError, RecursionError) as error:
            raise RuleSetError(f"{path}: expected TOML such as base = 'official', found: {error}") from None
        own_name = re.sub(r"[^\w.-]", "-", Path(path).stem).lstrip(".-")[:64] or CUSTOM
        try:
            return cls.from_dict({"name": own_name, **values})
        except RuleSetError as error:
            raise RuleSetError(*(f"{path}: {problem}" for problem in error.problems)) from None

    def to_toml(self) -> str:
        """Return the text of a TOML file that `from_toml` reads back.

        >>> print(RuleSet(name="tiny", phases=("set 2",), hand_size=3).to_toml()[:40])
        name = "tiny"
        phases = [
            "set 2",
        ]
        """
        values = self.to_dict()
        deck = values.pop("deck")
        phases = values.pop("phases")
        if values["dealer"] is None:
            del values["dealer"]  # TOML has no null; left out, the dealer is drawn
        lines = [f"name = {_toml(values.pop('name'))}", "phases = ["]
        lines += [f"    {_toml(phase)}," for phase in phases]
        lines.append("]")
        lines += [f"{key} = {_toml(value)}" for key, value in values.items()]
        lines += ["", "[deck]", *(f"{key} = {_toml(value)}" for key, value in deck.items())]
        return "\n".join(lines) + "\n"


FIELDS: tuple[str, ...] = tuple(field.name for field in dataclasses.fields(RuleSet))
DEFAULTS: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(RuleSet)}


def _toml(value: bool | int | str | list[int]) -> str:
    """Return a value of a ruleset as TOML; names hold nothing that JSON and TOML quote differently."""
    return json.dumps(value, ensure_ascii=False)


def _unknown(values: Mapping[str, Any], known: tuple[str, ...]) -> list[str]:
    return [
        f"unknown field {shown(key)}: expected one of {', '.join(known)}{nearest(key, known)}"
        for key in values
        if key not in known
    ]


def _deck_table(deck: Deck) -> dict[str, Any]:
    """Return a deck as the table of its properties, or of its kinds where it is irregular."""
    present = [kind for kind in range(WILD) if deck[kind]]
    numbers = sorted({kind % NUMBERS + 1 for kind in present})
    colours = sorted({kind // NUMBERS for kind in present})
    copies = {deck[kind] for kind in present}
    if len(copies) != 1 or len(present) != len(numbers) * len(colours):
        return {text: count for text, count in zip(KIND_TEXTS, deck, strict=True) if count}
    whole = len(numbers) == numbers[-1] - numbers[0] + 1
    return {
        "numbers": f"{numbers[0]}-{numbers[-1]}" if whole else numbers,
        "colours": "".join(COLOUR_LETTERS[c] for c in colours),
        "copies": copies.pop(),
        "wilds": deck[WILD],
        "skips": deck[SKIP],
    }


_NEXT_PLAYER_SKIP = {
    "skip_target": "next",
    "skip_placement": "pile",
    "hit_after_lay": "own",
    "go_out": "discard",
    "tie_break": "lay_down",
}

_PRESET_OPTIONS: dict[str, dict[str, Any]] = {
    "official": {},
    "ten-rounds": {"advance": "every_round"},
    "short-5": {"phases": STANDARD_PHASES[:5]},
    "short-7": {"phases": STANDARD_PHASES[:7]},
    "short-8": {"phases": STANDARD_PHASES[:8]},
    "next-player-skip": _NEXT_PLAYER_SKIP,
    "even-phases": {**_NEXT_PLAYER_SKIP, "phases": STANDARD_PHASES[1::2]},
    "odd-phases": {**_NEXT_PLAYER_SKIP, "phases": STANDARD_PHASES[0::2]},
    "pick-a-phase": {**_NEXT_PLAYER_SKIP, "advance": "pick"},
    "pile-skip": {"skip_placement": "pile"},
}

PRESETS: Mapping[str, RuleSet] = MappingProxyType(
    {name: RuleSet(name=name, **options) for name, options in _PRESET_OPTIONS.items()}
)
"""The presets of the rules by name; each differs from `official` in the options of the table above."""


def get_ruleset(spec: RuleSet | str | os.PathLike[str] | Mapping[str, Any]) -> RuleSet:
    """Return the ruleset that a spec stands for.

    Args:
        spec: a RuleSet, the name of a preset, the path of a TOML file or the fields as a dict.

    Raises:
        RuleSetError: nothing has this name, or the rules cannot be played.

    >>> get_ruleset("short-5").phases == get_ruleset("official").phases[:5]
    True
    >>> get_ruleset("offical")
    Traceback (most recent call last):
    phase10_env.rules.validity.RuleSetError: unknown ruleset 'offical': expected the path of a TOML file or
    one of official, ten-rounds, short-5, ...; the nearest is 'official'
    """
    if isinstance(spec, RuleSet):
        return spec
    if isinstance(spec, Mapping):
        return RuleSet.from_dict(spec)
    if isinstance(spec, str) and spec in PRESETS:
        return PRESETS[spec]
    path: object = spec  # whatever a caller without type checks may hand over
    if isinstance(path, os.PathLike) or (
        isinstance(path, str) and (path.endswith(".toml") or os.path.exists(path))
    ):
        return RuleSet.from_toml(spec)
    raise RuleSetError(
        f"unknown ruleset {shown(spec)}: expected the path of a TOML file or one of "
        f"{', '.join(PRESETS)}{nearest(spec, PRESETS)}"
    )
