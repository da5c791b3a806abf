"""Playouts: what an action leads to on average over the deals a seat thinks possible; which candidates stay in.

Shapes: C candidates, S samples. `values` float64[C, S] holds the worth of candidate c on sample s: the seat's win
equity after the round, plus a little for the points. Every candidate meets the same samples, and in them each seat
draws its own cards (own_draws.py).
"""

from __future__ import annotations

import numpy as np

from phase10_agents.belief import improve_hands
from phase10_agents.policies import play_on
from phase10_agents.sampler import fill_hidden
from phase10_env.equity import win_equities
from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import colours_matter
from phase10_env.rules.random import random_bits

__all__ = [
    "colours_count",
    "drop_losers",
    "gated_choice",
    "paired_score",
    "play_samples",
    "round_worth",
    "worths_of",
]

LEAST_LEAD = 0.004
"""Lead in win equity that is worth searching for."""
POINT_WORTH = 0.0004
"""Worth of a penalty point that the others have more than the seat; small beside any phase."""


@kernel
def round_worth(game, rules, equity, seat, shares):  # type: ignore[no-untyped-def]
    """Return the worth for a seat of a game whose round has just ended; `shares` float64[6] is scratch."""
    win_equities(game, rules, equity, shares)
    points = 0.0
    if game.round_over:
        for other in range(game.num_players):
            if other != seat:
                points += game.round_points[other]
        points = points / (game.num_players - 1) - game.round_points[seat]
    return shares[seat] + POINT_WORTH * points


@kernel
def worths_of(games, rules, equity, seat, shares, out):  # type: ignore[no-untyped-def]
    """Write the worth for a seat of every game of GAME[n] into out float64[n]."""
    for row in range(len(games)):
        out[row] = round_worth(games[row], rules[0], equity[0], seat, shares)


@kernel
def play_samples(  # type: ignore[no-untyped-def]
    known, rules, equity, policies, weights, scratch, games, actions, alive, effort, first, last, key, values
):
    """Play the candidates that are still in on the samples first ... last - 1, to the end of the round.

    `known` GAME[1] is what the seat to act knows; `games` GAME[2] and `scratch` SCRATCH[1] are written on;
    `policies` int64[6] by seat; `actions` int64[C]; `alive` bool[C]; `effort` see belief.py, 0: uniform deals.
    """
    seat = known[0].to_act
    for sample in range(first, last):
        games[0] = known[0]
        stream = random_bits(key, sample)
        fill_hidden(games[0], rules[0], seat, stream)
        if effort > 0.0:
            improve_hands(games[0], rules[0], seat, effort, stream)
        for candidate in range(len(actions)):
            if not alive[candidate]:
                continue
            games[1] = games[0]
            game = games[1]
            play_on(game, rules[0], actions[candidate], policies, weights, scratch[0])
            values[candidate, sample] = round_worth(game, rules[0], equity[0], seat, scratch[0].shares)


@kernel
def colours_count(games, rules, row):  # type: ignore[no-untyped-def]
    """Tell whether cards of one number that differ in colour are different choices in a game."""
    return colours_matter(games[row], rules[0])


@kernel
def paired_score(values, candidate, base, samples):  # type: ignore[no-untyped-def]
    """Return (mean, standard error) of the difference between two candidates over the first samples."""
    total = 0.0
    squares = 0.0
    for sample in range(samples):
        difference = values[candidate, sample] - values[base, sample]
        total += difference
        squares += difference * difference
    mean = total / samples
    variance = max(0.0, squares / samples - mean * mean)
    return mean, np.sqrt(variance / max(1, samples - 1)) + 1e-9


@kernel
def drop_losers(values, alive, samples):  # type: ignore[no-untyped-def]
    """Drop candidates that are behind the first, or as good as equal to it; return how many are left.

    Behind: half a standard error below it. As good as equal: two standard errors would not make it LEAST_LEAD
    better, so the rest of the budget is better spent on others.
    """
    left = 0
    for candidate in range(len(alive)):
        if candidate > 0 and alive[candidate]:
            mean, error = paired_score(values, candidate, 0, samples)
            if mean + 0.5 * error < 0.0 or mean + 2.0 * error < LEAST_LEAD:
                alive[candidate] = False
        left += alive[candidate]
    return left


@kernel
def gated_choice(values, alive, samples, gate):  # type: ignore[no-untyped-def]
    """Return the best candidate still in, if `gate` standard errors ahead of the first, else 0."""
    best = 0
    lead = 0.0
    for candidate in range(1, len(alive)):
        if alive[candidate]:
            mean, error = paired_score(values, candidate, 0, samples)
            if mean > gate * error and mean > lead:
                lead = mean
                best = candidate
    return best
