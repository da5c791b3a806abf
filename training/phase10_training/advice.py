"""Asks an agent about one decision of a game: what it would do, and what each legal action is worth to it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phase10_agents.base import ValuingAgent
from phase10_env.actions import action_text
from phase10_env.decision import Agent, DecisionView
from phase10_env.game import Game
from phase10_env.game_batch import GameBatch
from phase10_env.render.facts import Record
from phase10_env.render.steps import Advice, game_steps
from phase10_env.rules.ruleset import RuleSet

__all__ = ["AgentFaultError", "GameViews", "Opinion", "advise", "advise_game", "choose", "opinions"]


class AgentFaultError(ValueError):
    """Report an agent that crashed or chose an illegal action, in one sentence."""


class GameViews:
    """Show single games to agents: one batch row that game records are copied into.

    Args:
        ruleset: the rules.
        players: number of players.

    >>> views = GameViews(Game(seed=7).ruleset, 2)
    >>> len(views.view(Game(seed=7).state))
    1
    """

    def __init__(self, ruleset: RuleSet, players: int) -> None:
        self._batch = GameBatch(1, players, ruleset, auto_reset=False)

    def view(self, record: Record) -> DecisionView:
        """Return what the seat to act may know, as agents get it.

        Args:
            record: GAME[1], a running game.
        """
        self._batch.games[:] = record
        self._batch.refresh()
        return self._batch.view()


def choose(agent: Agent, view: DecisionView) -> int:
    """Return the action that an agent takes in a view of one decision.

    Raises:
        AgentFaultError: it crashed, returned no action or an illegal one.
    """
    try:
        answer = np.asarray(agent.act(view))
    except Exception as error:
        raise AgentFaultError(f"agent {agent.name!r} failed: {type(error).__name__}: {error}") from error
    if answer.shape != (1,) or not np.issubdtype(answer.dtype, np.integer):
        raise AgentFaultError(
            f"agent {agent.name!r} returned {answer.dtype}{list(answer.shape)}: expected one whole number"
        )
    action = int(answer[0])
    if not 0 <= action < view.action_masks.shape[1] or not view.action_masks[0, action]:
        raise AgentFaultError(f"agent {agent.name!r} chose action {action}, which is illegal here")
    return action


def advise(agent: Agent, view: DecisionView) -> Advice:
    """Return what an agent would do at a decision, with its values where it gives any.

    Args:
        agent: the agent.
        view: of one decision, see `GameViews`.

    Raises:
        AgentFaultError: it crashed or chose an illegal action.

    >>> from phase10_agents.catalog import load_agent
    >>> game = Game(seed=7)
    >>> advice = advise(load_agent("greedy"), GameViews(game.ruleset, 2).view(game.state))
    >>> action_text(advice.choice) in game.legal_actions()
    True
    """
    choice = choose(agent, view)
    if not isinstance(agent, ValuingAgent):
        return Advice(choice, {})
    try:
        row = np.asarray(agent.values(view))[0]
    except Exception as error:
        raise AgentFaultError(f"agent {agent.name!r} failed: {type(error).__name__}: {error}") from error
    legal = view.legal_actions[0, : view.legal_counts[0]].tolist()
    return Advice(choice, {action: float(row[action]) for action in legal if np.isfinite(row[action])})


def advise_game(agent: Agent, game: Game) -> list[Advice]:
    """Return what an agent would have done at each decision of a played game, in order.

    Raises:
        AgentFaultError: it crashed or chose an illegal action.
    """
    views = GameViews(game.ruleset, game.num_players)
    _, steps = game_steps(game)
    return [advise(agent, views.view(step.before)) for step in steps]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What an agent thinks of a legal action: its index, text and value (None: no value), and its choice."""

    action: int
    text: str
    value: float | None
    choice: bool


def opinions(advice: Advice, legal: Sequence[int]) -> list[Opinion]:
    """Return an agent's opinions of the legal actions, its choice first, then the better ones.

    >>> [opinion.text for opinion in opinions(Advice(1, {0: 0.5, 1: 0.25}), [0, 1])]
    ['take', 'draw']
    """
    found = [
        Opinion(action, action_text(action), advice.values.get(action), action == advice.choice)
        for action in legal
    ]
    lowest = float("-inf")
    return sorted(found, key=lambda o: (not o.choice, -(lowest if o.value is None else o.value)))
