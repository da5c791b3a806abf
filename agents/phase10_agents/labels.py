"""What each legal action of a game is worth, for teaching: playouts from the true deal, the stock shuffled anew.

Who makes the games himself knows all hands, and need not guess them as a search at the table must. Over many
games the true hands are exact samples of what the seat to act could hold possible, with all that the course of the
round tells about them; a network that learns from the labels and sees only what the seat sees learns the average.
"""

from __future__ import annotations

import numpy as np

from phase10_agents.lookahead import round_worth
from phase10_agents.policies import play_on, policy_action
from phase10_env.rules.deal import shuffle_stock
from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import legal_actions
from phase10_env.rules.random import random_bits

__all__ = ["label_rows"]

_SEED = 1 << 20  # counter of the value that becomes the game's seed


@kernel
def label_rows(  # type: ignore[no-untyped-def]
    games,
    rules,
    equity,
    rows,
    keys,
    samples,
    policies,
    weights,
    scratch,
    spare,
    legal,
    counts,
    values,
    chosen,
):
    """Label some rows of GAME[B]: write the mean worth of each legal action, and the action of the playing policy.

    Every action meets the same `samples` orders of the stock, of which each seat draws its own cards (own_draws.py),
    and each is played to the end of the round.

    Args:
        rows: int64[n]; keys: uint64[n], random stream of each.
        policies: int64[6] by seat, play the rounds out (`policies.POLICIES`).
        spare: GAME[2] and scratch: SCRATCH[1] are written on.
        legal: uint8[n, L], counts: int16[n]: legal actions, written here.
        values: float32[n, L], mean worth (`lookahead.round_worth`) of each.
        chosen: uint8[n], action of the policy of the seat to act.
    """
    for index in range(len(rows)):
        game = games[rows[index]]
        seat = game.to_act
        counts[index] = legal_actions(game, rules[0], legal[index])
        chosen[index] = policy_action(game, rules[0], policies[seat], keys[index], weights, scratch[0])
        for place in range(counts[index]):
            values[index, place] = 0.0
        for sample in range(samples):
            spare[0] = game
            order = random_bits(keys[index], sample)
            shuffle_stock(spare[0], order)
            spare[0].seed = random_bits(order, _SEED)  # later reshuffles differ, too
            for place in range(counts[index]):
                spare[1] = spare[0]
                end = spare[1]
                action = np.int64(legal[index, place])
                play_on(end, rules[0], action, policies, weights, scratch[0])
                worth = round_worth(end, rules[0], equity[0], seat, scratch[0].shares)
                values[index, place] += worth / samples
