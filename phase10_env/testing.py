"""Checks for agents and rulesets of your own: each returns sentences that say what is wrong, none if all is well."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_env.actions import action_text
from phase10_env.decision import DecisionView
from phase10_env.game_batch import GameBatch
from phase10_env.rules.cards import KINDS, NUMBERS, WILD
from phase10_env.rules.check import Broken, check
from phase10_env.rules.phases import PLACE_FRONT
from phase10_env.rules.random import random_below
from phase10_env.rules.ruleset import RuleSet, get_ruleset
from phase10_env.rules.state import MAX_PLAYERS, TRUNCATED

__all__ = ["check_agent", "check_ruleset", "redeal_hidden"]

_CLOSE_LOOK = 5  # every so many decisions an agent is asked the same again in other ways


def redeal_hidden(
    games: npt.NDArray[np.void], ruleset: RuleSet, rng: np.random.Generator
) -> npt.NDArray[np.void]:
    """Return copies of games in which all that is hidden from the seat to act is dealt anew.

    What that seat knows stays: its hand, melds, discard pile, cards known to be in other hands, Skips in front of
    seats, and how many cards everybody holds.

    Args:
        games: GAME[n].
        ruleset: their rules.
        rng: source of the new deals.

    >>> batch = GameBatch(num_games=2, seed=1)
    >>> other = redeal_hidden(batch.games, batch.ruleset, np.random.default_rng(0))
    >>> bool((other["hand_sizes"] == batch.games["hand_sizes"]).all())
    True
    """
    out = games.copy()
    for row in range(len(out)):
        _redeal(out[row : row + 1], ruleset, rng)
    return out


def _redeal(game: npt.NDArray[np.void], ruleset: RuleSet, rng: np.random.Generator) -> None:
    seat = int(game["to_act"][0])
    others = [other for other in range(MAX_PLAYERS) if other != seat]
    hands, known = game["hands"][0], game["known"][0].astype(np.int64)
    left = np.array(ruleset.deck, np.int64) - hands[seat] - game["table_counts"][0] - game["pile_counts"][0]
    left -= known[others].sum(0)
    if ruleset.record["skip_placement"][0] == PLACE_FRONT:
        left[KINDS - 1] -= int(game["skipped"][0].sum())
    cards = rng.permutation(np.repeat(np.arange(KINDS), left))
    dealt = 0
    for other in others:
        missing = int(game["hand_sizes"][0, other] - known[other].sum())
        hands[other] = known[other] + np.bincount(cards[dealt : dealt + missing], minlength=KINDS)
        dealt += missing
        held = np.flatnonzero(hands[other])
        naturals = hands[other, :WILD].astype(np.int64).reshape(4, NUMBERS)
        game["held"][0, other] = sum(1 << int(kind) for kind in held)
        game["numbers"][0, other] = sum(int(n) << (4 * i) for i, n in enumerate(naturals.sum(0)))
        game["colours"][0, other] = sum(int(n) << (8 * i) for i, n in enumerate(naturals.sum(1)))
    game["stock"][0, : len(cards) - dealt] = cards[dealt:]
    # the seed stays: the agents' random streams come from it, and nobody is shown it


# ---- agents ------------------------------------------------------------------------------------------------


def _arrays(view: DecisionView) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    for field in dataclasses.fields(view):
        value = getattr(view, field.name)
        if isinstance(value, np.ndarray):
            yield field.name, value


class _Witness:
    """Asks an agent, and collects each complaint once."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.complaints: dict[str, str] = {}

    def complain(self, about: str, sentence: str) -> None:
        self.complaints.setdefault(about, sentence)

    def ask(self, view: DecisionView) -> npt.NDArray[np.int64] | None:
        """Return the agent's actions for a view, or None where they cannot be used."""
        before = {name: array.copy() for name, array in _arrays(view)}
        try:
            answer = self.agent.act(view)
        except Exception as error:
            self.complain("exception", f"act raised {type(error).__name__}: {error}")
            return None
        for name, array in _arrays(view):
            if not np.array_equal(array, before[name]):
                self.complain("changed", f"act changed view.{name}; copy what you want to write on")
        actions = np.asarray(answer)
        if actions.shape != (len(view),):
            self.complain(
                "shape",
                f"act returned shape {actions.shape} for a view of {len(view)} rows: expected ({len(view)},), one "
                "action for each row",
            )
            return None
        if not np.issubdtype(actions.dtype, np.integer):
            self.complain(
                "dtype", f"act returned dtype {actions.dtype}: expected integers, the action indices"
            )
            return None
        chosen: npt.NDArray[np.int64] = actions.astype(np.int64)
        masks = before["action_masks"]
        inside = (chosen >= 0) & (chosen < masks.shape[1])
        legal = inside & masks[np.arange(len(chosen)), np.where(inside, chosen, 0)]
        if not legal.all():
            row = int(np.flatnonzero(~legal)[0])
            action = int(chosen[row])
            shown = f"{action_text(action)!r} ({action})" if inside[row] else f"{action}, which is no action,"
            allowed = ", ".join(action_text(int(a)) for a in np.flatnonzero(masks[row])[:6])
            self.complain("illegal", f"act chose {shown} where only these are legal: {allowed} ...")
            return None
        return chosen

    def expect(self, about: str, sentence: str, view: DecisionView, actions: npt.NDArray[np.int64]) -> None:
        """Complain unless the agent answers a view with these actions."""
        answer = self.ask(view)
        if answer is not None and not np.array_equal(answer, actions):
            self.complain(about, sentence)


def _look_closely(
    witness: _Witness, batch: GameBatch, actions: npt.NDArray[np.int64], rng: np.random.Generator
) -> None:
    """Ask the agent about the same decisions again: at once, in other orders, with hidden cards dealt anew."""
    witness.expect(
        "state",
        "act answers the same view differently when asked again: it keeps something between calls, or draws random "
        "numbers from elsewhere than view.random",
        batch.view(),
        actions,
    )
    if "state" in witness.complaints:
        return
    order = rng.permutation(batch.num_games)
    witness.expect(
        "order",
        "act answers a row differently when the rows come in another order: each row must be decided on its own",
        batch.view(order),
        actions[order],
    )
    row = int(rng.integers(batch.num_games))
    witness.expect(
        "batch",
        "act answers a row differently when it is asked alone: an answer must not depend on the other rows",
        batch.view([row]),
        actions[[row]],
    )
    true_games = batch.games.copy()
    batch.games[:] = redeal_hidden(true_games, batch.ruleset, rng)
    batch.refresh()
    witness.expect(
        "peeking",
        "act answers differently when the cards hidden from the seat to act are dealt anew: it looks at more than "
        "its view",
        batch.view(),
        actions,
    )
    batch.games[:] = true_games
    batch.refresh()


def check_agent(
    agent: Any,
    *,
    num_players: int | Sequence[int] = (2, 4),
    ruleset: str | RuleSet = "official",
    actions: str = "full",
    num_games: int = 8,
    decisions: int = 150,
    seed: int = 0,
) -> list[str]:
    """Return what is wrong with an agent, one sentence for each kind of fault; an empty list if nothing is.

    Lets the agent play all seats of some games and looks for illegal actions, wrong shapes and dtypes, exceptions,
    changes to its view, answers that depend on earlier calls or games, on the order or number of the rows, or on
    cards that it cannot know.

    Args:
        agent: an object with `name` and `act(view)`.
        num_players: a number of players, or several, each tried.
        ruleset: the rules to play by.
        actions: "full" or "compact".
        num_games: games played side by side.
        decisions: decisions in each.
        seed: of the games.

    >>> class First:
    ...     name = "first"
    ...
    ...     def act(self, view):
    ...         return view.legal_actions[:, 0]
    >>> check_agent(First(), decisions=30)
    []
    >>> class Drawer:
    ...     name = "drawer"
    ...
    ...     def act(self, view):
    ...         return [0] * len(view)
    >>> check_agent(Drawer(), decisions=30)[0].split(":")[0]
    "act chose 'draw' (0) where only these are legal"
    """
    witness = _Witness(agent)
    if not isinstance(getattr(agent, "name", None), str) or not agent.name:
        witness.complain("name", "the agent has no 'name', a text that tables show")
    if not callable(getattr(agent, "act", None)):
        witness.complain("act", "the agent has no method 'act(view)' that returns one action for each row")
        return list(witness.complaints.values())
    for players in [num_players] if isinstance(num_players, int) else num_players:
        _watch(witness, GameBatch(num_games, players, ruleset, seed, actions=actions), decisions, seed)
    return list(witness.complaints.values())


def _watch(witness: _Witness, batch: GameBatch, decisions: int, seed: int) -> None:
    """Let the agent play; where its answer cannot be used, a random legal action goes on."""
    rng = np.random.default_rng(seed)
    first = batch.view()
    opening = None
    for turn in range(decisions):
        chosen = witness.ask(batch.view())
        if turn == 0:
            opening = chosen
        if chosen is None:
            draws = (rng.random(batch.num_games) * batch.legal_counts).astype(np.intp)
            chosen = batch.legal_actions[np.arange(batch.num_games), draws].astype(np.int64)
        elif turn % _CLOSE_LOOK == 0:
            _look_closely(witness, batch, chosen, rng)
        batch.step(chosen)
    if opening is not None:
        witness.expect(
            "games",
            "act answers the first decisions differently after it has played on: it keeps something between games",
            first,
            opening,
        )


# ---- rulesets ----------------------------------------------------------------------------------------------

_MEANINGS: dict[Broken, str] = {
    Broken.DECK: "cards appear or vanish",
    Broken.SUMS: "sums kept beside the cards differ from them",
    Broken.HANDS: "a hand is empty or too large",
    Broken.SKIPS: "a Skip has no target",
    Broken.MELDS: "a meld is not one",
    Broken.TURN: "the seat to act cannot be",
    Broken.CHOICE: "no action is legal, or the list of legal actions and the reasons against the others differ",
    Broken.BUILDING: "a card being laid is not in the hand",
}


def check_ruleset(
    ruleset: str | RuleSet | dict[str, Any],
    *,
    num_players: int | Sequence[int] | None = None,
    num_games: int = 16,
    decisions: int = 2000,
    seed: int = 0,
) -> list[str]:
    """Return what is wrong with a ruleset in play, one sentence for each fault; an empty list if nothing is.

    Plays random legal actions and holds every position against the invariants. A ruleset that cannot be played
    at all is refused when it is built; this finds one that is hardly ever finished.

    Args:
        ruleset: preset name, file, RuleSet or a table of options.
        num_players: players to try; default: every number the deck allows.
        num_games: games side by side.
        decisions: decisions in each.
        seed: of the games.

    Raises:
        RuleSetError: the ruleset is impossible (R37).

    >>> check_ruleset("official", num_players=2, num_games=2, decisions=50)
    []
    """
    rules = get_ruleset(ruleset)
    counts = range(2, rules.max_players + 1) if num_players is None else num_players
    out = []
    for players in [counts] if isinstance(counts, int) else counts:
        batch = GameBatch(num_games, players, rules, seed, observation=None)
        key = np.uint64(seed)
        ended = truncated = 0
        broken = Broken.NOTHING
        for turn in range(decisions):
            broken |= check(batch.games, rules)
            places = [
                random_below(key, turn * num_games + row, int(n)) for row, n in enumerate(batch.legal_counts)
            ]
            batch.step(batch.legal_actions[np.arange(num_games), places])
            over = batch.terminations | batch.truncations
            ended += int(over.sum())
            truncated += int((batch.results["status"][over] == TRUNCATED).sum())
        out += [
            f"with {players} players {text} ({flag.name})"
            for flag, text in _MEANINGS.items()
            if flag & broken
        ]
        if 2 * truncated > ended:
            out.append(
                f"with {players} players {truncated} of {ended} random games ended at the caps of {rules.max_turns} "
                f"turns a round and {rules.max_rounds} rounds: raise max_turns, or ask for less in the phases"
            )
    return out
