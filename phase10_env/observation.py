"""What a seat may know, as one uint8 vector with named slices (I4); and the hidden rest, for critics only.

An observation is `common | one block a seat | derived`. Seats are relative: block 0 is the observer, block r the
seat r places to the left. Every entry is a public fact or the observer's own hand; re-dealing the hidden cards
consistently leaves it unchanged, byte for byte. Levels: "basic" leaves the derived meld features out, "full"
(default) has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_env.distance import seat_outlook
from phase10_env.rules.cards import KIND_TEXTS, KINDS, NO_CARD, NUMBERS, SKIP, WILD
from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import can_take, is_open_phase
from phase10_env.rules.melds import hit_set
from phase10_env.rules.phases import (
    ADVANCE_PICK,
    COLOUR_GROUP,
    MAX_PHASES,
    NO_GROUP,
    PLACE_FRONT,
    RUN,
)
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import BUILD, MAX_PLAYERS, ONTO, OVER, PLAY, RECENT

__all__ = [
    "LEVELS",
    "Field",
    "Layout",
    "describe",
    "encode_state",
    "observation_layout",
    "observe",
    "state_layout",
]

LEVELS = ("basic", "full")

_CARD = NUMBERS + 6  # a card as number, colour, Wild, Skip: 12 + 4 + 1 + 1 places; no card = all zero

_COMMON: tuple[tuple[str, int, float, str], ...] = (
    ("hand", KINDS, 0.5, "own cards by kind"),
    ("hand_numbers", NUMBERS, 0.25, "own naturals by number"),
    ("hand_colours", 4, 0.2, "own naturals by colour"),
    ("stage", 4, 1.0, "draw, play, build or onto, one-hot"),
    ("build_phase", MAX_PHASES, 1.0, "phase being built, one-hot"),
    ("build_group", 2, 1.0, "group being filled, one-hot"),
    ("build_declared", 2 * 16, 1.0, "per group: number or low end (12) or colour (4) declared, one-hot"),
    ("build_left", 2, 0.2, "per group: cards still to be spelled"),
    ("build_cards", KINDS, 0.5, "cards spelled so far, by kind"),
    ("onto_card", _CARD, 1.0, "card waiting for its place: number (12), colour (4), Wild, Skip"),
    ("taken", _CARD, 1.0, "card taken from the pile this turn, likewise"),
    ("laid_this_turn", 1, 1.0, "1 in the turn of the own lay-down"),
    ("top", _CARD, 1.0, "top discard, likewise; all zero: the pile is empty"),
    ("under_top", _CARD, 1.0, "discard beneath the top, likewise"),
    ("pile", KINDS, 0.5, "discard pile since the last reshuffle, by kind"),
    ("table", KINDS, 0.5, "cards in melds, by kind"),
    ("unseen", KINDS, 0.5, "cards nobody has shown yet, by kind: stock and others' unknown cards"),
    ("stock_size", 1, 0.01, "cards in the stock"),
    ("round", 1, 0.05, "round of the game, 255 at most"),
    ("turn", 2, 0.02, "turns of this round so far (two bytes, high first)"),
    ("reshuffles", 1, 0.3, "reshuffles in this round"),
    ("tie_break", 1, 1.0, "1 in a tie-break round"),
    ("players", 5, 1.0, "number of players 2-6, one-hot"),
    ("rules_phases", MAX_PHASES, 1.0, "number of phases, one-hot"),
    ("rules_hand", 1, 0.1, "cards dealt"),
    ("rules_options", 17, 1.0, "advance 3, skip target 2, placement 2, hit after lay 2, go out 2, winner 2, tie break 3, allow return 1"),
)  # fmt: skip

_MELD = 3 + NUMBERS + 4 + NUMBERS + 1 + 2
_SEAT: tuple[tuple[str, int, float, str], ...] = (
    ("present", 1, 1.0, "1: there is such a player"),
    ("active", 1, 1.0, "1: takes part in this round"),
    ("dealer", 1, 1.0, "1: deals this round"),
    ("hand_size", 1, 0.1, "cards in hand"),
    ("phase", MAX_PHASES, 1.0, "phases the seat may lay in this round, as a set"),
    ("done", MAX_PHASES, 1.0, "phases finished in earlier rounds, as a set"),
    ("laid", 1, 1.0, "1: has laid down this round"),
    ("skipped", 1, 1.0, "1: a Skip is pending"),
    ("score", 2, 0.005, "penalty points (two bytes, high first)"),
    ("known", KINDS, 1.0, "cards known to be in the hand, taken from the pile, by kind"),
    ("recent", KINDS, 0.125, "last discards: 8 for the newest, 7 for the one before, ...; by kind"),
    ("refused", _CARD, 1.0, "last pile top that the seat could have taken and did not"),
    ("meld_0", _MELD, 1.0, "first meld: set, run, colour group (3); number or low end (12); colour (4); high end (12); size; low end open, high end open"),
    ("meld_1", _MELD, 1.0, "second meld, likewise"),
)  # fmt: skip

_DERIVED: tuple[tuple[str, int, float, str], ...] = (
    ("counts", 5 * NUMBERS, 1.0, "per number: at least 1, 2, 3, 4, 5 in hand"),
    ("missing", 10, 1.0, "cards missing for the nearest open phase, one-hot 0-9; all zero once laid"),
    ("keeps_distance", WILD, 1.0, "per kind held: discarding it leaves the cards missing unchanged"),
    ("top_helps", 2, 1.0, "the top discard lowers the cards missing; it could be hit"),
    ("hittable", WILD + 1, 1.0, "kinds that fit a meld now"),
    ("helps", NUMBERS, 1.0, "numbers of which a card would lower the cards missing"),
    ("next_known", 2 * NUMBERS, 1.0, "per number: the next player is known to hold one; two"),
    ("own_known", NUMBERS, 1.0, "per number: the others know that one is in this hand"),
    ("unseen_numbers", NUMBERS + 2, 0.125, "unseen cards by number, unseen Wilds, unseen Skips"),
    ("pile_numbers", NUMBERS, 0.125, "discard pile by number"),
)

_STATE_SEAT: tuple[tuple[str, int, float, str], ...] = (
    ("hand", KINDS, 0.5, "hand of the seat, by kind"),
    ("missing", 10, 1.0, "cards missing for its nearest open phase, one-hot 0-9"),
)
_NEXT_CARDS = 6
_STATE_COMMON: tuple[tuple[str, int, float, str], ...] = (
    ("stock", KINDS, 0.5, "the stock by kind"),
    ("next_cards", _NEXT_CARDS * _CARD, 1.0, "the next six cards of the stock, top first"),
    ("stock_order", 108, 0.02, "the whole stock, top first: kind + 1, 0 = no card"),
)


def _offsets(fields: Sequence[tuple[str, int, float, str]]) -> tuple[list[int], int]:
    places, end = [], 0
    for _, size, _, _ in fields:
        places.append(end)
        end += size
    return places, end


(
    (
        _HAND,
        _HAND_NUMBERS,
        _HAND_COLOURS,
        _STAGE,
        _BUILD_PHASE,
        _BUILD_GROUP,
        _BUILD_DECLARED,
        _BUILD_LEFT,
        _BUILD_CARDS,
        _ONTO_CARD,
        _TAKEN,
        _LAID_THIS_TURN,
        _TOP,
        _UNDER_TOP,
        _PILE,
        _TABLE,
        _UNSEEN,
        _STOCK_SIZE,
        _ROUND,
        _TURN,
        _RESHUFFLES,
        _TIE_BREAK,
        _PLAYERS,
        _RULES_PHASES,
        _RULES_HAND,
        _RULES_OPTIONS,
    ),
    COMMON_SIZE,
) = _offsets(_COMMON)
(
    (
        _PRESENT,
        _ACTIVE,
        _DEALER,
        _HAND_SIZE,
        _PHASE,
        _DONE,
        _LAID,
        _SKIPPED,
        _SCORE,
        _KNOWN,
        _RECENT,
        _REFUSED,
        _MELD_0,
        _MELD_1,
    ),
    SEAT_SIZE,
) = _offsets(_SEAT)
(
    (
        _COUNTS,
        _MISSING,
        _KEEPS,
        _TOP_HELPS,
        _HITTABLE,
        _HELPS,
        _NEXT_KNOWN,
        _OWN_KNOWN,
        _UNSEEN_NUMBERS,
        _PILE_NUMBERS,
    ),
    DERIVED_SIZE,
) = _offsets(_DERIVED)
(_STATE_HAND, _STATE_MISSING), STATE_SEAT_SIZE = _offsets(_STATE_SEAT)
(_STATE_STOCK, _STATE_NEXT, _STATE_ORDER), STATE_COMMON_SIZE = _offsets(_STATE_COMMON)


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
        level: "basic" or "full" (with the derived meld features).
        pad_seats: lay out six seats whatever the number of players.

    >>> observation_layout(2).fields["hand"].slice
    slice(0, 50, None)
    >>> observation_layout(2, "basic").size < observation_layout(2).size
    True
    """
    check_level(level)
    seats = MAX_PLAYERS if pad_seats else num_players
    groups: list[tuple[str, Sequence[tuple[str, int, float, str]]]] = [("", _COMMON)]
    groups += [(f"seat_{seat}.", _SEAT) for seat in range(seats)]
    if level == "full":
        groups.append(("", _DERIVED))
    return _collect(groups)


def check_level(level: str) -> None:
    """Refuse an unknown observation level."""
    if level not in LEVELS:
        raise ValueError(f"observation must be 'basic' or 'full', found {level!r}; use 'full'")


@cache
def state_layout(num_players: int = 2) -> Layout:
    """Return the layout of the privileged state (`encode_state`), seats relative to the seat to act.

    >>> state_layout(2).fields["seat_1.hand"].size
    50
    """
    groups: list[tuple[str, Sequence[tuple[str, int, float, str]]]] = [("", _STATE_COMMON)]
    groups += [(f"seat_{seat}.", _STATE_SEAT) for seat in range(num_players)]
    return _collect(groups)


# ---- kernels -----------------------------------------------------------------------------------------------


@kernel
def _write_card(out, row, start, kind):  # type: ignore[no-untyped-def]
    if kind < WILD:
        out[row, start + kind % NUMBERS] = 1
        out[row, start + NUMBERS + kind // NUMBERS] = 1
    elif kind != NO_CARD:
        out[row, start + NUMBERS + 4 + kind - WILD] = 1


@kernel
def _write_common(game, rules, seat, out, row):  # type: ignore[no-untyped-def]
    numbers = game.numbers[seat]
    colours = game.colours[seat]
    for kind in range(KINDS):
        out[row, _HAND + kind] = game.hands[seat, kind]
        out[row, _PILE + kind] = game.pile_counts[kind]
        out[row, _TABLE + kind] = game.table_counts[kind]
    for number in range(NUMBERS):
        out[row, _HAND_NUMBERS + number] = (numbers >> (4 * number)) & 15
    for colour in range(4):
        out[row, _HAND_COLOURS + colour] = (colours >> (8 * colour)) & 255
    if game.stage != OVER:
        # the others see a lay-down or a hit only when it is complete
        stage = game.stage if game.to_act == seat else min(game.stage, PLAY)
        out[row, _STAGE + stage] = 1
    if game.discard_size > 0:
        _write_card(out, row, _TOP, game.discard[game.discard_size - 1])
    if game.discard_size > 1:
        _write_card(out, row, _UNDER_TOP, game.discard[game.discard_size - 2])
    if game.to_act == seat:
        _write_card(out, row, _TAKEN, game.taken)
        out[row, _LAID_THIS_TURN] = game.laid_this_turn
        if game.stage == BUILD:
            _write_building(game, rules, out, row)
        elif game.stage == ONTO:
            _write_card(out, row, _ONTO_CARD, game.onto_card)
    out[row, _STOCK_SIZE] = game.stock_size
    out[row, _ROUND] = min(game.round, 255)
    out[row, _TURN] = game.turn >> 8
    out[row, _TURN + 1] = game.turn & 255
    out[row, _RESHUFFLES] = min(game.reshuffles, 255)
    out[row, _TIE_BREAK] = game.tie_break
    out[row, _PLAYERS + game.num_players - 2] = 1


@kernel
def _write_rules(rules, out, row):  # type: ignore[no-untyped-def]
    out[row, _RULES_PHASES + rules.num_phases - 1] = 1
    out[row, _RULES_HAND] = rules.hand_size
    out[row, _RULES_OPTIONS + rules.advance] = 1
    out[row, _RULES_OPTIONS + 3 + rules.skip_target] = 1
    out[row, _RULES_OPTIONS + 5 + rules.skip_placement] = 1
    out[row, _RULES_OPTIONS + 7 + rules.hit_after_lay] = 1
    out[row, _RULES_OPTIONS + 9 + rules.go_out] = 1
    out[row, _RULES_OPTIONS + 11 + rules.winner] = 1
    out[row, _RULES_OPTIONS + 13 + rules.tie_break] = 1
    out[row, _RULES_OPTIONS + 16] = rules.allow_return


@kernel
def _write_building(game, rules, out, row):  # type: ignore[no-untyped-def]
    out[row, _BUILD_PHASE + game.build_phase] = 1
    in_hand = 2
    for group in range(1, -1, -1):
        kind = rules.group_kinds[game.build_phase, group]
        if kind == NO_GROUP:
            continue
        left = rules.group_sizes[game.build_phase, group] - game.placed_sizes[group]
        if left > 0:
            in_hand = group
        out[row, _BUILD_LEFT + group] = left
        declared = game.declared[group]
        if declared > 0:
            place = 11 + declared if kind == COLOUR_GROUP else declared - 1
            out[row, _BUILD_DECLARED + 16 * group + place] = 1
        for place in range(game.placed_sizes[group]):
            out[row, _BUILD_CARDS + game.placed[group, place]] += 1
    if in_hand < 2:
        out[row, _BUILD_GROUP + in_hand] = 1


@kernel
def _write_unseen(game, rules, seat, out, row):  # type: ignore[no-untyped-def]
    for kind in range(KINDS):
        out[row, _UNSEEN + kind] = (
            rules.deck_counts[kind]
            - game.hands[seat, kind]
            - game.pile_counts[kind]
            - game.table_counts[kind]
        )
    for other in range(game.num_players):
        if other != seat:
            for kind in range(KINDS):
                out[row, _UNSEEN + kind] -= game.known[other, kind]
            if game.skipped[other] and rules.skip_placement == PLACE_FRONT:
                out[row, _UNSEEN + SKIP] -= 1
    if game.skipped[seat] and rules.skip_placement == PLACE_FRONT:
        out[row, _UNSEEN + SKIP] -= 1


@kernel
def _write_meld(game, meld, out, row, start):  # type: ignore[no-untyped-def]
    kind = game.meld_kind[meld]
    if kind == NO_GROUP:
        return
    out[row, start + kind - 1] = 1
    value = game.meld_value[meld]
    if kind == COLOUR_GROUP:
        out[row, start + 3 + NUMBERS + value] = 1
    else:
        out[row, start + 3 + value - 1] = 1
    if kind == RUN:
        high = game.meld_high[meld]
        out[row, start + 3 + NUMBERS + 4 + high - 1] = 1
        out[row, start + _MELD - 2] = value > 1
        out[row, start + _MELD - 1] = high < NUMBERS
    out[row, start + _MELD - 3] = game.meld_size[meld]


@kernel
def _write_seat(game, rules, seat, out, row, start):  # type: ignore[no-untyped-def]
    out[row, start + _PRESENT] = 1
    out[row, start + _ACTIVE] = game.active[seat]
    out[row, start + _DEALER] = game.dealer == seat
    out[row, start + _HAND_SIZE] = game.hand_sizes[seat]
    if rules.advance == ADVANCE_PICK:
        for phase in range(rules.num_phases):
            out[row, start + _PHASE + phase] = is_open_phase(game, rules, seat, phase)
            out[row, start + _DONE + phase] = (game.done[seat] >> phase) & 1
    else:
        if game.phase[seat] < MAX_PHASES:
            out[row, start + _PHASE + game.phase[seat]] = 1
        for phase in range(min(game.phase[seat], MAX_PHASES)):
            out[row, start + _DONE + phase] = 1
    out[row, start + _LAID] = game.laid[seat]
    out[row, start + _SKIPPED] = game.skipped[seat]
    score = min(game.score[seat], 65535)
    out[row, start + _SCORE] = score >> 8
    out[row, start + _SCORE + 1] = score & 255
    for kind in range(KINDS):
        out[row, start + _KNOWN + kind] = game.known[seat, kind]
    for place in range(RECENT - 1, -1, -1):
        kind = game.recent[seat, place]
        if kind != NO_CARD:
            out[row, start + _RECENT + kind] = RECENT - place
    _write_card(out, row, start + _REFUSED, game.refused[seat])
    if game.laid[seat]:
        _write_meld(game, 2 * seat, out, row, start + _MELD_0)
        _write_meld(game, 2 * seat + 1, out, row, start + _MELD_1)


@kernel
def _write_derived(game, rules, seat, out, row, start):  # type: ignore[no-untyped-def]
    numbers = game.numbers[seat]
    for number in range(NUMBERS):
        count = (numbers >> (4 * number)) & 15
        for level in range(5):
            out[row, start + _COUNTS + 5 * number + level] = count > level
    hits = hit_set(game, rules)
    for kind in range(WILD + 1):
        out[row, start + _HITTABLE + kind] = (hits >> kind) & 1
    wanted = 0
    if not game.laid[seat] and game.active[seat]:
        _, missing, wanted, needed = seat_outlook(game, rules, seat)
        out[row, start + _MISSING + min(missing, 9)] = 1
        for kind in range(WILD):
            out[row, start + _KEEPS + kind] = (game.held[seat] & ~needed) >> kind & 1
        for number in range(NUMBERS):
            out[row, start + _HELPS + number] = (
                wanted >> number | wanted >> (number + 12) | wanted >> (number + 24) | wanted >> (number + 36)
            ) & 1
    else:
        for kind in range(WILD):
            out[row, start + _KEEPS + kind] = (game.held[seat] >> kind) & 1
    if can_take(game):
        top = game.discard[game.discard_size - 1]
        out[row, start + _TOP_HELPS] = (wanted >> top) & 1
        out[row, start + _TOP_HELPS + 1] = (hits >> top) & 1 if game.laid[seat] else 0
    following = (seat + 1) % game.num_players
    for number in range(NUMBERS):
        known = 0
        own = 0
        unseen = 0
        pile = 0
        for kind in range(number, WILD, NUMBERS):
            known += game.known[following, kind]
            own += game.known[seat, kind]
            unseen += out[row, _UNSEEN + kind]
            pile += game.pile_counts[kind]
        out[row, start + _NEXT_KNOWN + number] = known > 0
        out[row, start + _NEXT_KNOWN + NUMBERS + number] = known > 1
        out[row, start + _OWN_KNOWN + number] = own > 0
        out[row, start + _UNSEEN_NUMBERS + number] = unseen
        out[row, start + _PILE_NUMBERS + number] = pile
    out[row, start + _UNSEEN_NUMBERS + NUMBERS] = out[row, _UNSEEN + WILD]
    out[row, start + _UNSEEN_NUMBERS + NUMBERS + 1] = out[row, _UNSEEN + SKIP]


@kernel
def encode(game, rules, seat, out, row, seats, full):  # type: ignore[no-untyped-def]
    """Write the observation of a seat into out[row] (uint8[.., D]); `seats` blocks are laid out."""
    for place in range(out.shape[1]):
        out[row, place] = 0
    _write_common(game, rules, seat, out, row)
    _write_rules(rules, out, row)
    _write_unseen(game, rules, seat, out, row)
    for distance in range(game.num_players):
        other = seat + distance
        if other >= game.num_players:
            other -= game.num_players
        _write_seat(game, rules, other, out, row, COMMON_SIZE + distance * SEAT_SIZE)
    if full:
        _write_derived(game, rules, seat, out, row, COMMON_SIZE + seats * SEAT_SIZE)


@kernel
def encode_row(games, rules, index, seat, out, row, seats, full):  # type: ignore[no-untyped-def]
    """Write the observation of a seat of games[index] into out[row]."""
    encode(games[index], rules[0], seat, out, row, seats, full)


@kernel
def encode_states(games, rules, out):  # type: ignore[no-untyped-def]
    """Write the privileged state of every game, seen from its seat to act, into out uint8[B, D]."""
    for row in range(len(games)):
        game = games[row]
        for place in range(out.shape[1]):
            out[row, place] = 0
        for place in range(game.stock_size):
            kind = game.stock[game.stock_size - 1 - place]
            out[row, _STATE_STOCK + kind] += 1
            out[row, _STATE_ORDER + place] = kind + 1
            if place < _NEXT_CARDS:
                _write_card(out, row, _STATE_NEXT + place * _CARD, kind)
        for distance in range(game.num_players):
            seat = (game.to_act + distance) % game.num_players
            start = STATE_COMMON_SIZE + distance * STATE_SEAT_SIZE
            for kind in range(KINDS):
                out[row, start + _STATE_HAND + kind] = game.hands[seat, kind]
            if game.active[seat] and not game.laid[seat]:
                _, missing, _, _ = seat_outlook(game, rules[0], seat)
                out[row, start + _STATE_MISSING + min(missing, 9)] = 1


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
    encode_row(games, ruleset.record, 0, seat, out, 0, seats, level == "full")
    return out.reshape(-1)


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
        code = np.zeros(_CARD, np.uint8)
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
        layout: where it came from, if not told by D (2-6 players, "full" or "basic").

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
    if field.size == _CARD:
        return _card_text(part)
    if field.size == 2 and "two bytes" in field.meaning:
        return str(int(part[0]) * 256 + int(part[1]))
    return " ".join(str(int(value)) for value in part)
