"""A played game as one self-contained HTML page: no network, no other file; styles and script inside.

The page steps by move, turn and round with buttons, keys (arrows, page up and down, home, end, space), a
slider and swipes. States are stored as changes from move to move.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from phase10_env.actions import action_text
from phase10_env.engine import legal_indices
from phase10_env.game import Game
from phase10_env.render.facts import Record, TableFacts, table_facts
from phase10_env.render.steps import Advice, Step, game_steps
from phase10_env.render.words import action_in_words, move_in_words
from phase10_env.rules.cards import KIND_TEXTS
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.table import DRAW

__all__ = ["page_file", "replay_html"]


def page_file(name: str) -> str:
    """Return the text of a file of the pages: "table.css", "table.js", ...

    >>> page_file("table.js").splitlines()[1]
    '"use strict";'
    """
    return files("phase10_env.render").joinpath("page", name).read_text(encoding="utf-8")


def replay_html(
    game: Game,
    *,
    viewer: int | None = None,
    names: Sequence[str] | None = None,
    advice: Sequence[Advice | None] = (),
    adviser: str = "",
    title: str = "Phase 10",
) -> str:
    """Return the page of a game.

    Args:
        game: the game with its history, as `records.replay` gives it.
        viewer: a seat, whose knowledge the page then holds and nothing else; None: the open table, on which
            the reader may hide hands.
        names: a label for each seat.
        advice: what an agent would do at each decision of the game, in order; None where nothing is known.
        adviser: that agent's name.
        title: heading of the page.

    Raises:
        ViewError: there is no such seat, or the names do not fit.
        ValueError: there is not one advice a decision.

    >>> game = Game(seed=7)
    >>> game.play("draw")
    >>> replay_html(game).startswith("<!doctype html>")
    True
    """
    first, steps = game_steps(game)
    if advice and len(advice) != len(steps):
        raise ValueError(f"advice has {len(advice)} entries: expected {len(steps)}, one for each decision")
    data = _page_data(first, steps, game.ruleset, viewer, names, advice)
    data["adviser"] = adviser
    labels = data["names"]
    choice = "" if viewer is not None else _viewer_choice(labels)
    panel = ""
    if advice:
        heading = html.escape(f"Values of {adviser or 'the agent'}")
        panel = f'<details class="panel" open><summary>{heading}</summary><div id="values"></div></details>'
    return Template(page_file("replay.html")).substitute(
        title=html.escape(title),
        style=page_file("table.css") + page_file("replay.css"),
        viewer_choice=choice,
        values_panel=panel,
        # "<" could end the script element from inside a string
        data=json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        script=page_file("table.js") + page_file("replay.js"),
    )


def _viewer_choice(labels: Sequence[str]) -> str:
    options = ['<option value="">open table</option>']
    options += [
        f'<option value="{seat}">{html.escape(label)} only</option>' for seat, label in enumerate(labels)
    ]
    return f'<label class="quiet">Hands: <select id="viewer">{"".join(options)}</select></label>'


def _page_data(
    first: Record,
    steps: Sequence[Step],
    ruleset: RuleSet,
    viewer: int | None,
    names: Sequence[str] | None,
    advice: Sequence[Advice | None],
) -> dict[str, Any]:
    facts = table_facts(first, ruleset, viewer, names)
    labels = [seat.name for seat in facts.seats]
    moves: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    for place, step in enumerate(steps):
        words = move_in_words(step.before, step.after, ruleset, step.action, viewer, labels)
        if not words:
            continue  # a step that the viewer cannot see
        following = table_facts(step.after, ruleset, viewer, labels)
        seat = int(step.before["to_act"][0])
        seen = viewer is None or viewer == seat
        move: dict[str, Any] = {"seat": seat, "words": words, "change": _change(facts, following)}
        if seen and step.action == DRAW:
            move["card"] = _drawn(step, seat)
        if seen and advice and (told := advice[place]) is not None:
            move["options"] = _options(step, ruleset, told, labels)
        moves.append(move)
        facts = following
        if step.after["round_over"][0]:
            points = step.after["round_points"][0, : len(labels)].tolist()
            out = int(step.after["out_seat"][0])
            number = int(step.before["round"][0])
            scores.append({"move": len(moves), "round": number, "points": points, "out": out})
    dealer = labels[int(first["dealer"][0])]
    return {
        "first": table_facts(first, ruleset, viewer, labels).to_dict(),
        "moves": moves,
        "names": labels,
        "scores": scores,
        "opening": f"{dealer} deals round {int(first['round'][0])}.",
    }


def _drawn(step: Step, seat: int) -> str:
    """Return the card that was drawn, or "" where the step dealt a new round."""
    change = step.after["hands"][0, seat] - step.before["hands"][0, seat]
    drawn = np.flatnonzero(change > 0).tolist()
    return KIND_TEXTS[drawn[0]] if len(drawn) == 1 else ""


def _change(old: TableFacts, new: TableFacts) -> dict[str, Any]:
    """Return the fields that differ; those of seats by seat."""
    before, after = old.to_dict(), new.to_dict()
    change = {name: value for name, value in after.items() if name != "seats" and value != before[name]}
    seats = {}
    for seat, (was, now) in enumerate(zip(before["seats"], after["seats"], strict=True)):
        fields = {name: value for name, value in now.items() if value != was[name]}
        if fields:
            seats[seat] = fields
    return {**change, "seats": seats} if seats else change


def _options(step: Step, ruleset: RuleSet, advice: Advice, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return the legal actions of a decision with the agent's values, the best first."""
    options = []
    for action in legal_indices(step.before, ruleset):
        value = advice.values.get(action)
        options.append(
            {
                "text": action_text(action),
                "words": action_in_words(step.before, ruleset, action, labels),
                "value": None if value is None or not np.isfinite(value) else round(float(value), 4),
                "choice": action == advice.choice,
                "played": action == step.action,
            }
        )
    return sorted(options, key=lambda option: (not option["choice"], -(option["value"] or 0.0)))
