"""One game between people and agents: validated moves, hints, undo, and a file from which it goes on.

Everything that people may see comes out of here by seat; the engine alone decides what is legal. The file is
rewritten after each move under a temporary name and then renamed, so a kill at any moment loses nothing.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeGuard

import numpy as np

from phase10_agents.catalog import load_agent
from phase10_env.actions import DRAW, ActionError, parse_action
from phase10_env.decision import Agent, DecisionView
from phase10_env.game import Game
from phase10_env.input_files import read_file
from phase10_env.records import RecordError, replay
from phase10_env.render.facts import TableFacts, table_facts
from phase10_env.render.steps import Step, game_steps
from phase10_env.render.words import action_in_words, move_in_words
from phase10_env.rules.cards import KIND_TEXTS
from phase10_env.rules.ruleset import RuleSet
from phase10_training.advice import GameViews, Opinion, advise, choose, opinions
from phase10_training.errors import UsageError
from phase10_training.files import write_text

__all__ = ["HUMAN", "Move", "PlayError", "PlaySession"]

HUMAN = "human"
"""The specification of a seat that a person plays."""

FORMAT = 1
LONGEST_NAME = 40

Loader = Callable[[str], Agent]


class PlayError(UsageError):
    """Report something that a player asked for and cannot have, in one sentence."""


@dataclass(frozen=True)
class Move:
    """One decision in words.

    Attributes:
        seat: who decided.
        action: index.
        words: what each seat is told, by seat, and last what is told at the open table; "" where the step
            cannot be seen.
        card: the card that was drawn, or "".
    """

    seat: int
    action: int
    words: tuple[str, ...]
    card: str


class PlaySession:
    """A game whose seats are people and agents.

    Args:
        seats: for each seat `human` or the specification of an agent.
        ruleset: the rules.
        seed: of the deals.
        names: what the seats are called; default: "Player", or the specification.
        loader: makes an agent of a specification.

    Raises:
        ValueError: there is no such agent, or the number of seats does not fit.

    >>> session = PlaySession(["human", "greedy"], seed=3)
    >>> session.run_agents()
    >>> session.to_act
    0
    """

    def __init__(
        self,
        seats: Sequence[str],
        ruleset: str | RuleSet = "official",
        seed: int = 0,
        names: Sequence[str] | None = None,
        loader: Loader = load_agent,
    ) -> None:
        self._set_up(seats, names, loader, Game(len(seats), ruleset, seed))

    def _set_up(self, seats: Sequence[str], names: Sequence[str] | None, loader: Loader, game: Game) -> None:
        self.seats = tuple(seats)
        self.names = _labels(self.seats, names)
        self.game = game
        self._loader = loader
        self._agents: dict[str, Agent] = {spec: loader(spec) for spec in set(seats) - {HUMAN}}
        self._views = GameViews(game.ruleset, game.num_players)
        self.moves: list[Move] = []
        for step in game_steps(game)[1]:
            self._tell(step)

    # ---- looking

    @property
    def to_act(self) -> int:
        """The seat that decides next."""
        return self.game.to_act

    @property
    def people(self) -> list[int]:
        """The seats that people play."""
        return [seat for seat, spec in enumerate(self.seats) if spec == HUMAN]

    @property
    def awaits_agent(self) -> bool:
        """Whether an agent is to decide."""
        return not self.game.over and self.seats[self.to_act] != HUMAN

    def facts(self, viewer: int | None) -> TableFacts:
        """Return what a seat may see; None: the open table."""
        return table_facts(self.game.state, self.game.ruleset, viewer, self.names)

    def told(self, viewer: int | None, since: int = 0) -> list[str]:
        """Return the moves from number `since` on, as a seat is told them (None: the open table)."""
        place = -1 if viewer is None else viewer
        return [move.words[place] for move in self.moves[since:] if move.words[place]]

    def drawn(self, seat: int) -> str:
        """Return the card that a seat drew or took in its present turn, or ""."""
        for move in reversed(self.moves):
            if move.seat != seat:
                return ""
            if move.card:
                return move.card
        return ""

    def can_undo(self, seat: int) -> bool:
        """Tell whether a seat may take its last move back: it is the only person, and it has moved."""
        return self.people == [seat] and any(move.seat == seat for move in self.moves)

    # ---- playing

    def play(self, seat: int, action: str) -> None:
        """Take an action for a person.

        Args:
            seat: who asks.
            action: text of the action; case does not matter.

        Raises:
            PlayError: it is not this seat's turn, there is no such action, or a rule forbids it.
        """
        if self.game.over:
            raise PlayError("The game is over.")
        if self.seats[seat] != HUMAN or seat != self.to_act:
            raise PlayError(f"It is {self.names[self.to_act]}'s turn, not {self.names[seat]}'s (R6).")
        try:
            index = parse_action(action)
        except ActionError as error:
            raise PlayError(f"{_sentence(str(error))}") from None
        reason = self.game.why_illegal(index)
        if reason is not None:
            words = action_in_words(self.game.state, self.game.ruleset, index, self.names)
            raise PlayError(f"You may not {words}: {reason}.")
        self.take(index)

    def run_agent(self) -> None:
        """Let the agent that is to act take one decision.

        Raises:
            AgentFaultError: it crashed or chose an illegal action; nothing has changed.
        """
        agent, view = self.agent_decision()
        self.take(choose(agent, view))

    def agent_decision(self) -> tuple[Agent, DecisionView]:
        """Return the agent that is to act and what it may know, for callers that ask it themselves."""
        assert self.awaits_agent
        return self._agents[self.seats[self.to_act]], self._views.view(self.game.state)

    def try_agents(self) -> None:
        """Ask every agent for the decision at hand and drop the answer: one that cannot play shows before the game.

        Raises:
            AgentFaultError: it crashed or chose an illegal action.
        """
        for agent in self._agents.values():
            choose(agent, self._views.view(self.game.state))

    def run_agents(self) -> None:
        """Let agents decide until a person is to act or the game is over.

        Raises:
            AgentFaultError: an agent crashed or chose an illegal action.
        """
        while self.awaits_agent:
            self.run_agent()

    def rename(self, seat: int, name: str) -> None:
        """Call a seat by another name from now on; moves told earlier keep the old one."""
        self.names = _labels(self.seats, [*self.names[:seat], name, *self.names[seat + 1 :]])

    def use_agent(self, spec: str, agent: Agent) -> None:
        """Let another agent play for a specification from now on (a newer snapshot of the same run, say)."""
        self._agents[spec] = agent

    def take(self, action: int) -> None:
        """Take a legal action, index, for whoever is to act."""
        before = self.game.state.copy()
        self.game.play(action)
        self._tell(Step(before, action, self.game.state.copy()))

    def _tell(self, step: Step) -> None:
        seat = int(step.before["to_act"][0])
        viewers = [*range(len(self.seats)), None]
        rules = self.game.ruleset
        words = tuple(
            move_in_words(step.before, step.after, rules, step.action, viewer, self.names)
            if viewer is None or self.seats[viewer] == HUMAN
            else ""
            for viewer in viewers
        )
        card = ""
        if step.action <= DRAW + 1:
            gained = step.after["hands"][0, seat] > step.before["hands"][0, seat]
            card = KIND_TEXTS[int(np.argmax(gained))]
        self.moves.append(Move(seat, step.action, words, card))

    def undo(self, seat: int) -> None:
        """Take a person's last decision back, and all that followed from it.

        Raises:
            PlayError: other people play too, or there is nothing to take back.
        """
        if self.people != [seat]:
            raise PlayError("Moves can be taken back against agents only; other people play at this table.")
        if not self.can_undo(seat):
            raise PlayError("There is no move of yours to take back.")
        while self.moves:
            self.game.pop()
            if self.moves.pop().seat == seat:
                return

    def take_back(self) -> None:
        """Take the last decision back, whoever took it."""
        self.game.pop()
        self.moves.pop()

    def hint(self, seat: int, spec: str) -> list[Opinion]:
        """Return what an agent thinks of each action that a person could take, its choice first.

        Raises:
            PlayError: it is not this seat's turn.
            ValueError: there is no such agent.
            AgentFaultError: the agent failed.
        """
        agent, view = self.hint_decision(seat, spec)
        return opinions(advise(agent, view), self.game.legal_indices())

    def hint_decision(self, seat: int, spec: str) -> tuple[Agent, DecisionView]:
        """Return the agent that is asked for a hint and what it may know: what the person knows."""
        if self.game.over or seat != self.to_act:
            raise PlayError("Hints are given when it is your turn.")
        if spec not in self._agents:
            self._agents[spec] = self._loader(spec)
        return self._agents[spec], self._views.view(self.game.state)

    # ---- keeping

    def record(self) -> str:
        """Return the game so far as the text of a record (`.p10`), hidden cards included."""
        return self.game.record([_one_word(name) for name in self.names])

    def to_data(self) -> dict[str, Any]:
        """Return all that is needed to go on, as data that JSON can hold."""
        return {
            "format": FORMAT,
            "seats": list(self.seats),
            "names": list(self.names),
            "record": self.record(),
        }

    def save(self, path: Path, **more: Any) -> None:
        """Write the session to a file, with further entries that the caller needs."""
        write_text(path, json.dumps({**self.to_data(), **more}, indent=1) + "\n", private=True)

    @classmethod
    def from_data(cls, data: Any, loader: Loader = load_agent, path: Path | None = None) -> Self:
        """Return a session from the data of `to_data`; every move is verified.

        Args:
            data: what `to_data` returned.
            loader: makes an agent of a specification.
            path: the file that held them, for errors.

        Raises:
            ValueError: the data are damaged or name an unknown agent; one sentence.
        """
        try:
            return cls._from_data(data, loader)
        except ValueError as error:
            raise UsageError(f"{path}: {error}" if path else str(error)) from None

    @classmethod
    def _from_data(cls, data: Any, loader: Loader) -> Self:
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise UsageError(f"expected a saved game of format {FORMAT}, found something else")
        seats, names, record = data.get("seats"), data.get("names"), data.get("record")
        if not _texts(seats) or not _texts(names) or not isinstance(record, str):
            raise UsageError("expected a saved game with 'seats', 'names' and 'record'")
        try:
            replayed = next(replay(record), None)
        except RecordError as error:
            raise UsageError(f"the record of the saved game is wrong: {error}") from None
        if replayed is None or len(seats) != replayed.game.num_players:
            raise UsageError("the record of the saved game does not fit its seats")
        session = cls.__new__(cls)
        session._set_up(seats, names, loader, replayed.game)
        return session

    @classmethod
    def load(cls, path: Path, loader: Loader = load_agent) -> Self:
        """Return the session of a file.

        Raises:
            UsageError: there is no such file, or it is damaged; the sentence names it.
        """
        return cls.from_data(read_saved(path), loader, path)


def read_saved(path: Path) -> Any:
    """Return the data of a saved game.

    Raises:
        UsageError: there is no such file, or it holds no JSON.
    """
    try:
        text = read_file(path, "a saved game")
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: expected a saved game, found no JSON") from None


def _texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _labels(seats: Sequence[str], names: Sequence[str] | None) -> list[str]:
    """Return a different label for each seat."""
    if names is not None:
        if len(names) != len(seats):
            raise UsageError(f"expected {len(seats)} names, one a seat, found {len(names)}")
        wanted = [_tidy(name) or f"seat {seat}" for seat, name in enumerate(names)]
    else:
        wanted = ["Player" if spec == HUMAN else spec for spec in seats]
    return [f"{name} ({seat})" if wanted.count(name) > 1 else name for seat, name in enumerate(wanted)]


def _tidy(name: str) -> str:
    """Return a name on one line, without signs that cannot be shown."""
    return "".join(sign if sign.isprintable() else " " for sign in name).strip()[:LONGEST_NAME]


def _one_word(name: str) -> str:
    """Return a name as records hold it: no blanks, no brackets."""
    return "_".join(name.replace("]", ")").replace("[", "(").split())


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
