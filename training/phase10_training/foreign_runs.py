"""What the trainings with foreign libraries share: the settings of a run on the command line, and its last words."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from phase10_training.config import build_config, parse_override
from phase10_training.errors import UsageError
from phase10_training.evaluate import EvaluationResult
from phase10_training.files import SETTINGS_FILE

if TYPE_CHECKING:
    from phase10_training.train import TrainOptions

__all__ = ["print_run", "settings_of"]

_Settings = TypeVar("_Settings", bound=msgspec.Struct)


def settings_of(kind: type[_Settings], name: str, options: TrainOptions, folder: Path) -> _Settings:
    """Return the settings: the defaults, or those of the run that is resumed, with the overrides.

    Args:
        kind: of the settings.
        name: of the configuration, for errors.
        options: of the command line.
        folder: of the run.
    """
    data: dict[str, Any] = {}
    source = name
    if options.output.resume:
        path = folder / SETTINGS_FILE
        source = str(path)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise UsageError(
                f"{source!r} cannot be read ({problem}); begin a run without --resume."
            ) from None
    for text in options.sets.overrides:
        key, value = parse_override(kind, text)
        data[key] = value
    if options.seed is not None:
        data["seed"] = options.seed
    return build_config(kind, data, source)


def print_run(folder: Path, results: Sequence[EvaluationResult], as_json: bool, lines: Sequence[str]) -> None:
    """Print the evaluation of a run, then where it is and `lines`; or all of it as JSON."""
    if as_json:
        found = {"run": str(folder), "evaluation": [result.to_dict() for result in results]}
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
        return
    table = [
        f"{result.opponent:<16} {100 * result.win_share:5.1f} %   "
        f"95 % interval {100 * result.interval[0]:.1f} - {100 * result.interval[1]:.1f}   "
        f"par {100 * result.par:.1f} %   deals {result.deals}   illegal actions {result.illegal_actions}"
        for result in results
    ]
    where = [f"run          {folder}", f"TensorBoard  tensorboard --logdir {folder}"]
    sys.stdout.write("\n".join([*table, *where, *lines]) + "\n")
