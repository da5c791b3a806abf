"""TableFacts: what one viewer may see of a game, as plain data; the only place where pictures read a record.

Cards are text (`R1` ... `Y12`, `W`, `S`), seats count from 0, phases from 1. `viewer` is a seat, or None for
the open table, on which every hand lies face up. Everything drawn elsewhere comes from these facts, so
whatever is not in here cannot be seen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_env.rules.cards import KIND_TEXTS, KINDS, NO_CARD, NUMBERS, POINTS, WILD
from phase10_env.rules.phases import COLOUR_GROUP, GROUP_KINDS, NO_GROUP, RUN, SET
from phase10_env.rules.rulebook import phase_in_words
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import BUILD, MELDS, ONTO, OVER, PLAY, STAGES, TERMINATED, TRUNCATED

__all__ = [
    "BuildingFacts",
    "MeldFacts",
    "SeatFacts",
    "TableFacts",
    "ViewError",
    "card_points",
    "sort_cards",
    "table_facts",
]

Record = npt.NDArray[np.void]

COLOUR_WORDS = ("red", "blue", "green", "yellow")
PILE_SHOWN = 3
"""Cards of the discard pile that are listed, top first."""


class ViewError(ValueError):
    """A viewer or names that do not fit the game."""


@dataclasses.dataclass(frozen=True, slots=True)
class MeldFacts:
    """A meld on the table.

    Attributes:
        seat, group: whose, and which of the two.
        kind: "set", "run" or "colour".
        text: "set of 7", "run 3-6" or "red cards".
        cards: a run from its low end up, else as laid.
    """

    seat: int
    group: int
    kind: str
    text: str
    cards: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class BuildingFacts:
    """A lay-down that the viewer is spelling: its phase, and for each group what is declared and placed."""

    phase: int
    groups: tuple[tuple[str, tuple[str, ...]], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SeatFacts:
    """One seat as the viewer sees it.

    Attributes:
        seat, name: number and label.
        hand: the cards, sorted; None where they are hidden.
        hand_size: cards held.
        known: cards known to be in a hidden hand, because they were taken from the pile.
        phase: the phase the seat is on, from 1; 0 where it may choose, or has done all.
        phase_text: that phase in words.
        done: phases completed in earlier rounds (a number, or for "pick" which ones).
        laid: the phase is on the table.
        skipped: a Skip is pending.
        active: takes part in this round.
        score: penalty points.
        rank: 1 = winner, once the game is over; 0 before.
        recent: its last discards, newest first.
    """

    seat: int
    name: str
    hand: tuple[str, ...] | None
    hand_size: int
    known: tuple[str, ...]
    phase: int
    phase_text: str
    done: tuple[int, ...]
    laid: bool
    skipped: bool
    active: bool
    score: int
    rank: int
    recent: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class TableFacts:
    """Everything on the table that one viewer may see.

    Attributes:
        ruleset: its name.
        viewer: the seat that looks, or None for the open table.
        round, turn: counted from 1.
        dealer, to_act: seats.
        stage: "draw", "play", "build", "onto" or "over"; "play" stands for "build" and "onto" of others.
        status: "running", "finished" or "stopped" (a cap was reached, R34).
        tie_break: the tied seats replay the last phase (R33).
        stock: cards in the stock.
        pile_size, pile: cards in the discard pile, and the topmost of them, top first.
        taken: the card taken from the pile this turn, or "".
        onto_card: the viewer's card that is looking for its place, or "".
        building: the viewer's lay-down that is being spelled, or None.
        seats: one entry a seat.
        melds: by seat and group.
    """

    ruleset: str
    viewer: int | None
    round: int
    turn: int
    dealer: int
    to_act: int
    stage: str
    status: str
    tie_break: bool
    stock: int
    pile_size: int
    pile: tuple[str, ...]
    taken: str
    onto_card: str
    building: BuildingFacts | None
    seats: tuple[SeatFacts, ...]
    melds: tuple[MeldFacts, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data that JSON can hold."""
        return dataclasses.asdict(self)

    @property
    def can_see_actor(self) -> bool:
        """Whether the viewer sees the cards of the seat to act."""
        return self.viewer is None or self.viewer == self.to_act


def table_facts(
    games: Record, ruleset: RuleSet, viewer: int | None = None, names: Sequence[str] | None = None
) -> TableFacts:
    """Return what a viewer may see of a game.

    Args:
        games: GAME[1].
        ruleset: its rules.
        viewer: a seat, or None for the open table.
        names: a label for each seat; default "seat 0", "seat 1", ...

    Raises:
        ViewError: there is no such seat, or the names are too few or too many.

    >>> from phase10_env import GameBatch
    >>> batch = GameBatch(num_games=1, num_players=3, seed=1)
    >>> facts = table_facts(batch.games, batch.ruleset, viewer=0)
    >>> [seat.hand is None for seat in facts.seats]
    [False, True, True]
    """
    game = games[0]
    players = int(game["num_players"])
    labels = _labels(players, viewer, names)
    stage = int(game["stage"])
    to_act = int(game["to_act"])
    own = viewer is None or viewer == to_act
    if stage in (BUILD, ONTO) and not own:
        stage = PLAY
    pile = game["discard"][: game["discard_size"]][::-1]
    return TableFacts(
        ruleset=ruleset.name,
        viewer=viewer,
        round=int(game["round"]),
        turn=int(game["turn"]) + 1,
        dealer=int(game["dealer"]),
        to_act=to_act,
        stage=STAGES[stage],
        status={TERMINATED: "finished", TRUNCATED: "stopped"}.get(int(game["status"]), "running"),
        tie_break=bool(game["tie_break"]),
        stock=int(game["stock_size"]),
        pile_size=len(pile),
        pile=_texts(pile[:PILE_SHOWN]),
        taken=_card(game["taken"]) if stage != OVER else "",
        onto_card=_card(game["onto_card"]) if stage == ONTO else "",
        building=_building(game, ruleset) if stage == BUILD else None,
        seats=tuple(_seat(game, ruleset, seat, viewer, labels[seat]) for seat in range(players)),
        melds=tuple(_meld(game, place) for place in range(MELDS) if game["meld_kind"][place] != NO_GROUP),
    )


def sort_cards(cards: Sequence[str], by_colour: bool = False) -> tuple[str, ...]:
    """Return cards as a player holds them: by number, or by colour; Wilds, then Skips at the end.

    >>> sort_cards(["W", "R9", "B2", "S", "R2"])
    ('R2', 'B2', 'R9', 'W', 'S')
    """

    def place(card: str) -> tuple[int, int]:
        kind = KIND_TEXTS.index(card)
        if kind >= WILD:
            return (NUMBERS + kind, 0)
        colour, number = divmod(kind, NUMBERS)
        return (colour, number) if by_colour else (number, colour)

    return tuple(sorted(cards, key=place))


def card_points(cards: Sequence[str]) -> int:
    """Return the penalty points of some cards (R3).

    >>> card_points(["R9", "Y10", "S", "W"])
    55
    """
    return sum(int(POINTS[KIND_TEXTS.index(card)]) for card in cards)


def _labels(players: int, viewer: int | None, names: Sequence[str] | None) -> list[str]:
    if viewer is not None and not 0 <= viewer < players:
        raise ViewError(f"viewer is {viewer}: expected a seat from 0 to {players - 1}, or None")
    if names is None:
        return [f"seat {seat}" for seat in range(players)]
    if isinstance(names, Mapping | str) or len(names) != players:
        raise ViewError(f"names is {names!r}: expected a list of {players} labels, one for each seat")
    return ["".join(letter if letter.isprintable() else "?" for letter in str(name)) for name in names]


def _texts(kinds: npt.NDArray[np.integer]) -> tuple[str, ...]:
    return tuple(KIND_TEXTS[kind] for kind in kinds)


def _card(kind: np.integer) -> str:
    return "" if kind == NO_CARD else KIND_TEXTS[kind]


def _spread(counts: npt.NDArray[np.integer]) -> tuple[str, ...]:
    """Return cards counted by kind as texts."""
    return _texts(np.repeat(np.arange(KINDS), counts))


def _seat(game: np.void, ruleset: RuleSet, seat: int, viewer: int | None, name: str) -> SeatFacts:
    phase, text = _phase(game, ruleset, seat)
    by_colour = bool(phase) and any(kind == "colour" for kind, _ in ruleset.phases[phase - 1])
    seen = viewer is None or viewer == seat
    recent = game["recent"][seat]
    return SeatFacts(
        seat=seat,
        name=name,
        hand=sort_cards(_spread(game["hands"][seat]), by_colour) if seen else None,
        hand_size=int(game["hand_sizes"][seat]),
        known=sort_cards(_spread(game["known"][seat]), by_colour),
        phase=phase,
        phase_text=text,
        done=_done(game, ruleset, seat),
        laid=bool(game["laid"][seat]),
        skipped=bool(game["skipped"][seat]),
        active=bool(game["active"][seat]),
        score=int(game["score"][seat]),
        rank=int(game["rank"][seat]),
        recent=_texts(recent[recent != NO_CARD]),
    )


def _phase(game: np.void, ruleset: RuleSet, seat: int) -> tuple[int, str]:
    """Return the number and the words of the phase that a seat has laid or may lay."""
    phases = ruleset.phases
    if ruleset.advance == "pick":
        if game["laid"][seat]:
            phase = int(game["laid_phase"][seat])
        elif game["tie_break"]:
            phase = len(phases) - 1
        else:
            missing = [str(k + 1) for k in range(len(phases)) if not (int(game["done"][seat]) >> k) & 1]
            return 0, f"any of {' '.join(missing)}" if missing else "all phases done"
    else:
        phase = int(game["phase"][seat])
    if phase >= len(phases):
        return 0, "all phases done"
    return phase + 1, phase_in_words(phases[phase])


def _done(game: np.void, ruleset: RuleSet, seat: int) -> tuple[int, ...]:
    if ruleset.advance == "pick":
        return tuple(k + 1 for k in range(len(ruleset.phases)) if (int(game["done"][seat]) >> k) & 1)
    if ruleset.advance == "every_round":
        return ()
    return tuple(range(1, int(game["phase"][seat]) + 1))


def meld_text(kind: int, value: int, high: int) -> str:
    """Return what a meld is in words: its kind (a group kind of the rules), value and high end."""
    if kind == SET:
        return f"set of {value}s"
    if kind == RUN:
        return f"run {value}-{high}"
    return f"{COLOUR_WORDS[value]} cards"


def _meld(game: np.void, place: int) -> MeldFacts:
    kind = int(game["meld_kind"][place])
    return MeldFacts(
        seat=place // 2,
        group=place % 2,
        kind=GROUP_KINDS[kind],
        text=meld_text(kind, int(game["meld_value"][place]), int(game["meld_high"][place])),
        cards=_texts(game["meld_cards"][place, : game["meld_size"][place]]),
    )


def _building(game: np.void, ruleset: RuleSet) -> BuildingFacts:
    phase = int(game["build_phase"])
    groups = []
    for group, (kind, size) in enumerate(ruleset.phases[phase]):
        declared = int(game["declared"][group])
        code = GROUP_KINDS.index(kind)
        value = declared - 1 if code == COLOUR_GROUP else declared
        text = meld_text(code, value, declared + size - 1) if declared else f"{kind} of {size}"
        placed = game["placed"][group, : game["placed_sizes"][group]]
        groups.append((text, _texts(placed)))
    return BuildingFacts(phase + 1, tuple(groups))
