"""Playouts in which each seat draws its own cards: the same cards as before, in an order that one move cannot shift."""

from __future__ import annotations

import numpy as np
import pytest

from phase10_agents.own_draws import raise_own_card, share_stock
from phase10_env import GameBatch
from phase10_training.labels import LabelSettings, make_shard

ENDS = np.zeros(6, np.int64)


def drawn(players: int, seats: list[int]) -> dict[int, list[int]]:
    """Let seats draw from one stock in an order and return the cards of each."""
    game = GameBatch(1, players, seed=9).games[0]
    everything = sorted(game["stock"][: game["stock_size"]])
    ends = ENDS.copy()
    assert share_stock(game, ends) == game["stock_size"]
    found: dict[int, list[int]] = {seat: [] for seat in range(players)}
    for seat in seats:
        game["to_act"] = seat
        raise_own_card(game, ends)
        game["stock_size"] -= 1
        found[seat].append(int(game["stock"][game["stock_size"]]))
    left = list(game["stock"][: game["stock_size"]])
    assert sorted(left + [card for cards in found.values() for card in cards]) == everything
    return found


@pytest.mark.parametrize("players", [2, 3, 6])
def test_a_seats_draws_do_not_depend_on_how_often_the_others_draw(players: int) -> None:
    turns = list(range(players)) * 4
    usual = drawn(players, turns)
    without = drawn(players, [seat for turn, seat in enumerate(turns) if not (seat == 1 and turn < players)])
    for seat in range(players):
        expected = usual[seat][:3] if seat == 1 else usual[seat]
        assert without[seat] == expected


@pytest.mark.parametrize("players", [2, 5])
def test_a_seat_that_has_used_up_its_part_draws_on(players: int) -> None:
    size = int(GameBatch(1, players, seed=9).games["stock_size"][0])
    found = drawn(players, [0] * size)
    assert len(found[0]) == size


def test_labels_of_two_ways_to_draw_have_much_in_common() -> None:
    labels = make_shard(LabelSettings(shard=3000, samples=1, seed=5), 0)
    both = (labels.legal_actions[:, 0] == 0) & (labels.legal_actions[:, 1] == 1)
    draw, take = labels.values[both, 0], labels.values[both, 1]
    assert (draw - take).var() < 0.15 * (draw.var() + take.var())  # 0.03; 0.1 and more with one order for all
