"""Cross table: how each agent did against each other one, from per-deal results.

Long tables have one row a meeting: `deal[n]` (id), `agent[n]` and `opponent[n]` (index into the names),
`share[n]` (0 to 1). The table's arrays are `[agents, agents]`, row against column.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phase10_training.statistics import (
    Estimate,
    FloatArray,
    IntArray,
    ResultsError,
    check_names,
    clustered_estimate,
    likelihood_of_superiority,
)

EMPTY_SEAT = -1


@dataclass(frozen=True)
class CrossTable:
    """Hold estimates for each ordered pair that met, in matrices `[agents, agents]`.

    `mean`, `standard_error`, `low`, `high` and `superiority` (likelihood that row is better than par
    against column) are NaN where a pair did not meet; `deals` is 0 there.
    """

    agents: tuple[str, ...]
    mean: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    superiority: FloatArray
    deals: IntArray

    def estimate(self, agent: str, opponent: str) -> Estimate | None:
        """Return the estimate of one ordered pair, None where the two did not meet."""
        cell = self.agents.index(agent), self.agents.index(opponent)
        if not self.deals[cell]:
            return None
        return Estimate(
            float(self.mean[cell]),
            float(self.standard_error[cell]),
            float(self.low[cell]),
            float(self.high[cell]),
            int(self.deals[cell]),
        )


def cross_table(
    agents: Sequence[str],
    deal: ArrayLike,
    agent: ArrayLike,
    opponent: ArrayLike,
    share: ArrayLike,
    *,
    mirror: bool = True,
    par: float = 0.5,
    confidence: float = 0.95,
) -> CrossTable:
    """Build the cross table with intervals clustered by deal within each pair.

    Arguments:
        agents: names, in the order of the indices.
        deal, agent, opponent, share: the long table; a share is of `agent`.
        mirror: count each row for the opponent too, as `1 - share` (two players, or "who placed better").
            Leave it out where `opponent` stands for a field of copies: its share is another question.
        par: share of equal agents, for `superiority`: 0.5 for pairs, `1 / P` against a field.
        confidence: coverage of the intervals.

    Raises:
        ResultsError: columns that do not fit, an index without a name, shares outside 0 to 1.

    >>> table = cross_table(["a", "b"], [1, 1, 2, 2], [0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0])
    >>> table.mean.tolist()
    [[nan, 0.75], [0.25, nan]]
    """
    names = check_names(agents)
    deals, rows, columns, shares = check_meetings(len(names), deal, agent, opponent, share)
    if mirror:
        rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        deals, shares = np.concatenate([deals, deals]), np.concatenate([shares, 1.0 - shares])
    size = len(names)
    fields = np.full((5, size, size), np.nan)
    counts = np.zeros((size, size), dtype=np.int64)
    pair = rows * size + columns
    order = np.argsort(pair, kind="stable")
    starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
    for part in np.split(order, starts[1:]):
        cell = int(rows[part[0]]), int(columns[part[0]])
        result = clustered_estimate(shares[part], deals[part], confidence=confidence)
        superiority = likelihood_of_superiority(result, par)
        fields[(slice(None), *cell)] = (
            result.mean,
            result.standard_error,
            result.low,
            result.high,
            superiority,
        )
        counts[cell] = result.deals
    return CrossTable(names, fields[0], fields[1], fields[2], fields[3], fields[4], counts)


def meetings_from_ranks(
    deal: ArrayLike, line_up: ArrayLike, ranks: ArrayLike
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Turn games of two or more seats into meetings `(deal, agent, opponent, share)`.

    Each pair of seats with different agents gives one row: 1 where the first placed better, 0.5 for equal
    ranks, 0 otherwise. Deal ids come back as indices of the sorted ids.

    Arguments:
        deal: `[games]` deal ids.
        line_up: `[games, seats]` agent index of each seat, -1 for an empty one.
        ranks: `[games, seats]`, 1 is best, equal ranks tie.

    >>> meetings_from_ranks([7], [[0, 1, 2]], [[1, 2, 2]])[3].tolist()
    [1.0, 1.0, 0.5]
    """
    deals, seats, places = check_games(deal, line_up, ranks)
    columns: list[tuple[IntArray, IntArray, IntArray, FloatArray]] = []
    for first in range(seats.shape[1]):
        for second in range(first + 1, seats.shape[1]):
            one, two = seats[:, first], seats[:, second]
            met = (one != two) & (one != EMPTY_SEAT) & (two != EMPTY_SEAT)
            share = 0.5 + 0.5 * np.sign(places[met, second] - places[met, first])
            columns.append((deals[met], one[met], two[met], share))
    parts = list(zip(*columns, strict=True))
    return (
        np.concatenate(parts[0]),
        np.concatenate(parts[1]),
        np.concatenate(parts[2]),
        np.concatenate(parts[3]),
    )


def check_meetings(
    agents: int, deal: ArrayLike, agent: ArrayLike, opponent: ArrayLike, share: ArrayLike
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return the columns of a long table as arrays, deal ids as indices, or raise ResultsError."""
    ids, rows, columns = np.asarray(deal), np.asarray(agent), np.asarray(opponent)
    shares = np.asarray(share, dtype=np.float64)
    if shares.ndim != 1 or not ids.shape == rows.shape == columns.shape == shares.shape:
        shapes = [ids.shape, rows.shape, columns.shape, shares.shape]
        raise ResultsError(f"expected four columns of one length, found {shapes}; give one value a meeting")
    if not shares.size:
        raise ResultsError("expected at least one meeting, found none; play some deals first")
    if not (np.isfinite(shares) & (shares >= 0.0) & (shares <= 1.0)).all():
        raise ResultsError("expected shares from 0 to 1, found others; divide the wins by the games")
    _check_indices(agents, np.concatenate([rows, columns]), least=0)
    if (rows == columns).any():
        raise ResultsError("expected two different agents in a meeting, found one twice; name copies apart")
    deals = np.unique(ids, return_inverse=True)[1]
    return deals.astype(np.int64), rows.astype(np.int64), columns.astype(np.int64), shares


def check_games(
    deal: ArrayLike, line_up: ArrayLike, ranks: ArrayLike, agents: int | None = None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return deal ids as indices, the line-ups and the ranks as arrays, or raise ResultsError."""
    ids, seats = np.asarray(deal), np.asarray(line_up)
    places = np.asarray(ranks, dtype=np.float64)
    if seats.ndim != 2 or seats.shape[1] < 2 or places.shape != seats.shape or ids.shape != seats.shape[:1]:
        shapes = [ids.shape, seats.shape, places.shape]
        raise ResultsError(
            f"expected deal[games], line_up[games, seats] and ranks[games, seats], found {shapes}; "
            "give one row a game with two seats or more"
        )
    if not seats.size:
        raise ResultsError("expected at least one game, found none; play some deals first")
    _check_indices(agents, seats, least=EMPTY_SEAT)
    if not np.isfinite(places[seats != EMPTY_SEAT]).all():
        raise ResultsError("expected a finite rank at every seat, found others; rank unfinished games last")
    return np.unique(ids, return_inverse=True)[1].astype(np.int64), seats.astype(np.int64), places


def _check_indices(agents: int | None, indices: np.ndarray, least: int) -> None:
    if not np.issubdtype(indices.dtype, np.integer):
        raise ResultsError(f"expected agent indices, found values of type {indices.dtype}; use integers")
    top = int(indices.max())
    if int(indices.min()) < least or (agents is not None and top >= agents):
        limit = "" if agents is None else f" to {agents - 1}"
        raise ResultsError(
            f"expected agent indices from {least}{limit}, found {int(indices.min())} to {top}; "
            "give the names in the order of the indices"
        )
