"""Unknown names: the nearest is named where one is near, else the valid ones, if they are few."""

from pathlib import Path

import pytest

from phase10_env.names import hint, nearest

FAMILIES = ("phase10_env", "agents/phase10_agents", "training/phase10_training")


@pytest.mark.parametrize(
    ("name", "choices", "meant"),
    [
        ("gredy", ["random", "greedy"], "greedy"),
        ("GREEDY", ["random", "greedy"], "greedy"),
        ("wp", ["win_share", "win_probability"], "win_probability"),
        ("chess", ["random", "greedy"], None),
        ("", ["random", "greedy"], None),
        ("x" * 100_000, ["random", "greedy"], None),
        ("greedy", [], None),
    ],
)
def test_only_a_near_name_is_meant(name: str, choices: list[str], meant: str | None) -> None:
    assert nearest(name, choices) == meant


def test_any_name_is_near_enough_where_one_must_be_named() -> None:
    assert nearest("chess", ["random", "greedy"], 0.0) in ("random", "greedy")


@pytest.mark.parametrize(
    ("name", "choices", "words"),
    [
        ("gredy", ("random", "greedy"), "the nearest agent is 'greedy'"),
        ("chess", ("random", "greedy"), "expected one of the agents 'random', 'greedy'"),
        ("chess", tuple(map(str, range(21))), "none of the 21 agents is like it"),
        ("chess", (), "there are no agents"),
    ],
)
def test_the_hint_names_the_nearest_or_the_few_valid_ones(
    name: str, choices: tuple[str, ...], words: str
) -> None:
    assert hint(name, choices, "agent") == words


def test_there_is_one_way_to_find_the_nearest_name() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = [path for family in FAMILIES for path in (root / family).rglob("*.py")]
    users = {path.name for path in sources if "import difflib" in path.read_text(encoding="utf-8")}
    assert users == {"names.py", "validity.py"}  # the rules import nothing above them
