"""Deal the hidden cards anew: one of the deals that agree with everything a seat knows, each as likely.

What a seat knows: its own hand, the melds, the discard pile, the cards the others are known to hold, the Skips in
front of seats, and how many cards everybody holds. All other cards are shuffled into the hands and the stock.
"""

from __future__ import annotations

from phase10_env.rules.cards import KINDS, SKIP
from phase10_env.rules.deal import add_card, shuffle_stock
from phase10_env.rules.kernel import kernel
from phase10_env.rules.phases import PLACE_FRONT
from phase10_env.rules.random import random_bits
from phase10_env.rules.state import MAX_PLAYERS

__all__ = ["fill_hidden", "sample_hidden"]

_SEED = 1 << 20  # counter of the value that becomes the game's seed


@kernel
def _hidden_cards(game, rules, seat):  # type: ignore[no-untyped-def]
    """Write the cards whose place the seat does not know into the stock and return their number."""
    size = 0
    for kind in range(KINDS):
        count = (
            rules.deck_counts[kind]
            - game.hands[seat, kind]
            - game.table_counts[kind]
            - game.pile_counts[kind]
        )
        for other in range(MAX_PLAYERS):
            if other != seat:
                count -= game.known[other, kind]
            if kind == SKIP and rules.skip_placement == PLACE_FRONT and game.skipped[other]:
                count -= 1
        for _ in range(count):
            game.stock[size] = kind
            size += 1
    return size


@kernel
def fill_hidden(game, rules, seat, key):  # type: ignore[no-untyped-def]
    """Give the other seats' hands and the stock hidden cards in random order, from the stream `key`.

    Known cards stay where they are known to be. The seed becomes one of the stream's, so later reshuffles differ
    between samples too.
    """
    for other in range(MAX_PLAYERS):
        if other == seat:
            continue
        size = game.hand_sizes[other]
        game.hand_sizes[other] = 0
        game.held[other] = 0
        game.numbers[other] = 0
        game.colours[other] = 0
        for kind in range(KINDS):
            game.hands[other, kind] = 0
        if size > 0:
            for kind in range(KINDS):
                for _ in range(game.known[other, kind]):
                    add_card(game, other, kind)
        game.hand_sizes[other] = size - game.hand_sizes[other]  # cards still to come
    left = _hidden_cards(game, rules, seat)
    game.stock_size = left
    shuffle_stock(game, key)
    for other in range(MAX_PLAYERS):
        if other == seat:
            continue
        missing = game.hand_sizes[other]
        game.hand_sizes[other] = 0
        for kind in range(KINDS):
            game.hand_sizes[other] += game.hands[other, kind]
        for _ in range(missing):
            left -= 1
            add_card(game, other, game.stock[left])
    game.stock_size = left
    game.seed = random_bits(key, _SEED)


@kernel
def sample_hidden(games, rules, key):  # type: ignore[no-untyped-def]
    """Deal the hidden cards of every row of GAME[n] anew, from the point of view of its seat to act."""
    for row in range(len(games)):
        fill_hidden(games[row], rules[0], games[row].to_act, random_bits(key, row))
