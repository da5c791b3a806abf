"""Positions (one game as JSON) to and from the reference model."""

from collections.abc import Mapping
from typing import Any

from .cards import SKIP, check_deck, in_kind_order, read_cards
from .melds import Meld
from .model import ReferenceGame
from .rules import PRESETS, Rules

_VALUE_FIELD = {"set": "number", "run": "low", "colour": "colour"}


def read_position(position: Mapping[str, Any], rules: Rules | None = None) -> ReferenceGame:
    """Return the game a position describes; `rules` replaces the preset it names.

    Raises ValueError where the cards are not the deck, and KeyError where a field is missing.
    """
    game = ReferenceGame(PRESETS[position["ruleset"]] if rules is None else rules, position["players"])
    game.dealer, game.to_act, game.stage = position["dealer"], position["to_act"], position["stage"]
    game.round, game.turn = position["round"], position["turn"]
    game.stock, game.discard = read_cards(position["stock"]), read_cards(position["discard"])
    if "active" in position:
        game.active, game.tie_break_round = list(position["active"]), True
    for seat, entry in enumerate(position["seats"]):
        _read_seat(game, seat, entry)
    game.table = [
        Meld(m["seat"], m["group"], m["kind"], m[_VALUE_FIELD[m["kind"]]], read_cards(m["cards"]))
        for m in position["table"]
    ]
    game.laid_this_turn = position.get("laid_this_turn", False)
    game.taken = position.get("taken")
    game.card = position.get("card")
    if "building" in position:
        game.building_phase = position["building"]["phase"]
        game.spelled = list(position["building"]["spelled"])
    check_deck(game.rules.deck, all_cards(game))
    game.pass_over_impossible_draw()
    return game


def _read_seat(game: ReferenceGame, seat: int, entry: Mapping[str, Any]) -> None:
    game.hands[seat] = in_kind_order(read_cards(entry["hand"]))
    game.laid[seat], game.scores[seat], game.skipped[seat] = entry["laid"], entry["score"], entry["skipped"]
    if game.rules.advance == "pick":
        game.done[seat] = sorted(entry["done"])
        game.laid_phase[seat] = entry.get("laid_phase")
    else:
        game.phases[seat] = entry["phase"]
        game.laid_phase[seat] = entry["phase"] if entry["laid"] else None


def all_cards(game: ReferenceGame) -> list[str]:
    """Return the cards of every zone, Skips in front of seats included (I1, I2)."""
    in_front = sum(game.skipped) if game.rules.skip_placement == "front" else 0
    return [
        *game.stock,
        *game.discard,
        *(card for hand in game.hands for card in hand),
        *(card for meld in game.table for card in meld.cards),
        *[SKIP] * in_front,
    ]


def write_position(game: ReferenceGame) -> dict[str, Any]:
    """Return the position as a dictionary ready for JSON: hands in kind order, melds in order of laying."""
    position: dict[str, Any] = {
        "ruleset": game.rules.name,
        "players": game.players,
        "dealer": game.dealer,
        "to_act": game.to_act,
        "stage": game.stage,
        "round": game.round,
        "turn": game.turn,
        "stock": " ".join(game.stock),
        "discard": " ".join(game.discard),
        "seats": [_write_seat(game, seat) for seat in range(game.players)],
        "table": [_write_meld(meld) for meld in game.table],
    }
    if game.stage in ("play", "onto"):
        position["laid_this_turn"] = game.laid_this_turn
    if game.stage != "draw" and game.taken is not None:
        position["taken"] = game.taken
    if game.stage == "build":
        position["building"] = {"phase": game.building_phase, "spelled": list(game.spelled)}
    if game.stage == "onto":
        position["card"] = game.card
    if game.tie_break_round:
        position["active"] = list(game.active)
    return position


def _write_seat(game: ReferenceGame, seat: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"hand": " ".join(in_kind_order(game.hands[seat]))}
    if game.rules.advance == "pick":
        entry["done"] = list(game.done[seat])
        if game.laid[seat]:
            entry["laid_phase"] = game.laid_phase[seat]
    else:
        entry["phase"] = game.phases[seat]
    return {**entry, "laid": game.laid[seat], "score": game.scores[seat], "skipped": game.skipped[seat]}


def _write_meld(meld: Meld) -> dict[str, Any]:
    return {
        "seat": meld.seat,
        "group": meld.group,
        "kind": meld.kind,
        _VALUE_FIELD[meld.kind]: meld.value,
        "cards": " ".join(meld.cards),
    }


def normalised(position: Mapping[str, Any]) -> dict[str, Any]:
    """Return a position in a form for comparing: melds by seat and group, sets and hands in kind order.

    A `taken` of None is dropped; counters, `seed` and `memory` are left as they are.
    """
    table = [
        meld if meld["kind"] == "run" else {**meld, "cards": _sorted_text(meld["cards"])}
        for meld in sorted(position["table"], key=lambda meld: (meld["seat"], meld["group"]))
    ]
    seats = [{**entry, "hand": _sorted_text(entry["hand"])} for entry in position["seats"]]
    kept = {name: value for name, value in position.items() if name != "taken" or value is not None}
    return {**kept, "seats": seats, "table": table}


def _sorted_text(cards: str) -> str:
    return " ".join(in_kind_order(read_cards(cards)))
