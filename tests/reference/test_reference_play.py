"""Whole games and random hands in the reference model: the invariants of the rules."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import (
    PRESETS,
    ReferenceGame,
    Rules,
    action_index,
    all_cards,
    normalised,
    spellings,
    start_round,
)
from reference.cards import STANDARD_DECK
from reference.model import Deal, Mode
from reference.rules import Phase

DECK = list(Counter(STANDARD_DECK).elements())
# The published chance, in per cent, that ten dealt cards already hold phase 1 … 10.
DEALT_PHASE = (18.28, 29.81, 5.34, 15.57, 6.49, 1.99, 0.33, 2.77, 3.11, 0.35)


def shuffled_deal(game: ReferenceGame, stream: random.Random) -> Deal:
    """Return a random deal for the seats that take part."""
    cards = stream.sample(DECK, len(DECK))
    hands = [[cards.pop() for _ in range(10)] if seat in game.active else [] for seat in range(game.players)]
    return {"hands": hands, "discard": [cards.pop()], "stock": cards}


def eager_choice(legal: list[str], stream: random.Random) -> str:
    """Return a lay-down or hit where there is one, else any action, so that rounds come to an end."""
    eager = [
        text for text in legal if text.split()[0] in ("lay", "build", "play", "number", "colour", "onto")
    ]
    return stream.choice(eager or legal)


def check_moment(game: ReferenceGame, mode: Mode) -> None:
    """Check what holds at every decision: I1, I5 and that a position holds the whole game."""
    assert Counter(all_cards(game)) == Counter(STANDARD_DECK)
    full, compact = game.legal("full"), game.legal("compact")
    for legal in (full, compact):
        assert legal
        assert legal == sorted(set(legal), key=action_index)
    if game.stage != "build":
        assert set(compact) <= set(full)
    copy = ReferenceGame.from_position(game.position(), game.rules)
    assert copy.position() == game.position()
    assert copy.legal(mode) == game.legal(mode)


def play_whole_game(rules: Rules, players: int, seed: int, mode: Mode) -> ReferenceGame:
    """Play a game to its end with an eager random player, checking every moment."""
    stream = random.Random(seed)
    deal = shuffled_deal(ReferenceGame(rules, players), stream)
    game = start_round(rules, players, stream.randrange(players), **deal)
    while not game.over:
        check_moment(game, mode)
        game.play(
            eager_choice(game.legal(mode), stream),
            mode,
            reshuffled=lambda beneath: stream.sample(beneath, len(beneath)),
            next_round=lambda ended: shuffled_deal(ended, stream),
        )
    return game


@pytest.mark.parametrize("mode", ["full", "compact"])
@pytest.mark.parametrize("preset", PRESETS)
def test_whole_games_keep_the_invariants_and_end(preset: str, mode: Mode) -> None:
    rules = replace(PRESETS[preset], max_turns=60, max_rounds=4)
    for players in (2, 6):
        game = play_whole_game(rules, players, seed=players, mode=mode)
        ranks = game.ranks()
        assert game.truncated == (ranks is None)
        assert game.legal() == []


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_long_games_end_with_a_winner(preset: str) -> None:
    for players in range(2, 7):
        game = play_whole_game(PRESETS[preset], players, seed=players, mode="compact")
        ranks = game.ranks()
        assert game.truncated or (ranks is not None and min(ranks) == 1)


POOLS = (
    DECK,
    [card for card in DECK if card in ("W", "S") or int(card[1:]) <= 4],
    [card for card in DECK if card == "W" or (card[0] in "RB" and int(card[1:]) >= 4)],
)
hands_of_eleven = st.sampled_from(POOLS).flatmap(
    lambda pool: st.lists(st.sampled_from(pool), min_size=11, max_size=11)
)


def fewest_wilds(hand: list[str], phase: Phase) -> int:
    """Return the Wilds a phase needs: what the naturals lack, for the best declarations."""
    if phase[0][0] == "colour":
        return min(max(0, phase[0][1] - sum(card[0] == colour for card in hand)) for colour in "RBGY")
    supply = Counter(card[1:] for card in hand)
    declarations = [
        [dict.fromkeys([n], size) for n in range(1, 13)]
        if kind == "set"
        else [dict.fromkeys(range(low, low + size), 1) for low in range(1, 14 - size)]
        for kind, size in phase
    ]
    lacking = []
    for choice in itertools.product(*declarations):
        demand = sum(map(Counter, choice), Counter[int]())
        lacking.append(sum(max(0, count - supply[str(number)]) for number, count in demand.items()))
    return min(lacking)


@given(hands_of_eleven, st.sampled_from(Rules().phases))
@settings(max_examples=300, deadline=None)
def test_a_phase_can_be_laid_where_the_wilds_cover_what_the_naturals_lack(
    hand: list[str], phase: Phase
) -> None:
    needed = fewest_wilds(hand, phase)
    found = spellings(hand, phase, Rules(naturals="phase"))
    all_wild = needed == sum(size for _, size in phase)
    assert bool(found) == (needed <= hand.count("W") and not all_wild)
    if found:
        assert min(spelling.cards.count("W") for spelling in found) == needed
    assert set(spellings(hand, phase, Rules())) <= set(found)


@given(hands_of_eleven, st.sampled_from(Rules().phases))
@settings(max_examples=300, deadline=None)
def test_every_spelling_is_in_the_hand_of_the_right_shape_and_found_once(
    hand: list[str], phase: Phase
) -> None:
    found = spellings(hand, phase, Rules())
    assert len({spelling.symbols for spelling in found}) == len(found)
    for spelling in found:
        assert not Counter(spelling.cards) - Counter(hand)
        assert [(group.kind, len(group.cards)) for group in spelling.groups] == list(phase)


def test_melds_compare_in_any_order() -> None:
    meld = {"seat": 0, "group": 0, "kind": "set", "number": 7, "cards": "W R7"}
    other = {"seat": 1, "group": 0, "kind": "run", "low": 1, "cards": "R1 W"}
    first = {"table": [other, meld], "seats": [{"hand": "W R1"}], "taken": None}
    second = {"table": [{**meld, "cards": "R7 W"}, other], "seats": [{"hand": "R1 W"}]}
    assert normalised(first) == normalised(second)


@pytest.mark.slow
def test_dealt_hands_hold_a_phase_as_often_as_published() -> None:
    stream, deals = random.Random(1), 20_000
    held = Counter[int]()
    for _ in range(deals):
        hand = stream.sample(DECK, 10)
        held.update(n for n, phase in enumerate(Rules().phases) if spellings(hand, phase, Rules()))
    for number, per_cent in enumerate(DEALT_PHASE):
        chance = per_cent / 100
        error = (chance * (1 - chance) / deals) ** 0.5
        assert held[number] / deals == pytest.approx(chance, abs=4 * error), f"phase {number + 1}"
