"""The rule of `expected-turns` and `aware` as one kernel: the hand's worth, and what a discard gives away."""

from __future__ import annotations

import numpy as np

from phase10_agents.moves import (
    best_place,
    canonical_symbol,
    lay_down_action,
    may_skip,
    next_hit,
    offered_kind,
)
from phase10_env.hand_worth import ALL_ASKED, count_unseen, expected_gain, gain_of, hand_changes, loss_of
from phase10_env.next_player import NOBODY, known_like, near_ends, receiver_of, spurned, table_fits
from phase10_env.rules import table
from phase10_env.rules.cards import NATURALS, NUMBERS, SKIP, WILD, lowest_bit, points_of
from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import can_draw, can_take, discard_kinds, hit_kinds, is_open_phase
from phase10_env.rules.melds import hit_set
from phase10_env.rules.phases import ADVANCE_EVERY_ROUND, COLOUR_GROUP, RUN, SET
from phase10_env.rules.state import BUILD, DRAW, ONTO

__all__ = ["aware_action", "discard_score", "draw_worths", "prepare_discards"]


@kernel
def draw_worths(game, rules, weights, scratch):  # type: ignore[no-untyped-def]
    """Return what drawing and what taking the top discard are worth, where both are legal."""
    top = game.discard[game.discard_size - 1]
    if top == WILD:
        return 0.0, 1.0
    if game.laid[game.to_act]:
        return 0.0, 1.0 if (hit_set(game, rules) >> top) & 1 else -1.0
    count_unseen(game, rules, weights, scratch)
    hand_changes(game, rules, True, 1 << (top % NUMBERS), weights, scratch)
    if gain_of(top, scratch) <= 0.0:
        return 0.0, -1.0
    hand_changes(game, rules, True, ALL_ASKED, weights, scratch)
    gain = gain_of(top, scratch)
    return expected_gain(scratch), gain - weights.shown


@kernel
def _draw_action(game, rules, weights, scratch):  # type: ignore[no-untyped-def]
    if not can_take(game):
        return table.DRAW
    if not can_draw(game):
        return table.TAKE
    draw, take = draw_worths(game, rules, weights, scratch)
    return table.TAKE if take > draw else table.DRAW


@kernel
def _wants(game, rules, seat, kind):  # type: ignore[no-untyped-def]
    """Tell whether a seat that has not laid down may still lay a phase with a group of a kind."""
    for phase in range(rules.num_phases):
        if is_open_phase(game, rules, seat, phase):
            for group in range(2):
                if rules.group_kinds[phase, group] == kind:
                    return True
    return False


@kernel
def _given_away(game, rules, seat, kind, fits, weights):  # type: ignore[no-untyped-def]
    """Return the harm of leaving a natural to a seat."""
    if game.laid[seat]:
        return weights.feed if (fits >> kind) & 1 else 0.0
    harm = 0.0
    if _wants(game, rules, seat, COLOUR_GROUP):
        harm += weights.known_colour * known_like(game, seat, kind, True)
        harm -= weights.spurned * spurned(game, seat, kind, True)
    if _wants(game, rules, seat, SET):
        harm += weights.known_number * min(2, known_like(game, seat, kind, False))
        harm -= weights.spurned * spurned(game, seat, kind, False)
    elif _wants(game, rules, seat, RUN):
        harm -= weights.spurned * min(
            2, known_like(game, seat, kind, False) + spurned(game, seat, kind, False)
        )
    return harm


@kernel
def _urgency(game, rules, weights):  # type: ignore[no-untyped-def]
    """Return the worth of a penalty point: more once somebody is about to go out, and where points decide."""
    worth = weights.points
    if rules.advance == ADVANCE_EVERY_ROUND:
        worth *= 4.0
    for seat in range(game.num_players):
        if seat != game.to_act and game.laid[seat] and game.hand_sizes[seat] <= 3:
            return worth * weights.late
    return worth


@kernel
def discard_score(game, rules, kind, fits, near, receiver, urgency, weights, scratch):  # type: ignore[no-untyped-def]
    """Return how good it is to discard a natural; `prepare_discards` comes first."""
    score = urgency * points_of(kind)
    if game.laid[game.to_act]:
        if (near >> (kind % NUMBERS + 1)) & 1:
            score -= weights.near_end
    else:
        score -= loss_of(kind, scratch)
        if (fits >> kind) & 1:
            score -= weights.keep_hit
    if receiver != NOBODY:
        score -= _given_away(game, rules, receiver, kind, fits, weights)
    return score


@kernel
def prepare_discards(game, rules, weights, scratch):  # type: ignore[no-untyped-def]
    """Reckon what `discard_score` needs and return it: what fits the table, what nearly does, receiver, urgency."""
    if not game.laid[game.to_act]:
        count_unseen(game, rules, weights, scratch)
        hand_changes(game, rules, False, ALL_ASKED, weights, scratch)
    return table_fits(game), near_ends(game), receiver_of(game, rules), _urgency(game, rules, weights)


@kernel
def _best_discard(game, rules, fits, near, receiver, urgency, weights, scratch):  # type: ignore[no-untyped-def]
    kinds = discard_kinds(game, rules)
    left = kinds & NATURALS
    if left == 0:
        return table.DISCARD + WILD
    chosen = lowest_bit(left)
    if left & (left - 1) != 0:
        best = -1e9
        while left != 0:
            kind = lowest_bit(left)
            left &= left - 1
            score = discard_score(game, rules, kind, fits, near, receiver, urgency, weights, scratch)
            if score > best:
                best = score
                chosen = kind
    return table.DISCARD + offered_kind(game, rules, kinds, chosen)


@kernel
def _skip_action(game, rules):  # type: ignore[no-untyped-def]
    """Return the Skip on the most dangerous player: laid with the fewest cards, else furthest on, else nearest."""
    best = -1
    most = -1
    for distance in range(1, game.num_players):
        if not may_skip(game, rules, distance):
            continue
        seat = (game.to_act + distance) % game.num_players
        danger = game.phase[seat]
        if game.laid[seat]:
            danger = 1000 - game.hand_sizes[seat]
        if danger > most:
            most = danger
            best = table.SKIP + distance - 1
    return best


@kernel
def aware_action(game, rules, weights, scratch):  # type: ignore[no-untyped-def]
    """Return the action of `aware`, or with other weights of `expected-turns`, for the seat to act."""
    if game.stage == DRAW:
        return np.int64(_draw_action(game, rules, weights, scratch))
    if game.stage == ONTO:
        return np.int64(best_place(game, rules))
    if game.stage == BUILD:
        return np.int64(canonical_symbol(game, rules))
    hits = hit_kinds(game, rules)
    if hits != 0:
        return np.int64(next_hit(game, rules, hits))
    fits, near, receiver, urgency = prepare_discards(game, rules, weights, scratch)
    if not game.laid[game.to_act] and scratch.distance == 0:
        lay = lay_down_action(game, rules)
        if lay >= 0:
            return np.int64(lay)
    if game.hands[game.to_act, SKIP] > 0:
        skip = _skip_action(game, rules)
        if skip >= 0:
            return np.int64(skip)
    return np.int64(_best_discard(game, rules, fits, near, receiver, urgency, weights, scratch))
