"""Pictures of games: text for terminals, SVG, arrays of pixels, and replays; pure functions of a game."""

from __future__ import annotations

from phase10_env.render.ansi import render_ansi
from phase10_env.render.facts import TableFacts, ViewError, table_facts
from phase10_env.render.raster import render_rgb
from phase10_env.render.replay_page import replay_html
from phase10_env.render.replay_terminal import replay_terminal, tell_game
from phase10_env.render.steps import Advice, game_steps
from phase10_env.render.svg import render_svg
from phase10_env.render.words import action_in_words, move_in_words

__all__ = [
    "Advice",
    "TableFacts",
    "ViewError",
    "action_in_words",
    "game_steps",
    "move_in_words",
    "render_ansi",
    "render_rgb",
    "render_svg",
    "replay_html",
    "replay_terminal",
    "table_facts",
    "tell_game",
]
