"""A game as SVG and as pixels."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from render_games import deal_hidden_anew, moment

from phase10_env import PRESETS, Game
from phase10_env.render import render_rgb, render_svg, table_facts
from phase10_env.render.raster import scene_to_rgb
from phase10_env.render.scene import Circle, Line, Polygon, Rectangle, Scene, Text
from phase10_env.render.stroke_font import advance, strokes

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    decisions=st.integers(0, 400),
    players=st.integers(2, 6),
    preset=st.sampled_from(sorted(PRESETS)),
)
def test_every_moment_makes_a_sound_svg(seed: int, decisions: int, players: int, preset: str) -> None:
    games, ruleset = moment(seed, decisions, players, preset)
    svg = render_svg(games, ruleset, names=[f'<b>&"{seat}' for seat in range(players)])
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for element in root.iter(f"{SVG}rect"):
        x, y = float(element.attrib["x"]), float(element.attrib["y"])
        assert 0 <= x <= x + float(element.attrib["width"]) <= width
        assert 0 <= y <= y + float(element.attrib["height"]) <= height


def test_an_svg_shows_numbers_with_the_letters_of_their_colours() -> None:
    games, ruleset = moment(5, 0, 2)
    hand = table_facts(games, ruleset, 0).seats[0].hand
    shown = texts(render_svg(games, ruleset, viewer=0))
    for card in hand or ():
        assert card[0] in shown
        assert card[1:] in ("", *shown)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    decisions=st.integers(0, 200),
    players=st.integers(2, 6),
    viewer=st.integers(0, 5),
)
def test_pictures_for_a_seat_do_not_depend_on_hidden_cards(
    seed: int, decisions: int, players: int, viewer: int
) -> None:
    games, ruleset = moment(seed, decisions, players)
    seat = viewer % players
    other = deal_hidden_anew(games, seat, seed)
    assert render_svg(games, ruleset, seat) == render_svg(other, ruleset, seat)
    if seed % 5 == 0:
        assert np.array_equal(render_rgb(games, ruleset, seat), render_rgb(other, ruleset, seat))


def test_the_frames_of_a_game_have_one_even_shape() -> None:
    shapes = {render_rgb(*moment(4, decisions, 3), viewer=1).shape for decisions in (0, 7, 60, 140)}
    assert len(shapes) == 1
    height, width, channels = shapes.pop()
    assert (height % 2, width % 2, channels) == (0, 0, 3)
    assert render_rgb(*moment(4, 7, 3), viewer=1, scale=2).shape == (2 * height, 2 * width, 3)


def test_an_array_of_pixels_is_uint8_and_shows_the_colours_of_the_cards() -> None:
    games, ruleset = moment(5, 0, 2)
    pixels = render_rgb(games, ruleset)
    assert pixels.dtype == np.uint8
    hands = "".join("".join(seat.hand or ()) for seat in table_facts(games, ruleset).seats)
    for letter, colour in {
        "R": (179, 38, 30),
        "B": (35, 100, 170),
        "G": (92, 196, 160),
        "Y": (246, 207, 71),
    }.items():
        assert letter in hands
        assert (pixels == colour).all(axis=-1).sum() > 200, letter


def test_a_scale_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"scale is 0: expected a number from 0\.25 to 8"):
        render_rgb(*moment(1, 0, 2), scale=0)


def painted(*shapes: Rectangle | Circle | Polygon | Line | Text) -> np.ndarray:
    return scene_to_rgb(Scene(20, 10, "", list(shapes)))[..., 0]


def test_shapes_cover_the_pixels_they_should() -> None:
    rectangle = painted(Rectangle(2, 3, 6, 4, "#ffffff"))
    assert rectangle.sum() == 255 * 24
    assert (rectangle[3:7, 2:8] == 255).all()
    disc = painted(Circle(10, 5, 4, "#ffffff"))
    assert disc[5, 10] == 255
    assert disc.sum() / 255 == pytest.approx(np.pi * 16, rel=0.02)
    ring = painted(Circle(10, 5, 4, "", "#ffffff", 1))
    assert ring[5, 10] == 0
    assert ring.sum() / 255 == pytest.approx(2 * np.pi * 4, rel=0.05)
    triangle = painted(Polygon(((2, 1), (18, 1), (10, 9)), "#ffffff"))
    assert triangle.sum() / 255 == pytest.approx(64, rel=0.05)
    line = painted(Line((4, 5), (14, 5), "#ffffff", 2))
    assert line.sum() / 255 == pytest.approx(20 + np.pi, rel=0.05)
    faint = painted(Rectangle(0, 0, 20, 10, "#ffffff80"))
    assert faint[5, 5] == 128


def test_text_is_anchored_where_it_should() -> None:
    def columns(anchor: str, x: float) -> np.ndarray:
        return np.flatnonzero(painted(Text(x, 9, "HH", 8, "#ffffff", anchor)).max(axis=0) > 60)  # type: ignore[arg-type]

    assert columns("start", 1)[0] in (0, 1)
    assert columns("end", 19)[-1] <= 18
    middle = columns("middle", 10)
    assert abs((middle[0] + middle[-1]) / 2 - 10) < 1.5


def test_the_font_has_every_printable_ascii_sign_that_texts_use() -> None:
    unknown = strokes("\u4e00")
    signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,:;-()/!'"
    assert len({strokes(sign) for sign in signs}) == len(signs)
    assert all(strokes(sign) != unknown for sign in signs)
    assert strokes("?") == unknown
    assert strokes(" ") == ()
    assert advance("i") < advance("m")


def test_a_game_draws_itself_in_a_notebook() -> None:
    game = Game(num_players=2, seed=7)
    assert game._repr_svg_() == render_svg(game.state, game.ruleset)
