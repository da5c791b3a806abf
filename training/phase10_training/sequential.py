"""Sequential test of two strengths (GSPRT): stops as soon as the deals decide, and says so when they do not.

Values are deal averages `x[deals]` of one agent's win share (0 to 1): the mean over the rotations of one
deal. Strengths are in Elo against `players - 1` copies of the other agent.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from phase10_training.statistics import (
    Estimate,
    FloatArray,
    ResultsError,
    clustered_estimate,
    deal_averages,
    elo_to_share,
)

Decision = Literal["continue", "accept_h0", "accept_h1", "undecided"]
Form = Literal["exact", "normal"]

LARGEST_ELO = 3000.0
"""Beyond it a win share cannot be told from 0 or 1."""

IMAGINED = 0.5
"""Imagined deals at share 0 and at share 1, each: an outcome not seen yet is not impossible."""


class SequentialTest:
    """Test `elo0` (H0) against `elo1` (H1) on deal averages as they arrive.

    The log-likelihood ratio is compared with `ln(beta / (1 - alpha))` and `ln((1 - beta) / alpha)`. The
    "exact" form maximises the multinomial likelihood over the outcomes seen (the pentanomial test for two
    players) under each mean; the "normal" form is `N (mu1 - mu0) (2 m - mu0 - mu1) / (2 v)`. Both include
    half an imagined deal at each end of the range, so that agents that tie on every deal do not make the
    variance zero. The error rates of the normal form need about fifty deals that differ from the commonest
    outcome; take the exact form for agents that are nearly the same.

    Looks come after `min_deals` deals and every `check_every` from there, whatever the size of the batches,
    so the decision does not depend on how the deals were grouped. After a decision further deals are
    ignored; without one at `max_deals` it is "undecided".

    Arguments:
        elo0, elo1: Elo under the two hypotheses, `elo0 < elo1`, from -3000 to 3000.
        alpha, beta: greatest probability to accept H1 when H0 holds, and H0 when H1 holds.
        players: seats at the table; the opponent fills all but one.
        min_deals, max_deals: first look and last.
        check_every: deals between looks.
        form: "exact" or "normal".

    Raises:
        ResultsError: settings that contradict each other.

    Source: Van den Bergh, "The generalized sequential probability ratio test" (fishtest); Wald 1945.

    >>> test = SequentialTest(0.0, 10.0)
    >>> test.add(np.tile([0.5, 0.5, 1.0], 100))
    'accept_h1'
    >>> test.deals, test.llr > test.upper
    (110, True)
    """

    def __init__(
        self,
        elo0: float,
        elo1: float,
        alpha: float = 0.05,
        beta: float = 0.05,
        players: int = 2,
        min_deals: int = 100,
        max_deals: int = 100_000,
        *,
        check_every: int = 10,
        form: Form = "exact",
    ) -> None:
        if not (abs(elo0) <= LARGEST_ELO and abs(elo1) <= LARGEST_ELO):
            raise ResultsError(
                f"expected elo0 and elo1 from {-LARGEST_ELO:g} to {LARGEST_ELO:g}, found {elo0} and {elo1}; "
                "take 0 and 10 for agents that are nearly the same"
            )
        if not elo0 < elo1:
            raise ResultsError(f"expected elo0 below elo1, found {elo0} and {elo1}; exchange them")
        if not (0.0 < alpha < 0.5 and 0.0 < beta < 0.5):
            raise ResultsError(f"expected alpha and beta from 0 to 0.5, found {alpha} and {beta}; use 0.05")
        if not 2 <= min_deals <= max_deals:
            raise ResultsError(
                f"expected 2 <= min_deals <= max_deals, found {min_deals} and {max_deals}; allow more deals"
            )
        if check_every < 1:
            raise ResultsError(f"expected check_every of at least 1, found {check_every}; use 10")
        if form not in ("exact", "normal"):
            raise ResultsError(f"expected the form 'exact' or 'normal', found {form!r}; choose one of them")
        self.elo0, self.elo1, self.alpha, self.beta = elo0, elo1, alpha, beta
        self.players, self.min_deals, self.max_deals = players, min_deals, max_deals
        self.check_every, self.form = check_every, form
        self.mean0, self.mean1 = elo_to_share(elo0, players), elo_to_share(elo1, players)
        self.lower = math.log(beta / (1.0 - alpha))
        self.upper = math.log((1.0 - beta) / alpha)
        self._counts: Counter[float] = Counter()
        self._deals = 0
        self._decision: Decision = "continue"

    @property
    def deals(self) -> int:
        """Number of deals used so far; it stays where the decision fell."""
        return self._deals

    @property
    def decision(self) -> Decision:
        """Say "continue", "accept_h0", "accept_h1", or "undecided" after `max_deals`."""
        return self._decision

    @property
    def llr(self) -> float:
        """Log-likelihood ratio of H1 to H0 given the deals used so far; 0 before the first."""
        if not self._deals:
            return 0.0
        values, counts = self._table()
        if self.form == "normal":
            return normal_llr(values, counts, self.mean0, self.mean1)
        return exact_llr(values, counts, self.mean0, self.mean1)

    @property
    def estimate(self) -> Estimate:
        """Win share over the deals used; stopping early makes it lean away from the middle a little."""
        values = np.array(list(self._counts), dtype=np.float64)
        return clustered_estimate(np.repeat(values, np.array(list(self._counts.values()), dtype=np.int64)))

    def add(self, averages: ArrayLike) -> Decision:
        """Take deal averages `x[deals]` (or `shares[deals, rotations]`) in order and return the decision.

        Raises:
            ResultsError: a value outside 0 to 1.
        """
        if np.size(averages) == 0:
            return self._decision
        values = deal_averages(averages)
        if values.min() < -1e-9 or values.max() > 1.0 + 1e-9:
            raise ResultsError(
                f"expected win shares from 0 to 1, found {values.min():g} to {values.max():g}; "
                "divide the wins of a deal by its games"
            )
        # Sums of the same fractions in another order must count as one outcome.
        keys = np.round(values, 9).tolist()
        start = 0
        while start < len(keys) and self._decision == "continue":
            stop = min(start + self._next_look() - self._deals, len(keys))
            self._counts.update(keys[start:stop])
            self._deals += stop - start
            start = stop
            if self._is_look(self._deals):
                self._decide()
        return self._decision

    def expected_deals(self, variance: float) -> float:
        """Return the deals needed on average when H1 holds, for a variance of the deal averages.

        `2 v [(1 - beta) ln((1 - beta) / alpha) + beta ln(beta / (1 - alpha))] / (mu1 - mu0)^2`.

        >>> round(SequentialTest(0.0, 13.9).expected_deals(0.085), -1)
        1130.0
        """
        drift = (1.0 - self.beta) * self.upper + self.beta * self.lower
        return 2.0 * variance * drift / (self.mean1 - self.mean0) ** 2

    def to_dict(self) -> dict[str, Any]:
        """Return settings and deals so far as plain values that JSON can hold."""
        return {
            "settings": {
                "elo0": self.elo0,
                "elo1": self.elo1,
                "alpha": self.alpha,
                "beta": self.beta,
                "players": self.players,
                "min_deals": self.min_deals,
                "max_deals": self.max_deals,
                "check_every": self.check_every,
                "form": self.form,
            },
            "outcomes": sorted([value, count] for value, count in self._counts.items()),
            "decision": self._decision,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "SequentialTest":
        """Continue from the value of `to_dict`.

        >>> test = SequentialTest(0.0, 10.0)
        >>> _ = test.add([0.5, 1.0])
        >>> SequentialTest.from_dict(test.to_dict()).deals
        2
        """
        test = cls(**state["settings"])
        test._counts = Counter({float(value): int(count) for value, count in state["outcomes"]})
        test._deals = sum(test._counts.values())
        test._decision = state["decision"]
        return test

    def _table(self) -> tuple[FloatArray, FloatArray]:
        counts: dict[float, float] = dict(sorted(self._counts.items()))
        for end in (0.0, 1.0):
            counts[end] = counts.get(end, 0.0) + IMAGINED
        return np.array(list(counts), dtype=np.float64), np.array(list(counts.values()), dtype=np.float64)

    def _next_look(self) -> int:
        if self._deals < self.min_deals:
            return self.min_deals
        steps = (self._deals - self.min_deals) // self.check_every + 1
        return min(self.min_deals + steps * self.check_every, self.max_deals)

    def _is_look(self, deals: int) -> bool:
        regular = deals >= self.min_deals and (deals - self.min_deals) % self.check_every == 0
        return regular or deals == self.max_deals

    def _decide(self) -> None:
        ratio = self.llr
        if ratio >= self.upper:
            self._decision = "accept_h1"
        elif ratio <= self.lower:
            self._decision = "accept_h0"
        elif self._deals >= self.max_deals:
            self._decision = "undecided"


def normal_llr(values: FloatArray, counts: FloatArray, mean0: float, mean1: float) -> float:
    """Return the log-likelihood ratio of two means by the normal approximation.

    Arguments: `values[outcomes]` with `counts[outcomes]`, not all equal; the two means.

    >>> round(normal_llr(np.array([0.0, 1.0]), np.array([40.0, 60.0]), 0.4, 0.6), 3)
    8.333
    """
    total = float(counts.sum())
    mean = float(counts @ values) / total
    variance = float(counts @ (values - mean) ** 2) / total
    return total * (mean1 - mean0) * (2.0 * mean - mean0 - mean1) / (2.0 * variance)


def exact_llr(values: FloatArray, counts: FloatArray, mean0: float, mean1: float) -> float:
    """Return the log-likelihood ratio of two means for a multinomial over the outcomes.

    Under "the mean is mu" the likeliest probabilities are `p_k / (1 + theta (a_k - mu))` where theta solves
    `sum p_k (a_k - mu) / (1 + theta (a_k - mu)) = 0`; both means must lie inside the outcomes' range.

    Arguments: `values[outcomes]` with positive `counts[outcomes]`; the two means.

    >>> round(exact_llr(np.array([0.0, 1.0]), np.array([40.0, 60.0]), 0.4, 0.6), 3)
    8.109
    """
    return float(counts @ (_log_tilt(values, counts, mean0) - _log_tilt(values, counts, mean1)))


def _log_tilt(values: FloatArray, counts: FloatArray, mean: float) -> FloatArray:
    away = values - mean
    least, greatest = float(away.min()), float(away.max())
    if not least < 0.0 < greatest:
        raise ResultsError(
            f"expected a mean between the least and the greatest outcome, found {mean:g} outside "
            f"[{values.min():g}, {values.max():g}]; add outcomes on both sides"
        )

    def slope(theta: float) -> float:
        return float(counts @ (away / (1.0 + theta * away)))

    # At both ends of this interval one probability would be infinite, so the slope changes sign inside.
    low, high = -1.0 / greatest, -1.0 / least
    margin = 1e-12 * (high - low)
    theta = optimize.brentq(slope, low + margin, high - margin, xtol=1e-13, rtol=1e-12)
    return np.asarray(np.log1p(theta * away), dtype=np.float64)
