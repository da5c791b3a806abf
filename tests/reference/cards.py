"""The cards and the table of 165 actions of the reference model, as text.

Cards are texts (`R1` … `Y12`, `W`, `S`); a kind's index is 0–49 and orders every hand.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

COLOURS = "RBGY"
WILD = "W"
SKIP = "S"
KINDS: list[str] = [colour + str(number) for colour in COLOURS for number in range(1, 13)] + [WILD, SKIP]
KIND_INDEX: dict[str, int] = {kind: index for index, kind in enumerate(KINDS)}
STANDARD_DECK: dict[str, int] = {**dict.fromkeys(KINDS[:48], 2), WILD: 8, SKIP: 4}


def number_of(card: str) -> int:
    """Return the number of a natural card.

    >>> number_of("B12")
    12
    """
    return int(card[1:])


def is_natural(card: str) -> bool:
    """Tell whether a card is a numbered one, neither Wild nor Skip.

    >>> is_natural("R1"), is_natural("W")
    (True, False)
    """
    return card not in (WILD, SKIP)


def points_of(card: str) -> int:
    """Return the penalty points of a card left in hand (R3).

    >>> [points_of(card) for card in ("R9", "Y10", "S", "W")]
    [5, 10, 15, 25]
    """
    if card == WILD:
        return 25
    if card == SKIP:
        return 15
    return 5 if number_of(card) <= 9 else 10


def in_kind_order(cards: Iterable[str]) -> list[str]:
    """Return the cards sorted by kind index.

    >>> in_kind_order(["S", "W", "B1", "R12"])
    ['R12', 'B1', 'W', 'S']
    """
    return sorted(cards, key=KIND_INDEX.__getitem__)


def read_cards(cards: str | Sequence[str]) -> list[str]:
    """Return a hand or pile given as text or as a sequence as a list of cards.

    Raises ValueError where a card is unknown.

    >>> read_cards("R1 W")
    ['R1', 'W']
    """
    listed = cards.split() if isinstance(cards, str) else list(cards)
    for card in listed:
        if card not in KIND_INDEX:
            raise ValueError(f"expected a card such as R1, Y12, W or S, found {card!r}; correct the text")
    return listed


def check_deck(deck: Mapping[str, int], cards: Sequence[str]) -> None:
    """Check that the cards of all zones together are the deck (I1).

    Raises ValueError naming what is missing and what is surplus.

    >>> check_deck({"R1": 2}, ["R1", "R1"])
    """
    found, wanted = Counter(cards), Counter(deck)
    if found != wanted:
        missing = " ".join(in_kind_order((wanted - found).elements())) or "nothing"
        surplus = " ".join(in_kind_order((found - wanted).elements())) or "nothing"
        raise ValueError(f"expected the deck, found {missing} missing and {surplus} surplus; correct that")


def _action_table() -> list[str]:
    places = [
        f"onto {distance}.{group}{end}"
        for distance in range(6)
        for group in range(2)
        for end in ("", " high")
    ]
    return [
        "draw",
        "take",
        *(f"lay {phase}" for phase in range(1, 11)),
        *(f"build {phase}" for phase in range(1, 11)),
        *(f"number {number}" for number in range(1, 13)),
        *(f"colour {colour}" for colour in COLOURS),
        *(f"play {kind}" for kind in KINDS if kind != SKIP),
        *places,
        *(f"discard {kind}" for kind in KINDS if kind != SKIP),
        *(f"skip {distance}" for distance in range(1, 6)),
    ]


ACTIONS: list[str] = _action_table()
_INDEX: dict[str, int] = {text: index for index, text in enumerate(ACTIONS)}


def action_index(text: str) -> int:
    """Return the index (0–164) of an action text.

    Raises ValueError for a text that is not in the table.

    >>> action_index("onto 0.1 high")
    90
    """
    if text not in _INDEX:
        raise ValueError(f"expected one of the 165 action texts, found {text!r}; see the action table")
    return _INDEX[text]


def action_text(index: int) -> str:
    """Return the text of an action index (0–164).

    Raises ValueError for an index outside the table.

    >>> action_text(160)
    'skip 1'
    """
    if not 0 <= index < len(ACTIONS):
        raise ValueError(f"expected an action index from 0 to 164, found {index}; see the action table")
    return ACTIONS[index]


def in_action_order(texts: Iterable[str]) -> list[str]:
    """Return action texts without repeats, sorted by index.

    >>> in_action_order(["take", "draw", "take"])
    ['draw', 'take']
    """
    return sorted(set(texts), key=_INDEX.__getitem__)
