"""Every legal spelling of a lay-down, by straight enumeration: the definition the engine is held to.

A spelling is, for each group in order, its declaration and then its cards (R14–R16, R18).
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from .cards import COLOURS, SKIP, WILD, action_index, in_kind_order, is_natural, number_of, points_of
from .rules import Group, Phase, Rules


@dataclass(frozen=True)
class LaidGroup:
    """Hold one group of a lay-down: kind, declared value (number, low end or colour) and cards in order."""

    kind: str
    value: int | str
    cards: tuple[str, ...]

    @property
    def declaration(self) -> str:
        """Return the action text that declares the group."""
        return f"colour {self.value}" if self.kind == "colour" else f"number {self.value}"


@dataclass(frozen=True)
class Spelling:
    """Hold one way to lay a phase down, group by group."""

    groups: tuple[LaidGroup, ...]

    @cached_property
    def cards(self) -> tuple[str, ...]:
        """Return all cards laid, in the order they are spelled."""
        return tuple(card for group in self.groups for card in group.cards)

    @cached_property
    def declarations(self) -> tuple[str, ...]:
        """Return the declaring action of each group."""
        return tuple(group.declaration for group in self.groups)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Return the whole spelling as action texts."""
        return tuple(
            text
            for group in self.groups
            for text in (group.declaration, *(f"play {card}" for card in group.cards))
        )

    @cached_property
    def preference(self) -> tuple[int, int, tuple[int, ...]]:
        """Return the key whose minimum `lay K` takes: fewest Wilds, most points, first in action order."""
        wilds = self.cards.count(WILD)
        points = sum(points_of(card) for card in self.cards)
        return wilds, -points, tuple(action_index(text) for text in self.symbols)


def spellings(hand: Sequence[str], phase: Phase, rules: Rules) -> tuple[Spelling, ...]:
    """Return every legal spelling of a phase from a hand (R14–R16, R18), each once.

    `hand` is any sequence of cards; `phase` a tuple of (kind, size) groups.

    >>> [s.symbols for s in spellings(["R3", "W", "B3"], (("set", 2),), Rules())][:2]
    [('number 3', 'play R3', 'play B3'), ('number 3', 'play R3', 'play W')]
    """
    return _spellings(tuple(in_kind_order(card for card in hand if card != SKIP)), phase, rules.naturals)


@lru_cache(maxsize=4096)
def _spellings(hand: tuple[str, ...], phase: Phase, naturals: str) -> tuple[Spelling, ...]:
    found = [
        Spelling(groups)
        for groups in _choices_in_turn(hand, phase)
        if _enough_naturals(groups, naturals) and _like_groups_ascend(groups)
    ]
    return tuple(sorted(found, key=lambda spelling: spelling.preference))


def _choices_in_turn(hand: tuple[str, ...], phase: Phase) -> Iterator[tuple[LaidGroup, ...]]:
    if not phase:
        yield ()
        return
    for first in _group_choices(hand, phase[0]):
        left = list(hand)
        for card in first.cards:
            left.remove(card)
        for rest in _choices_in_turn(tuple(left), phase[1:]):
            yield (first, *rest)


def _enough_naturals(groups: tuple[LaidGroup, ...], naturals: str) -> bool:
    """Tell whether each group, or the phase as a whole, holds a natural card (R18)."""
    per_group = [any(map(is_natural, group.cards)) for group in groups]
    return all(per_group) if naturals == "group" else any(per_group)


def _like_groups_ascend(groups: tuple[LaidGroup, ...]) -> bool:
    """Tell whether of two groups of one kind and size the second's value is not below the first's."""
    return all(
        _value_order(later) >= _value_order(earlier)
        for earlier, later in itertools.pairwise(groups)
        if (earlier.kind, len(earlier.cards)) == (later.kind, len(later.cards))
    )


def _value_order(group: LaidGroup) -> int:
    return COLOURS.index(group.value) if isinstance(group.value, str) else group.value


@lru_cache(maxsize=4096)
def _group_choices(hand: tuple[str, ...], group: Group) -> tuple[LaidGroup, ...]:
    """Return every declaration and choice of cards for one group, all-Wild ones included."""
    kind, size = group
    if kind == "run":
        return tuple(
            LaidGroup("run", low, cards)
            for low in range(1, 14 - size)
            for cards in _run_cards(hand, low, size)
        )
    values: list[int | str] = list(range(1, 13)) if kind == "set" else list(COLOURS)
    return tuple(
        LaidGroup(kind, value, cards)
        for value in values
        for cards in sorted(set(itertools.combinations(_fitting(hand, value), size)))
    )


def _fitting(hand: tuple[str, ...], value: int | str) -> list[str]:
    """Return the cards of a number or colour and the Wilds, ascending by kind with the Wilds last."""
    return [
        card
        for card in hand
        if card == WILD or (number_of(card) == value if isinstance(value, int) else card[0] == value)
    ]


def _run_cards(hand: tuple[str, ...], low: int, size: int) -> list[tuple[str, ...]]:
    """Return every sequence for the numbers low … low + size − 1: a natural or a Wild at each."""
    wilds = hand.count(WILD)
    places = [
        {card for card in hand if is_natural(card) and number_of(card) == number}
        for number in range(low, low + size)
    ]
    if sum(not naturals for naturals in places) > wilds:
        return []
    return [
        cards
        for cards in itertools.product(*(sorted(naturals | {WILD}) for naturals in places))
        if Counter(cards)[WILD] <= wilds
    ]
