"""What happened in a game, as a list of events: the source of histories and records.

An event is a small tuple with names; seats count from 0, phases from 1, cards are text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phase10_env.actions import DRAW, action_text
from phase10_env.engine import Record
from phase10_env.notation import format_cards, format_counts
from phase10_env.rules.cards import SKIP
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import RUNNING, TRUNCATED

__all__ = [
    "Deal",
    "Decision",
    "Event",
    "LostTurn",
    "Reshuffle",
    "Result",
    "Score",
    "deal_of",
    "events_of_step",
    "opening_events",
    "phases_text",
]


class Deal(NamedTuple):
    """A round was dealt; `hands` has None for a seat that does not take part (R33)."""

    round: int
    dealer: int
    hands: tuple[str | None, ...]
    discard: str
    stock: str


class Decision(NamedTuple):
    """A seat took an action; `ends_turn` where nothing more belongs to its turn."""

    seat: int
    action: int
    ends_turn: bool


class LostTurn(NamedTuple):
    """A seat lost its turn (R7, R23)."""

    seat: int


class Reshuffle(NamedTuple):
    """The discard pile became the new stock (R13)."""

    stock: str


class Score(NamedTuple):
    """A round was scored; `out` is the seat that went out, or None (R13, R29)."""

    out: int | None
    scores: tuple[int, ...]
    phases: str


class Result(NamedTuple):
    """The game ended, with the rank of each seat, or None where it was truncated (R32, R34)."""

    ranks: tuple[int, ...] | None


Event = Deal | Decision | LostTurn | Reshuffle | Score | Result
"""Anything that happens in a game."""


def deal_of(games: Record) -> Deal:
    """Return the deal of a round that has just begun."""
    game = games[0]
    hands = tuple(
        format_counts(game["hands"][seat]) if game["active"][seat] else None
        for seat in range(int(game["num_players"]))
    )
    piles = [format_cards(game[name][: game[f"{name}_size"]][::-1].tolist()) for name in ("discard", "stock")]
    return Deal(int(game["round"]), int(game["dealer"]), hands, piles[0], piles[1])


def opening_events(games: Record) -> list[Event]:
    """Return the deal of a round that has just begun, and the turn lost to an opening Skip (R7)."""
    game = games[0]
    events: list[Event] = [deal_of(games)]
    if game["discard_size"] and game["discard"][0] == SKIP:
        events.append(LostTurn(_next_active(games, int(game["dealer"]))))
    return events


def _next_active(games: Record, seat: int) -> int:
    players = int(games["num_players"][0])
    following = (seat + 1) % players
    while not games["active"][0, following]:
        following = (following + 1) % players
    return following


def phases_text(games: Record, ruleset: RuleSet) -> str:
    """Return the phase each seat is on, or under `advance="pick"` the phases each has done."""
    game = games[0]
    players = range(int(game["num_players"]))
    if ruleset.advance != "pick":
        return " ".join(str(int(game["phase"][seat]) + 1) for seat in players)
    done = [int(game["done"][seat]) for seat in players]
    numbers = range(len(ruleset.phases))
    return " ".join(",".join(str(k + 1) for k in numbers if bits >> k & 1) or "-" for bits in done)


def events_of_step(before: Record, after: Record, action: int, ruleset: RuleSet) -> list[Event]:
    """Return what one action did.

    Args:
        before: GAME[1] as the action found it.
        after: GAME[1] as the action left it.
        action: the action, index.
        ruleset: the rules.
    """
    old, new = before[0], after[0]
    seat = int(old["to_act"])
    events: list[Event] = []
    if action == DRAW and old["stock_size"] == 0:
        drawn = int(np.argmax(new["hands"][seat] > old["hands"][seat]))
        events.append(Reshuffle(format_cards([drawn, *new["stock"][: new["stock_size"]][::-1].tolist()])))
    over = new["status"] != RUNNING
    turn_over = bool(over or new["round_over"] or new["turn"] != old["turn"])
    events.append(Decision(seat, action, turn_over))
    if turn_over:
        events += [LostTurn(lost) for lost in _lost_turns(before, after, action)]
    if new["round_over"]:
        out = int(new["out_seat"])
        scores = tuple(new["score"][: new["num_players"]].tolist())
        events.append(Score(None if out < 0 else out, scores, phases_text(after, ruleset)))
    if over:
        ranks = tuple(new["rank"][: new["num_players"]].tolist())
        events.append(Result(None if new["status"] == TRUNCATED else ranks))
    elif new["round_over"]:
        events += opening_events(after)
    return events


def _lost_turns(before: Record, after: Record, action: int) -> list[int]:
    """Return the seats that lost a turn right after an action, in order (not those of a following round)."""
    old, new = before[0], after[0]
    players = int(old["num_players"])
    if new["round_over"] and new["out_seat"] >= 0:
        return []
    pending = old["skipped"].astype(bool)
    text = action_text(action)
    if text.startswith("skip "):
        pending[(int(old["to_act"]) + int(text[5:])) % players] = True
    lost: list[int] = []
    seat = _next_active(before, int(old["to_act"]))
    # a drawless circle ends the round before every pending Skip is used up (R13)
    most = int(old["active"].sum()) - int(old["no_draw"]) if new["round_over"] else players
    while pending[seat] and new["last_lost"] >> seat & 1 and len(lost) < most:
        lost.append(seat)
        pending[seat] = False
        seat = _next_active(before, seat)
    return lost
