"""Paired matches between agents: every deal is played once in each rotation of the line-up.

`share[d]` is the mean share of the wins of the first agent over the rotations of deal d (a shared first place and
a truncated game count as the fraction they are worth).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_agents.base import Agent
from phase10_env import GameBatch, RuleSet
from phase10_env.game_batch import game_seeds


def play_match(
    line_up: Sequence[Agent],
    deals: int,
    ruleset: str | RuleSet = "official",
    seed: int = 0,
    **options: Any,
) -> tuple[npt.NDArray[np.float64], GameBatch]:
    """Play deals x P whole games; return the first agent's share by deal, float64[deals], and the batch."""
    players = len(line_up)
    batch = GameBatch(
        deals * players,
        players,
        ruleset,
        observation=None,
        seeds=np.repeat(game_seeds(seed, 0, deals), players),
        auto_reset=False,
        **options,
    )
    rotation = np.tile(np.arange(players), deals)
    actions = np.zeros(deals * players, np.int64)
    while True:
        running = batch.games["status"] == 0
        if not running.any():
            break
        who = (batch.seats + rotation) % players
        for place, agent in enumerate(line_up):
            rows = np.flatnonzero(running & (who == place))
            if len(rows):
                actions[rows] = agent.act(batch.view(rows))
        batch.step(actions)
    ranks = batch.results["rank"][:, :players]
    winners = ranks == 1
    shares = np.where(
        winners.any(1, keepdims=True), winners / np.maximum(winners.sum(1, keepdims=True), 1), 1 / players
    )
    own = shares[np.arange(len(shares)), (-rotation) % players]
    return own.reshape(deals, players).mean(1), batch


def summary(shares: npt.NDArray[np.float64]) -> str:
    """Return a share in percent with the half width of its 95 % interval."""
    half = 1.96 * shares.std(ddof=1) / np.sqrt(len(shares))
    return f"{100 * shares.mean():.2f} +- {100 * half:.2f} % ({len(shares)} deals)"
