"""Make sampled hands look like hands that somebody has played for a while.

A uniformly sampled hand is as far from its phase as a fresh deal, while its owner has drawn, chosen and discarded
for some turns and holds on to what helps. For each turn a seat has had, one hidden card is looked at and swapped
for a useless one where it brings the hand nearer to the phase, but never so near that it would have been laid
down. A seat that has laid down has hit what it could, so cards that fit the table are swapped for others.
Everything public stays as it is.
"""

from __future__ import annotations

from phase10_env.distance import seat_outlook
from phase10_env.rules.cards import KINDS, SKIP_BIT
from phase10_env.rules.deal import add_card, remove_card
from phase10_env.rules.kernel import kernel
from phase10_env.rules.random import random_below
from phase10_env.rules.state import MELDS

__all__ = ["improve_hands"]

MOST_SWAPS = 16
_COUNTER = 1 << 16  # first counter used of the stream
_TRIES = 4


@kernel
def _throwable(game, seat, kinds):  # type: ignore[no-untyped-def]
    """Return those of `kinds` of which the seat holds a card that it is not known to hold."""
    out = 0
    for kind in range(KINDS):
        if (kinds >> kind) & 1 and game.hands[seat, kind] > game.known[seat, kind]:
            out |= 1 << kind
    return out


@kernel
def _nth_kind(kinds, place):  # type: ignore[no-untyped-def]
    left = place
    for kind in range(KINDS):
        if (kinds >> kind) & 1:
            if left == 0:
                return kind
            left -= 1
    return -1


@kernel
def _size(kinds):  # type: ignore[no-untyped-def]
    count = 0
    for kind in range(KINDS):
        count += (kinds >> kind) & 1
    return count


@kernel
def _swap(game, seat, kind, place):  # type: ignore[no-untyped-def]
    """Exchange a card of a hand for the one at a place of the stock."""
    known = game.known[seat, kind]
    taken = game.stock[place]
    remove_card(game, seat, kind)
    game.known[seat, kind] = known
    game.stock[place] = kind
    add_card(game, seat, taken)


@kernel
def _play_for_phase(game, rules, seat, swaps, key, counter):  # type: ignore[no-untyped-def]
    _, distance, lowers, needed = seat_outlook(game, rules, seat)
    for turn in range(swaps):
        if distance == 0:  # it would have laid down
            tight = _throwable(game, seat, needed)
            if tight != 0:
                place = random_below(key, counter + 2 * turn, game.stock_size)
                which = random_below(key, counter + 2 * turn + 1, _size(tight))
                _swap(game, seat, _nth_kind(tight, which), place)
                _, distance, lowers, needed = seat_outlook(game, rules, seat)
            continue
        if distance == 1:
            return
        place = random_below(key, counter + 2 * turn, game.stock_size)
        if (lowers >> game.stock[place]) & 1 == 0:
            continue
        useless = _throwable(game, seat, game.held[seat] & ~needed & ~lowers)
        if useless == 0:
            continue
        which = random_below(key, counter + 2 * turn + 1, _size(useless))
        _swap(game, seat, _nth_kind(useless, which), place)
        _, distance, lowers, needed = seat_outlook(game, rules, seat)


@kernel
def _hit_before(game, seat, fits, key, counter):  # type: ignore[no-untyped-def]
    hittable = _throwable(game, seat, game.held[seat] & fits)
    while hittable != 0:
        kind = _nth_kind(hittable, 0)
        hittable &= ~(1 << kind)
        while game.hands[seat, kind] > game.known[seat, kind]:
            found = False
            for _ in range(_TRIES):
                counter += 1
                place = random_below(key, counter, game.stock_size)
                if (fits >> game.stock[place]) & 1 == 0:
                    _swap(game, seat, kind, place)
                    found = True
                    break
            if not found:
                break


@kernel
def improve_hands(game, rules, seat, effort, key):  # type: ignore[no-untyped-def]
    """Improve the hands of all seats but one by `effort` swaps tried for each turn they have had."""
    if game.stock_size == 0:
        return
    fits = 0
    for meld in range(MELDS):
        fits |= game.meld_fits[meld]
    fits &= ~SKIP_BIT
    swaps = min(MOST_SWAPS, int(effort * game.turn / game.num_players + 0.5))
    for other in range(game.num_players):
        if other == seat or game.hand_sizes[other] == 0:
            continue
        counter = _COUNTER + 1000 * other
        if game.laid[other]:
            _hit_before(game, other, fits, key, counter)
        else:
            _play_for_phase(game, rules, other, swaps, key, counter)
