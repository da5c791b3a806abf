"""The kernels compile for a GPU from the same source; no GPU is needed to see that."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numba
import pytest
from numba import from_dtype
from numba import types as nb

from phase10_env.observation import encode
from phase10_env.rules.legal import legal_actions
from phase10_env.rules.phases import RULES
from phase10_env.rules.state import GAME
from phase10_env.rules.step import apply

pytest.importorskip("numba_cuda", reason="needs the extra 'cuda' (numba-cuda)")
pytestmark = [
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled"),
    pytest.mark.filterwarnings("ignore"),
]

HOPPER = (9, 0)
GAMES = from_dtype(GAME)[::1]
ONE_RULES = from_dtype(RULES)[::1]
ROWS = nb.uint8[:, ::1]


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Numba's CUDA, told what card to compile for: else it asks a driver."""
    from numba import cuda
    from numba.cuda import dispatcher

    card = types.SimpleNamespace(compute_capability=HOPPER)
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: card)
    return cuda


def assert_compiles(cuda: Any, function: Callable[..., None], *arguments: Any) -> None:
    """Compile a function to the code of a card and look at what came out."""
    code, returned = cuda.compile_ptx(function, arguments, cc=HOPPER)
    assert ".target sm_90" in code
    assert returned == nb.none
    assert f"{function.__name__}" in code
    assert "NRT_" not in code, "kernels allocate nothing"


def test_a_step_compiles_for_a_gpu(cuda: Any) -> None:
    def step(games, rules, actions, scratch):  # type: ignore[no-untyped-def]
        row = cuda.grid(1)
        if row < len(games):
            apply(games[row], rules[0], actions[row], scratch[row])

    assert_compiles(cuda, step, GAMES, ONE_RULES, nb.int64[::1], ROWS)


def test_the_legal_list_and_the_mask_compile_for_a_gpu(cuda: Any) -> None:
    def mask(games, rules, legal, counts, masks):  # type: ignore[no-untyped-def]
        row = cuda.grid(1)
        if row < len(games):
            counts[row] = legal_actions(games[row], rules[0], legal[row])
            for place in range(counts[row]):
                masks[row, legal[row, place]] = True

    assert_compiles(cuda, mask, GAMES, ONE_RULES, ROWS, nb.int16[::1], nb.boolean[:, ::1])


def test_the_observation_compiles_for_a_gpu(cuda: Any) -> None:
    def observe(games, rules, out, seats, full):  # type: ignore[no-untyped-def]
        row = cuda.grid(1)
        if row < len(games):
            encode(games[row], rules[0], games[row].to_act, out, row, seats, full)

    assert_compiles(cuda, observe, GAMES, ONE_RULES, ROWS, nb.int64, nb.int64)
