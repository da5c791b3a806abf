"""A game as an array of pixels, painted here with numpy alone: smooth edges, no font or image library.

A colour is `#rrggbb` or `#rrggbbaa`; pixels are uint8[H, W, 3]. Shapes are painted by how far a pixel's
centre lies inside their edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from phase10_env.render.facts import Record, table_facts
from phase10_env.render.scene import Circle, Line, Polygon, Rectangle, Scene, Text, draw_scene
from phase10_env.render.stroke_font import BASELINE, advance, strokes
from phase10_env.rules.ruleset import RuleSet

__all__ = ["render_rgb", "scene_to_rgb"]

Pixels = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

_CAPITAL = 0.72  # height of a capital over the size of a text, as in common fonts


def render_rgb(
    games: Record,
    ruleset: RuleSet,
    viewer: int | None = None,
    names: Sequence[str] | None = None,
    scale: float = 1.0,
) -> Pixels:
    """Return a game as an array of pixels; all frames of a game have the same shape.

    Args:
        games: GAME[1].
        ruleset: its rules.
        viewer: the seat that looks; None shows every hand.
        names: a label for each seat.
        scale: pixels per unit of the scene, from 0.25 to 8.

    Returns:
        uint8[H, W, 3], red, green, blue; W is 520 at scale 1.

    Raises:
        ViewError: there is no such seat, or the names do not fit.
        ValueError: the scale is out of range.

    >>> from phase10_env import GameBatch
    >>> batch = GameBatch(num_games=1, num_players=2, seed=7)
    >>> render_rgb(batch.games, batch.ruleset).shape
    (502, 520, 3)
    """
    return scene_to_rgb(draw_scene(table_facts(games, ruleset, viewer, names)), scale)


def scene_to_rgb(scene: Scene, scale: float = 1.0) -> Pixels:
    """Return shapes painted on black, uint8[H, W, 3]; H and W are even, as video encoders want them."""
    if not 0.25 <= scale <= 8:
        raise ValueError(f"scale is {scale}: expected a number from 0.25 to 8")
    height, width = (2 * round(scale * side / 2) for side in (scene.height, scene.width))
    canvas = _Canvas(height, width, scale)
    for shape in scene.shapes:
        if isinstance(shape, Rectangle):
            canvas.rectangle(shape)
        elif isinstance(shape, Circle):
            canvas.circle(shape)
        elif isinstance(shape, Polygon):
            canvas.polygon(shape)
        elif isinstance(shape, Line):
            canvas.line(shape)
        else:
            canvas.text(shape)
    return np.rint(canvas.pixels).astype(np.uint8)


@lru_cache(maxsize=256)
def _parse_colour(colour: str) -> tuple[tuple[float, float, float], float]:
    channels = [int(colour[k : k + 2], 16) for k in range(1, len(colour), 2)]
    red, green, blue = (float(channel) for channel in channels[:3])
    return (red, green, blue), channels[3] / 255 if len(channels) == 4 else 1.0


class _Canvas:
    """Pixels that shapes are painted on; shapes come in scene units."""

    def __init__(self, height: int, width: int, scale: float) -> None:
        self.pixels = np.zeros((height, width, 3), np.float32)
        self.scale = scale

    def _window(self, left: float, top: float, right: float, bottom: float) -> tuple[slice, slice] | None:
        """Return rows and columns that a box in pixels touches, or None."""
        height, width, _ = self.pixels.shape
        x0, x1 = max(0, int(left) - 1), min(width, int(right) + 2)
        y0, y1 = max(0, int(top) - 1), min(height, int(bottom) + 2)
        return (slice(y0, y1), slice(x0, x1)) if x0 < x1 and y0 < y1 else None

    def _blend(self, rows: slice, columns: slice, coverage: Floats, colour: str) -> None:
        rgb, alpha = _parse_colour(colour)
        part = self.pixels[rows, columns]
        part += (alpha * coverage)[..., None] * (np.array(rgb, np.float32) - part)

    def rectangle(self, shape: Rectangle) -> None:
        s = self.scale
        left, top, width, height = s * shape.x, s * shape.y, s * shape.width, s * shape.height
        rim = s * shape.stroke_width / 2 if shape.stroke else 0.0
        window = self._window(left - rim, top - rim, left + width + rim, top + height + rim)
        if window is None:
            return
        radius = min(s * shape.radius, width / 2, height / 2)
        y, x = _centres(*window)
        dx = np.abs(x - (left + width / 2)) - (width / 2 - radius)
        dy = np.abs(y - (top + height / 2)) - (height / 2 - radius)
        outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0)) - radius
        distance = outside + np.minimum(np.maximum(dx, dy), 0)
        self._blend(*window, np.clip(0.5 - distance, 0, 1), shape.fill)
        if shape.stroke:
            self._blend(*window, np.clip(rim + 0.5 - np.abs(distance), 0, 1), shape.stroke)

    def circle(self, shape: Circle) -> None:
        s = self.scale
        reach = s * (shape.radius + shape.stroke_width / 2)
        window = self._window(
            s * shape.x - reach, s * shape.y - reach, s * shape.x + reach, s * shape.y + reach
        )
        if window is None:
            return
        y, x = _centres(*window)
        distance = np.hypot(x - s * shape.x, y - s * shape.y) - s * shape.radius
        if shape.fill:
            self._blend(*window, np.clip(0.5 - distance, 0, 1), shape.fill)
        if shape.stroke:
            rim = s * shape.stroke_width / 2
            self._blend(*window, np.clip(rim + 0.5 - np.abs(distance), 0, 1), shape.stroke)

    def polygon(self, shape: Polygon) -> None:
        points = [(self.scale * x, self.scale * y) for x, y in shape.points]
        xs, ys = zip(*points, strict=True)
        window = self._window(min(xs), min(ys), max(xs), max(ys))
        if window is None:
            return
        y, x = _centres(*window)
        distance = np.full(np.broadcast_shapes(y.shape, x.shape), np.inf, np.float32)
        inside = np.zeros(distance.shape, np.bool_)
        for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1], strict=True):
            distance = np.minimum(distance, _to_segment(x, y, x0, y0, x1, y1))
            if y0 != y1:
                crosses = (y >= min(y0, y1)) & (y < max(y0, y1))
                inside ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
        self._blend(*window, np.clip(0.5 - np.where(inside, -distance, distance), 0, 1), shape.fill)

    def line(self, shape: Line) -> None:
        (x0, y0), (x1, y1) = ((self.scale * x, self.scale * y) for x, y in (shape.start, shape.end))
        rim = self.scale * shape.width / 2
        window = self._window(min(x0, x1) - rim, min(y0, y1) - rim, max(x0, x1) + rim, max(y0, y1) + rim)
        if window is None:
            return
        y, x = _centres(*window)
        self._blend(*window, np.clip(rim + 0.5 - _to_segment(x, y, x0, y0, x1, y1), 0, 1), shape.stroke)

    def text(self, shape: Text) -> None:
        unit = self.scale * shape.size * _CAPITAL / BASELINE
        length = unit * sum(advance(letter) for letter in shape.text)
        x = self.scale * shape.x - {"start": 0.0, "middle": length / 2, "end": length}[shape.anchor]
        for letter in shape.text:
            if letter != " ":
                self._glyph(letter, x, self.scale * shape.y, unit, shape)
            x += unit * advance(letter)

    def _glyph(self, letter: str, x: float, baseline: float, unit: float, shape: Text) -> None:
        # glyphs are cached at quarters of a pixel, which no eye tells apart
        column, row = int(np.floor(x)), int(np.floor(baseline))
        shift = (int(4 * (x - column)) / 4, int(4 * (baseline - row)) / 4)
        mask = _glyph_mask(letter, round(unit, 4), shape.bold, shift)
        margin = _margin(unit)
        top, left = row - mask.shape[0] + int(np.ceil(2 * unit)) + margin, column - margin
        height, width, _ = self.pixels.shape
        y0, x0 = max(0, top), max(0, left)
        y1, x1 = min(height, top + mask.shape[0]), min(width, left + mask.shape[1])
        if y0 < y1 and x0 < x1:
            part = mask[y0 - top : y1 - top, x0 - left : x1 - left]
            self._blend(slice(y0, y1), slice(x0, x1), part, shape.fill)


def _centres(rows: slice, columns: slice) -> tuple[Floats, Floats]:
    """Return the centres of the pixels of a window, y as a column and x as a row."""
    y = np.arange(rows.start, rows.stop, dtype=np.float32)[:, None] + np.float32(0.5)
    x = np.arange(columns.start, columns.stop, dtype=np.float32)[None, :] + np.float32(0.5)
    return y, x


def _to_segment(x: Floats, y: Floats, x0: float, y0: float, x1: float, y1: float) -> Floats:
    """Return the distance of points to a segment."""
    dx, dy = x1 - x0, y1 - y0
    squared = dx * dx + dy * dy
    along = np.clip(((x - x0) * dx + (y - y0) * dy) / squared, 0, 1) if squared else np.zeros_like(x + y)
    distance: Floats = np.hypot(x - x0 - along * dx, y - y0 - along * dy).astype(np.float32)
    return distance


def _margin(unit: float) -> int:
    return int(np.ceil(unit)) + 1


@lru_cache(maxsize=4096)
def _glyph_mask(letter: str, unit: float, bold: bool, shift: tuple[float, float]) -> Floats:
    """Return how much of each pixel a letter covers; its origin lies `_margin` from the left."""
    margin = _margin(unit)
    below = int(np.ceil(2 * unit)) + margin
    rows = int(np.ceil(BASELINE * unit)) + margin + below
    columns = int(np.ceil(unit * advance(letter))) + 2 * margin
    y, x = _centres(slice(0, rows), slice(0, columns))
    x = x - np.float32(margin + shift[0])
    y = y - np.float32(rows - below + shift[1])
    distance = np.full((rows, columns), np.inf, np.float32)
    for stroke in strokes(letter):
        places = [(unit * px, unit * (py - BASELINE)) for px, py in stroke]
        for (x0, y0), (x1, y1) in pairwise(places):
            distance = np.minimum(distance, _to_segment(x, y, x0, y0, x1, y1))
    half = max(unit * (0.52 if bold else 0.36), 0.45)
    mask: Floats = np.clip(half + 0.5 - distance, 0, 1).astype(np.float32)
    mask.setflags(write=False)  # shared by every letter of this shape
    return mask
