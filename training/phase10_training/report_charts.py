"""Draws the parts of a report as HTML and SVG text: bars with intervals, heat maps, line charts, tables.

Every function is pure: numbers in, text out. Texts are escaped here. Bars are HTML, so that letters keep their
size on a narrow screen; line charts are SVG with one view box of 460 x 300 units.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from phase10_training.statistics import FloatArray

__all__ = ["Bar", "Line", "bars", "heat_map", "line_chart", "table"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b", "#7f7f7f")
"""Told apart by most colour-blind readers (Okabe & Ito 2008, two added)."""
ABOVE, BELOW = (0, 114, 178), (213, 94, 0)

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 40


@dataclass(frozen=True)
class Bar:
    """Hold one row of a bar chart: a value with its interval, and the text beside it."""

    label: str
    value: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Line:
    """Hold one line of a chart: y[n] over x[n]; gaps where y is NaN."""

    label: str
    x: FloatArray
    y: FloatArray


def bars(rows: Sequence[Bar], zero: float | None = None) -> str:
    """Return horizontal bars with whiskers from `low` to `high`; a bar begins at `zero`, or at the left.

    >>> bars([Bar("a", 1.0, 0.5, 1.5, "1.0")]).startswith('<div class="bars">')
    True
    """
    low = min([row.low for row in rows] + ([] if zero is None else [zero]))
    high = max([row.high for row in rows] + ([] if zero is None else [zero]))
    span = (high - low) or 1.0
    low, span = low - 0.02 * span, 1.04 * span

    def place(value: float) -> float:
        return 100.0 * (value - low) / span

    start = 0.0 if zero is None else place(zero)
    parts = ['<div class="bars">']
    for row in rows:
        begin, end = sorted((start, place(row.value)))
        label, text = escape(row.label), escape(row.text)
        left, width = place(row.low), place(row.high) - place(row.low)
        parts.append(
            f'<div class="bar-row"><div class="bar-label" title="{label}">{label}</div><div class="bar-field">'
            f'<span class="bar" style="left:{begin:.2f}%;width:{end - begin:.2f}%"></span>'
            f'<span class="whisker" style="left:{left:.2f}%;width:{width:.2f}%"></span></div>'
            f'<div class="bar-text">{text}</div></div>'
        )
    return "\n".join([*parts, "</div>"])


def heat_colour(value: float, middle: float, reach: float) -> tuple[str, str]:
    """Return background and ink of a cell: blue above the middle, orange below, deeper the further away.

    >>> heat_colour(0.5, 0.5, 0.5)
    ('rgb(255,255,255)', '#111')
    """
    share = max(-1.0, min(1.0, (value - middle) / reach))
    hue = ABOVE if share > 0 else BELOW
    mixed = [round(255 + (part - 255) * abs(share) ** 0.8) for part in hue]
    luminance = 0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})", "#111" if luminance > 140 else "#fff"


def heat_map(
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    values: FloatArray,
    texts: Sequence[Sequence[str]],
    titles: Sequence[Sequence[str]],
    middle: float,
    reach: float,
) -> str:
    """Return a table whose cells `values[rows, columns]` (NaN: empty) are coloured around `middle`.

    >>> "rgb(" in heat_map(["a"], ["b"], np.array([[0.7]]), [["70"]], [["a against b"]], 0.5, 0.5)
    True
    """
    head = "".join(f'<th scope="col"><span>{escape(label)}</span></th>' for label in column_labels)
    lines = [f'<div class="scroll"><table class="heat"><thead><tr><th></th>{head}</tr></thead><tbody>']
    for row, label in enumerate(row_labels):
        cells = []
        for column in range(len(column_labels)):
            value = float(values[row, column])
            if math.isnan(value):
                cells.append('<td class="empty"></td>')
                continue
            paper, ink = heat_colour(value, middle, reach)
            cells.append(
                f'<td style="background:{paper};color:{ink}" title="{escape(titles[row][column])}">'
                f"{escape(texts[row][column])}</td>"
            )
        lines.append(f'<tr><th scope="row">{escape(label)}</th>{"".join(cells)}</tr>')
    return "\n".join([*lines, "</tbody></table></div>"])


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Return a table; the first `texts` columns are words, the others numbers.

    >>> "<td>a &amp; b</td>" in table(["name"], [["a & b"]])
    True
    """
    kinds = ["" if column < texts else ' class="number"' for column in range(len(headings))]
    head = "".join(f"<th{kind}>{escape(text)}</th>" for kind, text in zip(kinds, headings, strict=True))
    lines = [f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>']
    for row in rows:
        cells = "".join(f"<td{kind}>{escape(text)}</td>" for kind, text in zip(kinds, row, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</tbody></table></div>"])


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two values, at most `most` and a few.

    >>> ticks(0, 10)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    raw = (high - low) / most if high > low else 1.0
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]


def line_chart(title: str, x_label: str, lines: Sequence[Line]) -> str:
    """Return an SVG figure with its legend below.

    >>> "<svg" in line_chart("t", "round", [Line("a", np.array([1.0, 2.0]), np.array([0.0, 3.0]))])
    True
    """
    all_x = np.concatenate([line.x for line in lines])
    all_y = np.concatenate([line.y[np.isfinite(line.y)] for line in lines])
    x_low, x_high = float(all_x.min()), max(float(all_x.max()), float(all_x.min()) + 1.0)
    y_low, y_high = min(0.0, float(all_y.min())), float(all_y.max()) * 1.05 or 1.0

    def x_at(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - x_low) / (x_high - x_low)

    def y_at(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - y_low) / (y_high - y_low)

    parts = [
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    ]
    parts.append(f"<title>{escape(title)}</title>")
    for tick in ticks(y_low, y_high):
        y = y_at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    parts += [
        f'<text x="{x_at(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{tick:g}</text>'
        for tick in ticks(x_low, x_high, 8)
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_label)}</text>')
    legend = []
    for number, line in enumerate(lines):
        colour, dash = (
            COLOURS[number % len(COLOURS)],
            "" if number < len(COLOURS) else ' stroke-dasharray="5 3"',
        )
        seen = np.isfinite(line.y)
        points = " ".join(
            f"{x_at(float(x)):.1f},{y_at(float(y)):.1f}"
            for x, y in zip(line.x[seen], line.y[seen], strict=True)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}>'
            f"<title>{escape(line.label)}</title></polyline>"
        )
        legend.append(f'<li><span style="background:{colour}"></span>{escape(line.label)}</li>')
    return "".join([*parts, f'</svg><ul class="legend">{"".join(legend)}</ul></figure>'])
