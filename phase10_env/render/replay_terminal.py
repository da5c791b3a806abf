"""A played game in the terminal: stepped by keys where there is a keyboard, else told move by move.

Keys: right and left (or space and backspace) one move, down and up one turn, page down and page up one round,
home and end, `v` changes whose hands are shown, `q` ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TextIO

from phase10_env.game import Game
from phase10_env.render.ansi import draw_ansi, plain
from phase10_env.render.facts import Record, table_facts
from phase10_env.render.steps import Advice, Step, game_steps
from phase10_env.render.words import action_in_words, move_in_words
from phase10_env.rules.ruleset import RuleSet

__all__ = ["read_key", "replay_terminal", "tell_game"]

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_SHOWN_VALUES = 6

_ESCAPES = {
    "[A": "up", "[B": "down", "[C": "right", "[D": "left", "OA": "up", "OB": "down", "OC": "right",
    "OD": "left",
    "[H": "home", "[F": "end", "OH": "home", "OF": "end", "[1~": "home", "[4~": "end", "[7~": "home",
    "[8~": "end", "[5~": "page up", "[6~": "page down",
}  # fmt: skip
_MEANINGS = {
    "right": "move", " ": "move", "n": "move", "\r": "move", "\n": "move",
    "left": "move back", "\x7f": "move back", "\b": "move back", "p": "move back",
    "down": "turn", "up": "turn back", "page down": "round", "page up": "round back",
    "home": "start", "end": "end", "v": "view", "q": "quit", "\x03": "quit", "\x04": "quit", "": "quit",
}  # fmt: skip
_HELP = "keys: arrows move and turn, page up/down round, home, end, v hands, q quit"


def replay_terminal(
    game: Game,
    *,
    viewer: int | None = None,
    names: Sequence[str] | None = None,
    advice: Sequence[Advice | None] = (),
    adviser: str = "",
    colour: bool = True,
    out: TextIO | None = None,
    key: Callable[[], str] | None = None,
) -> None:
    """Show a game move by move, as the keys say, until `q`.

    Args:
        game: the game with its history, as `records.replay` gives it.
        viewer: a seat, whose knowledge is shown and nothing else; None: the open table, which `v` covers.
        names: a label for each seat.
        advice: what an agent would do at each decision, in order; None where nothing is known.
        adviser: that agent's name.
        colour: write ANSI colours.
        out: where to write; default standard output.
        key: returns the next key (see `read_key`); default: the keyboard.

    Raises:
        ViewError: there is no such seat, or the names do not fit.
        ValueError: there is not one advice a decision.
    """
    film = _Film(game, viewer, names, advice, adviser)
    stream = out or sys.stdout
    next_key = key or read_key
    place, view = 0, viewer
    while True:
        page = film.page(place, view)
        stream.write(_CLEAR + (page if colour else plain(page)) + "\n")
        stream.flush()
        command = _MEANINGS.get(next_key(), "")
        if command == "quit":
            return
        if command == "view" and viewer is None:
            seats = [None, *range(game.num_players)]
            view = seats[(seats.index(view) + 1) % len(seats)]
        place = film.move(place, command)


def tell_game(
    game: Game, *, viewer: int | None = None, names: Sequence[str] | None = None, out: TextIO | None = None
) -> None:
    """Write a whole game as sentences, one move a line, with a heading for each round.

    Raises:
        ViewError: there is no such seat, or the names do not fit.
    """
    stream = out or sys.stdout
    first, steps = game_steps(game)
    labels = [seat.name for seat in table_facts(first, game.ruleset, viewer, names).seats]
    shown_round = 0
    for step in steps:
        number = int(step.before["round"][0])
        if number != shown_round:
            stream.write(f"{'' if not shown_round else chr(10)}Round {number}\n")
            shown_round = number
        words = move_in_words(step.before, step.after, game.ruleset, step.action, viewer, labels)
        if words:
            stream.write(f"  {words}\n")


class _Film:
    """The moments of a game and what is written about each."""

    def __init__(
        self,
        game: Game,
        viewer: int | None,
        names: Sequence[str] | None,
        advice: Sequence[Advice | None],
        adviser: str,
    ) -> None:
        first, steps = game_steps(game)
        if advice and len(advice) != len(steps):
            raise ValueError(
                f"advice has {len(advice)} entries: expected {len(steps)}, one for each decision"
            )
        self._ruleset: RuleSet = game.ruleset
        self._labels = [seat.name for seat in table_facts(first, game.ruleset, viewer, names).seats]
        self._steps: list[Step] = steps
        self._records: list[Record] = [first, *(step.after for step in steps)]
        self._advice = list(advice)
        self._adviser = adviser
        times = [(int(record["round"][0]), int(record["turn"][0])) for record in self._records]
        changes = range(1, len(times))
        self._turns = [0, *(k for k in changes if times[k] != times[k - 1]), len(times) - 1]
        self._rounds = [0, *(k for k in changes if times[k][0] != times[k - 1][0]), len(times) - 1]

    def move(self, place: int, command: str) -> int:
        """Return the moment that a command leads to."""
        last = len(self._records) - 1
        marks = self._rounds if command.startswith("round") else self._turns
        return {
            "move": min(place + 1, last),
            "move back": max(place - 1, 0),
            "turn": min((k for k in marks if k > place), default=last),
            "round": min((k for k in marks if k > place), default=last),
            "turn back": max((k for k in marks if k < place), default=0),
            "round back": max((k for k in marks if k < place), default=0),
            "start": 0,
            "end": last,
        }.get(command, place)

    def page(self, place: int, viewer: int | None) -> str:
        """Return all that is shown of a moment."""
        facts = table_facts(self._records[place], self._ruleset, viewer, self._labels)
        words = "The cards are dealt."
        if place:
            step = self._steps[place - 1]
            words = (
                move_in_words(step.before, step.after, self._ruleset, step.action, viewer, self._labels)
                or "..."
            )
        hands = "open table" if viewer is None else f"hands: {self._labels[viewer]} only"
        head = f"move {place} of {len(self._steps)}   {hands}"
        parts = [head, words, "", draw_ansi(facts), *self._values(place, viewer), "", _HELP]
        return "\n".join(parts)

    def _values(self, place: int, viewer: int | None) -> list[str]:
        """Return the lines on what the agent would do at the decision of this moment."""
        if place >= len(self._advice):
            return []
        advice, record = self._advice[place], self._records[place]
        if advice is None or (viewer is not None and viewer != record["to_act"][0]):
            return []
        best = sorted(advice.values.items(), key=lambda item: (item[0] != advice.choice, -item[1]))
        lines = [
            f"{self._adviser} would {action_in_words(record, self._ruleset, advice.choice, self._labels)}"
        ]
        lines += [
            f"  {value:8.3f}  {action_in_words(record, self._ruleset, action, self._labels)}"
            for action, value in best[:_SHOWN_VALUES]
        ]
        if len(best) > _SHOWN_VALUES:
            lines.append(f"            and {len(best) - _SHOWN_VALUES} more")
        return ["", *lines]


def read_key() -> str:
    """Return the next key from the keyboard: a character, or "up", "page down" and so on; "" at the end."""
    if os.name == "nt":
        return _read_windows_key()
    import select
    import termios
    import tty

    number = sys.stdin.fileno()
    kept = termios.tcgetattr(number)
    try:
        tty.setraw(number, termios.TCSADRAIN)  # the default would throw away keys typed while a page is drawn
        text = os.read(number, 1).decode("latin-1")
        if text == "\x1b":
            while select.select([number], [], [], 0.05)[0] and text[1:] not in _ESCAPES and len(text) < 6:
                text += os.read(number, 1).decode("latin-1")
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, kept)
    return _ESCAPES.get(text[1:], "q" if text == "\x1b" else text)


def _read_windows_key() -> str:
    import importlib

    msvcrt = importlib.import_module("msvcrt")  # exists on that system only
    text: str = msvcrt.getwch()
    if text not in ("\x00", "\xe0"):
        return text
    names = {"H": "up", "P": "down", "M": "right", "K": "left", "G": "home", "O": "end", "I": "page up"}
    return {**names, "Q": "page down"}.get(msvcrt.getwch(), "?")
