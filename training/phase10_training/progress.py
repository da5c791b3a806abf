"""Shows how far a long run is, on standard error: a live bar in a terminal, plain lines elsewhere."""

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

__all__ = ["TrainingProgress", "short_count", "short_duration"]

_SHOWN_METRICS = 4


def short_count(count: float) -> str:
    """Return a count in at most five characters.

    >>> [short_count(n) for n in (7, 950, 12_345, 3_400_000, 2e9)]
    ['7', '950', '12.3k', '3.40M', '2.00G']
    """
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            number = count / size
            return f"{number:.{2 if number < 10 else 1 if number < 100 else 0}f}{suffix}"
    return f"{count:.0f}"


def short_duration(seconds: float) -> str:
    """Return a duration as people say it.

    >>> [short_duration(s) for s in (8, 75, 7260, 200_000)]
    ['8 s', '1 min 15 s', '2 h 01 min', '2 d 07 h']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"


class TrainingProgress:
    """Show decisions done, throughput, time left and the newest metrics while training runs.

    Args:
        total: decisions to reach.
        done: decisions already done (by the run that is resumed).
        title: what is running.
        stream: where to write; standard error if None.
        every: seconds between plain lines where the stream is not a terminal; None stays silent there.
        clock: seconds, monotonic; another one in tests.
        unit: what is counted.

    >>> import io
    >>> lines = io.StringIO()
    >>> ticks = iter(range(0, 100, 10))
    >>> with TrainingProgress(1000, title="demo", stream=lines, clock=lambda: next(ticks)) as progress:
    ...     progress.update(500, {"train/loss": 0.25})
    >>> print(lines.getvalue().strip())
    demo 500/1.00k (50 %) · 50 decisions/s · 10 s left · train/loss 0.25
    """

    def __init__(
        self,
        total: int,
        done: int = 0,
        title: str = "training",
        stream: TextIO | None = None,
        every: float | None = 10.0,
        clock: Callable[[], float] = time.monotonic,
        unit: str = "decisions",
    ) -> None:
        self._total, self._done, self._title = total, done, title
        self._stream = sys.stderr if stream is None else stream
        self._every, self._clock, self._unit = every, clock, unit
        self._history: deque[tuple[float, int]] = deque([(clock(), done)], maxlen=20)
        self._last_line: float | None = None
        self._bar: Progress | None = None
        if self._stream.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:.0f} %"),
                TextColumn("{task.fields[status]}"),
                console=Console(file=self._stream),
                transient=False,
            )
            self._task = self._bar.add_task(title, total=total, completed=done, status="")

    def update(self, done: int, metrics: Mapping[str, float] | None = None) -> None:
        """Show that `done` decisions are done, with the newest values of up to four metrics."""
        now = self._clock()
        self._history.append((now, done))
        self._done = done
        status = self._status(metrics or {})
        if self._bar is not None:
            self._bar.update(self._task, completed=done, status=status)
            return
        due = self._every is not None and (
            self._last_line is None or now - self._last_line >= self._every or done >= self._total
        )
        if due:
            self._last_line = now
            percent = min(100, 100 * done / max(self._total, 1))
            counts = f"{short_count(done)}/{short_count(self._total)} ({percent:.0f} %)"
            self._stream.write(f"{self._title} {counts} · {status}\n")
            self._stream.flush()

    def message(self, text: str) -> None:
        """Write one line of text above the bar."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        elif self._every is not None:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    @property
    def throughput(self) -> float:
        """Decisions per second over the last updates; 0 before the first."""
        (begin, first), (end, last) = self._history[0], self._history[-1]
        return (last - first) / (end - begin) if end > begin else 0.0

    def _status(self, metrics: Mapping[str, float]) -> str:
        rate = self.throughput
        parts = [f"{short_count(rate)} {self._unit}/s"]
        if rate > 0 and self._done < self._total:
            parts.append(f"{short_duration((self._total - self._done) / rate)} left")
        parts += [f"{tag} {value:.3g}" for tag, value in list(metrics.items())[:_SHOWN_METRICS]]
        return " · ".join(parts)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
