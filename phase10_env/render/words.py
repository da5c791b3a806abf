"""Moves and moments in words: what a seat did, what it may do now, what followed.

`before` and `after` are GAME[1], the record around one action. With a viewer only what that seat may know is
said: a card drawn by somebody else and a lay-down that is still being spelled stay secret.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phase10_env.render.facts import COLOUR_WORDS, Record, TableFacts, meld_text
from phase10_env.rules import table
from phase10_env.rules.cards import KIND_TEXTS, NO_CARD, NUMBERS, SKIP, WILD
from phase10_env.rules.phases import HIT_OWN, NO_GROUP, RUN
from phase10_env.rules.rulebook import phase_in_words
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import BUILD, MELDS, ONTO, OVER, TERMINATED, TRUNCATED

__all__ = ["action_in_words", "move_in_words", "stage_in_words", "status_in_words"]

_STAGE_WORDS = {
    "draw": "draw from the stock or take the top discard",
    "play": "lay down, hit, or end the turn with a discard or a Skip",
    "build": "choose the next card or value of the lay-down",
    "onto": "choose where the card goes",
}


def stage_in_words(facts: TableFacts) -> str:
    """Return whose turn it is and what may be done, as one line."""
    name = facts.seats[facts.to_act].name
    you = " (you)" if facts.viewer == facts.to_act else ""
    text = _STAGE_WORDS[facts.stage]
    if facts.stage == "play" and not facts.seats[facts.to_act].laid:
        text = "lay down, or end the turn with a discard or a Skip"
    elif facts.stage == "play":
        text = "hit, or end the turn with a discard or a Skip"
    elif facts.stage == "draw" and not facts.pile:
        text = "draw from the stock"
    return f"{name}{you} to act: {text}"


def status_in_words(facts: TableFacts) -> str:
    """Return how the game stands or ended, as one line."""
    if facts.status == "running":
        return f"Round {facts.round} is being played."
    if facts.status == "stopped":
        return "The game was stopped at a cap; nobody wins (R34)."
    winners = [seat.name for seat in facts.seats if seat.rank == 1]
    if not winners:
        return "The round is over."
    verb = "wins" if len(winners) == 1 else "share the win"
    return f"The game is over: {' and '.join(winners)} {verb}."


def action_in_words(games: Record, ruleset: RuleSet, action: int, names: Sequence[str] | None = None) -> str:
    """Return what an action would do, as the player who is to act says it.

    Args:
        games: GAME[1], the moment of the decision.
        ruleset: its rules.
        action: index in the table of 165.
        names: a label for each seat; default "seat 0", "seat 1", ...

    >>> from phase10_env import GameBatch
    >>> batch = GameBatch(num_games=1, num_players=2, seed=7)
    >>> action_in_words(batch.games, batch.ruleset, 0)
    'draw from the stock'
    """
    game = games[0]
    labels = _labels(game, names)
    owners = _owners(game, labels, "your own")
    if action == table.DRAW:
        return "draw from the stock"
    if action == table.TAKE:
        return f"take {_top(game)} from the discard pile"
    if action < table.BUILD:
        return f"lay down phase {action - table.LAY + 1} ({_phase_words(ruleset, action - table.LAY)})"
    if action < table.NUMBER:
        return f"lay down phase {action - table.BUILD + 1}, choosing every card"
    if action < table.PLAY:
        return f"declare {_declaration(game, ruleset, action)}"
    if action < table.ONTO:
        card = KIND_TEXTS[action - table.PLAY]
        if game["stage"] == BUILD:
            return f"add {card} to the lay-down"
        return f"hit with {card}{_only_place(game, ruleset, action - table.PLAY, owners)}"
    if action < table.DISCARD:
        return f"put {_card(game['onto_card'])} {_place_text(game, action, owners)}"
    if action < table.SKIP:
        return f"discard {KIND_TEXTS[action - table.DISCARD]}"
    return f"skip {_target(game, action, labels)}"


def move_in_words(
    before: Record,
    after: Record,
    ruleset: RuleSet,
    action: int,
    viewer: int | None = None,
    names: Sequence[str] | None = None,
) -> str:
    """Return what an action did and what followed from it; "" for a step that the viewer cannot see.

    Args:
        before, after: GAME[1] around the action.
        ruleset: the rules.
        action: index in the table of 165.
        viewer: a seat, or None for the open table.
        names: a label for each seat; default "seat 0", "seat 1", ...

    >>> from phase10_env import GameBatch
    >>> batch = GameBatch(num_games=1, num_players=2, seed=7)
    >>> before = batch.games.copy()
    >>> batch.step([0])
    >>> move_in_words(
    ...     before, batch.games, batch.ruleset, 0, viewer=1 - before["to_act"][0], names=["Ann", "Bo"]
    ... )
    '... draws from the stock.'
    """
    game = before[0]
    seat = int(game["to_act"])
    labels = _labels(game, names)
    seen = viewer is None or viewer == seat
    what = _verb_phrase(game, after[0], ruleset, action, seen, labels)
    if not what:
        return ""
    return " ".join([f"{labels[seat]} {what}.", *_consequences(game, after[0], labels)])


def _verb_phrase(
    game: np.void, after: np.void, ruleset: RuleSet, action: int, seen: bool, labels: Sequence[str]
) -> str:
    seat = int(game["to_act"])
    owners = _owners(game, labels, "its own")
    if action == table.DRAW:
        change = after["hands"][seat] - game["hands"][seat]
        drawn = np.flatnonzero(change > 0).tolist() if seen else []
        shuffled = ", after the discard pile was shuffled into it" if game["stock_size"] == 0 else ""
        card = f"{KIND_TEXTS[drawn[0]]} " if len(drawn) == 1 else ""
        return f"draws {card}from the stock{shuffled}"
    if action == table.TAKE:
        return f"takes {_top(game)} from the discard pile"
    if action < table.ONTO and (action < table.PLAY or game["stage"] == BUILD):
        return _lay_down_phrase(game, after, ruleset, action, seen)
    if action < table.ONTO:
        kind = action - table.PLAY
        if after["stage"] == ONTO and not after["round_over"]:
            return f"chooses {KIND_TEXTS[kind]} to hit with" if seen else ""
        return f"hits with {KIND_TEXTS[kind]}{_only_place(game, ruleset, kind, owners)}"
    if action < table.DISCARD:
        return f"hits with {_card(game['onto_card'])} {_place_text(game, action, owners)}"
    if action < table.SKIP:
        return f"discards {KIND_TEXTS[action - table.DISCARD]}"
    return f"skips {_target(game, action, labels)}"


def _lay_down_phrase(game: np.void, after: np.void, ruleset: RuleSet, action: int, seen: bool) -> str:
    """Return what a step of a lay-down did: the whole of it where it is complete, else the step."""
    seat = int(game["to_act"])
    if action < table.BUILD:
        phase = action - table.LAY
    elif action < table.NUMBER:
        phase = action - table.BUILD
    else:
        phase = int(game["build_phase"])
    if after["stage"] != BUILD or after["to_act"] != seat or after["round_over"]:
        text = f"lays down phase {phase + 1}"
        melds = [_meld_words(after, place) for place in (2 * seat, 2 * seat + 1)]
        shown = [meld for meld in melds if meld]
        if after["round_over"] or not shown:
            return f"{text}: {_phase_words(ruleset, phase)}"
        return f"{text}: {', '.join(shown)}"
    if not seen:
        return ""
    if action < table.NUMBER:
        return f"begins to lay down phase {phase + 1}, choosing every card"
    if action < table.PLAY:
        return f"declares {_declaration(game, ruleset, action)}"
    return f"adds {KIND_TEXTS[action - table.PLAY]} to the lay-down"


def _consequences(game: np.void, after: np.void, labels: Sequence[str]) -> list[str]:
    """Return what else the step brought about: lost turns, the end of the round, the end of the game."""
    sentences = []
    if after["round_over"]:
        out = int(after["out_seat"])
        who = (
            f"{labels[out]} goes out."
            if out >= 0
            else "Nobody can draw: the round ends without a winner (R13)."
        )
        points = ", ".join(f"{label} {after['round_points'][k]}" for k, label in enumerate(labels))
        sentences += [who] if game["tie_break"] else [who, f"Round {game['round']} scores: {points}."]
    if after["status"] == TRUNCATED:
        sentences.append("The game is stopped at a cap; nobody wins (R34).")
    elif after["status"] == TERMINATED and after["rank"].any():
        winners = [label for k, label in enumerate(labels) if after["rank"][k] == 1]
        verb = "wins" if len(winners) == 1 else "share the win of"
        sentences.append(f"{' and '.join(winners)} {verb} the game.")
    elif after["round_over"] and after["stage"] != OVER:
        dealer = labels[int(after["dealer"])]
        kind = "a tie-break round" if after["tie_break"] else f"round {after['round']}"
        sentences.append(f"{dealer} deals {kind}.")
    lost = int(after["last_lost"])
    sentences += [f"{label} loses a turn." for k, label in enumerate(labels) if (lost >> k) & 1]
    return sentences


# ---------------------------------------------------------------- parts of sentences


def _top(game: np.void) -> str:
    return _card(game["discard"][game["discard_size"] - 1]) if game["discard_size"] else "the top card"


def _card(kind: np.integer) -> str:
    return "a card" if kind == NO_CARD else KIND_TEXTS[kind]


def _phase_words(ruleset: RuleSet, phase: int) -> str:
    return phase_in_words(ruleset.phases[phase]) if phase < len(ruleset.phases) else "not in this ruleset"


def _declaration(game: np.void, ruleset: RuleSet, action: int) -> str:
    """Return a declared value in words, such as "a run from 3"."""
    if action >= table.COLOUR:
        return COLOUR_WORDS[action - table.COLOUR]
    number = action - table.NUMBER + 1
    phase = ruleset.phases[int(game["build_phase"])]
    sizes = game["placed_sizes"]
    group = (
        1 if len(phase) > 1 and (sizes[0] == phase[0][1] or (game["compact"] and game["declared"][0])) else 0
    )
    return f"a run from {number}" if phase[group][0] == "run" else f"a set of {number}s"


def _meld_words(game: np.void, place: int) -> str:
    kind = int(game["meld_kind"][place])
    if kind == NO_GROUP:
        return ""
    cards = " ".join(KIND_TEXTS[card] for card in game["meld_cards"][place, : game["meld_size"][place]])
    return f"{meld_text(kind, int(game['meld_value'][place]), int(game['meld_high'][place]))} ({cards})"


def _labels(game: np.void, names: Sequence[str] | None) -> list[str]:
    return list(names) if names is not None else [f"seat {k}" for k in range(int(game["num_players"]))]


def _owners(game: np.void, labels: Sequence[str], own: str) -> list[str]:
    """Return whose the melds of each seat are, seen from the seat to act."""
    return [own if seat == game["to_act"] else f"{label}'s" for seat, label in enumerate(labels)]


def _on_meld(game: np.void, place: int, high: bool, owners: Sequence[str], both_ends: bool) -> str:
    kind, value = int(game["meld_kind"][place]), int(game["meld_value"][place])
    if kind == NO_GROUP:  # asked about an action that is not legal
        return "on a meld that is not there"
    text = f"{owners[place // 2]} {meld_text(kind, value, int(game['meld_high'][place]))}"
    if kind == RUN and both_ends:
        return f"on the {'high' if high else 'low'} end of {text}"
    return f"on {text}"


def _place_text(game: np.void, action: int, owners: Sequence[str]) -> str:
    code = action - table.ONTO
    seat = (int(game["to_act"]) + code // 4) % int(game["num_players"])
    return _on_meld(game, 2 * seat + (code // 2) % 2, code % 2 == 1, owners, True)


def _only_place(game: np.void, ruleset: RuleSet, kind: int, owners: Sequence[str]) -> str:
    """Return where a hit goes if the card fits one place only, else nothing."""
    own_only = ruleset.record["hit_after_lay"][0] == HIT_OWN and game["laid_this_turn"]
    spots = []
    for place in range(MELDS):
        reach = not own_only or place // 2 == game["to_act"]
        if reach and kind != SKIP and (int(game["meld_fits"][place]) >> kind) & 1:
            low, high = int(game["meld_value"][place]), int(game["meld_high"][place])
            if game["meld_kind"][place] != RUN:
                spots.append((place, False))
                continue
            if low > 1 and kind in (WILD, *range(low - 2, WILD, NUMBERS)):
                spots.append((place, False))
            if high < NUMBERS and kind in (WILD, *range(high, WILD, NUMBERS)):
                spots.append((place, True))
    if len(spots) != 1:
        return ""
    place, high_end = spots[0]
    return f" {_on_meld(game, place, high_end, owners, False)}"


def _target(game: np.void, action: int, labels: Sequence[str]) -> str:
    seat = (int(game["to_act"]) + action - table.SKIP + 1) % int(game["num_players"])
    return labels[seat]
