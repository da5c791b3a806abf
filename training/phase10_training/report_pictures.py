"""Draws the picture of a tournament with matplotlib: ratings with intervals beside the cross table."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from phase10_training.files import write_bytes
from phase10_training.report_data import ReportData

__all__ = ["draw_ratings"]


def draw_ratings(data: ReportData, paths: Sequence[Path]) -> None:
    """Draw ratings (or win shares, where there are no ratings) and cross table into files, by their endings."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    standings = data.standings
    rows = standings.rows
    figure = Figure(figsize=(11, 1.6 + 0.55 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    places = np.arange(len(rows))[::-1]
    if standings.ratings is not None:
        values = np.array([[row.elo, row.elo_low, row.elo_high] for row in rows], dtype=np.float64)
        left.set_xlabel("Elo, 95 % interval")
        left.axvline(0.0, color="0.7", linewidth=1)
    else:
        values = 100.0 * np.array([[row.win_share, row.low, row.high] for row in rows])
        left.set_xlabel("win share in %, 95 % interval")
        left.axvline(100.0 * standings.par, color="0.7", linewidth=1)
    reach = np.abs(values[:, 1:] - values[:, :1]).T
    left.errorbar(values[:, 0], places, xerr=reach, fmt="o", color="#0072b2", ecolor="#1b1f24", capsize=4)
    left.locator_params(axis="x", nbins=6)
    left.set_yticks(places, [row.agent for row in rows])
    left.set_ylim(-0.6, len(rows) - 0.4)
    left.set_title(f"{data.config.format}, {standings.players} players, {data.settings['ruleset']['name']}")
    order = [standings.agents.index(row.agent) for row in rows]
    cross = 100.0 * np.where(standings.cross.deals > 0, standings.cross.mean, np.nan)[np.ix_(order, order)]
    par = 100.0 * standings.cross_par
    reach_of_colour = max(par, 100.0 - par)
    right.imshow(cross, cmap="RdBu", vmin=par - reach_of_colour, vmax=par + reach_of_colour, aspect="auto")
    for one, two in np.argwhere(np.isfinite(cross)):
        deep = abs(cross[one, two] - par) > 0.6 * reach_of_colour
        right.text(two, one, f"{cross[one, two]:.0f}", ha="center", va="center", color="w" if deep else "k")
    right.set_xticks(range(len(rows)), [str(row.rank) for row in rows])
    right.set_yticks(range(len(rows)), [f"{row.rank} {row.agent}" for row in rows])
    right.set_title("row against column, %")
    for path in paths:
        kind = path.suffix.removeprefix(".")
        picture = io.BytesIO()
        figure.savefig(picture, format=kind, dpi=120, metadata={"Date": None} if kind == "svg" else None)
        write_bytes(path, picture.getvalue())
