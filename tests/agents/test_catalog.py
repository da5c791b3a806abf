"""Agents by name: what each specification gives, and one sentence for each that names nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phase10_agents.base import AgentError
from phase10_agents.catalog import AGENTS, agent_names, load_agent
from phase10_env import GameBatch

PLAIN = ("random", "melder", "greedy", "expected-turns", "aware", "search:playouts=4")


@pytest.mark.parametrize("spec", PLAIN)
def test_every_plain_name_gives_an_agent_that_plays(spec: str) -> None:
    batch = GameBatch(4, 3, seed=2)
    actions = load_agent(spec).act(batch.view())
    assert batch.action_masks[range(4), actions].all()


def test_agent_names_are_the_words_of_the_table() -> None:
    assert set(agent_names()) == set(AGENTS)
    assert {spec.partition(":")[0] for spec in PLAIN} < set(agent_names())


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("gredy", "unknown agent 'gredy': the nearest is 'greedy'"),
        ("", "expected an agent such as 'greedy' or 'greedy:epsilon=0.1', found ''"),
        ("greedy:eps=0.1", "agent 'greedy' has no parameter 'eps': the nearest is 'epsilon'"),
        ("greedy:chance=0.1", "agent 'greedy' has no parameter 'chance': expected one of 'epsilon'"),
        ("greedy:epsilon=2", "epsilon of agent 'greedy' is a number from 0 to 1, found '2'"),
        ("greedy:epsilon=much", "epsilon of agent 'greedy' is a number from 0 to 1, found 'much'"),
        ("greedy:epsilon=nan", "epsilon of agent 'greedy' is a number from 0 to 1, found 'nan'"),
        ("greedy:", "nothing follows the colon in 'greedy:': write 'greedy' or name a parameter"),
        ("greedy:epsilon", "agent 'greedy' is written 'greedy:epsilon=...', found greedy:'epsilon'"),
        ("aware:x=1", "agent 'aware' takes no parameters, found 'aware:x=1'"),
        ("search:playout=3", "unknown agent '3': expected one of 'random', 'melder', 'greedy'"),
        ("search:base=search", "base of agent 'search' is any agent but a search, found 'search'"),
        ("search:playouts=1", "playouts of agent 'search' is a number from 2 to 1.04858e+06, found '1'"),
        ("search:playouts=8,playouts=9", "agent 'search' is given 'playouts' twice"),
        ("checkpoint:", "agent 'checkpoint' is written 'checkpoint:PATH', found 'checkpoint:'"),
        ("no.such.module:Agent", "agent 'no.such.module' is not known and no module has that name"),
        (
            "phase10_agents.uniform:Meldr",
            "module 'phase10_agents.uniform' has no 'Meldr': the nearest is 'Melder'",
        ),
        ("phase10_agents.base:AgentError", "phase10_agents.base:AgentError is not an agent"),
    ],
)
def test_a_wrong_specification_is_refused_in_one_sentence(spec: str, sentence: str) -> None:
    with pytest.raises(AgentError) as found:
        load_agent(spec)
    assert str(found.value).startswith(sentence)
    assert "\n" not in str(found.value)


def test_an_agent_of_ones_own_is_named_by_module_and_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_agents.py").write_text(
        "class First:\n    name = 'first'\n    def act(self, view):\n        return view.legal_actions[:, 0]\n"
        "class Broken:\n    def __init__(self):\n        raise RuntimeError('no weights')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_agent("my_agents:First").name == "first"
    with pytest.raises(AgentError, match="my_agents:Broken could not be made: no weights"):
        load_agent("my_agents:Broken")
    sys.modules.pop("my_agents")
