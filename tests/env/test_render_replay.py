"""Replays: the self-contained page and the terminal."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from render_games import advice_of, played_game

from phase10_env import Game
from phase10_env.actions import action_text
from phase10_env.events import Decision, Score
from phase10_env.render import game_steps, replay_html, replay_terminal, table_facts, tell_game


def page_data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def states_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Put the changes together as the page does."""
    states = [data["first"]]
    for move in data["moves"]:
        changed = dict(move["change"])
        seats = [dict(seat) for seat in states[-1]["seats"]]
        for place, fields in changed.pop("seats", {}).items():
            seats[int(place)].update(fields)
        states.append({**states[-1], **changed, "seats": seats})
    return states


def test_the_steps_of_a_game_are_its_decisions() -> None:
    game = played_game()
    first, steps = game_steps(game)
    assert [step.action for step in steps] == [e.action for e in game.events if isinstance(e, Decision)]
    assert (steps[0].before == first).all()
    assert (steps[-1].after == game.state).all()
    assert game.over


def test_the_page_holds_every_moment_of_the_game() -> None:
    game = played_game()
    data = page_data(replay_html(game, names=["Ann", "Bo"]))
    first, steps = game_steps(game)
    facts = [
        table_facts(record, game.ruleset, names=["Ann", "Bo"])
        for record in [first, *(s.after for s in steps)]
    ]
    expected = json.loads(json.dumps([entry.to_dict() for entry in facts]))
    assert states_of(data) == expected


def test_the_page_lists_the_scores_of_every_round() -> None:
    game = played_game()
    data = page_data(replay_html(game))
    scored = [event for event in game.events if isinstance(event, Score)]
    assert [entry["out"] for entry in data["scores"]] == [event.out for event in scored]
    totals = [sum(entry["points"][seat] for entry in data["scores"]) for seat in range(2)]
    assert totals == game.scores


def test_the_page_needs_nothing_from_outside() -> None:
    page = replay_html(played_game())
    assert set(re.findall(r"https?://[^\"'\s]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|<img|@import|url\(|src=", page)
    assert "default-src 'none'" in page


def test_names_cannot_break_out_of_the_page() -> None:
    evil = "</script><script>alert(1)</script>"
    page = replay_html(played_game(), names=[evil, "&amp;"], title=evil)
    assert "<script>alert" not in page
    assert page_data(page)["names"] == [evil, "&amp;"]


def test_a_page_for_one_seat_holds_nothing_that_the_seat_may_not_know() -> None:
    game = played_game(seed=5, players=3)
    page = replay_html(game, viewer=1, advice=advice_of(game), adviser="low")
    data = page_data(page)
    for state in states_of(data):
        assert state["viewer"] == 1
        assert [seat["hand"] is None for seat in state["seats"]] == [True, False, True]
        if state["to_act"] != 1:
            assert state["building"] is None
            assert state["onto_card"] == ""
            assert state["stage"] in ("draw", "play", "over")
    for move in data["moves"]:
        drawn = re.match(r"seat (\d) draws (\S+) from", move["words"])
        assert drawn is None or drawn[1] == "1", move["words"]
        assert move["seat"] == 1 or ("options" not in move and "card" not in move)
    assert 'id="viewer"' not in page


def test_the_page_shows_the_values_of_an_agent_at_each_decision() -> None:
    game = played_game()
    page = replay_html(game, advice=advice_of(game), adviser="<low>")
    assert "Values of &lt;low&gt;" in page
    data = page_data(page)
    for move, step in zip(data["moves"], game_steps(game)[1], strict=True):
        assert [option["choice"] for option in move["options"]].index(True) == 0
        played = [option["text"] for option in move["options"] if option["played"]]
        assert played == [action_text(step.action)]
        values = [option["value"] for option in move["options"]]
        assert values == sorted(values, reverse=True)
    with pytest.raises(ValueError, match=r"advice has 1 entries: expected \d+, one for each decision"):
        replay_html(game, advice=advice_of(game)[:1])


def test_a_game_from_a_position_has_a_page_too() -> None:
    game = Game.from_position(Game(seed=3).to_json())
    assert page_data(replay_html(game))["moves"] == []
    game.play("draw")
    assert len(page_data(replay_html(game))["moves"]) == 1


def shown(game: Game, keys: str, **options: Any) -> list[str]:
    """Return the screens that a row of keys leads to, the opening one included."""
    out = io.StringIO()
    pressed = iter([*(key.replace("_", " ") for key in keys.split()), "q"])
    replay_terminal(game, colour=False, out=out, key=lambda: next(pressed), **options)
    return out.getvalue().split("\x1b[H\x1b[2J\x1b[3J")[1:]


def heads(screens: list[str]) -> list[int]:
    return [int(screen.split()[1]) for screen in screens]


def test_keys_step_through_the_game_in_the_terminal() -> None:
    game = played_game()
    last = sum(isinstance(event, Decision) for event in game.events)
    rounds = [k for k, step in enumerate(game_steps(game)[1], 1) if step.after["round_over"][0]]
    assert heads(shown(game, "right right left")) == [0, 1, 2, 1]
    assert heads(shown(game, "left end right home")) == [0, 0, last, last, 0]
    assert heads(shown(game, "page_down page_down page_up")) == [0, rounds[0], rounds[1], rounds[0]]
    turns = heads(shown(game, "down down up"))
    assert turns[1] == turns[3] < turns[2]
    assert heads(shown(game, "x")) == [0, 0]


def test_the_terminal_tells_moves_and_values() -> None:
    game = played_game()
    screens = shown(game, "right v v", advice=advice_of(game), adviser="low", names=["Ann", "Bo"])
    assert "low would draw from the stock" in screens[0]
    assert re.search(r"\n    -0\.100  take \S+ from the discard pile", screens[0])
    assert "hands: Ann only" in screens[2]
    assert "hands: Bo only" in screens[3]
    assert "??" not in screens[0]
    assert "??" in screens[2]


def test_a_terminal_replay_for_one_seat_never_opens_the_table() -> None:
    game = played_game()
    for screen in shown(game, "right right v v right", viewer=1):
        assert "hands: seat 1 only" in screen
        assert "?? x" in screen


def test_a_game_is_told_line_by_line_without_a_keyboard() -> None:
    game = played_game()
    out = io.StringIO()
    tell_game(game, names=["Ann", "Bo"], out=out)
    lines = out.getvalue().splitlines()
    assert lines[0] == "Round 1"
    assert sum(line.startswith("Round ") for line in lines) == game.round
    moves = sum(isinstance(event, Decision) for event in game.events)
    assert sum(line.startswith("  ") for line in lines) == moves
    assert "wins the game." in lines[-1]
