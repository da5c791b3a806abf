"""Game: playing with texts, errors in whole sentences, undo, copies, history and plain text."""

import random

import numpy as np
import pytest
from env.simple_play import play_out
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_env.actions import ACTION_TEXTS
from phase10_env.errors import IllegalActionError
from phase10_env.events import Decision
from phase10_env.game import Game, perft
from phase10_env.positions import PositionError
from phase10_env.rules.ruleset import PRESETS, RuleSet, RuleSetError


def test_a_new_game_begins_left_of_the_dealer() -> None:
    for dealer in range(4):
        game = Game(num_players=4, seed=11, dealer=dealer)
        first = (dealer + 1) % 4
        opening_skip = game.position()["discard"] == "S"
        assert game.dealer == dealer
        assert game.to_act == ((first + 1) % 4 if opening_skip else first)
        assert [len(hand.split()) for hand in game.hands] == [10] * 4
        assert (game.round, game.scores, game.phases) == (1, [0] * 4, [1] * 4)


def test_the_same_seed_gives_the_same_game_and_another_seed_another() -> None:
    assert Game(seed=5).hands == Game(seed=5).hands
    assert Game(seed=5).hands != Game(seed=6).hands
    assert Game(seed=5).hands != Game(seed=5, episode=1).hands


def test_an_illegal_action_is_refused_with_seat_action_and_reason_and_changes_nothing() -> None:
    game = Game(seed=7, dealer=0)
    before = game.state.copy()
    with pytest.raises(IllegalActionError, match=r"seat 1 may not .*discard W.*\(R8\)") as caught:
        game.play("discard W")
    assert (caught.value.seat, caught.value.action) == (1, "discard W")
    assert caught.value.reason.endswith("(R8)")
    assert (game.state == before).all()
    assert game.history[1:] == []


def test_the_reason_names_the_rule_that_forbids_a_skip_from_the_pile() -> None:
    game = Game(seed=7)
    hands = [hand.split() for hand in game.hands]
    dealt = game.events[0]
    skip = next(card for card in dealt.stock.split() if card == "S")
    stock = dealt.stock.split()
    stock.remove(skip)
    game.deal([" ".join(hand) for hand in hands], "S", " ".join([*stock, dealt.discard]))
    assert game.history[1] == ((game.dealer + 1) % 2, "skipped")
    assert game.turn == 1
    assert game.state["last_lost"][0] == 1 << (game.dealer + 1) % 2
    assert game.legal_actions() == ["draw"]
    assert game.why_illegal("take") == "a Skip can never be taken from the discard pile (R9)"


@pytest.mark.parametrize(
    "action", ["", "draww", "lay", "play S", "discard S", "skip 9", -1, 165, 10**30, None, 1.5]
)
def test_what_is_no_action_is_refused_like_an_illegal_one(action: object) -> None:
    game = Game(seed=1)
    assert not game.is_legal(action)  # type: ignore[arg-type]
    with pytest.raises(IllegalActionError):
        game.play(action)  # type: ignore[arg-type]


@pytest.mark.parametrize("preset", PRESETS)
def test_legal_actions_are_exactly_those_without_a_reason_against_them(preset: str) -> None:
    game = Game(3, preset, seed=2)
    chance = random.Random(3)
    for _ in range(60):
        legal = game.legal_actions()
        assert legal == [text for text in ACTION_TEXTS if game.is_legal(text)]
        assert game.legal_indices() == [ACTION_TEXTS.index(text) for text in legal]
        game.play(chance.choice(legal))


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(list(PRESETS)), st.integers(2, 6), st.integers(0, 2**64 - 1), st.integers(1, 150))
def test_taking_every_action_back_restores_the_first_state(
    preset: str, players: int, seed: int, moves: int
) -> None:
    game = Game(players, preset, seed)
    states, chance = [], random.Random(seed)
    for _ in range(moves):
        if game.over:
            break
        states.append((game.state.copy(), game.history))
        game.play(chance.choice(game.legal_actions()))
    taken = [event.action for event in game.events if isinstance(event, Decision)]
    for action, (state, history) in zip(reversed(taken), reversed(states), strict=True):
        assert game.pop() == ACTION_TEXTS[action]
        assert (game.state == state).all()
        assert game.history == history
    with pytest.raises(IndexError):
        game.pop()


def test_a_copy_goes_its_own_way() -> None:
    game = play_out(Game(seed=4), 4, 20)
    twin = game.copy()
    assert (twin.state == game.state).all()
    before = game.state.copy()
    twin.play(twin.legal_actions()[0])
    assert (game.state == before).all()
    assert len(twin.history) > len(game.history)
    twin.pop()
    assert (twin.state == game.state).all()


def test_a_finished_game_has_ranks_and_no_legal_actions_and_no_position() -> None:
    game = play_out(Game(4, "short-5", seed=2), 2)
    assert game.over
    assert not game.truncated
    assert game.legal_actions() == []
    assert game.ranks is not None
    assert sorted(game.ranks)[0] == 1
    assert game.winners == [game.ranks.index(1)]
    assert game.winner == game.winners[0]
    assert game.why_illegal("draw") == "the game is over"
    assert game.history[-1] == (-1, f"result {' '.join(map(str, game.ranks))}")
    with pytest.raises(PositionError, match="over"):
        game.position()
    assert "ranks by seat" in str(game)


def test_a_cap_truncates_the_game_without_ranks() -> None:
    rules = RuleSet(max_turns=3)
    game = Game(2, rules, seed=1)
    chance = random.Random(1)
    while not game.over:
        game.play(chance.choice([a for a in game.legal_actions() if a.split()[0] not in ("lay", "build")]))
    assert game.truncated
    assert game.ranks is None
    assert game.winners == []
    assert game.winner is None
    assert game.history[-1] == (-1, "truncated")
    assert "truncated" in str(game)


def test_history_tells_lost_turns_rounds_and_who_went_out() -> None:
    game = play_out(Game(3, "official", seed=1), 1)
    texts = [text for _, text in game.history]
    assert texts[0] == f"round 1 dealer {game.events[0].dealer}"
    assert "skipped" in texts
    assert texts.count("out") == game.round
    skips = sum(text.startswith("skip ") for text in texts)
    assert (
        skips <= texts.count("skipped") + game.round
    )  # those pending at the end of a round are dropped (R27)


def test_the_plain_text_shows_every_zone() -> None:
    game = play_out(Game(3, "official", seed=1), 1, 60)
    text = str(game)
    assert f"seat {game.to_act} to act" in text
    for hand in game.hands:
        assert hand in text
    for meld in game.position()["table"]:
        assert meld["cards"] in text
    assert f"stock: {len(game.position()['stock'].split())} cards" in text
    assert "official" in repr(game)


def test_an_observation_is_that_of_the_seat_to_act_unless_another_is_named() -> None:
    game = Game(3, seed=1)
    own = game.observation()
    assert own.dtype == np.uint8
    assert (own == game.observation(game.to_act)).all()
    assert (own != game.observation((game.to_act + 1) % 3)).any()
    with pytest.raises(ValueError, match="seat is 3: expected a whole number from 0 to 2"):
        game.observation(3)


def test_perft_counts_sequences_by_playing_them() -> None:
    game = play_out(Game(2, seed=9), 9, 31)

    def count(game: Game, depth: int) -> int:
        if depth == 0:
            return 1
        total = 0
        for action in game.legal_actions():
            needs_reshuffle = action == "draw" and not game.position()["stock"]
            scored = game.round
            if not needs_reshuffle:
                game.play(action)
            if needs_reshuffle or game.over or game.round != scored:
                total += 1
            else:
                total += count(game, depth - 1)
            if not needs_reshuffle:
                game.pop()
        return total

    for depth in range(5):
        assert perft(game, depth) == count(game, depth)
    with pytest.raises(ValueError, match="depth is -1"):
        perft(game, -1)


def test_a_draw_that_needs_a_reshuffle_is_a_leaf_of_perft_and_can_be_given_its_stock() -> None:
    game = Game(seed=3)
    position = game.position()
    position["discard"] += f" {position['stock']}"
    position["stock"] = ""
    game = Game.from_position(position)
    assert "draw" in game.legal_actions()
    assert perft(game, 2) == 1 + len(_after(game, "take").legal_actions())
    pile = position["discard"].split()[1:]
    with pytest.raises(ValueError, match="expected every discard but the top one"):
        game.play("draw", stock=" ".join(pile[1:]))
    game.play("draw", stock=" ".join(reversed(pile)))
    assert game.position()["stock"].split() == list(reversed(pile))[1:]
    assert game.position()["discard"] == position["discard"].split()[0]
    assert game.history[0] == (-1, "reshuffle")


def _after(game: Game, action: str) -> Game:
    twin = game.copy()
    twin.play(action)
    return twin


def test_a_new_stock_is_refused_where_the_stock_is_not_empty() -> None:
    game = Game(seed=3)
    before = game.state.copy()
    with pytest.raises(ValueError, match="only a draw from an empty stock"):
        game.play("draw", stock="R1")
    assert (game.state == before).all()


def test_a_deal_can_be_replaced_only_before_the_first_action_and_by_the_whole_deck() -> None:
    game = Game(seed=3)
    dealt = game.events[0]
    with pytest.raises(PositionError, match=r"hands\[0\] has 9 cards"):
        game.deal([dealt.hands[0][3:], dealt.hands[1]], dealt.discard, dealt.stock)
    with pytest.raises(PositionError, match="lack"):
        game.deal(dealt.hands, dealt.discard, dealt.stock[3:])
    game.play("draw")
    with pytest.raises(PositionError, match="a seat has acted"):
        game.deal(dealt.hands, dealt.discard, dealt.stock)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"num_players": 7}, RuleSetError, "num_players is 7"),
        ({"ruleset": "offical"}, RuleSetError, "the nearest is 'official'"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seed": 2**64}, ValueError, "seed is"),
        ({"seed": "7"}, ValueError, "seed is '7'"),
        ({"actions": "short"}, ValueError, "actions is 'short'"),
        ({"dealer": 2}, ValueError, "dealer is 2: expected a whole number from 0 to 1"),
    ],
)
def test_arguments_out_of_range_are_named(arguments: dict, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        Game(**arguments)
