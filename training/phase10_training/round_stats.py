"""Counts what happens in the rounds of scheduled games, and how lucky the cards were.

Shapes: G games, P seats, A agents. Luck is "what came minus what was to be expected given the cards not yet
seen in play": its mean is zero whatever the agents do, so it can be taken out of results (control variates).
Cards: a dealt hand of h cards holds h W / N Wilds on average (N cards in the deck, W of them Wild); a card
from a stock of n cards with w Wilds is a Wild with probability w / n. The same for Skips.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phase10_env.game_batch import GameBatch
from phase10_env.rules.cards import SKIP, WILD
from phase10_env.rules.phases import ADVANCE_PICK, MAX_PHASES
from phase10_env.rules.state import MAX_DECK, RUNNING
from phase10_env.rules.table import DRAW
from phase10_training.statistics import FloatArray

__all__ = ["LUCK", "MAX_ROUNDS", "RoundStats", "RoundTracker"]

LUCK = ("Wilds dealt", "Skips dealt", "Wilds drawn", "Skips drawn")
SPECIAL = (WILD, SKIP)
MAX_ROUNDS = 40
"""Rounds that are counted one by one; later ones fall into the last place."""
MAX_WILDS = 9
"""Hands with eight Wilds or more share the last place of the histogram."""


@dataclass(frozen=True)
class RoundStats:
    """Hold counts that can be added up over blocks of games.

    Attributes:
        tried, laid: float64[A, 10], rounds begun and lay-downs by phase.
        rounds: float64[A, R] rounds by their number; `points` and `phases` their sums of penalty points and
            of phases completed by the end of the round.
        dealt_wilds, dealt_skips: float64[P, 9], hands dealt by their number of such cards, by seat.
        drawn: float64[P, 2, 3], for Wilds and Skips: drawn, expected, variance of that, by seat.
    """

    tried: FloatArray
    laid: FloatArray
    rounds: FloatArray
    points: FloatArray
    phases: FloatArray
    dealt_wilds: FloatArray
    dealt_skips: FloatArray
    drawn: FloatArray

    @classmethod
    def empty(cls, agents: int, players: int) -> "RoundStats":
        """Return counts of zero."""
        by_phase, by_round = (agents, MAX_PHASES), (agents, MAX_ROUNDS)
        shapes: tuple[tuple[int, ...], ...] = (by_phase, by_phase, by_round, by_round, by_round)
        shapes += ((players, MAX_WILDS), (players, MAX_WILDS), (players, 2, 3))
        return cls(*(np.zeros(shape) for shape in shapes))

    def __add__(self, other: "RoundStats") -> "RoundStats":
        """Return the counts of both."""
        return RoundStats(
            *(getattr(self, part.name) + getattr(other, part.name) for part in fields(RoundStats))
        )

    def to_bytes(self) -> bytes:
        """Return the counts as bytes, float64 in the order of the fields."""
        return b"".join(getattr(self, part.name).astype("<f8").tobytes() for part in fields(RoundStats))

    @classmethod
    def from_bytes(cls, data: bytes, agents: int, players: int) -> "RoundStats":
        """Return the counts that `to_bytes` wrote.

        >>> stats = RoundStats.empty(2, 3)
        >>> RoundStats.from_bytes(stats.to_bytes(), 2, 3).tried.shape == stats.tried.shape
        True
        """
        blank = cls.empty(agents, players)
        values = np.frombuffer(data, "<f8")
        parts, first = [], 0
        for part in fields(RoundStats):
            shape = getattr(blank, part.name).shape
            size = int(np.prod(shape))
            parts.append(values[first : first + size].reshape(shape).astype(np.float64))
            first += size
        return cls(*parts)


class RoundTracker:
    """Watch a batch whose games are stepped without auto-reset: call `before` and `after` each step.

    Args:
        batch: the games, just dealt.
        line_ups: int64[G, P], agent of each seat.
        agents: A.
        shown: bool[G], the games whose hands and draws are counted; the games of one deal repeat each other's
            cards, so one of them is enough. None: the first game of each seed.

    Attributes:
        stats: the counts; hands and draws only of the games `shown`.
        luck: float64[G, P, len(LUCK)], cards above expectation so far.
    """

    def __init__(
        self,
        batch: GameBatch,
        line_ups: NDArray[np.int64],
        agents: int,
        shown: NDArray[np.bool_] | None = None,
    ) -> None:
        self._batch = batch
        self._games: Any = batch.games
        self._line_ups = line_ups
        games, players = line_ups.shape
        self.stats = RoundStats.empty(agents, players)
        self.luck = np.zeros((games, players, len(LUCK)))
        if shown is None:
            shown = np.zeros(games, np.bool_)
            shown[np.unique(self._games["seed"], return_index=True)[1]] = True
        self._shown = shown
        self._phase = np.zeros((games, players), np.int64)
        self._counted = np.zeros((games, players), np.bool_)
        self._deck = self._deck_counts()
        everything = np.arange(games)
        self._note_phases(everything)
        self._note_deal(everything)

    def _deck_counts(self) -> FloatArray:
        """Return the number of Wilds, Skips and all cards of the deck."""
        rules = self._batch.ruleset.record[0]
        cards = rules["deck_cards"][: rules["deck_size"]]
        return np.array([(cards == WILD).sum(), (cards == SKIP).sum(), len(cards)], dtype=np.float64)

    def _note_phases(self, rows: NDArray[np.int64]) -> None:
        players = self._line_ups.shape[1]
        phase = self._games["phase"][rows][:, :players].astype(np.int64)
        if self._batch.ruleset.record[0]["advance"] == ADVANCE_PICK:
            phase = np.bitwise_count(self._games["done"][rows][:, :players]).astype(np.int64)
        self._phase[rows] = np.minimum(phase, MAX_PHASES - 1)
        self._counted[rows] = (self._games["active"][rows][:, :players] > 0) & (
            self._games["tie_break"][rows][:, None] == 0
        )

    def _note_deal(self, rows: NDArray[np.int64]) -> None:
        players = self._line_ups.shape[1]
        hands = self._games["hands"][rows][:, :players]
        sizes = hands.sum(axis=2)
        for which, kind in enumerate(SPECIAL):
            held = hands[:, :, kind].astype(np.int64)
            self.luck[rows, :, which] += held - sizes * self._deck[which] / self._deck[2]
            counts = self.stats.dealt_skips if which else self.stats.dealt_wilds
            for seat in range(players):
                here = self._shown[rows] & (sizes[:, seat] > 0)
                counts[seat] += np.bincount(np.minimum(held[here, seat], MAX_WILDS - 1), minlength=MAX_WILDS)

    def before(self, rows: NDArray[np.int64], seats: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        """Note the odds of the draws that are about to happen: the running rows, seats to act, actions."""
        drawing = actions == DRAW
        self._rows, self._seats = rows[drawing], seats[drawing]
        games = self._games
        size = games["stock_size"][self._rows].astype(np.int64)
        cards = games["stock"][self._rows]
        empty = np.flatnonzero(size == 0)
        if empty.size:  # the pile without its top card becomes the stock (R13)
            cards[empty] = games["discard"][self._rows[empty]]
            size[empty] = games["discard_size"][self._rows[empty]] - 1
        inside = np.arange(MAX_DECK) < size[:, None]
        self._odds = (
            np.stack([((cards == kind) & inside).sum(axis=1) for kind in SPECIAL], axis=1) / size[:, None]
        )
        self._held = games["hands"][self._rows, self._seats][:, list(SPECIAL)]

    def after(self, rows: NDArray[np.int64]) -> None:
        """Count what the step did to the rows that were running."""
        if self._rows.size:
            drawn = self._games["hands"][self._rows, self._seats][:, list(SPECIAL)] - self._held
            self.luck[self._rows, self._seats, 2:] += drawn - self._odds
            shown = self._shown[self._rows]
            parts = np.stack([drawn, self._odds, self._odds * (1.0 - self._odds)], axis=2)
            np.add.at(self.stats.drawn, self._seats[shown], parts[shown])
        ended = rows[self._games["round_over"][rows] == 1]
        if ended.size:
            self._note_round(ended)

    def _note_round(self, rows: NDArray[np.int64]) -> None:
        games, players = self._games, self._line_ups.shape[1]
        counted = self._counted[rows]
        agents = self._line_ups[rows][counted]
        laid = games["round_laid"][rows][:, :players][counted]
        begun = np.minimum(self._phase[rows], MAX_PHASES - 1)[counted]
        np.add.at(self.stats.tried, (agents, begun), 1.0)
        np.add.at(self.stats.laid, (agents, begun), laid)
        going_on = games["status"][rows] == RUNNING
        number = np.clip(games["round"][rows] - going_on, 1, MAX_ROUNDS) - 1
        place = (agents, np.broadcast_to(number[:, None], counted.shape)[counted])
        np.add.at(self.stats.rounds, place, 1.0)
        np.add.at(self.stats.points, place, games["round_points"][rows][:, :players][counted])
        np.add.at(self.stats.phases, place, begun + laid)
        running = rows[going_on]
        if running.size:
            self._note_phases(running)
            self._note_deal(running)
