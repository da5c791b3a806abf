"""Kernels: compiled once for all rules, players and modes; the same answers as plain Python; cache by source."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from phase10_env.rules import kernel as kernels
from phase10_env.rules.interpreted import interpreted
from phase10_env.rules.kernel import KERNELS, cache_root, kernel_sources, source_digest
from phase10_env.rules.step import apply

RULES_TESTS = Path(__file__).parent

ALL_WAYS = """
import numpy as np
from phase10_env import PRESETS, Game, GameBatch, RuleSet
from phase10_env.rules.check import check
from phase10_env.rules.kernel import KERNELS


def play(players, rules, actions, **options):
    game = Game(players, rules, seed=1, actions=actions)
    for _ in range(12):
        game.play(game.legal_indices()[-1])
    twin = Game.from_position(game.to_json(), actions)
    twin.why_illegal("draw"), check(twin.state, twin.ruleset), twin.observation()
    batch = GameBatch(4, players, rules, actions=actions, **options)
    batch.step(batch.legal_actions[:, 0])
    batch.play_random(5)
    batch.view()
    batch.copy_games([0], [1])


def compiled():
    return [(k.__module__, k.__name__, len(k.signatures)) for k in KERNELS]


play(2, "official", "full")
before = compiled()
for players in range(2, 7):
    for preset in PRESETS:
        play(players, preset, "compact" if players % 2 else "full")
for options in ({"episode": "round"}, {"reward": "rank"}, {"observation": None}, {"threads": 2}):
    play(3, "official", "full", **options)
rules = RuleSet(phases=["colour 3 + run 3", "set 2"], hand_size=8, dealer=1, winner="went_out")
play(2, rules, "full")
after = compiled()
print(sorted(set(after) - set(before)))
"""


def run(code: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own."""
    return subprocess.run(
        [sys.executable, *code],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
        cwd=RULES_TESTS.parents[1],
    )


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_the_first_game_compiles_all_that_any_other_needs():
    done = run(["-c", ALL_WAYS])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]", done.stdout


@pytest.mark.slow
def test_the_rules_tests_pass_with_checked_bounds(tmp_path: Path):
    # compiled afresh in a folder of its own: the cache does not tell checked kernels from others
    variables = {"NUMBA_BOUNDSCHECK": "1", "PHASE10_CACHE_DIR": str(tmp_path)}
    done = run(["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(RULES_TESTS)], **variables)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.slow
def test_the_rules_tests_pass_without_compilation():
    done = run(
        ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(RULES_TESTS)], NUMBA_DISABLE_JIT="1"
    )
    assert done.returncode == 0, done.stdout[-3000:]


# ---- plain Python ------------------------------------------------------------------------------------------

RECORD = np.dtype([("small", np.int8), ("big", np.uint64), ("many", np.int8, (2, 3))])


def test_plain_kernels_calculate_in_64_bits_whatever_the_field():
    games = np.zeros(2, RECORD)
    games["small"] = 100

    @interpreted
    def shifted(games, row):  # type: ignore[no-untyped-def]
        return games[row].small << 40

    assert shifted(games, 1) == 100 << 40


def test_plain_kernels_write_through_to_the_arrays():
    games = np.zeros(2, RECORD)

    @interpreted
    def fill(games):  # type: ignore[no-untyped-def]
        game = games[0]
        game.small = 7
        game.many[1, 2] += 5
        game.many[0][1] = len(game.many) + game.many.shape[1]
        games[1] = game
        return game.many[0, 0:2]

    assert len(fill(games)) == 2
    assert games[1]["small"] == 7
    assert games[1]["many"].tolist() == [[0, 5, 0], [0, 0, 5]]


def test_plain_kernels_wrap_random_streams_around_without_a_warning():
    @interpreted
    def product(games):  # type: ignore[no-untyped-def]
        return games[0].big * np.uint64(3)

    games = np.zeros(1, RECORD)
    games["big"] = 2**63
    assert product(games) == np.uint64(2**63)


@pytest.mark.parametrize("place", [-1, (1, -1)])
def test_plain_kernels_refuse_an_index_that_counts_from_the_end(place):
    games = np.zeros(2, RECORD)

    @interpreted
    def read(games):  # type: ignore[no-untyped-def]
        return games[0].many[place]

    with pytest.raises(IndexError, match="counts from the end"):
        read(games)


def test_plain_kernels_refuse_an_unknown_field():
    @interpreted
    def read(games):  # type: ignore[no-untyped-def]
        return games[0].hand

    with pytest.raises(AttributeError, match="no field 'hand'"):
        read(np.zeros(1, RECORD))


# ---- the cache ---------------------------------------------------------------------------------------------


def test_kernels_depend_on_every_file_they_import():
    names = {path.name for path in kernel_sources("phase10_env.rules.step")}
    assert {"step.py", "legal.py", "lay_downs.py", "cards.py", "table.py", "kernel.py"} <= names
    assert "observation.py" not in names
    assert source_digest("phase10_env.rules.step") != source_digest("phase10_env.rules.cards")


def test_both_forms_of_import_are_followed(tmp_path, monkeypatch):
    package = tmp_path / "phase10_made_up"
    package.mkdir()
    for name, text in {
        "__init__": "",
        "first": "import phase10_made_up.second\nimport numpy\n",
        "second": "from phase10_made_up import third as last, nothing\nfrom phase10_made_up.fourth import (\n",
        "third": "",
        "fourth": "",
    }.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    files = [path.name for path in kernel_sources("phase10_made_up.first")]
    assert files == ["first.py", "fourth.py", "second.py", "third.py"]


def test_a_script_is_no_module_of_the_project(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    kernels._source.cache_clear()
    assert kernel_sources("__main__.kernels") == ()


def test_a_module_that_is_not_there_depends_on_nothing():
    assert kernel_sources("phase10_nowhere.step") == ()
    assert kernel_sources("numba") == ()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PHASE10_CACHE_DIR": "/a", "NUMBA_CACHE_DIR": "/b"}, "/a"),
        ({"NUMBA_CACHE_DIR": "/b"}, "/b"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/phase10_env"),
        ({}, str(Path.home() / ".cache" / "phase10_env")),
    ],
)
def test_where_the_cache_is(monkeypatch, variables: dict[str, str], expected: str):
    for name in ("PHASE10_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_root() == Path(expected)


def test_the_first_compilation_is_announced_once_on_stderr(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PHASE10_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "_announced", False)
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    kernels.announce("phase10_env.rules.batch")
    kernels.announce("phase10_env.rules.batch")
    assert capsys.readouterr().err.count("compiling the kernels") == 1


def test_kernels_are_all_known():
    assert apply in KERNELS
    assert {"why_illegal", "legal_actions"} <= {kernel.__name__ for kernel in KERNELS}
