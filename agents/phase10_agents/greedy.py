"""The greedy rule as a kernel: fewest missing cards, then most outs; it looks at nobody else."""

from __future__ import annotations

import numpy as np

from phase10_agents.moves import (
    best_place,
    canonical_symbol,
    lay_down_action,
    next_hit,
    offered_kind,
    skip_at_next,
)
from phase10_agents.targets import greedy_target, outside_target
from phase10_env.distance import seat_outlook
from phase10_env.rules import table
from phase10_env.rules.cards import NATURALS, SKIP, WILD, lowest_bit, points_of
from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import can_draw, can_take, discard_kinds, hit_kinds
from phase10_env.rules.melds import hit_set
from phase10_env.rules.state import BUILD, DRAW, ONTO

__all__ = ["dearest", "greedy_action", "greedy_worth"]

_IN_TARGET = -100


@kernel
def dearest(kinds):  # type: ignore[no-untyped-def]
    """Return the kind with the most penalty points out of a set of kinds (not empty), the first of equals."""
    best = -1
    most = -1
    left = kinds
    while left != 0:
        kind = lowest_bit(left)
        left &= left - 1
        if points_of(kind) > most:
            most = points_of(kind)
            best = kind
    return best


@kernel
def greedy_worth(kind, outside):  # type: ignore[no-untyped-def]
    """Return how good greedy finds a discard: its penalty points, far less where the target has use for it."""
    return points_of(kind) + (0 if (outside >> kind) & 1 else _IN_TARGET)


@kernel
def _draw_action(game, rules):  # type: ignore[no-untyped-def]
    if not can_take(game):
        return table.DRAW
    if not can_draw(game):
        return table.TAKE
    top = game.discard[game.discard_size - 1]
    if top == WILD:
        return table.TAKE
    if game.laid[game.to_act]:
        useful = hit_set(game, rules)
    else:
        _, _, useful, _ = seat_outlook(game, rules, game.to_act)
    return table.TAKE if (useful >> top) & 1 else table.DRAW


@kernel
def _discard_action(game, rules):  # type: ignore[no-untyped-def]
    kinds = discard_kinds(game, rules)
    naturals = kinds & NATURALS
    chosen = WILD
    if naturals != 0:
        chosen = dearest(naturals)
        if not game.laid[game.to_act]:
            phase, demand = greedy_target(game, rules)
            outside = outside_target(game, rules, phase, demand, naturals)
            if outside != 0:
                chosen = dearest(outside)
    return table.DISCARD + offered_kind(game, rules, kinds, chosen)


@kernel
def greedy_action(game, rules):  # type: ignore[no-untyped-def]
    """Return the greedy agent's action for the seat to act (see `heuristics.Greedy`)."""
    if game.stage == DRAW:
        return np.int64(_draw_action(game, rules))
    if game.stage == ONTO:
        return np.int64(best_place(game, rules))
    if game.stage == BUILD:
        return np.int64(canonical_symbol(game, rules))
    lay = lay_down_action(game, rules)
    if lay >= 0:
        return np.int64(lay)
    hits = hit_kinds(game, rules)
    if hits != 0:
        return np.int64(next_hit(game, rules, hits))
    if game.hands[game.to_act, SKIP] > 0:
        skip = skip_at_next(game, rules)
        if skip >= 0:
            return np.int64(skip)
    return np.int64(_discard_action(game, rules))
