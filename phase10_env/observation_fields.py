"""What an observation and a privileged state consist of: names, sizes and scales of the fields, and where each begins.

Tables of (name, entries, scale, meaning); beside each the offsets of its fields inside their block.
"""

from __future__ import annotations

from collections.abc import Sequence

from phase10_env.rules.cards import KINDS, NUMBERS, WILD
from phase10_env.rules.phases import MAX_PHASES

CARD = NUMBERS + 6  # a card as number, colour, Wild, Skip: 12 + 4 + 1 + 1 places; no card = all zero

COMMON_FIELDS: tuple[tuple[str, int, float, str], ...] = (
    ("hand", KINDS, 0.5, "own cards by kind"),
    ("hand_numbers", NUMBERS, 0.25, "own naturals by number"),
    ("hand_colours", 4, 0.2, "own naturals by colour"),
    ("stage", 4, 1.0, "draw, play, build or onto, one-hot"),
    ("build_phase", MAX_PHASES, 1.0, "phase being built, one-hot"),
    ("build_group", 2, 1.0, "group being filled, one-hot"),
    ("build_declared", 2 * 16, 1.0, "per group: number or low end (12) or colour (4) declared, one-hot"),
    ("build_left", 2, 0.2, "per group: cards still to be spelled"),
    ("build_cards", KINDS, 0.5, "cards spelled so far, by kind"),
    ("onto_card", CARD, 1.0, "card waiting for its place: number (12), colour (4), Wild, Skip"),
    ("taken", CARD, 1.0, "card taken from the pile this turn, likewise"),
    ("laid_this_turn", 1, 1.0, "1 in the turn of the own lay-down"),
    ("top", CARD, 1.0, "top discard, likewise; all zero: the pile is empty"),
    ("under_top", CARD, 1.0, "discard beneath the top, likewise"),
    ("pile", KINDS, 0.5, "discard pile since the last reshuffle, by kind"),
    ("table", KINDS, 0.5, "cards in melds, by kind"),
    ("unseen", KINDS, 0.5, "cards nobody has shown yet, by kind: stock and others' unknown cards"),
    ("stock_size", 1, 0.01, "cards in the stock"),
    ("round", 1, 0.05, "round of the game, 255 at most"),
    ("turn", 2, 0.02, "turns of this round so far (two bytes, high first)"),
    ("reshuffles", 1, 0.3, "reshuffles in this round"),
    ("tie_break", 1, 1.0, "1 in a tie-break round"),
    ("players", 5, 1.0, "number of players 2-6, one-hot"),
    ("rules_phases", MAX_PHASES, 1.0, "number of phases, one-hot"),
    ("rules_hand", 1, 0.1, "cards dealt"),
    (
        "rules_options",
        17,
        1.0,
        "advance 3, skip target 2, placement 2, hit after lay 2, go out 2, winner 2, tie break 3, allow return 1",
    ),
)

MELD = 3 + NUMBERS + 4 + NUMBERS + 1 + 2
SEAT_FIELDS: tuple[tuple[str, int, float, str], ...] = (
    ("present", 1, 1.0, "1: there is such a player"),
    ("active", 1, 1.0, "1: takes part in this round"),
    ("dealer", 1, 1.0, "1: deals this round"),
    ("hand_size", 1, 0.1, "cards in hand"),
    ("phase", MAX_PHASES, 1.0, "phases the seat may lay in this round, as a set"),
    ("done", MAX_PHASES, 1.0, "phases finished in earlier rounds, as a set"),
    ("laid", 1, 1.0, "1: has laid down this round"),
    ("skipped", 1, 1.0, "1: a Skip is pending"),
    ("score", 2, 0.005, "penalty points (two bytes, high first)"),
    ("known", KINDS, 1.0, "cards known to be in the hand, taken from the pile, by kind"),
    ("recent", KINDS, 0.125, "last discards: 8 for the newest, 7 for the one before, ...; by kind"),
    ("refused", CARD, 1.0, "last pile top that the seat could have taken and did not"),
    (
        "meld_0",
        MELD,
        1.0,
        "first meld: set, run, colour group (3); number or low end (12); colour (4); high end (12); size; "
        "low end open, high end open",
    ),
    ("meld_1", MELD, 1.0, "second meld, likewise"),
)

DERIVED_FIELDS: tuple[tuple[str, int, float, str], ...] = (
    ("counts", 5 * NUMBERS, 1.0, "per number: at least 1, 2, 3, 4, 5 in hand"),
    ("missing", 10, 1.0, "cards missing for the nearest open phase, one-hot 0-9; all zero once laid"),
    ("keeps_distance", WILD, 1.0, "per kind held: discarding it leaves the cards missing unchanged"),
    ("top_helps", 2, 1.0, "the top discard lowers the cards missing; it could be hit"),
    ("hittable", WILD + 1, 1.0, "kinds that fit a meld now"),
    ("helps", NUMBERS, 1.0, "numbers of which a card would lower the cards missing"),
    ("next_known", 2 * NUMBERS, 1.0, "per number: the next player is known to hold one; two"),
    ("own_known", NUMBERS, 1.0, "per number: the others know that one is in this hand"),
    ("unseen_numbers", NUMBERS + 2, 0.125, "unseen cards by number, unseen Wilds, unseen Skips"),
    ("pile_numbers", NUMBERS, 0.125, "discard pile by number"),
)

CANDIDATE_FIELDS: tuple[tuple[str, int, float, str], ...] = (
    ("worth", 1, 0.01, "before the lay-down: 60 - 20 ln of the hand's worth, about 9 a turn of waiting"),
    ("draw_gain", 1, 0.01, "draw: 100 times the mean gain (of ln worth) of an unseen card"),
    ("take_gain", 1, 0.01, "draw: 100 times the gain of the top discard"),
    (
        "gains",
        NUMBERS + 5,
        0.01,
        "draw: 100 times the gain of a card of each number (12), colour (4), of a Wild",
    ),
    ("discard_loss", WILD, 0.01, "play: 100 times the loss (of ln worth) by discarding each kind held"),
    ("feeds", WILD, 1.0, "play: kinds held that whoever may take the discard could hit at once"),
    ("near_ends", NUMBERS, 1.0, "play: numbers one step beyond what the runs on the table take"),
    (
        "receiver_known",
        NUMBERS + 4,
        0.5,
        "play: cards known with whoever may take the discard, by number, by colour",
    ),
    ("receiver_threw", NUMBERS + 4, 0.5, "play: cards it lately threw or left lying, likewise (2 at most)"),
)

STATE_SEAT_FIELDS: tuple[tuple[str, int, float, str], ...] = (
    ("hand", KINDS, 0.5, "hand of the seat, by kind"),
    ("missing", 10, 1.0, "cards missing for its nearest open phase, one-hot 0-9"),
)
NEXT_CARDS = 6
STATE_COMMON_FIELDS: tuple[tuple[str, int, float, str], ...] = (
    ("stock", KINDS, 0.5, "the stock by kind"),
    ("next_cards", NEXT_CARDS * CARD, 1.0, "the next six cards of the stock, top first"),
    ("stock_order", 108, 0.02, "the whole stock, top first: kind + 1, 0 = no card"),
)


def _offsets(fields: Sequence[tuple[str, int, float, str]]) -> tuple[list[int], int]:
    places, end = [], 0
    for _, size, _, _ in fields:
        places.append(end)
        end += size
    return places, end


(
    (
        HAND,
        HAND_NUMBERS,
        HAND_COLOURS,
        STAGE,
        BUILD_PHASE,
        BUILD_GROUP,
        BUILD_DECLARED,
        BUILD_LEFT,
        BUILD_CARDS,
        ONTO_CARD,
        TAKEN,
        LAID_THIS_TURN,
        TOP,
        UNDER_TOP,
        PILE,
        TABLE,
        UNSEEN,
        STOCK_SIZE,
        ROUND,
        TURN,
        RESHUFFLES,
        TIE_BREAK,
        PLAYERS,
        RULES_PHASES,
        RULES_HAND,
        RULES_OPTIONS,
    ),
    COMMON_SIZE,
) = _offsets(COMMON_FIELDS)
(
    (
        PRESENT,
        ACTIVE,
        DEALER,
        HAND_SIZE,
        PHASE,
        DONE,
        LAID,
        SKIPPED,
        SCORE,
        KNOWN,
        RECENT,
        REFUSED,
        MELD_0,
        MELD_1,
    ),
    SEAT_SIZE,
) = _offsets(SEAT_FIELDS)
(
    (
        COUNTS,
        MISSING,
        KEEPS,
        TOP_HELPS,
        HITTABLE,
        HELPS,
        NEXT_KNOWN,
        OWN_KNOWN,
        UNSEEN_NUMBERS,
        PILE_NUMBERS,
    ),
    DERIVED_SIZE,
) = _offsets(DERIVED_FIELDS)
(
    (
        WORTH,
        DRAW_GAIN,
        TAKE_GAIN,
        GAINS,
        DISCARD_LOSS,
        FEEDS,
        NEAR_ENDS,
        RECEIVER_KNOWN,
        RECEIVER_THREW,
    ),
    CANDIDATE_SIZE,
) = _offsets(CANDIDATE_FIELDS)
(STATE_HAND, STATE_MISSING), STATE_SEAT_SIZE = _offsets(STATE_SEAT_FIELDS)
(STATE_STOCK, STATE_NEXT, STATE_ORDER), STATE_COMMON_SIZE = _offsets(STATE_COMMON_FIELDS)
