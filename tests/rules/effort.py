"""How much a test does: less where kernels run as plain Python, a hundred times slower."""

from __future__ import annotations

import numba


def effort(count: int) -> int:
    """Return a number of examples, games or steps, a tenth of it without compilation."""
    return max(1, count // 10) if numba.config.DISABLE_JIT else count
