"""Credit by (game, seat): which reward closes which decision, and advantages along each seat's stream.

Shapes: T rows of decisions (one per game and row), B games, P seats. Rewards are in the unit of the caller;
gamma counts a seat's own decisions, not the decisions of the whole table.
"""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import numpy.typing as npt

from phase10_env.rules.kernel import kernel

__all__ = [
    "NO_SEAT",
    "AdvantageSettings",
    "BufferShapeError",
    "Credit",
    "assign_credit",
    "horizon_values",
]

_Float = npt.NDArray[np.float32]

NO_SEAT = -1
"""Stands in `seats` where a row holds no decision."""


class BufferShapeError(ValueError):
    """The arrays of a rollout do not fit together."""


class AdvantageSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the two constants of generalised advantage estimation.

    Attributes:
        gamma: discount per own decision (1 where an episode is a round).
        gae_lambda: 0 trusts the value of the next own decision, 1 the rewards alone.

    >>> AdvantageSettings().gae_lambda
    0.95
    """

    gamma: float = 1.0
    gae_lambda: float = 0.95


@dataclasses.dataclass(frozen=True, slots=True)
class Credit:
    """Hold what a rollout's decisions earned.

    Attributes:
        advantages: float32[T, B], zero where not closed.
        returns: float32[T, B], targets of the value: advantage + value.
        closed: bool[T, B], decisions whose outcome is known and that can be learned from.
        open_rows: int32[B, P], the row of each seat's open decision, -1 where it has none. It goes on as one
            of the first rows of the next rollout (see `assign_credit`).
        pending: float32[B, P], reward piled up for that open decision so far.
    """

    advantages: _Float
    returns: _Float
    closed: npt.NDArray[np.bool_]
    open_rows: npt.NDArray[np.int32]
    pending: _Float


@kernel
def _credit(
    seats: npt.NDArray[np.int8],
    values: _Float,
    potentials: _Float,
    rewards: _Float,
    ends: npt.NDArray[np.bool_],
    end_values: _Float,
    horizon: _Float,
    gamma: float,
    gae_lambda: float,
    advantages: _Float,
    returns: _Float,
    closed: npt.NDArray[np.bool_],
    open_rows: npt.NDArray[np.int32],
    earned: _Float,
    next_value: _Float,
    next_advantage: _Float,
    pending: _Float,
) -> None:
    """Walk each game backwards; the last four arrays [B, P] hold what lies after the current row, by seat.

    `earned` is the reward between here and the seat's next own decision (or the end), `next_value` what that
    point is worth: NaN as long as nothing closes the seat's decision. Empty potentials, end_values are zero.
    """
    rows, games = seats.shape
    players = rewards.shape[2]
    shaped = potentials.shape[0] > 0
    valued_ends = end_values.shape[0] > 0
    for b in range(games):
        for p in range(players):
            earned[b, p] = 0.0
            next_advantage[b, p] = 0.0
            next_value[b, p] = horizon[b, p]
            open_rows[b, p] = -1
            pending[b, p] = 0.0
    for t in range(rows - 1, -1, -1):
        for b in range(games):
            if ends[t, b]:
                for p in range(players):
                    earned[b, p] = 0.0
                    next_advantage[b, p] = 0.0
                    next_value[b, p] = end_values[t, b, p] if valued_ends else 0.0
            for p in range(players):
                earned[b, p] += rewards[t, b, p]
            advantages[t, b] = 0.0
            returns[t, b] = 0.0
            closed[t, b] = False
            p = seats[t, b]
            if p < 0:
                continue
            value = values[t, b] + potentials[t, b] if shaped else values[t, b]
            if np.isnan(next_value[b, p]):
                open_rows[b, p] = t
                pending[b, p] = earned[b, p]
                next_advantage[b, p] = 0.0
            else:
                error = earned[b, p] + gamma * next_value[b, p] - value
                advantages[t, b] = error + gamma * gae_lambda * next_advantage[b, p]
                returns[t, b] = advantages[t, b] + values[t, b]
                closed[t, b] = True
                next_advantage[b, p] = advantages[t, b]
            next_value[b, p] = value
            earned[b, p] = 0.0


def horizon_values(mover_values: _Float, movers: npt.NDArray[np.int8], players: int) -> _Float:
    """Return the worth of the horizon for every seat: V for the mover, -V / (P - 1) for each other seat.

    The second part holds for rewards that sum to zero over the seats. Passing the result to `assign_credit`
    closes every decision at the horizon, instead of carrying the open ones over.

    Args:
        mover_values: float32[B], value of the seat on move after the last row.
        movers: int8[B], that seat.
        players: P, at least 2.

    Returns:
        float32[B, P].

    >>> horizon_values(np.array([0.5], np.float32), np.array([1], np.int8), 3).tolist()
    [[-0.25, 0.5, -0.25]]
    """
    values = np.repeat(-mover_values[:, None] / (players - 1), players, axis=1).astype(np.float32)
    values[np.arange(len(movers)), movers] = mover_values
    return values


_NO_ROWS_2D = np.zeros((0, 0), np.float32)
_NO_ROWS_3D = np.zeros((0, 0, 0), np.float32)


def assign_credit(
    seats: npt.NDArray[np.int8],
    values: _Float,
    rewards: _Float,
    ends: npt.NDArray[np.bool_],
    settings: AdvantageSettings,
    *,
    horizon: _Float | None = None,
    end_values: _Float | None = None,
    potentials: _Float | None = None,
) -> Credit:
    """Compute advantages and returns along each seat's own decisions.

    Rewards pile up for a (game, seat) until that seat decides again or the episode ends, and close its
    open decision. With d_1, d_2, ... the decisions of one seat in one episode, R_k the rewards to it from d_k
    until just before d_(k+1) (or the end), and V after an end = `end_values` or 0 (Schulman et al. 2016):

        δ_k = R_k + γ V_(k+1) − V_k        A_k = δ_k + γ λ A_(k+1)        return_k = A_k + V_k

    Every seat's last decision gets its terminal reward, whoever made the last move. Rewards to a seat before
    its first decision of an episode have no decision to go to and are dropped. A decision still open at
    the horizon has no advantage yet (A = 0 towards the decision before it): it is reported in `open_rows`
    with its `pending` reward. To carry it over, begin the next rollout's arrays with P extra rows, and put
    the decision of game b and seat p at row p: `seats[p, b] = p` (NO_SEAT where none is open), its old
    value, `rewards[p, b, p] = pending[b, p]`, all else zero. Between rollouts nothing else is remembered.

    Args:
        seats: int8[T, B], the seat that decided, or NO_SEAT.
        values: float32[T, B], its value estimate then.
        rewards: float32[T, B, P], what the step after this decision gave each seat.
        ends: bool[T, B], whether that step ended the episode (the next row belongs to a new one).
        settings: gamma and lambda.
        horizon: float32[B, P], the worth of the horizon to each seat, NaN for a seat whose decision stays
            open; None leaves all open. See `horizon_values`.
        end_values: float32[T, B, P], read where `ends`: the worth of an episode that was cut off rather than
            finished; None for zero.
        potentials: float32[T, B], Φ of the deciding seat for potential-based shaping
            γ Φ_(k+1) − Φ_k, zero after an end (Ng et al. 1999); None for no shaping.

    Raises:
        BufferShapeError: shapes that do not fit together, or a seat that is not in 0…P−1.

    >>> credit = assign_credit(
    ...     seats=np.array([[0], [1], [1]], np.int8),
    ...     values=np.zeros((3, 1), np.float32),
    ...     rewards=np.array([[[0, 0]], [[0, 0]], [[-1, 1]]], np.float32),
    ...     ends=np.array([[False], [False], [True]]),
    ...     settings=AdvantageSettings(gae_lambda=1.0),
    ... )
    >>> credit.returns[:, 0].tolist()
    [-1.0, 1.0, 1.0]
    """
    rows, games = seats.shape
    players = rewards.shape[-1]
    expected = {
        "values": (values, (rows, games)),
        "rewards": (rewards, (rows, games, players)),
        "ends": (ends, (rows, games)),
        "horizon": (horizon, (games, players)),
        "end_values": (end_values, (rows, games, players)),
        "potentials": (potentials, (rows, games)),
    }
    for name, (array, shape) in expected.items():
        if array is not None and array.shape != shape:
            raise BufferShapeError(
                f"expected {name} of shape {shape}, found {array.shape}; pass the arrays of one rollout"
            )
    if seats.size and not NO_SEAT <= int(seats.min()) <= int(seats.max()) < players:
        raise BufferShapeError(
            f"expected seats in 0..{players - 1} or {NO_SEAT}, found {int(seats.min())}..{int(seats.max())}; "
            f"rewards have one column per seat"
        )
    by_row = (rows, games)
    credit = Credit(
        advantages=np.empty(by_row, np.float32),
        returns=np.empty(by_row, np.float32),
        closed=np.empty(by_row, np.bool_),
        open_rows=np.empty((games, players), np.int32),
        pending=np.empty((games, players), np.float32),
    )
    scratch = np.empty((3, games, players), np.float32)
    if horizon is None:
        horizon = np.full((games, players), np.nan, np.float32)
    _credit(
        np.ascontiguousarray(seats, np.int8),
        np.ascontiguousarray(values, np.float32),
        _NO_ROWS_2D if potentials is None else np.ascontiguousarray(potentials, np.float32),
        np.ascontiguousarray(rewards, np.float32),
        np.ascontiguousarray(ends, np.bool_),
        _NO_ROWS_3D if end_values is None else np.ascontiguousarray(end_values, np.float32),
        np.ascontiguousarray(horizon, np.float32),
        settings.gamma,
        settings.gae_lambda,
        credit.advantages,
        credit.returns,
        credit.closed,
        credit.open_rows,
        scratch[0],
        scratch[1],
        scratch[2],
        credit.pending,
    )
    return credit
