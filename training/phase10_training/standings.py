"""Makes the table of a tournament from its games: win shares, cross table, ratings, Nash average, faults.

All intervals are clustered by deal. Everything is computed from the games in the order of their numbers, so a
tournament that was interrupted and resumed has the same table as one that was not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phase10_training.cross_table import CrossTable, cross_table, meetings_from_ranks
from phase10_training.matches import FORFEITED
from phase10_training.nash import NashAverage, log_odds_error, log_odds_matrix, nash_average
from phase10_training.ratings import Ratings, plackett_luce
from phase10_training.statistics import FloatArray, ResultsError, clustered_estimate
from phase10_training.store import StoredGames

__all__ = ["AgentRow", "Standings", "make_standings"]

PLACED_BETTER = "share of the games in which the row's agent placed better than the column's (ties half)"
WIN_SHARE_OF_FIELD = "win share of the row's agent at a table full of copies of the column's"


@dataclass(frozen=True)
class AgentRow:
    """Hold what one agent did; `elo`, `elo_low`, `elo_high` are None where no ratings could be made."""

    rank: int
    agent: str
    elo: float | None
    elo_low: float | None
    elo_high: float | None
    games: int
    deals: int
    win_share: float
    low: float
    high: float
    mean_rank: float
    phases: float
    score: float
    illegal_actions: int
    crashes: int
    stalls: int
    ms_per_decision: float

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {
            "rank": self.rank,
            "agent": self.agent,
            "elo": self.elo,
            "elo_interval": None if self.elo is None else [self.elo_low, self.elo_high],
            "win_share": self.win_share,
            "interval": [self.low, self.high],
            "games": self.games,
            "deals": self.deals,
            "mean_rank": self.mean_rank,
            "phases": self.phases,
            "score": self.score,
            "illegal_actions": self.illegal_actions,
            "crashes": self.crashes,
            "stalls": self.stalls,
            "ms_per_decision": self.ms_per_decision,
        }


@dataclass(frozen=True)
class Standings:
    """Hold the table of a tournament.

    Attributes:
        agents: names in the order of their indices.
        players: seats a table; `par` = 1 / players.
        games, deals, truncated, forfeited: numbers.
        rows: one an agent, the best first.
        cross: the cross table in the order of `agents`; `cross_meaning` says what a cell is, `cross_par` what
            equal agents get.
        ratings, nash: None where the games do not allow them; `warnings` then says why.
        warnings: sentences to print next to the table.
    """

    agents: tuple[str, ...]
    players: int
    par: float
    games: int
    deals: int
    truncated: int
    forfeited: int
    rows: tuple[AgentRow, ...]
    cross: CrossTable
    cross_meaning: str
    cross_par: float
    ratings: Ratings | None
    nash: NashAverage | None
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole table as plain values that JSON can hold."""
        cells = []
        for one, agent in enumerate(self.agents):
            for two, opponent in enumerate(self.agents):
                if self.cross.deals[one, two]:
                    cells.append(
                        {
                            "agent": agent,
                            "opponent": opponent,
                            "share": float(self.cross.mean[one, two]),
                            "interval": [float(self.cross.low[one, two]), float(self.cross.high[one, two])],
                            "superiority": float(self.cross.superiority[one, two]),
                            "deals": int(self.cross.deals[one, two]),
                        }
                    )
        nash = self.nash
        return {
            "players": self.players,
            "par": self.par,
            "games": self.games,
            "deals": self.deals,
            "truncated": self.truncated,
            "forfeited": self.forfeited,
            "agents": [row.to_dict() for row in self.rows],
            "cross_table": {"meaning": self.cross_meaning, "par": self.cross_par, "cells": cells},
            "rated_above": None if self.ratings is None else self._rated_above(self.ratings),
            "nash": None
            if nash is None
            else {
                "weights": dict(zip(nash.agents, nash.weights.tolist(), strict=True)),
                "skill": dict(zip(nash.agents, nash.skill.tolist(), strict=True)),
                "cyclic_share": nash.cyclic_share,
                "chance_share": nash.chance_share,
            },
            "warnings": list(self.warnings),
        }

    def _rated_above(self, ratings: Ratings) -> dict[str, dict[str, float]]:
        return {
            agent: dict(zip(self.agents, ratings.superiority[index].tolist(), strict=True))
            for index, agent in enumerate(self.agents)
        }


def make_standings(
    agents: Sequence[str],
    games: StoredGames,
    faults: Sequence[Mapping[str, Any]],
    *,
    field_of_copies: bool,
    resamples: int = 1000,
    seed: int = 0,
) -> Standings:
    """Make the table of a tournament.

    Arguments:
        agents: names, in the order of the indices.
        games: all games.
        faults: all faults (`agent`, `kind`).
        field_of_copies: whether one agent met a table full of copies of another in every game.
        resamples: for the intervals of the ratings.
        seed: of the resampling.

    Raises:
        ResultsError: there are no games.
    """
    if not games.number.size:
        raise ResultsError("expected games, found none; play some first.")
    players = games.seats.shape[1]
    warnings: list[str] = []
    names = tuple(agents)
    cross, meaning, cross_par = _cross(names, games, players, field_of_copies)
    ratings = None
    try:
        ratings = plackett_luce(names, games.deal, games.seats, games.rank, resamples=resamples, seed=seed)
    except ResultsError as problem:
        warnings.append(f"no ratings: {problem}")
    nash = _nash(names, cross, players if cross_par != 0.5 else 2, warnings)
    if ratings is not None and ratings.warning:
        warnings.append(ratings.warning)
    if nash is not None and nash.warning:
        warnings.append(nash.warning)
    return Standings(
        agents=names,
        players=players,
        par=1.0 / players,
        games=len(games.number),
        deals=len(np.unique(games.deal)),
        truncated=int((games.status == 2).sum()),
        forfeited=int((games.status == FORFEITED).sum()),
        rows=_rows(names, games, faults, ratings),
        cross=cross,
        cross_meaning=meaning,
        cross_par=cross_par,
        ratings=ratings,
        nash=nash,
        warnings=tuple(warnings),
    )


def _rows(
    names: Sequence[str],
    games: StoredGames,
    faults: Sequence[Mapping[str, Any]],
    ratings: Ratings | None,
) -> tuple[AgentRow, ...]:
    found = []
    for index, name in enumerate(names):
        mine = games.seats == index
        if not mine.any():
            continue
        deals = np.broadcast_to(games.deal[:, None], mine.shape)[mine]
        estimate = clustered_estimate(games.share[mine], deals)
        elo = low = high = None
        if ratings is not None:
            elo, low, high = (float(part[index]) for part in (ratings.elo, ratings.low, ratings.high))
        kinds = [fault["kind"] for fault in faults if fault["agent"] == index]
        found.append(
            AgentRow(
                rank=0,
                agent=name,
                elo=elo,
                elo_low=low,
                elo_high=high,
                games=int(mine.any(axis=1).sum()),
                deals=estimate.deals,
                win_share=estimate.mean,
                low=estimate.low,
                high=estimate.high,
                mean_rank=float(games.rank[mine].mean()),
                phases=float(games.phases[mine].mean()),
                score=float(games.score[mine].mean()),
                illegal_actions=int(games.illegal[mine].sum()),
                crashes=kinds.count("crash"),
                stalls=kinds.count("stall"),
                ms_per_decision=1000.0
                * float(games.seconds[mine].sum())
                / max(int(games.decisions[mine].sum()), 1),
            )
        )
    found.sort(key=lambda row: -row.win_share if row.elo is None else -row.elo)
    return tuple(AgentRow(**{**vars(row), "rank": place}) for place, row in enumerate(found, start=1))


def _cross(
    names: tuple[str, ...], games: StoredGames, players: int, field_of_copies: bool
) -> tuple[CrossTable, str, float]:
    if not field_of_copies or players == 2:
        deal, one, two, share = meetings_from_ranks(games.deal, games.seats, games.rank)
        return cross_table(names, deal, one, two, share), PLACED_BETTER, 0.5
    first = games.seats[:, :1]
    # The seat that holds another agent than both its neighbours holds the single one.
    single = (games.seats != np.roll(games.seats, 1, axis=1)) & (
        games.seats != np.roll(games.seats, -1, axis=1)
    )
    place = single.argmax(axis=1)
    rows = np.arange(len(place))
    agent = games.seats[rows, place]
    opponent = np.where(place == 0, games.seats[:, 1], first[:, 0])
    table = cross_table(
        names, games.deal, agent, opponent, games.share[rows, place], mirror=False, par=1.0 / players
    )
    return table, WIN_SHARE_OF_FIELD, 1.0 / players


def _nash(names: tuple[str, ...], cross: CrossTable, players: int, warnings: list[str]) -> NashAverage | None:
    off = ~np.eye(len(names), dtype=bool)
    if (cross.deals[off] == 0).any():
        return None
    share, error = _as_pairs(cross.mean, cross.standard_error, players)
    deals = np.where(off, cross.deals, 1)
    try:
        odds = log_odds_matrix(share, deals)
        return nash_average(names, odds, log_odds_error(share, error, deals))
    except ResultsError as problem:
        warnings.append(f"no Nash average: {problem}")
        return None


def _as_pairs(share: FloatArray, error: FloatArray, players: int) -> tuple[FloatArray, FloatArray]:
    """Return shares against P - 1 copies as shares between two of the same Elo difference, with errors."""
    scale = 1.0 + share * (players - 2)
    return share * (players - 1) / scale, error * (players - 1) / scale**2
