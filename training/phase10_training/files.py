"""Writing files whole or not at all."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write_text"]


def write_text(path: Path, text: str) -> None:
    """Write a text file under a temporary name and rename it: a kill leaves the former file or the new one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "note.txt", "kept")
    ...     [path.name for path in Path(folder).iterdir()]
    ['note.txt']
    """
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
