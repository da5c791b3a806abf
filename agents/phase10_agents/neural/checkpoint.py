"""Saves and loads checkpoints: one folder with tensors.safetensors and manifest.json, never a pickle.

A checkpoint folder appears whole or not at all: it is written under a temporary name, flushed to disk and
renamed. The manifest carries the SHA-256 of the tensor file and of itself, so that a file that was cut or
altered is refused. A run keeps its checkpoints as `checkpoints/step_000000123456/` beside a file `latest`
that names the newest one.
"""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch

__all__ = [
    "FORMAT_VERSION",
    "Checkpoint",
    "CheckpointError",
    "Tensors",
    "check_compatible",
    "latest_checkpoint",
    "load_checkpoint",
    "save_checkpoint",
    "save_step",
]

FORMAT_VERSION = 1
"""Of checkpoint folders; other formats are refused."""
TENSOR_FILE = "tensors.safetensors"
MANIFEST_FILE = "manifest.json"
LATEST_FILE = "latest"
CHECKPOINTS_FOLDER = "checkpoints"
LIBRARIES = ("phase10-env", "torch", "numpy", "numba", "safetensors")
REQUIRED_KEYS = ("ruleset_digest", "layout_digest", "equity_hash", "config", "counters")
_OWN_KEYS = ("format", "tensors_sha256", "arrays", "libraries", "python", "manifest_sha256")

Tensors = dict[str, torch.Tensor | np.ndarray[Any, Any]]
"""What a checkpoint holds, by name."""


class CheckpointError(ValueError):
    """Report a checkpoint that cannot be saved or used, in one sentence."""


@dataclass(frozen=True)
class Checkpoint:
    """Hold a loaded checkpoint.

    Attributes:
        path: the folder it was read from.
        tensors: what was saved, by name: torch tensors on the CPU, numpy arrays with their own dtype.
        manifest: what was saved beside them, and `format`, `libraries`, `python`.
    """

    path: Path
    tensors: Tensors
    manifest: dict[str, Any]

    def group(self, prefix: str) -> Tensors:
        """Return the tensors whose names begin with `prefix` and a dot, without that beginning."""
        start = f"{prefix}."
        return {
            name.removeprefix(start): value for name, value in self.tensors.items() if name.startswith(start)
        }

    def weights(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return the torch tensors under `prefix`, ready for `Module.load_state_dict`."""
        return {name: value for name, value in self.group(prefix).items() if isinstance(value, torch.Tensor)}


# ---------------------------------------------------------------- saving


def save_checkpoint(
    path: str | os.PathLike[str],
    tensors: Mapping[str, torch.Tensor | np.ndarray[Any, Any]],
    manifest: Mapping[str, Any],
) -> Path:
    """Write one checkpoint folder; a kill at any moment leaves the previous one or the new one.

    Args:
        path: the folder to write; one that exists is replaced.
        tensors: by name; torch tensors of any device, numpy arrays of any dtype without objects (structured
            arrays and uint64 included).
        manifest: JSON data with at least `ruleset_digest`, `layout_digest`, `equity_hash` (may be None),
            `config` and `counters`; any further keys are kept.

    Returns:
        The folder.

    Raises:
        CheckpointError: a key is missing or reserved, or something in it cannot be stored.
    """
    folder = Path(path)
    _check_given(manifest)
    data, arrays = _encode_tensors(tensors)
    text = _sealed(manifest, hashlib.sha256(data).hexdigest(), arrays)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    _write_flushed(partial / TENSOR_FILE, data)
    _write_flushed(partial / MANIFEST_FILE, text)
    _flush_folder(partial)
    _replace_folder(partial, folder)
    return folder


def save_step(
    run_dir: str | os.PathLike[str],
    step: int,
    tensors: Mapping[str, torch.Tensor | np.ndarray[Any, Any]],
    manifest: Mapping[str, Any],
    keep: int | None = 3,
) -> Path:
    """Write the checkpoint of one step of a run, point `latest` at it and remove old ones.

    Args:
        run_dir: the folder of the run; the checkpoint goes to `checkpoints/step_…` in it.
        step: decisions done, which names and orders the checkpoints.
        tensors, manifest: as for `save_checkpoint`.
        keep: how many of the newest checkpoints stay (at least 1), or None for all.

    Returns:
        The folder of the new checkpoint.

    Raises:
        CheckpointError: as for `save_checkpoint`; or `keep` or `step` is out of range.
    """
    if step < 0 or (keep is not None and keep < 1):
        raise CheckpointError(
            f"a checkpoint needs step >= 0 and keep >= 1, found step={step} and keep={keep}."
        )
    parent = Path(run_dir) / CHECKPOINTS_FOLDER
    folder = save_checkpoint(parent / f"step_{step:012d}", tensors, manifest)
    pointer = parent / f".{LATEST_FILE}.partial"
    _write_flushed(pointer, f"{folder.name}\n".encode())
    pointer.replace(parent / LATEST_FILE)
    _flush_folder(parent)
    for old in _steps(parent)[:-keep] if keep is not None else []:
        if old != folder:
            shutil.rmtree(_previous(old), ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)
    return folder


def _check_given(manifest: Mapping[str, Any]) -> None:
    missing = [key for key in REQUIRED_KEYS if key not in manifest]
    if missing:
        raise CheckpointError(
            f"a checkpoint manifest needs the keys {', '.join(REQUIRED_KEYS)}; missing: {', '.join(missing)}."
        )
    reserved = [key for key in _OWN_KEYS if key in manifest]
    if reserved:
        raise CheckpointError(
            f"the manifest keys {', '.join(reserved)} are filled in on saving; leave them out."
        )


def _encode_tensors(
    tensors: Mapping[str, torch.Tensor | np.ndarray[Any, Any]],
) -> tuple[bytes, dict[str, dict[str, Any]]]:
    """Return the safetensors bytes, and for each numpy array how to read its bytes."""
    plain: dict[str, torch.Tensor] = {}
    arrays: dict[str, dict[str, Any]] = {}
    for name, value in tensors.items():
        if isinstance(value, torch.Tensor):
            # A copy, since safetensors refuses tensors that share memory.
            plain[name] = value.detach().to("cpu").clone(memory_format=torch.contiguous_format)
            continue
        if value.dtype.hasobject:
            raise CheckpointError(
                f"the array {name!r} holds Python objects, which a checkpoint cannot store; use numbers."
            )
        arrays[name] = {"dtype": np.lib.format.dtype_to_descr(value.dtype), "shape": list(value.shape)}
        plain[name] = torch.frombuffer(bytearray(value.tobytes()) or bytearray(1), dtype=torch.uint8)[
            : value.nbytes
        ].clone()
    return safetensors.torch.save(plain), arrays


def _sealed(manifest: Mapping[str, Any], tensors_sha256: str, arrays: dict[str, dict[str, Any]]) -> bytes:
    body = {
        "format": FORMAT_VERSION,
        "tensors_sha256": tensors_sha256,
        "libraries": _library_versions(),
        "python": platform.python_version(),
        **manifest,
        "arrays": arrays,
    }
    try:
        _check_keys(manifest)
        seal = hashlib.sha256(_json_bytes(body)).hexdigest()
        return _json_bytes({**body, "manifest_sha256": seal})
    except (TypeError, ValueError) as problem:
        raise CheckpointError(
            f"the checkpoint manifest must be JSON data (finite numbers, string keys): {problem}."
        ) from None


def _check_keys(data: Any) -> None:
    """Refuse keys that JSON would silently turn into strings."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
            _check_keys(value)
    elif isinstance(data, (list, tuple)):
        for value in data:
            _check_keys(value)


def _json_bytes(data: Any) -> bytes:
    return (json.dumps(data, indent=2, allow_nan=False) + "\n").encode()


def _library_versions() -> dict[str, str]:
    versions: dict[str, str] = {}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def _write_flushed(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows cannot open folders
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _previous(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.previous")


def _replace_folder(partial: Path, folder: Path) -> None:
    """Rename `partial` to `folder`; in between, the old one waits where `load_checkpoint` finds it."""
    if folder.exists():
        shutil.rmtree(_previous(folder), ignore_errors=True)
        folder.rename(_previous(folder))
    partial.rename(folder)
    _flush_folder(folder.parent)
    shutil.rmtree(_previous(folder), ignore_errors=True)


# ---------------------------------------------------------------- loading


def latest_checkpoint(path: str | os.PathLike[str]) -> Path:
    """Return the checkpoint folder meant by `path`: itself, or the newest one of a run.

    Args:
        path: a checkpoint folder, a run folder, or the `checkpoints` folder of a run.

    Raises:
        CheckpointError: there is none.
    """
    given = Path(path)
    if (given / MANIFEST_FILE).exists() or (given / TENSOR_FILE).exists():
        return given
    if _previous(given).is_dir():
        return _previous(given)
    for parent in (given / CHECKPOINTS_FOLDER, given):
        pointer = parent / LATEST_FILE
        if pointer.is_file():
            name = pointer.read_text(encoding="utf-8", errors="replace").strip()
            if (
                name
                and Path(name).name == name
                and ((parent / name).is_dir() or _previous(parent / name).is_dir())
            ):
                return latest_checkpoint(parent / name)
        if _steps(parent):
            return latest_checkpoint(_steps(parent)[-1])
    if not given.exists():
        raise CheckpointError(
            f"there is no checkpoint at {str(given)!r}; give the folder of a run or of a checkpoint."
        )
    raise CheckpointError(
        f"{str(given)!r} holds no checkpoint ({MANIFEST_FILE} and {TENSOR_FILE}); "
        "give the folder of a run or of a checkpoint."
    )


def _steps(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    waiting = {folder.name[1:].removesuffix(".previous") for folder in parent.glob(".step_*.previous")}
    return [parent / name for name in sorted({folder.name for folder in parent.glob("step_*")} | waiting)]


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Load a checkpoint and check every byte of it.

    Args:
        path: a checkpoint folder, or a run folder, whose newest checkpoint is meant.

    Raises:
        CheckpointError: nothing there, a file is cut, altered or of another format version.
    """
    folder = latest_checkpoint(path)
    manifest = _read_manifest(folder)
    data = _read(folder / TENSOR_FILE)
    if hashlib.sha256(data).hexdigest() != manifest["tensors_sha256"]:
        raise _damaged(folder / TENSOR_FILE, "its SHA-256 is not the one in the manifest")
    try:
        tensors: Tensors = dict(safetensors.torch.load(data))
        for name, entry in manifest["arrays"].items():
            raw = tensors[name]
            assert isinstance(raw, torch.Tensor)
            dtype = np.lib.format.descr_to_dtype(_tuples(entry["dtype"]))
            tensors[name] = np.frombuffer(bytearray(raw.numpy().tobytes()), dtype=dtype).reshape(
                entry["shape"]
            )
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise _damaged(folder / TENSOR_FILE, f"its tensors cannot be read ({problem})") from None
    return Checkpoint(
        folder,
        tensors,
        {key: value for key, value in manifest.items() if key not in ("arrays", "manifest_sha256")},
    )


def _read_manifest(folder: Path) -> dict[str, Any]:
    file = folder / MANIFEST_FILE
    data = _read(file)
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        raise _damaged(file, "it is not JSON") from None
    if not isinstance(manifest, dict):
        raise _damaged(file, "it is not a JSON object")
    found = manifest.get("format")
    if found != FORMAT_VERSION:
        raise CheckpointError(
            f"the checkpoint {str(folder)!r} has format {found!r}, but this version reads format "
            f"{FORMAT_VERSION}; load it with the version that wrote it."
        )
    body = {key: value for key, value in manifest.items() if key != "manifest_sha256"}
    try:
        seal = hashlib.sha256(_json_bytes(body)).hexdigest()
        intact = manifest.get("manifest_sha256") == seal and _json_bytes(manifest) == data
    except ValueError:
        intact = False
    if not intact:
        raise _damaged(file, "its contents do not match its SHA-256")
    missing = [key for key in (*REQUIRED_KEYS, "tensors_sha256", "arrays") if key not in manifest]
    if missing:
        raise _damaged(file, f"it lacks {', '.join(missing)}")
    return manifest


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise _damaged(file, "it is missing") from None
    except OSError as problem:
        raise CheckpointError(
            f"the checkpoint file {str(file)!r} cannot be read: {problem.strerror}."
        ) from None


def _damaged(file: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint file {str(file)!r} is damaged: {reason}; use an earlier checkpoint."
    )


def _tuples(descr: Any) -> Any:
    """Undo what JSON does to a dtype description: its fields and shapes are tuples."""
    if isinstance(descr, str):
        return descr
    if descr and isinstance(descr[0], str):  # a subarray: (dtype, shape)
        return (_tuples(descr[0]), tuple(descr[1]))
    fields = []
    for name, inner, *shape in descr:
        titled = name if isinstance(name, str) else tuple(name)
        fields.append((titled, _tuples(inner), *(tuple(lengths) for lengths in shape)))
    return fields


def check_compatible(checkpoint: Checkpoint, **expected: str | None) -> None:
    """Refuse a checkpoint made for other rules, another observation layout or another equity table.

    Args:
        checkpoint: what was loaded.
        expected: the wanted values, by manifest key: `ruleset_digest`, `layout_digest`, `equity_hash`.

    Raises:
        CheckpointError: one of them differs.
    """
    for key, wanted in expected.items():
        found = checkpoint.manifest.get(key)
        if found != wanted:
            raise CheckpointError(
                f"the checkpoint {str(checkpoint.path)!r} has the {key} {found}, but {wanted} is needed; "
                "use the settings it was trained with or another checkpoint."
            )
