"""Drives the compiled engine and the plain reference model through the same game and compares every moment.

The engine deals and shuffles; its deals and new stocks are handed to the model, which then has to arrive at
the same legal actions, positions, scores, ranks and endings. The turns of a round count from 0 in the engine,
from 1 in the model.

Run many whole games, each different, and report what was seen in them, from the folder of the tests:

    python -m rules.duel 20000 --first 0
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from typing import Any

from reference import ReferenceGame, Rules, normalised
from reference.model import Mode
from rules.choices import STYLES, choose, quick_ruleset, random_ruleset, starved_ruleset

from phase10_env import PRESETS, Game, RuleSet
from phase10_env.actions import ACTION_TEXTS
from phase10_env.rules.cards import KIND_TEXTS
from phase10_env.rules.check import Broken, check
from phase10_env.rules.scoring import NOBODY

OPTIONS = (
    "phases",
    "skip_target",
    "skip_placement",
    "hit_after_lay",
    "go_out",
    "winner",
    "tie_break",
    "naturals",
    "advance",
    "allow_return",
    "hand_size",
    "max_turns",
    "max_rounds",
)


def model_rules(ruleset: RuleSet) -> Rules:
    """Return the same rules for the model."""
    deck = {text: count for text, count in zip(KIND_TEXTS, ruleset.deck, strict=True) if count}
    options = {name: getattr(ruleset, name) for name in OPTIONS}
    return Rules(name=ruleset.name, deck=deck, **options)


def model_of(game: Game) -> ReferenceGame:
    """Return the model of a game of the engine at the same moment."""
    position = game.position()
    model = ReferenceGame.from_position(position, model_rules(game.ruleset))
    model.turn = position["turn"] + 1
    model.turns_without_draw = int(game.state["no_draw"][0])
    return model


class Duel:
    """One game in both implementations; `seen` counts what happened in it."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.mode: Mode = "compact" if game.actions == "compact" else "full"
        self.model = model_of(game)
        self.seen: Counter[str] = Counter()
        self.compare()

    @property
    def over(self) -> bool:
        """Whether both have ended."""
        return self.game.over

    def legal(self) -> list[str]:
        """Return the legal actions, the same in both."""
        actions = self.model.legal(self.mode)
        found = self.game.legal_actions()
        assert found == actions, f"legal actions: engine {found}, model {actions}"
        return actions

    def play(self, action: str) -> None:
        """Take a legal action in both and compare."""
        self._count(action)
        hand = Counter(self.model.hands[self.model.to_act])
        actor, reshuffles = self.model.to_act, self.model.needs_reshuffle()
        self.game.play(action)
        new_stock = None
        if action == "draw" and reshuffles:
            after = Counter(self.game.hands[actor].split())
            new_stock = [*(after - hand).elements(), *self.game.position()["stock"].split()]
            self.seen["reshuffle"] += 1
        self.model.play(action, self.mode, reshuffled=new_stock, next_round=self._next_deal)
        self.compare()

    def check_reasons(self) -> None:
        """Check the invariants, and that reasons and legal actions say the same (I1-I3, I5)."""
        assert check(self.game.state, self.game.ruleset) == Broken.NOTHING
        legal = self.game.legal_actions()
        assert legal == [text for text in ACTION_TEXTS if self.game.why_illegal(text) is None]

    def reload(self) -> None:
        """Go on from the position as written, in both."""
        position = self.game.to_json()
        self.game = Game.from_position(position, self.mode)
        assert self.game.to_json() == position
        self.model = model_of(self.game)
        self.seen["reload"] += 1

    def _next_deal(self, ended: ReferenceGame) -> dict[str, Any]:
        assert self.game.state["round_over"][0] == 1
        self._compare_out(ended)
        self.seen["rounds"] += 1
        self.seen["tie-break"] += ended.tie_break_round
        position = self.game.position()
        self.seen["opening skip"] += position["discard"] == "S"
        hands = [entry["hand"] for entry in position["seats"]]
        return {"hands": hands, "discard": position["discard"], "stock": position["stock"]}

    def _compare_out(self, ended: ReferenceGame) -> None:
        out = int(self.game.state["out_seat"][0])
        assert (None if out == NOBODY else out) == ended.went_out
        self.seen["nobody out"] += ended.went_out is None

    def _count(self, action: str) -> None:
        word = action.split()[0]
        self.seen["decisions"] += 1
        self.seen[f"{word} in build" if self.model.stage == "build" else word] += 1
        if action.endswith("high"):
            self.seen["high"] += 1

    def compare(self) -> None:
        """Compare everything that both know about the moment."""
        game, model = self.game, self.model
        assert (game.over, game.truncated) == (model.over, model.truncated)
        assert game.ranks == model.ranks()
        assert game.scores == model.scores
        if game.over:
            self._compare_end()
            return
        found, expected = position_of(game), normalised(model.position())
        expected["turn"] -= 1
        expected["ruleset"] = found["ruleset"]
        assert found == expected, f"positions: engine {found}, model {expected}"
        assert int(game.state["no_draw"][0]) == model.turns_without_draw
        self.seen["no draw"] += model.turns_without_draw > 0

    def _compare_end(self) -> None:
        game, model = self.game, self.model
        if game.ruleset.advance == "pick":
            assert game.phases_done == model.done
        elif not model.tie_break_round:  # a tied seat counts as on the last phase in the model's tie-break
            assert game.phases == model.phases
        if game.state["round_over"][0] and not game.truncated:
            self._compare_out(model)
        self.seen["truncated"] += game.truncated
        self.seen["ended in a tie-break"] += model.tie_break_round
        self.seen["shared"] += len(game.winners) > 1


def position_of(game: Game) -> dict[str, Any]:
    """Return the engine's position in the form in which the two are compared."""
    position = normalised(game.position())
    position.pop("memory", None)
    del position["seed"]
    return position


def play_duel(
    game: Game, style: str, stream: random.Random, decisions: int = 1_000_000, spot_checks: float = 0.01
) -> Counter[str]:
    """Play a game to its end, or a number of decisions, in both; return what was seen in it.

    At a share `spot_checks` of the decisions the game is also reloaded and all reasons are checked. Raises
    AssertionError at the first difference, with the game.
    """
    duel = Duel(game)
    played: list[str] = []
    try:
        while not duel.over and len(played) < decisions:
            if stream.random() < spot_checks:
                duel.check_reasons()
                duel.reload()
            action = choose(duel.model, duel.legal(), style, stream)
            played.append(action)
            duel.play(action)
    except AssertionError as error:
        raise AssertionError(
            f"{error}\n{game.num_players} players, seed {game.seed}, {game.actions}, {style}, "
            f"{game.ruleset!r}\nafter {len(played)} decisions, the last ones {played[-6:]}"
        ) from error
    duel.seen["games"] += duel.over
    return duel.seen


def numbered_game(number: int) -> tuple[Game, str, random.Random]:
    """Return the game of a number: every twentieth by a preset, the others by random rules."""
    stream = random.Random(number)
    if number % 20 == 0:
        ruleset = PRESETS[stream.choice(list(PRESETS))]
    else:
        ruleset = (quick_ruleset, random_ruleset, starved_ruleset)[number % 3](stream)
    most = ruleset.max_players
    players = most if ruleset.name == "starved" else stream.randint(2, most)
    mode = stream.choice(("full", "compact"))
    return Game(players, ruleset, seed=number, actions=mode), stream.choice(STYLES), stream


def play_games(first: int, count: int) -> Counter[str]:
    """Play the games first ... first + count - 1 in both; return what was seen in all of them."""
    seen: Counter[str] = Counter()
    for number in range(first, first + count):
        game, style, stream = numbered_game(number)
        try:
            seen += play_duel(game, style, stream)
        except Exception as error:
            raise AssertionError(f"game {number}: {error}") from error
        seen[f"{game.num_players} players"] += 1
        seen[f"ruleset {game.ruleset.name}"] += 1
    return seen


def main() -> None:
    """Play many games and report."""
    parser = argparse.ArgumentParser(description="Play whole games in the engine and in the model.")
    parser.add_argument("games", type=int)
    parser.add_argument("--first", type=int, default=0, help="number of the first game")
    options = parser.parse_args()
    begun, seen = time.perf_counter(), Counter[str]()
    for first in range(options.first, options.first + options.games, 500):
        seen += play_games(first, min(500, options.first + options.games - first))
        print(f"{time.perf_counter() - begun:.0f} s: {dict(seen)}", flush=True)


if __name__ == "__main__":
    main()
