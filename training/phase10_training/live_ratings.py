"""Live ratings for an open pool of agents: updated game by game, kept as plain numbers.

Wraps OpenSkill's Plackett–Luce model. `mu` and `sigma` are on OpenSkill's scale (a new agent has 25 and
25/3); they order a leaderboard while games come in. For a finished tournament use `ratings.plackett_luce`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openskill.models import PlackettLuce

from phase10_training.statistics import ResultsError


@dataclass(frozen=True)
class LiveRating:
    """Hold one agent's rating: mean `mu`, standard deviation `sigma`, number of games."""

    mu: float
    sigma: float
    games: int

    @property
    def ordinal(self) -> float:
        """Rating that the agent has very likely reached: `mu - 3 sigma`."""
        return self.mu - 3.0 * self.sigma


class LiveRatings:
    """Keep ratings that change with every game.

    An agent enters with its first game. Where it holds several seats of one game, its rating moves by the
    mean change of its seats. The result depends on the order of the games.

    Source: Weng & Lin 2011; OpenSkill.

    >>> live = LiveRatings()
    >>> live.update(["a", "b", "c"], ranks=[1, 2, 2])
    >>> [row["agent"] for row in live.rows()][0], live["a"].games
    ('a', 1)
    >>> LiveRatings.from_dict(live.to_dict())["b"] == live["b"]
    True
    """

    def __init__(self) -> None:
        self._model = PlackettLuce()
        self._ratings: dict[str, LiveRating] = {}

    def __getitem__(self, agent: str) -> LiveRating:
        """Return an agent's rating; a new agent has the start value."""
        start = LiveRating(float(self._model.mu), float(self._model.sigma), 0)
        return self._ratings.get(agent, start)

    def __len__(self) -> int:
        return len(self._ratings)

    def update(self, line_up: Sequence[str], ranks: Sequence[float]) -> None:
        """Take in one game: the agent and the rank of each seat (1 is best, equal ranks tie).

        Raises:
            ResultsError: numbers of seats that differ, or fewer than two different agents.
        """
        if len(line_up) != len(ranks) or len(set(line_up)) < 2:
            raise ResultsError(
                f"expected a rank a seat and two different agents, found {list(line_up)} with {list(ranks)}; "
                "leave out games of an agent against itself"
            )
        before = {agent: self[agent] for agent in line_up}
        teams = [[self._model.create_rating([before[agent].mu, before[agent].sigma])] for agent in line_up]
        rated = self._model.rate(teams, ranks=[float(rank) for rank in ranks])
        for agent, old in before.items():
            seats = [team[0] for name, team in zip(line_up, rated, strict=True) if name == agent]
            self._ratings[agent] = LiveRating(
                sum(float(seat.mu) for seat in seats) / len(seats),
                sum(float(seat.sigma) for seat in seats) / len(seats),
                old.games + 1,
            )

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary an agent (`agent`, `ordinal`, `mu`, `sigma`, `games`), the best first."""
        order = sorted(self._ratings.items(), key=lambda item: (-item[1].ordinal, item[0]))
        return [
            {
                "agent": agent,
                "ordinal": rating.ordinal,
                "mu": rating.mu,
                "sigma": rating.sigma,
                "games": rating.games,
            }
            for agent, rating in order
        ]

    def to_dict(self) -> dict[str, dict[str, float | int]]:
        """Return the state as plain values that JSON can hold: agent to `mu`, `sigma`, `games`."""
        return {
            agent: {"mu": rating.mu, "sigma": rating.sigma, "games": rating.games}
            for agent, rating in self._ratings.items()
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Mapping[str, float]]) -> "LiveRatings":
        """Continue from the value of `to_dict`."""
        live = cls()
        for agent, fields in state.items():
            live._ratings[agent] = LiveRating(
                float(fields["mu"]), float(fields["sigma"]), int(fields["games"])
            )
        return live
