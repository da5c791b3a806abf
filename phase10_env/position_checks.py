"""Finds what is inconsistent between the fields of a position (R37-style: everything at once).

Every check runs on whatever could be read and is silent where one of its own fields could not be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from phase10_env.notation import format_cards
from phase10_env.position_fields import Draft, MeldDraft, SeatDraft
from phase10_env.rules.cards import COLOUR_LETTERS, KIND_TEXTS, NUMBERS, SKIP, WILD
from phase10_env.rules.phases import COLOUR_GROUP, GROUP_KINDS, RUN, SET
from phase10_env.rules.ruleset import RuleSet, phase_text
from phase10_env.rules.state import MELD_CARDS

__all__ = ["find_inconsistencies", "hand_is_possible", "laid_phase", "melds_are_sound"]


def find_inconsistencies(draft: Draft) -> list[str]:
    """Return one sentence for each inconsistency between fields."""
    problems: list[str] = []
    for check in (_deck, _active, _turn, _stage, _phases, _hands, _table, _lay_downs, _memory):
        problems.extend(check(draft))
    return problems


def is_active(draft: Draft, seat: int) -> bool:
    """Tell whether a seat takes part in the round, as far as that could be read."""
    return draft.active is None or seat in draft.active


def laid_phase(draft: Draft, seat: int) -> int | None:
    """Return the phase (from 1) that a seat has laid down this round, or None."""
    entry = draft.seats[seat] if draft.seats and seat < len(draft.seats) else SeatDraft()
    if not entry.laid or draft.ruleset is None:
        return None
    if draft.ruleset.advance == "pick":
        return entry.laid_phase
    return entry.phase if entry.phase is not None and entry.phase <= len(draft.ruleset.phases) else None


# ---- cards -------------------------------------------------------------------------------------------------


def _deck(draft: Draft) -> Iterator[str]:
    """Compare all zones with the deck (R2, I1)."""
    if draft.ruleset is None:
        return
    zones = [draft.stock, draft.discard]
    zones += [entry.hand for entry in draft.seats or []]
    zones += [meld.cards for meld in draft.table or []]
    found: Counter[int] = Counter()
    for zone in zones:
        found.update(zone or [])
    if draft.ruleset.skip_placement == "front":
        found[SKIP] += sum(bool(entry.skipped) for entry in draft.seats or [])
    deck = Counter(dict(enumerate(draft.ruleset.deck)))
    surplus = sorted((found - deck).elements())
    if surplus:
        yield (
            f"stock, discard, seats and table hold {_cards(surplus)} more than the deck: expected each card "
            "of the deck once (R2; a Skip in front of a skipped seat counts, R24)"
        )
    complete = all(zone is not None for zone in zones) and draft.seats is not None and draft.table is not None
    if draft.seats is not None and draft.players is not None and len(draft.seats) != draft.players:
        complete = False
    missing = sorted((deck - found).elements())
    if complete and missing:
        yield (
            f"stock, discard, seats and table lack {_cards(missing)} of the deck: expected each card of the "
            "deck once (R2; a Skip in front of a skipped seat counts, R24)"
        )


def _cards(kinds: list[int]) -> str:
    cards = "1 card" if len(kinds) == 1 else f"{len(kinds)} cards"
    more = "" if len(kinds) <= 12 else " ..."
    return f"{cards} ({format_cards(kinds[:12])}{more})"


def _hands(draft: Draft) -> Iterator[str]:
    """Look for hands that are too large, or empty while the round runs (R5, R8, R28)."""
    for seat, entry in enumerate(draft.seats or []):
        where = f"seats[{seat}].hand"
        if entry.hand is None:
            continue
        if not is_active(draft, seat):
            if entry.hand:
                yield f"{where} has {len(entry.hand)} cards: expected none, the seat is not active (R33)"
            continue
        if not entry.hand:
            yield f"{where} is empty: expected cards, the round ends when a hand is empty (R28)"
        most = _most_cards(draft, seat)
        if most is not None and len(entry.hand) > most:
            drawn = " after the draw" if _has_drawn(draft, seat) else ""
            laid = f" with phase {laid_phase(draft, seat)} laid down" if laid_phase(draft, seat) else ""
            yield f"{where} has {len(entry.hand)} cards: expected at most {most}{drawn}{laid} (R5, R8, R12)"


def _has_drawn(draft: Draft, seat: int) -> bool:
    return seat == draft.to_act and draft.stage != "draw"


def _most_cards(draft: Draft, seat: int) -> int | None:
    if draft.ruleset is None:
        return None
    phase = laid_phase(draft, seat)
    laid = 0 if phase is None else sum(size for _, size in draft.ruleset.phases[phase - 1])
    return draft.ruleset.hand_size + _has_drawn(draft, seat) - laid


def hand_is_possible(draft: Draft, seat: int) -> bool:
    """Tell whether a hand could be read and stays within the deck and the size of a hand."""
    hand = draft.seats[seat].hand if draft.seats and seat < len(draft.seats) else None
    if hand is None or draft.ruleset is None or len(hand) > draft.ruleset.hand_size + 1:
        return False
    return all(count <= draft.ruleset.deck[kind] for kind, count in Counter(hand).items())


# ---- seats and turn ----------------------------------------------------------------------------------------


def _active(draft: Draft) -> Iterator[str]:
    """Check the seats of a tie-break round (R33)."""
    if not draft.has_active or draft.active is None:
        return
    if len(draft.active) < 2:
        yield f"active is {draft.active}: expected the two or more seats of a tie-break round (R33)"
        return
    if draft.ruleset is not None and draft.ruleset.tie_break == "share":
        yield "active: expected none, under tie_break='share' no tie is replayed (R33)"
    if draft.ruleset is not None and draft.ruleset.winner == "went_out":
        yield "active: expected none, under winner='went_out' there are no ties (R31)"
    seats = draft.seats or []
    scores = {seats[seat].score for seat in draft.active if seat < len(seats)} - {None}
    if len(scores) > 1:
        found = ", ".join(str(score) for score in sorted(score for score in scores if score is not None))
        yield f"active: the seats have scores {found}: expected equal scores in a tie-break round (R33)"
    for name in ("dealer", "to_act"):
        seat = getattr(draft, name)
        if seat is not None and seat not in draft.active:
            yield f"{name} is {seat}: expected one of the active seats {sorted(draft.active)} (R33)"
    for seat, entry in enumerate(seats):
        if seat not in draft.active:
            for name in ("laid", "skipped"):
                if getattr(entry, name):
                    yield f"seats[{seat}].{name} is true: expected false, the seat is not active (R33)"
        elif entry.laid and draft.ruleset is not None and draft.ruleset.tie_break == "lay_down":
            yield f"seats[{seat}].laid is true: under tie_break='lay_down' this seat has won (R33)"


def _turn(draft: Draft) -> Iterator[str]:
    """Check pending Skips and the card just taken (R9, R12, R23)."""
    seats = draft.seats or []
    if draft.to_act is None or draft.to_act >= len(seats):
        return
    actor = seats[draft.to_act]
    if actor.skipped:
        yield (
            f"seats[{draft.to_act}].skipped is true: "
            "expected false, the seat to act has no Skip left pending (R23)"
        )
    yield from _skip_targets(draft, draft.to_act, seats)
    if draft.laid_this_turn and actor.laid is False:
        yield f"laid_this_turn is true: expected false, seat {draft.to_act} has not laid down (R10)"
    if draft.taken is not None and actor.hand is not None and draft.table is not None:
        cards = [kind for meld in draft.table for kind in meld.cards or [draft.taken]]
        if draft.taken not in actor.hand and draft.taken not in cards:
            yield (
                f"taken is {KIND_TEXTS[draft.taken]}: expected a card in the hand of seat {draft.to_act} "
                "or on the table (R8)"
            )


def _skip_targets(draft: Draft, actor: int, seats: list[SeatDraft]) -> Iterator[str]:
    """Check that a Skip would have a legal target, as it has at any moment of a game (R25, I3)."""
    if draft.players is None or len(seats) != draft.players:
        return
    others = [(actor + distance) % draft.players for distance in range(1, draft.players)]
    others = [seat for seat in others if is_active(draft, seat)]
    if draft.ruleset is not None and draft.ruleset.skip_target == "next":
        others = others[:1]
    if others and all(seats[seat].skipped for seat in others):
        yield (
            f"seats[{others[0]}].skipped is true: expected a player whom seat {actor} could skip, found none "
            "without a Skip pending (R23, R25)"
        )


def _stage(draft: Draft) -> Iterator[str]:
    """Check which fields the stage asks for and which it forbids."""
    if draft.stage is None:
        return
    if draft.stage == "draw":
        if draft.laid_this_turn:
            yield "laid_this_turn is true: expected false at the start of a turn, in stage 'draw' (R8)"
        if draft.taken is not None:
            yield "taken: expected none at the start of a turn, in stage 'draw' (R8)"
    if draft.stage == "build" and not draft.has_building:
        yield "building is missing: stage 'build' needs it, as in {'phase': 1, 'spelled': ['number 7']}"
    if draft.stage != "build" and draft.has_building:
        yield f"building: expected only in stage 'build', found stage '{draft.stage}'"
    if draft.stage == "onto" and draft.card is None:
        yield "card is missing: stage 'onto' needs the card that is being hit, as in 'R5'"
    if draft.stage != "onto" and draft.card is not None:
        yield f"card: expected only in stage 'onto', found stage '{draft.stage}'"
    if draft.to_act is None or draft.seats is None or draft.to_act >= len(draft.seats):
        return
    actor = draft.seats[draft.to_act]
    if draft.stage == "build" and actor.laid:
        yield f"stage is 'build': seat {draft.to_act} has laid down already, once in a round (R10)"
    if draft.stage == "onto":
        yield from _onto_card(draft, actor)


def _onto_card(draft: Draft, actor: SeatDraft) -> Iterator[str]:
    if actor.laid is False:
        yield f"stage is 'onto': seat {draft.to_act} has not laid down, so it may not hit (R11)"
    if draft.card is None or actor.hand is None:
        return
    if draft.card not in actor.hand:
        yield f"card is {KIND_TEXTS[draft.card]}: expected a card in the hand of seat {draft.to_act} (R20)"
    elif draft.ruleset is not None and draft.ruleset.go_out == "discard" and len(actor.hand) == 1:
        yield f"card is {KIND_TEXTS[draft.card]}: the last card must be discarded (R28)"


def _phases(draft: Draft) -> Iterator[str]:
    """Check which phases the seats are on, have done and have laid (R30, R33, R35)."""
    if draft.ruleset is None:
        return
    last = len(draft.ruleset.phases)
    for seat, entry in enumerate(draft.seats or []):
        where = f"seats[{seat}]"
        if draft.ruleset.advance == "pick":
            yield from _picked_phases(draft, seat, entry, where, last)
            continue
        if entry.laid_phase is not None and (not entry.laid or entry.laid_phase != entry.phase):
            yield f"{where}.laid_phase is {entry.laid_phase}: expected the phase of a seat that has laid down"
        if entry.phase is None:
            continue
        if not draft.has_active and entry.phase > last:
            yield f"{where}.phase is {entry.phase}: expected 1 to {last}, the phases of the ruleset (R36)"
        if draft.active is not None and seat in draft.active and entry.phase != last:
            yield f"{where}.phase is {entry.phase}: expected {last}, which a tie-break round replays (R33)"


def _picked_phases(draft: Draft, seat: int, entry: SeatDraft, where: str, last: int) -> Iterator[str]:
    tie_break = draft.active is not None and seat in draft.active
    if entry.done is not None:
        if tie_break and len(entry.done) < last:
            yield f"{where}.done has {len(entry.done)} phases: expected all {last} in a tie-break round (R33)"
        if not draft.has_active and len(entry.done) == last:
            yield f"{where}.done has all {last} phases: the game would be over (R35)"
    if entry.laid is False and entry.laid_phase is not None:
        yield f"{where}.laid_phase is {entry.laid_phase}: expected none, the seat has not laid down (R35)"
    if entry.laid and entry.laid_phase is None:
        yield f"{where}.laid_phase is missing: expected the phase that the seat has laid down (R35)"
    if entry.laid and entry.laid_phase is not None:
        if tie_break and entry.laid_phase != last:
            yield f"{where}.laid_phase is {entry.laid_phase}: expected {last}, which is replayed (R33)"
        if not draft.has_active and entry.laid_phase in (entry.done or []):
            yield f"{where}.laid_phase is {entry.laid_phase}: it was done in an earlier round (R35)"


# ---- melds -------------------------------------------------------------------------------------------------


def _table(draft: Draft) -> Iterator[str]:
    """Check each meld by itself, and that no place on the table is taken twice (R14, R18)."""
    places: Counter[tuple[int, int]] = Counter()
    for i, meld in enumerate(draft.table or []):
        where = f"table[{i}]"
        if meld.seat is not None and meld.group is not None:
            places[meld.seat, meld.group] += 1
            if places[meld.seat, meld.group] == 2:
                yield f"{where}: seat {meld.seat} has group {meld.group} twice, expected each once (R10)"
        yield from _meld(where, meld, draft.ruleset)


def _meld(where: str, meld: MeldDraft, ruleset: RuleSet | None) -> Iterator[str]:
    if meld.cards is None or meld.kind is None:
        return
    if not meld.cards:
        yield f"{where}.cards is empty: expected the cards of a {GROUP_KINDS[meld.kind]} (R16)"
        return
    if SKIP in meld.cards:
        yield f"{where}.cards has a Skip: a Skip is never part of a group (R21)"
    if len(meld.cards) > MELD_CARDS:
        yield f"{where}.cards has {len(meld.cards)} cards: expected at most {MELD_CARDS}"
    if all(kind == WILD for kind in meld.cards) and (ruleset is None or ruleset.naturals == "group"):
        yield f"{where}.cards has Wilds only: expected at least one natural card in the group (R18)"
    if meld.value is None:
        return
    if meld.kind == RUN and meld.value + len(meld.cards) - 1 > NUMBERS:
        yield (
            f"{where}.cards: a run of {len(meld.cards)} from {meld.value} passes 12, "
            "expected one within 1 to 12 (R14)"
        )
        return
    for place, kind in enumerate(meld.cards):
        if kind < WILD and not _belongs(meld, place, kind):
            wanted = _wanted(meld, place)
            yield f"{where}.cards, card {place + 1}: {KIND_TEXTS[kind]} is no {wanted} (R14, R20)"


def _belongs(meld: MeldDraft, place: int, kind: int) -> bool:
    assert meld.value is not None
    if meld.kind == COLOUR_GROUP:
        return kind // NUMBERS == meld.value
    return kind % NUMBERS + 1 == meld.value + (place if meld.kind == RUN else 0)


def _wanted(meld: MeldDraft, place: int) -> str:
    assert meld.value is not None
    if meld.kind == COLOUR_GROUP:
        return f"card of colour {COLOUR_LETTERS[meld.value]}"
    if meld.kind == SET:
        return f"{meld.value}, the number of the set"
    return f"{meld.value + place}, the number at this place of the run"


def melds_are_sound(draft: Draft) -> bool:
    """Tell whether every meld could be read and is valid, so that it can be put into a record."""
    whole = draft.table is not None and all(
        None not in (meld.seat, meld.group, meld.kind, meld.value, meld.cards) for meld in draft.table
    )
    return whole and not any(_table(draft))


def _lay_downs(draft: Draft) -> Iterator[str]:
    """Check that a seat has melds exactly when it has laid down, and those of its phase (R10, R16, R20)."""
    if draft.table is None:
        return
    for seat, entry in enumerate(draft.seats or []):
        melds = {meld.group: (i, meld) for i, meld in enumerate(draft.table) if meld.seat == seat}
        if entry.laid is False:
            for i, _ in melds.values():
                yield f"table[{i}]: seat {seat} has a meld but has not laid down, expected none (R10)"
        phase = laid_phase(draft, seat)
        if phase is None or draft.ruleset is None:
            continue
        groups = draft.ruleset.phases[phase - 1]
        # a meld that could not be read may be one of these
        unreadable = any(meld.seat is None or meld.group is None for meld in draft.table)
        for group, (kind, size) in enumerate(groups):
            if group in melds:
                i, meld = melds[group]
                yield from _group(f"table[{i}]", meld, kind, size, f"phase {phase} of seat {seat}")
            elif not unreadable:
                yield (
                    f"table: group {group} ({kind} {size}) of seat {seat} is missing, expected all of "
                    f"phase {phase}, {phase_text(groups)} (R10)"
                )
        if 1 in melds and len(groups) == 1:
            yield f"table[{melds[1][0]}].group is 1: phase {phase} of seat {seat} has one group, 0 (R15)"
        yield from _naturals_of_phase(draft.ruleset, [meld for _, meld in melds.values()], seat, phase)


def _group(where: str, meld: MeldDraft, kind: str, size: int, whose: str) -> Iterator[str]:
    if meld.kind is not None and GROUP_KINDS[meld.kind] != kind:
        yield f"{where}.kind is '{GROUP_KINDS[meld.kind]}': expected '{kind}' for {whose} (R15, R22)"
    elif meld.cards is not None and 0 < len(meld.cards) < size:
        yield f"{where}.cards has {len(meld.cards)} cards: expected at least {size} for {whose} (R16)"


def _naturals_of_phase(ruleset: RuleSet, melds: list[MeldDraft], seat: int, phase: int) -> Iterator[str]:
    cards = [kind for meld in melds for kind in meld.cards or [0]]
    if ruleset.naturals == "phase" and cards and all(kind == WILD for kind in cards):
        yield f"table: phase {phase} of seat {seat} has Wilds only, expected at least one natural card (R18)"


def _memory(draft: Draft) -> Iterator[str]:
    """Check that the cards known to be in a hand are there."""
    for name in ("known", "discards", "refused"):
        for seat, kinds in enumerate(getattr(draft.memory, name)):
            if kinds and not is_active(draft, seat):
                yield f"memory.{name}[{seat}] has cards: expected none, the seat is not active (R33)"
    for seat, known in enumerate(draft.memory.known):
        hand = draft.seats[seat].hand if draft.seats and seat < len(draft.seats) else None
        if known and hand is not None:
            absent = sorted((Counter(known) - Counter(hand)).elements())
            if absent:
                yield f"memory.known[{seat}] has {_cards(absent)} that are not in the hand of seat {seat}"
