"""Writes what a run measures: TensorBoard scalars, and the same values as JSON lines.

One line of `metrics.jsonl` is one step: {"step": decisions done, "seconds": since the start, tag: value, …}.
"""

import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from phase10_training.errors import UsageError
from phase10_training.files import write_text

__all__ = ["METRICS_FILE", "MetricsLogger", "RunExistsError", "read_metrics"]

METRICS_FILE = "metrics.jsonl"
"""The file of a run that has one line for each step that was logged."""
TENSORBOARD_FOLDER = "tensorboard"


class RunExistsError(UsageError):
    """Report that a new run would write over an old one."""


class MetricsLogger:
    """Write metrics of one run as TensorBoard events and JSON lines, each flushed at once.

    Args:
        run_dir: the folder of the run; made if missing. Events go to `tensorboard/`, lines to
            `metrics.jsonl`.
        resume_step: the step (decisions done) of the checkpoint that training goes on from; whatever was
            logged later is cut off, so that no step appears twice. None begins a new run.

    Raises:
        RunExistsError: a new run in a folder that already holds metrics.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with MetricsLogger(folder) as metrics:
    ...         metrics.log(4096, {"train/loss": 0.5})
    ...     [line["train/loss"] for line in read_metrics(folder)]
    [0.5]
    """

    def __init__(self, run_dir: str | os.PathLike[str], resume_step: int | None = None) -> None:
        self.run_dir = Path(run_dir)
        self.run_dir.mkdir(parents=True, exist_ok=True)
        path = self.run_dir / METRICS_FILE
        earlier = read_metrics(self.run_dir)
        if resume_step is None and earlier:
            raise RunExistsError(
                f"{str(self.run_dir)!r} already holds a run; go on with --resume or choose another --out."
            )
        kept = [line for line in earlier if resume_step is not None and line["step"] <= resume_step]
        write_text(path, "".join(json.dumps(line) + "\n" for line in kept))
        self._started = time.monotonic() - (kept[-1].get("seconds", 0.0) if kept else 0.0)
        self._last_step = kept[-1]["step"] if kept else -1
        self._lines = path.open("a", encoding="utf-8")
        _await_next_second(self.run_dir / TENSORBOARD_FOLDER)
        self._writer = SummaryWriter(
            str(self.run_dir / TENSORBOARD_FOLDER),
            purge_step=None if resume_step is None else resume_step + 1,
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Write the values of one step.

        Args:
            step: decisions done; larger than that of the call before.
            values: by tag, such as `train/loss`; values that are not finite become null in the JSON line.

        Raises:
            ValueError: the step does not grow.
        """
        if step <= self._last_step:
            raise ValueError(f"expected a step above {self._last_step}, found {step}; log each step once.")
        self._last_step = step
        line: dict[str, Any] = {"step": int(step), "seconds": round(time.monotonic() - self._started, 3)}
        for tag, value in values.items():
            number = float(value)
            line[tag] = number if math.isfinite(number) else None
            self._writer.add_scalar(tag, number, step)
        self._lines.write(json.dumps(line, allow_nan=False) + "\n")
        self._lines.flush()
        self._writer.flush()

    def add_text(self, tag: str, text: str, step: int = 0) -> None:
        """Write a Markdown text to TensorBoard."""
        self._writer.add_text(tag, text, step)

    def add_config(self, config: Mapping[str, Any], metrics: Mapping[str, float] | None = None) -> None:
        """Write the settings to TensorBoard: as a table, and as hyper-parameters for its HPARAMS page.

        Args:
            config: nested dicts and scalars, as `config_to_dict` gives them.
            metrics: tags (with start values) that the HPARAMS page shows beside the settings.
        """
        flat = flat_settings(config)
        rows = "\n".join(f"| `{key}` | `{value}` |" for key, value in flat.items())
        self.add_text("config", f"| key | value |\n|---|---|\n{rows}")
        simple = {k: v if isinstance(v, (bool, int, float, str)) else json.dumps(v) for k, v in flat.items()}
        summaries = hparams(simple, dict(metrics or {}))  # type: ignore[no-untyped-call] # torch leaves it untyped
        for summary in summaries:
            self._writer._get_file_writer().add_summary(summary)  # type: ignore[no-untyped-call] # as above
        self._writer.flush()

    def close(self) -> None:
        """Close both files."""
        self._lines.close()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _await_next_second(folder: Path) -> None:
    """Wait until a new event file sorts after the old ones: TensorBoard reads them by the second in their names."""
    seconds = [int(path.name.split(".")[3]) for path in folder.glob("events.out.tfevents.*")]
    while seconds and int(time.time()) <= max(seconds) <= int(time.time()) + 1:
        time.sleep(0.05)


def flat_settings(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings as one dict by dotted key.

    >>> flat_settings({"optimizer": {"rate": 0.1}, "seed": 1})
    {'optimizer.rate': 0.1, 'seed': 1}
    """
    flat: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flat_settings(value, f"{name}."))
        else:
            flat[name] = value
    return flat


def read_metrics(run_dir: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the JSON lines of a run, oldest first; a last line that a kill cut short is left out.

    Args:
        run_dir: the folder of the run; one without metrics gives an empty list.

    Raises:
        UsageError: another line is not one that `MetricsLogger` writes; the sentence names it.
    """
    path = Path(run_dir) / METRICS_FILE
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    rows = text.split("\n")[:-1]  # what follows the last line end was cut short
    return [_parsed(row, number, path) for number, row in enumerate(rows, 1) if row.strip()]


def _parsed(row: str, number: int, path: Path) -> dict[str, Any]:
    try:
        line = json.loads(row)
    except ValueError:
        line = None
    if not isinstance(line, dict) or not isinstance(line.get("step"), int):
        raise UsageError(
            f"line {number} of {str(path)!r} is not a JSON object with a step; remove that line."
        )
    return line
