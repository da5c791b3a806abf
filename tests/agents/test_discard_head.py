"""The discard head: what it is asked, what it sees of a card, and that it computes alike in every way."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from phase10_agents.neural.discard_head import DiscardHead, discard_views
from phase10_agents.neural.networks import NetworkError, NetworkSettings, PolicyValueNet, network_for
from phase10_env import GameBatch
from phase10_env.observation import observation_layout

LEVEL = "candidates"


def observations(count: int = 32, players: int = 2) -> GameBatch:
    batch = GameBatch(count, players, seed=4, actions="compact", observation=LEVEL)
    batch.play_random(45)
    return batch


def net(precision: str = "fp32", input_layer: str = "auto", discards: int = 8) -> PolicyValueNet:
    settings = NetworkSettings(
        actor=(12,), critic=(4,), precision=precision, input_layer=input_layer, discards=discards
    )
    made = network_for(observation_layout(2, LEVEL), settings, seed=2)
    with torch.no_grad():
        for weight in made.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(5))
    return made


def head_of(made: PolicyValueNet) -> DiscardHead:
    assert made.discards is not None
    return made.discards


@pytest.mark.parametrize("players", [2, 4])
def test_every_place_tells_about_the_card_it_is_for(players: int) -> None:
    layout = observation_layout(players, LEVEL)
    views, names = discard_views(layout), {}
    for name, field in layout.fields.items():
        names |= {at: (name, at - field.start) for at in range(field.start, field.slice.stop)}
    for kind, (columns, factors) in enumerate(zip(views.columns, views.factors, strict=True)):
        number, colour = kind % 12, kind // 12
        for column, factor in zip(columns.tolist(), factors.tolist(), strict=True):
            if factor == 0.0:
                continue
            name, place = names[column]
            assert factor == pytest.approx(float(layout.scale[column]))
            if name == "hand_numbers":
                assert abs(place - number) in (1, 2)
            elif name == "counts":
                assert place // 5 == number
                assert place % 5 > 0
            elif name == "hand_colours":
                assert place == colour
            elif layout.fields[name].size in (48, 49, 50):
                assert place == kind
            elif name in ("receiver_known", "receiver_threw"):
                assert place in (number, 12 + colour)
            else:
                assert place == number


def test_each_natural_in_hand_is_judged_while_the_seat_may_discard() -> None:
    batch = observations()
    head = head_of(net())
    with torch.no_grad():
        rows, kinds, scores = head(torch.from_numpy(batch.observations), head.fold(torch.float32, True))
    found = set(zip(rows.tolist(), kinds.tolist(), strict=True))
    expected = {(row, action - 111) for row, action in np.argwhere(batch.action_masks) if 111 <= action < 159}
    assert expected
    assert expected <= found  # compact actions name one of several kinds that are alike
    for row in {row for row, _ in found}:
        assert float(scores[rows == row].max()) == 0.0


def test_two_cards_that_the_observation_tells_alike_get_one_score_but_for_their_kind() -> None:
    made = net()
    head = head_of(made)
    with torch.no_grad():
        head.kinds.zero_()
    seen = torch.zeros(1, len(made.scale), dtype=torch.uint8)
    seen[0, head.play] = 1
    seen[0, [3, 15, 40]] = 1  # two fours, of two colours, and another card
    seen[0, observation_layout(2, LEVEL).fields["discard_loss"].start + 40] = 200
    _, _, scores = head(seen, head.fold(torch.float32, True))
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.parametrize(("precision", "input_layer"), [("fp32", "dense"), ("bf16", "sparse")])
def test_it_computes_the_same_dense_and_in_bf16(precision: str, input_layer: str) -> None:
    seen = torch.from_numpy(observations().observations)
    with torch.no_grad():
        expected, _ = net()(seen)
        found, _ = net(precision, input_layer)(seen)
    close = 1e-4 if precision == "fp32" else 0.05 * float(expected.abs().max())
    torch.testing.assert_close(found, expected, atol=close, rtol=1e-4)


def test_its_gradients_are_those_of_differences() -> None:
    made, seen = net(), torch.from_numpy(observations().observations)
    weight = head_of(made).told

    def total() -> torch.Tensor:
        return made(seen)[0][:, 111:159].square().sum()

    total().backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    assert weight.grad is not None
    with torch.no_grad():
        for place in ((0, 0), (8, 3), (20, 7)):
            results = []
            for step in (1e-3, -2e-3):
                weight[place] += step
                results.append(float(total()))
            weight[place] += 1e-3
            assert float(weight.grad[place]) == pytest.approx(
                (results[0] - results[1]) / 2e-3, rel=0.02, abs=0.1
            )


def test_a_network_without_a_layout_or_with_odd_units_is_refused() -> None:
    with pytest.raises(NetworkError, match="even number"):
        net(discards=7)
    with pytest.raises(NetworkError, match="network_for"):
        PolicyValueNet(torch.ones(8), NetworkSettings(discards=8))
