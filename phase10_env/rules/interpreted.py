"""Kernels as plain Python, for debuggers and coverage: what runs under `NUMBA_DISABLE_JIT=1`.

Compiled kernels read a record's fields as attributes and calculate in 64 bits whatever the width of a field;
NumPy offers neither. Here records and arrays are wrapped so that they do, and every number read from one is a
Python number. Indices must be in range: one that counts from the end raises, as it would be a bug.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

__all__ = ["interpreted"]


class _Array:
    """An array that hands out Python numbers, records and arrays of its kind."""

    __slots__ = ("_values",)

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self._values = values

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._values.shape
        return shape

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: Any) -> Any:
        return _plain(self._values[self._checked(place)])

    def __setitem__(self, place: Any, value: Any) -> None:
        self._values[self._checked(place)] = value._values if isinstance(value, _Record) else value

    def _checked(self, place: Any) -> Any:
        for index in place if isinstance(place, tuple) else (place,):
            if not isinstance(index, slice) and index < 0:
                raise IndexError(f"index {place} counts from the end: expected 0 or more, as kernels need")
        return place


class _Record:
    """A record whose fields are attributes."""

    __slots__ = ("_values",)

    def __init__(self, values: np.void) -> None:
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> Any:
        try:
            return _plain(self._values[name])
        except ValueError:
            raise AttributeError(f"the record has no field {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value


def _plain(value: Any) -> Any:
    """Return what a kernel sees of a value."""
    value = getattr(getattr(value, "_item", value), "_ary", value)  # an array of Numba's CUDA simulator
    if isinstance(value, np.ndarray):
        return _Array(value)
    if isinstance(value, np.void):
        return _Record(value)
    if isinstance(value, np.generic) and not isinstance(value, np.uint64):
        return value.item()
    return value


def interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that runs as plain Python, with the arithmetic of the compiled one.

    >>> twice = interpreted(lambda numbers, place: numbers[place] << 8)
    >>> twice(np.array([100], np.int8), 0)
    25600
    """

    @wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):  # the random streams wrap around on purpose
            return function(*(_plain(argument) for argument in arguments))

    return run
