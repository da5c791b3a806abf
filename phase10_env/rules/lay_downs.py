"""Lay-downs: which ones a hand holds, how they are spelled, and the canonical choice of cards (R10, R14-R18).

A group is filled from *naturals* (numbered cards) and Wilds. Feasibility has a closed form: the Wilds needed
are the open slots less the most naturals the slots can take, and that maximum follows from how many cards
each group can use and how many they share (Hall's theorem for two groups). No card assignment is enumerated.

Packed numbers: `numbers` holds the naturals by number, four bits each. A *number set* uses the lowest bit of
each of these twelve places. A declaration is the number of a set, the low end of a run, or the colour + 1 of
a colour group; 0 means "not declared".
"""

from __future__ import annotations

from phase10_env.rules import table
from phase10_env.rules.cards import NUMBERS, WILD, popcount
from phase10_env.rules.kernel import kernel
from phase10_env.rules.phases import COLOUR_GROUP, NATURALS_GROUP, NO_GROUP, OUT_DISCARD, RUN, SET

__all__ = [
    "best_naturals",
    "build_children",
    "can_finish",
    "can_lay",
    "declarations",
    "finish_canonically",
    "group_in_hand",
    "group_naturals",
    "is_candidate",
    "is_spelled",
    "most_naturals",
    "number_count",
    "numbers_held",
    "open_spelling",
    "place_card",
    "plain_naturals",
    "run_set",
    "take_back_card",
]

_ONES = 0x111111111111
_TENS = 0xFFF << 36  # the places of the numbers 10, 11 and 12
_LOWEST_TEN = 10


@kernel
def number_count(numbers, number):  # type: ignore[no-untyped-def]
    """Return how many naturals of a number (1-12) the packed numbers hold."""
    return (numbers >> (4 * (number - 1))) & 15


@kernel
def numbers_held(numbers):  # type: ignore[no-untyped-def]
    """Return the number set of the numbers with at least one natural."""
    return (numbers | numbers >> 1 | numbers >> 2 | numbers >> 3) & _ONES


@kernel
def _numbers_held_twice(numbers):  # type: ignore[no-untyped-def]
    return (numbers >> 1 | numbers >> 2 | numbers >> 3) & _ONES


@kernel
def run_set(low, size):  # type: ignore[no-untyped-def]
    """Return the number set low ... low + size - 1."""
    return (((1 << (4 * size)) - 1) & _ONES) << (4 * (low - 1))


@kernel
def declarations(kind, size):  # type: ignore[no-untyped-def]
    """Return how many declarations a group has: 12 numbers, 13 - size low ends, 4 colours, 1 for no group."""
    if kind == SET:
        return NUMBERS
    if kind == RUN:
        return NUMBERS + 1 - size
    if kind == COLOUR_GROUP:
        return 4
    return 1


@kernel
def group_naturals(kind, size, value, numbers):  # type: ignore[no-untyped-def]
    """Return the most naturals that one whole set or run can take from packed numbers."""
    if kind == SET:
        return min(size, number_count(numbers, value))
    return popcount(run_set(value, size) & numbers_held(numbers))


@kernel
def plain_naturals(kind0, size0, value0, kind1, size1, value1, numbers):  # type: ignore[no-untyped-def]
    """Return the most naturals that one or two whole groups without colour can take from packed numbers."""
    if kind0 == SET:
        count0 = number_count(numbers, value0)
        if kind1 == NO_GROUP:
            return min(size0, count0)
        if kind1 == SET:
            if value0 == value1:
                return min(size0 + size1, count0)
            return min(size0, count0) + min(size1, number_count(numbers, value1))
        return _set_and_run(size0, value0, size1, value1, numbers)
    run0 = run_set(value0, size0)
    held = numbers_held(numbers)
    if kind1 == NO_GROUP:
        return popcount(run0 & held)
    if kind1 == SET:
        return _set_and_run(size1, value1, size0, value0, numbers)
    run1 = run_set(value1, size1)
    return popcount((run0 | run1) & held) + popcount(run0 & run1 & _numbers_held_twice(numbers))


@kernel
def _set_and_run(set_size, number, run_size, low, numbers):  # type: ignore[no-untyped-def]
    run = run_set(low, run_size)
    count = number_count(numbers, number)
    bit = 1 << (4 * (number - 1))
    rest = popcount(run & numbers_held(numbers) & ~bit)
    if run & bit:
        return min(set_size + 1, count) + rest
    return min(set_size, count) + rest


@kernel
def _in_group(kinds, group_kind, value, slots, floor, number):  # type: ignore[no-untyped-def]
    """Return how many naturals of a number the open slots of a group could use.

    `floor` is the lowest kind that may still be spelled (sets and colour groups ascend); for a run, `value`
    is the lowest open place and `slots` the number of open places.
    """
    count = 0
    if group_kind == SET:
        if number == value:
            for colour in range(4):
                kind = NUMBERS * colour + number - 1
                if kind >= floor:
                    count += kinds[kind]
    elif group_kind == RUN:
        if value <= number < value + slots:
            for colour in range(4):
                count += kinds[NUMBERS * colour + number - 1]
    elif group_kind == COLOUR_GROUP:
        kind = NUMBERS * (value - 1) + number - 1
        if kind >= floor:
            count += kinds[kind]
    return count


@kernel
def _in_both(kinds, kind0, value0, slots0, floor0, kind1, value1, slots1, number):  # type: ignore[no-untyped-def]
    """Return how many naturals of a number the open slots of either of two groups could use.

    Slow, and 0 where one of the two can use none: callers ask that first.
    """
    count = 0
    for colour in range(4):
        kind = NUMBERS * colour + number - 1
        first = (
            (kind0 == SET and number == value0 and kind >= floor0)
            or (kind0 == RUN and value0 <= number < value0 + slots0)
            or (kind0 == COLOUR_GROUP and colour == value0 - 1 and kind >= floor0)
        )
        second = (
            (kind1 == SET and number == value1)
            or (kind1 == RUN and value1 <= number < value1 + slots1)
            or (kind1 == COLOUR_GROUP and colour == value1 - 1)
        )
        if first and second:
            count += kinds[kind]
    return count


@kernel
def most_naturals(kinds, lowest, kind0, value0, slots0, floor0, kind1, value1, slots1):  # type: ignore[no-untyped-def]
    """Return the most naturals with a number >= lowest that the open slots of two groups can take.

    The first group may be partly filled (`floor0`), the second is whole or absent. Two groups that each take
    any card of a pool (sets, colour groups) follow Hall's bound; a run beside such a pool splits into places
    that have a card outside the pool and places that compete with it; two runs count cards place by place.
    """
    total0 = 0
    total1 = 0
    shared = 0
    places = 0  # run: places with a card at all
    free_places = 0  # run beside a pool: places with a card outside the pool
    places_both = 0  # two runs: naturals used, place by place
    for number in range(lowest, NUMBERS + 1):
        in0 = _in_group(kinds, kind0, value0, slots0, floor0, number)
        in1 = _in_group(kinds, kind1, value1, slots1, 0, number)
        both = 0
        if in0 > 0 and in1 > 0:
            both = _in_both(kinds, kind0, value0, slots0, floor0, kind1, value1, slots1, number)
        total0 += in0
        total1 += in1
        shared += both
        in_run = 0
        if kind0 == RUN:
            in_run = in0
        elif kind1 == RUN:
            in_run = in1
        if in_run > 0:
            places += 1
            if in_run > both:
                free_places += 1
        if kind0 == RUN and kind1 == RUN:
            wanted = (1 if in0 > 0 else 0) + (1 if in1 > 0 else 0)
            places_both += min(wanted, max(in0, in1))
    if kind0 == RUN and kind1 == RUN:
        return places_both
    if kind0 == RUN or kind1 == RUN:
        pool = total1
        capacity = slots1
        if kind1 == RUN:
            pool = total0
            capacity = slots0
        return free_places + min(pool, capacity + places - free_places)
    return min(min(slots0 + slots1, slots0 + total1), min(slots1 + total0, total0 + total1 - shared))


@kernel
def _naturals_allow(rules, kinds, kind0, value0, slots0, floor0, has0, kind1, value1, slots1, has_any):  # type: ignore[no-untyped-def]
    """Tell whether each group (or the phase as a whole) can have its natural (R18).

    `has0`: the first group already holds one, or is absent; `has_any`: some group already holds one.
    """
    total0 = 0
    total1 = 0
    shared = 0
    for number in range(1, NUMBERS + 1):
        in0 = _in_group(kinds, kind0, value0, slots0, floor0, number)
        in1 = _in_group(kinds, kind1, value1, slots1, 0, number)
        total0 += in0
        total1 += in1
        if in0 > 0 and in1 > 0:
            shared += _in_both(kinds, kind0, value0, slots0, floor0, kind1, value1, slots1, number)
    if rules.naturals != NATURALS_GROUP:
        return has_any or total0 + total1 > 0
    if not has0 and total0 == 0:
        return False
    if kind1 == NO_GROUP:
        return True
    if total1 == 0:
        return False
    return has0 or total0 + total1 - shared >= 2


@kernel
def _plain_naturals_allow(rules, kind0, size0, value0, kind1, size1, value1, numbers):  # type: ignore[no-untyped-def]
    """Tell the same as `_naturals_allow` for whole groups without colour, from packed numbers."""
    held = numbers_held(numbers)
    set0 = run_set(value0, size0 if kind0 == RUN else 1)
    found0 = set0 & held
    if kind1 == NO_GROUP:
        return found0 != 0
    set1 = run_set(value1, size1 if kind1 == RUN else 1)
    found1 = set1 & held
    if rules.naturals != NATURALS_GROUP:
        return (found0 | found1) != 0
    if found0 == 0 or found1 == 0:
        return False
    together = found0 | found1
    return (together & (together - 1)) != 0 or (together & _numbers_held_twice(numbers)) != 0


@kernel
def can_lay(game, rules, seat, phase):  # type: ignore[no-untyped-def]
    """Tell whether a seat's hand holds a phase (index from 0) whole, under `naturals` and `go_out`."""
    kind0 = rules.group_kinds[phase, 0]
    kind1 = rules.group_kinds[phase, 1]
    size0 = rules.group_sizes[phase, 0]
    size1 = rules.group_sizes[phase, 1]
    slots = size0 + size1
    if slots > game.hand_sizes[seat]:
        return False
    if rules.go_out == OUT_DISCARD and slots == game.hand_sizes[seat]:
        return False
    wilds = game.hands[seat, WILD]
    plain = kind0 != COLOUR_GROUP and kind1 != COLOUR_GROUP
    numbers = game.numbers[seat]
    if kind0 == COLOUR_GROUP and kind1 == NO_GROUP:
        for colour in range(4):
            count = (game.colours[seat] >> (8 * colour)) & 255
            if count > 0 and count + wilds >= size0:
                return True
        return False
    like = kind0 == kind1 and size0 == size1
    for value0 in range(1, declarations(kind0, size0) + 1):
        if plain and size0 - group_naturals(kind0, size0, value0, numbers) > wilds:
            continue  # too few cards for the first group, whatever the second is
        for value1 in range(value0 if like else 1, declarations(kind1, size1) + 1):
            if plain:
                naturals = plain_naturals(kind0, size0, value0, kind1, size1, value1, numbers)
                if slots - naturals <= wilds and _plain_naturals_allow(
                    rules, kind0, size0, value0, kind1, size1, value1, numbers
                ):
                    return True
            else:
                kinds = game.hands[seat]
                naturals = most_naturals(kinds, 1, kind0, value0, size0, 0, kind1, value1, size1)
                if slots - naturals <= wilds and _naturals_allow(
                    rules, kinds, kind0, value0, size0, 0, False, kind1, value1, size1, False
                ):
                    return True
    return False


# ---- spelling: the lay-down being built, in the record's build fields --------------------------------------


@kernel
def open_spelling(game, seat, phase):  # type: ignore[no-untyped-def]
    """Begin the spelling of a phase: nothing declared, the whole hand free."""
    game.build_phase = phase
    for group in range(2):
        game.declared[group] = 0
        game.placed_sizes[group] = 0
        for place in range(game.placed.shape[1]):
            game.placed[group, place] = 0
    for kind in range(50):
        game.free[kind] = game.hands[seat, kind]
    game.free_numbers = game.numbers[seat]


@kernel
def place_card(game, group, kind):  # type: ignore[no-untyped-def]
    """Spell one more card of a group."""
    size = game.placed_sizes[group]
    game.placed[group, size] = kind
    game.placed_sizes[group] = size + 1
    game.free[kind] -= 1
    if kind < WILD:
        game.free_numbers -= 1 << (4 * (kind % NUMBERS))


@kernel
def take_back_card(game, group):  # type: ignore[no-untyped-def]
    """Undo the last `place_card` of a group."""
    size = game.placed_sizes[group] - 1
    kind = game.placed[group, size]
    game.placed[group, size] = 0  # trying a card out leaves no trace
    game.placed_sizes[group] = size
    game.free[kind] += 1
    if kind < WILD:
        game.free_numbers += 1 << (4 * (kind % NUMBERS))


@kernel
def group_in_hand(game, rules):  # type: ignore[no-untyped-def]
    """Return the group being filled: 0, 1, or 2 when the lay-down is spelled out."""
    phase = game.build_phase
    for group in range(2):
        if rules.group_kinds[phase, group] != NO_GROUP:
            if game.declared[group] == 0:
                return group
            if game.placed_sizes[group] < rules.group_sizes[phase, group]:
                return group
    return 2


@kernel
def is_spelled(game, rules):  # type: ignore[no-untyped-def]
    """Tell whether every group is declared and filled."""
    return group_in_hand(game, rules) == 2


@kernel
def _has_natural(game, group):  # type: ignore[no-untyped-def]
    for place in range(game.placed_sizes[group]):  # noqa: SIM110 - Numba compiles no generators
        if game.placed[group, place] < WILD:
            return True
    return False


@kernel
def _floor(game, group):  # type: ignore[no-untyped-def]
    size = game.placed_sizes[group]
    if size == 0:
        return 0
    return game.placed[group, size - 1]


@kernel
def _open_naturals(game, rules, value0, value1, lowest):  # type: ignore[no-untyped-def]
    """Return the most naturals (number >= lowest) the open slots can take under two declarations."""
    phase = game.build_phase
    kind0 = rules.group_kinds[phase, 0]
    kind1 = rules.group_kinds[phase, 1]
    size0 = rules.group_sizes[phase, 0]
    size1 = rules.group_sizes[phase, 1]
    placed0 = game.placed_sizes[0]
    placed1 = game.placed_sizes[1]
    if placed0 + placed1 == 0 and kind0 != COLOUR_GROUP and kind1 != COLOUR_GROUP:
        numbers = game.free_numbers
        if lowest == _LOWEST_TEN:
            numbers &= _TENS
        return plain_naturals(kind0, size0, value0, kind1, size1, value1, numbers)
    free = game.free[:]  # an array of the same type as a hand: what takes either is compiled once
    if placed0 < size0:
        value = value0 + placed0 if kind0 == RUN else value0
        return most_naturals(
            free, lowest, kind0, value, size0 - placed0, _floor(game, 0), kind1, value1, size1
        )
    if kind1 == NO_GROUP:
        return 0
    value = value1 + placed1 if kind1 == RUN else value1
    return most_naturals(free, lowest, kind1, value, size1 - placed1, _floor(game, 1), NO_GROUP, 0, 0)


@kernel
def _finishes(game, rules, value0, value1):  # type: ignore[no-untyped-def]
    """Tell whether the spelling so far can be finished under two declarations."""
    phase = game.build_phase
    kind0 = rules.group_kinds[phase, 0]
    kind1 = rules.group_kinds[phase, 1]
    size0 = rules.group_sizes[phase, 0]
    size1 = rules.group_sizes[phase, 1]
    placed0 = game.placed_sizes[0]
    placed1 = game.placed_sizes[1]
    slots = size0 + size1 - placed0 - placed1
    if slots - _open_naturals(game, rules, value0, value1, 1) > game.free[WILD]:
        return False
    if placed0 + placed1 == 0 and kind0 != COLOUR_GROUP and kind1 != COLOUR_GROUP:
        return _plain_naturals_allow(rules, kind0, size0, value0, kind1, size1, value1, game.free_numbers)
    free = game.free[:]  # likewise
    has0 = _has_natural(game, 0)
    has1 = _has_natural(game, 1)
    if placed0 < size0:
        value = value0 + placed0 if kind0 == RUN else value0
        return _naturals_allow(
            rules, free, kind0, value, size0 - placed0, _floor(game, 0), has0, kind1, value1, size1, has0
        )
    if rules.naturals == NATURALS_GROUP and not has0:
        return False
    if kind1 == NO_GROUP:
        return has0
    value = value1 + placed1 if kind1 == RUN else value1
    return _naturals_allow(
        rules,
        free,
        kind1,
        value,
        size1 - placed1,
        _floor(game, 1),
        has1,
        NO_GROUP,
        0,
        0,
        has0 or has1,
    )


@kernel
def _first_second(game, rules, value0):  # type: ignore[no-untyped-def]
    """Return the lowest declaration open to the second group beside the first's (like groups ascend)."""
    phase = game.build_phase
    like = (
        rules.group_kinds[phase, 0] == rules.group_kinds[phase, 1]
        and rules.group_sizes[phase, 0] == rules.group_sizes[phase, 1]
    )
    return value0 if like else 1


@kernel
def can_finish(game, rules):  # type: ignore[no-untyped-def]
    """Tell whether the spelling so far, the first group declared, is the beginning of a whole lay-down."""
    phase = game.build_phase
    first1 = last1 = game.declared[1]
    if first1 == 0:
        first1 = _first_second(game, rules, game.declared[0])
        last1 = declarations(rules.group_kinds[phase, 1], rules.group_sizes[phase, 1])
    for value1 in range(first1, last1 + 1):  # noqa: SIM110 - Numba compiles no generators
        if _finishes(game, rules, game.declared[0], value1):
            return True
    return False


@kernel
def _declaration_action(kind, value):  # type: ignore[no-untyped-def]
    if kind == COLOUR_GROUP:
        return table.COLOUR + value - 1
    return table.NUMBER + value - 1


@kernel
def _declaration_children(game, rules, group, out, count):  # type: ignore[no-untyped-def]
    phase = game.build_phase
    kind = rules.group_kinds[phase, group]
    first = 1
    if group == 1:
        first = _first_second(game, rules, game.declared[0])
    for value in range(first, declarations(kind, rules.group_sizes[phase, group]) + 1):
        game.declared[group] = value
        if can_finish(game, rules):
            out[count] = _declaration_action(kind, value)
            count += 1
    game.declared[group] = 0
    return count


@kernel
def is_candidate(game, rules, group, kind):  # type: ignore[no-untyped-def]
    """Tell whether a card in hand may stand next in the spelling of a group, whatever comes later."""
    if game.free[kind] == 0:
        return False
    if kind == WILD:
        return True
    group_kind = rules.group_kinds[game.build_phase, group]
    value = game.declared[group]
    number = kind % NUMBERS + 1
    if group_kind == RUN:
        return number == value + game.placed_sizes[group]
    if kind < _floor(game, group):
        return False
    if group_kind == SET:
        return number == value
    return kind // NUMBERS == value - 1


@kernel
def build_children(game, rules, out):  # type: ignore[no-untyped-def]
    """Write the legal next symbols of the spelling (action indices, ascending) and return their number."""
    group = group_in_hand(game, rules)
    if group == 2:
        return 0
    if game.declared[group] == 0:
        return _declaration_children(game, rules, group, out, 0)
    if game.compact:
        if group == 0 and rules.group_kinds[game.build_phase, 1] != NO_GROUP and game.declared[1] == 0:
            return _declaration_children(game, rules, 1, out, 0)
        return 0
    count = 0
    for kind in range(WILD + 1):
        if is_candidate(game, rules, group, kind):
            place_card(game, group, kind)
            if can_finish(game, rules):
                out[count] = table.PLAY + kind
                count += 1
            take_back_card(game, group)
    return count


# ---- the canonical choice ----------------------------------------------------------------------------------


@kernel
def best_naturals(game, rules, value0, value1):  # type: ignore[no-untyped-def]
    """Return the worth of the best spelling under two declarations, or -1: fewest Wilds, then most points.

    Worth = 32 * naturals used + naturals of ten points among them; the naturals that can be used at all form
    a matroid, so a largest choice that is also richest takes as many ten-point cards as can be used together.
    """
    if not _finishes(game, rules, value0, value1):
        return -1
    return 32 * _open_naturals(game, rules, value0, value1, 1) + _open_naturals(
        game, rules, value0, value1, _LOWEST_TEN
    )


@kernel
def _card_worth(kind):  # type: ignore[no-untyped-def]
    if kind == WILD:
        return 0
    return 33 if kind % NUMBERS + 1 >= _LOWEST_TEN else 32


@kernel
def finish_canonically(game, rules):  # type: ignore[no-untyped-def]
    """Finish the spelling by the rule of `lay K`: fewest Wilds, then most points, then first in index order.

    The spelling must be one that can be finished. What is declared or placed already stays.
    """
    phase = game.build_phase
    best = -1
    chosen0 = 0
    second = 0  # the declarations of the second group that reach the best worth, as a bit set
    first0 = last0 = game.declared[0]
    if first0 == 0:
        first0 = 1
        last0 = declarations(rules.group_kinds[phase, 0], rules.group_sizes[phase, 0])
    for value0 in range(first0, last0 + 1):
        first1 = last1 = game.declared[1]
        if first1 == 0:
            first1 = _first_second(game, rules, value0)
            last1 = declarations(rules.group_kinds[phase, 1], rules.group_sizes[phase, 1])
        for value1 in range(first1, last1 + 1):
            worth = best_naturals(game, rules, value0, value1)
            if worth > best:
                best = worth
                chosen0 = value0
                second = 0
            if worth == best and value0 == chosen0 and worth >= 0:
                second |= 1 << value1
    game.declared[0] = chosen0
    for group in range(2):
        if rules.group_kinds[phase, group] == NO_GROUP:
            continue
        if group == 1:
            value1 = 0
            while (second >> value1) & 1 == 0:
                value1 += 1
            game.declared[1] = value1
            second = 1 << value1
        while game.placed_sizes[group] < rules.group_sizes[phase, group]:
            best, second = _place_first(game, rules, group, best, second)


@kernel
def _place_first(game, rules, group, best, second):  # type: ignore[no-untyped-def]
    """Place the first card (by index) that keeps the best worth; return the worth and the seconds left."""
    for kind in range(WILD + 1):
        if not is_candidate(game, rules, group, kind):
            continue
        place_card(game, group, kind)
        left = best - _card_worth(kind)
        still = 0
        for value1 in range(13):
            if (second >> value1) & 1 and _worth_left(game, rules, value1) == left:
                still |= 1 << value1
        if still:
            return left, still
        take_back_card(game, group)
    return -1, 0  # pragma: no cover - what can be finished has a next card


@kernel
def _worth_left(game, rules, value1):  # type: ignore[no-untyped-def]
    return best_naturals(game, rules, game.declared[0], value1)
