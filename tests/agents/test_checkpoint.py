"""Checkpoints: whole or refused, whatever was cut, altered or killed."""

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from phase10_agents.neural.checkpoint import (
    CheckpointError,
    check_compatible,
    latest_checkpoint,
    load_checkpoint,
    save_checkpoint,
    save_step,
)
from phase10_training.state_tree import flatten_state, restore_state

MANIFEST: dict[str, Any] = {
    "ruleset_digest": "3f2a9c0d",
    "layout_digest": "77aa",
    "equity_hash": None,
    "config": {"seed": 1, "optimizer": {"learning_rate": 3e-4}},
    "counters": {"decisions": 4096, "updates": 2},
}
GAME = np.dtype([("hands", "u1", (6, 50)), ("random", "<u8"), ("seat", "i1"), ("score", ">i2")], align=True)


def example_tensors() -> dict[str, torch.Tensor | np.ndarray[Any, Any]]:
    games = np.zeros(3, GAME)
    games["random"] = 2**64 - 1, 2**63, 5
    games["hands"][1, 2, 3] = 9
    weight = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    return {
        "net.weight": weight,
        "net.tied": weight,
        "net.turned": weight.T,
        "net.half": torch.ones(2, dtype=torch.bfloat16),
        "net.empty": torch.zeros(0, 3),
        "net.scalar": torch.tensor(3),
        "games": games,
        "seeds": np.array([[2**64 - 1], [0]], np.uint64),
        "scalar": np.array(2.5),
        "none": np.zeros((0, 4), np.int16),
    }


def equal(one: torch.Tensor | np.ndarray[Any, Any], other: torch.Tensor | np.ndarray[Any, Any]) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    return isinstance(other, np.ndarray) and one.dtype == other.dtype and one.tobytes() == other.tobytes()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save_checkpoint(tmp_path / "one", example_tensors(), MANIFEST)


def test_what_is_saved_is_loaded_with_its_types_and_shapes(saved: Path) -> None:
    checkpoint = load_checkpoint(saved)
    expected = example_tensors()
    assert checkpoint.tensors.keys() == expected.keys()
    for name, value in expected.items():
        assert equal(value, checkpoint.tensors[name]), name
        assert tuple(value.shape) == tuple(checkpoint.tensors[name].shape)
    assert {key: checkpoint.manifest[key] for key in MANIFEST} == MANIFEST
    assert checkpoint.manifest["format"] == 1
    assert checkpoint.manifest["libraries"]["torch"] == torch.__version__
    assert sorted(checkpoint.weights("net")) == ["empty", "half", "scalar", "tied", "turned", "weight"]


def test_loaded_arrays_may_be_written(saved: Path) -> None:
    games = load_checkpoint(saved).tensors["games"]
    assert isinstance(games, np.ndarray)
    games["seat"] = 1
    assert games["seat"].tolist() == [1, 1, 1]


def test_a_folder_holds_two_files_and_no_pickle(saved: Path) -> None:
    assert sorted(file.name for file in saved.iterdir()) == ["manifest.json", "tensors.safetensors"]
    assert sorted(entry.name for entry in saved.parent.iterdir()) == ["one"]


plain_dtypes = st.one_of(
    hnp.unsigned_integer_dtypes(), hnp.integer_dtypes(), hnp.floating_dtypes(), hnp.boolean_dtypes()
)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_array_without_objects_survives(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    fields = hnp.array_dtypes(plain_dtypes, max_size=3)
    dtype = data.draw(plain_dtypes | fields)
    array = data.draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=3)))
    folder = save_checkpoint(tmp_path_factory.mktemp("any") / "one", {"x": array}, MANIFEST)
    found = load_checkpoint(folder).tensors["x"]
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())


# ---------------------------------------------------------------- what is refused


def refuse(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    return str(caught.value)


@pytest.mark.parametrize("name", ["tensors.safetensors", "manifest.json"])
@pytest.mark.parametrize("keep", ["nothing", "one byte", "half", "all but one byte", "one byte more"])
def test_a_file_cut_or_lengthened_is_refused(saved: Path, name: str, keep: str) -> None:
    data = (saved / name).read_bytes()
    cut = {
        "nothing": b"",
        "one byte": data[:1],
        "half": data[: len(data) // 2],
        "all but one byte": data[:-1],
        "one byte more": data + b"\n",
    }
    (saved / name).write_bytes(cut[keep])
    assert "is damaged" in refuse(saved)


@pytest.mark.parametrize("name", ["tensors.safetensors", "manifest.json"])
def test_any_flipped_bit_is_refused(saved: Path, name: str) -> None:
    data = bytearray((saved / name).read_bytes())
    dice = random.Random(7)
    for _ in range(150):
        place, bit = dice.randrange(len(data)), 1 << dice.randrange(8)
        data[place] ^= bit
        (saved / name).write_bytes(data)
        refuse(saved)
        data[place] ^= bit
    (saved / name).write_bytes(data)
    load_checkpoint(saved)


@pytest.mark.parametrize("name", ["tensors.safetensors", "manifest.json"])
def test_a_missing_file_is_refused(saved: Path, name: str) -> None:
    (saved / name).unlink()
    assert f"{name}' is damaged: it is missing" in refuse(saved)


def rewrite_manifest(folder: Path, **changes: Any) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.update(changes)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


def test_another_format_version_is_refused_with_both_numbers(saved: Path) -> None:
    rewrite_manifest(saved, format=2)
    assert "has format 2, but this version reads format 1" in refuse(saved)


def test_an_edited_manifest_is_refused(saved: Path) -> None:
    rewrite_manifest(saved, counters={"decisions": 1})
    assert "do not match its SHA-256" in refuse(saved)


@pytest.mark.parametrize("text", ["[]", "3", "{}", '{"format": 1}', "[" * 100_000, "\xff"])
def test_a_manifest_that_is_something_else_is_refused(saved: Path, text: str) -> None:
    (saved / "manifest.json").write_bytes(text.encode("latin-1"))
    refuse(saved)


def test_a_place_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    assert "there is no checkpoint at" in refuse(tmp_path / "nowhere")
    assert "holds no checkpoint" in refuse(tmp_path)
    (tmp_path / "file").write_text("x")
    assert "holds no checkpoint" in refuse(tmp_path / "file")


def test_a_manifest_must_be_complete_and_json_before_anything_is_written(tmp_path: Path) -> None:
    for manifest, sentence in [
        ({"config": {}}, "missing: ruleset_digest, layout_digest, equity_hash, counters"),
        ({**MANIFEST, "format": 3}, "manifest keys format are filled in"),
        ({**MANIFEST, "extra": object()}, "must be JSON data"),
        ({**MANIFEST, "extra": float("nan")}, "must be JSON data"),
        ({**MANIFEST, "extra": [{1: 2}]}, "key 1 is not a string"),
    ]:
        with pytest.raises(CheckpointError, match=sentence):
            save_checkpoint(tmp_path / "one", {}, manifest)
    with pytest.raises(CheckpointError, match="'x' holds Python objects"):
        save_checkpoint(tmp_path / "one", {"x": np.array([None])}, MANIFEST)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_for_other_rules_is_refused(saved: Path) -> None:
    checkpoint = load_checkpoint(saved)
    check_compatible(checkpoint, ruleset_digest="3f2a9c0d", equity_hash=None)
    with pytest.raises(CheckpointError, match="ruleset_digest 3f2a9c0d, but 00 is needed"):
        check_compatible(checkpoint, ruleset_digest="00")


# ---------------------------------------------------------------- runs


def save(run: Path, step: int, keep: int | None = 3) -> Path:
    manifest = {**MANIFEST, "counters": {"decisions": step}}
    return save_step(run, step, {"weight": torch.full((64, 64), float(step))}, manifest, keep)


def test_a_run_keeps_its_newest_checkpoints_and_points_at_the_last(tmp_path: Path) -> None:
    for step in (5, 10, 100, 1_000_000):
        save(tmp_path, step, keep=2)
    folder = tmp_path / "checkpoints"
    assert sorted(e.name for e in folder.iterdir()) == ["latest", "step_000000000100", "step_000001000000"]
    for place in (tmp_path, folder, folder / "step_000001000000"):
        assert load_checkpoint(place).manifest["counters"] == {"decisions": 1_000_000}
    assert latest_checkpoint(tmp_path) == folder / "step_000001000000"


def test_keep_none_keeps_all_and_keep_zero_is_refused(tmp_path: Path) -> None:
    for step in range(5):
        save(tmp_path, step, keep=None)
    assert len(list((tmp_path / "checkpoints").glob("step_*"))) == 5
    with pytest.raises(CheckpointError, match="keep >= 1, found step=1 and keep=0"):
        save(tmp_path, 1, keep=0)


def test_a_step_can_be_saved_again(tmp_path: Path) -> None:
    save(tmp_path, 5)
    save_step(tmp_path, 5, {"weight": torch.zeros(1)}, MANIFEST)
    assert load_checkpoint(tmp_path).tensors["weight"].shape == (1,)
    assert sorted(e.name for e in (tmp_path / "checkpoints").iterdir()) == ["latest", "step_000000000005"]


def test_without_its_pointer_a_run_is_still_found(tmp_path: Path) -> None:
    save(tmp_path, 5)
    save(tmp_path, 6)
    (tmp_path / "checkpoints" / "latest").unlink()
    assert load_checkpoint(tmp_path).manifest["counters"] == {"decisions": 6}


def test_a_kill_between_the_two_renames_of_a_replacement_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 5)
    rename = Path.rename

    def killed_at_the_second(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path, 5)
    assert not (tmp_path / "checkpoints" / "step_000000000005").exists()
    assert load_checkpoint(tmp_path).manifest["counters"] == {"decisions": 5}
    (tmp_path / "checkpoints" / "latest").unlink()
    assert load_checkpoint(tmp_path).manifest["counters"] == {"decisions": 5}
    save(tmp_path, 5)
    assert sorted(e.name for e in (tmp_path / "checkpoints").iterdir()) == ["latest", "step_000000000005"]


SAVER = """
import sys, torch
from phase10_agents.neural.checkpoint import save_step
manifest = {"ruleset_digest": "", "layout_digest": "", "equity_hash": None, "config": {}}
step = int(sys.argv[2])
while True:
    for again in range(2):
        tensors = {"weight": torch.full((200, 200), float(step))}
        save_step(sys.argv[1], step, tensors, {**manifest, "counters": {"decisions": step}}, keep=2)
        print(step, flush=True)
    step += 1
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_kill_at_any_moment_leaves_the_checkpoint_before_or_the_one_after(tmp_path: Path) -> None:
    dice = random.Random(3)
    step = 1
    for _ in range(6):
        saver = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(SAVER), str(tmp_path), str(step)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert saver.stdout is not None
        assert saver.stdout.readline()
        time.sleep(dice.random() * 0.1)
        saver.send_signal(signal.SIGKILL)
        reported = [step, *(int(line) for line in saver.stdout.read().split())]
        saver.stdout.close()
        saver.wait()
        checkpoint = load_checkpoint(tmp_path)
        found = checkpoint.manifest["counters"]["decisions"]
        assert found in (reported[-1], reported[-1] + 1)
        weight = checkpoint.tensors["weight"]
        assert isinstance(weight, torch.Tensor)
        assert torch.equal(weight, torch.full((200, 200), float(found)))
        step = found + 1


# ---------------------------------------------------------------- nested state


def test_optimizer_and_random_states_survive_a_checkpoint(tmp_path: Path) -> None:
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    generator = np.random.default_rng(5)
    state = {
        "adam": optimizer.state_dict(),
        "numpy": generator.bit_generator.state,
        "torch": torch.get_rng_state(),
    }
    tensors, skeleton = flatten_state(state, "state")
    save_checkpoint(tmp_path / "one", tensors, {**MANIFEST, "state": skeleton})
    checkpoint = load_checkpoint(tmp_path / "one")
    found = restore_state(checkpoint.tensors, checkpoint.manifest["state"])
    assert found["numpy"] == state["numpy"]
    assert torch.equal(found["torch"], state["torch"])
    other = torch.optim.Adam(torch.nn.Linear(3, 2).parameters())
    other.load_state_dict(found["adam"])
    for key, moment in optimizer.state_dict()["state"].items():
        assert torch.equal(other.state_dict()["state"][key]["exp_avg"], moment["exp_avg"])


json_scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
trees = st.recursive(
    json_scalars,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=20,
)


@given(trees)
def test_nested_state_survives_json(tree: Any) -> None:
    tensors, skeleton = flatten_state(tree, "x")
    found = restore_state(tensors, json.loads(json.dumps(skeleton)))
    assert found == tree
    assert type(found) is type(tree)


def test_state_that_cannot_be_stored_says_where_it_is() -> None:
    with pytest.raises(CheckpointError, match=r"'x\.a\.1' is a object"):
        flatten_state({"a": [1, object()]}, "x")
    with pytest.raises(CheckpointError, match="has the key None"):
        flatten_state({None: 1}, "x")
    with pytest.raises(CheckpointError, match=r"lacks the tensor 'x\.y'"):
        restore_state({}, {"tensor": "x.y"})
    with pytest.raises(CheckpointError, match="one key"):
        restore_state({}, 3)
