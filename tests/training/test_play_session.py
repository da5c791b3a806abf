"""A game between people and agents: moves, hints, undo, and the file it is kept in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from render_games import deal_hidden_anew, random_choice

from phase10_agents.base import DecisionView
from phase10_agents.catalog import load_agent
from phase10_env.records import replay
from phase10_env.render import table_facts
from phase10_training.advice import AgentFaultError, GameViews, advise, advise_game, opinions
from phase10_training.errors import UsageError
from phase10_training.play_session import PlayError, PlaySession


def act_at_random(session: PlaySession, rng: np.random.Generator) -> None:
    """Let whoever is to act decide; people choose at random."""
    if session.awaits_agent:
        session.run_agent()
    else:
        action = random_choice(np.array(session.game.legal_indices()), rng)
        session.play(session.to_act, session.game.legal_actions()[session.game.legal_indices().index(action)])


def played(seed: int, decisions: int, seats: tuple[str, ...] = ("human", "greedy", "random")) -> PlaySession:
    session = PlaySession(seats, "official", seed)
    rng = np.random.default_rng(seed)
    for _ in range(decisions):
        if not session.game.over:
            act_at_random(session, rng)
    return session


def test_a_whole_game_is_played_and_its_record_is_valid() -> None:
    session = PlaySession(["human", "greedy"], "short-5", 1)
    rng = np.random.default_rng(1)
    while not session.game.over:
        act_at_random(session, rng)
    (replayed,) = replay(session.record())
    assert replayed.agents == ("Player", "greedy")
    assert replayed.game.history == session.game.history
    with pytest.raises(PlayError, match="The game is over"):
        session.play(0, "draw")


def test_illegal_moves_are_explained_with_the_rule_and_change_nothing() -> None:
    session = played(3, 0)
    session.run_agents()
    before = session.game.state.copy()
    with pytest.raises(PlayError, match=r"^You may not discard W: a turn begins with a draw: .* \(R8\)\.$"):
        session.play(0, "discard W")
    with pytest.raises(PlayError, match=r"^It is Player's turn, not greedy's \(R6\)\.$"):
        session.play(1, "draw")
    with pytest.raises(PlayError, match=r"^Unknown action 'drew': the nearest is 'draw'"):
        session.play(0, "drew")
    session.play(0, "Draw")
    with pytest.raises(PlayError, match=r"only one card is drawn in a turn \(R8\)"):
        session.play(0, "take")
    session.undo(0)
    assert (session.game.state == before).all()


def test_undo_takes_back_the_last_own_move_and_all_that_followed() -> None:
    session = played(4, 0)
    session.run_agents()
    session.play(0, "draw")
    before, told = session.game.state.copy(), session.told(0)
    discard = next(text for text in session.game.legal_actions() if text.startswith("discard"))
    session.play(0, discard)
    session.run_agents()
    assert (session.game.state != before).any()
    session.undo(0)
    assert (session.game.state == before).all()
    assert session.told(0) == told
    session.undo(0)
    with pytest.raises(PlayError, match="no move of yours"):
        session.undo(0)


def test_undo_is_refused_where_other_people_play() -> None:
    session = PlaySession(["human", "human"], seed=3)
    session.play(session.to_act, "draw")
    for seat in (0, 1):
        assert not session.can_undo(seat)
        with pytest.raises(PlayError, match="other people play at this table"):
            session.undo(seat)


@pytest.mark.parametrize("decisions", [0, 1, 7, 60, 133, 200])
def test_a_saved_game_goes_on_where_it_was_left(decisions: int, tmp_path: Path) -> None:
    session = played(decisions, decisions)
    session.save(tmp_path / "game.json")
    again = PlaySession.load(tmp_path / "game.json")
    assert again.game.position() == session.game.position()
    assert again.moves == session.moves
    assert again.names == session.names
    for one in (session, again):
        rng = np.random.default_rng(5)
        for _ in range(20):
            act_at_random(one, rng)
    assert again.game.position() == session.game.position()
    if again.can_undo(0):
        again.undo(0)


def test_a_saved_game_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    played(1, 1).save(tmp_path / "game.json")
    assert (tmp_path / "game.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1, "seats": ["human"], "names": 3, "record": ""}',
        '{"format": 1, "seats": ["human", "greedy"], "names": ["a", "b"], "record": "[ruleset x 1]"}',
        '{"format": 1, "seats": ["human", "greedy"], "names": ["a", "b"], "record": ""}',
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "game.json").write_text(text)
    with pytest.raises(UsageError, match=r"expected a saved game|the record of the saved game") as caught:
        PlaySession.load(tmp_path / "game.json")
    assert str(caught.value).startswith(f"{tmp_path / 'game.json'}: ")
    with pytest.raises(UsageError, match="expected a readable file with a saved game, found: No such file"):
        PlaySession.load(tmp_path / "none.json")


def test_a_move_that_was_altered_in_the_file_is_found(tmp_path: Path) -> None:
    session = played(2, 30)
    data = session.to_data()
    data["record"] = data["record"].replace("draw; ", "take; ", 1)
    (tmp_path / "game.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match="the record of the saved game is wrong: line"):
        PlaySession.load(tmp_path / "game.json")


def test_a_hint_is_what_the_agent_would_do_with_its_values() -> None:
    session = played(3, 0)
    session.run_agents()
    found = session.hint(0, "greedy")
    view = GameViews(session.game.ruleset, 3).view(session.game.state)
    agent = load_agent("greedy")
    assert found[0].choice
    assert found[0].action == agent.act(view)[0]
    assert {opinion.text for opinion in found} == set(session.game.legal_actions())
    assert all(opinion.value is None for opinion in session.hint(0, "random"))
    with pytest.raises(ValueError, match="unknown agent 'gredy': the nearest is 'greedy'"):
        session.hint(0, "gredy")
    with pytest.raises(PlayError, match="when it is your turn"):
        session.hint(1, "greedy")


def test_hints_do_not_depend_on_hidden_cards() -> None:
    session = played(9, 0)
    session.run_agents()
    session.play(0, "draw")
    expected = session.hint(0, "greedy")
    session.game.state[:] = deal_hidden_anew(session.game.state, 0, 5)
    assert session.hint(0, "greedy") == expected


def test_opinions_are_sorted_choice_first_then_by_value() -> None:
    session = played(3, 1)
    views = GameViews(session.game.ruleset, 3)
    advice = advise(load_agent("greedy"), views.view(session.game.state))
    values = [o.value for o in opinions(advice, session.game.legal_indices())[1:] if o.value is not None]
    assert values == sorted(values, reverse=True)


def test_an_agent_tells_what_it_would_have_done_in_a_whole_game() -> None:
    session = PlaySession(["greedy", "greedy"], "short-5", 2)
    session.run_agents()
    advice = advise_game(load_agent("greedy"), session.game)
    assert [entry.choice for entry in advice] == [move.action for move in session.moves]


class Broken:
    """An agent that does what the test says."""

    name = "broken"
    answer: object = None

    def act(self, view: DecisionView) -> np.ndarray:
        if isinstance(self.answer, Exception):
            raise self.answer
        return np.asarray(self.answer)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (RuntimeError("boom"), "agent 'broken' failed: RuntimeError: boom"),
        ([164], "agent 'broken' chose action 164, which is illegal here"),
        ([-1], "agent 'broken' chose action -1, which is illegal here"),
        ([0.5], r"agent 'broken' returned float64\[1\]: expected one whole number"),
        (0, r"agent 'broken' returned int64\[\]: expected one whole number"),
    ],
)
def test_an_agent_that_fails_is_named_and_changes_nothing(answer: object, told: str) -> None:
    session = PlaySession(["broken", "broken"], seed=1, loader=lambda spec: Broken())
    before = session.game.state.copy()
    Broken.answer = answer
    with pytest.raises(AgentFaultError, match=told):
        session.run_agent()
    assert (session.game.state == before).all()


def test_what_a_seat_is_told_holds_no_secret() -> None:
    session = played(6, 150, ("human", "greedy", "human"))
    for viewer in (0, 2):
        for move in session.moves:
            words = move.words[viewer]
            if move.seat != viewer:
                assert "draws" not in words or "draws from the stock" in words
                assert "declares" not in words
                assert "to hit with" not in words
        assert session.facts(viewer) == table_facts(
            deal_hidden_anew(session.game.state, viewer, 1), session.game.ruleset, viewer, session.names
        )
    assert all(move.words[1] == "" for move in session.moves)


def test_names_are_told_apart_and_made_printable() -> None:
    assert PlaySession(["human", "human", "greedy"], seed=1).names == ["Player (0)", "Player (1)", "greedy"]
    session = PlaySession(["human", "greedy"], seed=1, names=["A\x1b[31m\n] b" + "x" * 99, " "])
    assert session.names[0].startswith("A [31m ] b")
    assert len(session.names[0]) == 40
    assert session.names[1] == "seat 1"
    (replayed,) = replay(session.record())
    assert "]" not in replayed.agents[0]
    with pytest.raises(UsageError, match="expected 2 names, one a seat, found 1"):
        PlaySession(["human", "greedy"], names=["Ann"])
