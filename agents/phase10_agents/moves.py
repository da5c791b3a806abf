"""Moves that all heuristics make alike: which hit to make, where it goes, whom a Skip may meet.

Kernels of one game record; they read the hand of the seat to act and public fields, nothing else. Sets of kinds
are 64-bit integers. Numbers are packed four bits each, as in the record.
"""

from __future__ import annotations

from phase10_env.rules import table
from phase10_env.rules.cards import NATURALS, NUMBERS, WILD, lowest_bit
from phase10_env.rules.deal import next_active
from phase10_env.rules.kernel import kernel
from phase10_env.rules.lay_downs import (
    can_lay,
    finish_canonically,
    group_in_hand,
    number_count,
    take_back_card,
)
from phase10_env.rules.legal import colours_matter, is_open_phase
from phase10_env.rules.melds import HIGH_END, LOW_END, meld_ends, meld_in_reach
from phase10_env.rules.phases import COLOUR_GROUP, RUN, TARGET_NEXT

__all__ = [
    "best_place",
    "canonical_symbol",
    "holds_number",
    "lay_down_action",
    "may_skip",
    "next_hit",
    "offered_kind",
    "skip_at_next",
]


@kernel
def offered_kind(game, rules, kinds, kind):  # type: ignore[no-untyped-def]
    """Return the kind that the action table offers for a kind out of `kinds`.

    With compact actions, and no colour group to reckon with, that is the lowest colour of the number.
    """
    if kind >= WILD or not game.compact or colours_matter(game, rules):
        return kind
    lowest = kind % NUMBERS
    while (kinds >> lowest) & 1 == 0:
        lowest += NUMBERS
    return lowest


@kernel
def holds_number(game, number):  # type: ignore[no-untyped-def]
    """Tell whether the seat to act holds a natural of a number; 0 and 13 are held by nobody."""
    if number < 1 or number > NUMBERS:
        return False
    return number_count(game.numbers[game.to_act], number) > 0


@kernel
def lay_down_action(game, rules):  # type: ignore[no-untyped-def]
    """Return the action that lays a whole phase down, or -1: of several open phases the one with most cards."""
    seat = game.to_act
    best = -1
    most = 0
    if game.laid[seat]:
        return best
    for phase in range(rules.num_phases):
        cards = rules.group_sizes[phase, 0] + rules.group_sizes[phase, 1]
        if cards >= most and is_open_phase(game, rules, seat, phase) and can_lay(game, rules, seat, phase):
            most = cards
            best = table.LAY + phase
    return best


@kernel
def canonical_symbol(game, rules):  # type: ignore[no-untyped-def]
    """Return the next action of a lay-down being built: the one that `lay K` would have taken."""
    group = group_in_hand(game, rules)
    if game.compact and game.declared[group] != 0:
        group = 1
    declared0 = game.declared[0]
    declared1 = game.declared[1]
    size0 = game.placed_sizes[0]
    size1 = game.placed_sizes[1]
    was_declared = game.declared[group] != 0
    size = game.placed_sizes[group]
    finish_canonically(game, rules)
    if was_declared:
        action = table.PLAY + game.placed[group, size]
    elif rules.group_kinds[game.build_phase, group] == COLOUR_GROUP:
        action = table.COLOUR + game.declared[group] - 1
    else:
        action = table.NUMBER + game.declared[group] - 1
    while game.placed_sizes[1] > size1:
        take_back_card(game, 1)
        game.placed[1, game.placed_sizes[1]] = 0
    while game.placed_sizes[0] > size0:
        take_back_card(game, 0)
        game.placed[0, game.placed_sizes[0]] = 0
    game.declared[0] = declared0
    game.declared[1] = declared1
    return action


@kernel
def next_hit(game, rules, hits):  # type: ignore[no-untyped-def]
    """Return the action that hits with one of `hits` (not empty): naturals before Wilds, which fit later too."""
    naturals = hits & NATURALS
    kind = WILD
    if naturals != 0:
        kind = lowest_bit(naturals)
    return table.PLAY + offered_kind(game, rules, hits, kind)


@kernel
def best_place(game, rules):  # type: ignore[no-untyped-def]
    """Return the action that gives the waiting card its place.

    First a run end that makes a natural of the own hand fit, then a set or colour group, then any run end.
    """
    kind = game.onto_card
    best = -1
    chosen = table.ONTO
    for distance in range(game.num_players):
        seat = (game.to_act + distance) % game.num_players
        for group in range(2):
            meld = 2 * seat + group
            if not meld_in_reach(game, rules, meld):
                continue
            ends = meld_ends(game, meld, kind)
            for end in range(2):
                if ends & (HIGH_END if end else LOW_END) == 0:
                    continue
                worth = 2
                if game.meld_kind[meld] == RUN:
                    following = game.meld_high[meld] + 2 if end else game.meld_value[meld] - 2
                    worth = 3 if holds_number(game, following) else 1
                if worth > best:
                    best = worth
                    chosen = table.ONTO + 4 * distance + 2 * group + end
    return chosen


@kernel
def may_skip(game, rules, distance):  # type: ignore[no-untyped-def]
    """Tell whether a Skip may be played on the player `distance` seats to the left (R23, R25, R33)."""
    target = (game.to_act + distance) % game.num_players
    if not game.active[target] or game.skipped[target]:
        return False
    return rules.skip_target != TARGET_NEXT or target == next_active(game, game.to_act)


@kernel
def skip_at_next(game, rules):  # type: ignore[no-untyped-def]
    """Return the action that plays a held Skip on the nearest player who may be skipped."""
    for distance in range(1, game.num_players):
        if may_skip(game, rules, distance):
            return table.SKIP + distance - 1
    return -1
