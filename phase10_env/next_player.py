"""What a discard may give away: who could take it, what that seat is known to hold, and what fits the table."""

from __future__ import annotations

from phase10_env.rules.cards import NUMBERS, WILD
from phase10_env.rules.deal import next_active
from phase10_env.rules.kernel import kernel
from phase10_env.rules.phases import PLACE_FRONT, RUN
from phase10_env.rules.state import MELDS, RECENT

__all__ = ["NOBODY", "known_like", "near_ends", "receiver_of", "spurned", "table_fits"]

NOBODY = -1
"""Stands for a seat where none can take the next discard."""


@kernel
def receiver_of(game, rules):  # type: ignore[no-untyped-def]
    """Return the seat that could take the next discard, or -1 where a Skip will lie on it first."""
    seat = next_active(game, game.to_act)
    if not game.skipped[seat]:
        return seat
    if rules.skip_placement == PLACE_FRONT:
        return NOBODY
    for _ in range(game.num_players):
        seat = next_active(game, seat)
        if not game.skipped[seat]:
            break
    return seat


@kernel
def table_fits(game):  # type: ignore[no-untyped-def]
    """Return the naturals that fit a meld now, as a bit set of kinds."""
    fits = 0
    for meld in range(MELDS):
        fits |= game.meld_fits[meld]
    return fits


@kernel
def near_ends(game):  # type: ignore[no-untyped-def]
    """Return, as a bit set, the numbers one step beyond what the runs on the table take now."""
    numbers = 0
    for meld in range(MELDS):
        if game.meld_kind[meld] == RUN:
            if game.meld_value[meld] > 2:
                numbers |= 1 << (game.meld_value[meld] - 2)
            if game.meld_high[meld] < NUMBERS - 1:
                numbers |= 1 << (game.meld_high[meld] + 2)
    return numbers


@kernel
def known_like(game, seat, kind, by_colour):  # type: ignore[no-untyped-def]
    """Return how many cards of a kind's number (or colour) a seat is known to hold."""
    count = 0
    if by_colour:
        first = NUMBERS * (kind // NUMBERS)
        for other in range(first, first + NUMBERS):
            count += game.known[seat, other]
    else:
        for other in range(kind % NUMBERS, WILD, NUMBERS):
            count += game.known[seat, other]
    return count


@kernel
def spurned(game, seat, kind, by_colour):  # type: ignore[no-untyped-def]
    """Return how often a seat lately threw, or left lying, a card of a kind's number (or colour), at most 2."""
    count = 0
    for place in range(RECENT):
        other = game.recent[seat, place]
        if other < WILD:
            same = other // NUMBERS == kind // NUMBERS if by_colour else other % NUMBERS == kind % NUMBERS
            count += 1 if same else 0
    other = game.refused[seat]
    if other < WILD:
        same = other // NUMBERS == kind // NUMBERS if by_colour else other % NUMBERS == kind % NUMBERS
        count += 1 if same else 0
    return min(count, 2)
