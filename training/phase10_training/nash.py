"""Nash averaging of a cross table, and how far the agents are from one ladder.

`log_odds[a, b]` is the antisymmetric matrix of the log odds (nats) that agent a beats agent b, two players.
Elo ratings explain its transitive part `s_a - s_b` only, and change when copies of an agent join; the
maximum-entropy Nash equilibrium of the zero-sum game "pick an agent" does neither (Balduzzi et al. 2018).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from phase10_training.statistics import FloatArray, ResultsError, check_names

CYCLIC_LIMIT = 0.2
SUPPORT_WEIGHT = 1e-3


@dataclass(frozen=True)
class NashAverage:
    """Hold the equilibrium `weights[agents]`, `skill[agents]` and the share of the table that is cyclic.

    `skill` is each agent's log odds (nats) against the equilibrium mixture: 0 within it, below 0 outside.
    `support` counts agents with weight above 0.001. `chance_share` is the cyclic share that the errors of a
    perfect ladder would give, None where no errors were passed. `warning` is None for a plain ladder.
    """

    agents: tuple[str, ...]
    weights: FloatArray
    skill: FloatArray
    support: int
    cyclic_share: float
    chance_share: float | None
    warning: str | None


def log_odds_matrix(share: ArrayLike, deals: ArrayLike) -> FloatArray:
    """Return the antisymmetric log odds of a two-player cross table, finite even where one won everything.

    Half an imagined deal is added to each side of every pair: `logit((N share + 1/2) / (N + 1))`.

    Arguments:
        share: `[agents, agents]` share of row against column; the diagonal is ignored.
        deals: `[agents, agents]` number of deals, or one number for all.

    Raises:
        ResultsError: a pair without a result, or a shape that is not square.

    >>> log_odds_matrix([[0.5, 0.75], [0.25, 0.5]], 1e9).round(3).tolist()
    [[0.0, 1.099], [-1.099, 0.0]]
    """
    smooth, _ = _smooth_shares(share, deals)
    odds = special.logit(smooth)
    return np.asarray((odds - odds.T) / 2.0, dtype=np.float64)


def log_odds_error(share: ArrayLike, standard_error: ArrayLike, deals: ArrayLike) -> FloatArray:
    """Return the standard errors of `log_odds_matrix`, for `nash_average`.

    `standard_error / (p (1 - p))` with the same smoothed share p. Where all deals of a pair came out equal,
    `sqrt(p (1 - p) / N)` takes the place of the standard error of zero.

    Arguments:
        share, deals: as for `log_odds_matrix`.
        standard_error: `[agents, agents]` of the shares, clustered by deal; the diagonal is ignored.

    Raises:
        ResultsError: as `log_odds_matrix`.

    >>> log_odds_error([[0.5, 0.5], [0.5, 0.5]], [[0, 0.1], [0.1, 0]], 25).round(3).tolist()
    [[0.0, 0.4], [0.4, 0.0]]
    """
    smooth, counts = _smooth_shares(share, deals)
    variance = smooth * (1.0 - smooth)
    off = ~np.eye(smooth.shape[0], dtype=bool)
    errors = np.where(off, np.asarray(standard_error, dtype=np.float64), 0.0)
    blind = np.sqrt(variance / np.where(off, counts, 1.0))
    return np.where(off, np.where(errors > 0.0, errors, blind) / variance, 0.0)


def _smooth_shares(share: ArrayLike, deals: ArrayLike) -> tuple[FloatArray, FloatArray]:
    shares = np.asarray(share, dtype=np.float64)
    if shares.ndim != 2 or shares.shape[0] != shares.shape[1]:
        raise ResultsError(f"expected share[agents, agents], found shape {shares.shape}; give a square table")
    counts = np.broadcast_to(np.asarray(deals, dtype=np.float64), shares.shape)
    off = ~np.eye(shares.shape[0], dtype=bool)
    if not (np.isfinite(shares[off]) & (counts[off] > 0.0)).all():
        raise ResultsError("expected a result for every pair, found gaps; play a full round-robin")
    if (shares[off] < 0.0).any() or (shares[off] > 1.0).any():
        raise ResultsError("expected shares from 0 to 1, found others; divide the wins by the games")
    filled = np.where(off, shares, 0.5)
    return (counts * filled + 0.5) / (counts + 1.0), counts


def nash_average(
    agents: Sequence[str], log_odds: ArrayLike, standard_error: ArrayLike | None = None
) -> NashAverage:
    """Return the maximum-entropy Nash equilibrium of the log-odds game and the cyclic share.

    Linear programs find which agents can have weight in an equilibrium; among all equilibria the one with
    the greatest entropy is the minimum of a smooth convex dual over these. It treats copies as one agent:
    they share its weight. `warning` is set where the support exceeds 1 or the cyclic share exceeds 0.2;
    between agents of nearly equal strength chance alone can do that, so pass the errors to have it said.

    Arguments:
        agents: names, in the order of the rows.
        log_odds: `[agents, agents]`, antisymmetric.
        standard_error: `[agents, agents]` from `log_odds_error`; the diagonal is ignored.

    Raises:
        ResultsError: a matrix that is not square, finite and antisymmetric.

    Source: Balduzzi et al. 2018, "Re-evaluating evaluation" (arXiv 1806.02643).

    >>> rock_paper_scissors = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    >>> result = nash_average(["rock", "paper", "scissors"], rock_paper_scissors)
    >>> result.weights.round(3).tolist(), result.cyclic_share
    ([0.333, 0.333, 0.333], 1.0)
    """
    names = check_names(agents)
    matrix = _check_antisymmetric(log_odds, len(names))
    scale = float(np.abs(matrix).max())
    weights = _max_entropy_equilibrium(matrix / scale) if scale > 0.0 else np.full(len(names), 1 / len(names))
    skill = matrix @ weights
    support = int((weights > SUPPORT_WEIGHT).sum())
    share = cyclic_share(matrix)
    chance = None if standard_error is None else _chance_share(matrix, standard_error)
    warning = _warning(names, weights, support, share, chance)
    return NashAverage(names, weights, skill, support, share, chance, warning)


def cyclic_share(log_odds: ArrayLike) -> float:
    """Return `||A - T|| / ||A||`, the part of the log odds that no rating list can explain.

    `T_ab = s_a - s_b` with `s` the row means is the transitive part (the closest such matrix to A; Jiang et
    al. 2011). 0 for a perfect ladder, 1 for rock-paper-scissors, 0 for a matrix of zeros.

    >>> cyclic_share([[0, 1, 2], [-1, 0, 1], [-2, -1, 0]])
    0.0
    """
    matrix = np.asarray(log_odds, dtype=np.float64)
    matrix = _check_antisymmetric(matrix, matrix.shape[0])
    strength = matrix.mean(axis=1)
    rest = matrix - (strength[:, None] - strength[None, :])
    norm = float(np.linalg.norm(matrix))
    return float(np.linalg.norm(rest)) / norm if norm > 0.0 else 0.0


def _check_antisymmetric(log_odds: ArrayLike, size: int) -> FloatArray:
    matrix = np.asarray(log_odds, dtype=np.float64)
    if matrix.shape != (size, size) or not np.isfinite(matrix).all():
        raise ResultsError(
            f"expected finite log_odds[{size}, {size}], found shape {matrix.shape} or gaps; "
            "play a full round-robin and use log_odds_matrix"
        )
    if not np.allclose(matrix, -matrix.T, rtol=0.0, atol=1e-9 * (1.0 + float(np.abs(matrix).max()))):
        raise ResultsError("expected an antisymmetric matrix, found another; use log_odds_matrix")
    return (matrix - matrix.T) / 2.0


def _max_entropy_equilibrium(matrix: FloatArray) -> FloatArray:
    size = matrix.shape[0]
    reach = np.array([_greatest_weight(matrix, agent) for agent in range(size)])
    inside = np.flatnonzero(reach > 1e-6)
    weights = np.zeros(size)
    if inside.size == 1:
        weights[inside] = 1.0
        return weights
    # No agent beats the mixture: one multiplier for each of these constraints, tight or not.
    block = matrix[:, inside]

    def dual(multipliers: FloatArray) -> tuple[float, FloatArray]:
        exponent = -(multipliers @ block)
        mixture = special.softmax(exponent)
        return float(special.logsumexp(exponent)), -(block @ mixture)

    result = optimize.minimize(
        dual,
        np.zeros(size),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * size,
        options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    weights[inside] = special.softmax(-(result.x @ block))
    return weights


def _greatest_weight(matrix: FloatArray, agent: int) -> float:
    size = matrix.shape[0]
    goal = np.zeros(size)
    goal[agent] = -1.0
    result = optimize.linprog(
        goal, A_ub=matrix, b_ub=np.zeros(size), A_eq=np.ones((1, size)), b_eq=[1.0], bounds=(0.0, 1.0)
    )
    if result.x is None:
        raise AssertionError(f"a symmetric zero-sum game has an equilibrium: {result.message}")
    return float(result.x[agent])


def _chance_share(matrix: FloatArray, standard_error: ArrayLike) -> float:
    size = matrix.shape[0]
    errors = np.asarray(standard_error, dtype=np.float64)
    off = ~np.eye(size, dtype=bool)
    if errors.shape != matrix.shape or not (np.isfinite(errors[off]) & (errors[off] >= 0.0)).all():
        raise ResultsError(
            f"expected standard_error[{size}, {size}] of every pair, found shape {errors.shape} or gaps; "
            "play a full round-robin"
        )
    # Ladders fill size - 1 of the size (size - 1) / 2 dimensions; errors spread evenly over all of them.
    cyclic = float((errors[off] ** 2).sum()) * (size - 2) / size
    norm = float(np.linalg.norm(matrix))
    return min(float(np.sqrt(cyclic)) / norm, 1.0) if norm > 0.0 else 1.0


def _warning(
    names: tuple[str, ...], weights: FloatArray, support: int, share: float, chance: float | None
) -> str | None:
    if support <= 1 and share <= CYCLIC_LIMIT:
        return None
    order = np.argsort(-weights, kind="stable")
    mixture = [f"{names[index]} {100.0 * weights[index]:.0f} %" for index in order[:support]]
    found = (
        f"the Nash average mixes {support} agents ({', '.join(mixture)})"
        if support > 1
        else f"{names[order[0]]} beats every other agent, but the results do not add up along one scale"
    )
    alone = "" if chance is None else f" (chance alone: about {100.0 * chance:.0f} %)"
    return (
        f"The order is not a plain ladder: {found} and {100.0 * share:.0f} % of the log odds are cyclic"
        f"{alone}, so read the ratings next to the cross table."
    )
