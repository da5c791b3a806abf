"""Tests of the sequential test: formulas, looks, honesty at the end, and error rates by simulation."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from phase10_training.sequential import Form, SequentialTest, exact_llr, normal_llr
from phase10_training.statistics import FloatArray, ResultsError, elo_to_share

PAIR = np.array([0.0, 0.5, 1.0])
PENTA = np.array([0.0, 0.25, 0.5, 0.75, 1.0])

# name: players, outcomes of a deal, their shape before it is tilted to the mean, elo0, elo1
CASES: dict[str, tuple[int, FloatArray, FloatArray, float, float]] = {
    "different agents": (2, PAIR, np.array([0.17, 0.66, 0.17]), 0.0, 20.0),
    "ties as half wins": (2, PENTA, np.array([0.12, 0.08, 0.6, 0.08, 0.12]), 0.0, 20.0),
    "nearly the same agent": (2, PAIR, np.array([0.02, 0.96, 0.02]), 0.0, 10.0),
    "four players": (4, PENTA, np.array([0.35, 0.38, 0.2, 0.06, 0.01]), 0.0, 30.0),
    "a far better agent": (2, PAIR, np.array([0.01, 0.2, 0.79]), 300.0, 400.0),
}


def tilted(values: FloatArray, weights: FloatArray, mean: float) -> FloatArray:
    def chances(slope: float) -> FloatArray:
        raw = weights * np.exp(slope * values)
        return np.asarray(raw / raw.sum(), dtype=np.float64)

    slope = optimize.brentq(lambda s: float(chances(s) @ values) - mean, -60.0, 60.0)
    return chances(float(slope))


def decide(case: str, elo: float, runs: int, seed: int, **settings: Any) -> tuple[dict[str, float], float]:
    players, values, weights, elo0, elo1 = CASES[case]
    chances = tilted(values, weights, elo_to_share(elo, players))
    rng = np.random.default_rng(seed)
    counts = {"accept_h0": 0, "accept_h1": 0, "undecided": 0}
    deals = 0
    for _ in range(runs):
        test = SequentialTest(elo0, elo1, players=players, **settings)
        while test.decision == "continue":
            test.add(rng.choice(values, p=chances, size=200))
        counts[test.decision] += 1
        deals += test.deals
    return {name: count / runs for name, count in counts.items()}, deals / runs


def test_the_exact_ratio_is_that_of_two_maximised_multinomials() -> None:
    counts = np.array([20.0, 50.0, 45.0])

    def best(mean: float) -> float:
        # p0 + p1 + p2 = 1 and p1 / 2 + p2 = mean leave one free probability.
        def loss(p2: float) -> float:
            p1 = 2.0 * (mean - p2)
            return -float(counts @ np.log([1.0 - p1 - p2, p1, p2]))

        low, high = max(2.0 * mean - 1.0, 0.0), mean
        result = optimize.minimize_scalar(
            loss, bounds=(low + 1e-9, high - 1e-9), method="bounded", options={"xatol": 1e-10}
        )
        return -float(result.fun)

    assert exact_llr(PAIR, counts, 0.5, 0.55) == pytest.approx(best(0.55) - best(0.5), abs=1e-6)


def test_both_forms_agree_where_the_means_are_close() -> None:
    counts = np.array([400.0, 1500.0, 460.0])
    exact, normal = exact_llr(PAIR, counts, 0.5, 0.51), normal_llr(PAIR, counts, 0.5, 0.51)
    assert exact == pytest.approx(normal, rel=0.02)


def test_exchanging_the_hypotheses_changes_the_sign() -> None:
    counts = np.array([3.0, 50.0, 7.0])
    assert exact_llr(PAIR, counts, 0.5, 0.6) == pytest.approx(-exact_llr(PAIR, counts, 0.6, 0.5))


def test_a_mean_outside_the_outcomes_is_refused() -> None:
    with pytest.raises(ResultsError, match=r"found 0\.4 outside \[0\.5, 1\]"):
        exact_llr(np.array([0.5, 1.0]), np.array([5.0, 5.0]), 0.4, 0.6)


def test_bounds_are_walds() -> None:
    test = SequentialTest(0.0, 10.0)
    assert (test.lower, test.upper) == pytest.approx((-math.log(19.0), math.log(19.0)))
    assert test.mean0 == 0.5
    assert SequentialTest(0.0, 10.0, players=4).mean0 == pytest.approx(0.25)


def test_expected_deals_follow_the_formula() -> None:
    test = SequentialTest(0.0, 10.0)
    assert test.expected_deals(0.08) == pytest.approx(5.3 * 0.08 / (test.mean1 - 0.5) ** 2, rel=0.005)


def test_there_is_no_decision_before_the_first_look() -> None:
    test = SequentialTest(0.0, 30.0, min_deals=100)
    assert test.add([1.0] * 99) == "continue"
    assert test.llr > test.upper
    assert test.add([1.0]) == "accept_h1"


def test_deals_after_the_decision_are_ignored() -> None:
    test = SequentialTest(0.0, 30.0)
    test.add([1.0] * 250)
    assert (test.deals, test.decision) == (100, "accept_h1")
    test.add([0.0] * 250)
    assert (test.deals, test.decision) == (100, "accept_h1")


def test_without_a_decision_at_the_last_deal_it_is_undecided() -> None:
    values = np.tile([0.0, 0.5, 1.0, 0.5, 0.75], 100)
    test = SequentialTest(-10.0, 40.0, max_deals=105, min_deals=100)
    assert test.add(values) == "undecided"
    assert test.deals == 105
    assert test.lower < test.llr < test.upper


@pytest.mark.parametrize("form", ["exact", "normal"])
def test_agents_that_tie_on_every_deal_are_not_stronger(form: Form) -> None:
    test = SequentialTest(0.0, 10.0, form=form)
    test.add([0.5] * 1000)
    assert test.decision == "accept_h0"
    assert 100 <= test.deals < 300


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=400),
    st.integers(1, 50),
    st.sampled_from(["exact", "normal"]),
)
def test_the_decision_does_not_depend_on_the_size_of_the_batches(
    values: list[float], size: int, form: Form
) -> None:
    whole = SequentialTest(0.0, 30.0, min_deals=20, max_deals=300, form=form)
    parts = SequentialTest(0.0, 30.0, min_deals=20, max_deals=300, form=form)
    whole.add(values)
    for start in range(0, len(values), size):
        parts.add(values[start : start + size])
    assert (parts.deals, parts.decision) == (whole.deals, whole.decision)
    assert parts.llr == pytest.approx(whole.llr, abs=1e-9)


def test_the_state_survives_json() -> None:
    values = np.random.default_rng(0).choice(PENTA, size=260)
    whole, first = SequentialTest(0.0, 5.0, players=4), SequentialTest(0.0, 5.0, players=4)
    whole.add(values)
    first.add(values[:130])
    resumed = SequentialTest.from_dict(json.loads(json.dumps(first.to_dict())))
    resumed.add(values[130:])
    assert resumed.to_dict() == whole.to_dict()


def test_games_of_a_deal_may_come_as_a_row() -> None:
    rows, averages = SequentialTest(0.0, 10.0), SequentialTest(0.0, 10.0)
    rows.add([[1.0, 0.0], [1.0, 1.0]])
    averages.add([0.5, 1.0])
    assert rows.to_dict() == averages.to_dict()
    assert rows.estimate.mean == 0.75


def test_nothing_added_changes_nothing() -> None:
    test = SequentialTest(0.0, 10.0)
    assert test.add([]) == "continue"
    assert (test.deals, test.llr) == (0, 0.0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"elo0": 10.0, "elo1": 0.0}, "elo0 below elo1"),
        ({"alpha": 0.5}, "alpha and beta from 0 to 0.5"),
        ({"min_deals": 200, "max_deals": 100}, "min_deals <= max_deals"),
        ({"check_every": 0}, "check_every of at least 1"),
        ({"form": "trinomial"}, "'exact' or 'normal', found 'trinomial'"),
        ({"players": 1}, "at least 2 players"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ResultsError) as caught:
        SequentialTest(**{"elo0": 0.0, "elo1": 10.0, **settings})
    assert words in str(caught.value)


def test_values_that_are_no_shares_are_refused() -> None:
    with pytest.raises(ResultsError, match="from 0 to 1, found 1 to 2"):
        SequentialTest(0.0, 10.0).add([1.0, 2.0])


@pytest.mark.parametrize("case", ["different agents", "nearly the same agent", "four players"])
def test_wrong_decisions_are_rare(case: str) -> None:
    _, _, _, elo0, elo1 = CASES[case]
    assert decide(case, elo0, runs=150, seed=1)[0]["accept_h1"] < 0.1
    assert decide(case, elo1, runs=150, seed=2)[0]["accept_h0"] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_exact_form_keeps_its_error_rates(case: str) -> None:
    # 3000 runs at a rate of 0.05: a standard error of 0.4 points.
    _, _, _, elo0, elo1 = CASES[case]
    assert decide(case, elo0, runs=3000, seed=3)[0]["accept_h1"] < 0.058
    assert decide(case, elo1, runs=3000, seed=4)[0]["accept_h0"] < 0.058


@pytest.mark.slow
@pytest.mark.parametrize("case", ["different agents", "ties as half wins", "four players"])
def test_the_normal_form_keeps_its_error_rates_between_different_agents(case: str) -> None:
    _, _, _, elo0, elo1 = CASES[case]
    assert decide(case, elo0, runs=3000, seed=5, form="normal")[0]["accept_h1"] < 0.058
    assert decide(case, elo1, runs=3000, seed=6, form="normal")[0]["accept_h0"] < 0.058


@pytest.mark.slow
def test_unequal_error_rates_are_kept_too() -> None:
    settings = {"alpha": 0.01, "beta": 0.1}
    assert decide("different agents", 0.0, runs=3000, seed=7, **settings)[0]["accept_h1"] < 0.016
    assert decide("different agents", 20.0, runs=3000, seed=8, **settings)[0]["accept_h0"] < 0.115


@pytest.mark.slow
def test_the_test_stops_after_about_the_expected_number_of_deals() -> None:
    _, values, weights, _, elo1 = CASES["different agents"]
    chances = tilted(values, weights, elo_to_share(elo1))
    variance = float(chances @ values**2 - (chances @ values) ** 2)
    expected = SequentialTest(0.0, 20.0).expected_deals(variance)
    assert decide("different agents", 20.0, runs=1500, seed=9)[1] == pytest.approx(expected, rel=0.15)
