"""Play in the terminal: what is typed, what is shown, what is kept."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from phase10_env.records import replay
from phase10_training.play_session import PlaySession
from phase10_training.play_terminal import TerminalPlay, expand_move


class Screen:
    """A terminal whose lines are typed beforehand or chosen by the test."""

    def __init__(self, folder: Path, session: PlaySession, lines: list[str] | None = None) -> None:
        self.out = io.StringIO()
        self.session = session
        self.lines = None if lines is None else list(lines)
        self.prompts: list[str] = []
        self.saved, self.record = folder / "game.json", folder / "game.p10"
        self.play = TerminalPlay(
            session, self.saved, self.record, hints="greedy", colour=False, ask=self.ask, out=self.out
        )

    def ask(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if prompt != "> ":
            return ""
        if self.lines is None:
            legal = self.session.game.legal_actions()
            return next((text for text in legal if text.startswith(("lay", "play", "onto"))), legal[-1])
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    @property
    def text(self) -> str:
        return self.out.getvalue()


def test_a_whole_game_is_played_in_the_terminal(tmp_path: Path) -> None:
    screen = Screen(tmp_path, PlaySession(["human", "greedy"], "short-5", 4, ["Ann", "Bot"]))
    assert screen.play.run() == 0
    assert "The game is over: " in screen.text
    assert "phase10 replay" in screen.text
    (replayed,) = replay(screen.record)
    assert replayed.game.over
    assert not screen.saved.exists()


def test_the_game_is_saved_after_each_move_and_goes_on(tmp_path: Path) -> None:
    session = PlaySession(["human", "greedy"], seed=3)
    screen = Screen(tmp_path, session, ["draw", "quit"])
    assert screen.play.run() == 0
    assert f"phase10 play --resume {screen.saved}" in screen.text
    again = PlaySession.load(screen.saved)
    assert again.game.position() == session.game.position()
    assert again.game.stage == "play"
    end_of_input = Screen(tmp_path, again, [])
    assert end_of_input.play.run() == 0
    assert "phase10 play --resume" in end_of_input.text


def test_illegal_and_unknown_moves_are_explained(tmp_path: Path) -> None:
    screen = Screen(
        tmp_path, PlaySession(["human", "greedy"], seed=3), ["discard W", "frobnicate", "", "hint nope"]
    )
    screen.play.run()
    assert "You may not discard W: a turn begins with a draw" in screen.text
    assert "(R8)" in screen.text
    assert "Unknown action 'frobnicate'" in screen.text
    assert "Type an action, or help." in screen.text
    assert "unknown agent 'nope': expected one of 'random', 'melder'" in screen.text


def test_commands_show_help_rules_moves_and_hints(tmp_path: Path) -> None:
    screen = Screen(
        tmp_path, PlaySession(["human", "greedy"], seed=3), ["help", "rules", "w", "moves", "hint"]
    )
    screen.play.run()
    assert "hint [AGENT]" in screen.text
    assert "R28" in screen.text
    assert "Player draws " in screen.text
    assert "greedy would:" in screen.text
    assert "You drew " in screen.text


def test_undo_is_typed_too(tmp_path: Path) -> None:
    session = PlaySession(["human", "greedy"], seed=3)
    screen = Screen(tmp_path, session, ["w", "undo", "undo"])
    screen.play.run()
    assert "Your last move is taken back." in screen.text
    assert "There is no move of yours to take back." in screen.text
    assert session.game.stage == "draw"


def test_the_other_hand_is_never_on_the_screen(tmp_path: Path) -> None:
    session = PlaySession(["human", "greedy"], seed=8)
    screen = Screen(tmp_path, session, ["w", "hint", "moves"])
    screen.play.run()
    assert "?? x " in screen.text
    assert screen.text.count("cards, ") == screen.text.count("> Player (you)")


def test_people_at_one_keyboard_are_asked_to_pass_it_on(tmp_path: Path) -> None:
    session = PlaySession(["human", "human"], seed=3, names=["Ann", "Bo"])
    first = session.names[session.to_act]
    discard = session.game.copy()
    discard.play("draw")
    text = next(text for text in discard.legal_actions() if text.startswith("discard"))
    screen = Screen(tmp_path, session, ["w", text])
    screen.play.run()
    other = "Bo" if first == "Ann" else "Ann"
    passes = [prompt for prompt in screen.prompts if "nobody else looks" in prompt]
    assert [first in passes[0], other in passes[1]] == [True, True]
    before, after = screen.text.split("\n" * 60)[1:3]
    assert f"> {first} (you)" in before
    assert f"> {other} (you)" in after
    assert f"{first} (you)" not in after
    assert f"{first} draws from the stock." in after


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("w", "draw"),
        ("T", "take"),
        ("d r5", "discard r5"),
        ("h W", "play W"),
        ("l 3", "lay 3"),
        ("discard R5",) * 2,
    ],
)
def test_first_letters_stand_for_moves(typed: str, meant: str) -> None:
    assert expand_move(typed) == meant
