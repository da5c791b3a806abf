"""Kernels that step single rows of a batch, for environments in which not every game moves at once."""

from __future__ import annotations

from phase10_env.observation import encode
from phase10_env.rewards import write_rewards
from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import legal_actions
from phase10_env.rules.state import RUNNING, TRUNCATED
from phase10_env.rules.step import apply

__all__ = ["CUT", "ENDED", "ILLEGAL", "REWARDED", "SEAT", "step_row", "step_rows"]

ILLEGAL = -1
"""Result of a step that the rules forbid; nothing has changed."""
SEAT = 7
"""Mask of any other result: the seat to act."""
REWARDED = 8
"""Bit of a result: rewards were paid."""
ENDED = 16
"""Bit of a result: the episode is over."""
CUT = 32
"""Bit of a result: the episode is over because it was cut off."""


@kernel
def step_row(  # type: ignore[no-untyped-def]
    games,
    rules,
    equity,
    equities,
    observations,
    masks,
    legal,
    counts,
    rewards,
    kind,
    seats,
    full,
    row,
    action,
):
    """Take an action on one row, write its buffers and return ILLEGAL or SEAT | REWARDED | ENDED | CUT.

    The rewards of a row are written only by a step that pays (REWARDED). Arguments are the arrays of a
    GameBatch; `kind` is the index of the reward, `seats` the seat blocks of an observation, `full` its level.
    """
    if action < 0 or action >= masks.shape[1] or not masks[row, action]:
        return ILLEGAL
    game = games[row]
    for place in range(counts[row]):
        masks[row, legal[row, place]] = False
    apply(game, rules[0], action, legal[row])
    count = 0
    result = 0
    if game.status == RUNNING:
        count = legal_actions(game, rules[0], legal[row])
        for place in range(count):
            masks[row, legal[row, place]] = True
    else:
        result = ENDED
        if game.status == TRUNCATED:
            result += CUT
    counts[row] = count
    if game.round_over or result:
        result += REWARDED
        for seat in range(game.num_players):
            rewards[row, seat] = 0.0
        write_rewards(game, rules[0], kind, equity[0], equities[row], rewards[row])
    encode(game, rules[0], game.to_act, observations, row, seats, full)
    return result + game.to_act


@kernel
def step_rows(  # type: ignore[no-untyped-def]
    games, rules, equity, equities, observations, masks, legal, counts, rewards, kind, seats, full,
    to_act, rows, actions, results,
):  # fmt: skip
    """Take actions int64[n] on rows int64[n]; write the results int64[n] and the seats to act."""
    for index in range(len(rows)):
        row = rows[index]
        results[index] = step_row(
            games, rules, equity, equities, observations, masks, legal, counts, rewards, kind, seats, full,
            row, actions[index],
        )  # fmt: skip
        to_act[row] = games[row].to_act
