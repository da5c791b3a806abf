"""Ratings by maximum likelihood: Bradley–Terry for pairs and Plackett–Luce for rankings, on an Elo scale.

Inputs are long tables of results with a deal id; agents are indices into a list of names. A result is taken
apart into choices: "out of this set of seats, that agent came first". A pair is one choice; a ranking of P
seats is P - 1. Ratings are in Elo points with mean 0; resamples are over deals, never over games.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from phase10_training.cross_table import EMPTY_SEAT, check_games, check_meetings
from phase10_training.statistics import ELO_PER_NAT, FloatArray, IntArray, ResultsError, check_names

IMAGINED_DEAL = 0.5
"""Weight of the imagined deal in which a winner of everything loses (Jeffreys' half a failure)."""
MAX_ITERATIONS = 500


@dataclass(frozen=True)
class Ratings:
    """Hold ratings `elo[agents]` (mean 0) with intervals `[low, high]` from resampled deals.

    `superiority[a, b]` is the share of resamples in which a is rated above b. `warning` is None, or says
    which agents won or lost everything, so that their distance from the others rests on an imagined deal.
    """

    agents: tuple[str, ...]
    elo: FloatArray
    low: FloatArray
    high: FloatArray
    superiority: FloatArray
    deals: int
    warning: str | None

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary an agent (`rank`, `agent`, `elo`, `low`, `high`), the best first."""
        order = np.argsort(-self.elo, kind="stable")
        return [
            {
                "rank": place,
                "agent": self.agents[index],
                "elo": float(self.elo[index]),
                "low": float(self.low[index]),
                "high": float(self.high[index]),
            }
            for place, index in enumerate(order, start=1)
        ]


@dataclass(frozen=True)
class _Choices:
    """Sufficient statistics: `members[sets, agents]` seats of each agent in each set; per deal how often a
    set was chosen from (`seen[deals, sets]`), who was chosen (`won[deals, agents]`), and how often one agent
    came before another (`before[deals, agents * agents]`)."""

    members: FloatArray
    seen: sparse.csr_matrix
    won: sparse.csr_matrix
    before: sparse.csr_matrix


def bradley_terry(
    agents: Sequence[str],
    deal: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    share: ArrayLike,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Ratings:
    """Rate agents from pairwise shares by maximum likelihood (Bradley–Terry).

    A share between 0 and 1 (a tie, a deal average) counts as that fraction of a win. Intervals are from the
    Bayesian bootstrap over deals (every deal gets a random weight of mean 1), which keeps all pairs in every
    resample. Where some agents never lost to some others the likelihood has no maximum; then the ratings
    are regularised by one imagined deal in which each of these pairs comes out the other way: with weight
    1/2 in the ratings, with an exponential weight in each resample (this gives the rule of three), and with
    `warning` set. Nothing is added in any other case.

    Arguments:
        agents: names, in the order of the indices.
        deal, first, second, share: `[n]` deal id, the two agents' indices, share of the first.
        resamples: number of resampled ratings for the intervals.
        confidence: coverage of the intervals.
        seed: seed of the weights.

    Raises:
        ResultsError: columns that do not fit, or groups of agents that never met.

    Source: Bradley & Terry 1952; Rubin 1981 (Bayesian bootstrap).

    >>> ratings = bradley_terry(["a", "b"], [0, 1, 2, 3], [0] * 4, [1] * 4, [1, 1, 1, 0.04])
    >>> [round(elo) for elo in ratings.elo]
    [100, -100]
    """
    names = check_names(agents)
    deals, one, two, shares = check_meetings(len(names), deal, first, second, share)
    size = len(names)
    pairs, index = np.unique(np.sort(np.stack([one, two], axis=1), axis=1), axis=0, return_inverse=True)
    members = np.zeros((len(pairs), size))
    np.put_along_axis(members, pairs, 1.0, axis=1)
    count = int(deals.max()) + 1
    both = np.concatenate([deals, deals])
    points = np.concatenate([shares, 1.0 - shares])
    winners, losers = np.concatenate([one, two]), np.concatenate([two, one])
    choices = _Choices(
        members,
        _table(np.ones_like(shares), deals, index, (count, len(pairs))),
        _table(points, both, winners, (count, size)),
        _table(points, both, winners * size + losers, (count, size * size)),
    )
    return _rate(names, choices, resamples, confidence, seed)


def plackett_luce(
    agents: Sequence[str],
    deal: ArrayLike,
    line_up: ArrayLike,
    ranks: ArrayLike,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Ratings:
    """Rate agents from rankings of two or more seats by maximum likelihood (Plackett–Luce).

    Equal ranks count as the average over all orders of the tied seats, so a table of two players gives the
    Bradley–Terry ratings with ties as half wins. One agent may sit at several seats. Intervals and the
    treatment of agents that won or lost everything are as in `bradley_terry`.

    Arguments:
        agents: names, in the order of the indices.
        deal: `[games]` deal id; the games of one deal are resampled together.
        line_up: `[games, seats]` agent index of each seat, -1 for an empty one.
        ranks: `[games, seats]`, 1 is best, equal ranks tie.
        resamples, confidence, seed: as in `bradley_terry`.

    Raises:
        ResultsError: columns that do not fit, or groups of agents that never met.

    Source: Plackett 1975; Luce 1959.

    >>> games = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    >>> ratings = plackett_luce("abc", [0, 1, 2], games, [[1, 2, 3]] * 3)
    >>> bool(abs(ratings.elo).max() < 1e-6)
    True
    """
    names = check_names(agents)
    deals, seats, places = check_games(deal, line_up, ranks, len(names))
    places = np.where(seats == EMPTY_SEAT, np.inf, places)
    size, width = len(names), seats.shape[1]
    # Games with the same pattern of ranks consist of the same choices by seat.
    dense = np.stack([np.searchsorted(np.unique(row), row) for row in places])
    dense[seats == EMPTY_SEAT] = EMPTY_SEAT
    patterns, group = np.unique(dense, axis=0, return_inverse=True)
    parts: dict[str, list[np.ndarray]] = defaultdict(list)
    for number, pattern in enumerate(patterns):
        games = np.flatnonzero(group == number)
        for open_seats, chosen, weight in _choices_of(pattern):
            sets = np.full((games.size, width), size, dtype=np.int64)
            sets[:, : len(open_seats)] = seats[games][:, open_seats]
            parts["sets"].append(np.sort(sets, axis=1))
            parts["deal"].append(deals[games])
            parts["winner"].append(seats[games, chosen])
            parts["weight"].append(np.full(games.size, weight))
    if not parts:
        raise ResultsError("expected games of two seats or more, found only single ones; seat an opponent")
    columns = {name: np.concatenate(part) for name, part in parts.items()}
    choices = _count_choices(
        size,
        int(deals.max()) + 1,
        columns["sets"],
        columns["deal"],
        columns["winner"],
        columns["weight"],
    )
    return _rate(names, choices, resamples, confidence, seed)


def _choices_of(pattern: IntArray) -> list[tuple[list[int], int, float]]:
    """Return the choices `(open seats, seat chosen, weight)` that one pattern of ranks consists of."""
    choices: list[tuple[list[int], int, float]] = []
    for rank in sorted({int(value) for value in pattern if value != EMPTY_SEAT}):
        tied = [seat for seat, value in enumerate(pattern) if value == rank]
        after = [seat for seat, value in enumerate(pattern) if value > rank]
        for taken in range(len(tied)):
            # Over all orders of the tied seats each subset of this size is gone equally often.
            weight = 1.0 / comb(len(tied), taken) / (len(tied) - taken)
            for gone in combinations(tied, taken):
                left = [seat for seat in tied if seat not in gone]
                if len(left) + len(after) > 1:
                    choices += [(left + after, seat, weight) for seat in left]
    return choices


def _count_choices(
    size: int, count: int, sets: IntArray, deals: IntArray, winners: IntArray, weights: FloatArray
) -> _Choices:
    unique, index = np.unique(sets, axis=0, return_inverse=True)
    members = np.stack([(unique == agent).sum(axis=1) for agent in range(size)], axis=1).astype(np.float64)
    losers = np.where(sets == winners[:, None], size, sets)
    row, column = np.nonzero(losers < size)
    before = winners[row] * size + losers[row, column]
    return _Choices(
        members,
        _table(weights, deals, index, (count, len(unique))),
        _table(weights, deals, winners, (count, size)),
        _table(weights[row], deals[row], before, (count, size * size)),
    )


def _table(
    values: FloatArray, rows: IntArray, columns: IntArray, shape: tuple[int, int]
) -> sparse.csr_matrix:
    table = sparse.csr_matrix((values, (rows, columns)), shape=shape)
    table.eliminate_zeros()
    return table


def _rate(names: tuple[str, ...], choices: _Choices, resamples: int, confidence: float, seed: int) -> Ratings:
    if resamples < 2 or not 0.0 < confidence < 1.0:
        raise ResultsError(
            f"expected at least 2 resamples and a confidence between 0 and 1, found {resamples} and "
            f"{confidence}; use 1000 and 0.95"
        )
    size = len(names)
    beaten = np.asarray(choices.before.sum(axis=0)).reshape(size, size)
    _check_connected(names, beaten)
    reversed_pairs, warning = _one_sided(names, choices, beaten)
    pair_members = np.zeros((len(reversed_pairs), size))
    pair_won = np.zeros(size)
    games = np.array([weight for _, _, weight in reversed_pairs])
    for row, (winner, loser, weight) in enumerate(reversed_pairs):
        pair_members[row, [winner, loser]] = 1.0
        pair_won[loser] += weight
    members = np.concatenate([choices.members, pair_members])
    seen_by_set, won_by_agent = choices.seen.T.tocsr(), choices.won.T.tocsr()

    def fit(weights: FloatArray, imagined: float, start: FloatArray) -> FloatArray:
        seen = np.concatenate([seen_by_set @ weights, imagined * games])
        return _maximise(members, seen, won_by_agent @ weights + imagined * pair_won, start)

    count = choices.seen.shape[0]
    best = fit(np.ones(count), IMAGINED_DEAL, np.zeros(size))
    rng = np.random.default_rng(seed)
    drawn = np.empty((resamples, size))
    for row in range(resamples):
        drawn[row] = fit(rng.exponential(size=count), float(rng.exponential()), best)
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(drawn, [tail, 100.0 - tail], axis=0) * ELO_PER_NAT
    above = (drawn[:, :, None] > drawn[:, None, :]).mean(axis=0)
    return Ratings(names, best * ELO_PER_NAT, low, high, above, count, warning)


def _check_connected(names: tuple[str, ...], beaten: FloatArray) -> None:
    groups, label = csgraph.connected_components(sparse.csr_matrix(beaten), directed=False)
    if groups > 1:
        listed = [[name for name, part in zip(names, label, strict=True) if part == k] for k in range(groups)]
        raise ResultsError(
            f"expected agents linked by common games, found groups that never met: {listed}; "
            "play games between the groups, or rate each by itself"
        )


def _one_sided(
    names: tuple[str, ...], choices: _Choices, beaten: FloatArray
) -> tuple[list[tuple[int, int, float]], str | None]:
    """Return pairs `(winner, loser, games a deal)` that keep the likelihood from a maximum, and a warning."""
    groups, label = csgraph.connected_components(
        sparse.csr_matrix(beaten), directed=True, connection="strong"
    )
    if groups == 1:
        return [], None
    size = len(names)
    met = np.asarray((choices.before > 0).sum(axis=0)).reshape(size, size)
    pairs = [
        (int(winner), int(loser), float(beaten[winner, loser] / met[winner, loser]))
        for winner, loser in zip(*np.nonzero(beaten), strict=True)
        if label[winner] != label[loser]
    ]
    winners = sorted({names[winner] for winner, _, _ in pairs})
    losers = sorted({names[loser] for _, loser, _ in pairs})
    return pairs, (
        f"{', '.join(winners)} never came behind {', '.join(losers)} where they met: the distance between "
        "them rests on one imagined deal, read it as a lower bound"
    )


def _maximise(members: FloatArray, seen: FloatArray, won: FloatArray, start: FloatArray) -> FloatArray:
    """Return log strengths (mean 0) that maximise the likelihood: Newton's method with bounded steps."""
    rating = start.copy()
    size = rating.size
    for _ in range(MAX_ITERATIONS):
        strength = members * np.exp(rating - rating.max())
        chance = strength / strength.sum(axis=1, keepdims=True)
        expected = seen @ chance
        curvature = np.diag(expected) - chance.T @ (seen[:, None] * chance)
        # Adding a constant to all ratings changes nothing: the added term fixes that direction.
        curvature += curvature.trace() / size**2
        step = np.linalg.solve(curvature, won - expected)
        largest = float(np.abs(step).max())
        rating += step * min(1.0, 1.0 / max(largest, 1e-300))
        rating -= rating.mean()
        if largest < 1e-8:
            return rating
    raise AssertionError(f"the likelihood of connected results has a maximum; last step {largest}")
