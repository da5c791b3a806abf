"""What all agents share: the error of a wrong specification and the reading of parameters.

An agent has a `name` and `act(view) -> int[n]`. Some also have `values(view) -> float64[n, 165]`, the worth they
give each legal action (nan elsewhere), higher is better; `explain` prints it under what `value_meaning` says of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from phase10_env.decision import Agent, DecisionView
from phase10_env.names import hint
from phase10_env.observation import LEVELS

__all__ = [
    "Agent",
    "AgentError",
    "DecisionView",
    "ValuingAgent",
    "observation_level",
    "read_number",
    "refuse_unknown",
    "value_meaning",
]


class AgentError(ValueError):
    """An agent specification that names nothing known, or a parameter out of its range."""


@runtime_checkable
class ValuingAgent(Protocol):
    """An agent that can say what each legal action is worth to it."""

    name: str

    def act(self, view: DecisionView) -> npt.NDArray[np.integer]:
        """Return int[n], a legal action index for each row."""
        ...

    def values(self, view: DecisionView) -> npt.NDArray[np.float64]:
        """Return float64[n, 165], the worth of each legal action, nan elsewhere."""
        ...


def value_meaning(agent: Agent) -> str:
    """Return what the values of an agent are: its own `value_meaning` if it has one; "" where it gives no values.

    >>> from phase10_agents.catalog import load_agent
    >>> value_meaning(load_agent("random"))
    ''
    """
    if not isinstance(agent, ValuingAgent):
        return ""
    return str(getattr(agent, "value_meaning", "worth on a scale of its own"))


def observation_level(agents: Iterable[Agent]) -> str | None:
    """Return the observation that all agents can read: the fullest that one of them asks for."""
    asked = {getattr(agent, "observation", "full") for agent in agents}
    return next((level for level in reversed(LEVELS) if level in asked), None)


def refuse_unknown(agent: str, parameters: Mapping[str, str], known: Iterable[str]) -> None:
    """Raise AgentError for the first parameter that an agent does not have."""
    names = list(known)
    for name in parameters:
        if name not in names:
            raise AgentError(f"agent {agent!r} has no parameter {name!r}: {hint(name, names)}")


def read_number(
    agent: str, parameters: Mapping[str, str], name: str, default: float, low: float, high: float
) -> float:
    """Return a numeric parameter of an agent, checked against its range.

    Raises:
        AgentError: not a number, or outside [low, high].

    >>> read_number("greedy", {"epsilon": "0.1"}, "epsilon", 0.0, 0.0, 1.0)
    0.1
    """
    if name not in parameters:
        return default
    text = parameters[name]
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise AgentError(f"{name} of agent {agent!r} is a number from {low:g} to {high:g}, found {text!r}")
    return value
