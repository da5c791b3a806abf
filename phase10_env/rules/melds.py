"""Groups on the table: where a card may be added, laying down and hitting (R11, R16, R19-R22)."""

from __future__ import annotations

from phase10_env.rules.cards import (
    NUMBERS,
    WILD,
    WILD_BIT,
    colour_set,
    number_set,
)
from phase10_env.rules.deal import remove_card
from phase10_env.rules.kernel import kernel
from phase10_env.rules.phases import COLOUR_GROUP, HIT_OWN, NO_GROUP, RUN, SET

__all__ = [
    "add_to_meld",
    "fitting_kinds",
    "hit_set",
    "lay_down",
    "meld_ends",
    "meld_in_reach",
    "places",
    "set_fits",
]

LOW_END = 1
HIGH_END = 2


@kernel
def fitting_kinds(kind, value, high):  # type: ignore[no-untyped-def]
    """Return the set of kinds that may be added to a set, colour group or run up to `high` (R20)."""
    if kind == SET:
        return number_set(value) | WILD_BIT
    if kind == COLOUR_GROUP:
        return colour_set(value) | WILD_BIT
    ends = number_set(value - 1) | number_set(high + 1)
    return ends | WILD_BIT if ends != 0 else 0


@kernel
def set_fits(game, meld):  # type: ignore[no-untyped-def]
    """Store which kinds may be added to a meld: kept up to date at each lay-down and hit."""
    game.meld_fits[meld] = fitting_kinds(game.meld_kind[meld], game.meld_value[meld], game.meld_high[meld])


@kernel
def meld_in_reach(game, rules, meld):  # type: ignore[no-untyped-def]
    """Tell whether the seat to act may hit a meld now (R11, `hit_after_lay`)."""
    if rules.hit_after_lay == HIT_OWN and game.laid_this_turn:
        return meld // 2 == game.to_act
    return True


@kernel
def hit_set(game, rules):  # type: ignore[no-untyped-def]
    """Return the set of kinds that the seat to act could hit somewhere, held or not."""
    fits = 0
    for meld in range(2 * game.num_players):
        if meld_in_reach(game, rules, meld):
            fits |= game.meld_fits[meld]
    return fits


@kernel
def meld_ends(game, meld, kind):  # type: ignore[no-untyped-def]
    """Return where a card fits a meld: 0 nowhere, LOW_END (or the only end there is), HIGH_END, or both."""
    if (game.meld_fits[meld] >> kind) & 1 == 0:
        return 0
    if game.meld_kind[meld] != RUN:
        return LOW_END
    low = game.meld_value[meld]
    high = game.meld_high[meld]
    ends = 0
    if low > 1 and (kind == WILD or kind % NUMBERS + 1 == low - 1):
        ends |= LOW_END
    if high < NUMBERS and (kind == WILD or kind % NUMBERS + 1 == high + 1):
        ends |= HIGH_END
    return ends


@kernel
def places(game, rules, kind):  # type: ignore[no-untyped-def]
    """Return how many places a card could go to now, counting both ends of a run (R20)."""
    count = 0
    for meld in range(2 * game.num_players):
        if meld_in_reach(game, rules, meld):
            ends = meld_ends(game, meld, kind)
            count += (ends & 1) + (ends >> 1)
    return count


@kernel
def add_to_meld(game, seat, meld, high, kind):  # type: ignore[no-untyped-def]
    """Move a card from a hand to a meld; `high` = 1 puts it at the high end of a run (R20)."""
    remove_card(game, seat, kind)
    game.table_counts[kind] += 1
    size = game.meld_size[meld]
    if game.meld_kind[meld] == RUN and not high:
        for place in range(size, 0, -1):
            game.meld_cards[meld, place] = game.meld_cards[meld, place - 1]
        game.meld_cards[meld, 0] = kind
        game.meld_value[meld] -= 1
    else:
        game.meld_cards[meld, size] = kind
        if game.meld_kind[meld] == RUN:
            game.meld_high[meld] += 1
    game.meld_size[meld] = size + 1
    set_fits(game, meld)


@kernel
def lay_down(game, rules):  # type: ignore[no-untyped-def]
    """Put the spelled cards of the seat to act on the table (R10, R16)."""
    seat = game.to_act
    phase = game.build_phase
    for group in range(2):
        kind = rules.group_kinds[phase, group]
        if kind == NO_GROUP:
            continue
        meld = 2 * seat + group
        game.meld_kind[meld] = kind
        value = game.declared[group]
        size = game.placed_sizes[group]
        game.meld_size[meld] = size
        game.meld_value[meld] = value - 1 if kind == COLOUR_GROUP else value
        game.meld_high[meld] = value + size - 1 if kind == RUN else 0
        for place in range(size):
            card = game.placed[group, place]
            game.meld_cards[meld, place] = card
            game.table_counts[card] += 1
            remove_card(game, seat, card)
        set_fits(game, meld)
    game.laid[seat] = 1
    game.laid_phase[seat] = phase
    game.laid_this_turn = 1
