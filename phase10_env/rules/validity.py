"""What makes a ruleset impossible (R37): reads phases and decks, and finds every problem at once.

A phase is a tuple of one or two groups (kind, size); a deck is 50 copies by kind of card. Every problem is
one sentence that names the field, what was found and what would do.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from phase10_env.rules.cards import COLOUR_LETTERS, COLOURS, KIND_TEXTS, KINDS, NUMBERS, STANDARD_DECK, WILD
from phase10_env.rules.phases import GROUP_KINDS, MAX_PHASES, OPTION_VALUES
from phase10_env.rules.state import MAX_DECK, MAX_HAND, MAX_PLAYERS, MELD_CARDS

__all__ = [
    "Deck",
    "Group",
    "Phase",
    "RuleSetError",
    "checked",
    "nearest",
    "phase_text",
    "shown",
    "wilds_needed",
]

Group = tuple[str, int]
Phase = tuple[Group, ...]
Deck = tuple[int, ...]

MOST_OF_A_NUMBER = 15
"""Naturals of one number in a deck: hands count them in four bits."""

LARGEST_CAP = 10_000
"""Most turns or rounds that a cap may allow: both counters hold them with room to spare."""

_KINDS_OF_GROUP = GROUP_KINDS[1:]
_GROUP_TEXT = re.compile(r"\s*([^\W\d]+)\s*([0-9]{1,4})\s*")
_NAME = re.compile(r"\w[\w.-]{0,63}")
_DECK_KEYS = ("numbers", "colours", "copies", "wilds", "skips")
_NUMBER_RANGE = re.compile(r"\s*([0-9]{1,2})(?:\s*-\s*([0-9]{1,2}))?\s*")


class RuleSetError(ValueError):
    """A ruleset that cannot be played, or not by so many players (R37)."""

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems, one sentence each."""
        return self.args

    def __str__(self) -> str:
        return "\n".join(self.args)


def shown(value: object) -> str:
    """Return a value as a message shows it: its repr, cut to 60 characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits has no repr
        return "a value too large to show"
    return text if len(text) <= 60 else f"{text[:57]}..."


def nearest(value: object, choices: Iterable[str]) -> str:
    """Return `; the nearest is 'x'` for the choice most like a value, or nothing where none is.

    >>> nearest("nxt", ["choose", "next"])
    "; the nearest is 'next'"
    """
    if not isinstance(value, str):
        return ""
    by_text = {choice.lower(): choice for choice in choices}
    found = difflib.get_close_matches(value[:100].lower(), by_text, n=1, cutoff=0.5)
    return f"; the nearest is '{by_text[found[0]]}'" if found else ""


def phase_text(phase: Sequence[Group]) -> str:
    """Return a phase as text.

    >>> phase_text((("set", 3), ("run", 4)))
    'set 3 + run 4'
    """
    return " + ".join(f"{kind} {size}" for kind, size in phase)


def _integer(value: object) -> int | None:
    """Return a value as an int where it is a whole number and not a bool."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # the TypeError is the answer
    except TypeError:
        return None


# ---------------------------------------------------------------- phases


def _read_group(where: str, value: object, problems: list[str]) -> Group | None:
    """Return one group from `"set 3"` or `("set", 3)`; say what is wrong with it."""
    kind: object
    size: int | None
    if isinstance(value, str) and (match := _GROUP_TEXT.fullmatch(value)):
        kind, size = match[1].lower(), int(match[2])
    elif isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[0], str):
        kind, size = value[0].strip().lower(), _integer(value[1])
    else:
        kind, size = value, None
    if kind not in _KINDS_OF_GROUP or size is None:
        hint = "" if kind in _KINDS_OF_GROUP else nearest(kind, _KINDS_OF_GROUP)
        problems.append(f"{where}: {shown(value)} is no group; expected 'set N', 'run N' or 'colour N'{hint}")
        return None
    low, high = (2, NUMBERS) if kind == "run" else (1, MAX_HAND + 1)
    if not low <= size <= high:
        problems.append(f"{where}: a {kind} of {size} is impossible; expected a size from {low} to {high}")
        return None
    return str(kind), size


def _read_phase(where: str, value: object, problems: list[str]) -> Phase | None:
    """Return one phase from `"set 3 + run 4"` or a sequence of groups; say what is wrong with it."""
    parts: Sequence[object]
    if isinstance(value, str):
        parts = value.split("+")
    elif isinstance(value, (list, tuple)):
        parts = value
    else:
        problems.append(
            f"{where} is {shown(value)}: expected text such as 'set 3 + run 4' or a list of groups"
        )
        return None
    if not 1 <= len(parts) <= 2:
        problems.append(f"{where} is {shown(value)}, {len(parts)} groups: expected one group or two")
        return None
    groups = [_read_group(where, part, problems) for part in parts]
    phase = tuple(group for group in groups if group is not None)
    if len(phase) < len(groups):
        return None
    if [kind for kind, _ in phase] == ["colour", "colour"]:
        problems.append(f"{where} is '{phase_text(phase)}': expected at most one colour group in a phase")
        return None
    return phase


def _read_phases(value: object, problems: list[str]) -> tuple[Phase, ...] | None:
    """Return the phase list (R36), or None where a phase of it cannot be read."""
    if not isinstance(value, (list, tuple)):
        problems.append(
            f"phases is {shown(value)}: expected a list of phases such as ['set 3 + run 4', 'colour 7']"
        )
        return None
    if not 1 <= len(value) <= MAX_PHASES:
        problems.append(f"phases has {len(value)} entries: expected 1 to {MAX_PHASES} phases (R36)")
        return None
    phases = [_read_phase(f"phases, phase {k}", phase, problems) for k, phase in enumerate(value, 1)]
    whole = tuple(phase for phase in phases if phase is not None)
    return whole if len(whole) == len(phases) else None


# ---------------------------------------------------------------- decks


def _read_numbers(value: object, problems: list[str]) -> list[int]:
    """Return the numbers of a deck from `"1-9"` or a list."""
    if isinstance(value, str) and (match := _NUMBER_RANGE.fullmatch(value)):
        numbers: list[int | None] = list(range(int(match[1]), int(match[2] or match[1]) + 1))
    elif isinstance(value, (list, tuple)):
        numbers = [_integer(number) for number in value]
    else:
        numbers = []
    good = sorted({number for number in numbers if number is not None and 1 <= number <= NUMBERS})
    if not good or len(good) != len(numbers):
        problems.append(
            f"deck, numbers is {shown(value)}: expected a range such as '1-9' or a list of different "
            f"numbers, from 1 to {NUMBERS}"
        )
    return good


def _read_colours(value: object, problems: list[str]) -> str:
    """Return the colour letters of a deck, in the order of the kinds."""
    letters = value.upper() if isinstance(value, str) else ""
    good = "".join(letter for letter in COLOUR_LETTERS if letter in letters)
    if not good or len(good) != len(letters):
        problems.append(
            f"deck, colours is {shown(value)}: expected different letters of {COLOUR_LETTERS}, as in 'RB'"
        )
    return good


def _read_copies(field: str, value: object, problems: list[str]) -> int:
    copies = _integer(value)
    if copies is None or not 0 <= copies <= MAX_DECK:
        problems.append(f"{field} is {shown(value)}: expected a whole number of cards from 0 to {MAX_DECK}")
        return 0
    return copies


def _regular_deck(table: Mapping[str, Any], problems: list[str]) -> Deck:
    """Return the deck of a table with the keys numbers, colours, copies, wilds, skips (R2 where absent)."""
    numbers = _read_numbers(table.get("numbers", f"1-{NUMBERS}"), problems)
    letters = _read_colours(table.get("colours", COLOUR_LETTERS), problems)
    copies = _read_copies("deck, copies", table.get("copies", 2), problems)
    wilds = _read_copies("deck, wilds", table.get("wilds", int(STANDARD_DECK[WILD])), problems)
    skips = _read_copies("deck, skips", table.get("skips", int(STANDARD_DECK[WILD + 1])), problems)
    naturals = [
        copies if number in numbers and letter in letters else 0
        for letter in COLOUR_LETTERS
        for number in range(1, NUMBERS + 1)
    ]
    return (*naturals, wilds, skips)


def _read_deck(value: object, problems: list[str]) -> Deck | None:
    """Return the copies of each kind from 50 copies, a table of kinds or a table of properties."""
    before = len(problems)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        keys = set(value)
        problems.extend(
            f"deck has the unknown key {shown(key)}: expected kinds of card such as R1, W, S, or else "
            f"{', '.join(_DECK_KEYS)}{nearest(key, (*KIND_TEXTS, *_DECK_KEYS))}"
            for key in value
            if key not in (*KIND_TEXTS, *_DECK_KEYS)
        )
        if keys & set(KIND_TEXTS) and keys & set(_DECK_KEYS):
            problems.append(
                f"deck mixes kinds of card with {', '.join(k for k in _DECK_KEYS if k in keys)}: "
                "expected the one or the other"
            )
        if len(problems) > before:
            return None
        if keys & set(KIND_TEXTS):
            deck = tuple(_read_copies(f"deck, {text}", value.get(text, 0), problems) for text in KIND_TEXTS)
        else:
            deck = _regular_deck(value, problems)
    elif isinstance(value, (list, tuple)) and len(value) == KINDS:
        deck = tuple(
            _read_copies(f"deck, {text}", copies, problems)
            for text, copies in zip(KIND_TEXTS, value, strict=True)
        )
    else:
        found = f"a list of {len(value)}" if isinstance(value, (list, tuple)) else shown(value)
        problems.append(
            f"deck is {found}: expected {KINDS} numbers of copies, a table of kinds such as "
            "{R1 = 2, W = 8}, or a table such as {numbers = '1-9', copies = 2}"
        )
        return None
    return deck if len(problems) == before else None


def _check_deck(deck: Deck, hand_size: int | None, problems: list[str]) -> None:
    """Find what keeps a deck from fitting the game record or the smallest game."""
    total, wilds = sum(deck), deck[WILD]
    by_number = [sum(deck[n:WILD:NUMBERS]) for n in range(NUMBERS)]
    by_colour = [sum(deck[c * NUMBERS : (c + 1) * NUMBERS]) for c in range(COLOURS)]
    number, colour = int(np.argmax(by_number)), int(np.argmax(by_colour))
    if total > MAX_DECK:
        problems.append(f"deck has {total} cards: expected at most {MAX_DECK}; lower the copies")
    if by_number[number] > MOST_OF_A_NUMBER:
        problems.append(
            f"deck has {by_number[number]} cards with number {number + 1}: expected at most "
            f"{MOST_OF_A_NUMBER} of one number; lower the copies or take fewer colours"
        )
    elif by_number[number] + wilds > MELD_CARDS:
        problems.append(
            f"deck has {by_number[number]} cards with number {number + 1} and {wilds} Wilds: expected at "
            f"most {MELD_CARDS} together, the most a meld can hold; lower the copies"
        )
    if by_colour[colour] + wilds > MELD_CARDS:
        problems.append(
            f"deck has {by_colour[colour]} cards of colour {COLOUR_LETTERS[colour]} and {wilds} Wilds: "
            f"expected at most {MELD_CARDS} together, the most a meld can hold; lower the copies"
        )
    if hand_size is not None and total < 2 * hand_size + 2:
        problems.append(
            f"deck has {total} cards: two players with hand_size {hand_size} need at least "
            f"{2 * hand_size + 2}; add cards or deal fewer"
        )


def _check_dealer(dealer: int | None, deck: Deck, hand_size: int | None, problems: list[str]) -> None:
    """Find a first dealer in a seat that no game with this deck can have (R4)."""
    if dealer is None or hand_size is None:
        return
    needed = (dealer + 1) * hand_size + 2
    if sum(deck) < needed and dealer > 1:
        problems.append(
            f"dealer is {dealer}, which takes {dealer + 1} players and at least {needed} cards: the deck has "
            f"{sum(deck)}; expected a lower seat or a larger deck"
        )


# ---------------------------------------------------------------- can a hand hold a phase?


def _declarations(group: Group) -> list[list[list[int]]]:
    """Return every declaration of a group: the kinds that may fill each of its places."""
    kind, size = group
    if kind == "colour":
        return [[list(range(c * NUMBERS, (c + 1) * NUMBERS))] * size for c in range(COLOURS)]
    by_number = [list(range(n, WILD, NUMBERS)) for n in range(NUMBERS)]
    if kind == "set":
        return [[by_number[n]] * size for n in range(NUMBERS)]
    return [by_number[low : low + size] for low in range(NUMBERS - size + 1)]


def _naturals_placed(places: Sequence[Sequence[int]], deck: Deck) -> int:
    """Return the most places that natural cards of a deck can fill at once (augmenting paths)."""
    holders: dict[int, list[int]] = {}

    def place(index: int, seen: set[int]) -> bool:
        for kind in places[index]:
            if kind in seen or not deck[kind]:
                continue
            seen.add(kind)
            held = holders.setdefault(kind, [])
            if len(held) < deck[kind]:
                held.append(index)
                return True
            for position, other in enumerate(held):
                if place(other, seen):
                    held[position] = index
                    return True
        return False

    return sum(place(index, set()) for index in range(len(places)))


@lru_cache(maxsize=1024)
def wilds_needed(phase: Phase, deck: Deck, naturals: str) -> int | None:
    """Return the fewest Wilds with which the cards of a deck make up a phase (R14, R18).

    Args:
        phase: one or two groups.
        deck: copies of each kind, 50 numbers.
        naturals: `"group"` or `"phase"`, where at least one natural is asked for.

    Returns:
        The number of Wilds, more than the deck may hold; None if no natural can be where one must be.

    >>> wilds_needed((("run", 4),), (2, 0, 2) + (0,) * 45 + (8, 4), "group")
    2
    """
    best: int | None = None
    firsts, seconds = _declarations(phase[0]), _declarations(phase[1]) if len(phase) == 2 else [[]]
    for first in firsts:
        for second in seconds:
            # A place that a natural can fill stays filled in some largest filling (transversal matroid), so
            # the naturals asked for cost no further Wild.
            asked = [
                sorted({kind for place in group for kind in place}) for group in (first, second) if group
            ]
            if naturals == "phase":
                asked = [sorted({kind for group in asked for kind in group})]
            if _naturals_placed(asked, deck) < len(asked):
                continue
            places = [*first, *second]
            need = len(places) - _naturals_placed(places, deck)
            if need == 0:
                return 0
            best = need if best is None else min(best, need)
    return best


def _check_holdable(phases: Sequence[Phase], deck: Deck, naturals: str, problems: list[str]) -> None:
    for k, phase in enumerate(phases, 1):
        need = wilds_needed(phase, deck, naturals)
        where = f"phases, phase {k} is '{phase_text(phase)}'"
        if need is None:
            place = "each group" if naturals == "group" and len(phase) == 2 else "it"
            problems.append(
                f"{where}: no hand of this deck can have a natural card in {place}; add numbers to deck"
            )
        elif need > deck[WILD]:
            problems.append(
                f"{where}: with this deck it takes at least {need} Wilds and there are {deck[WILD]}; make "
                "the phase smaller or add cards to deck"
            )


def _check_sizes(phases: Sequence[Phase], hand_size: int, go_out: object, problems: list[str]) -> None:
    """Find phases that take more cards than a hand can lay down (R28)."""
    most = hand_size if go_out == "discard" else hand_size + 1
    why = "one card must be left to discard (go_out)" if go_out == "discard" else f"hand_size is {hand_size}"
    for k, phase in enumerate(phases, 1):
        total = sum(size for _, size in phase)
        if total > most:
            problems.append(
                f"phases, phase {k} is '{phase_text(phase)}', {total} cards: expected at most {most}, as "
                f"{why}; make the phase smaller or hand_size larger"
            )


# ---------------------------------------------------------------- all of it


def _read_number(field: str, value: object, low: int, high: int, problems: list[str]) -> int | None:
    number = _integer(value)
    if number is None or not low <= number <= high:
        problems.append(f"{field} is {shown(value)}: expected a whole number from {low} to {high}")
        return None
    return number


def _read_option(field: str, value: object, choices: Collection[str], problems: list[str]) -> str | None:
    if isinstance(value, str) and value in choices:
        return str(value)
    expected = ", ".join(f"'{choice}'" for choice in choices)
    problems.append(f"{field} is {shown(value)}: expected one of {expected}{nearest(value, choices)}")
    return None


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a ruleset in their normal form.

    Args:
        values: every field of `RuleSet` by name.

    Raises:
        RuleSetError: with every problem found (R37).
    """
    problems: list[str] = []
    good: dict[str, Any] = {}
    name = values["name"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        problems.append(
            f"name is {shown(name)}: expected 1 to 64 letters, digits, dots, dashes or underscores, "
            "the first a letter or digit"
        )
    good["name"] = str(name)
    good["phases"] = _read_phases(values["phases"], problems)
    for field, choices in OPTION_VALUES.items():
        good[field] = _read_option(field, values[field], choices, problems)
    if not isinstance(values["allow_return"], (bool, np.bool_)):
        problems.append(f"allow_return is {shown(values['allow_return'])}: expected true or false")
    good["allow_return"] = bool(values["allow_return"])
    good["hand_size"] = _read_number("hand_size", values["hand_size"], 1, MAX_HAND, problems)
    good["deck"] = _read_deck(values["deck"], problems)
    good["dealer"] = None
    if values["dealer"] is not None:
        good["dealer"] = _read_number("dealer", values["dealer"], 0, MAX_PLAYERS - 1, problems)
    for field in ("max_turns", "max_rounds"):
        good[field] = _read_number(field, values[field], 1, LARGEST_CAP, problems)

    if good["winner"] == "went_out" and good["advance"] not in ("completed", None):
        problems.append(
            f"winner is 'went_out' with advance '{good['advance']}': expected advance 'completed', or else "
            "winner 'completed' (R31)"
        )
    if good["phases"] is not None and good["hand_size"] is not None:
        _check_sizes(good["phases"], good["hand_size"], good["go_out"], problems)
    if good["deck"] is not None:
        _check_deck(good["deck"], good["hand_size"], problems)
        _check_dealer(good["dealer"], good["deck"], good["hand_size"], problems)
        if good["phases"] is not None and good["naturals"] is not None:
            _check_holdable(good["phases"], good["deck"], good["naturals"], problems)
    if problems:
        raise RuleSetError(*problems)
    return good
