"""Files are written whole or not at all, by one helper for all; what cannot be written is refused before the work."""

import os
import re
import threading
from pathlib import Path

import pytest

import phase10_training
from phase10_training.cli import main
from phase10_training.errors import UsageError
from phase10_training.files import check_file, check_folder, write_bytes, write_text

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


# ---- before the work


def test_places_that_can_be_written_are_left_as_they_are(tmp_path: Path) -> None:
    check_folder("--out", tmp_path)
    check_folder("--out", tmp_path / "new" / "folder")
    check_file("--out", tmp_path / "new" / "file.json")
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written_are_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        UsageError, match=r"^--out expects a folder that can be written, found '.*/file/x' \(Not a d"
    ):
        check_folder("--out", tmp_path / "file" / "x")
    with pytest.raises(
        UsageError, match=r"^--html expects a file that can be written, found '.*/file/x/y.html'"
    ):
        check_file("--html", tmp_path / "file" / "x" / "y.html")
    with pytest.raises(UsageError, match=r"^--html expects a file, found the folder"):
        check_file("--html", tmp_path)
    with pytest.raises(UsageError, match="File name too long"):
        check_folder("--out", tmp_path / ("x" * 1000))


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("tournament greedy melder --deals 100000 --out OUT --records FILE/x", "--records"),
        ("equity greedy --games 1000000 --out /proc/fit.json", "--out"),
        ("export no/such/run --out FILE/x", "--out"),
        ("replay RECORD --agent search:playouts=100000 --html FILE/x/page.html", "--html"),
        ("play human greedy --out FILE/x", "--out"),
        ("label --decisions 100000000 --out FILE/x", "FILE"),
    ],
)
def test_results_that_could_not_be_written_are_refused_before_the_work(
    text: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "/proc/" in text and not Path("/proc").is_dir():
        pytest.skip("there is no folder here in which nobody may write")
    (tmp_path / "FILE").touch()
    record = Path(__file__).parents[1] / "golden" / "official.p10"
    words = text.replace("OUT", str(tmp_path / "out")).replace("RECORD", str(record))
    assert main(words.replace("FILE", str(tmp_path / "FILE")).split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith("error: ")
    assert option in captured.err
    assert "games/s" not in captured.err
    assert [path.name for path in tmp_path.iterdir()] == ["FILE"]


@pytest.mark.parametrize("found", ["metrics.jsonl", "labels.json", "results.sqlite"])
@pytest.mark.parametrize(
    "words",
    [
        ["tournament", "random", "melder", "--deals", "2"],
        ["label", "--decisions", "10"],
        ["train", "smoke"],
    ],
)
def test_results_of_another_kind_are_not_mixed_in(
    words: list[str], found: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"tournament": "results.sqlite", "label": "labels.json", "train": "metrics.jsonl"}[words[0]]
    if own == found:
        pytest.skip("its own results")
    (tmp_path / found).write_text("{}")
    assert main([*words, "--out", str(tmp_path)]) == 2
    assert "error: --out expects a folder of its own" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [found]
