"""Pictures of games: text for terminals, SVG and arrays of pixels; pure functions of a game record."""

from __future__ import annotations

from phase10_env.render.ansi import render_ansi
from phase10_env.render.facts import TableFacts, ViewError, table_facts
from phase10_env.render.raster import render_rgb
from phase10_env.render.svg import render_svg
from phase10_env.render.words import action_in_words, move_in_words

__all__ = [
    "TableFacts",
    "ViewError",
    "action_in_words",
    "move_in_words",
    "render_ansi",
    "render_rgb",
    "render_svg",
    "table_facts",
]
