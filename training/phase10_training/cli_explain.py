"""The command `explain`: what an agent thinks of each legal action of a position."""

import json
import math
from dataclasses import dataclass
from typing import Annotated

import tyro

from phase10_agents.base import value_meaning
from phase10_agents.catalog import load_agent
from phase10_agents.explain import explain
from phase10_env.command_line import read_game
from phase10_training.cli_support import JsonOption

__all__ = ["ExplainOptions", "explain_command"]


@dataclass(frozen=True)
class ExplainOptions:
    """Print what an agent thinks of each legal action of a position, the best first.

    The action it takes is marked with >. The first line says what the values are; agents without values show only
    their choice.

    Example: phase10 explain position.json --agent aware
    """

    position: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="POSITION.json")]
    """A file with the JSON of a position; - is standard input."""
    json: JsonOption
    agent: Annotated[str, tyro.conf.arg(metavar="AGENT")] = "aware"
    """Whose values: aware, search, checkpoint:runs/x, my_module:MyAgent, ..."""


def explain_command(options: ExplainOptions) -> None:
    """Run `phase10 explain`."""
    game = read_game(options.position)
    agent = load_agent(options.agent)
    rows = explain(game, agent)
    meaning = value_meaning(agent)
    if options.json.json:
        found = [
            {
                "action": row.action,
                "text": row.text,
                "value": None if math.isnan(row.value) else float(row.value),
                "chosen": bool(row.chosen),
            }
            for row in rows
        ]
        print(json.dumps({"agent": options.agent, "values": meaning or None, "actions": found}, indent=1))
        return
    print(f"{options.agent}: {f'{meaning}; higher is better' if meaning else 'gives no values'}")
    width = max(len(row.text) for row in rows)
    for row in rows:
        value = "" if math.isnan(row.value) else f"{row.value:+.4f}"
        print(f"{'>' if row.chosen else ' '} {row.text:{width}}  {value}".rstrip())
