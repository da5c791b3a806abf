"""A game as text of at most 80 columns, with or without colours; letters tell the colours apart as well.

The text is lines joined by newlines, without one at the end. Colours are ANSI escape sequences, which take no
room on the screen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from phase10_env.render.facts import Record, SeatFacts, TableFacts, card_points, table_facts
from phase10_env.render.words import stage_in_words, status_in_words
from phase10_env.rules.ruleset import RuleSet

__all__ = ["WIDTH", "draw_ansi", "format_cards", "plain", "render_ansi"]

WIDTH = 80
"""Columns of the text, at most."""
_INDENT = 10

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
# letter of the card -> foreground and background of the 256-colour palette; every pair has a contrast of at
# least 4.5 : 1, and a terminal without these colours still shows the letters
_CARD_COLOURS = {
    "R": "97;48;5;160",
    "B": "97;48;5;25",
    "G": "30;48;5;71",
    "Y": "30;48;5;221",
    "W": "1;97;48;5;54",
    "S": "1;97;48;5;238",
    "?": "97;48;5;240",
}
_BOLD, _DIM, _TURN = "1", "2", "1;36"


def render_ansi(
    games: Record,
    ruleset: RuleSet,
    viewer: int | None = None,
    colour: bool = True,
    names: Sequence[str] | None = None,
) -> str:
    """Return a game as text for a terminal.

    Args:
        games: GAME[1].
        ruleset: its rules.
        viewer: the seat that looks; None shows every hand.
        colour: write ANSI colours beside the letters.
        names: a label for each seat.

    Raises:
        ViewError: there is no such seat, or the names do not fit.

    >>> from phase10_env import GameBatch
    >>> batch = GameBatch(num_games=1, num_players=2, seed=7)
    >>> print(render_ansi(batch.games, batch.ruleset, viewer=0, colour=False).splitlines()[0])
    Phase 10 (official)   round 1, turn 1   dealer: seat ...
    """
    return draw_ansi(table_facts(games, ruleset, viewer, names), colour)


def draw_ansi(facts: TableFacts, colour: bool = True) -> str:
    """Return facts that were taken from a game as text for a terminal."""
    lines = [*_head(facts), "", *_piles(facts)]
    for seat in facts.seats:
        lines += ["", *_seat_lines(facts, seat)]
    lines += ["", *_foot(facts)]
    text = "\n".join(line.rstrip() for line in lines)
    return text if colour else plain(text)


def plain(text: str) -> str:
    """Return a text without its colours.

    >>> plain(format_cards(["R5", "W"]))
    'R5 W'
    """
    return _ESCAPE.sub("", text)


def format_cards(cards: Sequence[str]) -> str:
    """Return cards as text, each with the colours of its kind, separated by blanks.

    >>> format_cards(["R5"])
    '\\x1b[97;48;5;160mR5\\x1b[0m'
    """
    return " ".join(_paint(card, _CARD_COLOURS[card[0]]) for card in cards)


def _paint(text: str, codes: str) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _beside(left: str, right: str) -> str:
    """Return two texts on one line of `WIDTH`, the second at the right end."""
    room = WIDTH - len(plain(left)) - len(plain(right))
    return f"{left}{' ' * max(room, 1)}{right}"


def _head(facts: TableFacts) -> list[str]:
    dealer = facts.seats[facts.dealer].name
    parts = [f"{_paint('Phase 10', _BOLD)} ({_short(facts.ruleset, 24)})"]
    parts.append(f"round {facts.round}, turn {facts.turn}")
    parts.append(f"dealer: {_short(dealer, 16)}")
    lines = ["   ".join(parts)]
    if facts.tie_break:
        lines.append("Tie-break round: the tied players replay the last phase.")
    return lines


def _piles(facts: TableFacts) -> list[str]:
    label = "stock".ljust(_INDENT)
    lines = [f"{label}{facts.stock} cards face down"]
    label = "discard".ljust(_INDENT)
    if not facts.pile:
        return [*lines, f"{label}empty"]
    count = f"{facts.pile_size} {'card' if facts.pile_size == 1 else 'cards'}"
    text = f"{label}{format_cards(facts.pile[:1])} on top ({count}"
    if facts.pile[1:]:
        text += f"; beneath: {format_cards(facts.pile[1:])}"
    return [*lines, f"{text})"]


def _seat_lines(facts: TableFacts, seat: SeatFacts) -> list[str]:
    running = facts.status == "running"
    turn = running and seat.seat == facts.to_act
    you = " (you)" if seat.seat == facts.viewer else ""
    name = f"{'>' if turn else ' '} {_short(seat.name, 24)}{you}"
    flags = []
    if seat.laid:
        flags.append("laid down")
    if seat.skipped:
        flags.append("SKIP pending")
    if not seat.active:
        flags.append("not in this round")
    if seat.rank:
        flags.append(f"rank {seat.rank}")
    right = "   ".join([*flags, f"score {seat.score}"])
    lines = [_beside(_paint(name, _TURN if turn else _BOLD), right)]
    lines += _wrapped("  phase", [_phase_text(seat)])
    lines += _wrapped("  hand", _hand(seat))
    for meld in facts.melds:
        if meld.seat == seat.seat:
            lines += _wrapped("  table", [f"{meld.text}:", *_painted(meld.cards)])
    return lines


def _phase_text(seat: SeatFacts) -> str:
    text = f"{seat.phase}: {seat.phase_text}" if seat.phase else seat.phase_text
    return _short(text, WIDTH - _INDENT)


def _painted(cards: Sequence[str]) -> list[str]:
    return [format_cards([card]) for card in cards]


def _hand(seat: SeatFacts) -> list[str]:
    """Return the words of the line of a hand: its cards, or the known ones and how many are hidden."""
    if seat.hand is not None:
        points = card_points(seat.hand)
        cards = _painted(seat.hand)
        note = f"({seat.hand_size} cards, {points} points)".replace("(1 cards", "(1 card")
        return [*cards, *(_paint(word, _DIM) for word in note.split())]
    hidden = seat.hand_size - len(seat.known)
    words = _painted(seat.known)
    if hidden:
        words += [format_cards(["??"]), f"x {hidden}"]
    return words or ["empty"]


def _wrapped(label: str, words: Sequence[str]) -> list[str]:
    """Return words on as many lines as they need, the label before the first."""
    lines = [label.ljust(_INDENT)]
    for word in words:
        used = len(plain(lines[-1]))
        gap = "" if used == _INDENT else " "
        if used > _INDENT and used + len(gap) + len(plain(word)) > WIDTH:
            lines.append(" " * _INDENT)
            gap = ""
        lines[-1] += gap + word
    return lines


def _foot(facts: TableFacts) -> list[str]:
    if facts.status != "running":
        return [_paint(_short(status_in_words(facts), WIDTH), _BOLD)]
    lines = [_short(stage_in_words(facts), WIDTH)]
    if facts.building is not None:
        for text, cards in facts.building.groups:
            lines += _wrapped("  building", [f"{text}:", *_painted(cards)])
    if facts.onto_card:
        lines += _wrapped("  placing", [format_cards([facts.onto_card])])
    return lines
