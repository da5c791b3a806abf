"""SingleGame: one game stepped by one compiled call whose arguments are bound beforehand.

It owns a GameBatch of one row and writes the same buffers; a call costs well under a microsecond beside the
rules themselves, which is what a Python loop over one environment needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_env.errors import IllegalActionError
from phase10_env.game_batch import GameBatch
from phase10_env.observation import encode_row, write_candidates
from phase10_env.rewards import REWARDS
from phase10_env.row_steps import step_row
from phase10_env.rules.batch import explain_row
from phase10_env.rules.kernel import announce, kernel
from phase10_env.rules.legal import REASONS

__all__ = ["SingleGame", "step_arguments"]


@kernel
def step_game(  # type: ignore[no-untyped-def]
    games, rules, equity, equities, observations, masks, legal, counts, rewards, kind, seats, full, action
):
    """Take an action on the one row; see `step_row`."""
    return step_row(
        games, rules, equity, equities, observations, masks, legal, counts, rewards, kind, seats, full,
        0, action,
    )  # fmt: skip


def step_arguments(batch: GameBatch) -> tuple[Any, ...]:
    """Return what `step_row` and its like get from a batch, up to and including `full`."""
    fields = batch.layout.fields
    return (
        batch.games,
        batch.ruleset.record,
        batch.equity.record,
        batch.equities,
        batch.observations,
        batch.action_masks,
        batch.legal_actions,
        batch.legal_counts,
        batch.rewards,
        REWARDS.index(batch.reward),
        sum(name.endswith(".present") for name in fields),
        int("missing" in fields),
    )


def _entry(function: Any, arguments: tuple[Any, ...]) -> Callable[..., int]:
    """Return the compiled code of a kernel for these arguments, without the look-up by type at each call."""
    if not hasattr(function, "compile"):  # NUMBA_DISABLE_JIT=1
        return function  # type: ignore[no-any-return]
    return function.compile(tuple(function.typeof_pyval(value) for value in arguments))  # type: ignore[no-any-return]


def _step_with_candidates(step: Callable[[int], int], batch: GameBatch, action: int) -> int:
    result = step(action)
    batch.write_candidates()
    return result


class SingleGame:
    """One game, for environments that step from Python.

    Args:
        batch: a GameBatch of one row with `auto_reset=False` that writes observations.

    Attributes:
        batch: the batch; its buffers show the decision to be taken.
        observation: uint8[D], of the seat to act; overwritten by each step.
        mask: int8[165], 1 = legal; overwritten by each step.
        step: takes an action index (int), returns what `row_steps.step_row` does.

    >>> from phase10_env.row_steps import SEAT
    >>> game = SingleGame(GameBatch(num_games=1, seed=1, auto_reset=False))
    >>> game.step(0) & SEAT == game.seat
    True
    """

    step: Callable[[int], int]

    def __init__(self, batch: GameBatch) -> None:
        self.batch = batch
        self._bind()

    def _bind(self) -> None:
        batch = self.batch
        self.observation: npt.NDArray[np.uint8] = batch.observations[0]
        self.mask: npt.NDArray[np.int8] = batch.action_masks.view(np.int8)[0]
        self._other: npt.NDArray[np.uint8] = np.zeros((1, batch.layout.size), np.uint8)
        bound = step_arguments(batch)
        self._seats, self._full = bound[-2], bool(bound[-1])
        announce(__name__)
        self.step: Callable[[int], int] = partial(_entry(step_game, (*bound, 0)), *bound)
        if "worth" in batch.layout.fields:
            self.step = partial(_step_with_candidates, self.step, batch)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the compiled code out of copies and pickles."""
        return {"batch": self.batch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Bind the compiled code to the buffers of the copy."""
        self.batch = state["batch"]
        self._bind()

    @property
    def seat(self) -> int:
        """The seat to act."""
        return int(self.batch.games["to_act"][0])

    def observe(self, seat: int) -> npt.NDArray[np.uint8]:
        """Return the observation uint8[D] of any seat, as a new array."""
        encode_row(
            self.batch.games, self.batch.ruleset.record, 0, seat, self._other, 0, self._seats, self._full
        )
        if seat == self.seat:
            write_candidates(self.batch.games, self.batch.ruleset, self._other, self.batch.layout)
        seen: npt.NDArray[np.uint8] = self._other[0]
        return seen.copy()

    def refusal(self, action: int) -> IllegalActionError:
        """Return the error that says why the seat to act may not take an action."""
        reason = explain_row(self.batch.games, self.batch.ruleset.record, 0, action)
        return IllegalActionError(self.seat, action, REASONS[reason][1])
