"""A game as SVG: scalable, readable from phone to desktop, colours coded by letter and shape as well."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from phase10_env.render.facts import Record, table_facts
from phase10_env.render.scene import Circle, Line, Polygon, Rectangle, Scene, Shape, draw_scene
from phase10_env.rules.ruleset import RuleSet

__all__ = ["render_svg", "scene_to_svg"]

_FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def render_svg(
    games: Record, ruleset: RuleSet, viewer: int | None = None, names: Sequence[str] | None = None
) -> str:
    """Return a game as one `<svg>` element without outside parts.

    Args:
        games: GAME[1].
        ruleset: its rules.
        viewer: the seat that looks; None shows every hand.
        names: a label for each seat.

    Raises:
        ViewError: there is no such seat, or the names do not fit.

    >>> from phase10_env import GameBatch
    >>> batch = GameBatch(num_games=1, num_players=2, seed=7)
    >>> render_svg(batch.games, batch.ruleset, viewer=0)[:48]
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox='
    """
    return scene_to_svg(draw_scene(table_facts(games, ruleset, viewer, names)))


def scene_to_svg(scene: Scene) -> str:
    """Return shapes as an `<svg>` element."""
    size = f"0 0 {_number(scene.width)} {_number(scene.height)}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" width="100%" '
        f'style="max-width:{_number(scene.width * 1.25)}px" role="img" aria-label={quoteattr(scene.title)} '
        f"font-family={quoteattr(_FONT)}>"
    )
    return "\n".join([head, f"<title>{escape(scene.title)}</title>", *map(_element, scene.shapes), "</svg>"])


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _attributes(**values: float | str) -> str:
    """Return attributes as text; numbers are shortened, underscores become dashes."""
    parts = []
    for name, value in values.items():
        text = value if isinstance(value, str) else _number(value)
        parts.append(f"{name.replace('_', '-')}={quoteattr(text)}")
    return " ".join(parts)


def _outline(stroke: str, width: float) -> str:
    return f" {_attributes(stroke=stroke, stroke_width=width)}" if stroke else ""


def _element(shape: Shape) -> str:
    if isinstance(shape, Rectangle):
        place = _attributes(x=shape.x, y=shape.y, width=shape.width, height=shape.height, rx=shape.radius)
        return f"<rect {place} fill={quoteattr(shape.fill)}{_outline(shape.stroke, shape.stroke_width)}/>"
    if isinstance(shape, Circle):
        place = _attributes(cx=shape.x, cy=shape.y, r=shape.radius, fill=shape.fill or "none")
        return f"<circle {place}{_outline(shape.stroke, shape.stroke_width)}/>"
    if isinstance(shape, Polygon):
        return f"<polygon {_attributes(points=_points(shape.points), fill=shape.fill)}/>"
    if isinstance(shape, Line):
        (x1, y1), (x2, y2) = shape.start, shape.end
        place = _attributes(x1=x1, y1=y1, x2=x2, y2=y2, stroke=shape.stroke, stroke_width=shape.width)
        return f'<line {place} stroke-linecap="round"/>'
    place = _attributes(x=shape.x, y=shape.y, font_size=shape.size, fill=shape.fill)
    anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
    weight = ' font-weight="700"' if shape.bold else ""
    return f"<text {place}{anchor}{weight}>{escape(shape.text)}</text>"
