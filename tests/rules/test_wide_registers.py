"""Sums of long rows use the widest registers that the machine has, and stay what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import pytest

from phase10_env.rules.kernel import vector_kernel, wide_registers


def narrow(a: Any, b: Any) -> None:
    for i in range(len(a)):
        a[i] += np.float32(3.0) * b[i]


def wide(a: Any, b: Any) -> None:
    wide_registers()
    for i in range(len(a)):
        a[i] += np.float32(3.0) * b[i]


@pytest.mark.parametrize("function", [narrow, wide])
def test_the_sum_is_the_same(function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHASE10_CACHE_DIR", str(tmp_path))
    a, b = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    vector_kernel(function)(a, b)
    np.testing.assert_array_equal(a, np.arange(100) + 3.0)


@pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT) or not llvmlite.binding.get_host_cpu_features().get("avx512f"),
    reason="needs compiled kernels and registers of 512 bits",
)
def test_it_widens_the_registers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHASE10_CACHE_DIR", str(tmp_path))  # code from the cache cannot be looked at
    kernel: Any = vector_kernel(wide)
    kernel(np.zeros(100, np.float32), np.zeros(100, np.float32))
    assert "zmm" in "".join(kernel.inspect_asm().values())
