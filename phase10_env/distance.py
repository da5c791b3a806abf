"""How far a hand is from its phase: cards missing, cards that help, cards that are needed.

*Distance* is the smallest number of further cards with which the hand could be laid down, natural-minimum
clauses aside: over all declarations, the open slots less the naturals and Wilds that fill them. One pass over
the declarations also gives the kinds that would lower it and the held kinds whose loss would raise it.
"""

from __future__ import annotations

from phase10_env.rules.cards import NUMBERS, WILD, WILD_BIT, popcount
from phase10_env.rules.kernel import kernel
from phase10_env.rules.lay_downs import (
    declarations,
    most_naturals,
    number_count,
    numbers_held,
    run_set,
)
from phase10_env.rules.legal import is_open_phase
from phase10_env.rules.phases import COLOUR_GROUP, NO_GROUP, RUN, SET

__all__ = ["hand_outlook", "kinds_of_numbers", "phase_outlook", "seat_outlook"]

_ONES = 0x111111111111
FAR = 99


@kernel
def kinds_of_numbers(numbers):  # type: ignore[no-untyped-def]
    """Return the kinds of a number set (lowest bit of each four), in every colour."""
    x = numbers & _ONES
    x = (x | x >> 3) & 0x030303030303
    x = (x | x >> 6) & 0x000F000F000F
    x = (x & 0xF) | (x >> 12 & 0xF0) | (x >> 24 & 0xF00)
    return x | x << 12 | x << 24 | x << 36


@kernel
def _most_of_a_number(numbers):  # type: ignore[no-untyped-def]
    most = 0
    for number in range(NUMBERS):
        most = max(most, (numbers >> (4 * number)) & 15)
    return most


@kernel
def _set_and_run_outlook(set_size, run_size, numbers):  # type: ignore[no-untyped-def]
    held = numbers_held(numbers)
    twice = (numbers >> 1 | numbers >> 2 | numbers >> 3) & _ONES
    best = FAR
    wanted = 0
    needed = 0
    least = max(0, set_size - _most_of_a_number(numbers))
    for low in range(1, NUMBERS + 2 - run_size):
        run = run_set(low, run_size)
        gaps = run & ~held
        missing = popcount(gaps)
        if missing + least > best:
            continue  # no set can make up for this run
        single = run & held & ~twice
        for number in range(1, NUMBERS + 1):
            bit = 1 << (4 * (number - 1))
            count = number_count(numbers, number)
            demand = set_size
            need = missing
            if run & bit:
                demand += 1
                if count == 0:
                    need -= 1
            if demand > count:
                need += demand - count
            if need <= best:
                lacking = gaps & ~bit
                tight = single & ~bit
                if count < demand:
                    lacking |= bit
                if 0 < count <= demand:
                    tight |= bit
                if need < best:
                    best = need
                    wanted = lacking
                    needed = tight
                else:
                    wanted |= lacking
                    needed &= tight
    return best, kinds_of_numbers(wanted), kinds_of_numbers(needed)


@kernel
def _two_sets_distance(size0, size1, numbers):  # type: ignore[no-untyped-def]
    """Return how many naturals two sets lack: they share one number, or take the two with the most cards."""
    most = 0
    second = 0
    for number in range(NUMBERS):
        count = (numbers >> (4 * number)) & 15
        second = max(second, min(most, count))
        most = max(most, count)
    apart = min(
        max(0, size0 - most) + max(0, size1 - second),
        max(0, size0 - second) + max(0, size1 - most),
    )
    return min(apart, max(0, size0 + size1 - most))


@kernel
def _two_sets_outlook(size0, size1, numbers):  # type: ignore[no-untyped-def]
    best = _two_sets_distance(size0, size1, numbers)
    wanted = 0
    needed = _ONES
    like = size0 == size1
    least = max(0, size1 - _most_of_a_number(numbers))
    for first in range(1, NUMBERS + 1):
        count0 = number_count(numbers, first)
        if max(0, size0 - count0) + least > best:
            continue  # no second set can make up for this first one
        bit0 = 1 << (4 * (first - 1))
        for second in range(first if like else 1, NUMBERS + 1):
            count1 = number_count(numbers, second)
            demand0 = size0
            demand1 = size1
            if first == second:
                demand0 = size0 + size1
                demand1 = 0
            if max(0, demand0 - count0) + max(0, demand1 - count1) == best:
                bit1 = 1 << (4 * (second - 1))
                lacking = 0
                tight = 0
                if count0 < demand0:
                    lacking |= bit0
                if 0 < count0 <= demand0:
                    tight |= bit0
                if count1 < demand1:
                    lacking |= bit1
                if 0 < count1 <= demand1:
                    tight |= bit1
                wanted |= lacking
                needed &= tight
    return best, kinds_of_numbers(wanted), kinds_of_numbers(needed)


@kernel
def _one_group_outlook(group_kind, size, numbers, colours):  # type: ignore[no-untyped-def]
    held = numbers_held(numbers)
    twice = (numbers >> 1 | numbers >> 2 | numbers >> 3) & _ONES
    best = FAR
    wanted = 0
    needed = 0
    for value in range(1, declarations(group_kind, size) + 1):
        if group_kind == SET:
            count = number_count(numbers, value)
            kinds = kinds_of_numbers(1 << (4 * (value - 1)))
        elif group_kind == COLOUR_GROUP:
            count = (colours >> (8 * (value - 1))) & 255
            kinds = 0xFFF << (NUMBERS * (value - 1))
        if group_kind == RUN:
            run = run_set(value, size)
            gaps = run & ~held
            need = popcount(gaps)
            if need > best:
                continue
            lacking = kinds_of_numbers(gaps)
            tight = kinds_of_numbers(run & held & ~twice)
        else:
            need = max(0, size - count)
            lacking = kinds if count < size else 0
            tight = kinds if 0 < count <= size else 0
        if need < best:
            best = need
            wanted = lacking
            needed = tight
        elif need == best:
            wanted |= lacking
            needed &= tight
    return best, wanted, needed


@kernel
def _most_over_declarations(kind0, size0, kind1, size1, kinds):  # type: ignore[no-untyped-def]
    most = 0
    for value0 in range(1, declarations(kind0, size0) + 1):
        for value1 in range(1, declarations(kind1, size1) + 1):
            most = max(most, most_naturals(kinds, 1, kind0, value0, size0, 0, kind1, value1, size1))
    return most


@kernel
def _mixed_outlook(kind0, size0, kind1, size1, kinds):  # type: ignore[no-untyped-def]
    """Return the outlook of phases with a colour group beside another group, or two runs: by trying each kind."""
    most = _most_over_declarations(kind0, size0, kind1, size1, kinds)
    wanted = 0
    needed = 0
    for kind in range(WILD):
        kinds[kind] += 1
        if _most_over_declarations(kind0, size0, kind1, size1, kinds) > most:
            wanted |= 1 << kind
        kinds[kind] -= 1
        if kinds[kind] > 0:
            kinds[kind] -= 1
            if _most_over_declarations(kind0, size0, kind1, size1, kinds) < most:
                needed |= 1 << kind
            kinds[kind] += 1
    return size0 + size1 - most, wanted, needed


@kernel
def hand_outlook(rules, phase, kinds, numbers, colours):  # type: ignore[no-untyped-def]
    """Return (distance, kinds that lower it, held kinds whose loss raises it) of a hand for a phase from 0.

    `kinds` int8[50] counts by kind with its packed sums `numbers` and `colours`. Sets of kinds are 64-bit; the
    Wild's bit tells the same of a Wild.
    """
    kind0 = rules.group_kinds[phase, 0]
    kind1 = rules.group_kinds[phase, 1]
    size0 = rules.group_sizes[phase, 0]
    size1 = rules.group_sizes[phase, 1]
    if kind1 == NO_GROUP:
        best, wanted, needed = _one_group_outlook(kind0, size0, numbers, colours)
    elif kind0 == SET and kind1 == SET:
        best, wanted, needed = _two_sets_outlook(size0, size1, numbers)
    elif kind0 == SET and kind1 == RUN:
        best, wanted, needed = _set_and_run_outlook(size0, size1, numbers)
    elif kind0 == RUN and kind1 == SET:
        best, wanted, needed = _set_and_run_outlook(size1, size0, numbers)
    else:
        best, wanted, needed = _mixed_outlook(kind0, size0, kind1, size1, kinds)
    wilds = kinds[WILD]
    if best < wilds:
        return 0, 0, 0
    if best == wilds:
        return 0, 0, needed | WILD_BIT
    return best - wilds, wanted | WILD_BIT, needed | WILD_BIT


@kernel
def phase_outlook(game, rules, seat, phase):  # type: ignore[no-untyped-def]
    """Return `hand_outlook` of a seat's hand for one phase."""
    return hand_outlook(rules, phase, game.hands[seat], game.numbers[seat], game.colours[seat])


@kernel
def seat_outlook(game, rules, seat):  # type: ignore[no-untyped-def]
    """Return (phase, distance, kinds that lower it, kinds needed) for the phase a seat is nearest to.

    Only "pick" leaves a choice; the first of the nearest phases counts then.
    """
    best_phase = min(game.phase[seat], rules.num_phases - 1)
    best = FAR
    wanted = 0
    needed = 0
    for phase in range(rules.num_phases):
        if is_open_phase(game, rules, seat, phase):
            distance, lowers, keeps = phase_outlook(game, rules, seat, phase)
            if distance < best:
                best_phase = phase
                best = distance
                wanted = lowers
                needed = keeps
    return best_phase, best, wanted, needed
