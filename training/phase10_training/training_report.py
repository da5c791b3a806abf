"""Shows what a training run reached: a table in the terminal and a picture of its course."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from phase10_agents.neural.checkpoint import latest_checkpoint
from phase10_training.evaluate import EvaluationResult
from phase10_training.files import write_bytes
from phase10_training.metrics import read_metrics

__all__ = ["draw_result", "print_result"]


def print_result(
    folder: Path, results: Sequence[EvaluationResult], picture: Path | None, players: int
) -> None:
    """Print win shares with intervals at tables of so many players, and where everything of the run is."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(title="win share over whole games, the likeliest action each time")
    for heading in ("opponent", "win share", "95 % interval", "par", "deals", "illegal actions"):
        justify: Literal["left", "right"] = "left" if heading == "opponent" else "right"
        table.add_column(heading, justify=justify, overflow="fold")
    for result in results:
        low, high = result.interval
        colour = "green" if low > result.par else "red" if high < result.par else "white"
        table.add_row(
            result.opponent,
            f"[{colour}]{100 * result.win_share:.1f} %[/]",
            f"{100 * low:.1f} - {100 * high:.1f}",
            f"{100 * result.par:.1f} %",
            str(result.deals),
            str(result.illegal_actions),
        )
    console.print(table)
    console.print(f"run          {folder}", soft_wrap=True)
    console.print(f"TensorBoard  tensorboard --logdir {folder}", soft_wrap=True)
    console.print(f"checkpoint   {latest_checkpoint(folder)}", soft_wrap=True)
    if picture is not None:
        console.print(f"picture      {picture}", soft_wrap=True)
    table_of = "" if players == 2 else f" --players {players}"
    console.print(
        f"play it      phase10 evaluate checkpoint:{folder} --against greedy{table_of}", soft_wrap=True
    )


def draw_result(
    folder: Path, results: Sequence[EvaluationResult], path: Path, title: str = "training"
) -> Path | None:
    """Draw the course of a run and its final evaluation as a PNG; return its path, or None without matplotlib.

    Left: win shares of the evaluations during training over decisions, with 95 % intervals. Right: the final
    evaluation against each opponent.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    course, final = figure.subplots(1, 2, width_ratios=[2, 1])
    lines = read_metrics(folder)
    colours = ["#1b6ca8", "#c8553d", "#3a7d44", "#8e6bbf", "#7a7a7a"]
    for number, result in enumerate(results):
        name, colour = result.opponent, colours[number % len(colours)]
        points = [
            (
                line["step"],
                line[f"eval/win_share_{name}"],
                line[f"eval/low_{name}"],
                line[f"eval/high_{name}"],
            )
            for line in lines
            if f"eval/win_share_{name}" in line
        ]
        if points:
            steps, shares, lows, highs = zip(*points, strict=True)
            course.plot(
                [step / 1e6 for step in steps], shares, color=colour, marker="o", markersize=3, label=name
            )
            course.fill_between([step / 1e6 for step in steps], lows, highs, color=colour, alpha=0.15)
        low, high = result.interval
        final.bar(name, result.win_share, color=colour)
        final.errorbar(
            name,
            result.win_share,
            yerr=[[result.win_share - low], [high - result.win_share]],
            color="black",
            capsize=4,
        )
        final.annotate(
            f"{100 * result.win_share:.1f} %", (number, 0.03), ha="center", color="white", weight="bold"
        )
    for axes in (course, final):
        axes.set_ylim(0, 1)
        if results:
            axes.axhline(results[0].par, color="#999999", linestyle="--", linewidth=1)
        axes.spines[["top", "right"]].set_visible(False)
    course.set_xlabel("million decisions")
    course.set_ylabel("win share")
    course.set_title(f"{title}: while training")
    final.set_title("at the end, 95 % intervals")
    if course.get_legend_handles_labels()[0]:
        course.legend(loc="lower right")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=130)
    write_bytes(path, picture.getvalue())
    return path
