"""Hand-made moments of a game for tests: say what matters, the rest of the deck becomes the stock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from phase10_env import Game, RuleSet, get_ruleset
from phase10_env.rules.cards import KIND_TEXTS

VALUES = {"set": "number", "run": "low", "colour": "colour"}


def meld(seat: int, group: int, kind: str, value: int | str, cards: str) -> dict[str, Any]:
    """Return a meld of a position; `value` is the number, the low end or the colour letter.

    >>> meld(0, 1, "run", 3, "R3 W B5")["low"]
    3
    """
    return {"seat": seat, "group": group, "kind": kind, VALUES[kind]: value, "cards": cards}


def position(
    *hands: str,
    rules: str | RuleSet = "official",
    discard: str = "R1",
    stock: str = "",
    rest: str = "stock",
    seats: Mapping[int, Mapping[str, Any]] | None = None,
    table: Sequence[Mapping[str, Any]] = (),
    **fields: Any,
) -> dict[str, Any]:
    """Return a position in which the seats hold these hands, seat 0 to act in stage "play".

    `discard` is the pile and `stock` the stock, top first; every other card of the deck goes to the bottom of
    one of them (`rest`). `seats` overrides fields of single seats, `fields` those of the position.
    """
    ruleset = get_ruleset(rules)
    pick = {"done": []} if ruleset.advance == "pick" else {"phase": 1}
    entries = [
        {"hand": hand, **pick, "laid": False, "score": 0, "skipped": False, **(seats or {}).get(seat, {})}
        for seat, hand in enumerate(hands)
    ]
    lying = Counter(" ".join([*hands, discard, stock, *(entry["cards"] for entry in table)]).split())
    if ruleset.skip_placement == "front":
        lying["S"] += sum(entry["skipped"] for entry in entries)
    deck = Counter(dict(zip(KIND_TEXTS, ruleset.deck, strict=True)))
    assert not lying - deck, f"more than the deck: {lying - deck}"
    others = " ".join((deck - lying).elements())
    piles = {"stock": stock, "discard": discard}
    piles[rest] = f"{piles[rest]} {others}".strip()
    return {
        "ruleset": ruleset.spec,
        "players": len(hands),
        "dealer": len(hands) - 1,
        "to_act": 0,
        "stage": "play",
        "round": 1,
        "turn": 0,
        **piles,
        "seats": entries,
        "table": list(table),
        **fields,
    }


def situation(*hands: str, actions: str = "full", **options: Any) -> Game:
    """Return the game of a `position`.

    >>> situation("R1 R2", "B1", stage="draw").legal_actions()
    ['draw', 'take']
    """
    return Game.from_position(position(*hands, **options), actions)


def legal(game: Game, word: str) -> list[str]:
    """Return the legal actions that begin with a word."""
    return [text for text in game.legal_actions() if text.split()[0] == word]


def table_of(game: Game) -> dict[tuple[int, int], str]:
    """Return the cards of the melds by (seat, group)."""
    return {(entry["seat"], entry["group"]): entry["cards"] for entry in game.position()["table"]}


def play(game: Game, *actions: str) -> Game:
    """Take actions one after the other and return the game."""
    for action in actions:
        game.play(action)
    return game


def lay_downs_built(game: Game) -> list[list[str]]:
    """Return the melds of every lay-down that building phase 1 can end in, by walking the whole tree."""
    found = []
    waiting = [play(game.copy(), "build 1")]
    while waiting:
        node = waiting.pop()
        if node.stage == "build":
            waiting += [play(node.copy(), action) for action in node.legal_actions()]
        else:
            found.append(list(table_of(node).values()))
    return sorted(found)
