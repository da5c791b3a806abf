"""A batch on a GPU: what it launches compiles for one; in the simulator it equals the batch on the processor.

No GPU is needed for either. The simulator runs the kernels as plain Python, one thread for each row.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba import from_dtype
from numba import types as nb

from phase10_env import GameBatch, RuleSet, cuda_rows
from phase10_env.episodes import RESULT
from phase10_env.equity import EQUITY
from phase10_env.row_loops import SETTINGS
from phase10_env.rules.phases import RULES
from phase10_env.rules.state import GAME

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


SHAPES: dict[str, Any] = {
    "games": GAMES,
    "rules": ONE_RULES,
    "settings": from_dtype(SETTINGS)[::1],
    "equity": from_dtype(EQUITY)[::1],
    "starts": nb.int32[:, ::1],
    "actions": nb.int64[::1],
    "decisions": nb.int64,
    "observations": ROWS,
    "masks": nb.boolean[:, ::1],
    "legal": ROWS,
    "counts": nb.int16[::1],
    "seats": nb.int8[::1],
    "rewards": nb.float32[:, ::1],
    "terminations": nb.boolean[::1],
    "truncations": nb.boolean[::1],
    "equities": nb.float64[:, ::1],
    "results": from_dtype(RESULT)[::1],
    "ended": nb.int64[::1],
    "rows": nb.int64[::1],
    "lowest": nb.int64[::1],
    "seeds": nb.uint64[::1],
    "source": ROWS,
    "source_rows": nb.int64[::1],
    "target": ROWS,
    "target_rows": nb.int64[::1],
}


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(launched, marks=pytest.mark.slow) if launched is cuda_rows.play_row else launched
        for launched in cuda_rows.LAUNCHED
    ],
    ids=lambda function: function.__name__,
)
def test_what_a_batch_launches_compiles_for_a_gpu(cuda: Any, function: Callable[..., None]) -> None:
    assert_compiles(cuda, function, *(SHAPES[name] for name in inspect.signature(function).parameters))


# ---- the simulator -----------------------------------------------------------------------------------------

REPLAY = """
import sys
import numpy as np
from phase10_env import GameBatch, RuleSet

trace = np.load(sys.argv[1])
options = eval(sys.argv[2])
batch = GameBatch(device="cuda", **options)
names = sorted({name.rsplit(".", 1)[1] for name in trace.files if "." in name})


def compare(step):
    for name in names:
        found = getattr(batch, name).copy_to_host()
        wanted = trace[f"{step}.{name}"]
        assert found.dtype == wanted.dtype and (found == wanted).all(), (step, name)


compare(0)
for step, actions in enumerate(trace["actions"], 1):
    batch.step(actions)
    compare(step)
games, masks = batch.games.copy_to_host(), batch.action_masks.copy_to_host()
try:
    batch.step(np.full(len(games), 164))
except ValueError as error:
    print(type(error).__name__, error.row)
assert (batch.games.copy_to_host() == games).all()
batch.refresh()
assert (batch.action_masks.copy_to_host() == masks).all()
batch.copy_games([0, 1], [1, 0])
assert (batch.games.copy_to_host()[:2] == games[[1, 0]]).all()
assert (batch.view().action_masks[:2] == masks[[1, 0]]).all()
ended = batch.play_random(4)
print(len(trace["actions"]), int(batch.results.copy_to_host()["episode"].max()))
twin = GameBatch(**options)
for seed in (None, 9):
    batch.reset(seed)
assert (GameBatch(**{**options, "seed": 9}).games == batch.games.copy_to_host()).all()
"""

BUFFERS = (
    "games", "observations", "action_masks", "legal_actions", "legal_counts", "seats", "rewards",
    "terminations", "truncations", "results", "equities",
)  # fmt: skip


def replay_in_the_simulator(tmp_path: Path, options: str, steps: int) -> int:
    """Play on the processor, compiled; replay in the simulator; return the last episode that ended."""
    batch = GameBatch(**eval(options, {"RuleSet": RuleSet}))
    rng = np.random.default_rng(3)
    trace: dict[str, Any] = {f"0.{name}": getattr(batch, name).copy() for name in BUFFERS}
    taken = []
    for step in range(1, steps + 1):
        places = rng.integers(0, np.maximum(batch.legal_counts, 1))
        taken.append(batch.legal_actions[np.arange(batch.num_games), places].astype(np.int64))
        batch.step(taken[-1])
        trace |= {f"{step}.{name}": getattr(batch, name).copy() for name in BUFFERS}
    file = tmp_path / "trace.npz"
    np.savez(file, actions=np.array(taken), **trace)
    done = subprocess.run(
        [sys.executable, "-c", REPLAY, str(file), options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"},
    )
    assert done.returncode == 0, done.stderr
    refused, played = done.stdout.splitlines()
    assert refused == "IllegalActionError 0"
    assert played.split()[0] == str(steps)
    return int(batch.games["episode"].max())  # episodes that ended on the row that ended most


@pytest.mark.parametrize("players", [2, 3])
def test_a_simulated_gpu_plays_as_the_processor_does(tmp_path: Path, players: int) -> None:
    short = 'RuleSet(phases=["set 2"], hand_size=3)'
    options = f"dict(num_games=2, num_players={players}, seed=4, ruleset={short}, reward='equity')"
    assert replay_in_the_simulator(tmp_path, options, 90) > 0, "whole games are among it"


@pytest.mark.slow
@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("episode", ["game", "round"])
def test_a_simulated_gpu_plays_official_games_as_the_processor_does(
    tmp_path: Path, players: int, episode: str
) -> None:
    rules = "'official'" if episode == "round" else 'RuleSet(phases=["set 3 + set 3", "colour 4"])'
    options = f"dict(num_games=4, num_players={players}, seed=1, episode={episode!r}, ruleset={rules})"
    assert replay_in_the_simulator(tmp_path, options, 1000) > 0


def test_without_a_gpu_one_sentence_says_so() -> None:
    from numba import cuda

    if cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match=r"^device='cuda' needs an NVIDIA GPU .*; use device='cpu'$"):
        GameBatch(2, device="cuda")
