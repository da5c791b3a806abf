"""Files are written whole or not at all, by one helper for all of them."""

import os
import re
import threading
from pathlib import Path

import pytest

import phase10_training
from phase10_training.files import write_bytes, write_text

OWN_RENAMES = {
    "export.py": "a whole folder",
    "files.py": "the helper",
    "labels.py": "arrays that numpy writes",
    "sb3.py": "a model that Stable-Baselines3 writes",
}
"""Modules that rename a file or a folder into place themselves, and what it is."""


@pytest.mark.parametrize(
    "write", [lambda path: write_text(path, "new"), lambda path: write_bytes(path, b"new")]
)
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    write: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file"
    write_text(target, "old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write(target)  # type: ignore[operator]
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_folders_are_made_and_private_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    write_text(tmp_path / "a" / "b.txt", "größer", private=True)
    assert (tmp_path / "a" / "b.txt").read_bytes() == "größer".encode()
    assert (tmp_path / "a" / "b.txt").stat().st_mode & 0o077 == 0


def test_writers_side_by_side_leave_one_whole_text(tmp_path: Path) -> None:
    texts = [letter * 100_000 for letter in "abcd"]
    writers = [threading.Thread(target=write_text, args=(tmp_path / "file", text)) for text in texts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (tmp_path / "file").read_text() in texts
    assert len(list(tmp_path.iterdir())) == 1


def test_nothing_else_renames_files_into_place_itself() -> None:
    folder = Path(phase10_training.__file__).parent
    renames = re.compile(r"os\.replace\(|(?:partial|draft)\.(?:replace|rename)\(")
    found = {path.name for path in folder.glob("*.py") if renames.search(path.read_text(encoding="utf-8"))}
    assert found == set(OWN_RENAMES)
