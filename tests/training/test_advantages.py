"""Credit assignment against a slow model that plays rollouts forwards, with an open decision per seat."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_training.advantages import (
    NO_SEAT,
    AdvantageSettings,
    BufferShapeError,
    Credit,
    assign_credit,
    horizon_values,
)


@dataclasses.dataclass
class Rollout:
    """Random interleavings of seats: several decisions in a row, silent seats, ends anywhere."""

    seats: npt.NDArray[np.int8]
    values: npt.NDArray[np.float32]
    rewards: npt.NDArray[np.float32]
    ends: npt.NDArray[np.bool_]
    end_values: npt.NDArray[np.float32]
    potentials: npt.NDArray[np.float32]

    @classmethod
    def draw(
        cls, seed: int, rows: int, games: int, players: int, *, end_share: float, empty: float
    ) -> Rollout:
        rng = np.random.default_rng(seed)
        popularity = rng.dirichlet(0.5 * np.ones(players))
        seats = rng.choice(players, (rows, games), p=popularity).astype(np.int8)
        seats[rng.random((rows, games)) < empty] = NO_SEAT
        normal = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
        return cls(
            seats=seats,
            values=normal(rows, games),
            rewards=normal(rows, games, players),
            ends=rng.random((rows, games)) < end_share,
            end_values=normal(rows, games, players),
            potentials=normal(rows, games),
        )

    def credit(self, options: AdvantageSettings, **extra: npt.NDArray[np.float32]) -> Credit:
        return assign_credit(self.seats, self.values, self.rewards, self.ends, options, **extra)

    def part(self, first: int, last: int) -> Rollout:
        return Rollout(**{f.name: getattr(self, f.name)[first:last] for f in dataclasses.fields(self)})


@dataclasses.dataclass
class Decision:
    """One decision of one seat, open until something closes it."""

    row: int
    value: float
    potential: float
    reward: float = 0.0
    after: float | None = None  # worth of the point that closed it
    next: Decision | None = None

    def advantage(self, options: AdvantageSettings) -> float | None:
        if self.after is None:
            return None
        later = self.next.advantage(options) if self.next is not None else None
        error = self.reward + options.gamma * self.after - self.value - self.potential
        return error + options.gamma * options.gae_lambda * (later or 0.0)


def played_forwards(
    rollout: Rollout,
    game: int,
    horizon: npt.NDArray[np.float32] | None,
    *,
    end_values: bool,
    potentials: bool,
) -> tuple[list[Decision], dict[int, Decision]]:
    """Return all decisions of a game, and the open ones by seat, by the words of the specification."""
    players = rollout.rewards.shape[2]
    decisions: list[Decision] = []
    open_by_seat: dict[int, Decision] = {}
    for row in range(len(rollout.seats)):
        seat = int(rollout.seats[row, game])
        if seat != NO_SEAT:
            potential = float(rollout.potentials[row, game]) if potentials else 0.0
            decision = Decision(row, float(rollout.values[row, game]), potential)
            before = open_by_seat.get(seat)
            if before is not None:
                before.after, before.next = decision.value + potential, decision
            open_by_seat[seat] = decision
            decisions.append(decision)
        for other in range(players):
            if other in open_by_seat:
                open_by_seat[other].reward += float(rollout.rewards[row, game, other])
        if rollout.ends[row, game]:
            for other, decision in open_by_seat.items():
                decision.after = float(rollout.end_values[row, game, other]) if end_values else 0.0
            open_by_seat = {}
    if horizon is not None:
        for other in list(open_by_seat):
            if not np.isnan(horizon[game, other]):
                open_by_seat.pop(other).after = float(horizon[game, other])
    return decisions, open_by_seat


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 30),
    games=st.integers(1, 4),
    players=st.integers(2, 6),
    end_share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    empty=st.sampled_from([0.0, 0.3]),
    options=st.builds(
        AdvantageSettings, gamma=st.sampled_from([1.0, 0.9]), gae_lambda=st.sampled_from([0.0, 0.95, 1.0])
    ),
    valued_ends=st.booleans(),
    shaped=st.booleans(),
    horizon_kind=st.sampled_from(["none", "all", "some"]),
)
@settings(max_examples=150, deadline=None)
def test_backward_pass_equals_play_forwards(
    seed: int,
    rows: int,
    games: int,
    players: int,
    end_share: float,
    empty: float,
    options: AdvantageSettings,
    valued_ends: bool,
    shaped: bool,
    horizon_kind: str,
) -> None:
    rollout = Rollout.draw(seed, rows, games, players, end_share=end_share, empty=empty)
    horizon = None
    extra: dict[str, npt.NDArray[np.float32]] = {}
    if horizon_kind != "none":
        rng = np.random.default_rng(seed + 1)
        horizon = rng.standard_normal((games, players)).astype(np.float32)
        if horizon_kind == "some":
            horizon[rng.random(horizon.shape) < 0.5] = np.nan
        extra["horizon"] = horizon
    if valued_ends:
        extra["end_values"] = rollout.end_values
    if shaped:
        extra["potentials"] = rollout.potentials
    credit = rollout.credit(options, **extra)

    for b in range(games):
        decisions, still_open = played_forwards(
            rollout, b, horizon, end_values=valued_ends, potentials=shaped
        )
        expected_closed = np.zeros(rows, bool)
        for decision in decisions:
            advantage = decision.advantage(options)
            if advantage is not None:
                expected_closed[decision.row] = True
                assert credit.advantages[decision.row, b] == pytest.approx(advantage, rel=1e-4, abs=1e-4)
                expected_return = advantage + decision.value
                assert credit.returns[decision.row, b] == pytest.approx(expected_return, rel=1e-4, abs=1e-4)
        assert (credit.closed[:, b] == expected_closed).all()
        for p in range(players):
            assert credit.open_rows[b, p] == (still_open[p].row if p in still_open else -1)
            reward = still_open[p].reward if p in still_open else 0.0
            assert credit.pending[b, p] == pytest.approx(reward, rel=1e-4, abs=1e-4)
    assert not credit.advantages[~credit.closed].any()


def carried(before: Rollout, credit: Credit, after: Rollout) -> Rollout:
    """Return `after` with the open decisions of `before` as its first P rows."""
    games, players = credit.open_rows.shape
    head = Rollout.draw(0, players, games, players, end_share=0.0, empty=1.0)
    for field in ("values", "rewards", "end_values", "potentials"):
        getattr(head, field)[:] = 0.0
    for b in range(games):
        for p in range(players):
            row = credit.open_rows[b, p]
            if row >= 0:
                head.seats[p, b] = p
                head.values[p, b] = before.values[row, b]
                head.rewards[p, b, p] = credit.pending[b, p]
    joined = {
        f.name: np.concatenate([getattr(head, f.name), getattr(after, f.name)])
        for f in dataclasses.fields(head)
    }
    return Rollout(**joined)


@given(
    seed=st.integers(0, 2**32 - 1),
    cuts=st.lists(st.integers(1, 39), max_size=4, unique=True),
    players=st.integers(2, 4),
)
@settings(max_examples=60, deadline=None)
def test_carrying_open_decisions_over_a_horizon_loses_nothing(
    seed: int, cuts: list[int], players: int
) -> None:
    whole = Rollout.draw(seed, 40, 3, players, end_share=0.08, empty=0.1)
    options = AdvantageSettings(gae_lambda=0.0)  # one-step returns do not depend on where a rollout is cut
    expected = whole.credit(options)
    found = []
    previous: tuple[Rollout, Credit] | None = None
    for first, last in zip([0, *sorted(cuts)], [*sorted(cuts), 40], strict=True):
        piece = whole.part(first, last)
        if previous is not None:
            piece = carried(*previous, piece)
        credit = piece.credit(options)
        found += [(b, round(float(r), 3)) for b in range(3) for r in credit.returns[credit.closed[:, b], b]]
        previous = piece, credit
    wanted = [(b, round(float(r), 3)) for b in range(3) for r in expected.returns[expected.closed[:, b], b]]
    for (b, one), (c, other) in zip(sorted(found), sorted(wanted), strict=True):
        assert b == c
        assert one == pytest.approx(other, abs=2e-3)


def table(*lines: tuple[int, tuple[float, ...], bool]) -> tuple[npt.NDArray[np.int8], ...]:
    """Build seats, rewards and ends of one game from (seat, rewards, ends) lines."""
    seats = np.array([[line[0]] for line in lines], np.int8)
    rewards = np.array([[line[1]] for line in lines], np.float32)
    ends = np.array([[line[2]] for line in lines])
    return seats, np.zeros(seats.shape, np.float32), rewards, ends


MONTE_CARLO = AdvantageSettings(gae_lambda=1.0)


def test_a_seat_that_did_not_move_last_gets_its_terminal_reward() -> None:
    credit = assign_credit(
        *table((0, (0, 0, 0), False), (1, (0, 0, 0), False), (2, (-1, -1, 2), True)), MONTE_CARLO
    )
    assert credit.returns[:, 0].tolist() == [-1, -1, 2]
    assert credit.closed.all()


def test_several_decisions_in_a_row_share_the_reward_behind_them() -> None:
    lines = [(0, (1, 0), False), (0, (2, 0), False), (1, (4, 0), False), (0, (8, 5), True)]
    credit = assign_credit(*table(*lines), MONTE_CARLO)
    assert credit.returns[:, 0].tolist() == [15, 14, 5, 8]


def test_a_seat_that_never_decides_leaves_its_reward_behind() -> None:
    lines = [(0, (0, 9), False), (0, (1, 7), True), (1, (0, 3), False), (0, (0, 0), True)]
    credit = assign_credit(*table(*lines), MONTE_CARLO)
    assert credit.returns[:, 0].tolist() == [1, 1, 3, 0]


def test_nothing_crosses_from_one_episode_to_the_next() -> None:
    lines = [(0, (0, 0), False), (1, (1, -1), True), (1, (0, 0), False), (0, (100, -100), True)]
    credit = assign_credit(*table(*lines), MONTE_CARLO)
    assert credit.returns[:, 0].tolist() == [1, -1, -100, 100]


def test_a_decision_open_at_the_horizon_waits_with_its_pending_reward() -> None:
    credit = assign_credit(*table((0, (0, 0), False), (1, (3, 0), False)), MONTE_CARLO)
    assert not credit.closed.any()
    assert credit.open_rows.tolist() == [[0, 1]]
    assert credit.pending.tolist() == [[3, 0]]


def test_a_carried_decision_can_stay_open_for_several_rollouts() -> None:
    lines = [(0, (2, 0), False), (NO_SEAT, (0, 0), False), (1, (1, 0), False), (1, (4, 0), False)]
    credit = assign_credit(*table(*lines), MONTE_CARLO)
    assert credit.open_rows.tolist() == [[0, 3]]
    assert credit.pending.tolist() == [[7, 0]]


def test_shaping_leaves_the_sum_over_an_episode_unchanged() -> None:
    lines = [(0, (0, 0), False), (0, (0, 0), False), (0, (1, 0), True)]
    potentials = np.array([[0.5], [-2.0], [4.0]], np.float32)
    credit = assign_credit(*table(*lines), MONTE_CARLO, potentials=potentials)
    assert credit.returns[:, 0].tolist() == [1 - 0.5, 1 + 2.0, 1 - 4.0]


def test_horizon_values_sum_to_zero() -> None:
    values = np.array([0.6, -0.4], np.float32)
    found = horizon_values(values, np.array([2, 0], np.int8), 4)
    np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-6)
    assert found[0, 2] == values[0]
    assert found[1, 0] == values[1]


def test_arrays_that_do_not_fit_are_refused() -> None:
    seats, values, rewards, ends = table((0, (0, 0), False))
    with pytest.raises(BufferShapeError, match=r"expected values of shape \(1, 1\), found \(2, 1\)"):
        assign_credit(seats, np.zeros((2, 1), np.float32), rewards, ends, MONTE_CARLO)
    with pytest.raises(BufferShapeError, match=r"expected seats in 0\.\.1 or -1, found 5\.\.5"):
        assign_credit(seats + np.int8(5), values, rewards, ends, MONTE_CARLO)
