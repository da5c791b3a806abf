"""A game between people and agents in the terminal: the table as text, moves typed as words.

What is typed is an action as in `phase10 legal` ("discard R5"), a short form of it ("d r5"), or a command
("hint", "undo", "help"). The game is saved after each move. People who share the keyboard are asked to pass
it on before a hand is shown.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from phase10_env.actions import ACTION_TEXTS
from phase10_env.render.ansi import draw_ansi, format_cards, plain
from phase10_env.render.facts import sort_cards
from phase10_env.render.words import action_in_words
from phase10_env.rules import table
from phase10_env.rules.rulebook import rule_text
from phase10_training.advice import AgentFaultError
from phase10_training.errors import UsageError
from phase10_training.files import write_text
from phase10_training.play_session import PlayError, PlaySession

__all__ = ["TerminalPlay", "expand_move"]

_SHORT = {
    "d": "discard", "h": "play", "hit": "play", "l": "lay", "b": "build", "s": "skip", "o": "onto",
    "n": "number", "c": "colour", "t": "take", "w": "draw", "p": "play",
}  # fmt: skip

_HELP = """\
Type an action as it is listed, or its first letter:
  w draw          t take          d R5 discard R5      h R5 hit with R5 (play)
  l 1 lay down    b 1 lay down, choosing every card    s 1 skip the first player to your left
  o 1.0 high      put a hit on that meld: seats to the left, group, and "high" for the high end of a run
Commands:
  hint [AGENT]    what an agent would do, with its values     undo    take your last move back
  moves           the moves so far                            rules   the rules of this game
  help            this text                                   quit    leave; the game can be continued"""

Ask = Callable[[str], str]


def expand_move(text: str) -> str:
    """Return a typed move with its first word in full.

    >>> expand_move("d r5"), expand_move("w"), expand_move("take")
    ('discard r5', 'draw', 'take')
    """
    words = text.split()
    if words and words[0].lower() in _SHORT:
        words[0] = _SHORT[words[0].lower()]
    return " ".join(words)


class TerminalPlay:
    """Play one session in the terminal.

    Args:
        session: the game.
        path: file that the game is saved in after each move.
        records: file that the record of the finished game is written to (`.p10`).
        hints: agent that `hint` asks where none is named.
        colour: write ANSI colours.
        ask: shows a prompt and returns the line typed, or raises EOFError; default `input`.
        out: where to write; default standard output.
    """

    def __init__(
        self,
        session: PlaySession,
        path: Path,
        records: Path,
        *,
        hints: str = "aware",
        colour: bool = True,
        ask: Ask | None = None,
        out: TextIO | None = None,
    ) -> None:
        self.session = session
        self._path = path
        self._records = records
        self._hints = hints
        self._colour = colour
        self._ask = ask or input
        self._out = out or sys.stdout
        self._told = 0
        self._shown_seat = session.people[0] if len(session.people) == 1 else None

    def run(self) -> int:
        """Play until the game is over or the player leaves; return 0.

        Raises:
            AgentFaultError: an agent failed; the game is saved.
        """
        self.session.save(self._path)
        while not self.session.game.over:
            if self.session.awaits_agent:
                self.session.run_agent()
                self.session.save(self._path)
                if not self.session.people:
                    self._tell_news(None)
            elif not self._turn():
                self._say(f"The game is saved; go on with: phase10 play --resume {self._path}")
                return 0
        self._finish()
        return 0

    def _finish(self) -> None:
        viewer = self._shown_seat if self.session.people else None
        self._tell_news(viewer)
        self._say(draw_ansi(self.session.facts(viewer)))
        write_text(self._records, self.session.record())
        self._path.unlink(missing_ok=True)
        self._say(f"The record of the game is saved; look at it with: phase10 replay {self._records}")

    def _say(self, text: str = "") -> None:
        self._out.write((text if self._colour else plain(text)) + "\n")
        self._out.flush()

    def _tell_news(self, viewer: int | None) -> None:
        for words in self.session.told(viewer, self._told):
            self._say(f"  {words}")
        self._told = len(self.session.moves)

    def _turn(self) -> bool:
        """Let a person decide once; return False to leave."""
        seat = self.session.to_act
        if self._shown_seat != seat:
            if not self._pass_on(seat):
                return False
            self._shown_seat = seat
        self._tell_news(seat)
        self._say()
        self._say(draw_ansi(self.session.facts(seat)))
        self._say(self._options(seat))
        while True:
            try:
                line = self._ask("> ").strip()
            except EOFError:
                return False
            done = self._obey(seat, line)
            if done is not None:
                return done

    def _pass_on(self, seat: int) -> bool:
        """Hide what the last person saw until the next one has the keyboard."""
        self._say("\x1b[H\x1b[2J\x1b[3J" if self._colour else "\n" * 60)
        try:
            self._ask(f"It is the turn of {self.session.names[seat]}; press Enter when nobody else looks. ")
        except EOFError:
            return False
        self._told = max(0, self._told - 2 * len(self.session.seats))
        return True

    def _options(self, seat: int) -> str:
        """Return the legal actions, cards of one kind of action on one line."""
        game = self.session.game
        drawn = self.session.drawn(seat)
        lines = [f"You drew {format_cards([drawn])}."] if drawn and game.stage == "play" else []
        lines.append("You may:")
        groups: dict[str, list[str]] = {}
        for action in game.legal_indices():
            text = ACTION_TEXTS[action]
            if game.stage == "play" and (
                table.PLAY <= action < table.ONTO or table.DISCARD <= action < table.SKIP
            ):
                word, _, card = text.partition(" ")
                groups.setdefault(word, []).append(card)
            else:
                words = action_in_words(game.state, game.ruleset, action, self.session.names)
                lines.append(f"  {text:12}  {words}")
        for word, cards in groups.items():
            meaning = "hit with one of" if word == "play" else "end the turn with one of"
            lines.append(f"  {word:12}  {meaning}: {format_cards(sort_cards(cards))}")
        return "\n".join(lines)

    def _obey(self, seat: int, line: str) -> bool | None:
        """Do what a line says; return True after a move, False to leave, None to be asked again."""
        word, _, rest = line.partition(" ")
        try:
            match word.lower():
                case "quit" | "q" | "exit":
                    return False
                case "help" | "?":
                    self._say(_HELP)
                case "rules":
                    self._say(rule_text(self.session.game.ruleset))
                case "moves":
                    for words in self.session.told(seat)[-30:]:
                        self._say(f"  {words}")
                case "hint":
                    self._hint(seat, rest.strip() or self._hints)
                case "undo" | "u":
                    self.session.undo(seat)
                    self._told = len(self.session.moves)
                    self.session.save(self._path)
                    self._say("Your last move is taken back.")
                    return True
                case "":
                    self._say("Type an action, or help.")
                case _:
                    self.session.play(seat, expand_move(line))
                    self.session.save(self._path)
                    return True
        except PlayError as problem:
            self._say(str(problem))
        except (UsageError, AgentFaultError, ValueError) as problem:
            self._say(f"{problem}.".replace("..", "."))
        return None

    def _hint(self, seat: int, spec: str) -> None:
        game = self.session.game
        for place, opinion in enumerate(self.session.hint(seat, spec)[:8]):
            value = "       –" if opinion.value is None else f"{opinion.value:8.3f}"
            mark = "*" if opinion.choice else " "
            words = action_in_words(game.state, game.ruleset, opinion.action, self.session.names)
            self._say(f"{spec + ' would:' if not place else '':16}{mark}{value}  {opinion.text:12}  {words}")
