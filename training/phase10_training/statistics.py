"""Estimates from tournament results: win shares clustered by deal, luck adjustment, superiority, luck check.

Shapes: `shares[deals, rotations]` holds one agent's win share (0 to 1, no unit) in every game; a deal is
played once per rotation of the seats. A long table `(value, deal id)` is accepted where deals have
different numbers of games. The deal is the unit of evidence everywhere: games of one deal are dependent.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ELO_PER_NAT = 400.0 / math.log(10.0)
SHARE_BOUNDS = (0.0, 1.0)
FOLDS = 10


class ResultsError(ValueError):
    """Say that a table of results cannot be evaluated: what was expected, what was found, what to do."""


@dataclass(frozen=True)
class Estimate:
    """Hold a mean with its uncertainty: `mean ± standard_error`, interval `[low, high]`, number of deals.

    >>> print(Estimate(0.5312, 0.0123, 0.5071, 0.5553, 640))
    0.531 [0.507, 0.555] (s.e. 0.012, 640 deals)
    """

    mean: float
    standard_error: float
    low: float
    high: float
    deals: int

    def __str__(self) -> str:
        return (
            f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}] "
            f"(s.e. {self.standard_error:.3f}, {self.deals} deals)"
        )

    def to_dict(self) -> dict[str, float | int]:
        """Return the five fields as a dictionary of plain numbers."""
        return asdict(self)


def elo_to_share(elo: float, players: int = 2) -> float:
    """Return the win share of an agent `elo` points above `players - 1` copies of one opponent.

    `1 / (1 + (P - 1) e^-d)` with `d = elo ln(10) / 400`: the usual Elo curve for two players and the
    Plackett–Luce share for more, so that 0 Elo is par, `1 / P`.

    >>> round(elo_to_share(100.0), 3), elo_to_share(0.0, players=4)
    (0.64, 0.25)
    """
    _check_players(players)
    return float(special.expit(elo / ELO_PER_NAT - math.log(players - 1)))


def share_to_elo(share: float, players: int = 2) -> float:
    """Return the Elo points above `players - 1` copies of one opponent that give this win share.

    A share of 0 or 1 gives minus or plus infinity. Inverse of `elo_to_share`.

    >>> round(share_to_elo(0.64), 1), share_to_elo(0.25, players=4)
    (100.0, 0.0)
    """
    _check_players(players)
    if not 0.0 <= share <= 1.0:
        raise ResultsError(f"expected a win share between 0 and 1, found {share}; divide wins by games")
    return float(ELO_PER_NAT * (special.logit(share) + math.log(players - 1)))


def deal_averages(shares: ArrayLike, deals: ArrayLike | None = None) -> FloatArray:
    """Return one average per deal, in the order of the deals (of the sorted deal ids for a long table).

    Arguments:
        shares: `[deals, rotations]`, or `[deals]` (already averaged), or `[games]` together with `deals`.
        deals: `[games]` deal id of each game of a long table (any sortable type).

    Raises:
        ResultsError: no deals, values that are not finite, or shapes that do not fit.

    >>> deal_averages([[1, 0], [1, 1]]).tolist()
    [0.5, 1.0]
    >>> deal_averages([1, 0, 1], deals=["a", "a", "b"]).tolist()
    [0.5, 1.0]
    """
    values = np.asarray(shares, dtype=np.float64)
    if values.size == 0:
        raise ResultsError("expected results of at least one deal, found none; play some deals first")
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).sum())
        raise ResultsError(f"expected finite results, found {bad} that are not; charge or drop those games")
    if deals is not None:
        ids = np.asarray(deals)
        if values.ndim != 1 or ids.shape != values.shape:
            raise ResultsError(
                f"expected one deal id for each game, found shapes {ids.shape} and {values.shape}; "
                "pass two flat arrays of one length"
            )
        _, index = np.unique(ids, return_inverse=True)
        return np.bincount(index, weights=values) / np.bincount(index)
    if values.ndim == 1:
        return values
    if values.ndim != 2:
        raise ResultsError(f"expected shares[deals, rotations], found {values.ndim} dimensions; reshape them")
    return np.asarray(values.mean(axis=1), dtype=np.float64)


def clustered_estimate(
    shares: ArrayLike,
    deals: ArrayLike | None = None,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] | None = SHARE_BOUNDS,
) -> Estimate:
    """Estimate the mean with an interval clustered by deal.

    The mean of the N deal averages, its standard error `s / sqrt(N)` and an interval with Student's t
    quantile (1.96 for many deals). Where the values have `bounds`, the interval is of Wilson's form with
    the effective number of games that the deals' spread implies (Korn & Graubard 1998), so it stays within
    the bounds and holds near them; and it is never narrower than the rule of three allows: a kind of deal
    not seen once in N may still have probability `1 - (1 - confidence)^(1/N)` and lie at a bound. So 64 won
    deals of 64 give about [0.95, 1], not a width of zero.

    Arguments:
        shares, deals: as for `deal_averages`.
        confidence: coverage of the interval, in (0, 1).
        bounds: least and greatest possible value; None where there are none (equity, points). Without
            bounds, equal averages or a single deal say nothing about the spread: the interval is infinite.

    Raises:
        ResultsError: no deals, values outside the bounds, or a confidence outside (0, 1).

    >>> print(clustered_estimate([[1, 1]] * 64))
    1.000 [0.954, 1.000] (s.e. 0.000, 64 deals)
    """
    _check_confidence(confidence)
    averages = deal_averages(shares, deals)
    count = averages.size
    mean = float(averages.mean())
    spread = float(averages.std(ddof=1)) if count > 1 else math.inf
    if count > 1 and np.ptp(averages) < 1e-12:
        spread = 0.0
    error = spread / math.sqrt(count)
    quantile = t_quantile(confidence, count)
    if bounds is None:
        reach = quantile * error if 0.0 < error < math.inf else math.inf
        return Estimate(mean, error, mean - reach, mean + reach, count)
    low, high = bounds
    slack = 1e-9 * (high - low)
    if averages.min() < low - slack or averages.max() > high + slack:
        raise ResultsError(
            f"expected values from {low} to {high}, found {averages.min():g} to {averages.max():g}; "
            "pass the bounds of these values, or bounds=None"
        )
    if count == 1:
        return Estimate(mean, error, low, high, count)
    width = high - low
    unit_low, unit_high = _bounded_interval(
        min(max((mean - low) / width, 0.0), 1.0), error / width, count, quantile, confidence
    )
    return Estimate(mean, error, low + width * unit_low, low + width * unit_high, count)


def _bounded_interval(
    mean: float, error: float, count: int, quantile: float, confidence: float
) -> tuple[float, float]:
    low = high = mean
    if error > 0.0 and 0.0 < mean < 1.0:
        # Wilson's interval is the set of means mu with (mean - mu)^2 <= t^2 mu (1 - mu) / games.
        games = mean * (1.0 - mean) / error**2
        shrink = 1.0 + quantile**2 / games
        centre = (mean + quantile**2 / (2.0 * games)) / shrink
        half = quantile / shrink * math.sqrt(error**2 + (quantile / (2.0 * games)) ** 2)
        low, high = centre - half, centre + half
    unseen = 1.0 - (1.0 - confidence) ** (1.0 / count)
    low = min(low, mean * (1.0 - unseen))
    high = max(high, mean + (1.0 - mean) * unseen)
    return max(low, 0.0), min(high, 1.0)


def pairing_gain(shares: ArrayLike) -> float:
    """Return how many independent games one game of a rotated deal is worth.

    `Var(mean of R games on R deals) / Var(mean of the R rotations of one deal)`; both have every seat once,
    so the advantage of a seat counts in neither. 1 means no gain, above 1 a gain, infinity that all deals
    came out the same while single games did not.

    Arguments:
        shares: `[deals, rotations]`, at least two deals.

    >>> pairing_gain([[1, 0], [0, 1], [1, 1], [0, 0]])
    1.0
    >>> pairing_gain([[1, 0], [0, 1], [1, 0]])
    inf
    """
    values = np.asarray(shares, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] < 2:
        raise ResultsError(
            f"expected shares[deals, rotations] of at least two deals, found shape {values.shape}; "
            "keep the rotations of a deal in one row"
        )
    paired = float(deal_averages(values).var(ddof=1))
    independent = float(values.var(axis=0, ddof=1).mean()) / len(values[0])
    if paired < 1e-15:
        return math.inf if independent > 1e-15 else 1.0
    return independent / paired


@dataclass(frozen=True)
class LuckAdjusted:
    """Hold an estimate with the luck of the draw taken out, and what that was worth.

    `estimate` is the one to report: equal to `raw` where `used` is false (`reason` then says why).
    `variance_reduction` is `Var(raw deals) / Var(adjusted deals)`: 1.3 saves as much as 30 % more deals.
    `averages[deals]` are the adjusted deal averages, for a sequential test. `mean_zero_p` is the p value of
    the claim that the covariates have mean zero: a tiny one means they are computed wrongly.
    """

    estimate: Estimate
    raw: Estimate
    variance_reduction: float
    coefficients: tuple[float, ...]
    averages: FloatArray
    mean_zero_p: float
    used: bool
    reason: str


def adjust_for_luck(
    shares: ArrayLike,
    covariates: ArrayLike,
    *,
    confidence: float = 0.95,
    min_deals: int = 50,
) -> LuckAdjusted:
    """Estimate a win share with control variates whose true mean is zero.

    Deal averages are regressed on the covariates, and `coefficients @ covariates` is taken from each. The
    coefficients for a deal come from the other nine tenths of the deals (cross-fitting, fold = deal number
    modulo 10), so the estimate has no bias, whatever the covariates are worth. With fewer than `min_deals`
    deals, or fewer than 20 a coefficient, the raw estimate is returned. An interval of adjusted values may
    reach beyond 0 or 1.

    Arguments:
        shares: `[deals, rotations]` or `[deals]`.
        covariates: `[deals]` or `[deals, covariates]`, deal averages of "what happened minus what was
            expected" at chance events (for instance Wilds drawn minus their probability, own less others').

    Raises:
        ResultsError: shapes that do not fit, or values that are not finite.

    Source: Lavenberg & Welch 1981 (control variates); Burch et al. 2018, arXiv 1612.06915 (AIVAT).

    >>> luck = np.tile([-0.2, 0.2], 50)
    >>> result = adjust_for_luck(0.5 + luck, luck)
    >>> result.used, round(result.estimate.mean, 6), result.variance_reduction > 1000
    (True, 0.5, True)
    """
    averages = deal_averages(shares)
    raw = clustered_estimate(averages, confidence=confidence)
    design = np.asarray(covariates, dtype=np.float64)
    design = design[:, None] if design.ndim == 1 else design
    if design.ndim != 2 or design.shape[0] != averages.size or not np.isfinite(design).all():
        raise ResultsError(
            f"expected finite covariates[{averages.size} deals, k], found shape {design.shape}; "
            "give one row for each deal"
        )
    width = design.shape[1]
    needed = max(min_deals, 20 * (width + 1), 2 * FOLDS)
    reason = ""
    if averages.size < needed:
        reason = f"{averages.size} deals are too few to fit {width} coefficients (at least {needed})"
    elif raw.standard_error == 0.0:
        reason = "every deal has the same average, so there is no luck to take out"
    if reason:
        return LuckAdjusted(raw, raw, 1.0, (0.0,) * width, averages, _mean_zero_p(design), False, reason)
    coefficients = _slopes(averages, design)
    adjusted = averages.copy()
    fold = np.arange(averages.size) % FOLDS
    for part in range(FOLDS):
        inside = fold == part
        adjusted[inside] -= design[inside] @ _slopes(averages[~inside], design[~inside])
    estimate = clustered_estimate(adjusted, confidence=confidence, bounds=None)
    before, after = float(averages.var(ddof=1)), float(adjusted.var(ddof=1))
    gain = before / after if after > 0.0 else math.inf
    p_value = _mean_zero_p(design)
    return LuckAdjusted(estimate, raw, gain, tuple(coefficients.tolist()), adjusted, p_value, True, "")


def _slopes(averages: FloatArray, design: FloatArray) -> FloatArray:
    centred = design - design.mean(axis=0)
    solution = np.linalg.lstsq(centred, averages - averages.mean(), rcond=1e-10)[0]
    return np.asarray(solution, dtype=np.float64)


def _mean_zero_p(design: FloatArray) -> float:
    # Hotelling's T^2 in the directions in which the covariates vary at all.
    count = design.shape[0]
    if count < 3:
        return 1.0
    centre = design.mean(axis=0)
    covariance = np.atleast_2d(np.cov(design, rowvar=False))
    rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if rank == 0 or count <= rank:
        return 1.0
    inverse = np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)
    squared = count * float(centre @ inverse @ centre)
    return float(special.fdtrc(rank, count - rank, squared * (count - rank) / (rank * (count - 1))))


def likelihood_of_superiority(estimate: Estimate, par: float = 0.5) -> float:
    """Return the probability that the true mean lies above par, given the estimate (flat prior).

    Student's t with `deals - 1` degrees of freedom. Where all deals came out equal the spread is unknown
    and the sign alone counts: `1 - 2^-(N+1)`, as for N heads in N throws.

    >>> likelihood_of_superiority(Estimate(0.5, 0.01, 0.48, 0.52, 100))
    0.5
    >>> round(likelihood_of_superiority(Estimate(0.52, 0.01, 0.50, 0.54, 100)), 3)
    0.976
    """
    distance = estimate.mean - par
    if abs(distance) < 1e-12:
        return 0.5
    if estimate.standard_error < 1e-12 or estimate.deals < 2:
        doubt = 0.5 ** (estimate.deals + 1)
        return 1.0 - doubt if distance > 0.0 else doubt
    return float(special.stdtr(estimate.deals - 1, distance / estimate.standard_error))


@dataclass(frozen=True)
class LuckCheck:
    """Hold a chi-square comparison of what was dealt with what the deck says: statistic, freedom, p value."""

    statistic: float
    degrees: int
    p_value: float


def check_luck(observed: ArrayLike, expected: ArrayLike, *, least: float = 5.0) -> LuckCheck:
    """Compare observed counts with expected ones by Pearson's chi-square.

    Expected values may be counts or probabilities: each row is scaled to the observed total. Categories
    that expect fewer than `least` are pooled. Cards are dealt without replacement, which makes counts of one
    hand vary less than the test assumes: over many deals the p value errs on the high side.

    Arguments:
        observed: `[categories]` or `[seats, categories]` counts; the seats are compared separately and added.
        expected: the same shape, or `[categories]` for every seat.

    Raises:
        ResultsError: negative or non-finite counts, shapes that do not fit, an empty row, or counts where
            none can occur.

    >>> check_luck([48, 52], [0.5, 0.5]).p_value > 0.5
    True
    >>> check_luck([80, 20], [0.5, 0.5]).p_value < 1e-6
    True
    """
    counts = np.atleast_2d(np.asarray(observed, dtype=np.float64))
    try:
        weights = np.broadcast_to(np.atleast_2d(np.asarray(expected, dtype=np.float64)), counts.shape)
    except ValueError:
        shapes = f"{np.shape(expected)} for {np.shape(observed)}"
        raise ResultsError(
            f"expected one expectation a category, found shapes {shapes}; give both the same shape"
        ) from None
    if not all(np.isfinite(part).all() and (part >= 0).all() for part in (counts, weights)):
        raise ResultsError("expected counts of zero or more, found negative or non-finite ones; count again")
    statistic, degrees = 0.0, 0
    for row, weight in zip(counts, weights, strict=True):
        part, freedom = _row_chi_square(row, weight, least)
        statistic, degrees = statistic + part, degrees + freedom
    p_value = float(special.chdtrc(degrees, statistic)) if degrees else 1.0
    return LuckCheck(statistic, degrees, p_value)


def _row_chi_square(row: FloatArray, weight: FloatArray, least: float) -> tuple[float, int]:
    if row.sum() <= 0.0 or weight.sum() <= 0.0:
        raise ResultsError("expected counts in every row, found an empty one; drop it or play more deals")
    if (row[weight == 0.0] > 0.0).any():
        raise ResultsError("expected no counts where the expectation is zero, found some; check categories")
    mean = weight * (row.sum() / weight.sum())
    order = np.argsort(mean, kind="stable")
    row, mean = row[order], mean[order]
    # The smallest categories go into one until it is large enough to compare.
    pooled = min(int(np.searchsorted(np.cumsum(mean), least)) + 1, mean.size)
    row = np.concatenate([[row[:pooled].sum()], row[pooled:]])
    mean = np.concatenate([[mean[:pooled].sum()], mean[pooled:]])
    return float(((row - mean) ** 2 / mean).sum()), mean.size - 1


def t_quantile(confidence: float, count: int) -> float:
    """Return the two-sided Student quantile for `count` values, infinity for one.

    >>> round(t_quantile(0.95, 10_000), 2), round(t_quantile(0.95, 5), 2)
    (1.96, 2.78)
    """
    if count < 2:
        return math.inf
    return float(special.stdtrit(count - 1, 0.5 + confidence / 2.0))


def check_names(agents: Sequence[str]) -> tuple[str, ...]:
    """Return the agents' names as a tuple, or raise ResultsError where they are fewer than two or repeat."""
    names = tuple(agents)
    if len(names) < 2 or len(set(names)) != len(names):
        raise ResultsError(f"expected at least two different agent names, found {list(names)}; rename copies")
    return names


def _check_players(players: int) -> None:
    if players < 2:
        raise ResultsError(f"expected at least 2 players, found {players}; name the size of the table")


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise ResultsError(f"expected a confidence between 0 and 1, found {confidence}; use 0.95 for 95 %")
