"""CudaRows: the rows of a batch in the memory of a GPU, a thread for each; needs the extra `cuda`.

Every launch runs the loops of `row_loops` over one row, so rules, rewards and observations have no second
implementation. Tested: the launches compile for a GPU (sm_90), and in Numba's CUDA simulator every buffer equals
that of the CPU batch after each step. Not tested: a GPU, hence no speed is known; there the last bits of
`equity` rewards may differ, as its tanh and exp round in their own way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import cuda

from phase10_env.row_loops import is_illegal, play_rows, reset_rows, show_rows, step_rows

__all__ = [
    "LAUNCHED",
    "CudaRows",
    "copy_row",
    "illegal_row",
    "next_episode",
    "play_row",
    "reset_row",
    "seed_row",
    "show_row",
    "step_row",
]

_BLOCK = 64
"""Threads of a block of the GPU."""


# ---- what one thread does ----------------------------------------------------------------------------------


def reset_row(  # type: ignore[no-untyped-def]
    games, rules, settings, equity, starts, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results,
):  # fmt: skip
    """Begin an episode on the thread's row."""
    row = cuda.grid(1)
    if row < len(games):
        reset_rows(
            games, rules, settings, equity, starts, observations, masks, legal, counts, seats, rewards,
            terminations, truncations, equities, results, row, row + 1,
        )  # fmt: skip


def step_row(  # type: ignore[no-untyped-def]
    games, rules, settings, equity, starts, actions, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results,
):  # fmt: skip
    """Take an action on the thread's row."""
    row = cuda.grid(1)
    if row < len(games):
        step_rows(
            games, rules, settings, equity, starts, actions, observations, masks, legal, counts, seats, rewards,
            terminations, truncations, equities, results, row, row + 1,
        )  # fmt: skip


def play_row(  # type: ignore[no-untyped-def]
    games, rules, settings, equity, starts, decisions, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results, ended,
):  # fmt: skip
    """Play random legal actions on the thread's row; write the episodes that ended into ended int64[B]."""
    row = cuda.grid(1)
    if row < len(games):
        ended[row] = play_rows(
            games, rules, settings, equity, starts, decisions, observations, masks, legal, counts, seats,
            rewards, terminations, truncations, equities, results, row, row + 1,
        )  # fmt: skip


def show_row(  # type: ignore[no-untyped-def]
    games, rules, settings, observations, masks, legal, counts, seats, terminations, truncations, rows
):
    """Write the buffers of the thread's place in rows int64[n] anew."""
    place = cuda.grid(1)
    if place < len(rows):
        show_rows(
            games, rules, settings, observations, masks, legal, counts, seats, terminations, truncations,
            rows[place : place + 1],
        )  # fmt: skip


def illegal_row(games, masks, actions, lowest):  # type: ignore[no-untyped-def]
    """Lower lowest int64[1] to the thread's row where its action is not legal."""
    row = cuda.grid(1)
    if row < len(games) and is_illegal(games, masks, actions, row):
        cuda.atomic.min(lowest, 0, row)


def seed_row(games, seeds):  # type: ignore[no-untyped-def]
    """Make the next episode of the thread's row the first one of a seed of seeds uint64[B]."""
    row = cuda.grid(1)
    if row < len(games):
        games[row].seed = seeds[row]
        games[row].episode = 0


def next_episode(games):  # type: ignore[no-untyped-def]
    """Make the next episode of the thread's row the one after the present."""
    row = cuda.grid(1)
    if row < len(games):
        games[row].episode += 1


def copy_row(source, source_rows, target, target_rows):  # type: ignore[no-untyped-def]
    """Copy row source_rows[i] of the bytes source uint8[B, N] onto row target_rows[i] of target; i the thread."""
    place = cuda.grid(1)
    if place < len(source_rows):
        for byte in range(source.shape[1]):
            target[target_rows[place], byte] = source[source_rows[place], byte]


LAUNCHED = (reset_row, step_row, play_row, show_row, illegal_row, seed_row, next_episode, copy_row)
"""Everything that runs on the GPU."""


class CudaRows:
    """The rows of a batch on a GPU.

    Args:
        num_rows: B.

    Raises:
        ValueError: there is no GPU.
    """

    def __init__(self, num_rows: int) -> None:
        if not cuda.is_available():
            raise ValueError("device='cuda' needs an NVIDIA GPU and its driver, found none; use device='cpu'")
        self._num_rows = num_rows
        self._records: tuple[Any, ...] | None = None
        self._compiled = {function: cuda.jit(function) for function in LAUNCHED}

    def _launch(self, function: Any, threads: int, *arguments: Any) -> None:
        if threads:
            block = min(threads, _BLOCK)
            self._compiled[function][-(-threads // block), block](*arguments)

    def place(self, array: npt.NDArray[Any]) -> Any:
        """Return a copy of an array in the memory of the GPU."""
        return cuda.to_device(np.array(array))

    def records(self, records: tuple[npt.NDArray[Any], ...]) -> tuple[Any, ...]:
        """Return copies of arrays that never change, made at the first call."""
        if self._records is None:
            self._records = tuple(self.place(record) for record in records)
        return self._records

    def to_host(self, array: Any) -> npt.NDArray[Any]:
        """Return a copy of an array of the GPU."""
        return array.copy_to_host()  # type: ignore[no-any-return]

    def actions(self, actions: Any) -> Any:
        """Return actions as the launches take them: int64[B]. Those of a GPU (int64) are not copied."""
        if hasattr(actions, "__cuda_array_interface__"):
            return cuda.as_cuda_array(actions)
        return cuda.to_device(np.ascontiguousarray(actions, dtype=np.int64))

    def reset(self, fixed: tuple[Any, ...], buffers: tuple[Any, ...]) -> None:
        """Begin an episode on every row."""
        self._launch(reset_row, self._num_rows, *fixed, *buffers)

    def step(self, fixed: tuple[Any, ...], actions: Any, buffers: tuple[Any, ...]) -> None:
        """Take one action on every row."""
        self._launch(step_row, self._num_rows, *fixed, actions, *buffers)

    def play(self, fixed: tuple[Any, ...], decisions: int, buffers: tuple[Any, ...]) -> int:
        """Play random legal actions; return the episodes that ended."""
        ended = cuda.to_device(np.zeros(self._num_rows, np.int64))
        self._launch(play_row, self._num_rows, *fixed, decisions, *buffers, ended)
        return int(ended.copy_to_host().sum())

    def show(self, arrays: tuple[Any, ...], rows: npt.NDArray[np.int64]) -> None:
        """Write the buffers of some rows anew."""
        self._launch(show_row, len(rows), *arrays, cuda.to_device(rows))

    def first_illegal(self, games: Any, masks: Any, actions: Any) -> int:
        """Return the first running row whose action is not legal, or -1; waits for the GPU."""
        lowest = cuda.to_device(np.full(1, self._num_rows, np.int64))
        self._launch(illegal_row, self._num_rows, games, masks, actions, lowest)
        found = int(lowest.copy_to_host()[0])
        return found if found < self._num_rows else -1

    def reseed(self, games: Any, seeds: npt.NDArray[np.uint64] | None) -> None:
        """Make the next episode of each row the first one of a seed, or the one after the present."""
        if seeds is None:
            self._launch(next_episode, self._num_rows, games)
        else:
            self._launch(seed_row, self._num_rows, games, cuda.to_device(seeds))

    def copy(self, array: Any, source: npt.NDArray[np.intp], target: npt.NDArray[np.intp]) -> None:
        """Copy rows of an array onto others, as they were before."""
        count, size = len(source), array.nbytes // self._num_rows
        lines = array.view(np.uint8).reshape(self._num_rows, size)
        between = cuda.device_array((count, size), np.uint8)
        straight = cuda.to_device(np.arange(count))
        self._launch(copy_row, count, lines, cuda.to_device(source), between, straight)
        self._launch(copy_row, count, between, straight, lines, cuda.to_device(target))
