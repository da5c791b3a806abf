"""Tests of cross tables, Bradley–Terry and Plackett–Luce ratings, Nash averaging and live ratings."""

import json
from collections.abc import Callable
from typing import Any

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_training.cross_table import cross_table, meetings_from_ranks
from phase10_training.live_ratings import LiveRatings
from phase10_training.nash import cyclic_share, log_odds_error, log_odds_matrix, nash_average
from phase10_training.ratings import Ratings, bradley_terry, plackett_luce
from phase10_training.statistics import (
    ELO_PER_NAT,
    FloatArray,
    IntArray,
    ResultsError,
    clustered_estimate,
    elo_to_share,
)

Meetings = tuple[IntArray, IntArray, IntArray, FloatArray]


def names(count: int) -> list[str]:
    return [f"agent {number}" for number in range(count)]


def round_robin(rng: np.random.Generator, elo: FloatArray, deals: int, luck: float = 0.0) -> Meetings:
    """Play two games a deal and pair; `luck` is the part of the deals that the first agent just wins."""
    deal, first, second = (
        part.ravel()
        for part in np.meshgrid(np.arange(deals), np.arange(elo.size), np.arange(elo.size), indexing="ij")
    )
    deal, first, second = deal[first < second], first[first < second], second[first < second]
    chance = np.array([elo_to_share(gap) for gap in (elo[first] - elo[second])])
    games = (rng.random((2, deal.size)) < chance).astype(np.float64)
    games[1] = np.where(rng.random(deal.size) < luck, games[0], games[1])
    return deal, first, second, games.mean(axis=0)


def rankings(rng: np.random.Generator, elo: FloatArray, games: int, seats: int) -> tuple[IntArray, IntArray]:
    """Rank random line-ups: the order of Gumbel variables is distributed as Plackett–Luce says."""
    line_up = np.stack([rng.permutation(elo.size)[:seats] for _ in range(games)])
    value = elo[line_up] / ELO_PER_NAT + rng.gumbel(size=line_up.shape)
    return line_up, (-value).argsort(axis=1).argsort(axis=1) + 1


# ---------------------------------------------------------------- cross table


def test_each_cell_is_the_clustered_estimate_of_its_pair() -> None:
    deal, first, second, share = round_robin(np.random.default_rng(0), np.array([0.0, 50.0, 200.0]), 80)
    table = cross_table(names(3), deal, first, second, share)
    pair = (first == 0) & (second == 2)
    assert table.estimate("agent 0", "agent 2") == clustered_estimate(share[pair], deal[pair])
    assert table.mean[2, 0] == pytest.approx(1.0 - table.mean[0, 2])
    assert table.superiority[2, 0] > 0.999
    assert table.deals.tolist() == [[0, 80, 80], [80, 0, 80], [80, 80, 0]]


def test_pairs_that_did_not_meet_are_gaps() -> None:
    table = cross_table(names(3), [1, 2], [0, 0], [1, 1], [1.0, 0.0])
    assert table.estimate("agent 0", "agent 2") is None
    assert np.isnan(table.mean[0, 2])
    assert table.deals[2, 0] == 0


def test_a_field_of_copies_is_not_mirrored_and_has_its_own_par() -> None:
    table = cross_table(names(2), np.arange(40), [0] * 40, [1] * 40, [0.25, 0.3] * 20, mirror=False, par=0.25)
    assert table.deals.tolist() == [[0, 40], [0, 0]]
    assert table.superiority[0, 1] > 0.99


def test_games_of_many_seats_become_meetings_of_different_agents() -> None:
    deal, agent, opponent, share = meetings_from_ranks(
        ["x", "y"], [[0, 1, 1], [2, 0, -1]], [[1, 2, 3], [1, 1, 9]]
    )
    rows = sorted(zip(deal.tolist(), agent.tolist(), opponent.tolist(), share.tolist(), strict=True))
    assert rows == [(0, 0, 1, 1.0), (0, 0, 1, 1.0), (1, 2, 0, 0.5)]


# ---------------------------------------------------------------- maximum likelihood


def test_two_agents_are_as_far_apart_as_their_share_says() -> None:
    share = np.random.default_rng(1).random(50)
    ratings = bradley_terry(names(2), np.arange(50), [0] * 50, [1] * 50, share)
    assert elo_to_share(float(ratings.elo[0] - ratings.elo[1])) == pytest.approx(share.mean())
    assert ratings.warning is None


def test_bradley_terry_agrees_with_an_independent_program() -> None:
    deal, first, second, share = round_robin(np.random.default_rng(2), np.linspace(0.0, 300.0, 5), 40)
    wins: list[tuple[int, int]] = []
    for one, two, value in zip(first.tolist(), second.tolist(), share.tolist(), strict=True):
        wins += [(one, two)] * round(2 * value) + [(two, one)] * round(2 * (1.0 - value))
    expected = np.asarray(choix.ilsr_pairwise(5, wins)) * ELO_PER_NAT
    ratings = bradley_terry(names(5), deal, first, second, share, resamples=2)
    assert ratings.elo == pytest.approx(expected - expected.mean(), abs=1e-3)


def test_plackett_luce_agrees_with_an_independent_program() -> None:
    line_up, ranks = rankings(np.random.default_rng(3), np.linspace(0.0, 300.0, 6), 200, 4)
    orders = [tuple(row[np.argsort(rank)]) for row, rank in zip(line_up, ranks, strict=True)]
    expected = np.asarray(choix.ilsr_rankings(6, orders)) * ELO_PER_NAT
    ratings = plackett_luce(names(6), np.arange(200), line_up, ranks, resamples=2)
    assert ratings.elo == pytest.approx(expected - expected.mean(), abs=1e-3)


def test_a_table_of_two_with_ties_rates_as_bradley_terry_with_half_wins() -> None:
    rng = np.random.default_rng(4)
    line_up = np.stack([rng.permutation(4)[:2] for _ in range(120)])
    ranks = rng.choice([[1, 2], [2, 1], [1, 1]], size=120)
    share = 0.5 + 0.5 * np.sign(ranks[:, 1] - ranks[:, 0])
    one = plackett_luce(names(4), np.arange(120), line_up, ranks, resamples=50)
    other = bradley_terry(names(4), np.arange(120), line_up[:, 0], line_up[:, 1], share, resamples=50)
    assert one.elo == pytest.approx(other.elo, abs=1e-6)
    assert one.low == pytest.approx(other.low, abs=1e-6)


def test_a_tie_counts_as_the_average_over_its_orders() -> None:
    base = [([0, 1, 2], [1, 2, 3]), ([2, 0, 1], [1, 2, 3]), ([1, 2, 0], [1, 2, 3]), ([0, 2, 1], [1, 2, 3])]
    line_up, ranks = (np.array(part) for part in zip(*base, strict=True))
    tied = plackett_luce(
        names(3), np.arange(5), np.vstack([line_up, [0, 1, 2]]), np.vstack([ranks, [1, 1, 2]]), resamples=2
    )
    # Twice the base games and each order of the tie once is the same likelihood, squared.
    both = plackett_luce(
        names(3),
        np.arange(10),
        np.vstack([line_up, line_up, [0, 1, 2], [1, 0, 2]]),
        np.vstack([ranks, ranks, [1, 2, 3], [1, 2, 3]]),
        resamples=2,
    )
    assert tied.elo == pytest.approx(both.elo, abs=1e-6)


def test_a_game_in_which_all_tie_says_that_all_are_equal() -> None:
    ratings = plackett_luce(names(4), [0], [[0, 1, 2, 3]], [[1, 1, 1, 1]], resamples=2)
    assert ratings.elo == pytest.approx(np.zeros(4), abs=1e-6)


def test_the_place_in_the_line_up_does_not_matter() -> None:
    line_up, ranks = rankings(np.random.default_rng(5), np.linspace(0.0, 200.0, 5), 60, 3)
    one = plackett_luce(names(5), np.arange(60), line_up, ranks, resamples=20)
    other = plackett_luce(names(5), np.arange(60), line_up[:, ::-1], ranks[:, ::-1], resamples=20)
    assert one.elo == pytest.approx(other.elo, abs=1e-6)
    assert one.high == pytest.approx(other.high, abs=1e-6)


def test_empty_seats_and_small_tables_may_be_mixed_with_large_ones() -> None:
    ratings = plackett_luce(
        names(3),
        [0, 1, 2],
        [[0, 1, 2], [1, 0, -1], [2, 0, -1]],
        [[1, 2, 3], [1, 2, 0], [1, 2, 0]],
        resamples=20,
    )
    without = plackett_luce(
        names(3),
        [0, 1, 2],
        [[0, 1, 2], [-1, 1, 0], [0, 2, -1]],
        [[1, 2, 3], [9, 1, 2], [2, 1, 5]],
        resamples=20,
    )
    assert ratings.elo == pytest.approx(without.elo, abs=1e-6)


def test_one_agent_against_copies_is_rated_by_its_win_share_of_first_places() -> None:
    # Of four seats with three copies, a share of 0.25 is par.
    line_up = np.tile([0, 1, 1, 1], (40, 1))
    ranks = np.array([[1, 2, 3, 4]] * 10 + [[2, 1, 3, 4]] * 10 + [[3, 1, 2, 4]] * 10 + [[4, 1, 2, 3]] * 10)
    ratings = plackett_luce(names(2), np.arange(40), line_up, ranks, resamples=2)
    assert ratings.elo == pytest.approx(np.zeros(2), abs=1e-6)


def test_ratings_have_mean_zero_and_rows_are_sorted() -> None:
    deal, first, second, share = round_robin(np.random.default_rng(6), np.array([0.0, 300.0, 100.0]), 50)
    ratings = bradley_terry(names(3), deal, first, second, share, resamples=100)
    assert ratings.elo.mean() == pytest.approx(0.0, abs=1e-9)
    assert [row["agent"] for row in ratings.rows()] == ["agent 1", "agent 2", "agent 0"]
    assert [row["rank"] for row in ratings.rows()] == [1, 2, 3]
    assert (ratings.low < ratings.elo).all()
    assert (ratings.elo < ratings.high).all()
    assert ratings.superiority[1, 0] > 0.99
    json.dumps(ratings.rows())


def test_the_same_seed_gives_the_same_intervals() -> None:
    meetings = round_robin(np.random.default_rng(7), np.array([0.0, 50.0]), 30)
    one, same, other = (bradley_terry(names(2), *meetings, resamples=50, seed=seed) for seed in (1, 1, 2))
    assert one.low.tolist() == same.low.tolist()
    assert one.low.tolist() != other.low.tolist()


def test_repeating_the_games_of_each_deal_does_not_narrow_the_intervals() -> None:
    meetings = round_robin(np.random.default_rng(8), np.array([0.0, 50.0, 90.0]), 40)
    once = bradley_terry(names(3), *meetings, resamples=50)
    deal, first, second, share = (np.tile(column, 5) for column in meetings)
    often = bradley_terry(names(3), deal, first, second, share, resamples=50)
    assert often.low == pytest.approx(once.low, abs=1e-6)


def test_an_agent_that_wins_everything_gets_a_finite_rating_a_wide_interval_and_a_warning() -> None:
    deal = np.repeat(np.arange(64), 3)
    ratings = bradley_terry(names(3), deal, [0, 0, 1] * 64, [1, 2, 2] * 64, [1.0, 1.0, 0.5] * 64)
    assert ratings.warning is not None
    assert ratings.warning.startswith("agent 0 never came behind agent 1, agent 2")
    gap = ratings.elo[0] - ratings.elo[1]
    # Half a deal lost of 64.5.
    assert elo_to_share(float(gap)) == pytest.approx(64.0 / 64.5, abs=1e-3)
    assert ratings.high[0] - ratings.low[0] > 300.0
    assert ratings.superiority[0, 1] == 1.0


def test_two_deals_won_by_one_agent_are_no_proof_of_infinity() -> None:
    ratings = bradley_terry(names(2), [0, 1], [0, 0], [1, 1], [1.0, 1.0])
    assert np.isfinite([ratings.elo, ratings.low, ratings.high]).all()
    assert 0.0 < ratings.elo[0] < 300.0


def test_a_chain_of_agents_that_each_beat_the_next_is_rated_in_order() -> None:
    ratings = bradley_terry(names(4), [0, 1, 2], [0, 1, 2], [1, 2, 3], [1.0, 1.0, 1.0], resamples=20)
    assert (np.diff(ratings.elo) < 0.0).all()


def test_the_winner_of_every_ranking_gets_a_finite_rating_too() -> None:
    line_up = np.tile([0, 1, 2], (30, 1))
    ranks = np.array([[1, 2, 3], [1, 3, 2]] * 15)
    ratings = plackett_luce(names(3), np.arange(30), line_up, ranks, resamples=50)
    assert ratings.warning is not None
    assert 300.0 < ratings.elo[0] < 1500.0
    assert ratings.elo[1] == pytest.approx(ratings.elo[2], abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 12))
def test_any_connected_results_can_be_rated(seed: int, agents: int, deals: int) -> None:
    rng = np.random.default_rng(seed)
    deal, first, second, _ = round_robin(rng, np.zeros(agents), deals)
    share = rng.choice([0.0, 0.5, 1.0], size=deal.size, p=[0.6, 0.1, 0.3])
    ratings = bradley_terry(names(agents), deal, first, second, share, resamples=5)
    assert np.isfinite([ratings.elo, ratings.low, ratings.high]).all()
    mirrored = bradley_terry(names(agents), deal, second, first, 1.0 - share, resamples=5)
    assert mirrored.elo == pytest.approx(ratings.elo, abs=1e-4)


def check_recovery(rate: Callable[[np.random.Generator, FloatArray], Ratings], seed: int) -> None:
    true = np.linspace(-250.0, 250.0, 8)
    ratings = rate(np.random.default_rng(seed), true)
    error = (ratings.high - ratings.low) / (2.0 * 1.96)
    assert np.abs((ratings.elo - true) / error).max() < 3.5
    assert np.abs(ratings.elo - true).max() < 50.0


def test_known_strengths_are_recovered_from_pairs() -> None:
    def rate(rng: np.random.Generator, true: FloatArray) -> Ratings:
        return bradley_terry(names(8), *round_robin(rng, true, 200), resamples=200)

    check_recovery(rate, 9)


def test_known_strengths_are_recovered_from_rankings() -> None:
    def rate(rng: np.random.Generator, true: FloatArray) -> Ratings:
        line_up, ranks = rankings(rng, true, 2000, 4)
        return plackett_luce(names(8), np.arange(2000), line_up, ranks, resamples=200)

    check_recovery(rate, 10)


@pytest.mark.slow
@pytest.mark.parametrize("luck", [0.0, 0.8])
def test_intervals_of_pairwise_ratings_cover_the_truth_95_times_in_100(luck: float) -> None:
    true = np.array([-150.0, -50.0, 0.0, 200.0])
    rng = np.random.default_rng(11)
    inside = []
    for _ in range(400):
        ratings = bradley_terry(names(4), *round_robin(rng, true, 100, luck), resamples=300)
        inside.append((ratings.low <= true) & (true <= ratings.high))
    assert 0.925 < np.mean(inside) < 0.97


@pytest.mark.slow
def test_intervals_of_ranking_ratings_cover_the_truth_95_times_in_100() -> None:
    true = np.array([-150.0, -50.0, 0.0, 50.0, 150.0])
    rng = np.random.default_rng(12)
    inside = []
    for _ in range(300):
        line_up, ranks = rankings(rng, true, 60, 4)
        # The games of a deal are copies of each other here: the worst dependence there is.
        deal = np.repeat(np.arange(60), 3)
        ratings = plackett_luce(
            names(5), deal, np.repeat(line_up, 3, axis=0), np.repeat(ranks, 3, axis=0), resamples=300
        )
        inside.append((ratings.low <= true) & (true <= ratings.high))
    assert 0.92 < np.mean(inside) < 0.975


@pytest.mark.slow
def test_twenty_agents_with_a_thousand_resamples_are_rated() -> None:
    true = np.linspace(-300.0, 300.0, 20)
    rng = np.random.default_rng(13)
    pairs = bradley_terry(names(20), *round_robin(rng, true, 100))
    line_up, ranks = rankings(rng, true, 4000, 4)
    ranked = plackett_luce(names(20), np.arange(4000) // 4, line_up, ranks)
    for ratings in (pairs, ranked):
        assert np.corrcoef(ratings.elo, true)[0, 1] > 0.99
        assert np.mean((ratings.low <= true) & (true <= ratings.high)) >= 0.8


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bradley_terry(["a", "a"], [0], [0], [1], [1.0]), "two different agent names"),
        (lambda: bradley_terry(["a", "b"], [0], [0], [1], [1.5]), "shares from 0 to 1"),
        (lambda: bradley_terry(["a", "b"], [0], [0], [2], [1.0]), "indices from 0 to 1, found 0 to 2"),
        (lambda: bradley_terry(["a", "b"], [0], [1], [1], [1.0]), "two different agents in a meeting"),
        (lambda: bradley_terry(["a", "b"], [0, 1], [0], [1], [1.0]), "four columns of one length"),
        (lambda: bradley_terry(["a", "b"], [], [], [], []), "at least one meeting, found none"),
        (lambda: bradley_terry(["a", "b"], [0], [0.0], [1.0], [1.0]), "values of type float64"),
        (lambda: bradley_terry("abcd", [0, 1], [0, 2], [1, 3], [1.0, 0.5]), "[['a', 'b'], ['c', 'd']]"),
        (lambda: bradley_terry("ab", [0], [0], [1], [0.5], resamples=1), "at least 2 resamples"),
        (lambda: plackett_luce("ab", [0], [[0, 1]], [[1, 2, 3]]), "ranks[games, seats]"),
        (lambda: plackett_luce("ab", [0], [[0, 1]], [[1, np.nan]]), "a finite rank at every seat"),
        (lambda: plackett_luce("ab", [0], [[0, -1]], [[1, 2]]), "only single ones"),
        (lambda: cross_table("ab", [0], [0], [1], [-0.5]), "shares from 0 to 1"),
        (lambda: nash_average("ab", [[0.0, 1.0], [1.0, 0.0]]), "an antisymmetric matrix"),
        (lambda: nash_average("ab", [[0.0, np.nan], [np.nan, 0.0]]), "full round-robin"),
        (lambda: nash_average("ab", [[0, 1], [-1, 0]], [[0.0, np.nan], [1.0, 0.0]]), "full round-robin"),
        (lambda: log_odds_matrix([[0.5, 0.6]], 10), "square table"),
        (lambda: log_odds_matrix([[0.5, np.nan], [0.4, 0.5]], 10), "a result for every pair"),
        (lambda: LiveRatings().update(["a", "a"], [1, 2]), "two different agents"),
        (lambda: LiveRatings().update(["a", "b"], [1]), "a rank a seat"),
    ],
)
def test_results_that_cannot_be_rated_are_refused_in_one_sentence(
    call: Callable[[], Any], words: str
) -> None:
    with pytest.raises(ResultsError) as caught:
        call()
    assert words in str(caught.value)


# ---------------------------------------------------------------- Nash averaging


def test_rock_paper_scissors_is_mixed_evenly_and_wholly_cyclic() -> None:
    result = nash_average(["rock", "paper", "scissors"], [[0, -2, 2], [2, 0, -2], [-2, 2, 0]])
    assert result.weights == pytest.approx(np.full(3, 1.0 / 3.0), abs=1e-6)
    assert result.cyclic_share == pytest.approx(1.0)
    assert result.warning is not None
    assert "mixes 3 agents" in result.warning
    assert "100 % of the log odds are cyclic" in result.warning


def test_a_ladder_is_led_by_one_agent_and_gives_no_warning() -> None:
    strength = np.array([0.3, 1.2, -0.5, 0.1])
    result = nash_average(names(4), strength[:, None] - strength[None, :])
    assert result.weights == pytest.approx([0.0, 1.0, 0.0, 0.0], abs=1e-9)
    assert result.skill == pytest.approx(strength - 1.2, abs=1e-9)
    assert result.cyclic_share == pytest.approx(0.0, abs=1e-12)
    assert result.warning is None


def test_copies_share_the_weight_of_the_original() -> None:
    unequal = np.array([[0.0, -1.0, 3.0], [1.0, 0.0, -2.0], [-3.0, 2.0, 0.0]])
    alone = nash_average(names(3), unequal)
    # Agents 0 and 3 are copies.
    order = [0, 1, 2, 0]
    copied = nash_average(names(4), unequal[np.ix_(order, order)])
    assert alone.weights == pytest.approx(np.array([2.0, 3.0, 1.0]) / 6.0, abs=1e-6)
    assert copied.weights == pytest.approx([1 / 6, 1 / 2, 1 / 6, 1 / 6], abs=1e-5)


def test_an_agent_that_loses_to_the_whole_circle_has_no_weight() -> None:
    circle = np.array([[0, -1, 1, 2], [1, 0, -1, 2], [-1, 1, 0, 2], [-2, -2, -2, 0]])
    result = nash_average(names(4), circle)
    assert result.weights == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0], abs=1e-6)
    assert result.skill[3] == pytest.approx(-2.0, abs=1e-5)


def test_equal_agents_are_mixed_evenly() -> None:
    result = nash_average(names(5), np.zeros((5, 5)))
    assert result.weights == pytest.approx(np.full(5, 0.2))
    assert result.cyclic_share == 0.0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12))
def test_no_agent_beats_the_nash_average(seed: int, agents: int) -> None:
    raw = np.random.default_rng(seed).normal(size=(agents, agents))
    result = nash_average(names(agents), raw - raw.T)
    assert result.weights.sum() == pytest.approx(1.0)
    assert result.weights.min() >= 0.0
    assert result.skill.max() < 1e-4


@given(st.integers(0, 10_000))
def test_the_cyclic_share_ignores_scale_and_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=(5, 5))
    matrix = raw - raw.T
    order = rng.permutation(5)
    share = cyclic_share(matrix)
    assert 0.0 <= share <= 1.0
    assert cyclic_share(3.0 * matrix[np.ix_(order, order)]) == pytest.approx(share)


def test_chance_alone_is_said_to_make_nearly_equal_agents_look_cyclic() -> None:
    rng = np.random.default_rng(14)
    shares = []
    for _ in range(80):
        noise = np.triu(rng.normal(scale=0.1, size=(8, 8)), 1)
        result = nash_average(names(8), noise - noise.T, np.full((8, 8), 0.1))
        assert result.chance_share is not None
        assert result.warning is not None
        assert "chance alone: about" in result.warning
        shares.append((result.cyclic_share, result.chance_share))
    found, chance = np.mean(shares, axis=0)
    assert chance == pytest.approx(found, rel=0.08)


def test_log_odds_of_a_won_match_are_finite_and_antisymmetric() -> None:
    matrix = log_odds_matrix([[np.nan, 1.0], [0.0, np.nan]], [[0, 64], [64, 0]])
    assert matrix[0, 1] == pytest.approx(np.log(64.5 / 0.5))
    assert (matrix == -matrix.T).all()


def test_a_cross_table_leads_to_a_nash_average_with_what_chance_alone_would_give() -> None:
    deal, first, second, share = round_robin(np.random.default_rng(16), np.array([0.0, 0.0, 10.0, 900.0]), 60)
    share[(first == 0) & (second == 3)] = 0.0
    table = cross_table(names(4), deal, first, second, share)
    odds = log_odds_matrix(table.mean, table.deals)
    error = log_odds_error(table.mean, table.standard_error, table.deals)
    assert error[0, 3] == pytest.approx(np.sqrt(60 / (0.5 * 60.5)), rel=0.02)
    result = nash_average(table.agents, odds, error)
    assert result.weights[3] == pytest.approx(1.0)
    assert result.chance_share is not None
    assert 0.0 < result.chance_share < 0.5


def test_the_error_of_log_odds_is_what_repeated_matches_show() -> None:
    rng = np.random.default_rng(17)
    odds, errors = [], []
    for _ in range(500):
        games = rng.random(200) < 0.7
        share = np.array([[0.5, games.mean()], [1.0 - games.mean(), 0.5]])
        odds.append(log_odds_matrix(share, 200)[0, 1])
        errors.append(log_odds_error(share, np.full((2, 2), games.std() / np.sqrt(200)), 200)[0, 1])
    assert np.mean(errors) == pytest.approx(np.std(odds), rel=0.1)


# ---------------------------------------------------------------- live ratings


def test_the_winner_rises_and_the_loser_falls() -> None:
    live = LiveRatings()
    live.update(["a", "b"], [1, 2])
    assert live["a"].mu > live["new"].mu > live["b"].mu
    assert live["a"].sigma < live["new"].sigma
    assert live["a"].ordinal == pytest.approx(live["a"].mu - 3.0 * live["a"].sigma)
    assert len(live) == 2


def test_equal_ranks_leave_equal_agents_equal() -> None:
    live = LiveRatings()
    live.update(["a", "b"], [1, 1])
    assert live["a"].mu == pytest.approx(live["b"].mu)


def test_copies_at_one_table_move_their_agent_once_a_game() -> None:
    live = LiveRatings()
    live.update(["a", "b", "b", "b"], [1, 2, 3, 4])
    assert (live["a"].games, live["b"].games) == (1, 1)
    assert live["a"].mu > 25.0 > live["b"].mu


def test_live_ratings_find_the_order_of_known_strengths() -> None:
    true = np.array([-300.0, -100.0, 100.0, 300.0])
    line_up, ranks = rankings(np.random.default_rng(15), true, 400, 3)
    live = LiveRatings()
    for seats, places in zip(line_up.tolist(), ranks.tolist(), strict=True):
        live.update([f"agent {seat}" for seat in seats], places)
    assert [row["agent"] for row in live.rows()] == ["agent 3", "agent 2", "agent 1", "agent 0"]


def test_live_ratings_survive_json() -> None:
    live = LiveRatings()
    live.update(["a", "b", "c"], [2, 1, 3])
    again = LiveRatings.from_dict(json.loads(json.dumps(live.to_dict())))
    for pool in (live, again):
        pool.update(["a", "c"], [1, 2])
    assert again.to_dict() == live.to_dict()
