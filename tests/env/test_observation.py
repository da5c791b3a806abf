"""Observations say what is public and the own hand, nothing else, in the places the layout names."""

from __future__ import annotations

import numpy as np
import pytest

from phase10_env import Game, GameBatch, describe, encode_state, observation_layout, state_layout
from phase10_env.distance import seat_outlook
from phase10_env.rules.cards import KIND_TEXTS, SKIP, WILD
from phase10_env.rules.state import MAX_PLAYERS

POSITION = {
    "ruleset": "official", "players": 3, "dealer": 0, "to_act": 1, "stage": "play", "round": 4, "turn": 300,
    "stock": "", "discard": "G4 W B2",
    "seats": [
        {"hand": "R1", "phase": 2, "laid": True, "score": 300, "skipped": True},
        {"hand": "R5 R5 B5 G7 W S", "phase": 2, "laid": False, "score": 5, "skipped": False},
        {"hand": "Y1 Y2", "phase": 9, "laid": False, "score": 0, "skipped": False},
    ],
    "table": [
        {"seat": 0, "group": 0, "kind": "set", "number": 3, "cards": "R3 B3 W"},
        {"seat": 0, "group": 1, "kind": "run", "low": 8, "cards": "R8 B9 W G11"},
    ],
}  # fmt: skip


def full_position() -> dict[str, object]:
    """Put every card that is nowhere else into the stock."""
    left = dict.fromkeys(KIND_TEXTS, 2) | {"W": 8, "S": 4}
    left["S"] -= 1  # in front of seat 0
    used = [str(POSITION["discard"])] + [seat["hand"] for seat in POSITION["seats"]]  # type: ignore[index,union-attr]
    used += [meld["cards"] for meld in POSITION["table"]]  # type: ignore[index,union-attr]
    for card in " ".join(used).split():
        left[card] -= 1
    return {**POSITION, "stock": " ".join(card for card, count in left.items() for _ in range(count))}


def test_every_field_shows_the_position() -> None:
    game = Game.from_position(full_position())
    seen = game.observation(1)
    fields = observation_layout(3).fields

    def value(name: str) -> list[int]:
        return seen[fields[name].slice].tolist()

    def kinds(name: str) -> dict[str, int]:
        return {KIND_TEXTS[kind]: count for kind, count in enumerate(value(name)) if count}

    assert kinds("hand") == {"R5": 2, "B5": 1, "G7": 1, "W": 1, "S": 1}
    assert kinds("pile") == {"G4": 1, "W": 1, "B2": 1}
    assert kinds("table") == {"R3": 1, "B3": 1, "R8": 1, "B9": 1, "G11": 1, "W": 2}
    assert value("stage") == [0, 1, 0, 0]
    assert value("turn") == [1, 44]
    assert value("seat_2.score") == [1, 44]  # seat 0 sits two to the left of seat 1
    assert value("seat_2.skipped") == [1]
    assert value("seat_2.hand_size") == [1]
    assert value("seat_0.phase").index(1) == 1
    assert value("seat_1.phase").index(1) == 8
    assert value("seat_1.done") == [1] * 8 + [0, 0]
    assert value("unseen")[SKIP] == 2  # four less the own one and the one in front of seat 0
    assert value("unseen")[WILD] == 4
    assert sum(value("unseen")) == len(str(full_position()["stock"]).split()) + 3
    run = value("seat_2.meld_1")
    assert run[:3] == [0, 1, 0]
    assert run[3 : 3 + 12].index(1) == 7
    assert run[19 : 19 + 12].index(1) == 10
    assert run[31:] == [4, 1, 1]
    assert (
        value("missing").index(1) == 2
    )  # set of three fives is there; the run of four has the 7 and the Wild
    hittable = {KIND_TEXTS[kind] for kind, fits in enumerate(value("hittable")) if fits}
    assert hittable == {f"{colour}{number}" for colour in "RBGY" for number in (3, 7, 12)} | {"W"}


def test_two_bytes_scale_to_one_number() -> None:
    layout = observation_layout(2)
    score = layout.fields["seat_0.score"]
    observation = np.zeros(layout.size, np.uint8)
    observation[score.slice] = [1, 44]
    assert float((observation * layout.scale)[score.slice].sum()) == pytest.approx(300 * score.scale)


def test_padded_observations_agree_with_plain_ones() -> None:
    plain, padded = (GameBatch(8, 3, seed=2, pad_seats=pad) for pad in (False, True))
    for batch in (plain, padded):
        batch.play_random(57)
    for name, field in plain.layout.fields.items():
        assert (
            plain.observations[:, field.slice] == padded.observations[:, padded.layout.fields[name].slice]
        ).all(), name
    assert padded.layout.size == GameBatch(1, 6, pad_seats=True).layout.size
    absent = padded.layout.fields["seat_5.present"].slice
    assert not padded.observations[:, absent].any()


def test_basic_observations_are_the_beginning_of_full_ones() -> None:
    basic, full = (GameBatch(8, 4, seed=2, observation=level) for level in ("basic", "full"))
    for batch in (basic, full):
        batch.play_random(80)
    assert (basic.observations == full.observations[:, : basic.layout.size]).all()


def test_layouts_have_no_gap_and_no_overlap() -> None:
    for players in range(2, MAX_PLAYERS + 1):
        for layout in (
            observation_layout(players),
            observation_layout(players, "basic"),
            state_layout(players),
        ):
            end = 0
            for field in layout.fields.values():
                assert field.start == end
                end += field.size
            assert end == layout.size
    assert observation_layout(2).digest != observation_layout(3).digest


def test_the_state_shows_all_hands_and_the_stock_in_order() -> None:
    game = Game.from_position(full_position())
    state = encode_state(game.state, game.ruleset)[0]
    fields = state_layout(3).fields
    order = state[fields["stock_order"].slice]
    assert [KIND_TEXTS[code - 1] for code in order if code] == str(full_position()["stock"]).split()
    theirs = state[fields["seat_1.hand"].slice]
    assert {KIND_TEXTS[kind] for kind in np.flatnonzero(theirs)} == {"Y1", "Y2"}


def test_describe_names_what_is_there() -> None:
    text = describe(Game.from_position(full_position()).observation(1))
    assert "hand: R5x2 B5 G7 W S" in text
    assert "top: G4" in text
    assert "seat_2.score: 300" in text
    with pytest.raises(ValueError, match="expected an observation of a known size, found 7"):
        describe(np.zeros(7))


def test_helping_and_needed_kinds_are_those_found_by_trying() -> None:
    """The outlook of a hand in one pass equals adding and removing each kind in turn."""
    for preset in ("official", "pick-a-phase"):
        batch = GameBatch(60, 2, preset, seed=6, observation=None)
        rules = batch.ruleset.record
        for _ in range(6):
            batch.play_random(29)
            for row in range(60):
                check_outlook(batch, rules, row)


def check_outlook(batch: GameBatch, rules: np.ndarray, row: int) -> None:
    """Compare one seat's outlook with brute force over its nearest phase."""
    from phase10_env.distance import phase_outlook
    from phase10_env.rules.deal import add_card, remove_card

    seat = int(batch.seats[row])
    game = batch.games[row : row + 1].copy()[0]
    if game["laid"][seat]:
        return
    phase, distance, wanted, needed = seat_outlook(game, rules[0], seat)
    for kind in range(WILD + 1):
        add_card(game, seat, kind)
        lower = phase_outlook(game, rules[0], seat, phase)[0] < distance
        remove_card(game, seat, kind)
        assert bool(wanted >> kind & 1) == lower, (KIND_TEXTS[kind], phase)
        if game["hands"][seat, kind]:
            remove_card(game, seat, kind)
            higher = phase_outlook(game, rules[0], seat, phase)[0] > distance
            add_card(game, seat, kind)
            assert bool(needed >> kind & 1) == higher, (KIND_TEXTS[kind], phase)
