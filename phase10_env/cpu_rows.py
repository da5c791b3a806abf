"""CpuRows: the rows of a batch in this machine's memory, run by the calling thread and helpers.

With helpers the rows are cut into blocks, large ones first, and whoever is free takes the next: the caller too.
So a helper that gets no processor, because another job holds it, takes no rows and nobody waits for it; at
worst the call waits for the block that a helper was in when it lost its core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_env.row_loops import first_illegal, play_rows, reset_rows, show_rows, step_rows

__all__ = ["CpuRows"]

_LEAST = 32
"""Rows of the smallest block: some 20 microseconds of work, ten times what a call costs."""


def _cut(num_rows: int, threads: int) -> list[tuple[int, int]]:
    """Cut rows into blocks (first, last + 1), each an eighth (two threads) of what is left.

    >>> _cut(100, 2)
    [(0, 32), (32, 64), (64, 96), (96, 100)]
    """
    blocks = []
    first = 0
    while first < num_rows:
        size = max(_LEAST, (num_rows - first) // (4 * threads))
        blocks.append((first, min(first + size, num_rows)))
        first += size
    return blocks


class _Share:
    """One loop over all rows: blocks to be taken, and the sum of what they returned."""

    def __init__(self, blocks: list[tuple[int, int]], run: Callable[[int, int], int | None]) -> None:
        self._run = run
        self._blocks: Iterator[tuple[int, int]] = iter(blocks)
        self._left = len(blocks)
        self._lock = Lock()
        self._failure: BaseException | None = None
        self.total = 0
        self.done = Event()

    def take_part(self) -> None:
        """Run blocks until none is left to be taken."""
        while True:
            with self._lock:
                block = next(self._blocks, None)
            if block is None:
                return
            result = 0
            failure: BaseException | None = None
            try:
                result = self._run(*block) or 0
            except BaseException as error:  # raised again in the caller
                failure = error
            with self._lock:
                self.total += result
                self._failure = self._failure or failure
                self._left -= 1
                if self._left == 0:
                    self.done.set()

    def result(self) -> int:
        """Wait for the blocks that others are in; return the sum, or raise what one of them raised."""
        self.done.wait()
        if self._failure is not None:
            raise self._failure
        return self.total


class CpuRows:
    """The rows of a batch on the processor.

    Args:
        num_rows: B.
        threads: that take part, the calling one included.

    >>> CpuRows(4, threads=1).to_host(np.arange(2))
    array([0, 1])
    """

    def __init__(self, num_rows: int, threads: int) -> None:
        self._num_rows = num_rows
        self._helpers = threads - 1
        self._pool = ThreadPoolExecutor(self._helpers) if self._helpers > 0 else None
        self._blocks = _cut(num_rows, threads)

    def place(self, array: npt.NDArray[Any]) -> Any:
        """Return an array where the loops can reach it."""
        return array

    def records(self, records: tuple[npt.NDArray[Any], ...]) -> tuple[Any, ...]:
        """Return arrays that no loop changes where the loops can reach them."""
        return records

    def to_host(self, array: Any) -> npt.NDArray[Any]:
        """Return an array that NumPy can read."""
        return array  # type: ignore[no-any-return]

    def actions(self, actions: npt.ArrayLike) -> Any:
        """Return actions as the loops take them: int64[B]."""
        return np.ascontiguousarray(actions, dtype=np.int64)

    def _over_rows(self, loop: Any, arrays: tuple[Any, ...]) -> int:
        if self._pool is None or len(self._blocks) == 1:
            return loop(*arrays, 0, self._num_rows) or 0
        share = _Share(self._blocks, lambda first, last: loop(*arrays, first, last))
        waiting = [self._pool.submit(share.take_part) for _ in range(self._helpers)]
        share.take_part()
        for helper in waiting:
            helper.cancel()  # it never came to a processor
        return share.result()

    def reset(self, fixed: tuple[Any, ...], buffers: tuple[Any, ...]) -> None:
        """Begin an episode on every row."""
        self._over_rows(reset_rows, (*fixed, *buffers))

    def step(self, fixed: tuple[Any, ...], actions: Any, buffers: tuple[Any, ...]) -> None:
        """Take one action on every row."""
        self._over_rows(step_rows, (*fixed, actions, *buffers))

    def play(self, fixed: tuple[Any, ...], decisions: int, buffers: tuple[Any, ...]) -> int:
        """Play random legal actions; return the episodes that ended."""
        return self._over_rows(play_rows, (*fixed, decisions, *buffers))

    def show(self, arrays: tuple[Any, ...], rows: npt.NDArray[np.int64]) -> None:
        """Write the buffers of some rows anew."""
        loop: Any = show_rows
        loop(*arrays, rows)

    def first_illegal(self, games: Any, masks: Any, actions: Any) -> int:
        """Return the first running row whose action is not legal, or -1."""
        return int(first_illegal(games, masks, actions))

    def reseed(self, games: Any, seeds: npt.NDArray[np.uint64] | None) -> None:
        """Make the next episode of each row the first one of a seed, or the one after the present."""
        if seeds is None:
            games["episode"] += 1
        else:
            games["seed"] = seeds
            games["episode"] = 0

    def copy(self, array: Any, source: npt.NDArray[np.intp], target: npt.NDArray[np.intp]) -> None:
        """Copy rows of an array onto others."""
        array[target] = array[source]
