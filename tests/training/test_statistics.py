"""Tests of estimates from results: intervals, pairing, luck adjustment, superiority, luck check."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from phase10_training.statistics import (
    Estimate,
    FloatArray,
    ResultsError,
    adjust_for_luck,
    check_luck,
    clustered_estimate,
    deal_averages,
    elo_to_share,
    likelihood_of_superiority,
    pairing_gain,
    share_to_elo,
    t_quantile,
)

SHARES = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 40), st.integers(1, 4)), elements=st.sampled_from([0.0, 0.5, 1.0])
)

Shape = tuple[float, Callable[[np.random.Generator, int], FloatArray]]

# The true mean, and a source of shares[deals, rotations] in which the games of a deal depend on each other.
DEAL_SHAPES: dict[str, Shape] = {
    "two players, games of a deal agree": (
        0.55,
        lambda rng, n: np.repeat(rng.random((n, 1)) < 0.55, 2, axis=1).astype(np.float64),
    ),
    "two players, games of a deal oppose": (
        0.55,
        lambda rng, n: rng.choice([0.0, 0.5, 1.0], size=(n, 1), p=[0.13, 0.64, 0.23]),
    ),
    "nearly the same agent": (
        0.505,
        lambda rng, n: rng.choice([0.0, 0.5, 1.0], size=(n, 1), p=[0.02, 0.95, 0.03]),
    ),
    "a far better agent": (
        0.97,
        lambda rng, n: rng.choice([0.0, 0.5, 1.0], size=(n, 1), p=[0.002, 0.056, 0.942]),
    ),
    "four players, lucky deals": (
        0.25,
        lambda rng, n: (rng.random((n, 4)) < rng.beta(1.0, 3.0, size=(n, 1))).astype(np.float64),
    ),
    "six players, a weak agent": (
        0.0625,
        lambda rng, n: (rng.random((n, 6)) < rng.beta(0.5, 7.5, size=(n, 1))).astype(np.float64),
    ),
}


def coverage(shape: str, deals: int, evaluations: int, seed: int) -> float:
    mean, draw = DEAL_SHAPES[shape]
    rng = np.random.default_rng(seed)
    inside = 0
    for _ in range(evaluations):
        result = clustered_estimate(draw(rng, deals))
        inside += result.low <= mean <= result.high
    return inside / evaluations


def test_many_deals_give_the_mean_of_deal_averages_and_1_96_standard_errors() -> None:
    rng = np.random.default_rng(0)
    shares = rng.random((5000, 2))
    result = clustered_estimate(shares)
    averages = shares.mean(axis=1)
    error = averages.std(ddof=1) / math.sqrt(5000)
    assert result.mean == pytest.approx(averages.mean())
    assert result.standard_error == pytest.approx(error)
    assert result.deals == 5000
    assert result.low == pytest.approx(averages.mean() - 1.96 * error, abs=0.01 * error)
    assert result.high == pytest.approx(averages.mean() + 1.96 * error, abs=0.01 * error)


def test_a_long_table_gives_the_same_estimate_as_the_rectangle() -> None:
    rng = np.random.default_rng(1)
    shares = rng.integers(0, 3, size=(30, 4)) / 2.0
    deals = np.repeat([f"deal {k}" for k in range(30)], 4)
    order = rng.permutation(120)
    assert clustered_estimate(shares.ravel()[order], deals[order]).to_dict() == pytest.approx(
        clustered_estimate(shares).to_dict()
    )


def test_repeating_the_games_of_a_deal_does_not_narrow_the_interval() -> None:
    shares = np.random.default_rng(2).integers(0, 2, size=(50, 1)).astype(np.float64)
    assert clustered_estimate(np.repeat(shares, 6, axis=1)) == clustered_estimate(shares)


def test_few_deals_use_the_quantile_of_students_t() -> None:
    result = clustered_estimate([0.1, 0.3, 0.2, 0.4, 0.5], bounds=None)
    assert result.high - result.mean == pytest.approx(2.7764 * result.standard_error, rel=1e-4)
    assert t_quantile(0.95, 1) == math.inf


def test_winning_every_deal_leaves_room_for_the_rule_of_three() -> None:
    result = clustered_estimate(np.ones((64, 2)))
    assert result.high == 1.0
    assert 1.0 - 3.1 / 64 < result.low < 1.0 - 2.9 / 64
    lost = clustered_estimate(np.zeros((64, 2)))
    assert lost.low == 0.0
    assert lost.high == pytest.approx(1.0 - result.low)


def test_agents_that_tie_on_every_deal_get_an_interval_around_par_that_shrinks_with_deals() -> None:
    few, many = clustered_estimate([0.5] * 20), clustered_estimate([0.5] * 2000)
    assert few.low < 0.45 < 0.55 < few.high
    assert 0.499 < many.low < 0.5 < many.high < 0.501


def test_one_deal_tells_nothing_about_the_spread() -> None:
    result = clustered_estimate([[1.0, 1.0]])
    assert (result.low, result.high) == (0.0, 1.0)
    unbounded = clustered_estimate([3.0], bounds=None)
    assert (unbounded.low, unbounded.high) == (-math.inf, math.inf)


def test_values_without_bounds_that_are_all_equal_get_an_infinite_interval() -> None:
    result = clustered_estimate([2.0, 2.0, 2.0], bounds=None)
    assert (result.standard_error, result.high) == (0.0, math.inf)


def test_other_bounds_scale_the_interval() -> None:
    values = np.random.default_rng(3).random(40)
    unit = clustered_estimate(values)
    scaled = clustered_estimate(values * 4.0 - 2.0, bounds=(-2.0, 2.0))
    assert scaled.low == pytest.approx(unit.low * 4.0 - 2.0)
    assert scaled.high == pytest.approx(unit.high * 4.0 - 2.0)


@given(SHARES)
def test_the_interval_holds_the_mean_stays_in_bounds_and_is_never_empty(shares: FloatArray) -> None:
    result = clustered_estimate(shares)
    assert 0.0 <= result.low <= result.mean + 1e-12
    assert result.mean - 1e-12 <= result.high <= 1.0
    assert result.high - result.low > 0.0


@given(SHARES)
def test_exchanging_the_agents_mirrors_the_interval(shares: FloatArray) -> None:
    one, other = clustered_estimate(shares), clustered_estimate(1.0 - shares)
    assert other.low == pytest.approx(1.0 - one.high, abs=1e-9)
    assert other.high == pytest.approx(1.0 - one.low, abs=1e-9)


@pytest.mark.parametrize("shape", DEAL_SHAPES)
def test_intervals_cover_the_truth_about_95_times_in_100(shape: str) -> None:
    assert 0.92 < coverage(shape, deals=120, evaluations=500, seed=4) < 0.985


@pytest.mark.slow
@pytest.mark.parametrize("deals", [20, 64, 200, 1000])
@pytest.mark.parametrize("shape", DEAL_SHAPES)
def test_intervals_cover_the_truth_95_times_in_100(shape: str, deals: int) -> None:
    # 4000 evaluations: a standard error of 0.35 points. Few deals may be over-covered, never under-covered.
    found = coverage(shape, deals, evaluations=4000, seed=deals)
    assert found > 0.937
    assert deals < 200 or found < 0.965


def test_treating_the_games_of_a_deal_as_independent_would_cover_too_rarely() -> None:
    mean, draw = DEAL_SHAPES["two players, games of a deal agree"]
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(500):
        result = clustered_estimate(draw(rng, 120).ravel())
        inside += result.low <= mean <= result.high
    assert inside / 500 < 0.9


def test_an_interval_prints_with_its_standard_error_and_deals() -> None:
    assert str(Estimate(0.5, 0.02, 0.46, 0.54, 100)) == "0.500 [0.460, 0.540] (s.e. 0.020, 100 deals)"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: clustered_estimate([]), "at least one deal, found none"),
        (lambda: clustered_estimate([0.5, math.nan]), "finite results, found 1"),
        (lambda: clustered_estimate([0.5, 1.5]), "from 0.0 to 1.0, found 0.5 to 1.5"),
        (lambda: clustered_estimate([0.5, 0.6], confidence=95.0), "between 0 and 1, found 95.0"),
        (lambda: deal_averages([1.0, 2.0], deals=[1]), "one deal id for each game"),
        (lambda: deal_averages(np.zeros((2, 2, 2))), "found 3 dimensions"),
        (lambda: pairing_gain([0.5, 0.5]), "at least two deals, found shape (2,)"),
        (lambda: adjust_for_luck([0.5] * 60, [0.1] * 59), "covariates[60 deals, k], found shape (59, 1)"),
        (lambda: check_luck([1, -1], [0.5, 0.5]), "counts of zero or more"),
        (lambda: check_luck([0, 0], [0.5, 0.5]), "found an empty one"),
        (lambda: check_luck([1, 1], [1.0, 0.0]), "no counts where the expectation is zero"),
        (lambda: check_luck([1, 1], [0.2, 0.3, 0.5]), "found shapes (3,) for (2,)"),
        (lambda: elo_to_share(0.0, players=1), "at least 2 players, found 1"),
        (lambda: share_to_elo(1.2), "between 0 and 1, found 1.2"),
    ],
)
def test_results_that_cannot_be_evaluated_are_refused_in_one_sentence(
    call: Callable[[], object], words: str
) -> None:
    with pytest.raises(ResultsError) as caught:
        call()
    assert words in str(caught.value)
    assert "; " in str(caught.value)


@given(st.floats(-800.0, 800.0), st.integers(2, 6))
def test_elo_and_share_are_inverse_and_zero_elo_is_par(elo: float, players: int) -> None:
    assert share_to_elo(elo_to_share(elo, players), players) == pytest.approx(elo, abs=1e-6)
    assert elo_to_share(0.0, players) == pytest.approx(1.0 / players)


def test_two_player_elo_is_the_usual_curve() -> None:
    assert elo_to_share(400.0) == pytest.approx(10.0 / 11.0)


def test_pairing_gains_what_the_deals_luck_takes() -> None:
    rng = np.random.default_rng(6)
    luck = rng.normal(size=(20_000, 1)) * np.array([1.0, -1.0])
    own = rng.normal(size=(20_000, 2))
    # Luck of variance 1 falls out of the pair; of the 1 + 1 a game has, half is left.
    assert pairing_gain(luck + own) == pytest.approx(2.0, rel=0.05)
    assert pairing_gain(own) == pytest.approx(1.0, rel=0.05)


def test_the_advantage_of_a_seat_is_no_gain_of_pairing() -> None:
    own = np.random.default_rng(7).normal(size=(500, 2))
    assert pairing_gain(own + np.array([3.0, -3.0])) == pytest.approx(pairing_gain(own))


def test_pairing_of_results_that_never_vary_is_neither_gain_nor_loss() -> None:
    assert pairing_gain(np.full((10, 2), 0.5)) == 1.0


def luck_table(rng: np.random.Generator, deals: int, weight: float) -> tuple[FloatArray, FloatArray]:
    covariates = rng.normal(size=(deals, 2)) * [0.1, 0.2]
    shares = 0.55 + weight * covariates[:, 0] - 0.5 * weight * covariates[:, 1]
    return np.clip(shares + rng.uniform(-0.2, 0.2, size=deals), 0.0, 1.0), covariates


def test_taking_luck_out_narrows_the_interval_by_the_variance_reduction_it_reports() -> None:
    shares, covariates = luck_table(np.random.default_rng(8), 2000, weight=1.0)
    result = adjust_for_luck(shares, covariates)
    assert result.used
    assert result.variance_reduction == pytest.approx(1.0 + 0.02 / (0.4**2 / 12.0), rel=0.15)
    ratio = (result.raw.standard_error / result.estimate.standard_error) ** 2
    assert ratio == pytest.approx(result.variance_reduction)
    assert result.coefficients == pytest.approx((1.0, -0.5), abs=0.15)
    assert abs(result.estimate.mean - 0.55) < abs(result.raw.mean - 0.55) + 0.005


def test_luck_that_explains_nothing_reduces_nothing_and_changes_little() -> None:
    rng = np.random.default_rng(9)
    result = adjust_for_luck(rng.random(1000), rng.normal(size=(1000, 3)))
    assert result.variance_reduction == pytest.approx(1.0, abs=0.03)
    assert result.estimate.mean == pytest.approx(result.raw.mean, abs=0.005)


def test_few_deals_are_not_adjusted_and_the_result_says_why() -> None:
    shares, covariates = luck_table(np.random.default_rng(10), 49, weight=1.0)
    result = adjust_for_luck(shares, covariates)
    assert not result.used
    assert result.estimate == result.raw
    assert "49 deals are too few to fit 2 coefficients" in result.reason


def test_deals_that_are_all_equal_are_not_adjusted() -> None:
    result = adjust_for_luck(np.full(100, 0.5), np.random.default_rng(11).normal(size=100))
    assert not result.used
    assert result.reason.startswith("every deal has the same average")


def test_covariates_that_are_copies_of_each_other_do_no_harm() -> None:
    shares, covariates = luck_table(np.random.default_rng(12), 500, weight=1.0)
    once = adjust_for_luck(shares, covariates)
    twice = adjust_for_luck(shares, np.concatenate([covariates, covariates, np.zeros((500, 1))], axis=1))
    assert twice.estimate.mean == pytest.approx(once.estimate.mean)
    assert twice.mean_zero_p == pytest.approx(once.mean_zero_p)


def test_a_covariate_whose_mean_is_not_zero_is_noticed() -> None:
    shares, covariates = luck_table(np.random.default_rng(13), 1000, weight=1.0)
    assert adjust_for_luck(shares, covariates).mean_zero_p > 0.01
    assert adjust_for_luck(shares, covariates + np.array([0.05, 0.0])).mean_zero_p < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("deals", [60, 300])
def test_adjusted_intervals_cover_the_truth_and_have_no_bias(deals: int) -> None:
    rng = np.random.default_rng(14)
    found = []
    for _ in range(4000):
        luck = rng.choice([-0.25, 0.25], size=deals)
        # The effect of luck is not linear on purpose; the mean of the shares is 0.5.
        shares = (rng.random(deals) < 0.5 + luck + rng.choice([-0.2, 0.2], size=deals)).astype(np.float64)
        result = adjust_for_luck(shares, np.stack([luck, luck**2 - 0.0625 + rng.normal(size=deals)], axis=1))
        found.append((result.estimate.low <= 0.5 <= result.estimate.high, result.estimate.mean))
    table = np.array(found)
    assert 0.937 < table[:, 0].mean() < 0.965
    assert abs(table[:, 1].mean() - 0.5) < 4.0 * table[:, 1].std() / math.sqrt(4000)


def test_superiority_grows_with_the_distance_from_par() -> None:
    values = [likelihood_of_superiority(Estimate(0.5 + d, 0.01, 0.0, 1.0, 400)) for d in (-0.02, 0.0, 0.02)]
    assert values == pytest.approx([0.0231, 0.5, 0.9769], abs=1e-3)
    assert likelihood_of_superiority(Estimate(0.25, 0.01, 0.2, 0.3, 400), par=0.25) == 0.5


def test_superiority_without_spread_counts_the_deals() -> None:
    assert likelihood_of_superiority(clustered_estimate([1.0] * 3)) == pytest.approx(15 / 16)
    assert likelihood_of_superiority(clustered_estimate([0.0] * 3)) == pytest.approx(1 / 16)


def test_fair_deals_give_uniform_p_values_and_loaded_ones_tiny_ones() -> None:
    rng = np.random.default_rng(15)
    chances = np.full(12, 1.0 / 12.0)
    p_values = [check_luck(rng.multinomial(600, chances, size=4), chances).p_value for _ in range(400)]
    assert np.mean(np.array(p_values) < 0.1) == pytest.approx(0.1, abs=0.05)
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.06)
    loaded = chances * np.linspace(0.7, 1.3, 12)
    assert check_luck(rng.multinomial(3000, loaded / loaded.sum()), chances).p_value < 1e-6


def test_each_seat_is_compared_with_its_own_total() -> None:
    result = check_luck([[10, 30], [100, 300]], [0.25, 0.75])
    assert (result.statistic, result.degrees) == (0.0, 2)


def test_categories_that_expect_too_little_are_pooled() -> None:
    result = check_luck([50, 47, 1, 2], [0.5, 0.47, 0.02, 0.01])
    assert result.degrees == 1


def test_an_estimate_can_be_written_as_json() -> None:
    text = json.dumps(clustered_estimate([0.0, 1.0, 0.5]).to_dict())
    assert json.loads(text)["deals"] == 3
