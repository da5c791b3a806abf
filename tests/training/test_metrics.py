"""What a run writes down: the same values twice, and no step twice."""

import json
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from phase10_training.errors import UsageError
from phase10_training.metrics import MetricsLogger, RunExistsError, read_metrics


def events(run: Path) -> EventAccumulator:
    found = EventAccumulator(str(run / "tensorboard"))
    found.Reload()
    return found


def steps(run: Path) -> list[int]:
    return [line["step"] for line in read_metrics(run)]


def test_tensorboard_and_json_lines_hold_the_same_values(tmp_path: Path) -> None:
    with MetricsLogger(tmp_path) as metrics:
        metrics.log(10, {"train/loss": 0.5, "phase10/phase_reached": 2})
        metrics.log(20, {"train/loss": 0.25})
    scalars = [(event.step, event.value) for event in events(tmp_path).Scalars("train/loss")]
    lines = [(line["step"], line["train/loss"]) for line in read_metrics(tmp_path)]
    assert scalars == lines == [(10, 0.5), (20, 0.25)]
    assert events(tmp_path).Tags()["scalars"] == ["train/loss", "phase10/phase_reached"]


def test_each_line_is_on_disk_at_once(tmp_path: Path) -> None:
    metrics = MetricsLogger(tmp_path)
    metrics.log(10, {"train/loss": 0.5})
    assert steps(tmp_path) == [10]
    metrics.close()


def test_values_that_are_not_finite_are_null_so_that_each_line_is_json(tmp_path: Path) -> None:
    with MetricsLogger(tmp_path) as metrics:
        metrics.log(1, {"a": float("nan"), "b": float("inf"), "c": 1})
    [line] = (tmp_path / "metrics.jsonl").read_text().splitlines()
    found = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (found["a"], found["b"], found["c"]) == (None, None, 1.0)


def test_resuming_cuts_back_to_the_step_of_the_checkpoint(tmp_path: Path) -> None:
    with MetricsLogger(tmp_path) as metrics:
        for step in (10, 20, 30, 40):
            metrics.log(step, {"x": step})
    with MetricsLogger(tmp_path, resume_step=20) as metrics:
        assert steps(tmp_path) == [10, 20]
        metrics.log(30, {"x": -30})
    assert [(line["step"], line["x"]) for line in read_metrics(tmp_path)] == [(10, 10), (20, 20), (30, -30)]
    assert [(event.step, event.value) for event in events(tmp_path).Scalars("x")] == [
        (10, 10),
        (20, 20),
        (30, -30),
    ]


def test_time_goes_on_where_the_kept_part_ended(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 10, "seconds": 500.0}\n')
    with MetricsLogger(tmp_path, resume_step=10) as metrics:
        metrics.log(20, {})
    assert read_metrics(tmp_path)[-1]["seconds"] >= 500


def test_resuming_a_run_without_metrics_begins_them(tmp_path: Path) -> None:
    with MetricsLogger(tmp_path / "new", resume_step=0) as metrics:
        metrics.log(1, {})
    assert steps(tmp_path / "new") == [1]


def test_a_line_that_a_kill_cut_short_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 10, "x": 1}\n{"step": 20, "x"')
    assert steps(tmp_path) == [10]
    with MetricsLogger(tmp_path, resume_step=20) as metrics:
        metrics.log(30, {})
    assert steps(tmp_path) == [10, 30]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 10}\nnonsense\n{"step": 20}\n')
    with pytest.raises(UsageError, match=r"line 2 of .*metrics.jsonl' is not a JSON object with a step"):
        read_metrics(tmp_path)


def test_a_new_run_does_not_write_over_an_old_one(tmp_path: Path) -> None:
    with MetricsLogger(tmp_path) as metrics:
        metrics.log(10, {})
    with pytest.raises(
        RunExistsError, match="already holds a run; go on with --resume or choose another --out"
    ):
        MetricsLogger(tmp_path)
    assert steps(tmp_path) == [10]


def test_steps_only_grow(tmp_path: Path) -> None:
    with MetricsLogger(tmp_path) as metrics:
        metrics.log(10, {})
        with pytest.raises(ValueError, match="expected a step above 10, found 10"):
            metrics.log(10, {})


def test_the_settings_are_shown_as_text_and_as_hyper_parameters(tmp_path: Path) -> None:
    with MetricsLogger(tmp_path) as metrics:
        metrics.add_config({"seed": 1, "net": {"hidden": [64, 64], "norm": None}}, {"eval/win_share": 0.0})
    found = events(tmp_path)
    [text] = found.Tensors("config/text_summary")
    assert "| `net.hidden` | `[64, 64]` |" in text.tensor_proto.string_val[0].decode()
    content = found.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    assert b"net.hidden" in content
    assert b"seed" in content


def test_event_files_of_resumed_runs_sort_in_the_order_of_writing(tmp_path: Path) -> None:
    """Eleven writers of one process within a second would sort the tenth before the second."""
    for number in range(3):
        with MetricsLogger(tmp_path, resume_step=None if number == 0 else 10 * number) as metrics:
            metrics.log(10 * number + 10, {"x": number})
    files = sorted((tmp_path / "tensorboard").glob("events.out.tfevents.*"))
    seconds = [int(file.name.split(".")[3]) for file in files]
    assert len(set(seconds)) == 3
