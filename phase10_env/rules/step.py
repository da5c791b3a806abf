"""One action changes one game: the course of a turn and of a round (R4-R13, R23-R28, R34).

`apply` trusts its caller: the action must be legal (legal.py). Single children of the building tree and of
`onto` are walked here, so that only real choices are asked.
"""

from __future__ import annotations

from phase10_env.rules import table
from phase10_env.rules.cards import NO_CARD, SKIP
from phase10_env.rules.deal import (
    add_card,
    deal_round,
    draw_from_stock,
    next_active,
    put_on_pile,
    remove_card,
    take_from_pile,
)
from phase10_env.rules.kernel import inlined_kernel, kernel
from phase10_env.rules.lay_downs import (
    build_children,
    finish_canonically,
    group_in_hand,
    is_spelled,
    open_spelling,
    place_card,
)
from phase10_env.rules.legal import can_draw, can_take
from phase10_env.rules.melds import HIGH_END, add_to_meld, lay_down, meld_ends, meld_in_reach, places
from phase10_env.rules.phases import PLACE_FRONT, PLACE_PILE, TIE_LAY_DOWN
from phase10_env.rules.random import DEALER, random_below, stream_key
from phase10_env.rules.scoring import NOBODY, award, score_round, share_win, truncate
from phase10_env.rules.state import (
    BUILD,
    DRAW,
    MAX_PLAYERS,
    ONTO,
    PLAY,
    RECENT,
    RUNNING,
)

__all__ = ["apply", "begin_round", "settle", "start_game"]


# ---- rounds and turns --------------------------------------------------------------------------------------


@kernel
def start_game(game, rules):  # type: ignore[no-untyped-def]
    """Start a whole game: `seed`, `episode`, `num_players` and the mode flags are set, all else is made here.

    The first dealer is the ruleset's, or drawn (R4).
    """
    seat_players(game, rules, DEALER)
    begin_episode(game)
    begin_round(game, rules)


@kernel
def seat_players(game, rules, purpose):  # type: ignore[no-untyped-def]
    """Seat everybody at the first phase without points, before round 1; a dealer is drawn from stream `purpose`."""
    for seat in range(MAX_PLAYERS):
        game.active[seat] = seat < game.num_players
        game.phase[seat] = 0
        game.done[seat] = 0
        game.score[seat] = 0
    game.dealer = rules.dealer
    if rules.dealer < 0:
        game.dealer = random_below(stream_key(game.seed, game.episode, 0, purpose), 0, game.num_players)
    game.round = 1


@kernel
def begin_episode(game):  # type: ignore[no-untyped-def]
    """Reset what counts over an episode: status, ranks, decisions, the flags of the last step."""
    game.status = RUNNING
    game.tie_break = 0
    game.decisions = 0
    game.round_over = 0
    game.last_lost = 0
    game.out_seat = NOBODY
    for seat in range(MAX_PLAYERS):
        game.rank[seat] = 0
        game.round_points[seat] = 0
        game.round_laid[seat] = 0


@kernel
def begin_round(game, rules):  # type: ignore[no-untyped-def]
    """Deal the round and begin its first turn; an opening Skip costs the first player that turn (R5-R7)."""
    deal_round(game, rules)
    seat = next_active(game, game.dealer)
    if game.discard[0] == SKIP:
        _lose_turn(game, seat)
        seat = next_active(game, seat)
    _begin_turn(game, seat)


@kernel
def _lose_turn(game, seat):  # type: ignore[no-untyped-def]
    game.turn += 1
    game.no_draw += 1
    game.last_lost |= 1 << seat


@kernel
def _begin_turn(game, seat):  # type: ignore[no-untyped-def]
    game.to_act = seat
    game.taken = NO_CARD
    game.laid_this_turn = 0
    game.stage = DRAW
    if not can_draw(game) and not can_take(game):
        game.no_draw += 1
        game.stage = PLAY


@kernel
def _end_turn(game, rules):  # type: ignore[no-untyped-def]
    """Pass the turn on over seats that lose it; end the round at the caps or after a drawless circle."""
    seats = 0
    for seat in range(game.num_players):
        seats += game.active[seat]
    seat = game.to_act
    game.turn += 1
    while True:
        if game.no_draw >= seats:
            _end_round(game, rules, NOBODY)
            return
        if game.turn >= rules.max_turns * seats:
            if game.tie_break:
                share_win(game, rules)
            else:
                truncate(game)
            return
        seat = next_active(game, seat)
        if not game.skipped[seat]:
            break
        game.skipped[seat] = 0
        if rules.skip_placement == PLACE_FRONT:
            put_on_pile(game, SKIP)
        _lose_turn(game, seat)
    _begin_turn(game, seat)


@kernel
def _end_round(game, rules, out_seat):  # type: ignore[no-untyped-def]
    if score_round(game, rules, out_seat):
        begin_round(game, rules)


@inlined_kernel
def _after_cards_left(game, rules):  # type: ignore[no-untyped-def]
    """End the round if the hand is empty (R28), else let the seat play on."""
    if game.hand_sizes[game.to_act] == 0:
        _end_round(game, rules, game.to_act)
    else:
        game.stage = PLAY


# ---- lay-downs ---------------------------------------------------------------------------------------------


@kernel
def _spell(game, rules, action):  # type: ignore[no-untyped-def]
    """Add one symbol to the spelling: a declaration or a card."""
    group = group_in_hand(game, rules)
    if action >= table.PLAY:
        place_card(game, group, action - table.PLAY)
        return
    if game.declared[group] != 0:
        group = 1  # compact: the second declaration comes before the cards of the first group
    if action >= table.COLOUR:
        game.declared[group] = action - table.COLOUR + 1
    else:
        game.declared[group] = action - table.NUMBER + 1


@kernel
def _finish_lay_down(game, rules):  # type: ignore[no-untyped-def]
    lay_down(game, rules)
    if game.tie_break and rules.tie_break == TIE_LAY_DOWN:
        award(game, rules, game.to_act)
    else:
        _after_cards_left(game, rules)


@kernel
def _walk(game, rules, scratch):  # type: ignore[no-untyped-def]
    """Follow single children of the building tree; stop at a choice or lay the finished phase down."""
    while not is_spelled(game, rules):
        count = build_children(game, rules, scratch)
        if count > 1:
            game.stage = BUILD
            return
        if count == 1:
            _spell(game, rules, scratch[0])
        else:  # compact: everything is declared, the cards follow by rule
            finish_canonically(game, rules)
    _finish_lay_down(game, rules)


@kernel
def settle(game, rules, scratch):  # type: ignore[no-untyped-def]
    """Bring a loaded record to a moment of choice: walk on where a lay-down has one way to go."""
    if game.stage == BUILD:
        _walk(game, rules, scratch)


# ---- hits --------------------------------------------------------------------------------------------------


@kernel
def _hit(game, rules, kind):  # type: ignore[no-untyped-def]
    """Hit with a card: at once where it fits one place only, else ask where (R20)."""
    if places(game, rules, kind) > 1:
        game.onto_card = kind
        game.stage = ONTO
        return
    for meld in range(2 * game.num_players):
        if meld_in_reach(game, rules, meld):
            ends = meld_ends(game, meld, kind)
            if ends:
                add_to_meld(game, game.to_act, meld, ends == HIGH_END, kind)
    game.onto_card = NO_CARD
    _after_cards_left(game, rules)


@kernel
def _onto(game, rules, code):  # type: ignore[no-untyped-def]
    seat = (game.to_act + code // 4) % game.num_players
    add_to_meld(game, game.to_act, 2 * seat + (code // 2) % 2, code % 2 == 1, game.onto_card)
    game.onto_card = NO_CARD
    _after_cards_left(game, rules)


# ---- the turn's beginning and end --------------------------------------------------------------------------


@kernel
def _draw(game):  # type: ignore[no-untyped-def]
    if can_take(game):
        game.refused[game.to_act] = game.discard[game.discard_size - 1]
    add_card(game, game.to_act, draw_from_stock(game))
    game.no_draw = 0
    game.stage = PLAY


@kernel
def _take(game):  # type: ignore[no-untyped-def]
    kind = take_from_pile(game)
    add_card(game, game.to_act, kind)
    game.known[game.to_act, kind] += 1
    game.taken = kind
    game.no_draw = 0
    game.stage = PLAY


@kernel
def _discard(game, rules, kind):  # type: ignore[no-untyped-def]
    seat = game.to_act
    remove_card(game, seat, kind)
    put_on_pile(game, kind)
    for place in range(RECENT - 1, 0, -1):
        game.recent[seat, place] = game.recent[seat, place - 1]
    game.recent[seat, 0] = kind
    _finish_turn(game, rules)


@kernel
def _skip(game, rules, distance):  # type: ignore[no-untyped-def]
    remove_card(game, game.to_act, SKIP)
    if rules.skip_placement == PLACE_PILE:
        put_on_pile(game, SKIP)
    game.skipped[(game.to_act + distance) % game.num_players] = 1
    _finish_turn(game, rules)


@inlined_kernel
def _finish_turn(game, rules):  # type: ignore[no-untyped-def]
    if game.hand_sizes[game.to_act] == 0:
        _end_round(game, rules, game.to_act)
    else:
        _end_turn(game, rules)


@kernel
def apply(game, rules, action, scratch):  # type: ignore[no-untyped-def]
    """Take a legal action for the seat to act.

    `scratch` is an integer array of at least 165 places that the walk through the building tree may
    overwrite.
    """
    game.decisions += 1
    game.round_over = 0
    game.last_lost = 0
    if action == table.DRAW:
        _draw(game)
    elif action == table.TAKE:
        _take(game)
    elif action < table.BUILD:
        open_spelling(game, game.to_act, action - table.LAY)
        finish_canonically(game, rules)
        _finish_lay_down(game, rules)
    elif action < table.NUMBER:
        open_spelling(game, game.to_act, action - table.BUILD)
        _walk(game, rules, scratch)
    elif action < table.PLAY:
        _spell(game, rules, action)
        _walk(game, rules, scratch)
    elif action < table.ONTO:
        if game.stage == BUILD:
            _spell(game, rules, action)
            _walk(game, rules, scratch)
        else:
            _hit(game, rules, action - table.PLAY)
    elif action < table.DISCARD:
        _onto(game, rules, action - table.ONTO)
    elif action < table.SKIP:
        _discard(game, rules, action - table.DISCARD)
    else:
        _skip(game, rules, action - table.SKIP + 1)
