"""The invariants of a running game as a set of flags: what must hold at every decision, whatever was played.

I1-I3 and I5 of the rules, and that the derived fields of the record (sums, sets, sizes) say the same as the
cards they are derived from. I4 and I6 compare several games and are left to tests.
"""

from __future__ import annotations

from enum import IntFlag

import numpy as np
import numpy.typing as npt

from phase10_env.rules import table
from phase10_env.rules.cards import KINDS, NUMBERS, SKIP, WILD
from phase10_env.rules.kernel import announce, kernel
from phase10_env.rules.legal import OK, legal_actions, why_illegal
from phase10_env.rules.melds import fitting_kinds
from phase10_env.rules.phases import COLOUR_GROUP, NO_GROUP, PLACE_FRONT, RUN
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import BUILD, DRAW, MAX_PLAYERS, ONTO, OVER, RUNNING

__all__ = ["Broken", "broken_invariants", "check"]


class Broken(IntFlag):
    """The invariants that do not hold.

    >>> Broken(0) == Broken.NOTHING, Broken.DECK | Broken.HANDS
    (True, <Broken.DECK|HANDS: 5>)
    """

    NOTHING = 0
    DECK = 1
    """All zones together are not the deck (I1)."""
    SUMS = 2
    """A derived field differs from the cards it is derived from."""
    HANDS = 4
    """A hand is empty, or larger than the draws of the round allow (I2)."""
    SKIPS = 8
    """A Skip would have no legal target, or pends on the seat to act (I3, R25)."""
    MELDS = 16
    """A meld is not one: wrong cards, kind or place, or its owner has not laid down (R14, R18, R22)."""
    TURN = 32
    """The seat to act, the stage or the status cannot be (R6, R33)."""
    CHOICE = 64
    """No action is legal, or the list of legal actions and the reasons against the others differ (I5)."""
    BUILDING = 128
    """The lay-down being built, or the card being hit, is not in the hand."""


_DECK, _SUMS, _HANDS, _SKIPS, _MELDS, _TURN, _CHOICE, _BUILDING = 1, 2, 4, 8, 16, 32, 64, 128


@kernel
def _on_the_table(game, kind):  # type: ignore[no-untyped-def]
    """Return how many cards of a kind lie in melds."""
    count = 0
    for meld in range(2 * game.num_players):
        for place in range(game.meld_size[meld]):
            count += game.meld_cards[meld, place] == kind
    return count


@kernel
def _piles_broken(game, rules):  # type: ignore[no-untyped-def]
    """Compare every kind in every zone with the deck, and the counts of the piles with the piles."""
    broken = 0
    for kind in range(KINDS):
        pile = 0
        for place in range(game.discard_size):
            pile += game.discard[place] == kind
        table_cards = _on_the_table(game, kind)
        if pile != game.pile_counts[kind] or table_cards != game.table_counts[kind]:
            broken |= _SUMS
        total = pile + table_cards
        for place in range(game.stock_size):
            total += game.stock[place] == kind
        for seat in range(MAX_PLAYERS):
            total += game.hands[seat, kind]
            if kind == SKIP and rules.skip_placement == PLACE_FRONT:
                total += game.skipped[seat]
        if total != rules.deck_counts[kind]:
            broken |= _DECK
    return broken


@kernel
def _sums_of_hand_hold(game, seat):  # type: ignore[no-untyped-def]
    """Tell whether size, set, numbers and colours of a hand are those of its cards."""
    size = 0
    held = 0
    numbers = 0
    colours = 0
    for kind in range(KINDS):
        count = game.hands[seat, kind]
        size += count
        if count > 0:
            held |= 1 << kind
        if kind < WILD:
            numbers += count << (4 * (kind % NUMBERS))
            colours += count << (8 * (kind // NUMBERS))
        if count < 0 or game.known[seat, kind] > count:
            return False
    return (
        size == game.hand_sizes[seat]
        and held == game.held[seat]
        and numbers == game.numbers[seat]
        and colours == game.colours[seat]
    )


@kernel
def _hands_broken(game, rules):  # type: ignore[no-untyped-def]
    """Look at the hands: their sums, and their sizes between the deal, one draw a turn and going out."""
    broken = 0
    for seat in range(MAX_PLAYERS):
        if not _sums_of_hand_hold(game, seat):
            broken |= _SUMS
        most = 0
        if game.active[seat]:
            most = rules.hand_size
            if seat == game.to_act and game.stage != DRAW:
                most += 1
            if game.laid[seat]:
                phase = game.laid_phase[seat]
                most -= rules.group_sizes[phase, 0] + rules.group_sizes[phase, 1]
            if game.hand_sizes[seat] < 1:
                broken |= _HANDS
        if game.hand_sizes[seat] > most:
            broken |= _HANDS
    return broken


@kernel
def _meld_holds(game, rules, meld):  # type: ignore[no-untyped-def]
    """Tell whether a meld is a group of its owner's phase, grown by hits that fit (R14, R20, R22)."""
    seat = meld // 2
    kind = game.meld_kind[meld]
    value = game.meld_value[meld]
    size = game.meld_size[meld]
    if not game.laid[seat]:
        return kind == NO_GROUP and size == 0
    phase = game.laid_phase[seat]
    if kind != rules.group_kinds[phase, meld % 2] or size < rules.group_sizes[phase, meld % 2]:
        return False
    if kind == NO_GROUP:
        return size == 0
    if kind == RUN and (
        value < 1 or game.meld_high[meld] != value + size - 1 or game.meld_high[meld] > NUMBERS
    ):
        return False
    for place in range(size):
        card = game.meld_cards[meld, place]
        if card < 0 or card > WILD:
            return False
        if card < WILD:
            found = card // NUMBERS if kind == COLOUR_GROUP else card % NUMBERS + 1
            if found != value + (place if kind == RUN else 0):
                return False
    return game.meld_fits[meld] == fitting_kinds(kind, value, game.meld_high[meld])


@kernel
def _turn_broken(game):  # type: ignore[no-untyped-def]
    """Look at the seat to act, the stage, pending Skips and ranks."""
    broken = 0
    actor = game.to_act
    if game.stage < DRAW or game.stage > ONTO or actor < 0 or actor >= game.num_players:
        return _TURN
    if not game.active[actor] or not game.active[game.dealer]:
        broken |= _TURN
    if game.skipped[actor]:
        broken |= _SKIPS
    targets = 0
    for seat in range(MAX_PLAYERS):
        if game.rank[seat] != 0 or (game.active[seat] and seat >= game.num_players):
            broken |= _TURN
        if game.skipped[seat] and not game.active[seat]:
            broken |= _SKIPS
        if seat != actor and game.active[seat] and not game.skipped[seat]:
            targets += 1
    if targets == 0:
        broken |= _SKIPS
    return broken


@kernel
def _building_holds(game):  # type: ignore[no-untyped-def]
    """Tell whether the cards spelled and the card waiting for its place are still in the hand."""
    seat = game.to_act
    if game.stage == ONTO:
        return game.onto_card <= WILD and game.hands[seat, game.onto_card] > 0
    if game.stage != BUILD:
        return True
    for kind in range(KINDS):
        spelled = 0
        for group in range(2):
            for place in range(game.placed_sizes[group]):
                spelled += game.placed[group, place] == kind
        if game.free[kind] < 0 or game.free[kind] + spelled != game.hands[seat, kind]:
            return False
    return True


@kernel
def _choice_holds(game, rules, scratch):  # type: ignore[no-untyped-def]
    """Tell whether some action is legal, and the list of them agrees with `why_illegal` (I5)."""
    count = legal_actions(game, rules, scratch)
    place = 0
    for action in range(table.NUM_ACTIONS):
        listed = place < count and scratch[place] == action
        place += listed
        if listed != (why_illegal(game, rules, action) == OK):
            return False  # pragma: no cover - only where the two disagree, which no test has found
    return count > 0 and place == count


@kernel
def broken_invariants(game, rules, scratch):  # type: ignore[no-untyped-def]
    """Return the flags of the invariants that a game breaks; a game that is over only keeps the deck.

    `scratch` is an integer array of at least 165 places.
    """
    broken = _piles_broken(game, rules)
    if game.status != RUNNING:
        return broken if game.stage == OVER else broken | _TURN
    broken |= _hands_broken(game, rules) | _turn_broken(game)
    for meld in range(len(game.meld_kind)):
        if not _meld_holds(game, rules, meld):
            broken |= _MELDS
    if not _building_holds(game):
        broken |= _BUILDING
    # a broken record may send the legality kernels out of bounds
    if broken == 0 and not _choice_holds(game, rules, scratch):
        broken |= _CHOICE
    return broken


@kernel
def _check_all(games, rules, scratch):  # type: ignore[no-untyped-def]
    broken = 0
    for row in range(len(games)):
        broken |= broken_invariants(games[row], rules[0], scratch)
    return broken


def check(games: npt.NDArray[np.void], ruleset: RuleSet) -> Broken:
    """Return the invariants that any of some games breaks.

    Args:
        games: GAME[B], unchanged.
        ruleset: the rules of all of them.

    >>> from phase10_env.rules.ruleset import PRESETS
    >>> from phase10_env.rules.state import GAME
    >>> check(np.zeros(1, GAME), PRESETS["official"]) & Broken.DECK
    <Broken.DECK: 1>
    """
    announce(__name__)
    scratch = np.zeros(table.NUM_ACTIONS, np.uint8)
    return Broken(_check_all(games, ruleset.record, scratch))
