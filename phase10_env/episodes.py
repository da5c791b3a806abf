"""How the episodes of a batch begin and end: starts, results, and the rewards of a round that ended."""

from __future__ import annotations

import numpy as np

from phase10_env.equity import win_equities
from phase10_env.rewards import write_rewards
from phase10_env.rules.deal import next_active
from phase10_env.rules.kernel import kernel
from phase10_env.rules.phases import ADVANCE_EVERY_ROUND, ADVANCE_PICK
from phase10_env.rules.random import random_below, stream_key
from phase10_env.rules.scoring import has_finished, phases_completed
from phase10_env.rules.state import MAX_PLAYERS, RUNNING, TERMINATED
from phase10_env.rules.step import begin_episode, begin_round, seat_players, start_game

__all__ = ["FROM_THE_FIRST", "GIVEN", "MIXED", "RESULT", "STARTS", "begin", "close"]

START = 4  # purpose of the random stream that draws the start of a round episode

FROM_THE_FIRST = 0
"""A round starts where a game does."""
MIXED = 1
"""A round starts from phases, scores and a dealer drawn anew."""
GIVEN = 2
"""A round starts from what the caller gave."""
STARTS = ("first", "mixed", "given")
"""The names of these starts; the place is the number."""

RESULT = np.dtype(
    [
        ("episode", np.int64),  # number of the episode on its row
        ("status", np.int8),  # TERMINATED or TRUNCATED
        ("rounds", np.int16),  # rounds begun
        ("decisions", np.int32),
        ("rank", np.int8, (MAX_PLAYERS,)),  # 1 = winner; 0 where nobody was ranked
        ("score", np.int32, (MAX_PLAYERS,)),
        ("phases", np.int8, (MAX_PLAYERS,)),  # phases completed
        ("turns", np.int32),  # turns of the last round, lost ones included
        ("laid", np.int8, (MAX_PLAYERS,)),  # who laid down in it
        ("points", np.int32, (MAX_PLAYERS,)),  # penalty points of it
    ],
    align=True,
)
"""What is kept of an episode that ended, for whoever evaluates."""


@kernel
def _continues(game, rules):  # type: ignore[no-untyped-def]
    """Tell whether the round just played leads to a further round of the same game."""
    if game.status != TERMINATED or game.round >= rules.max_rounds:
        return False
    finished = 0
    for seat in range(game.num_players):
        finished += has_finished(game, rules, seat)
    return finished == 0


@kernel
def _draw_start(game, rules):  # type: ignore[no-untyped-def]
    """Draw phases, scores and dealer of a round: 70 % near each other, 20 % anywhere, 10 % going on."""
    key = stream_key(game.seed, game.episode, 0, START)
    share = random_below(key, 0, 100)
    if share < 10 and game.single_round and _continues(game, rules):
        game.dealer = next_active(game, game.dealer)
        game.round += 1
        return
    last = rules.num_phases - 1
    base = random_below(key, 1, rules.num_phases)
    for seat in range(game.num_players):
        phase = random_below(key, 10 + seat, rules.num_phases)
        if share < 80:
            phase = min(max(base + random_below(key, 20 + seat, 5) - 2, 0), last)
        if rules.advance == ADVANCE_EVERY_ROUND:
            phase = base
        game.phase[seat] = phase
        game.done[seat] = 0
        if rules.advance == ADVANCE_PICK:
            game.phase[seat] = 0
            for count in range(phase):
                which = random_below(key, 100 + 16 * seat + count, rules.num_phases - count)
                for candidate in range(rules.num_phases):
                    if (game.done[seat] >> candidate) & 1 == 0:
                        if which == 0:
                            game.done[seat] |= 1 << candidate
                            break
                        which -= 1
        game.score[seat] = 5 * random_below(key, 30 + seat, 1 + 8 * (phase + base))
        game.active[seat] = 1
    game.dealer = random_below(key, 2, game.num_players)
    game.round = 1


@kernel
def begin(game, rules, settings, starts, row):  # type: ignore[no-untyped-def]
    """Begin the next episode of a row."""
    if not settings.single_round:
        start_game(game, rules)
        return
    if settings.start == MIXED:
        _draw_start(game, rules)
    else:
        seat_players(game, rules, START)
        if settings.start == GIVEN:
            for seat in range(game.num_players):
                game.phase[seat] = starts[row, seat]
                game.score[seat] = starts[row, MAX_PLAYERS + seat]
                game.done[seat] = starts[row, 2 * MAX_PLAYERS + seat]
            if starts[row, 3 * MAX_PLAYERS] >= 0:
                game.dealer = starts[row, 3 * MAX_PLAYERS]
    game.single_round = 1
    begin_episode(game)
    begin_round(game, rules)


@kernel
def _write_result(game, rules, result):  # type: ignore[no-untyped-def]
    result.episode = game.episode
    result.status = game.status
    result.rounds = game.round
    result.decisions = game.decisions
    result.turns = game.turn
    for seat in range(game.num_players):
        result.rank[seat] = game.rank[seat]
        result.score[seat] = game.score[seat]
        result.laid[seat] = game.round_laid[seat]
        result.points[seat] = game.round_points[seat]
        result.phases[seat] = phases_completed(game, rules, seat)
        if rules.advance == ADVANCE_EVERY_ROUND:
            result.phases[seat] = game.phase[seat]


@kernel
def close(game, rules, settings, equity, starts, rewards, equities, results, row):  # type: ignore[no-untyped-def]
    """Pay the rewards of a round that ended; keep the result of an episode that ended and begin the next."""
    write_rewards(game, rules, settings.reward, equity, equities[row], rewards[row])
    if game.status == RUNNING:
        return
    _write_result(game, rules, results[row])
    if settings.auto_reset:
        game.episode += 1
        begin(game, rules, settings, starts, row)
        win_equities(game, rules, equity, equities[row])
