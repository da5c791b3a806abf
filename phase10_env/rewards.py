"""Rewards, one for each seat, summing to 0: "win", "rank", "points" and "equity".

- win: at the end of a game; a sole winner gets +1, the others -1 / (P - 1); k winners share the mean of the
  places they take.
- rank: at the end of a game, linear from +1 to -1 by place; equal ranks share the mean of their places.
- points: after each round, the mean of the others' points less the own, over 100.
- equity: after each round, the change of win equity (equity.py).

A truncated game pays 0 (R34).
"""

from __future__ import annotations

from phase10_env.equity import win_equities
from phase10_env.rules.kernel import kernel
from phase10_env.rules.state import TERMINATED, TRUNCATED

__all__ = ["REWARDS", "write_rewards"]

REWARDS = ("win", "rank", "points", "equity")
"""The rewards by name, in the order of the numbers that kernels use."""
WIN, RANK, POINTS, EQUITY_CHANGE = 0, 1, 2, 3


@kernel
def _place_rewards(game, kind, rewards):  # type: ignore[no-untyped-def]
    players = game.num_players
    for seat in range(players):
        equals = 0
        for other in range(players):
            equals += game.rank[other] == game.rank[seat]
        total = 0.0
        for place in range(game.rank[seat] - 1, game.rank[seat] - 1 + equals):
            if kind == RANK:
                total += 1.0 - 2.0 * place / (players - 1)
            elif place == 0:
                total += 1.0
            else:
                total -= 1.0 / (players - 1)
        rewards[seat] = total / equals


@kernel
def write_rewards(game, rules, kind, equity, equities, rewards):  # type: ignore[no-untyped-def]
    """Write the rewards float32[P] of a step that ended a round or the game.

    `equities` float64[P] holds each seat's equity before the round and gets the one after it.
    """
    players = game.num_players
    if game.status == TRUNCATED:
        return
    if kind in (WIN, RANK):
        if game.status == TERMINATED:
            _place_rewards(game, kind, rewards)
    elif kind == POINTS:
        if not game.round_over:  # a tie-break that a cap ended: no round was scored
            return
        total = 0
        for seat in range(players):
            total += game.round_points[seat]
        for seat in range(players):
            own = game.round_points[seat]
            rewards[seat] = ((total - own) / (players - 1) - own) / 100.0
    else:
        for seat in range(players):
            rewards[seat] = -equities[seat]
        win_equities(game, rules, equity, equities)
        for seat in range(players):
            rewards[seat] += equities[seat]
