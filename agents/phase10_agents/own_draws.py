"""Each seat draws its own cards in a playout, so that playouts of different moves stay comparable.

A stock is in random order, so any card that nobody has looked at is as good a draw as the top one. With one common
order a single draw more by one seat shifts every later card to another hand, and two moves soon compare different
luck. Here the stock is cut into parts, one a seat, and each seat draws from its own: its third draw is the same
card whatever the others did. That takes a third off the variance of the difference between two discards, and three
quarters off that between the two ways to draw (two players).
"""

from __future__ import annotations

from phase10_env.rules import table
from phase10_env.rules.kernel import kernel

__all__ = ["prepare_draw", "prepare_draws", "raise_own_card", "share_stock"]


@kernel
def share_stock(game, ends):  # type: ignore[no-untyped-def]
    """Cut the stock into equal parts; write where each seat's ends into ends int64[6]; return the cards cut."""
    for seat in range(game.num_players):
        ends[seat] = (seat + 1) * game.stock_size // game.num_players
    return game.stock_size


@kernel
def raise_own_card(game, ends):  # type: ignore[no-untyped-def]
    """Put the next card of the part of the seat to act on top of the stock, the others keeping their order.

    A seat whose part is used up draws from the top as it is.
    """
    size = game.stock_size
    seat = game.to_act
    start = ends[seat - 1] if seat > 0 else 0
    place = ends[seat] - 1
    if place < start:
        place = size - 1
        seat = 0
        while ends[seat] < size:
            seat += 1
    card = game.stock[place]
    for above in range(place, size - 1):
        game.stock[above] = game.stock[above + 1]
    game.stock[size - 1] = card
    for later in range(seat, game.num_players):
        ends[later] -= 1


@kernel
def prepare_draw(game, action, left, ends):  # type: ignore[no-untyped-def]
    """Before an action: if it draws from the stock, put the seat's own card on top.

    Args:
        left: cards that the parts held after the last draw, -1 before the first; where the stock has another number
            it is cut anew, as after a reshuffle.
        ends: int64[6], ends of the parts.

    Returns:
        The cards that the parts hold after the action.
    """
    if action != table.DRAW or game.stock_size == 0:
        return left
    if game.stock_size != left:
        share_stock(game, ends)
    raise_own_card(game, ends)
    return game.stock_size - 1


@kernel
def prepare_draws(games, rows, actions, left, ends):  # type: ignore[no-untyped-def]
    """Do `prepare_draw` for some rows (int64[n]) of GAME[B]; actions int64[B], left int64[B], ends int64[B, 6]."""
    for row in rows:
        left[row] = prepare_draw(games[row], actions[row], left[row], ends[row])
