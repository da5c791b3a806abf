"""What a hand is worth: the turns each possible lay-down still takes, weighed together; tables by number.

A *target* is a declaration for each group of an open phase. Its time T is the expected number of own turns until
its missing cards have come; the worth of a hand is V = sum over targets of exp(-discount * T), with targets more
than one card behind the nearest left out. `hand_changes` gives V and, for each number and colour, by how much a
card more raises it or a card less lowers it, all in one pass.

Waiting times, with u unseen naturals that help, w unseen Wilds and U unseen cards in all:
- k cards of one number or colour: k U / (reach (u - (k - 1) / 2) + w)
- g places of a run with mean waiting time c: sum for j = 1 ... g of 1 / (j / c + w / U)
- both together: a + b - a b / (a + b), the expected maximum of two exponential times
Wilds in hand fill whatever is best filled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_env.distance import phase_outlook
from phase10_env.rules.cards import NUMBERS, SKIP, WILD
from phase10_env.rules.kernel import kernel
from phase10_env.rules.lay_downs import declarations
from phase10_env.rules.legal import is_open_phase
from phase10_env.rules.phases import NO_GROUP, PLACE_FRONT, RUN, SET

__all__ = [
    "ALL_ASKED",
    "HAND_FIELDS",
    "HAND_SCRATCH",
    "count_unseen",
    "expected_gain",
    "gain_of",
    "hand_changes",
    "loss_of",
    "new_hand_scratch",
]

HAND_FIELDS: list[Any] = [
    ("total", np.float64),  # cards nobody has shown
    ("wilds", np.float64),  # Wilds among them
    ("outs", np.float64, (12,)),  # naturals among them, by number
    ("colour_outs", np.float64, (4,)),  # likewise by colour
    ("wait", np.float64, (12,)),  # turns until a natural of a number comes, by number
    ("value", np.float64),  # worth of the hand: sum over targets
    ("change", np.float64, (12,)),  # change of that worth by a card more, or less, of a number
    ("colour_change", np.float64, (4,)),  # likewise of a colour
    ("wild_change", np.float64),
    ("asked", np.int64),  # numbers and Wild whose gain is asked for, as a bit set
    ("mixed", np.int64),  # kinds that matter to phases without numbers of their own to reckon with
    ("distance", np.int64),  # cards missing for the nearest phase
]
"""What is worked out about one hand; other records may hold these fields too."""
HAND_SCRATCH = np.dtype(
    [
        *HAND_FIELDS,
        ("discount", np.float64),  # loss of worth by a turn of waiting
        ("reach", np.float64),  # how much likelier a natural comes than by drawing alone
    ],
    align=True,
)
"""What the kernels below write on, and in its last two fields the `weights` they read."""


def new_hand_scratch() -> npt.NDArray[np.void]:
    """Return HAND_SCRATCH[1] with the usual discount (0.45 a turn) and reach (1.25).

    >>> float(new_hand_scratch()["discount"][0])
    0.45
    """
    scratch = np.zeros(1, HAND_SCRATCH)
    scratch["discount"] = 0.45
    scratch["reach"] = 1.25
    return scratch


ALL_ASKED = 0x1FFF
"""Bit set that asks for the gains of all numbers and of the Wild."""
_WILD_ASKED = 1 << 12
_SLACK = 1  # targets so many cards behind the nearest still count
_SPARE_OUTS = 0.3  # stands for the outs of a number none of which is left
_MIXED_GAIN = 0.5
_LEAST = 1e-3
_FAR = 99


@kernel
def _unseen(game, rules, kind):  # type: ignore[no-untyped-def]
    """Return how many cards of a kind nobody has shown to the seat to act; Skips in front of seats apart."""
    seat = game.to_act
    count = (
        rules.deck_counts[kind] - game.hands[seat, kind] - game.table_counts[kind] - game.pile_counts[kind]
    )
    for other in range(game.num_players):
        if other != seat:
            count -= game.known[other, kind]
    return count


@kernel
def count_unseen(game, rules, weights, scratch):  # type: ignore[no-untyped-def]
    """Count the cards that nobody has shown to the seat to act, and from them the waiting times."""
    for number in range(NUMBERS):
        scratch.outs[number] = 0.0
    total = 0
    for colour in range(4):
        of_colour = 0
        for number in range(NUMBERS):
            unseen = _unseen(game, rules, NUMBERS * colour + number)
            scratch.outs[number] += unseen
            of_colour += unseen
        scratch.colour_outs[colour] = of_colour
        total += of_colour
    skips = _unseen(game, rules, SKIP)
    if rules.skip_placement == PLACE_FRONT:
        for other in range(game.num_players):
            if other != game.to_act:
                skips -= game.skipped[other]
    wilds = _unseen(game, rules, WILD)
    scratch.wilds = wilds
    scratch.total = max(1, total + wilds + skips)
    for number in range(NUMBERS):
        scratch.wait[number] = scratch.total / (weights.reach * scratch.outs[number] + _SPARE_OUTS)


@kernel
def _like_turns(missing, outs, weights, scratch):  # type: ignore[no-untyped-def]
    """Return the turns until `missing` cards of one number or colour have come."""
    if missing <= 0:
        return 0.0
    rate = weights.reach * max(0.0, outs - 0.5 * (missing - 1)) + scratch.wilds + 0.1
    return missing * scratch.total / rate


@kernel
def _run_turns(gaps, wilds, waits, scratch):  # type: ignore[no-untyped-def]
    """Return the turns until all gaps of a run are filled but as many as there are Wilds in hand."""
    turns = 0.0
    if gaps <= wilds:
        return turns
    rate = gaps / waits
    wild_rate = scratch.wilds / scratch.total
    for left in range(wilds + 1, gaps + 1):
        turns += 1.0 / (left * rate + wild_rate)
    return turns


@kernel
def _both(first, second):  # type: ignore[no-untyped-def]
    if first <= 0.0:
        return second
    if second <= 0.0:
        return first
    return first + second - first * second / (first + second)


@kernel
def _set_run_worth(missing, outs, gaps, waits, wilds, weights, scratch):  # type: ignore[no-untyped-def]
    """Return exp(-discount * T) of a set and a run, the Wilds in hand shared out best."""
    best = 1e9
    for to_set in range(max(0, min(wilds, missing)) + 1):
        turns = _both(
            _like_turns(missing - to_set, outs, weights, scratch),
            _run_turns(gaps, wilds - to_set, waits, scratch),
        )
        best = min(best, turns)
    return np.exp(-weights.discount * best)


@kernel
def _two_likes_worth(missing0, outs0, missing1, outs1, wilds, weights, scratch):  # type: ignore[no-untyped-def]
    """Return exp(-discount * T) of two sets."""
    best = 1e9
    for to_first in range(max(0, min(wilds, missing0)) + 1):
        turns = _both(
            _like_turns(missing0 - to_first, outs0, weights, scratch),
            _like_turns(missing1 - (wilds - to_first), outs1, weights, scratch),
        )
        best = min(best, turns)
    return np.exp(-weights.discount * best)


@kernel
def _count(numbers, number):  # type: ignore[no-untyped-def]
    return (numbers >> (4 * number)) & 15


@kernel
def _gaps(numbers, low, size):  # type: ignore[no-untyped-def]
    gaps = 0
    for number in range(low, low + size):
        if _count(numbers, number) == 0:
            gaps += 1
    return gaps


@kernel
def _waits(numbers, low, size, scratch):  # type: ignore[no-untyped-def]
    waits = 0.0
    for number in range(low, low + size):
        if _count(numbers, number) == 0:
            waits += scratch.wait[number]
    return waits


@kernel
def _set_lacks(set_size, run_size, low, number, count):  # type: ignore[no-untyped-def]
    """Return how many cards a set lacks beside a run that uses one of its number, where it can."""
    lacks = set_size - count
    if count > 0 and low <= number < low + run_size:
        lacks += 1
    return max(0, lacks)


@kernel
def _set_and_run(set_size, run_size, numbers, wilds, more, weights, scratch):  # type: ignore[no-untyped-def]
    nearest = _FAR
    for low in range(NUMBERS + 1 - run_size):
        gaps = _gaps(numbers, low, run_size)
        for number in range(NUMBERS):
            lacks = _set_lacks(set_size, run_size, low, number, _count(numbers, number))
            nearest = min(nearest, gaps + lacks)
    limit = max(nearest, wilds) + _SLACK
    for low in range(NUMBERS + 1 - run_size):
        gaps = _gaps(numbers, low, run_size)
        if gaps > limit:
            continue
        waits = _waits(numbers, low, run_size, scratch)
        for number in range(NUMBERS):
            count = _count(numbers, number)
            lacks = _set_lacks(set_size, run_size, low, number, count)
            if gaps + lacks > limit:
                continue
            outs = scratch.outs[number]
            worth = _set_run_worth(lacks, outs, gaps, waits, wilds, weights, scratch)
            scratch.value += worth
            inside = low <= number < low + run_size
            if more:
                if gaps + lacks <= wilds:
                    continue
                if scratch.asked & _WILD_ASKED:
                    scratch.wild_change += (
                        _set_run_worth(lacks, outs, gaps, waits, wilds + 1, weights, scratch) - worth
                    )
                if lacks > 0 and not (inside and count == 0) and (scratch.asked >> number) & 1:
                    scratch.change[number] += (
                        _set_run_worth(lacks - 1, outs, gaps, waits, wilds, weights, scratch) - worth
                    )
            elif 0 < count <= set_size + (1 if inside else 0):
                scratch.change[number] += worth - _set_run_worth(
                    lacks + 1, outs, gaps, waits, wilds, weights, scratch
                )
            for other in range(low, low + run_size):
                held = _count(numbers, other)
                wait = scratch.wait[other]
                if more and held == 0 and (scratch.asked >> other) & 1:
                    scratch.change[other] += (
                        _set_run_worth(lacks, outs, gaps - 1, waits - wait, wilds, weights, scratch) - worth
                    )
                elif not more and held == 1 and other != number:
                    scratch.change[other] += worth - _set_run_worth(
                        lacks, outs, gaps + 1, waits + wait, wilds, weights, scratch
                    )
    return nearest


@kernel
def _two_sets(size0, size1, numbers, wilds, more, weights, scratch):  # type: ignore[no-untyped-def]
    nearest = _FAR
    like = size0 == size1
    for first in range(NUMBERS):
        count0 = _count(numbers, first)
        nearest = min(nearest, max(0, size0 + size1 - count0))
        for second in range(first + 1 if like else 0, NUMBERS):
            if second != first:
                nearest = min(nearest, max(0, size0 - count0) + max(0, size1 - _count(numbers, second)))
    limit = max(nearest, wilds) + _SLACK
    for first in range(NUMBERS):
        for second in range(first if like else 0, NUMBERS):
            demand0 = size0 + size1 if second == first else size0
            demand1 = 0 if second == first else size1
            count0 = _count(numbers, first)
            count1 = _count(numbers, second)
            lacks0 = max(0, demand0 - count0)
            lacks1 = max(0, demand1 - count1)
            if lacks0 + lacks1 > limit:
                continue
            outs0 = scratch.outs[first]
            outs1 = scratch.outs[second]
            worth = _two_likes_worth(lacks0, outs0, lacks1, outs1, wilds, weights, scratch)
            scratch.value += worth
            if more:
                if lacks0 + lacks1 <= wilds:
                    continue
                if scratch.asked & _WILD_ASKED:
                    scratch.wild_change += (
                        _two_likes_worth(lacks0, outs0, lacks1, outs1, wilds + 1, weights, scratch) - worth
                    )
                if lacks0 > 0 and (scratch.asked >> first) & 1:
                    scratch.change[first] += (
                        _two_likes_worth(lacks0 - 1, outs0, lacks1, outs1, wilds, weights, scratch) - worth
                    )
                if lacks1 > 0 and (scratch.asked >> second) & 1:
                    scratch.change[second] += (
                        _two_likes_worth(lacks0, outs0, lacks1 - 1, outs1, wilds, weights, scratch) - worth
                    )
            else:
                if 0 < count0 <= demand0:
                    scratch.change[first] += worth - _two_likes_worth(
                        lacks0 + 1, outs0, lacks1, outs1, wilds, weights, scratch
                    )
                if 0 < count1 <= demand1:
                    scratch.change[second] += worth - _two_likes_worth(
                        lacks0, outs0, lacks1 + 1, outs1, wilds, weights, scratch
                    )
    return nearest


@kernel
def _one_run(size, numbers, wilds, more, weights, scratch):  # type: ignore[no-untyped-def]
    nearest = _FAR
    for low in range(NUMBERS + 1 - size):
        nearest = min(nearest, _gaps(numbers, low, size))
    limit = max(nearest, wilds) + _SLACK
    for low in range(NUMBERS + 1 - size):
        gaps = _gaps(numbers, low, size)
        if gaps > limit:
            continue
        waits = _waits(numbers, low, size, scratch)
        worth = np.exp(-weights.discount * _run_turns(gaps, wilds, waits, scratch))
        scratch.value += worth
        if more and gaps > wilds and scratch.asked & _WILD_ASKED:
            scratch.wild_change += (
                np.exp(-weights.discount * _run_turns(gaps, wilds + 1, waits, scratch)) - worth
            )
        for number in range(low, low + size):
            held = _count(numbers, number)
            wait = scratch.wait[number]
            if more and held == 0 and gaps > wilds and (scratch.asked >> number) & 1:
                turns = _run_turns(gaps - 1, wilds, waits - wait, scratch)
                scratch.change[number] += np.exp(-weights.discount * turns) - worth
            elif not more and held == 1:
                turns = _run_turns(gaps + 1, wilds, waits + wait, scratch)
                scratch.change[number] += worth - np.exp(-weights.discount * turns)
    return nearest


@kernel
def _one_like(group_kind, size, numbers, colours, wilds, more, weights, scratch):  # type: ignore[no-untyped-def]
    nearest = _FAR
    places = declarations(group_kind, size)
    for place in range(places):
        count = _count(numbers, place) if group_kind == SET else (colours >> (8 * place)) & 255
        nearest = min(nearest, max(0, size - count))
    for place in range(places):
        count = _count(numbers, place) if group_kind == SET else (colours >> (8 * place)) & 255
        lacks = max(0, size - count)
        if lacks > max(nearest, wilds) + _SLACK:
            continue
        outs = scratch.outs[place] if group_kind == SET else scratch.colour_outs[place]
        worth = np.exp(-weights.discount * _like_turns(lacks - wilds, outs, weights, scratch))
        scratch.value += worth
        change = 0.0
        if more and lacks > wilds:
            change = (
                np.exp(-weights.discount * _like_turns(lacks - wilds - 1, outs, weights, scratch)) - worth
            )
            scratch.wild_change += change
        elif not more and 0 < count <= size:
            turns = _like_turns(lacks + 1 - wilds, outs, weights, scratch)
            change = worth - np.exp(-weights.discount * turns)
        if group_kind == SET:
            scratch.change[place] += change
        else:
            scratch.colour_change[place] += change
    return nearest


@kernel
def _phase_changes(game, rules, phase, more, weights, scratch):  # type: ignore[no-untyped-def]
    seat = game.to_act
    kind0 = rules.group_kinds[phase, 0]
    kind1 = rules.group_kinds[phase, 1]
    size0 = rules.group_sizes[phase, 0]
    size1 = rules.group_sizes[phase, 1]
    numbers = game.numbers[seat]
    wilds = np.int64(game.hands[seat, WILD])
    if kind1 == NO_GROUP:
        if kind0 == RUN:
            return _one_run(size0, numbers, wilds, more, weights, scratch) - wilds
        return _one_like(kind0, size0, numbers, game.colours[seat], wilds, more, weights, scratch) - wilds
    if kind0 == SET and kind1 == SET:
        return _two_sets(size0, size1, numbers, wilds, more, weights, scratch) - wilds
    if kind0 == SET and kind1 == RUN:
        return _set_and_run(size0, size1, numbers, wilds, more, weights, scratch) - wilds
    if kind0 == RUN and kind1 == SET:
        return _set_and_run(size1, size0, numbers, wilds, more, weights, scratch) - wilds
    distance, lowers, needed = phase_outlook(game, rules, seat, phase)
    scratch.value += np.exp(-4.0 * weights.discount * distance)
    scratch.mixed |= lowers if more else needed
    return distance


@kernel
def hand_changes(game, rules, more, asked, weights, scratch):  # type: ignore[no-untyped-def]
    """Write the worth of the hand of the seat to act and its changes by one card more (or less) of each number.

    `count_unseen` comes first. The changes are not negative. `asked` (a bit set, 0-11 for the numbers 1-12, 12 for
    the Wild; ALL_ASKED) spares the work on gains that nobody wants to know.
    """
    scratch.asked = asked
    scratch.value = 1e-12
    scratch.wild_change = 0.0
    scratch.mixed = 0
    for number in range(NUMBERS):
        scratch.change[number] = 0.0
    for colour in range(4):
        scratch.colour_change[colour] = 0.0
    nearest = _FAR
    for phase in range(rules.num_phases):
        if is_open_phase(game, rules, game.to_act, phase):
            nearest = min(nearest, _phase_changes(game, rules, phase, more, weights, scratch))
    scratch.distance = max(0, nearest)


@kernel
def gain_of(kind, scratch):  # type: ignore[no-untyped-def]
    """Return by how much one card more raises the logarithm of the hand's worth."""
    if kind == SKIP:
        return 0.0
    if kind == WILD:
        return np.log1p(scratch.wild_change / scratch.value)
    change = scratch.change[kind % NUMBERS] + scratch.colour_change[kind // NUMBERS]
    if (scratch.mixed >> kind) & 1:
        change += _MIXED_GAIN * scratch.value
    return np.log1p(change / scratch.value)


@kernel
def loss_of(kind, scratch):  # type: ignore[no-untyped-def]
    """Return by how much one natural less lowers the logarithm of the hand's worth."""
    change = scratch.change[kind % NUMBERS] + scratch.colour_change[kind // NUMBERS]
    if (scratch.mixed >> kind) & 1:
        change += _MIXED_GAIN * scratch.value
    return -np.log(max(_LEAST, 1.0 - change / scratch.value))


@kernel
def expected_gain(scratch):  # type: ignore[no-untyped-def]
    """Return the mean gain of an unseen card, after `hand_changes` with `more`."""
    expected = scratch.wilds * gain_of(WILD, scratch)
    for number in range(NUMBERS):
        if scratch.change[number] > 0.0:
            expected += scratch.outs[number] * np.log1p(scratch.change[number] / scratch.value)
    for colour in range(4):
        if scratch.colour_change[colour] > 0.0:
            expected += scratch.colour_outs[colour] * np.log1p(scratch.colour_change[colour] / scratch.value)
    return expected / scratch.total
