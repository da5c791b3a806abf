"""The picture of a game as a list of shapes: one layout for SVG and for arrays of pixels.

Lengths are in units of about one pixel; x runs to the right, y down. The size of a scene depends only on the
players, the ruleset's phases and the viewer, so that the frames of a game make a film. The design is the
package's own: a card shows its number, the letter of its colour and a shape that goes with the colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from phase10_env.render.facts import MeldFacts, SeatFacts, TableFacts, card_points
from phase10_env.render.words import stage_in_words, status_in_words

__all__ = ["Circle", "Line", "Polygon", "Rectangle", "Scene", "Shape", "Text", "draw_scene"]

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A filled rectangle with rounded corners and, where `stroke` is a colour, an outline."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    radius: float = 0.0
    stroke: str = ""
    stroke_width: float = 0.0


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle; an empty `fill` leaves a ring."""

    x: float
    y: float
    radius: float
    fill: str
    stroke: str = ""
    stroke_width: float = 0.0


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled polygon."""

    points: tuple[Point, ...]
    fill: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line with round ends."""

    start: Point
    end: Point
    stroke: str
    width: float


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; `y` is the baseline, `size` the height of the letters' box."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False


Shape = Rectangle | Circle | Polygon | Line | Text
"""Anything that a scene draws."""


@dataclass
class Scene:
    """Shapes in the order in which they are painted, the size of the picture and what it shows in words."""

    width: float
    height: float
    title: str
    shapes: list[Shape] = field(default_factory=list)


WIDTH = 520.0
_MARGIN = 8.0
_PAD = 12.0
_HEAD = 100.0
_FOOT = 40.0

_BACKGROUND, _PANEL, _PANEL_TURN = "#16252d", "#223842", "#2c4854"
_INK, _SOFT, _ACCENT = "#f4f1e8", "#b9c8cc", "#ffb000"
_PAPER, _BACK, _BACK_MARK = "#fbf8ef", "#4a5f78", "#8ea3bb"
_DARK = "#1b1b1b"
_FACES = {"R": "#b3261e", "B": "#2364aa", "G": "#5cc4a0", "Y": "#f6cf47", "W": "#3a2352", "S": "#4a4a4a"}
_INKS = {"R": "#ffffff", "B": "#ffffff", "G": _DARK, "Y": _DARK, "W": "#ffffff", "S": "#ffffff"}
_COLOURS = "RBGY"

_OPEN_CARD, _SMALL_CARD, _BACK_CARD = 36.0, 27.0, 20.0
_RATIO = 1.4  # height of a card over its width


def draw_scene(facts: TableFacts) -> Scene:
    """Return the picture of facts that were taken from a game.

    >>> from phase10_env import GameBatch
    >>> from phase10_env.render.facts import table_facts
    >>> batch = GameBatch(num_games=1, num_players=2, seed=7)
    >>> scene = draw_scene(table_facts(batch.games, batch.ruleset))
    >>> scene.width, len(scene.shapes) > 50
    (520.0, True)
    """
    panels = [_panel_height(seat) for seat in facts.seats]
    height = 2.0 * math.ceil((_HEAD + sum(panel + _MARGIN for panel in panels) + _FOOT) / 2)
    words = stage_in_words(facts) if facts.status == "running" else status_in_words(facts)
    scene = Scene(WIDTH, height, f"Phase 10, round {facts.round}, turn {facts.turn}: {words}")
    scene.shapes.append(Rectangle(0, 0, WIDTH, height, _BACKGROUND))
    _draw_head(scene, facts)
    top = _HEAD
    for seat, panel in zip(facts.seats, panels, strict=True):
        _draw_seat(scene, facts, seat, top, panel)
        top += panel + _MARGIN
    _draw_foot(scene, facts, words, top)
    return scene


def fit(text: str, size: float, width: float) -> str:
    """Return a text cut to a width, at 0.56 of its size a letter."""
    letters = max(1, int(width / (0.56 * size)))
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


# ---------------------------------------------------------------- cards


def _draw_card(scene: Scene, card: str, x: float, y: float, width: float) -> None:
    """Draw the face of a card: number, and below it the letter and the shape of its colour."""
    add = scene.shapes.append
    height = _RATIO * width
    face, ink = _FACES[card[0]], _INKS[card[0]]
    rim = width * 0.07
    add(Rectangle(x, y, width, height, _PAPER, width * 0.16, "#00000066", 0.6))
    add(Rectangle(x + rim, y + rim, width - 2 * rim, height - 2 * rim, face, width * 0.11))
    if card == "W":
        for k, letter in enumerate(_COLOURS):
            stripe = (width - 4 * rim) / 4
            add(Rectangle(x + 2 * rim + k * stripe, y + height * 0.79, stripe, height * 0.1, _FACES[letter]))
        add(Polygon(_star(x + width / 2, y + height * 0.36, width * 0.31), _ACCENT))
        add(Text(x + width / 2, y + height * 0.75, "W", width * 0.34, ink, "middle", True))
    elif card == "S":
        radius = width * 0.24
        centre = (x + width / 2, y + height * 0.37)
        reach = radius * 0.7
        add(Circle(*centre, radius, "", ink, width * 0.085))
        add(
            Line(
                (centre[0] - reach, centre[1] + reach),
                (centre[0] + reach, centre[1] - reach),
                ink,
                width * 0.085,
            )
        )
        add(Text(x + width / 2, y + height * 0.86, "S", width * 0.36, ink, "middle", True))
    else:
        size = width * (0.58 if len(card) == 2 else 0.5)
        add(Text(x + width / 2, y + height * 0.5, card[1:], size, ink, "middle", True))
        add(Text(x + width * 0.31, y + height * 0.86, card[0], width * 0.36, ink, "middle", True))
        _draw_mark(scene, card[0], x + width * 0.68, y + height * 0.77, width * 0.15, ink)


def _draw_mark(scene: Scene, letter: str, x: float, y: float, radius: float, ink: str) -> None:
    """Draw the shape of a colour: red diamond, blue disc, green triangle, yellow square."""
    if letter == "B":
        scene.shapes.append(Circle(x, y, radius, ink))
        return
    angles = {"R": (0, 90, 180, 270), "G": (90, 210, 330), "Y": (45, 135, 225, 315)}[letter]
    scale = {"R": 1.25, "G": 1.25, "Y": 1.2}[letter]
    points = tuple(
        (
            x + scale * radius * math.cos(math.radians(angle)),
            y - scale * radius * math.sin(math.radians(angle)),
        )
        for angle in angles
    )
    scene.shapes.append(Polygon(points, ink))


def _star(x: float, y: float, radius: float) -> tuple[Point, ...]:
    turns = [(k * math.pi / 5, radius if k % 2 == 0 else radius * 0.45) for k in range(10)]
    return tuple((x + r * math.sin(angle), y - r * math.cos(angle)) for angle, r in turns)


def _draw_back(scene: Scene, x: float, y: float, width: float) -> None:
    height = _RATIO * width
    scene.shapes.append(Rectangle(x, y, width, height, _BACK, width * 0.16, _PAPER, 1.0))
    scene.shapes.append(Circle(x + width / 2, y + height / 2, width * 0.2, "", _BACK_MARK, 1.5))


def _draw_row(scene: Scene, cards: Sequence[str], x: float, y: float, width: float, room: float) -> None:
    """Draw cards from left to right, overlapping where the room is short; "" is a card face down."""
    step = width + 3.0
    if len(cards) > 1:
        step = min(step, (room - width) / (len(cards) - 1))
    for place, card in enumerate(cards):
        if card:
            _draw_card(scene, card, x + place * step, y, width)
        else:
            _draw_back(scene, x + place * step, y, width)


# ---------------------------------------------------------------- parts of the picture


def _draw_head(scene: Scene, facts: TableFacts) -> None:
    add = scene.shapes.append
    add(Text(_MARGIN + 4, 30, "Phase 10", 22, _INK, bold=True))
    add(Text(_MARGIN + 4, 52, fit(f"rules {facts.ruleset}", 13, 150), 13, _SOFT))
    add(Text(_MARGIN + 4, 71, f"round {facts.round}, turn {facts.turn}", 13, _SOFT))
    if facts.tie_break:
        add(Text(_MARGIN + 4, 90, "tie-break round", 13, _ACCENT, bold=True))
    left = 212.0
    if facts.stock:
        _draw_back(scene, left + 4, 26, 40)
        _draw_back(scene, left, 22, 40)
        add(Rectangle(left + 4, 40, 32, 20, _BACKGROUND, 6))
    add(Text(left + 20, 55, str(facts.stock), 15, _INK, "middle", True))
    add(Text(left + 22, 16, "stock", 12, _SOFT, "middle"))
    left = 292.0
    add(Text(left, 16, f"discard pile: {facts.pile_size}", 12, _SOFT))
    if not facts.pile:
        add(Rectangle(left, 22, 46, 46 * _RATIO, _PANEL, 7, _SOFT, 1.0))
        add(Text(left + 23, 60, "empty", 12, _SOFT, "middle"))
        return
    _draw_card(scene, facts.pile[0], left, 22, 48)
    for place, card in enumerate(facts.pile[1:]):
        _draw_card(scene, card, left + 66 + place * 36, 42, 32)
    if facts.pile[1:]:
        add(Text(left + 66, 36, "beneath", 11, _SOFT))


def _panel_height(seat: SeatFacts) -> float:
    hand = _OPEN_CARD if seat.hand is not None else _SMALL_CARD
    return 50.0 + hand * _RATIO + 26.0 + _SMALL_CARD * _RATIO + 8.0


def _draw_seat(scene: Scene, facts: TableFacts, seat: SeatFacts, top: float, height: float) -> None:
    add = scene.shapes.append
    turn = facts.status == "running" and seat.seat == facts.to_act
    left, right = _MARGIN + _PAD, WIDTH - _MARGIN - _PAD
    outline = (_ACCENT, 2.5) if turn else ("#ffffff22", 1.0)
    fill = _PANEL_TURN if turn else _PANEL
    add(Rectangle(_MARGIN, top, WIDTH - 2 * _MARGIN, height, fill, 10, *outline))
    if turn:
        add(Polygon(((left, top + 11), (left + 11, top + 17), (left, top + 23)), _ACCENT))
    you = " (you)" if seat.seat == facts.viewer else ""
    dealer = ", dealer" if seat.seat == facts.dealer else ""
    name = fit(seat.name, 16, 150) + you + dealer
    add(Text(left + (17 if turn else 0), top + 22, name, 16, _INK, bold=True))
    add(Text(right, top + 22, f"{seat.score} points", 15, _INK, "end", True))
    _draw_badges(scene, seat, right - 92, top + 8)
    phase = f"Phase {seat.phase}: {seat.phase_text}" if seat.phase else seat.phase_text.capitalize()
    add(Text(left, top + 42, fit(phase, 13, 330), 13, _SOFT))
    held = f"{seat.hand_size} {'card' if seat.hand_size == 1 else 'cards'}"
    if seat.hand is not None:
        held += f", worth {card_points(seat.hand)}"
    add(Text(right, top + 42, held, 12, _SOFT, "end"))
    _draw_hand(scene, seat, left, top + 50, right - left)
    melds = [meld for meld in facts.melds if meld.seat == seat.seat]
    _draw_melds(scene, melds, left, top + height - _SMALL_CARD * _RATIO - 8, right - left)


def _draw_badges(scene: Scene, seat: SeatFacts, right: float, top: float) -> None:
    """Draw what is special about a seat as labels, from right to left."""
    labels = []
    if seat.laid:
        labels.append(("laid down", "#3f7d5c", "#ffffff"))
    if seat.skipped:
        labels.append(("skip pending", "#ffd0c7", _DARK))
    if not seat.active:
        labels.append(("sits out", "#55656b", "#ffffff"))
    if seat.rank:
        labels.append((f"rank {seat.rank}", _ACCENT, _DARK))
    for text, fill, ink in labels:
        width = 7.0 * len(text) + 10
        right -= width + 5
        scene.shapes.append(Rectangle(right, top, width, 19, fill, 9.5))
        scene.shapes.append(Text(right + width / 2, top + 14, text, 12, ink, "middle", True))


def _draw_hand(scene: Scene, seat: SeatFacts, x: float, y: float, room: float) -> None:
    if seat.hand is not None:
        _draw_row(scene, seat.hand, x, y, _OPEN_CARD, room)
        return
    _draw_row(scene, seat.known, x, y, _SMALL_CARD, room / 2)
    start = x + min(room / 2, len(seat.known) * (_SMALL_CARD + 3.0)) + (6.0 if seat.known else 0.0)
    hidden = [""] * (seat.hand_size - len(seat.known))
    _draw_row(scene, hidden, start, y + 5, _BACK_CARD, x + room - start)


def _draw_melds(scene: Scene, melds: Sequence[MeldFacts], x: float, y: float, room: float) -> None:
    share = (room - 10.0) / 2
    alone = len(melds) == 1
    for place, meld in enumerate(melds):
        left = x + (0.0 if alone else place * (share + 10.0))
        width = room if alone else share
        scene.shapes.append(Text(left, y - 6, fit(meld.text, 12, width), 12, _INK))
        _draw_row(scene, meld.cards, left, y, _SMALL_CARD, width)


def _draw_foot(scene: Scene, facts: TableFacts, words: str, top: float) -> None:
    colour = _ACCENT if facts.status != "running" else _INK
    scene.shapes.append(Text(_MARGIN + 4, top + 16, fit(words, 13, WIDTH - 24), 13, colour))
    if facts.onto_card:
        scene.shapes.append(Text(_MARGIN + 4, top + 33, f"placing {facts.onto_card}", 13, _ACCENT))
    elif facts.building is not None:
        parts = [f"{text}: {' '.join(cards) or 'no card yet'}" for text, cards in facts.building.groups]
        text = fit(f"building {'; '.join(parts)}", 13, WIDTH - 24)
        scene.shapes.append(Text(_MARGIN + 4, top + 33, text, 13, _ACCENT))
