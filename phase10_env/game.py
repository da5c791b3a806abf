"""Game: one game for people, tests and notebooks, with actions as text; and perft, which counts its sequences.

Seats count from 0, phases from 1; cards and actions are the texts of `notation` and `actions`. The state is
one record, GAME[1], that only the kernels of `rules` change.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from phase10_env.actions import DRAW, ActionError, action_text, parse_action
from phase10_env.engine import (
    Record,
    apply_action,
    count_sequences,
    legal_indices,
    reason_against,
    start,
)
from phase10_env.errors import IllegalActionError
from phase10_env.events import (
    Deal,
    Decision,
    Event,
    LostTurn,
    Reshuffle,
    Result,
    Score,
    events_of_step,
    opening_events,
)
from phase10_env.game_text import describe_game
from phase10_env.notation import format_cards, format_counts, parse_cards
from phase10_env.positions import (
    ACTION_MODES,
    PositionError,
    load_position,
    position_of,
    set_deal,
    set_pile,
)
from phase10_env.record_text import format_record
from phase10_env.rules.ruleset import RuleSet, get_ruleset
from phase10_env.rules.state import GAME, RUNNING, STAGES, TRUNCATED

__all__ = ["Game", "perft"]

LARGEST_SEED = 2**64 - 1


class Game:
    """Play one game by hand, from the deal or from a position.

    Args:
        num_players: 2-6 (R1).
        ruleset: name of a preset, path of a TOML file, dict of fields or RuleSet.
        seed: 0 ... 2**64 - 1; the same seed gives the same game (I6).
        actions: "full" or "compact".
        dealer: seat of the first dealer; None leaves it to the rules (R4).
        episode: games played before from this seed, as rows of a batch do.

    Raises:
        RuleSetError: unknown or impossible rules, or not for so many players.
        ValueError: a seed, mode or dealer out of range.

    >>> game = Game(num_players=2, seed=7, dealer=0)
    >>> game.to_act, game.stage, game.legal_actions()
    (1, 'draw', ['draw', 'take'])
    >>> game.play("draw")
    >>> game.stage
    'play'
    >>> game.play("draw")
    Traceback (most recent call last):
    phase10_env.errors.IllegalActionError: seat 1 may not draw: only one card is drawn in a turn (R8)
    """

    def __init__(
        self,
        num_players: int = 2,
        ruleset: RuleSet | str | Mapping[str, Any] = "official",
        seed: int = 0,
        actions: str = "full",
        dealer: int | None = None,
        *,
        episode: int = 0,
    ) -> None:
        rules = get_ruleset(ruleset)
        rules.check_players(num_players)
        _check_range("seed", seed, 0, LARGEST_SEED)
        _check_range("episode", episode, 0, 2**62)
        if dealer is not None:
            _check_range("dealer", dealer, 0, num_players - 1)
        if actions not in ACTION_MODES:
            raise ValueError(f"actions is {actions!r}: expected one of {', '.join(ACTION_MODES)}")
        games = np.zeros(1, dtype=GAME)
        games["num_players"] = num_players
        games["seed"] = seed
        games["episode"] = episode
        games["compact"] = actions == "compact"
        start(games, rules, dealer)
        self._begin(games, rules, opening_events(games), None)

    def _begin(self, games: Record, ruleset: RuleSet, events: list[Event], position: str | None) -> None:
        self._games = games
        self._ruleset = ruleset
        self._events = events
        self._start_position = position
        self._undo: list[tuple[Record, int]] = []

    @classmethod
    def from_position(cls, position: Mapping[str, Any] | str, actions: str = "full") -> Self:
        """Return a game that goes on from a position.

        Args:
            position: plain data, or the JSON text of it.
            actions: "full" or "compact".

        Raises:
            PositionError: with one sentence for every problem.

        >>> game = Game(seed=3)
        >>> Game.from_position(game.to_json()).position() == game.position()
        True
        """
        games, ruleset = load_position(position, actions)
        game = cls.__new__(cls)
        text = json.dumps(position_of(games, ruleset))
        game._begin(games, ruleset, [], text)
        return game

    # ---- playing

    def legal_indices(self) -> list[int]:
        """Return the indices of the legal actions, ascending; none once the game is over."""
        return legal_indices(self._games, self._ruleset)

    def legal_actions(self) -> list[str]:
        """Return the texts of the legal actions in index order; none once the game is over."""
        return [action_text(action) for action in self.legal_indices()]

    def why_illegal(self, action: str | int) -> str | None:
        """Return why an action is illegal, as a sentence with its rule number, or None where it is legal.

        >>> Game(seed=7).why_illegal("discard W")
        'a turn begins with a draw: draw from the stock or take the top discard (R8)'
        """
        try:
            return reason_against(self._games, self._ruleset, _index(action))
        except ActionError as error:
            return str(error)

    def is_legal(self, action: str | int) -> bool:
        """Tell whether the seat to act may take an action now."""
        return self.why_illegal(action) is None

    def play(self, action: str | int, stock: str | None = None) -> None:
        """Take an action for the seat to act.

        Args:
            action: text or index.
            stock: for a draw that needs a reshuffle, the new stock as it shall lie, top first; None shuffles
                it by the seed (R13).

        Raises:
            IllegalActionError: the rules forbid it; nothing has changed.
            ValueError: the new stock is not the discard pile without its top card; nothing has changed.
        """
        reason = self.why_illegal(action)
        if reason is not None:
            raise IllegalActionError(self.to_act, action, reason)
        index = _index(action)
        before = self._games.copy()
        if stock is not None:
            self._reshuffle_as(index, stock)
        apply_action(self._games, self._ruleset, index)
        self._undo.append((before, len(self._events)))
        self._events += events_of_step(before, self._games, index, self._ruleset)

    def _reshuffle_as(self, action: int, stock: str) -> None:
        game = self._games[0]
        if action != DRAW or game["stock_size"] > 0:
            raise ValueError("stock: expected none, only a draw from an empty stock needs a new one (R13)")
        cards = parse_cards(stock, "stock")
        pile = game["discard"][: game["discard_size"]][::-1].tolist()
        if Counter(cards) != Counter(pile[1:]):
            raise ValueError(
                f"stock is '{format_cards(cards)}': expected every discard but the top one, in any order: "
                f"'{format_cards(sorted(pile[1:]))}' (R13)"
            )
        set_pile(self._games, "stock", cards)
        set_pile(self._games, "discard", pile[:1])
        game["reshuffles"] += 1

    def pop(self) -> str:
        """Take the last action back and return its text.

        Raises:
            IndexError: no action has been taken.
        """
        if not self._undo:
            raise IndexError("there is no action to take back")
        games, length = self._undo.pop()
        undone = next(event for event in self._events[length:] if isinstance(event, Decision))
        self._games[:] = games
        del self._events[length:]
        return action_text(undone.action)

    def deal(self, hands: Sequence[str | None], discard: str, stock: str) -> None:
        """Replace the deal of a round in which no action has been taken yet.

        Args:
            hands: the cards of each seat, None for a seat that does not take part in a tie-break round.
            discard: the first face-up card (R5, R7).
            stock: the stock, top first.

        Raises:
            PositionError: actions have been taken, or the cards are not the deck, dealt; nothing has changed.

        >>> game = Game(num_players=2, seed=7)
        >>> first = game.events[0]
        >>> game.deal(first.hands[::-1], first.discard, first.stock)
        >>> game.hands[0] == first.hands[1]
        True
        """
        begun = max((i for i, event in enumerate(self._events) if isinstance(event, Deal)), default=None)
        if begun is None or any(isinstance(event, Decision) for event in self._events[begun:]):
            raise PositionError(
                "deal: expected the beginning of a round, found one in which a seat has acted"
            )
        dealt = set_deal(self._games, self._ruleset, hands, discard, stock)
        self._games[:] = dealt
        self._events[begun:] = opening_events(self._games)

    # ---- looking

    @property
    def ruleset(self) -> RuleSet:
        """The rules of the game."""
        return self._ruleset

    @property
    def state(self) -> Record:
        """The game record, GAME[1]; copy it before changing it."""
        return self._games

    @property
    def events(self) -> list[Event]:
        """Everything that happened since the deal or the loaded position (see `phase10_env.events`)."""
        return list(self._events)

    def _value(self, field: str) -> int:
        return int(self._games[field][0])

    def _of_seats(self, field: str) -> list[int]:
        return [int(value) for value in self._games[field][0, : self.num_players]]

    @property
    def num_players(self) -> int:
        """The number of players."""
        return self._value("num_players")

    @property
    def seed(self) -> int:
        """The seed of the game's random streams."""
        return self._value("seed")

    @property
    def actions(self) -> str:
        """The action mode, "full" or "compact"."""
        return ACTION_MODES[self._value("compact")]

    @property
    def to_act(self) -> int:
        """The seat that takes the next decision."""
        return self._value("to_act")

    @property
    def stage(self) -> str:
        """The stage of the turn: draw, play, build, onto, or over."""
        return STAGES[self._value("stage")]

    @property
    def round(self) -> int:
        """The round, counted from 1."""
        return self._value("round")

    @property
    def turn(self) -> int:
        """Turns of this round before the present one, lost ones included."""
        return self._value("turn")

    @property
    def dealer(self) -> int:
        """The seat that dealt this round."""
        return self._value("dealer")

    @property
    def active(self) -> list[int]:
        """The seats that take part in this round: all but in a tie-break round (R33)."""
        return [seat for seat, active in enumerate(self._of_seats("active")) if active]

    @property
    def scores(self) -> list[int]:
        """Penalty points by seat."""
        return self._of_seats("score")

    @property
    def phases(self) -> list[int]:
        """The phase each seat is on, from 1; one more than there are phases: all done."""
        return [phase + 1 for phase in self._of_seats("phase")]

    @property
    def phases_done(self) -> list[list[int]]:
        """The phases each seat has done in earlier rounds under `advance="pick"` (R35)."""
        numbers = range(len(self._ruleset.phases))
        return [[k + 1 for k in numbers if bits >> k & 1] for bits in self._of_seats("done")]

    @property
    def hands(self) -> list[str]:
        """The cards in the hand of each seat, open, kinds ascending."""
        return [format_counts(self._games["hands"][0, seat]) for seat in range(self.num_players)]

    @property
    def over(self) -> bool:
        """Whether the game has ended, truncated or not."""
        return self._value("status") != RUNNING

    @property
    def truncated(self) -> bool:
        """Whether the game was ended by a cap, without a winner (R34)."""
        return self._value("status") == TRUNCATED

    @property
    def ranks(self) -> list[int] | None:
        """The rank of each seat, 1 best, equal ones shared; None before the end and where truncated (R32)."""
        return None if not self.over or self.truncated else self._of_seats("rank")

    @property
    def winners(self) -> list[int]:
        """The seats of rank 1: none before the end or where truncated, several where they share (R33)."""
        return [seat for seat, rank in enumerate(self.ranks or []) if rank == 1]

    @property
    def winner(self) -> int | None:
        """The only winner, or None."""
        winners = self.winners
        return winners[0] if len(winners) == 1 else None

    @property
    def history(self) -> list[tuple[int, str]]:
        """Actions as (seat, text), with markers between them.

        A lost turn is (seat, "skipped") and going out (seat, "out"); what concerns no one seat has seat -1:
        "round 2 dealer 1", "reshuffle", "nobody out", "result 1 2", "truncated".
        """
        return [_marker(event) for event in self._events]

    def position(self) -> dict[str, Any]:
        """Return the position as plain data that JSON can hold; `from_position` reads it back.

        Raises:
            PositionError: the game is over, so that no seat decides.
        """
        return position_of(self._games, self._ruleset)

    def to_json(self) -> str:
        """Return the position as JSON text."""
        return json.dumps(self.position())

    def observation(self, seat: int | None = None) -> npt.NDArray[np.uint8]:
        """Return what a seat may know, uint8[D] (`observation_layout`, `describe`).

        Args:
            seat: the observer; None: the seat to act.

        Raises:
            ValueError: there is no such seat.
        """
        from phase10_env.observation import observe  # not needed to play

        if seat is not None:
            _check_range("seat", seat, 0, self.num_players - 1)
        return observe(self._games, self._ruleset, self.to_act if seat is None else seat)

    def record(self, agents: Sequence[str] = ()) -> str:
        """Return the game so far as the text of a record (`.p10`), ready to replay and verify.

        Args:
            agents: who played, by seat, without blanks.

        Raises:
            ValueError: not one agent a seat, or a name with blanks.
        """
        return format_record(
            self._events,
            self._ruleset,
            self.num_players,
            self.seed,
            agents=agents,
            actions=self.actions,
            episode=self._value("episode"),
            position=self._start_position,
        )

    def copy(self) -> Self:
        """Return a game that goes its own way from here, with the same history."""
        twin = type(self).__new__(type(self))
        twin._begin(self._games.copy(), self._ruleset, list(self._events), self._start_position)
        twin._undo = list(self._undo)
        return twin

    def describe(self) -> str:
        """Return the whole state, hidden cards included, as plain text."""
        return describe_game(self._games, self._ruleset)

    def __str__(self) -> str:
        return self.describe()

    def _repr_svg_(self) -> str:
        """Return the open table as a picture, for notebooks."""
        # imported by name: pictures stand above games and are not needed to play
        svg: str = import_module("phase10_env.render").render_svg(self._games, self._ruleset)
        return svg

    def __repr__(self) -> str:
        state = "over" if self.over else f"seat {self.to_act} to act, {self.stage}"
        return f"<Game {self._ruleset.name}, {self.num_players} players, round {self.round}, {state}>"


def _index(action: str | int) -> int:
    """Return the index of an action given as text or index."""
    return parse_action(action) if isinstance(action, str) else parse_action(action_text(action))


def _check_range(name: str, value: object, low: int, high: int) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not low <= value <= high:  # type: ignore[operator]  # it is a number here
        raise ValueError(f"{name} is {value!r}: expected a whole number from {low} to {high}")


def _marker(event: Event) -> tuple[int, str]:
    match event:
        case Decision(seat, action, _):
            return seat, action_text(action)
        case LostTurn(seat):
            return seat, "skipped"
        case Deal(number, dealer):
            return -1, f"round {number} dealer {dealer}"
        case Reshuffle():
            return -1, "reshuffle"
        case Score(out):
            return (-1, "nobody out") if out is None else (out, "out")
        case Result(ranks):
            return -1, "truncated" if ranks is None else f"result {' '.join(map(str, ranks))}"


def perft(game: Game, depth: int) -> int:
    """Count the action sequences of exactly `depth` actions from a game's present state.

    A finished round or game, or a draw that needs a reshuffle, is a leaf and counts as one sequence.

    Raises:
        ValueError: the depth is not a whole number from 0 to 100.

    >>> perft(Game(seed=7), 1)
    2
    """
    _check_range("depth", depth, 0, 100)
    return count_sequences(game.state, game.ruleset, depth)
