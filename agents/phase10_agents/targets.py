"""The lay-down that a hand is nearest to: the target of the greedy agent, and the cards outside it.

A target is a declaration for each group of a phase; `demand` is what it asks for, packed by number (four bits
each) or, for a colour group, by colour (eight bits each). Of the targets with the fewest missing cards the one
with the most *outs* counts: unseen naturals that would bring it nearer.
"""

from __future__ import annotations

from phase10_env.rules.cards import NUMBERS, WILD, colour_set, number_set
from phase10_env.rules.kernel import kernel
from phase10_env.rules.lay_downs import declarations, most_naturals, numbers_held, run_set
from phase10_env.rules.legal import is_open_phase
from phase10_env.rules.phases import COLOUR_GROUP, NO_GROUP, RUN, SET

__all__ = ["greedy_target", "outside_target", "unseen_colours", "unseen_numbers"]

_OUT_BITS = 5  # unseen naturals by number are packed in five bits each
_MOST_OUTS = 31
_FAR = 999


@kernel
def unseen_numbers(game, rules):  # type: ignore[no-untyped-def]
    """Return the naturals not in the own hand, on the table or in the pile, by number, five bits each (at most 31)."""
    seat = game.to_act
    packed = 0
    for number in range(NUMBERS):
        count = 0
        for kind in range(number, WILD, NUMBERS):
            count += (
                rules.deck_counts[kind]
                - game.hands[seat, kind]
                - game.table_counts[kind]
                - game.pile_counts[kind]
            )
        packed |= min(count, _MOST_OUTS) << (_OUT_BITS * number)
    return packed


@kernel
def unseen_colours(game, rules):  # type: ignore[no-untyped-def]
    """Return the same by colour, eight bits each."""
    seat = game.to_act
    packed = 0
    for colour in range(4):
        count = 0
        for kind in range(NUMBERS * colour, NUMBERS * colour + NUMBERS):
            count += (
                rules.deck_counts[kind]
                - game.hands[seat, kind]
                - game.table_counts[kind]
                - game.pile_counts[kind]
            )
        packed |= count << (8 * colour)
    return packed


@kernel
def _outs(unseen, number):  # type: ignore[no-untyped-def]
    return (unseen >> (_OUT_BITS * number)) & _MOST_OUTS


@kernel
def _set_and_run_target(set_size, run_size, numbers, unseen):  # type: ignore[no-untyped-def]
    """Return (missing, outs, demand by number) of the best set and run."""
    held = numbers_held(numbers)
    best = 0
    best_worth = -_FAR * 1000
    demand = 0
    for low in range(NUMBERS + 1 - run_size):
        gaps = 0
        gap_outs = 0
        for number in range(low, low + run_size):
            if (held >> (4 * number)) & 1 == 0:
                gaps += 1
                gap_outs += _outs(unseen, number)
        for number in range(NUMBERS):
            count = (numbers >> (4 * number)) & 15
            lacking = set_size - count
            if count > 0 and low <= number < low + run_size:
                lacking += 1
            need = gaps
            outs = gap_outs
            if lacking > 0:
                need += lacking
                if count > 0 or not low <= number < low + run_size:
                    outs += _outs(unseen, number)
            worth = outs - 1000 * need
            if worth > best_worth:
                best_worth = worth
                best = need
                demand = run_set(low + 1, run_size) + (set_size << (4 * number))
    return best, best_worth + 1000 * best, demand


@kernel
def _two_sets_target(size0, size1, numbers, unseen):  # type: ignore[no-untyped-def]
    """Return (missing, outs, demand by number) of the best two sets."""
    best = 0
    best_worth = -_FAR * 1000
    demand = 0
    like = size0 == size1
    for first in range(NUMBERS):
        lacking0 = size0 - ((numbers >> (4 * first)) & 15)
        worth0 = 0
        if lacking0 > 0:
            worth0 = _outs(unseen, first) - 1000 * lacking0
        for second in range(first if like else 0, NUMBERS):
            if second == first:
                lacking = lacking0 + size1
                worth = _outs(unseen, first) - 1000 * lacking if lacking > 0 else 0
            else:
                worth = worth0
                lacking = size1 - ((numbers >> (4 * second)) & 15)
                if lacking > 0:
                    worth += _outs(unseen, second) - 1000 * lacking
            if worth > best_worth:
                best_worth = worth
                demand = (size0 << (4 * first)) + (size1 << (4 * second))
                best = (999 - worth) // 1000
    return best, best_worth + 1000 * best, demand


@kernel
def _one_group_target(kind, size, numbers, colours, unseen, unseen_by_colour):  # type: ignore[no-untyped-def]
    """Return (missing, outs, demand by number or colour) of the best single group."""
    held = numbers_held(numbers)
    best = 0
    best_worth = -_FAR * 1000
    demand = 0
    for value in range(1, declarations(kind, size) + 1):
        outs = 0
        need = 0
        if kind == SET:
            need = max(0, size - ((numbers >> (4 * (value - 1))) & 15))
            outs = _outs(unseen, value - 1) if need > 0 else 0
            wanted = size << (4 * (value - 1))
        elif kind == RUN:
            for number in range(value - 1, value - 1 + size):
                if (held >> (4 * number)) & 1 == 0:
                    need += 1
                    outs += _outs(unseen, number)
            wanted = run_set(value, size)
        else:
            need = max(0, size - ((colours >> (8 * (value - 1))) & 255))
            outs = (unseen_by_colour >> (8 * (value - 1))) & 255 if need > 0 else 0
            wanted = size << (8 * (value - 1))
        worth = outs - 1000 * need
        if worth > best_worth:
            best_worth = worth
            best = need
            demand = wanted
    return best, best_worth + 1000 * best, demand


@kernel
def _mixed_target(kind0, size0, kind1, size1, kinds):  # type: ignore[no-untyped-def]
    """Return (missing, 0, declaration 0, declaration 1) of a colour group beside another group, or two runs."""
    most = -1
    best0 = 0
    best1 = 0
    for value0 in range(1, declarations(kind0, size0) + 1):
        for value1 in range(1, declarations(kind1, size1) + 1):
            found = most_naturals(kinds, 1, kind0, value0, size0, 0, kind1, value1, size1)
            if found > most:
                most = found
                best0 = value0
                best1 = value1
    return size0 + size1 - most, 0, best0 | best1 << 4


@kernel
def _phase_target(game, rules, phase, unseen, unseen_by_colour):  # type: ignore[no-untyped-def]
    seat = game.to_act
    kind0 = rules.group_kinds[phase, 0]
    kind1 = rules.group_kinds[phase, 1]
    size0 = rules.group_sizes[phase, 0]
    size1 = rules.group_sizes[phase, 1]
    numbers = game.numbers[seat]
    if kind1 == NO_GROUP:
        return _one_group_target(kind0, size0, numbers, game.colours[seat], unseen, unseen_by_colour)
    if kind0 == SET and kind1 == SET:
        return _two_sets_target(size0, size1, numbers, unseen)
    if kind0 == SET and kind1 == RUN:
        return _set_and_run_target(size0, size1, numbers, unseen)
    if kind0 == RUN and kind1 == SET:
        return _set_and_run_target(size1, size0, numbers, unseen)
    return _mixed_target(kind0, size0, kind1, size1, game.hands[seat])


@kernel
def _wants_colour(rules, phase):  # type: ignore[no-untyped-def]
    return rules.group_kinds[phase, 0] == COLOUR_GROUP or rules.group_kinds[phase, 1] == COLOUR_GROUP


@kernel
def greedy_target(game, rules):  # type: ignore[no-untyped-def]
    """Return (phase, demand) of the target of the seat to act: fewest missing cards, then most outs."""
    seat = game.to_act
    unseen = unseen_numbers(game, rules)
    best_phase = -1
    best_worth = -_FAR * 1000
    demand = 0
    for phase in range(rules.num_phases):
        if is_open_phase(game, rules, seat, phase):
            by_colour = unseen_colours(game, rules) if _wants_colour(rules, phase) else 0
            need, outs, wanted = _phase_target(game, rules, phase, unseen, by_colour)
            if outs - 1000 * need > best_worth:
                best_worth = outs - 1000 * need
                best_phase = phase
                demand = wanted
    return best_phase, demand


@kernel
def _beyond(group_kind, value, size, number, colour):  # type: ignore[no-untyped-def]
    """Tell whether a group has no use for a card at all."""
    if group_kind == SET:
        return number != value
    if group_kind == RUN:
        return number < value or number >= value + size
    return group_kind == NO_GROUP or colour != value - 1


@kernel
def outside_target(game, rules, phase, demand, kinds):  # type: ignore[no-untyped-def]
    """Return those of `kinds` (naturals) with a card that the target has no use for."""
    seat = game.to_act
    kind0 = rules.group_kinds[phase, 0]
    kind1 = rules.group_kinds[phase, 1]
    spare = 0
    if kind1 == NO_GROUP and kind0 == COLOUR_GROUP:
        for colour in range(4):
            if (game.colours[seat] >> (8 * colour)) & 255 > (demand >> (8 * colour)) & 255:
                spare |= colour_set(colour)
    elif (kind0 == RUN and kind1 == RUN) or kind1 == COLOUR_GROUP or kind0 == COLOUR_GROUP:
        for kind in range(WILD):
            number = kind % NUMBERS + 1
            colour = kind // NUMBERS
            if _beyond(kind0, demand & 15, rules.group_sizes[phase, 0], number, colour) and _beyond(
                kind1, demand >> 4, rules.group_sizes[phase, 1], number, colour
            ):
                spare |= 1 << kind
    else:
        for number in range(NUMBERS):
            if (game.numbers[seat] >> (4 * number)) & 15 > (demand >> (4 * number)) & 15:
                spare |= number_set(number + 1)
    return kinds & spare
