"""The compiled engine against the plain reference model, move by move: no difference in any game."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from reference import IllegalMoveError
from rules.choices import STYLES, choose, quick_ruleset, random_ruleset, starved_ruleset
from rules.duel import Duel, play_duel, play_games
from rules.effort import effort

from phase10_env import PRESETS, Game, IllegalActionError, RuleSet
from phase10_env.actions import ACTION_TEXTS

WHOLE_GAMES = int(os.environ.get("PHASE10_WHOLE_GAMES", "1000"))
"""Games of the slow test; a release is checked with 20000 and more."""

RARE_EVENTS = (
    "onto",
    "high",
    "number in build",
    "colour in build",
    "play in build",
    "reshuffle",
    "opening skip",
    "no draw",
    "nobody out",
    "tie-break",
    "ended in a tie-break",
    "shared",
    "truncated",
    "reload",
)


def late_game(ruleset: RuleSet, players: int, seed: int, mode: str) -> Game:
    """Return a freshly dealt round in which every seat is on some phase with some score."""
    stream = random.Random(seed)
    position = Game(players, ruleset, seed=seed).position()
    last = len(ruleset.phases)
    common = stream.randint(1, last)
    for seat in position["seats"]:
        seat["score"] = 5 * stream.randint(0, 3)
        if ruleset.advance == "pick":
            seat["done"] = sorted(stream.sample(range(1, last + 1), stream.randint(0, last - 1)))
        else:
            seat["phase"] = common if ruleset.advance == "every_round" else stream.randint(1, last)
    return Game.from_position(position, mode)


@pytest.mark.parametrize("players", range(2, 7))
@pytest.mark.parametrize("preset", PRESETS)
def test_presets_agree_from_the_first_deal_on(preset: str, players: int) -> None:
    mode, other = ("full", "compact")[:: 1 if players % 2 else -1]
    stream = random.Random(players)
    game = Game(players, preset, seed=players, actions=mode)
    assert play_duel(game, "sensible", stream, decisions=effort(150))["decisions"] == effort(150)
    late = late_game(PRESETS[preset], players, players, other)
    assert play_duel(late, "builder", stream, decisions=effort(150))["decisions"] > 0


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("family", [quick_ruleset, starved_ruleset, random_ruleset])
def test_whole_games_by_random_rules_agree(family, style: str) -> None:
    for seed in range(effort(12)):
        stream = random.Random(f"{seed} {style}")
        ruleset = family(stream)
        game = Game(ruleset.max_players, ruleset, seed=seed, actions=stream.choice(("full", "compact")))
        assert play_duel(game, style, stream, spot_checks=0.05)["games"] == 1


@pytest.mark.slow
def test_a_thousand_whole_games_agree_and_reach_what_is_rare() -> None:
    seen = play_games(10_000_000, WHOLE_GAMES)
    assert seen["games"] == WHOLE_GAMES
    for event in (
        "onto",
        "high",
        "play in build",
        "colour in build",
        "reshuffle",
        "opening skip",
        "truncated",
    ):
        assert seen[event] > 0, event
    for event in ("no draw", "nobody out", "tie-break", "ended in a tie-break", "shared", "reload"):
        assert seen[event] > 0, event


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_whole_games_of_presets_agree(preset: str) -> None:
    for players in range(2, 7):
        for mode in ("full", "compact"):
            game = Game(players, preset, seed=players, actions=mode)
            assert play_duel(game, "builder", random.Random(players))["games"] == 1


class Machine(RuleBasedStateMachine):
    """Plays any actions in any order, takes some back, tries forbidden ones and reloads the game."""

    @initialize(
        family=st.sampled_from([quick_ruleset, starved_ruleset, random_ruleset, None]),
        rules_seed=st.integers(0, 10_000),
        seed=st.integers(0, 2**64 - 1),
        mode=st.sampled_from(["full", "compact"]),
        players=st.integers(2, 6),
        preset=st.sampled_from(list(PRESETS)),
    )
    def begin(self, family, rules_seed: int, seed: int, mode: str, players: int, preset: str) -> None:
        ruleset = PRESETS[preset] if family is None else family(random.Random(rules_seed))
        self.duel = Duel(Game(min(players, ruleset.max_players), ruleset, seed=seed, actions=mode))

    @precondition(lambda self: not self.duel.over)
    @rule(choice=st.integers(0, 163))
    def play_any(self, choice: int) -> None:
        legal = self.duel.legal()
        self.duel.play(legal[choice % len(legal)])

    @precondition(lambda self: not self.duel.over)
    @rule(style=st.sampled_from(STYLES), seed=st.integers(0, 1000), decisions=st.integers(1, 60))
    def play_on(self, style: str, seed: int, decisions: int) -> None:
        stream = random.Random(seed)
        while not self.duel.over and decisions:
            self.duel.play(choose(self.duel.model, self.duel.legal(), style, stream))
            decisions -= 1

    @precondition(lambda self: not self.duel.over)
    @rule()
    def reload(self) -> None:
        self.duel.check_reasons()
        self.duel.reload()

    @precondition(lambda self: not self.duel.over)
    @rule(choice=st.integers(0, 163))
    def take_an_action_back(self, choice: int) -> None:
        legal = self.duel.legal()
        before, model = self.duel.game.to_json(), self.duel.model.copy()
        self.duel.play(legal[choice % len(legal)])
        assert self.duel.game.pop() == legal[choice % len(legal)]
        self.duel.model = model
        assert self.duel.game.to_json() == before
        self.duel.compare()

    @rule(action=st.sampled_from(ACTION_TEXTS))
    def a_forbidden_action_changes_nothing(self, action: str) -> None:
        if action in self.duel.legal():
            return
        before = self.duel.game.state.copy()
        with pytest.raises(IllegalActionError):
            self.duel.game.play(action)
        assert self.duel.game.state == before
        with pytest.raises(IllegalMoveError):
            self.duel.model.play(action, self.duel.mode)
        self.duel.compare()


Machine.TestCase.settings = settings(
    max_examples=effort(40), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnyCourseOfAGame = Machine.TestCase
