"""Positions of two players, written down by the hand of the seat to act."""

from __future__ import annotations

from collections import Counter

from phase10_env.rules.cards import KIND_TEXTS, STANDARD_DECK


def position(hand: str, **more: object) -> dict[str, object]:
    """Return a two-player position in which seat 0 holds a hand and the rest of the deck is shared out."""
    left = Counter({text: int(n) for text, n in zip(KIND_TEXTS, STANDARD_DECK, strict=True)})
    left.subtract(hand.split())
    discard = str(more.pop("discard", "G9")).split()
    left.subtract(discard)
    other = str(more.pop("other", "")).split()
    left.subtract(other)
    for card in ("S",) * 4 + ("G10", "B10", "G8", "B6", "B4", "B2", "G2"):
        if len(other) < 10 and left[card] > 0:
            other.append(card)
            left.subtract([card])
    return {
        "ruleset": "official",
        "players": 2,
        "dealer": 1,
        "to_act": 0,
        "stage": "draw",
        "round": 1,
        "turn": 0,
        "stock": " ".join(left.elements()),
        "discard": " ".join(discard),
        "seats": [
            {"hand": hand, "phase": 1, "laid": False, "score": 0, "skipped": False},
            {"hand": " ".join(other), "phase": 1, "laid": False, "score": 0, "skipped": False},
        ],
        "table": [],
        **more,
    }
