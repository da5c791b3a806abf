"""Agents by name: what a specification such as `greedy:epsilon=0.1` stands for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from phase10_agents.base import Agent, AgentError, read_number, refuse_unknown
from phase10_agents.heuristics import Aware, ExpectedTurns, Greedy
from phase10_agents.policies import policy_number
from phase10_agents.search import Search, SearchSettings
from phase10_agents.uniform import Melder, UniformRandom
from phase10_env.names import hint

__all__ = ["AGENTS", "agent_names", "load_agent"]


@dataclass(frozen=True)
class Entry:
    """One kind of agent: its parameters, what it takes instead of parameters, and how it is made.

    `make` gets the parameters of the specification as text, or {"": argument} for kinds with an argument.
    """

    make: Callable[[dict[str, str]], Agent]
    parameters: tuple[str, ...] = ()
    argument: str = ""


def _greedy(parameters: dict[str, str]) -> Agent:
    return Greedy(read_number("greedy", parameters, "epsilon", 0.0, 0.0, 1.0))


_SEARCH = (
    "playouts", "milliseconds", "base", "playout", "gate", "candidates", "effort", "threads",
)  # fmt: skip


def _search(parameters: dict[str, str]) -> Agent:
    defaults = SearchSettings()

    def number(name: str, low: float, high: float) -> float:
        return read_number("search", parameters, name, getattr(defaults, name), low, high)

    settings = SearchSettings(
        playouts=int(number("playouts", 2, 1 << 20)),
        milliseconds=number("milliseconds", 0, 1e6),
        gate=number("gate", 0, 100),
        candidates=int(number("candidates", 2, 165)),
        effort=number("effort", 0, 16),
        threads=int(number("threads", 1, 256)),
    )
    base = _inner(parameters.get("base", "aware"), "base")
    playout = parameters.get("playout", "aware")
    name = "search" + "".join(
        f"{',' if i else ':'}{key}={value}" for i, (key, value) in enumerate(parameters.items())
    )
    return Search(
        base, playout if policy_number(playout) >= 0 else _inner(playout, "playout"), settings, name=name
    )


def _inner(spec: str, role: str) -> Agent:
    """Return the agent that a search builds on."""
    if spec.partition(":")[0] == "search":
        raise AgentError(f"{role} of agent 'search' is any agent but a search, found {spec!r}")
    return load_agent(spec)


def _checkpoint(parameters: dict[str, str]) -> Agent:
    neural = importlib.import_module("phase10_agents.neural")  # brings torch
    return neural.load_checkpoint_agent(parameters[""])  # type: ignore[no-any-return]


def _champion(parameters: dict[str, str]) -> Agent:
    neural = importlib.import_module("phase10_agents.neural")
    return neural.load_champion()  # type: ignore[no-any-return]


def _sb3(parameters: dict[str, str]) -> Agent:
    models = importlib.import_module("phase10_agents.sb3_agent")  # brings stable-baselines3
    return models.load_sb3_agent(parameters[""])  # type: ignore[no-any-return]


AGENTS: dict[str, Entry] = {
    "random": Entry(lambda parameters: UniformRandom()),
    "melder": Entry(lambda parameters: Melder()),
    "greedy": Entry(_greedy, ("epsilon",)),
    "expected-turns": Entry(lambda parameters: ExpectedTurns()),
    "aware": Entry(lambda parameters: Aware()),
    "search": Entry(_search, _SEARCH),
    "checkpoint": Entry(_checkpoint, argument="PATH"),
    "champion": Entry(_champion),
    "sb3": Entry(_sb3, argument="FILE"),
}
"""Every kind of agent by the first word of its specification."""


def agent_names() -> tuple[str, ...]:
    """Return the first words of all specifications, `module:Class` aside.

    >>> "greedy" in agent_names()
    True
    """
    return tuple(AGENTS)


def _parameters(name: str, text: str, known: tuple[str, ...]) -> dict[str, str]:
    """Read `key=value` pairs separated by commas."""
    found: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            example = f"{name}:{known[0]}=..." if known else name
            raise AgentError(f"agent {name!r} is written {example!r}, found {name}:{text!r}")
        if key.strip() in found:
            raise AgentError(f"agent {name!r} is given {key.strip()!r} twice in {text!r}; name it once")
        found[key.strip()] = value.strip()
    refuse_unknown(name, found, known)
    return found


def _own_agent(module_name: str, class_name: str) -> Agent:
    """Return an agent of the user's own, made without arguments from a class or function of a module."""
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise AgentError(
                f"module {module_name!r} needs {error.name!r}, which is not installed"
            ) from error
        known = hint(module_name, AGENTS)
        raise AgentError(
            f"agent {module_name!r} is not known and no module has that name: {known}; an agent of your own is "
            "written 'module:Class' with the module on the path"
        ) from None
    except Exception as error:
        raise AgentError(
            f"module {module_name!r} cannot be imported: {type(error).__name__}: {error}; mend it"
        ) from error
    if not hasattr(module, class_name):
        names = [name for name in vars(module) if not name.startswith("_")]
        raise AgentError(f"module {module_name!r} has no {class_name!r}: {hint(class_name, names)}")
    try:
        agent = getattr(module, class_name)()
    except Exception as error:
        raise AgentError(f"{module_name}:{class_name} could not be made: {error}") from error
    if not isinstance(agent, Agent):
        raise AgentError(
            f"{module_name}:{class_name} is not an agent: it needs a 'name' and a method 'act(view)' that returns "
            "one action for each row"
        )
    return agent


def load_agent(spec: str) -> Agent:
    """Return the agent that a specification names.

    Args:
        spec: `random`, `melder`, `greedy`, `greedy:epsilon=0.1`, `expected-turns`, `aware`,
            `search:playouts=64,base=aware,playout=greedy`, `search:milliseconds=5`, `checkpoint:PATH`, `champion`,
            `sb3:FILE`, or `module:Class` for an agent of your own.

    Raises:
        AgentError: an unknown name or parameter, naming the nearest one, or a value out of its range.

    >>> load_agent("greedy:epsilon=0.1").name
    'greedy:epsilon=0.1'
    >>> load_agent("gredy")
    Traceback (most recent call last):
    phase10_agents.base.AgentError: unknown agent 'gredy': the nearest is 'greedy'
    """
    if not spec.strip():
        raise AgentError(f"expected an agent such as 'greedy' or 'greedy:epsilon=0.1', found {spec!r}")
    name, colon, rest = spec.strip().partition(":")
    entry = AGENTS.get(name)
    if entry is None:
        if colon and rest and "=" not in rest:
            return _own_agent(name, rest)
        raise AgentError(f"unknown agent {spec!r}: {hint(name, AGENTS)}")
    if entry.argument:
        if not rest:
            raise AgentError(f"agent {name!r} is written '{name}:{entry.argument}', found {spec!r}")
        return entry.make({"": rest})
    if colon and not entry.parameters:
        raise AgentError(f"agent {name!r} takes no parameters, found {spec!r}")
    if colon and not rest:
        raise AgentError(f"nothing follows the colon in {spec!r}: write {name!r} or name a parameter")
    return entry.make(_parameters(name, rest, entry.parameters) if rest else {})
