"""Playouts by any agent, in one batch: slower than compiled policies, but a learned policy can play the rounds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from phase10_agents.base import Agent, DecisionView
from phase10_agents.belief import improve_hands
from phase10_agents.lookahead import worths_of
from phase10_agents.own_draws import prepare_draws
from phase10_agents.sampler import fill_hidden
from phase10_env.equity import EquityModel
from phase10_env.game_batch import GameBatch
from phase10_env.observation import LEVELS, observation_layout
from phase10_env.rules.kernel import kernel
from phase10_env.rules.random import random_bits
from phase10_env.rules.state import GAME, MAX_PLAYERS, RUNNING, TERMINATED

__all__ = ["play_with_agent"]


@kernel
def _fill_samples(known, rules, effort, first, key, games):  # type: ignore[no-untyped-def]
    """Write one sampled deal for each row of games, the samples counted from `first`."""
    for row in range(len(games)):
        games[row] = known[0]
        stream = random_bits(key, first + row)
        fill_hidden(games[row], rules[0], known[0].to_act, stream)
        if effort > 0.0:
            improve_hands(games[row], rules[0], known[0].to_act, effort, stream)


def _level_of(view: DecisionView) -> tuple[str | None, bool]:
    """Return how the observations of a view were made: level (None: without) and whether padded to six seats."""
    if view.observations.shape[1] == view.layout.size:
        for level in LEVELS:
            for padded in (False, True):
                if observation_layout(view.num_players, level, padded) == view.layout:
                    return level, padded
    return None, False


def play_with_agent(
    agent: Agent,
    view: DecisionView,
    known: npt.NDArray[np.void],
    equity: EquityModel,
    actions: npt.NDArray[np.int64],
    alive: npt.NDArray[np.bool_],
    effort: float,
    first: int,
    last: int,
    key: np.uint64,
    values: npt.NDArray[np.float64],
) -> None:
    """Play candidates on samples first ... last - 1 to the end of the round, every seat by one agent.

    The same as `lookahead.play_samples`, with the agent asked for all games at once.
    """
    samples = last - first
    dealt = np.zeros(samples, GAME)
    _fill_samples(known, view.ruleset.record, effort, first, key, dealt)
    candidates = np.flatnonzero(alive)
    level, padded = _level_of(view)
    batch = GameBatch(
        len(candidates) * samples,
        view.num_players,
        view.ruleset,
        actions="compact" if known["compact"][0] else "full",
        observation=level,
        pad_seats=padded,
        auto_reset=False,
    )
    batch.games[:] = np.tile(dealt, len(candidates))
    batch.refresh()
    first_actions = np.repeat(actions[candidates], samples)
    ends = np.zeros((batch.num_games, MAX_PLAYERS), np.int64)
    left = np.full(batch.num_games, -1)
    prepare_draws(batch.games, np.arange(batch.num_games), first_actions, left, ends)
    batch.step(first_actions)
    finished = np.zeros(batch.num_games, GAME)
    running = np.ones(batch.num_games, np.bool_)
    while True:
        over = running & ((batch.games["round_over"] != 0) | (batch.games["status"] != RUNNING))
        finished[over] = batch.games[over]
        batch.games["status"][over] = TERMINATED  # a finished row is left alone by the batch
        running &= ~over
        rows = np.flatnonzero(running)
        if len(rows) == 0:
            break
        chosen = np.zeros(batch.num_games, np.int64)
        chosen[rows] = agent.act(batch.view(rows))
        prepare_draws(batch.games, rows, chosen, left, ends)
        batch.step(chosen, check=False)
    worth = np.zeros(batch.num_games)
    worths_of(finished, view.ruleset.record, equity.record, known["to_act"][0], np.zeros(6), worth)
    values[candidates, first:last] = worth.reshape(len(candidates), samples)
