"""Dealing, drawing and reshuffling: where cards come from, how they enter and leave a hand (R4, R5, R13)."""

from __future__ import annotations

from phase10_env.rules.cards import KINDS, NO_CARD, NUMBERS, WILD
from phase10_env.rules.kernel import kernel
from phase10_env.rules.phases import ADVANCE_PICK, NO_GROUP
from phase10_env.rules.random import DEAL, RESHUFFLE, random_below, stream_key
from phase10_env.rules.state import (
    MAX_DECK,
    MAX_HAND,
    MAX_PLAYERS,
    MELD_CARDS,
    MELDS,
    PLAY,
    RECENT,
)

__all__ = [
    "add_card",
    "clear_table",
    "deal_round",
    "draw_from_stock",
    "next_active",
    "put_on_pile",
    "remove_card",
    "reshuffle",
    "take_from_pile",
]


@kernel
def add_card(game, seat, kind):  # type: ignore[no-untyped-def]
    """Put a card into a hand."""
    game.hands[seat, kind] += 1
    game.hand_sizes[seat] += 1
    game.held[seat] |= 1 << kind
    if kind < WILD:
        game.numbers[seat] += 1 << (4 * (kind % NUMBERS))
        game.colours[seat] += 1 << (8 * (kind // NUMBERS))


@kernel
def remove_card(game, seat, kind):  # type: ignore[no-untyped-def]
    """Take a card out of a hand; one that was known to be there is now seen again."""
    game.hands[seat, kind] -= 1
    game.hand_sizes[seat] -= 1
    if game.hands[seat, kind] == 0:
        game.held[seat] &= ~(1 << kind)
    if kind < WILD:
        game.numbers[seat] -= 1 << (4 * (kind % NUMBERS))
        game.colours[seat] -= 1 << (8 * (kind // NUMBERS))
    if game.known[seat, kind] > 0:
        game.known[seat, kind] -= 1


@kernel
def put_on_pile(game, kind):  # type: ignore[no-untyped-def]
    """Put a card on top of the discard pile."""
    game.discard[game.discard_size] = kind
    game.discard_size += 1
    game.pile_counts[kind] += 1


@kernel
def take_from_pile(game):  # type: ignore[no-untyped-def]
    """Remove and return the top discard."""
    game.discard_size -= 1
    kind = game.discard[game.discard_size]
    game.pile_counts[kind] -= 1
    return kind


@kernel
def shuffle_stock(game, key):  # type: ignore[no-untyped-def]
    """Put the cards of the stock into a random order drawn from the stream `key`."""
    for last in range(game.stock_size - 1, 0, -1):
        other = random_below(key, last, last + 1)
        kind = game.stock[last]
        game.stock[last] = game.stock[other]
        game.stock[other] = kind


@kernel
def reshuffle(game):  # type: ignore[no-untyped-def]
    """Shuffle every discard but the top one into a new stock (R13)."""
    top = game.discard[game.discard_size - 1]
    for place in range(game.discard_size - 1):
        game.stock[place] = game.discard[place]
    game.stock_size = game.discard_size - 1
    game.discard[0] = top
    game.discard_size = 1
    for kind in range(KINDS):
        game.pile_counts[kind] = 0
    game.pile_counts[top] = 1
    shuffle_stock(game, stream_key(game.seed, game.episode, game.round, RESHUFFLE + game.reshuffles))
    game.reshuffles += 1


@kernel
def draw_from_stock(game):  # type: ignore[no-untyped-def]
    """Remove and return the top of the stock, after a reshuffle where it is empty (R8, R13)."""
    if game.stock_size == 0:
        reshuffle(game)
    game.stock_size -= 1
    return game.stock[game.stock_size]


@kernel
def next_active(game, seat):  # type: ignore[no-untyped-def]
    """Return the next seat to the left that takes part in this round (R6, R33)."""
    following = seat + 1
    for _ in range(MAX_PLAYERS):
        if following >= game.num_players:
            following = 0
        if game.active[following]:
            return following
        following += 1
    return seat


@kernel
def clear_table(game):  # type: ignore[no-untyped-def]
    """Gather every card: empty hands, piles, melds and all that was public about the round (R22, R27).

    What is empty is zero as well, so that a game never shows what was played on its row before (I6).
    """
    game.stock_size = 0
    game.discard_size = 0
    game.turn = 0
    game.reshuffles = 0
    game.no_draw = 0
    game.taken = NO_CARD
    game.laid_this_turn = 0
    game.onto_card = NO_CARD
    game.build_phase = 0
    game.free_numbers = 0
    for place in range(MAX_DECK):
        game.stock[place] = 0
        game.discard[place] = 0
    for group in range(2):
        game.declared[group] = 0
        game.placed_sizes[group] = 0
        for place in range(MAX_HAND + 1):
            game.placed[group, place] = 0
    for kind in range(KINDS):
        game.pile_counts[kind] = 0
        game.table_counts[kind] = 0
        game.free[kind] = 0
    for seat in range(MAX_PLAYERS):
        for kind in range(KINDS):
            game.hands[seat, kind] = 0
            game.known[seat, kind] = 0
        for place in range(RECENT):
            game.recent[seat, place] = NO_CARD
        game.hand_sizes[seat] = 0
        game.held[seat] = 0
        game.numbers[seat] = 0
        game.colours[seat] = 0
        game.laid[seat] = 0
        game.laid_phase[seat] = 0
        game.skipped[seat] = 0
        game.refused[seat] = NO_CARD
    for meld in range(MELDS):
        game.meld_kind[meld] = NO_GROUP
        game.meld_value[meld] = 0
        game.meld_high[meld] = 0
        game.meld_size[meld] = 0
        game.meld_fits[meld] = 0
        for place in range(MELD_CARDS):
            game.meld_cards[meld, place] = 0


@kernel
def deal_round(game, rules):  # type: ignore[no-untyped-def]
    """Shuffle the deck and deal the next round to the active seats (R5).

    `dealer`, `active`, `tie_break` and `round` say who plays and which round it is. The turn is not begun.
    """
    clear_table(game)
    for place in range(rules.deck_size):
        game.stock[place] = rules.deck_cards[place]
    game.stock_size = rules.deck_size
    shuffle_stock(game, stream_key(game.seed, game.episode, game.round, DEAL))
    for seat in range(MAX_PLAYERS):
        if game.active[seat] and game.tie_break and rules.advance != ADVANCE_PICK:
            game.phase[seat] = rules.num_phases - 1
    seats = 0
    for seat in range(MAX_PLAYERS):
        seats += game.active[seat]
    receiver = game.dealer
    for _ in range(rules.hand_size * seats):
        receiver = next_active(game, receiver)
        game.stock_size -= 1
        add_card(game, receiver, game.stock[game.stock_size])
    put_on_pile(game, draw_from_stock(game))
    game.stage = PLAY
