"""What an agent thinks of each legal action of a position: the rows that `phase10 explain` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phase10_agents.base import Agent, ValuingAgent
from phase10_agents.catalog import load_agent
from phase10_env.actions import action_text
from phase10_env.game import Game
from phase10_env.game_batch import GameBatch
from phase10_env.rules.state import RUNNING

__all__ = ["ActionValue", "explain", "explain_batch"]


@dataclass(frozen=True)
class ActionValue:
    """A legal action, the agent's value of it (nan where the agent has none), and whether it is the choice."""

    action: int
    text: str
    value: float
    chosen: bool


def explain_batch(batch: GameBatch, agent: Agent) -> list[list[ActionValue]]:
    """Return the legal actions of every running game of a batch with the agent's values, best first.

    >>> from phase10_agents.catalog import load_agent
    >>> rows = explain_batch(GameBatch(num_games=1, seed=4), load_agent("aware"))[0]
    >>> [row.text for row in rows if row.chosen]
    ['draw']
    """
    running = np.flatnonzero(batch.games["status"] == RUNNING)
    view = batch.view(running)
    chosen = agent.act(view)
    values = agent.values(batch.view(running)) if isinstance(agent, ValuingAgent) else None
    out = []
    for row in range(len(running)):
        legal = view.legal_actions[row, : view.legal_counts[row]].tolist()
        rows = [
            ActionValue(
                action,
                action_text(action),
                math.nan if values is None else float(values[row, action]),
                action == chosen[row],
            )
            for action in legal
        ]
        rows.sort(key=lambda found: -math.inf if math.isnan(found.value) else found.value, reverse=True)
        out.append(rows)
    return out


def explain(position: Game | Mapping[str, Any] | str, agent: str | Agent = "aware") -> list[ActionValue]:
    """Return what an agent thinks of each legal action of a position, best first.

    Args:
        position: a game, or one as a dict or JSON text (the form `Game.position` writes).
        agent: an agent or its specification.

    Raises:
        ValueError: the position is inconsistent, its game is over, or the agent is not known.
    """
    game = position if isinstance(position, Game) else Game.from_position(position)
    record = game.state
    player = load_agent(agent) if isinstance(agent, str) else agent
    batch = GameBatch(
        1,
        int(record["num_players"][0]),
        game.ruleset,
        actions="compact" if record["compact"][0] else "full",
        auto_reset=False,
    )
    batch.games[:] = record
    batch.refresh()
    if batch.games["status"][0] != RUNNING:
        raise ValueError(
            "the game of this position is over: nobody is to act, so there is nothing to explain"
        )
    return explain_batch(batch, player)[0]
