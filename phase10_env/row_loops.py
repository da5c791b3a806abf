"""The loops over the rows of a batch: reset, step, random play, refresh; for every device, from one source.

Arrays: `games` GAME[B]; `rules`, `settings`, `equity` one record each; `starts` int32[B or 1, 19]; then the
buffers of a GameBatch. Rows never influence each other, so any block of rows may run anywhere.
"""

from __future__ import annotations

import numpy as np

from phase10_env.episodes import begin, close
from phase10_env.equity import win_equities
from phase10_env.observation import encode
from phase10_env.rules.kernel import inlined_kernel, kernel
from phase10_env.rules.legal import legal_actions
from phase10_env.rules.random import AGENT, random_below, stream_key
from phase10_env.rules.state import RUNNING, TERMINATED, TRUNCATED
from phase10_env.rules.step import apply

__all__ = ["SETTINGS", "first_illegal", "is_illegal", "play_rows", "reset_rows", "show_rows", "step_rows"]

SETTINGS = np.dtype(
    [
        ("reward", np.int64),
        ("auto_reset", np.int64),
        ("single_round", np.int64),
        ("start", np.int64),
        ("observed", np.int64),  # 0: no observations are written
        ("full", np.int64),
        ("seats", np.int64),  # seat blocks of the observation
    ]
)
"""What a batch does, as one record: numbers of the choices that `GameBatch` takes by name."""


@inlined_kernel
def _show(game, rules, settings, observations, masks, legal, counts, seats, row):  # type: ignore[no-untyped-def]
    """Write what the seat to act needs: legal actions, mask, seat and observation of one row."""
    count = 0
    if game.status == RUNNING:
        count = legal_actions(game, rules, legal[row])
    counts[row] = count
    for place in range(count):
        masks[row, legal[row, place]] = True
    seats[row] = game.to_act
    if settings.observed:
        encode(game, rules, game.to_act, observations, row, settings.seats, settings.full)


# The arrays are passed one by one: Numba counts references for arrays in tuples, which halves the speed.


@inlined_kernel
def _step_row(  # type: ignore[no-untyped-def]
    game, rules, settings, equity, starts, action, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results, row,
):  # fmt: skip
    """Take one action on one row and write its buffers."""
    for seat in range(rewards.shape[1]):
        rewards[row, seat] = 0.0
    for place in range(counts[row]):
        masks[row, legal[row, place]] = False
    apply(game, rules, action, legal[row])
    terminations[row] = game.status == TERMINATED
    truncations[row] = game.status == TRUNCATED
    if game.round_over or game.status != RUNNING:
        close(game, rules, settings, equity, starts, rewards, equities, results, row)
    _show(game, rules, settings, observations, masks, legal, counts, seats, row)


@kernel
def step_rows(  # type: ignore[no-untyped-def]
    games, rules, settings, equity, starts, actions, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results, first, last,
):  # fmt: skip
    """Step the rows first ... last - 1; rows whose game is over stay as they are."""
    for row in range(first, last):
        if games[row].status == RUNNING:
            _step_row(
                games[row], rules[0], settings[0], equity[0], starts, actions[row], observations, masks, legal,
                counts, seats, rewards, terminations, truncations, equities, results, row,
            )  # fmt: skip
        else:
            for seat in range(rewards.shape[1]):
                rewards[row, seat] = 0.0


@kernel
def play_rows(  # type: ignore[no-untyped-def]
    games, rules, settings, equity, starts, decisions, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results, first, last,
):  # fmt: skip
    """Step rows with uniformly random legal actions chosen here, `decisions` times each; return episodes ended.

    A game takes up to 32 decisions before the next game has its turn, while its record is in the cache.
    """
    ended = 0
    for begun in range(0, decisions, 32):
        for row in range(first, last):
            for _ in range(min(32, decisions - begun)):
                game = games[row]
                key = stream_key(game.seed, game.episode, game.round, AGENT)
                choice = random_below(key, game.decisions, counts[row])
                action = np.int64(legal[row, choice])  # as `step` passes it: compiled once
                _step_row(
                    game, rules[0], settings[0], equity[0], starts, action, observations, masks,
                    legal, counts, seats, rewards, terminations, truncations, equities, results, row,
                )  # fmt: skip
                ended += terminations[row] or truncations[row]
    return ended


@kernel
def reset_rows(  # type: ignore[no-untyped-def]
    games, rules, settings, equity, starts, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results, first, last,
):  # fmt: skip
    """Begin an episode on the rows first ... last - 1."""
    for row in range(first, last):
        for place in range(counts[row]):
            masks[row, legal[row, place]] = False
        begin(games[row], rules[0], settings[0], starts, row)
        win_equities(games[row], rules[0], equity[0], equities[row])
        for seat in range(rewards.shape[1]):
            rewards[row, seat] = 0.0
        terminations[row] = False
        truncations[row] = False
        _show(games[row], rules[0], settings[0], observations, masks, legal, counts, seats, row)


@kernel
def show_rows(  # type: ignore[no-untyped-def]
    games, rules, settings, observations, masks, legal, counts, seats, terminations, truncations, rows
):
    """Write the buffers of some rows anew from their game records."""
    for index in range(len(rows)):
        row = rows[index]
        for action in range(masks.shape[1]):
            masks[row, action] = False
        terminations[row] = games[row].status == TERMINATED
        truncations[row] = games[row].status == TRUNCATED
        _show(games[row], rules[0], settings[0], observations, masks, legal, counts, seats, row)


@kernel
def is_illegal(games, masks, actions, row):  # type: ignore[no-untyped-def]
    """Tell whether a row runs and its action is not legal."""
    action = actions[row]
    return games[row].status == RUNNING and (action < 0 or action >= masks.shape[1] or not masks[row, action])


@kernel
def first_illegal(games, masks, actions):  # type: ignore[no-untyped-def]
    """Return the first running row whose action is not legal, or -1."""
    for row in range(len(games)):
        if is_illegal(games, masks, actions, row):
            return row
    return -1
