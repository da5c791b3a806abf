"""Writing files whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

__all__ = ["write_bytes", "write_text"]


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
