"""Hand-made moments of a game for tests: say what matters, the rest of the deck becomes the stock."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .cards import SKIP, read_cards
from .model import ReferenceGame
from .rules import Rules


def situation(
    *hands: str,
    rules: Rules | None = None,
    discard: str = "R1",
    stock: str = "",
    stage: str = "play",
    phases: Sequence[int] | None = None,
    seats: Mapping[int, Mapping[str, Any]] | None = None,
    table: Sequence[Mapping[str, Any]] = (),
    **fields: Any,
) -> ReferenceGame:
    """Return a game in which the seats hold these hands, seat 0 to act.

    `discard` is the pile, top first; `stock` the top of the stock, which goes on with every card of the deck
    that lies nowhere else; `seats` overrides fields of single seats, `fields` those of the position.

    >>> situation("R1 R2", "B1", stage="draw").legal()
    ['draw', 'take']
    """
    rules = rules or Rules()
    plain = {"laid": False, "score": 0, "skipped": False, "done": []}
    entries = [
        {**plain, "hand": hand, "phase": phases[seat] if phases else 1, **(seats or {}).get(seat, {})}
        for seat, hand in enumerate(hands)
    ]
    texts = [*hands, discard, stock, *(meld["cards"] for meld in table)]
    lying = Counter(card for text in texts for card in read_cards(text))
    if rules.skip_placement == "front":
        lying[SKIP] += sum(entry["skipped"] for entry in entries)
    rest = Counter(rules.deck) - lying
    position = {
        "ruleset": rules.name,
        "players": len(hands),
        "dealer": len(hands) - 1,
        "to_act": 0,
        "stage": stage,
        "round": 1,
        "turn": 1,
        "stock": [*read_cards(stock), *rest.elements()],
        "discard": discard,
        "seats": entries,
        "table": list(table),
        **fields,
    }
    return ReferenceGame.from_position(position, rules)


def meld(seat: int, group: int, kind: str, value: int | str, cards: str) -> dict[str, Any]:
    """Return a meld of a position; `value` is the number, the low end or the colour.

    >>> meld(0, 1, "run", 3, "R3 W B5")["low"]
    3
    """
    name = {"set": "number", "run": "low", "colour": "colour"}[kind]
    return {"seat": seat, "group": group, "kind": kind, name: value, "cards": cards}


def deal(rules: Rules, *hands: str, discard: str = "", stock: str = "") -> dict[str, Any]:
    """Return a deal for `start_round` or `begin_round`; the rest of the deck fills what is left open.

    A hand given as text keeps its cards and is filled up to the ruleset's size; `-` is a seat without cards.

    >>> filled = deal(Rules(), "R1", "", discard="W")
    >>> [len(hand) for hand in filled["hands"]], filled["discard"], len(filled["stock"])
    ([10, 10], ['W'], 87)
    """
    given = [read_cards(hand.replace("-", "")) for hand in hands]
    face_up, top = read_cards(discard), read_cards(stock)
    rest = Counter(rules.deck) - Counter([*face_up, *top, *(card for hand in given for card in hand)])
    # Skips last, so that no deal opens with a Skip or fills a hand with one unless it is asked for.
    left = sorted(rest.elements(), key=SKIP.__eq__)
    face_up = face_up or [left.pop(0)]
    for hand, text in zip(given, hands, strict=True):
        while text != "-" and len(hand) < rules.hand_size:
            hand.append(left.pop(0))
    return {"hands": given, "discard": face_up, "stock": [*top, *left]}
