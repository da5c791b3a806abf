"""The things that `phase10 bench` measures, as calls that take turns; and what of them is wall or CPU time.

An item handles a number of decisions a call. Items take turns, so that whatever else runs on the machine slows
all of them and ratios hold; the figure of an item is the median of its calls.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from phase10_agents.policies import POLICY_WEIGHTS, play_decisions, policy_number
from phase10_agents.scratch import new_scratch
from phase10_env import phase10_v0
from phase10_env.game_batch import GameBatch
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import MAX_PLAYERS

__all__ = [
    "Item",
    "Rate",
    "bytes_a_game",
    "engine_items",
    "gpu_items",
    "measure",
    "peer_items",
    "python_items",
    "start_up",
    "thread_rates",
]


@dataclass(frozen=True)
class Item:
    """Name a call and say how many decisions it handles."""

    name: str
    players: int
    decisions: int
    call: Callable[[], object]


@dataclass(frozen=True)
class Rate:
    """Hold decisions a second of an item: by wall time, and by the CPU time of this process.

    On an idle machine both agree for one thread; on a busy one the CPU figure is the better guess of what a
    free core does.
    """

    name: str
    players: int
    wall: float
    cpu: float


def measure(items: Sequence[Item], repetitions: int) -> list[Rate]:
    """Call the items in turn, `repetitions` times after a first call that does not count.

    Returns:
        The median rates, in the order of the items.

    >>> (rate,) = measure([Item("sum", 2, 1000, lambda: sum(range(100_000)))], repetitions=3)
    >>> rate.wall > 0
    True
    """
    wall: list[list[float]] = [[] for _ in items]
    cpu: list[list[float]] = [[] for _ in items]
    for item in items:
        item.call()
    for _ in range(repetitions):
        for place, item in enumerate(items):
            started, used = time.perf_counter(), time.process_time()
            item.call()
            wall[place].append(time.perf_counter() - started)
            cpu[place].append(time.process_time() - used)
    return [
        Rate(
            item.name,
            item.players,
            item.decisions / statistics.median(wall[place]),
            item.decisions / max(statistics.median(cpu[place]), 1e-9),
        )
        for place, item in enumerate(items)
    ]


# ---- compiled loops ----------------------------------------------------------------------------------------


def _policy(name: str, games: int, players: int, rules: RuleSet, decisions: int) -> Callable[[], object]:
    batch = GameBatch(games, players, rules, observation=None)
    policies = np.full(MAX_PLAYERS, policy_number(name), np.int64)
    scratch = new_scratch()
    return lambda: play_decisions(batch.games, rules.record, policies, decisions, POLICY_WEIGHTS, scratch)


def _batch(
    observation: str | None, games: int, players: int, rules: RuleSet, decisions: int, threads: int = 1
) -> Callable[[], object]:
    batch = GameBatch(games, players, rules, observation=observation, threads=threads)
    return lambda: batch.play_random(decisions)


def engine_items(games: int, players: int, rules: RuleSet, decisions: int) -> list[Item]:
    """Return the compiled loops on one core: `decisions` of every game a call, random legal actions."""
    calls = {
        "engine alone": _policy("random", games, players, rules, decisions),
        "batch, no observation": _batch(None, games, players, rules, decisions),
        "batch, basic observation": _batch("basic", games, players, rules, decisions),
        "batch, full observation": _batch("full", games, players, rules, decisions),
        "greedy playouts": _policy("greedy", games, players, rules, decisions),
        "aware playouts": _policy("aware", games, players, rules, max(1, decisions // 8)),
    }
    done = games * decisions
    shares = {"aware playouts": games * max(1, decisions // 8)}
    return [Item(name, players, shares.get(name, done), call) for name, call in calls.items()]


def gpu_items(games: int, players: int, rules: RuleSet, decisions: int) -> list[Item]:
    """Return the batch on a GPU, or nothing where there is none (or no numba-cuda)."""
    if find_spec("numba_cuda") is None:
        return []
    from numba import cuda

    if not cuda.is_available():
        return []
    batch = GameBatch(games, players, rules, device="cuda")
    name = "batch, full observation, GPU"
    return [Item(name, players, games * decisions, lambda: batch.play_random(decisions))]


# ---- Python loops ------------------------------------------------------------------------------------------


def _aec_loop(env: Any, decisions: int) -> Callable[[], None]:
    env.reset(seed=1)

    def play() -> None:
        left = decisions
        while left:
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                    continue
                env.step(observation["action_mask"].tobytes().find(1))
                left -= 1
                if left == 0:
                    return
            env.reset()

    return play


def python_items(players: int, rules: RuleSet, decisions: int) -> list[Item]:
    """Return the AEC environments stepped one decision at a time, always by the first legal action."""
    raw = phase10_v0.raw_env(num_players=players, ruleset=rules)
    wrapped = phase10_v0.env(num_players=players, ruleset=rules)
    return [
        Item("AEC raw_env()", players, decisions, _aec_loop(raw, decisions)),
        Item("AEC env()", players, decisions, _aec_loop(wrapped, decisions)),
    ]


def peer_items(decisions: int) -> list[Item]:
    """Return card games of OpenSpiel, if it is installed: legal actions, observation and step from Python."""
    try:
        import pyspiel
    except ImportError:
        return []
    found = []
    for name in ("gin_rummy", "hearts", "leduc_poker"):
        game = pyspiel.load_game(name)
        found.append(
            Item(f"OpenSpiel {name}", game.num_players(), decisions, _open_spiel_loop(game, decisions))
        )
    return found


def _open_spiel_loop(game: Any, decisions: int) -> Callable[[], None]:
    rng = np.random.default_rng(0)

    def play() -> None:
        left = decisions
        state = game.new_initial_state()
        while left:
            if state.is_terminal():
                state = game.new_initial_state()
            elif state.is_chance_node():
                outcomes, odds = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(outcomes[rng.choice(len(outcomes), p=odds)])
            else:
                seat = state.current_player()
                if game.get_type().provides_observation_tensor:
                    state.observation_tensor(seat)
                state.apply_action(state.legal_actions()[0])
                left -= 1

    return play


# ---- threads -----------------------------------------------------------------------------------------------


@contextmanager
def _busy_core() -> Iterator[None]:
    """Keep one core busy with another process."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def thread_rates(
    games: int, players: int, rules: RuleSet, decisions: int, repetitions: int
) -> dict[str, float]:
    """Return wall decisions a second of one and two threads, alone and beside a job that holds a core."""
    items = [
        Item("1 thread", players, games * decisions, _batch("full", games, players, rules, decisions)),
        Item("2 threads", players, games * decisions, _batch("full", games, players, rules, decisions, 2)),
    ]
    rates = {rate.name: rate.wall for rate in measure(items, repetitions)}
    with _busy_core():
        for rate in measure(items, repetitions):
            rates[f"{rate.name}, a core held"] = rate.wall
    return rates


# ---- first use and memory ----------------------------------------------------------------------------------

_FIRST_STEP = "from phase10_env import GameBatch; b = GameBatch({games}); b.step(b.legal_actions[:, 0])"


def _seconds(games: int, folder: str) -> tuple[float, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", _FIRST_STEP.format(games=games)],
        env={**os.environ, "PHASE10_CACHE_DIR": folder},
        check=True,
        stderr=subprocess.DEVNULL,
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_up(games: int, cold: bool, repetitions: int) -> dict[str, float]:
    """Return seconds from the start of Python to the end of a first step, by wall and CPU time.

    Cold: in a cache folder of its own, so that every kernel is compiled. Warm: what is compiled is there.
    """
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        if cold:
            found["cold, wall"], found["cold, CPU"] = _seconds(games, folder)
        cache = folder if cold else os.environ.get("PHASE10_CACHE_DIR", "")
        _seconds(games, cache)
        warm = [_seconds(games, cache) for _ in range(repetitions)]
    found["warm, wall"] = statistics.median(wall for wall, _ in warm)
    found["warm, CPU"] = statistics.median(cpu for _, cpu in warm)
    return found


def bytes_a_game(players: int, observation: str, rules: RuleSet) -> float:
    """Return the bytes of one game of a batch: its record and its row of every buffer.

    >>> bytes_a_game(2, "basic", RuleSet()) < bytes_a_game(2, "full", RuleSet())
    True
    """
    games = 64
    batch = GameBatch(games, players, rules, observation=observation)
    rows = [value for value in vars(batch).values() if isinstance(value, np.ndarray) and len(value) == games]
    return sum(array.nbytes for array in rows) / games
