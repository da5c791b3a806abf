"""What a seat may know, as one uint8 vector with named slices (I4); and the hidden rest, for critics only.

An observation is `common | one block a seat | derived | candidates`. Seats are relative: block 0 is the
observer, block r the seat r places to the left. Every entry is a public fact or the observer's own hand;
re-dealing the hidden cards consistently leaves it unchanged, byte for byte. Levels: "basic" leaves the derived
meld features out, "full" (default) has them, "candidates" also tells what each draw and each discard would do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_env.candidates import write_candidate_rows
from phase10_env.hand_worth import new_hand_scratch
from phase10_env.observation_fields import (
    CANDIDATE_FIELDS,
    CARD,
    COMMON_FIELDS,
    DERIVED_FIELDS,
    SEAT_FIELDS,
    STATE_COMMON_FIELDS,
    STATE_SEAT_FIELDS,
)
from phase10_env.observation_kernels import encode, encode_row, encode_states
from phase10_env.rules.cards import KIND_TEXTS, KINDS, NUMBERS, WILD
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import MAX_PLAYERS

__all__ = [
    "LEVELS",
    "Field",
    "Layout",
    "describe",
    "encode",
    "encode_row",
    "encode_state",
    "encode_states",
    "observation_layout",
    "observe",
    "state_layout",
    "write_candidates",
]

LEVELS = ("basic", "full", "candidates")
"""What an observation holds; each level begins with the one before it."""

# ---- layouts -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """One named slice of a tensor: where it is, how many entries, the scale that brings it near 0-1, its meaning."""

    name: str
    start: int
    size: int
    scale: float
    meaning: str

    @property
    def slice(self) -> slice:
        """Return the slice of the field."""
        return slice(self.start, self.start + self.size)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the field: (size,)."""
        return (self.size,)


@dataclass(frozen=True, slots=True)
class Layout:
    """The named fields of a flat tensor; fields of the seat r places to the left are named `seat_r.phase` etc."""

    fields: dict[str, Field]
    size: int

    @property
    def scale(self) -> npt.NDArray[np.float32]:
        """Return float32[D]: multiply an observation by it to bring every entry near 0-1."""
        out = np.ones(self.size, np.float32)
        for field in self.fields.values():
            out[field.slice] = field.scale
            if field.size == 2 and "two bytes" in field.meaning:
                out[field.start] = field.scale * 256
        return out

    def begins_with(self, other: Layout) -> bool:
        """Tell whether the first entries are those of another layout, as with a lower level.

        >>> observation_layout(2, "candidates").begins_with(observation_layout(2))
        True
        """
        return list(self.fields.values())[: len(other.fields)] == list(other.fields.values())

    @property
    def digest(self) -> str:
        """Return eight characters that change with any name, place or size of the layout."""
        import hashlib

        text = ";".join(f"{f.name}:{f.start}:{f.size}" for f in self.fields.values())
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def _collect(groups: Sequence[tuple[str, Sequence[tuple[str, int, float, str]]]]) -> Layout:
    fields: dict[str, Field] = {}
    end = 0
    for prefix, group in groups:
        for name, size, scale, meaning in group:
            fields[prefix + name] = Field(prefix + name, end, size, scale, meaning)
            end += size
    return Layout(fields, end)


@cache
def observation_layout(num_players: int = 2, level: str = "full", pad_seats: bool = False) -> Layout:
    """Return the layout of an observation.

    Args:
        num_players: 2-6.
        level: "basic", "full" (with the derived meld features) or "candidates" (also what each draw and each
            discard would do).
        pad_seats: lay out six seats whatever the number of players.

    >>> observation_layout(2).fields["hand"].slice
    slice(0, 50, None)
    >>> observation_layout(2, "basic").size < observation_layout(2).size
    True
    """
    check_level(level)
    seats = MAX_PLAYERS if pad_seats else num_players
    groups: list[tuple[str, Sequence[tuple[str, int, float, str]]]] = [("", COMMON_FIELDS)]
    groups += [(f"seat_{seat}.", SEAT_FIELDS) for seat in range(seats)]
    if level != "basic":
        groups.append(("", DERIVED_FIELDS))
    if level == "candidates":
        groups.append(("", CANDIDATE_FIELDS))
    return _collect(groups)


def check_level(level: str) -> None:
    """Refuse an unknown observation level."""
    if level not in LEVELS:
        raise ValueError(f"observation must be one of {', '.join(LEVELS)}, found {level!r}; use 'full'")


@cache
def state_layout(num_players: int = 2) -> Layout:
    """Return the layout of the privileged state (`encode_state`), seats relative to the seat to act.

    >>> state_layout(2).fields["seat_1.hand"].size
    50
    """
    groups: list[tuple[str, Sequence[tuple[str, int, float, str]]]] = [("", STATE_COMMON_FIELDS)]
    groups += [(f"seat_{seat}.", STATE_SEAT_FIELDS) for seat in range(num_players)]
    return _collect(groups)


# ---- one game, for people ----------------------------------------------------------------------------------


def observe(
    games: npt.NDArray[np.void], ruleset: RuleSet, seat: int, level: str = "full", pad_seats: bool = False
) -> npt.NDArray[np.uint8]:
    """Return the observation uint8[D] of a seat of one game (GAME[1]).

    >>> from phase10_env import Game
    >>> observe(Game(seed=1).state, Game(seed=1).ruleset, 0).dtype
    dtype('uint8')
    """
    num_players = int(games[0]["num_players"])
    layout = observation_layout(num_players, level, pad_seats)
    out = np.zeros((1, layout.size), np.uint8)
    seats = MAX_PLAYERS if pad_seats else num_players
    encode_row(games, ruleset.record, 0, seat, out, 0, seats, level != "basic")
    if level == "candidates" and seat == games[0]["to_act"]:
        write_candidates(games, ruleset, out, layout)
    return out.reshape(-1)


def write_candidates(
    games: npt.NDArray[np.void],
    ruleset: RuleSet,
    observations: npt.NDArray[np.uint8],
    layout: Layout,
    rows: npt.NDArray[np.int64] | None = None,
) -> None:
    """Write the candidate features of the seats to act into observations uint8[B, D], of some rows or all.

    Nothing is written where the layout has none.

    >>> from phase10_env import Game
    >>> game, layout = Game(seed=1), observation_layout(2, "candidates")
    >>> line = np.zeros((1, layout.size), np.uint8)
    >>> write_candidates(game.state, game.ruleset, line, layout)
    >>> int(line[0, layout.fields["gains"].slice].max()) > 0
    True
    """
    if "worth" not in layout.fields:
        return
    chosen = np.arange(len(games)) if rows is None else rows
    start = layout.fields["worth"].start
    write_candidate_rows(games, ruleset.record, observations, start, chosen, new_hand_scratch())


def encode_state(games: npt.NDArray[np.void], ruleset: RuleSet) -> npt.NDArray[np.uint8]:
    """Return the hidden rest of each game (GAME[B]) as uint8[B, D], for centralised critics only.

    All hands and the stock in order, seats relative to the seat to act (`state_layout`). It is never part of
    an observation.
    """
    num_players = int(games[0]["num_players"])
    out = np.zeros((len(games), state_layout(num_players).size), np.uint8)
    encode_states(games, ruleset.record, out)
    return out


def _card_text(values: npt.NDArray[np.uint8]) -> str:
    for kind, text in enumerate(KIND_TEXTS):
        code = np.zeros(CARD, np.uint8)
        if kind < WILD:
            code[kind % NUMBERS] = code[NUMBERS + kind // NUMBERS] = 1
        else:
            code[NUMBERS + 4 + kind - WILD] = 1
        if (values == code).all():
            return text
    return "none"


def describe(observation: npt.ArrayLike, layout: Layout | None = None) -> str:
    """Return an observation as text, one field a line; fields of zeros are left out.

    Args:
        observation: uint8[D].
        layout: where it came from, if not told by D (2-6 players, any level).

    >>> from phase10_env import Game
    >>> print(describe(Game(seed=3).observation(0)).splitlines()[0].split(":")[0])
    hand
    """
    values = np.asarray(observation)
    if layout is None:
        layout = _layout_of_size(values.shape[-1])
    lines = []
    for field in layout.fields.values():
        part = values[field.slice]
        if not part.any():
            continue
        lines.append(f"{field.name}: {_field_text(field, part)}  ({field.meaning})")
    return "\n".join(lines)


def _layout_of_size(size: int) -> Layout:
    for level in LEVELS:
        for num_players in range(2, MAX_PLAYERS + 1):
            layout = observation_layout(num_players, level)
            if layout.size == size:
                return layout
    raise ValueError(f"expected an observation of a known size, found {size} entries; pass its layout")


def _field_text(field: Field, part: npt.NDArray[Any]) -> str:
    if field.size in (KINDS, WILD, WILD + 1):
        return " ".join(
            KIND_TEXTS[kind] if count == 1 else f"{KIND_TEXTS[kind]}x{count}"
            for kind, count in enumerate(part)
            if count
        )
    if field.size == CARD:
        return _card_text(part)
    if field.size == 2 and "two bytes" in field.meaning:
        return str(int(part[0]) * 256 + int(part[1]))
    return " ".join(str(int(value)) for value in part)
