"""Writes observations and privileged states: the kernels behind `observation.py`.

A `line` is one row of a buffer, uint8[D]; `at` names where each field begins. What a byte depends on is looked up
in small tables rather than decided by branches: a turn is unpredictable, and a wrong guess costs the processor
more than twenty bytes copied.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from phase10_env import observation_fields as at
from phase10_env.distance import seat_outlook
from phase10_env.rules.cards import KINDS, NO_CARD, NUMBERS, SKIP, WILD
from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import can_take, is_open_phase
from phase10_env.rules.melds import hit_set
from phase10_env.rules.phases import ADVANCE_PICK, COLOUR_GROUP, MAX_PHASES, NO_GROUP, PLACE_FRONT, RUN
from phase10_env.rules.state import BUILD, ONTO, OVER, PLAY, RECENT

__all__ = ["encode", "encode_row", "encode_states"]


# ---- tables ------------------------------------------------------------------------------------------------


def _card_table() -> npt.NDArray[np.uint8]:
    """Return uint8[51, 18]: a card by kind as number, colour, Wild, Skip; NO_CARD is all zero."""
    table = np.zeros((NO_CARD + 1, at.CARD), np.uint8)
    for kind in range(WILD):
        table[kind, kind % NUMBERS] = 1
        table[kind, NUMBERS + kind // NUMBERS] = 1
    table[WILD, NUMBERS + 4] = 1
    table[SKIP, NUMBERS + 5] = 1
    return table


def _progress_table() -> npt.NDArray[np.uint8]:
    """Return uint8[11, 20], by phases done: the present phase, then the set of those before it."""
    table = np.zeros((MAX_PHASES + 1, 2 * MAX_PHASES), np.uint8)
    for done in range(MAX_PHASES + 1):
        table[done, MAX_PHASES : MAX_PHASES + done] = 1
        if done < MAX_PHASES:
            table[done, done] = 1
    return table


_LEVELS = 5
_CARDS = _card_table()
_PROGRESS = _progress_table()
_AT_LEAST = (np.arange(16)[:, None] > np.arange(_LEVELS)).astype(np.uint8)
_BITS = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.uint8)


@kernel
def _write_card(line, start, kind):  # type: ignore[no-untyped-def]
    for place in range(at.CARD):
        line[start + place] = _CARDS[kind, place]


@kernel
def _write_naturals(field, kinds):  # type: ignore[no-untyped-def]
    """Write a set of kinds as 48 bytes; Wild and Skip are left out.

    `field` begins at its first byte: only places known to the compiler are written eight at once.
    """
    for byte in range(WILD // 8):
        bits = (kinds >> (8 * byte)) & 255
        for place in range(8):
            field[8 * byte + place] = _BITS[bits, place]


# ---- what everyone knows -----------------------------------------------------------------------------------


@kernel
def _write_common(game, rules, seat, line):  # type: ignore[no-untyped-def]
    numbers = game.numbers[seat]
    colours = game.colours[seat]
    for kind in range(KINDS):
        line[at.HAND + kind] = game.hands[seat, kind]
        line[at.PILE + kind] = game.pile_counts[kind]
        line[at.TABLE + kind] = game.table_counts[kind]
    for number in range(NUMBERS):
        line[at.HAND_NUMBERS + number] = (numbers >> (4 * number)) & 15
    for colour in range(4):
        line[at.HAND_COLOURS + colour] = (colours >> (8 * colour)) & 255
    if game.stage != OVER:
        # the others see a lay-down or a hit only when it is complete
        stage = game.stage if game.to_act == seat else min(game.stage, PLAY)
        line[at.STAGE + stage] = 1
    if game.discard_size > 0:
        _write_card(line, at.TOP, game.discard[game.discard_size - 1])
    if game.discard_size > 1:
        _write_card(line, at.UNDER_TOP, game.discard[game.discard_size - 2])
    if game.to_act == seat:
        _write_card(line, at.TAKEN, game.taken)
        line[at.LAID_THIS_TURN] = game.laid_this_turn
        if game.stage == BUILD:
            _write_building(game, rules, line)
        elif game.stage == ONTO:
            _write_card(line, at.ONTO_CARD, game.onto_card)
    line[at.STOCK_SIZE] = game.stock_size
    line[at.ROUND] = min(game.round, 255)
    line[at.TURN] = game.turn >> 8
    line[at.TURN + 1] = game.turn & 255
    line[at.RESHUFFLES] = min(game.reshuffles, 255)
    line[at.TIE_BREAK] = game.tie_break
    line[at.PLAYERS + game.num_players - 2] = 1


@kernel
def _write_rules(rules, line):  # type: ignore[no-untyped-def]
    line[at.RULES_PHASES + rules.num_phases - 1] = 1
    line[at.RULES_HAND] = rules.hand_size
    line[at.RULES_OPTIONS + rules.advance] = 1
    line[at.RULES_OPTIONS + 3 + rules.skip_target] = 1
    line[at.RULES_OPTIONS + 5 + rules.skip_placement] = 1
    line[at.RULES_OPTIONS + 7 + rules.hit_after_lay] = 1
    line[at.RULES_OPTIONS + 9 + rules.go_out] = 1
    line[at.RULES_OPTIONS + 11 + rules.winner] = 1
    line[at.RULES_OPTIONS + 13 + rules.tie_break] = 1
    line[at.RULES_OPTIONS + 16] = rules.allow_return


@kernel
def _write_building(game, rules, line):  # type: ignore[no-untyped-def]
    line[at.BUILD_PHASE + game.build_phase] = 1
    in_hand = 2
    for group in range(1, -1, -1):
        kind = rules.group_kinds[game.build_phase, group]
        if kind == NO_GROUP:
            continue
        left = rules.group_sizes[game.build_phase, group] - game.placed_sizes[group]
        if left > 0:
            in_hand = group
        line[at.BUILD_LEFT + group] = left
        declared = game.declared[group]
        if declared > 0:
            place = 11 + declared if kind == COLOUR_GROUP else declared - 1
            line[at.BUILD_DECLARED + 16 * group + place] = 1
        for place in range(game.placed_sizes[group]):
            line[at.BUILD_CARDS + game.placed[group, place]] += 1
    if in_hand < 2:
        line[at.BUILD_GROUP + in_hand] = 1


@kernel
def _write_unseen(game, rules, seat, line):  # type: ignore[no-untyped-def]
    """Write the cards that neither the own hand nor the table shows; `_write_known` takes those of hands off.

    It does so for every seat: what is known of the own hand, counted already, is added here.
    """
    for kind in range(KINDS):
        line[at.UNSEEN + kind] = (
            rules.deck_counts[kind]
            + game.known[seat, kind]
            - game.hands[seat, kind]
            - game.pile_counts[kind]
            - game.table_counts[kind]
        )
    if rules.skip_placement == PLACE_FRONT:
        for other in range(game.num_players):
            if game.skipped[other]:
                line[at.UNSEEN + SKIP] -= 1


# ---- seats -------------------------------------------------------------------------------------------------


@kernel
def _write_meld(game, meld, block, start):  # type: ignore[no-untyped-def]
    kind = game.meld_kind[meld]
    if kind == NO_GROUP:
        return
    block[start + kind - 1] = 1
    value = game.meld_value[meld]
    if kind == COLOUR_GROUP:
        block[start + 3 + NUMBERS + value] = 1
    else:
        block[start + 3 + value - 1] = 1
    if kind == RUN:
        high = game.meld_high[meld]
        block[start + 3 + NUMBERS + 4 + high - 1] = 1
        block[start + at.MELD - 2] = value > 1
        block[start + at.MELD - 1] = high < NUMBERS
    block[start + at.MELD - 3] = game.meld_size[meld]


@kernel
def _write_known(game, seat, line, start):  # type: ignore[no-untyped-def]
    """Write the cards known to be in a hand, and take them off the unseen ones.

    LLVM unrolls a loop of so few rounds into single bytes unless its body is long enough; then it handles sixteen
    at once. So both are done in one loop, which also clears the next field, once more.
    """
    for kind in range(KINDS):
        known = game.known[seat, kind]
        line[start + at.KNOWN + kind] = known
        line[start + at.RECENT + kind] = 0
        line[at.UNSEEN + kind] -= known


@kernel
def _write_seat(game, rules, seat, block):  # type: ignore[no-untyped-def]
    block[at.PRESENT] = 1
    block[at.ACTIVE] = game.active[seat]
    block[at.DEALER] = game.dealer == seat
    block[at.HAND_SIZE] = game.hand_sizes[seat]
    if rules.advance == ADVANCE_PICK:
        for phase in range(rules.num_phases):
            block[at.PHASE + phase] = is_open_phase(game, rules, seat, phase)
            block[at.DONE + phase] = (game.done[seat] >> phase) & 1
    else:
        done = min(game.phase[seat], MAX_PHASES)
        for place in range(2 * MAX_PHASES):  # `done` follows `phase`
            block[at.PHASE + place] = _PROGRESS[done, place]
    block[at.LAID] = game.laid[seat]
    block[at.SKIPPED] = game.skipped[seat]
    score = min(game.score[seat], 65535)
    block[at.SCORE] = score >> 8
    block[at.SCORE + 1] = score & 255
    for place in range(RECENT - 1, -1, -1):
        # NO_CARD falls on the byte behind the field, which `refused` overwrites next
        kind = np.uint8(game.recent[seat, place])  # unsigned: never an index from the end, which costs a test
        block[at.RECENT + kind] = RECENT - place
    _write_card(block, at.REFUSED, game.refused[seat])
    if game.laid[seat]:
        _write_meld(game, 2 * seat, block, at.MELD_0)
        _write_meld(game, 2 * seat + 1, block, at.MELD_1)


# ---- derived -----------------------------------------------------------------------------------------------


@kernel
def _write_own_sums(game, rules, seat, derived):  # type: ignore[no-untyped-def]
    """Write what follows from the own hand and the table."""
    numbers = game.numbers[seat]
    for number in range(NUMBERS):
        count = (numbers >> (4 * number)) & 15
        for level in range(_LEVELS):
            derived[at.COUNTS + _LEVELS * number + level] = _AT_LEAST[count, level]
    hits = hit_set(game, rules)
    _write_naturals(derived[at.HITTABLE : at.HITTABLE + WILD], hits)
    derived[at.HITTABLE + WILD] = (hits >> WILD) & 1
    wanted = 0
    kept = game.held[seat]
    if not game.laid[seat] and game.active[seat]:
        _, missing, wanted, needed = seat_outlook(game, rules, seat)
        derived[at.MISSING + min(missing, 9)] = 1
        kept &= ~needed
        helping = wanted | wanted >> NUMBERS | wanted >> (2 * NUMBERS) | wanted >> (3 * NUMBERS)
        for number in range(NUMBERS):
            derived[at.HELPS + number] = (helping >> number) & 1
    _write_naturals(derived[at.KEEPS : at.KEEPS + WILD], kept)
    if can_take(game):
        top = game.discard[game.discard_size - 1]
        derived[at.TOP_HELPS] = (wanted >> top) & 1
        derived[at.TOP_HELPS + 1] = (hits >> top) & 1 if game.laid[seat] else 0


@kernel
def _write_number_sums(line, derived):  # type: ignore[no-untyped-def]
    """Write sums by number of what the other fields of the line hold by kind; short loops that vectorise."""
    following = at.COMMON_SIZE + at.SEAT_SIZE + at.KNOWN
    own = at.COMMON_SIZE + at.KNOWN
    for number in range(NUMBERS):
        derived[at.NEXT_KNOWN + number] = (
            line[following + number]
            + line[following + number + NUMBERS]
            + line[following + number + 2 * NUMBERS]
            + line[following + number + 3 * NUMBERS]
        )
    for number in range(NUMBERS):
        derived[at.NEXT_KNOWN + NUMBERS + number] = derived[at.NEXT_KNOWN + number] > 1
    for number in range(NUMBERS):
        derived[at.NEXT_KNOWN + number] = derived[at.NEXT_KNOWN + number] > 0
    for number in range(NUMBERS):
        derived[at.OWN_KNOWN + number] = (
            line[own + number]
            | line[own + number + NUMBERS]
            | line[own + number + 2 * NUMBERS]
            | line[own + number + 3 * NUMBERS]
        ) > 0
    for number in range(NUMBERS):
        derived[at.UNSEEN_NUMBERS + number] = (
            line[at.UNSEEN + number]
            + line[at.UNSEEN + number + NUMBERS]
            + line[at.UNSEEN + number + 2 * NUMBERS]
            + line[at.UNSEEN + number + 3 * NUMBERS]
        )
    for number in range(NUMBERS):
        derived[at.PILE_NUMBERS + number] = (
            line[at.PILE + number]
            + line[at.PILE + number + NUMBERS]
            + line[at.PILE + number + 2 * NUMBERS]
            + line[at.PILE + number + 3 * NUMBERS]
        )
    derived[at.UNSEEN_NUMBERS + NUMBERS] = line[at.UNSEEN + WILD]
    derived[at.UNSEEN_NUMBERS + NUMBERS + 1] = line[at.UNSEEN + SKIP]


# ---- whole lines -------------------------------------------------------------------------------------------


@kernel
def encode(game, rules, seat, out, row, seats, full):  # type: ignore[no-untyped-def]
    """Write the observation of a seat into out[row] (uint8[.., D]); `seats` blocks are laid out."""
    line = out[row]
    for place in range(len(line)):
        line[place] = 0
    _write_common(game, rules, seat, line)
    _write_rules(rules, line)
    _write_unseen(game, rules, seat, line)
    start = at.COMMON_SIZE
    other = seat
    for _ in range(game.num_players):
        _write_known(game, other, line, start)
        _write_seat(game, rules, other, line[start : start + at.SEAT_SIZE])
        start += at.SEAT_SIZE
        other += 1
        if other >= game.num_players:
            other = 0
    if full:
        start = at.COMMON_SIZE + seats * at.SEAT_SIZE
        derived = line[start : start + at.DERIVED_SIZE]
        _write_own_sums(game, rules, seat, derived)
        _write_number_sums(line, derived)


@kernel
def encode_row(games, rules, index, seat, out, row, seats, full):  # type: ignore[no-untyped-def]
    """Write the observation of a seat of games[index] into out[row]."""
    encode(games[index], rules[0], seat, out, row, seats, full)


@kernel
def encode_states(games, rules, out):  # type: ignore[no-untyped-def]
    """Write the privileged state of every game, seen from its seat to act, into out uint8[B, D]."""
    for row in range(len(games)):
        game = games[row]
        line = out[row]
        for place in range(len(line)):
            line[place] = 0
        for place in range(game.stock_size):
            kind = game.stock[game.stock_size - 1 - place]
            line[at.STATE_STOCK + kind] += 1
            line[at.STATE_ORDER + place] = kind + 1
            if place < at.NEXT_CARDS:
                _write_card(line, at.STATE_NEXT + place * at.CARD, kind)
        for distance in range(game.num_players):
            seat = (game.to_act + distance) % game.num_players
            start = at.STATE_COMMON_SIZE + distance * at.STATE_SEAT_SIZE
            for kind in range(KINDS):
                line[start + at.STATE_HAND + kind] = game.hands[seat, kind]
            if game.active[seat] and not game.laid[seat]:
                _, missing, _, _ = seat_outlook(game, rules[0], seat)
                line[start + at.STATE_MISSING + min(missing, 9)] = 1
