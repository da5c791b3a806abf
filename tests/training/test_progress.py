"""Progress: a bar in a terminal, few plain lines elsewhere, nothing when silent."""

import io
from collections.abc import Iterator

import pytest

from phase10_training.progress import TrainingProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds that move only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def run(progress: TrainingProgress, clock: Clock) -> Iterator[None]:
    with progress:
        for done in range(100, 1001, 100):
            clock.now += 4
            progress.update(done, {"train/loss": done / 1000})
            yield


def test_plain_lines_come_at_most_every_ten_seconds_and_at_the_end() -> None:
    stream, clock = io.StringIO(), Clock()
    for _ in run(TrainingProgress(1000, stream=stream, clock=clock), clock):
        pass
    lines = stream.getvalue().splitlines()
    assert [line.split(" ")[1] for line in lines] == ["100/1.00k", "400/1.00k", "700/1.00k", "1.00k/1.00k"]
    assert lines[1] == "training 400/1.00k (40 %) · 25 decisions/s · 24 s left · train/loss 0.4"
    assert lines[-1] == "training 1.00k/1.00k (100 %) · 25 decisions/s · train/loss 1"


def test_throughput_counts_only_what_this_process_did() -> None:
    clock = Clock()
    progress = TrainingProgress(1000, done=500, stream=io.StringIO(), clock=clock)
    assert progress.throughput == 0
    clock.now = 10
    progress.update(600)
    assert progress.throughput == 10


def test_silence_writes_nothing() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = TrainingProgress(1000, stream=stream, every=None, clock=clock)
    for _ in run(progress, clock):
        progress.message("unheard")
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar_with_the_same_words() -> None:
    stream, clock = Terminal(), Clock()
    progress = TrainingProgress(1000, title="quickstart", stream=stream, clock=clock)
    for _ in run(progress, clock):
        progress.message("saved [a checkpoint]")
    assert "quickstart" in stream.getvalue()
    assert "decisions/s" in stream.getvalue()
    assert "saved [a checkpoint]" in stream.getvalue()
    assert "100 %" in stream.getvalue()


def test_the_default_stream_is_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with TrainingProgress(10) as progress:
        progress.update(10)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("training 10/10 (100 %)")
