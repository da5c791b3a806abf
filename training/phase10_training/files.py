"""Writing files whole or not at all, and finding out before long work whether its results can be written."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from pathlib import Path

from phase10_training.errors import UsageError

__all__ = [
    "SETTINGS_FILE",
    "check_file",
    "check_folder",
    "check_own",
    "check_total",
    "write_bytes",
    "write_text",
]

SETTINGS_FILE = "settings.json"
"""What a run was told, in its folder."""
RESULTS = {"metrics.jsonl": "a run", "labels.json": "labels", "results.sqlite": "a tournament"}
"""What a folder holds that has a file of this name."""


def check_own(option: str, folder: Path, own: str) -> None:
    """Refuse a folder that holds results of another kind: two kinds in one could not be told apart.

    Args:
        option: that named the folder.
        folder: may not exist yet.
        own: the file of `RESULTS` that this command writes.

    Raises:
        UsageError: naming what was found.
    """
    for name, what in RESULTS.items():
        if name != own and (folder / name).exists():
            raise UsageError(
                f"{option} expects a folder of its own for {RESULTS[own]}, found {what} in {str(folder)!r}; "
                "name another."
            )


def check_total(folder: Path, total: int, done: int) -> None:
    """Refuse to go on with a run to fewer decisions than it has done: what it was told would be lost for nothing.

    The number that stands in its settings is always taken: the last rollout of a run may go beyond it.

    Args:
        folder: of the run.
        total: `total_decisions` to go on to.
        done: decisions done.

    Raises:
        UsageError: naming both numbers.
    """
    try:
        former = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8")).get("total_decisions")
    except (OSError, ValueError, AttributeError):
        former = None
    if total < done and total != former:
        raise UsageError(
            f"total_decisions expects at least {done}, what the run in {str(folder)!r} has done, found {total}; "
            "name more, or leave it out to evaluate the run again."
        )


def check_folder(option: str, folder: Path) -> None:
    """Refuse a folder that cannot be made or written, before the work whose results go there; nothing is left.

    Raises:
        UsageError: naming the option, the folder and the reason.
    """
    _try(option, folder, folder, "folder")


def check_file(option: str, path: Path) -> None:
    """Refuse a file that cannot be written, before the work whose result it shall hold; nothing is left.

    Raises:
        UsageError: naming the option, the file and the reason.
    """
    if path.is_dir():
        raise UsageError(f"{option} expects a file, found the folder {str(path)!r}; name a file in it.")
    _try(option, path, path.parent, "file")


def _try(option: str, wanted: Path, folder: Path, kind: str) -> None:
    """Write a file without a name where the folder is, or where it will be made."""
    try:
        there = folder
        while not there.exists() and there != there.parent:
            there = there.parent
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as problem:
        raise UsageError(
            f"{option} expects a {kind} that can be written, found {str(wanted)!r} ({problem.strerror}); "
            "name another one."
        ) from None


def write_bytes(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file under a temporary name and rename it: a kill leaves the former file or the new one.

    Writers of the same file in other processes and threads do not disturb each other; the last one wins.

    Args:
        path: the file; its folder is made if missing.
        data: what it shall hold.
        private: let only its owner read it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600 if private else 0o666)
    try:
        with open(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a text file as UTF-8, whole or not at all (`write_bytes`).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "note.txt", "kept")
    ...     [path.name for path in Path(folder).iterdir()]
    ['note.txt']
    """
    write_bytes(path, text.encode("utf-8"), private=private)
