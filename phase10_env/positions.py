"""Positions: one game as plain data or JSON, to and from a game record (interfaces of the project).

A position is a moment of a running game at which a seat decides. Cards are text (`R1` ... `Y12`, `W`, `S`);
seats count from 0, phases from 1; the first card of the stock and of the discard pile is the top one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_env.actions import ACTION_TEXTS, ActionError, parse_action
from phase10_env.engine import Record, legal_indices, reason_against, settle
from phase10_env.notation import format_card, format_cards, format_counts
from phase10_env.position_checks import find_inconsistencies, hand_is_possible, laid_phase, melds_are_sound
from phase10_env.position_fields import VALUE_FIELDS, Draft, MeldDraft, parse_json, read_fields
from phase10_env.rules import table
from phase10_env.rules.cards import COLOUR_LETTERS, KIND_TEXTS, KINDS, NO_CARD, NUMBERS, SKIP, WILD
from phase10_env.rules.phases import COLOUR_GROUP, GROUP_KINDS, NO_GROUP, RUN, SET
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import (
    BUILD,
    DRAW,
    GAME,
    ONTO,
    OVER,
    PLAY,
    RUNNING,
    STAGES,
)

__all__ = [
    "ACTION_MODES",
    "PositionError",
    "load_position",
    "position_of",
    "set_deal",
    "set_hand",
    "set_pile",
]

ACTION_MODES = ("full", "compact")
"""The modes of action by number: every lay-down spelled card by card, or the canonical one."""


class PositionError(ValueError):
    """A position that is not one, or not one of a game by these rules.

    `problems` holds one sentence for each problem, each naming its field.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = list(problems)

    def __str__(self) -> str:
        return "\n".join(self.problems)


def load_position(position: Mapping[str, Any] | str, actions: str = "full") -> tuple[Record, RuleSet]:
    """Return the game record of a position, walked on to a moment of choice, and its rules.

    Args:
        position: plain data, or the JSON text of it.
        actions: "full" or "compact", the mode in which play goes on.

    Returns:
        GAME[1] and the ruleset.

    Raises:
        PositionError: with one sentence for every problem of the position.

    >>> load_position('{"players": 9}')
    Traceback (most recent call last):
    phase10_env.positions.PositionError: ruleset is missing
    players is 9: expected a whole number from 2 to 6
    dealer is missing
    ...
    """
    data: object = position
    problems: list[str] = []
    if actions not in ACTION_MODES:
        problems.append(f"actions is {actions!r}: expected one of {', '.join(ACTION_MODES)}")
    if isinstance(position, str):
        data, found = parse_json(position)
        problems += found
        if data is None and found:
            raise PositionError(*problems)
    draft, found = read_fields(data)
    problems += found
    problems += find_inconsistencies(draft)
    problems += _building_problems(draft)
    problems += _onto_problems(draft)
    if problems:
        raise PositionError(*problems)
    assert draft.ruleset is not None
    games = _record(draft, draft.ruleset)
    games["compact"] = actions == "compact"
    settle(games, draft.ruleset)
    return games, draft.ruleset


# ---- spelling and hits: checked by the rules themselves ----------------------------------------------------


def _building_problems(draft: Draft) -> list[str]:
    """Return why `building` is no path of the tree of spellings of the hand."""
    seat, ruleset = draft.to_act, draft.ruleset
    if draft.stage != "build" or draft.build_phase is None or draft.spelled is None:
        return []
    if (
        seat is None
        or ruleset is None
        or not hand_is_possible(draft, seat)
        or draft.build_phase > len(ruleset.phases)
    ):
        return []
    assert draft.seats is not None
    entry = draft.seats[seat]
    if entry.laid or (entry.done if ruleset.advance == "pick" else entry.phase) is None:
        return []
    games = _blank_record(max(draft.players or 0, seat + 1), seat, PLAY)
    set_hand(games, seat, entry.hand or [])
    games["phase"][0, seat] = (entry.phase or 1) - 1
    games["done"][0, seat] = _bit_set(entry.done or [])
    games["tie_break"] = draft.has_active
    reason = reason_against(games, ruleset, table.BUILD + draft.build_phase - 1)
    if reason is not None:
        return [f"building.phase is {draft.build_phase}: {reason}"]
    for place in range(len(draft.spelled)):
        problem = _spelling_problem(games, ruleset, draft, place)
        if problem:
            return [f"building.spelled[{place}] is {problem}"]
    return []


def _spelling_problem(games: Record, ruleset: RuleSet, draft: Draft, place: int) -> str:
    """Return why one word may not follow those before it."""
    assert draft.spelled is not None
    word = draft.spelled[place]
    try:
        action = parse_action(word)
    except ActionError as error:
        return f"no action: {error}"
    if not _spell(games, ruleset, draft, draft.spelled[:place]):
        return f"'{word}': the lay-down is complete before it, expected nothing more (R16)"
    games["stage"] = BUILD
    reason = reason_against(games, ruleset, action)
    return "" if reason is None else f"'{word}': {reason}"


def _spell(games: Record, ruleset: RuleSet, draft: Draft, spelled: Sequence[str]) -> bool:
    """Write a spelling into the build fields of a record; return False if it is complete."""
    assert draft.to_act is not None
    assert draft.build_phase is not None
    game = games[0]
    phase = draft.build_phase - 1
    game["build_phase"] = phase
    game["declared"] = 0
    game["placed_sizes"] = 0
    game["free"] = game["hands"][draft.to_act]
    sizes = ruleset.record["group_sizes"][0, phase]
    group = 0
    for word in spelled:
        action = parse_action(word)
        if action >= table.PLAY:
            size = int(game["placed_sizes"][group])
            game["placed"][group, size] = action - table.PLAY
            game["placed_sizes"][group] = size + 1
            game["free"][action - table.PLAY] -= 1
        else:
            offset = table.COLOUR if action >= table.COLOUR else table.NUMBER
            game["declared"][group] = action - offset + 1
        if group == 0 and game["placed_sizes"][0] == sizes[0]:
            group = 1
    game["free_numbers"] = _packed(game["free"])
    groups = len(ruleset.phases[phase])
    return bool(game["placed_sizes"][:groups].sum() < sizes.sum())


def _onto_problems(draft: Draft) -> list[str]:
    """Return why the card of stage `onto` does not have two places to choose from (R11, R20)."""
    if draft.stage != "onto" or draft.card is None or draft.card == SKIP or draft.to_act is None:
        return []
    if draft.ruleset is None or draft.laid_this_turn is None or not melds_are_sound(draft):
        return []
    assert draft.table is not None
    players = max([draft.players or 0, draft.to_act + 1, *(int(m.seat or 0) + 1 for m in draft.table)])
    games = _blank_record(players, draft.to_act, ONTO)
    _write_table(games, draft.table)
    games["onto_card"] = draft.card
    games["laid_this_turn"] = draft.laid_this_turn
    places = len(legal_indices(games, draft.ruleset))
    if places >= 2:
        return []
    fits = "no place" if places == 0 else "one place"
    return [
        f"card is {KIND_TEXTS[draft.card]}: it fits {fits} on the table, 'onto' is asked from two on (R20)"
    ]


# ---- writing a record --------------------------------------------------------------------------------------


def _blank_record(players: int, to_act: int, stage: int) -> Record:
    """Return a record of a running game without cards."""
    games = np.zeros(1, dtype=GAME)
    game = games[0]
    game["num_players"] = players
    game["to_act"] = to_act
    game["stage"] = stage
    game["status"] = RUNNING
    game["out_seat"] = -1
    for name in ("taken", "onto_card", "refused", "recent"):
        game[name] = NO_CARD
    game["active"][:players] = 1
    return games


def _record(draft: Draft, ruleset: RuleSet) -> Record:
    """Return the record of a draft without problems."""
    assert draft.players is not None
    assert draft.to_act is not None
    assert draft.stage is not None
    games = _blank_record(draft.players, draft.to_act, STAGES.index(draft.stage))
    game = games[0]
    for name in ("seed", "dealer", "round", "turn", "laid_this_turn"):
        game[name] = getattr(draft, name)
    game["taken"] = NO_CARD if draft.taken is None else draft.taken
    game["onto_card"] = NO_CARD if draft.card is None else draft.card
    if draft.has_active:
        game["tie_break"] = 1
        for seat in range(draft.players):
            game["active"][seat] = seat in (draft.active or [])
    set_pile(games, "stock", draft.stock or [])
    set_pile(games, "discard", draft.discard or [])
    _write_seats(games, draft)
    _write_table(games, draft.table or [])
    _write_memory(games, draft)
    if draft.stage == "build":
        _spell(games, ruleset, draft, draft.spelled or [])
    return games


def set_hand(games: Record, seat: int, kinds: Sequence[int]) -> None:
    """Replace a hand in a record, with all that is derived from it.

    Args:
        games: GAME[1], changed.
        seat: whose hand.
        kinds: the cards.
    """
    game = games[0]
    counts = np.bincount(np.array(kinds, dtype=np.int64), minlength=KINDS)
    game["hands"][seat] = counts
    game["hand_sizes"][seat] = len(kinds)
    game["held"][seat] = _bit_set([kind + 1 for kind in kinds])
    game["numbers"][seat] = _packed(counts)
    colours = counts[:WILD].reshape(-1, NUMBERS).sum(axis=1)
    game["colours"][seat] = sum(int(count) << (8 * colour) for colour, count in enumerate(colours))


def _packed(counts: npt.NDArray[np.integer]) -> int:
    """Return naturals by number, four bits each."""
    numbers = counts[:WILD].reshape(-1, NUMBERS).sum(axis=0)
    return sum(int(count) << (4 * place) for place, count in enumerate(numbers))


def _bit_set(places: Sequence[int]) -> int:
    """Return a bit set of places counted from 1."""
    bits = 0
    for place in places:
        bits |= 1 << (place - 1)
    return bits


def set_pile(games: Record, name: str, kinds: Sequence[int]) -> None:
    """Replace the stock or the discard pile in a record.

    Args:
        games: GAME[1], changed.
        name: "stock" or "discard".
        kinds: the cards, top first.
    """
    game = games[0]
    game[f"{name}_size"] = len(kinds)
    game[name][: len(kinds)] = kinds[::-1]
    if name == "discard":
        game["pile_counts"] = np.bincount(np.array(kinds, dtype=np.int64), minlength=KINDS)


def _write_seats(games: Record, draft: Draft) -> None:
    game = games[0]
    for seat, entry in enumerate(draft.seats or []):
        set_hand(games, seat, entry.hand or [])
        game["phase"][seat] = (entry.phase or 1) - 1
        game["done"][seat] = _bit_set(entry.done or [])
        game["score"][seat] = entry.score
        game["skipped"][seat] = entry.skipped
        game["laid"][seat] = entry.laid
        game["laid_phase"][seat] = (laid_phase(draft, seat) or 1) - 1


def _write_table(games: Record, melds: Sequence[MeldDraft]) -> None:
    game = games[0]
    for meld in melds:
        assert meld.seat is not None
        assert meld.group is not None
        assert meld.kind is not None
        assert meld.value is not None
        cards = meld.cards or []
        place = 2 * meld.seat + meld.group
        high = meld.value + len(cards) - 1 if meld.kind == RUN else 0
        game["meld_kind"][place] = meld.kind
        game["meld_value"][place] = meld.value
        game["meld_high"][place] = high
        game["meld_size"][place] = len(cards)
        game["meld_cards"][place, : len(cards)] = cards
        game["meld_fits"][place] = _fits(meld.kind, meld.value, high)
        game["table_counts"] += np.bincount(np.array(cards, dtype=np.int64), minlength=KINDS).astype(np.int8)


def _fits(kind: int, value: int, high: int) -> int:
    """Return the set of kinds that may be added to a meld (R20)."""
    numbers = {SET: [value], RUN: [value - 1, high + 1]}.get(kind, range(1, NUMBERS + 1))
    colours = [value] if kind == COLOUR_GROUP else range(len(COLOUR_LETTERS))
    naturals = [
        NUMBERS * colour + number for colour in colours for number in numbers if 1 <= number <= NUMBERS
    ]
    return _bit_set([*naturals, WILD + 1]) if naturals else 0


def _write_memory(games: Record, draft: Draft) -> None:
    game = games[0]
    memory = draft.memory
    for seat, kinds in enumerate(memory.known):
        game["known"][seat] = np.bincount(np.array(kinds or [], dtype=np.int64), minlength=KINDS)
    for seat, kinds in enumerate(memory.discards):
        game["recent"][seat, : len(kinds or [])] = kinds or []
    for seat, kinds in enumerate(memory.refused):
        game["refused"][seat] = kinds[0] if kinds else NO_CARD
    for name in ("reshuffles", "no_draw", "episode"):
        game[name] = getattr(memory, name)


def set_deal(
    games: Record, ruleset: RuleSet, hands: Sequence[str | None], discard: str, stock: str
) -> Record:
    """Return a record with another deal of its round, before the first turn (R5-R7).

    Args:
        games: GAME[1], a running game; its round, dealer, scores and phases are kept.
        ruleset: its rules.
        hands: the cards of each seat, None for a seat that does not take part.
        discard: the first face-up card.
        stock: the stock, top first.

    Raises:
        PositionError: with one sentence for every problem of the deal.
    """
    old = games[0]
    players = int(old["num_players"])
    taking_part = [seat for seat in range(players) if old["active"][seat]]
    problems = []
    if [seat for seat, hand in enumerate(hands) if hand is not None] != taking_part:
        problems.append(f"hands: expected one of each of the seats {taking_part}, None for others (R5, R33)")
    problems += [
        f"hands[{seat}] has {len(hand.split())} cards: expected {ruleset.hand_size} (R5)"
        for seat, hand in enumerate(hands)
        if hand is not None and len(hand.split()) != ruleset.hand_size
    ]
    if len(discard.split()) != 1:
        problems.append(
            f"discard has {len(discard.split())} cards: expected the first face-up card alone (R5)"
        )
    if problems:
        raise PositionError(*problems)
    after_dealer = sorted(taking_part, key=lambda seat: (seat - int(old["dealer"]) - 1) % players)
    lost = discard.strip().upper() == KIND_TEXTS[SKIP]
    position = position_of(_without_cards(games), ruleset) | {
        "ruleset": ruleset,
        "stock": stock,
        "discard": discard,
    }
    position |= {"to_act": after_dealer[lost], "turn": int(lost)}
    for seat, hand in enumerate(hands):
        position["seats"][seat]["hand"] = hand or ""
    dealt, _ = load_position(position, ACTION_MODES[int(old["compact"])])
    for name in ("decisions", "single_round", "round_over", "out_seat", "round_points", "round_laid"):
        dealt[name] = games[name]
    dealt["last_lost"] = 1 << after_dealer[0] if lost else 0
    dealt["no_draw"] += lost
    return dealt


def _without_cards(games: Record) -> Record:
    """Return a record as it is before its round is dealt."""
    blank = _blank_record(int(games["num_players"][0]), 0, DRAW)
    for name in ("seed", "episode", "dealer", "active", "tie_break", "round", "phase", "done", "score"):
        blank[name] = games[name]
    return blank


# ---- reading a record --------------------------------------------------------------------------------------


def position_of(games: Record, ruleset: RuleSet) -> dict[str, Any]:
    """Return the position of a game record as plain data that JSON can hold.

    Args:
        games: GAME[1], a running game.
        ruleset: its rules.

    Raises:
        PositionError: the game is over, so that no seat decides.
    """
    game = games[0]
    stage = int(game["stage"])
    if stage == OVER:
        raise PositionError("stage: the game is over; a position is a moment at which a seat decides")
    players = int(game["num_players"])
    position: dict[str, Any] = {"ruleset": ruleset.spec, "players": players}
    position |= {name: int(game[name]) for name in ("dealer", "to_act")}
    position |= {"stage": STAGES[stage], "round": int(game["round"]), "turn": int(game["turn"])}
    for name in ("stock", "discard"):
        position[name] = format_cards(game[name][: game[f"{name}_size"]][::-1].tolist())
    position["seats"] = [_seat_of(game, ruleset, seat) for seat in range(players)]
    position["table"] = [_meld_of(game, m) for m in range(2 * players) if game["meld_kind"][m] != NO_GROUP]
    if stage in (PLAY, ONTO):
        position["laid_this_turn"] = bool(game["laid_this_turn"])
    if stage != DRAW and game["taken"] != NO_CARD:
        position["taken"] = format_card(int(game["taken"]))
    if stage == BUILD:
        position["building"] = {"phase": int(game["build_phase"]) + 1, "spelled": _spelled(game, ruleset)}
    if stage == ONTO:
        position["card"] = format_card(int(game["onto_card"]))
    if game["tie_break"]:
        position["active"] = [seat for seat in range(players) if game["active"][seat]]
    memory = _memory_of(game, players)
    if memory:
        position["memory"] = memory
    position["seed"] = int(game["seed"])
    return position


def _seat_of(game: np.void, ruleset: RuleSet, seat: int) -> dict[str, Any]:
    laid = bool(game["laid"][seat])
    entry: dict[str, Any] = {"hand": format_counts(game["hands"][seat])}
    if ruleset.advance == "pick":
        done = int(game["done"][seat])
        entry["done"] = [k + 1 for k in range(len(ruleset.phases)) if done >> k & 1]
        if laid:
            entry["laid_phase"] = int(game["laid_phase"][seat]) + 1
    else:
        entry["phase"] = int(game["phase"][seat]) + 1
    return {**entry, "laid": laid, "score": int(game["score"][seat]), "skipped": bool(game["skipped"][seat])}


def _meld_of(game: np.void, place: int) -> dict[str, Any]:
    kind, value = int(game["meld_kind"][place]), int(game["meld_value"][place])
    return {
        "seat": place // 2,
        "group": place % 2,
        "kind": GROUP_KINDS[kind],
        VALUE_FIELDS[kind]: COLOUR_LETTERS[value] if kind == COLOUR_GROUP else value,
        "cards": format_cards(game["meld_cards"][place, : game["meld_size"][place]].tolist()),
    }


def _spelled(game: np.void, ruleset: RuleSet) -> list[str]:
    """Return the words of the lay-down being built, in spelling order."""
    words = []
    for group, (kind, _) in enumerate(ruleset.phases[int(game["build_phase"])]):
        declared = int(game["declared"][group])
        if declared:
            offset = table.COLOUR if GROUP_KINDS.index(kind) == COLOUR_GROUP else table.NUMBER
            words.append(ACTION_TEXTS[offset + declared - 1])
        cards = game["placed"][group, : game["placed_sizes"][group]].tolist()
        words += [ACTION_TEXTS[table.PLAY + card] for card in cards]
    return words


def _memory_of(game: np.void, players: int) -> dict[str, Any]:
    """Return what only the course of the round tells, leaving out what is empty."""
    memory: dict[str, Any] = {
        "known": [format_counts(game["known"][seat]) for seat in range(players)],
        "discards": [_without_gaps(game["recent"][seat].tolist()) for seat in range(players)],
        "refused": [_without_gaps([int(game["refused"][seat])]) for seat in range(players)],
        "reshuffles": int(game["reshuffles"]),
        "no_draw": int(game["no_draw"]),
        "episode": int(game["episode"]),
    }
    return {
        name: value for name, value in memory.items() if (any(value) if isinstance(value, list) else value)
    }


def _without_gaps(kinds: Sequence[int]) -> str:
    return format_cards([kind for kind in kinds if kind < KINDS])
