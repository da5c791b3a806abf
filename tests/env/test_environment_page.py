"""The page of the environment, its module docstring, says what the code does."""

from __future__ import annotations

import inspect
import re

import pettingzoo
import pytest

import phase10_env
from phase10_env import phase10_v0
from phase10_env.actions import ACTION_TEXTS
from phase10_env.observation import observation_layout, state_layout
from phase10_env.rewards import REWARDS

PAGE = phase10_v0.__doc__ or ""


def section(title: str) -> list[list[str]]:
    """Return the cells of the table under a heading, without its head."""
    text = PAGE if title == "" else PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line for line in text.split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows[2:]]


def test_everything_is_filled_in() -> None:
    assert "{observation" not in PAGE


def test_the_spec_table_gives_spaces_agents_and_modes() -> None:
    spec = dict(section(""))
    env = phase10_v0.raw_env(num_players=2)
    assert spec["Agents"].startswith("`player_0`")
    assert env.possible_agents[0] == "player_0"
    assert f"`{env.action_space('player_0')}`" in spec["Actions"]
    space = env.observation_space("player_0")
    assert f"Box(0, 255, (D,), {space['observation'].dtype})" in spec["Observations"]
    assert (
        f"Box(0, 1, ({space['action_mask'].shape[0]},), {space['action_mask'].dtype})" in spec["Observations"]
    )
    assert re.findall(r"`(\w+)`", spec["Render modes"]) == env.metadata["render_modes"]


def test_the_spec_table_gives_the_sizes_of_observations_and_names_the_registry() -> None:
    spec = dict(section(""))
    sizes = [observation_layout(players).size for players in range(2, 7)]
    assert f"{', '.join(map(str, sizes))} for 2-6 players" in spec["D"]
    common, seat, derived = map(int, re.findall(r"\d+(?= \+| P|:)", spec["D"])[:3])
    assert [common + seat * players + derived for players in range(2, 7)] == sizes
    assert observation_layout(2).size - observation_layout(2, "basic").size == derived
    assert f"{derived} less" in spec["D"]
    assert f'"{phase10_v0.ENV_ID}"' in spec["Creation"]
    assert not hasattr(pettingzoo, "aec_registry") or phase10_v0.ENV_ID in pettingzoo.aec_registry


def test_the_state_has_the_size_that_the_page_describes() -> None:
    env = phase10_v0.raw_env(num_players=3)
    assert env.state_space.shape == (observation_layout(3).size + state_layout(3).size,)


def test_the_argument_table_lists_every_argument_with_its_default() -> None:
    parameters = inspect.signature(phase10_v0.raw_env).parameters
    expected = [[f"`{name}`", f"`{parameter.default!r}`"] for name, parameter in parameters.items()]
    assert [row[:2] for row in section("Arguments")] == expected
    assert list(phase10_v0.Options.__annotations__) == list(parameters)


def test_the_observation_table_lists_every_field_of_the_layout() -> None:
    expected = [
        [f"`{field.name.replace('seat_0.', 'seat_r.')}`", str(field.size), field.meaning]
        for field in observation_layout(2).fields.values()
        if not field.name.startswith("seat_1.")
    ]
    assert section("Observations") == expected


def test_the_candidate_table_lists_what_that_level_adds() -> None:
    full = observation_layout(2).fields
    added = [f for f in observation_layout(2, "candidates").fields.values() if f.name not in full]
    assert section("Candidate features") == [[f"`{f.name}`", str(f.size), f.meaning] for f in added]


def test_the_action_table_covers_every_action_in_order() -> None:
    covered: list[int] = []
    for indices, text, _ in section("Actions"):
        first, _, last = indices.partition("-")
        block = range(int(first), int(last or first) + 1)
        assert {ACTION_TEXTS[index].split()[0] for index in block} == {text.strip("`").split()[0]}
        covered += block
    assert covered == list(range(len(ACTION_TEXTS)))


def test_the_reward_table_lists_every_reward() -> None:
    assert [row[0] for row in section("Rewards")] == [f"`{name}`" for name in REWARDS]


def test_the_version_history_knows_this_version() -> None:
    assert f"({phase10_env.__version__})" in PAGE.split("## Version history")[1]
    assert phase10_v0.ENV_ID.endswith("-v0")


@pytest.mark.parametrize("name", ["env", "raw_env", "parallel_env"])
def test_what_the_page_creates_exists(name: str) -> None:
    assert f"{name}()" in PAGE
    assert callable(getattr(phase10_v0, name))
