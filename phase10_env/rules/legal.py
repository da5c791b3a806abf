"""What a seat may do: the reason why an action is illegal, and the list of legal actions (R8-R12, R23-R28).

`why_illegal` is the one source of legality. `legal_actions` writes the same answer for all 165 actions at
once, fast; a property test holds the two together.
"""

from __future__ import annotations

from phase10_env.rules import table
from phase10_env.rules.cards import NATURALS, NO_CARD, SKIP, SKIP_BIT, lowest_bit
from phase10_env.rules.deal import next_active
from phase10_env.rules.kernel import kernel
from phase10_env.rules.lay_downs import (
    build_children,
    can_finish,
    can_lay,
    declarations,
    group_in_hand,
    is_candidate,
    place_card,
    take_back_card,
)
from phase10_env.rules.melds import HIGH_END, LOW_END, hit_set, meld_ends, meld_in_reach
from phase10_env.rules.phases import (
    ADVANCE_PICK,
    COLOUR_GROUP,
    OUT_DISCARD,
    TARGET_NEXT,
)
from phase10_env.rules.state import BUILD, DRAW, MELDS, ONTO, OVER, PLAY

__all__ = [
    "OK",
    "REASONS",
    "can_draw",
    "can_take",
    "colours_matter",
    "discard_kinds",
    "hit_kinds",
    "is_open_phase",
    "legal_actions",
    "why_illegal",
]

REASONS: tuple[tuple[str, str], ...] = (
    ("OK", "the action is legal"),
    ("NO_SUCH_ACTION", "there is no action with this number; the table has 165, numbered from 0"),
    ("GAME_OVER", "the game is over"),
    ("MUST_DRAW", "a turn begins with a draw: draw from the stock or take the top discard (R8)"),
    ("ALREADY_DRAWN", "only one card is drawn in a turn (R8)"),
    ("STOCK_EMPTY", "the stock is empty and the discard pile has nothing to reshuffle (R13)"),
    ("PILE_EMPTY", "the discard pile is empty"),
    ("TOP_IS_SKIP", "a Skip can never be taken from the discard pile (R9)"),
    ("NO_SUCH_PHASE", "the ruleset has fewer phases"),
    ("ALREADY_LAID", "a phase is laid down once in a round (R10)"),
    ("OTHER_PHASE", "this is not a phase the seat is on (R10, R30)"),
    ("NOT_IN_HAND_WHOLE", "the hand does not hold the whole phase (R10, R14-R18)"),
    ("NOT_HELD", "the card is not in the hand"),
    ("NOT_LAID_YET", "cards are hit only once the own phase is down (R11)"),
    ("LAST_CARD", "the last card must be discarded (R28)"),
    ("NO_PLACE", "the card fits no meld on the table (R20)"),
    ("OWN_MELDS_ONLY", "in the turn of the lay-down only own melds may be hit (R11)"),
    ("NOT_BUILDING", "no lay-down is being built"),
    ("FINISH_BUILDING", "the lay-down that was begun is finished first"),
    (
        "CANNOT_BE_FINISHED",
        "with it the lay-down could not be finished, or it is not in spelling order (R14-R18)",
    ),
    ("NOT_PLACING", "no card is waiting for its place"),
    ("PLACE_THE_CARD", "the card that was played is given its place first"),
    ("WRONG_PLACE", "the card does not fit there (R20)"),
    ("NO_SKIP_HELD", "there is no Skip in the hand"),
    ("NO_SUCH_SEAT", "there is no such player"),
    ("TARGET_INACTIVE", "that player does not take part in this round (R33)"),
    ("TARGET_PENDING", "that player already has a Skip pending (R25)"),
    ("NEXT_PLAYER_ONLY", "a Skip hits the next player (R23)"),
    ("RETURNED_CARD", "the kind just taken may not end the turn while another card can (R12)"),
    ("SAME_NUMBER", "with compact actions only the lowest colour of each number is offered"),
)
"""Names and sentences of the reasons, by code; rule numbers in brackets."""

(
    OK,
    NO_SUCH_ACTION,
    GAME_OVER,
    MUST_DRAW,
    ALREADY_DRAWN,
    STOCK_EMPTY,
    PILE_EMPTY,
    TOP_IS_SKIP,
    NO_SUCH_PHASE,
    ALREADY_LAID,
    OTHER_PHASE,
    NOT_IN_HAND_WHOLE,
    NOT_HELD,
    NOT_LAID_YET,
    LAST_CARD,
    NO_PLACE,
    OWN_MELDS_ONLY,
    NOT_BUILDING,
    FINISH_BUILDING,
    CANNOT_BE_FINISHED,
    NOT_PLACING,
    PLACE_THE_CARD,
    WRONG_PLACE,
    NO_SKIP_HELD,
    NO_SUCH_SEAT,
    TARGET_INACTIVE,
    TARGET_PENDING,
    NEXT_PLAYER_ONLY,
    RETURNED_CARD,
    SAME_NUMBER,
) = range(len(REASONS))


@kernel
def can_draw(game):  # type: ignore[no-untyped-def]
    """Tell whether the stock can give a card, after a reshuffle if need be (R13)."""
    return game.stock_size > 0 or game.discard_size > 1


@kernel
def can_take(game):  # type: ignore[no-untyped-def]
    """Tell whether the top discard may be taken (R9)."""
    return game.discard_size > 0 and game.discard[game.discard_size - 1] != SKIP


@kernel
def is_open_phase(game, rules, seat, phase):  # type: ignore[no-untyped-def]
    """Tell whether a phase (index from 0) is one that the seat may lay down in this round (R30, R33, R35)."""
    if rules.advance == ADVANCE_PICK:
        if game.tie_break:
            return phase == rules.num_phases - 1
        return (game.done[seat] >> phase) & 1 == 0
    return phase == game.phase[seat]


@kernel
def colours_matter(game, rules):  # type: ignore[no-untyped-def]
    """Tell whether a colour group is on the table or may still be laid in this round."""
    for seat in range(game.num_players):
        if game.laid[seat]:
            for meld in range(2 * seat, 2 * seat + 2):
                if game.meld_kind[meld] == COLOUR_GROUP:
                    return True
        elif game.active[seat]:
            for phase in range(rules.num_phases):
                if is_open_phase(game, rules, seat, phase):
                    for group in range(2):
                        if rules.group_kinds[phase, group] == COLOUR_GROUP:
                            return True
    return False


@kernel
def _lowest_colours(kinds):  # type: ignore[no-untyped-def]
    """Return a set of kinds with only the lowest colour of each number left (and the Wild)."""
    seen = 0
    kept = kinds & ~NATURALS
    for colour in range(4):
        row = (kinds >> (12 * colour)) & 0xFFF
        kept |= (row & ~seen) << (12 * colour)
        seen |= row
    return kept


@kernel
def discard_kinds(game, rules):  # type: ignore[no-untyped-def]
    """Return the kinds that may be discarded in full mode (R12)."""
    held = game.held[game.to_act]
    kinds = held & ~SKIP_BIT
    if not rules.allow_return and game.taken != NO_CARD and held & ~(1 << game.taken) != 0:
        kinds &= ~(1 << game.taken)
    return kinds


@kernel
def hit_kinds(game, rules):  # type: ignore[no-untyped-def]
    """Return the kinds that may be hit in full mode (R11, R20, R28)."""
    seat = game.to_act
    if not game.laid[seat] or (rules.go_out == OUT_DISCARD and game.hand_sizes[seat] == 1):
        return 0
    return game.held[seat] & hit_set(game, rules) & ~SKIP_BIT


@kernel
def _write_set(kinds, offset, out, count):  # type: ignore[no-untyped-def]
    left = kinds
    while left != 0:
        out[count] = offset + lowest_bit(left)
        count += 1
        left &= left - 1
    return count


@kernel
def _play_actions(game, rules, out):  # type: ignore[no-untyped-def]
    seat = game.to_act
    count = 0
    first = 0  # the phases to try: one, or under "pick" all
    last = rules.num_phases
    if rules.advance != ADVANCE_PICK:
        first = game.phase[seat]
        last = first + 1
    if not game.laid[seat]:
        for phase in range(first, last):
            if is_open_phase(game, rules, seat, phase) and can_lay(game, rules, seat, phase):
                out[count] = table.LAY + phase
                count += 1
        for place in range(count):
            out[count + place] = out[place] + (table.BUILD - table.LAY)
        count += count
    hits = hit_kinds(game, rules)
    discards = discard_kinds(game, rules)
    if game.compact and not colours_matter(game, rules):
        hits = _lowest_colours(hits)
        discards = _lowest_colours(discards)
    count = _write_set(hits, table.PLAY, out, count)
    count = _write_set(discards, table.DISCARD, out, count)
    if game.hands[seat, SKIP] > 0:
        for distance in range(1, game.num_players):
            if _target_reason(game, rules, distance) == OK:
                out[count] = table.SKIP + distance - 1
                count += 1
    return count


@kernel
def _onto_actions(game, rules, out):  # type: ignore[no-untyped-def]
    count = 0
    for distance in range(game.num_players):
        seat = (game.to_act + distance) % game.num_players
        for group in range(2):
            meld = 2 * seat + group
            if meld_in_reach(game, rules, meld):
                ends = meld_ends(game, meld, game.onto_card)
                if ends & LOW_END:
                    out[count] = table.ONTO + 4 * distance + 2 * group
                    count += 1
                if ends & HIGH_END:
                    out[count] = table.ONTO + 4 * distance + 2 * group + 1
                    count += 1
    return count


@kernel
def legal_actions(game, rules, out):  # type: ignore[no-untyped-def]
    """Write the legal actions, ascending, into `out` (at least 165 places) and return their number."""
    if game.stage == DRAW:
        count = 0
        if can_draw(game):
            out[count] = table.DRAW
            count += 1
        if can_take(game):
            out[count] = table.TAKE
            count += 1
        return count
    if game.stage == PLAY:
        return _play_actions(game, rules, out)
    if game.stage == BUILD:
        return build_children(game, rules, out)
    if game.stage == ONTO:
        return _onto_actions(game, rules, out)
    return 0


# ---- reasons -----------------------------------------------------------------------------------------------


@kernel
def _target_reason(game, rules, distance):  # type: ignore[no-untyped-def]
    """Return why a Skip may not hit the player `distance` seats to the left (R23, R25, R33)."""
    if distance >= game.num_players:
        return NO_SUCH_SEAT
    target = (game.to_act + distance) % game.num_players
    if not game.active[target]:
        return TARGET_INACTIVE
    if game.skipped[target]:
        return TARGET_PENDING
    if rules.skip_target == TARGET_NEXT and target != next_active(game, game.to_act):
        return NEXT_PLAYER_ONLY
    return OK


@kernel
def _draw_reason(game, action):  # type: ignore[no-untyped-def]
    if action == table.DRAW:
        return OK if can_draw(game) else STOCK_EMPTY
    if action == table.TAKE:
        if game.discard_size == 0:
            return PILE_EMPTY
        return OK if can_take(game) else TOP_IS_SKIP
    return MUST_DRAW


@kernel
def _lay_reason(game, rules, phase):  # type: ignore[no-untyped-def]
    seat = game.to_act
    if phase >= rules.num_phases:
        return NO_SUCH_PHASE
    if game.laid[seat]:
        return ALREADY_LAID
    if not is_open_phase(game, rules, seat, phase):
        return OTHER_PHASE
    if can_lay(game, rules, seat, phase):
        return OK
    slots = rules.group_sizes[phase, 0] + rules.group_sizes[phase, 1]
    if rules.go_out == OUT_DISCARD and slots == game.hand_sizes[seat]:
        return LAST_CARD
    return NOT_IN_HAND_WHOLE


@kernel
def _hit_reason(game, rules, kind):  # type: ignore[no-untyped-def]
    seat = game.to_act
    if game.hands[seat, kind] == 0:
        return NOT_HELD
    if not game.laid[seat]:
        return NOT_LAID_YET
    if rules.go_out == OUT_DISCARD and game.hand_sizes[seat] == 1:
        return LAST_CARD
    if (hit_kinds(game, rules) >> kind) & 1 == 0:
        for meld in range(MELDS):
            if (game.meld_fits[meld] >> kind) & 1:
                return OWN_MELDS_ONLY
        return NO_PLACE
    offered = hit_kinds(game, rules)
    if game.compact and not colours_matter(game, rules):
        offered = _lowest_colours(offered)
    return OK if (offered >> kind) & 1 else SAME_NUMBER


@kernel
def _discard_reason(game, rules, kind):  # type: ignore[no-untyped-def]
    if game.hands[game.to_act, kind] == 0:
        return NOT_HELD
    discards = discard_kinds(game, rules)
    if (discards >> kind) & 1 == 0:
        return RETURNED_CARD
    if game.compact and not colours_matter(game, rules) and (_lowest_colours(discards) >> kind) & 1 == 0:
        return SAME_NUMBER
    return OK


@kernel
def _play_reason(game, rules, action):  # type: ignore[no-untyped-def]
    if action < table.LAY:
        return ALREADY_DRAWN
    if action < table.BUILD:
        return _lay_reason(game, rules, action - table.LAY)
    if action < table.NUMBER:
        return _lay_reason(game, rules, action - table.BUILD)
    if action < table.PLAY:
        return NOT_BUILDING
    if action < table.ONTO:
        return _hit_reason(game, rules, action - table.PLAY)
    if action < table.DISCARD:
        return NOT_PLACING
    if action < table.SKIP:
        return _discard_reason(game, rules, action - table.DISCARD)
    if game.hands[game.to_act, SKIP] == 0:
        return NO_SKIP_HELD
    return _target_reason(game, rules, action - table.SKIP + 1)


@kernel
def _build_reason(game, rules, action):  # type: ignore[no-untyped-def]
    if action < table.NUMBER or action >= table.ONTO:
        return FINISH_BUILDING
    group = group_in_hand(game, rules)
    phase = game.build_phase
    if game.declared[group] != 0 and game.compact:
        group = 1  # once both are declared nothing is asked
    if game.declared[group] != 0:
        if action < table.PLAY:
            return CANNOT_BE_FINISHED
        kind = action - table.PLAY
        if game.hands[game.to_act, kind] == 0:
            return NOT_HELD
        if not is_candidate(game, rules, group, kind):
            return CANNOT_BE_FINISHED
        place_card(game, group, kind)
        possible = can_finish(game, rules)
        take_back_card(game, group)
        return OK if possible else CANNOT_BE_FINISHED
    kind = rules.group_kinds[phase, group]
    is_colour = action >= table.COLOUR
    if action >= table.PLAY or is_colour != (kind == COLOUR_GROUP):
        return CANNOT_BE_FINISHED
    value = action - (table.COLOUR if is_colour else table.NUMBER) + 1
    if value > declarations(kind, rules.group_sizes[phase, group]):
        return CANNOT_BE_FINISHED
    like = kind == rules.group_kinds[phase, 0] and (
        rules.group_sizes[phase, group] == rules.group_sizes[phase, 0]
    )
    if group == 1 and like and value < game.declared[0]:
        return CANNOT_BE_FINISHED
    game.declared[group] = value
    possible = can_finish(game, rules)
    game.declared[group] = 0
    return OK if possible else CANNOT_BE_FINISHED


@kernel
def _onto_reason(game, rules, action):  # type: ignore[no-untyped-def]
    if action < table.ONTO or action >= table.DISCARD:
        return PLACE_THE_CARD
    code = action - table.ONTO
    distance = code // 4
    if distance >= game.num_players:
        return NO_SUCH_SEAT
    meld = 2 * ((game.to_act + distance) % game.num_players) + (code // 2) % 2
    ends = meld_ends(game, meld, game.onto_card)
    wanted = HIGH_END if code % 2 else LOW_END
    if ends & wanted == 0:
        return WRONG_PLACE
    return OK if meld_in_reach(game, rules, meld) else OWN_MELDS_ONLY


@kernel
def why_illegal(game, rules, action):  # type: ignore[no-untyped-def]
    """Return OK, or the code of the reason why the seat to act may not take an action (see REASONS)."""
    if action < 0 or action >= table.NUM_ACTIONS:
        return NO_SUCH_ACTION
    if game.stage == OVER:
        return GAME_OVER
    if game.stage == DRAW:
        return _draw_reason(game, action)
    if game.stage == PLAY:
        return _play_reason(game, rules, action)
    if game.stage == BUILD:
        return _build_reason(game, rules, action)
    return _onto_reason(game, rules, action)
