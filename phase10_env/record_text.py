"""Writes the record of a game (`.p10`): text from which every move can be replayed and verified.

One turn a line; a game ends with its `[result ...]` line, and several games may follow one another. Where they
are needed, `[rules {...}]` holds rules that are no preset, `[actions compact]` the mode, `[episode N]` the
episode of a batch row, and `[position {...}]` the start of a game that did not begin with a deal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from phase10_env.actions import action_text
from phase10_env.events import Deal, Decision, Event, LostTurn, Reshuffle, Result, Score
from phase10_env.rules.ruleset import PRESETS, RuleSet

__all__ = ["UNFINISHED", "format_record"]

UNFINISHED = "unfinished"
"""Stands in a record for the result of a game that is not over."""


def format_record(
    events: Iterable[Event],
    ruleset: RuleSet,
    num_players: int,
    seed: int,
    *,
    agents: Sequence[str] = (),
    actions: str = "full",
    episode: int = 0,
    position: str | None = None,
) -> str:
    """Return a game as the text of a record.

    Args:
        events: what happened, from the first deal or from `position` on.
        ruleset: the rules.
        num_players: 2-6.
        seed: the game's seed.
        agents: who played, by seat, without blanks.
        actions: "full" or "compact".
        episode: games played before from this seed.
        position: JSON of the position in which the game began, or None for a deal.

    Raises:
        ValueError: not one agent a seat, or a name that is empty or has blanks.
    """
    if agents and len(agents) != num_players:
        raise ValueError(f"agents has {len(agents)} names: expected {num_players}, one a seat, or none")
    for name in agents:
        if name.split() != [name] or "]" in name:
            raise ValueError(f"agents has {name!r}: expected a name without blanks and brackets")
    lines = [f"[ruleset {ruleset.name} {ruleset.digest}]"]
    if ruleset.name not in PRESETS:
        lines.append(f"[rules {json.dumps(ruleset.to_dict())}]")
    lines += [f"[players {num_players}]", f"[seed {seed}]"]
    if episode:
        lines.append(f"[episode {episode}]")
    if actions != "full":
        lines.append(f"[actions {actions}]")
    if agents:
        lines.append(f"[agents {' '.join(agents)}]")
    if position is not None:
        lines.append(f"[position {position}]")
    return "\n".join([*lines, *_event_lines(events)]) + "\n"


def _event_lines(events: Iterable[Event]) -> list[str]:
    lines: list[str] = []
    turn: list[str] = []
    finished = False
    for event in events:
        match event:
            case Decision(seat, action, ends_turn):
                turn.append(action_text(action))
                if ends_turn:
                    lines.append(f"{seat}: {'; '.join(turn)}")
                    turn = []
                last = seat
            case LostTurn(seat):
                lines.append(f"{seat}: skipped")
            case Reshuffle(stock):
                lines.append(f"stock: {stock}")
            case Deal(number, dealer, hands, discard, stock):
                lines.append(f"round {number} dealer {dealer}")
                lines += [f"hand {seat}: {hand}" for seat, hand in enumerate(hands) if hand is not None]
                lines += [f"discard: {discard}", f"stock: {stock}"]
            case Score(out, scores, phases):
                lines.append("out nobody" if out is None else f"out {out}")
                lines += [f"scores: {' '.join(map(str, scores))}", f"phases: {phases}"]
            case Result(ranks):
                finished = True
                lines.append(f"[result {'truncated' if ranks is None else ' '.join(map(str, ranks))}]")
    if turn:
        lines.append(f"{last}: {'; '.join(turn)}")
    return lines if finished else [*lines, f"[result {UNFINISHED}]"]
