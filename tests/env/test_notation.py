"""Cards as text: the way there and back, and what is said about text that is no card."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase10_env.notation import (
    NotationError,
    format_card,
    format_cards,
    format_counts,
    parse_card,
    parse_cards,
    parse_counts,
)
from phase10_env.rules.cards import KIND_TEXTS, KINDS


@pytest.mark.parametrize(
    ("kind", "text"),
    [(0, "R1"), (11, "R12"), (12, "B1"), (24, "G1"), (36, "Y1"), (47, "Y12"), (48, "W"), (49, "S")],
)
def test_a_kind_is_twelve_times_its_colour_plus_its_number_less_one(kind, text):
    assert parse_card(text) == kind
    assert format_card(kind) == text


@pytest.mark.parametrize("kind", range(KINDS))
def test_every_kind_has_a_text_that_leads_back_in_either_case(kind):
    assert KIND_TEXTS[kind] == format_card(np.uint8(kind))
    assert parse_card(format_card(kind)) == kind
    assert parse_card(f" {format_card(kind).lower()} ") == kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R13", "'R13' is no card: the numbers of a colour run from R1 to R12"),
        ("y0", "'y0' is no card: the numbers of a colour run from Y1 to Y12"),
        ("R01", "'R01' is no card: the numbers of a colour run from R1 to R12"),
        ("7r", "'7r' is no card: the nearest is 'R7'"),
        ("12Y", "'12Y' is no card: the nearest is 'Y12'"),
        ("Wild", "'Wild' is no card: the nearest is 'W'"),
        ("SKIP", "'SKIP' is no card: the nearest is 'S'"),
        ("X5", "'X5' is no card: expected a colour letter of RBGY and a number from 1 to 12, or W, or S"),
        ("R", "'R' is no card: expected a colour letter of RBGY and a number from 1 to 12, or W, or S"),
        ("", "'' is no card: expected a colour letter of RBGY and a number from 1 to 12, or W, or S"),
        (
            "R1 R2",
            "'R1 R2' is no card: expected a colour letter of RBGY and a number from 1 to 12, or W, or S",
        ),
        ("\u017f", "'\u017f' is no card: the nearest is 'S'"),
        (
            "z" * 99,
            f"'{'z' * 36}... is no card: expected a colour letter of RBGY and a number from 1 to 12, or W, "
            "or S",
        ),
        (7, "7 is no card: expected text such as 'R7', 'W' or 'S'"),
    ],
)
def test_a_text_that_is_no_card_gets_a_sentence_that_says_what_would_do(text, message):
    with pytest.raises(NotationError) as caught:
        parse_card(text)
    assert str(caught.value) == message


def test_a_number_too_long_to_print_is_refused_all_the_same():
    for refuse in (parse_card, format_card):
        with pytest.raises(NotationError, match=r"^a value too large to show is no "):
            refuse(10**5000)


@pytest.mark.parametrize(("kind", "found"), [(50, "50"), (-1, "-1"), (1.0, "1.0"), ("R1", "'R1'")])
def test_a_number_that_is_no_kind_is_refused(kind, found):
    with pytest.raises(NotationError) as caught:
        format_card(kind)
    assert str(caught.value) == f"{found} is no kind of card: expected a whole number from 0 to 49"


@given(st.lists(st.integers(0, 49), max_size=108))
def test_cards_keep_their_order_and_counts_their_numbers(kinds):
    text = format_cards(kinds)
    assert parse_cards(text) == kinds
    counts = parse_counts(text)
    assert counts.dtype == np.uint8
    assert counts.tolist() == [kinds.count(kind) for kind in range(KINDS)]
    assert format_counts(counts) == format_cards(sorted(kinds))
    assert format_counts(counts.tolist()) == format_cards(sorted(kinds))


def test_no_cards_are_an_empty_text():
    assert parse_cards("") == parse_cards("  \n ") == []
    assert format_cards([]) == format_counts([0] * 50) == ""
    assert not parse_counts("").any()


@pytest.mark.parametrize("parse", [parse_cards, parse_counts])
def test_the_first_wrong_card_is_named_with_its_place_and_field(parse):
    with pytest.raises(NotationError) as caught:
        parse("R1 W R13 B0", field="seats[2].hand")
    assert str(caught.value) == (
        "seats[2].hand, card 3: 'R13' is no card: the numbers of a colour run from R1 to R12"
    )
    with pytest.raises(NotationError) as caught:
        parse(["R1"])
    assert str(caught.value) == "cards is ['R1']: expected cards separated by blanks, as in 'R1 W B12'"


def test_counts_are_fifty_whole_numbers_that_fit_a_byte():
    assert parse_counts("R1 " * 255)[0] == 255
    with pytest.raises(NotationError, match=r"^hand has 256 cards R1: expected at most 255$"):
        parse_counts("R1 " * 256, field="hand")
    with pytest.raises(NotationError, match=r"^counts have -1 cards B1: expected 0 or more$"):
        format_counts([0] * 12 + [-1] + [0] * 37)
    for wrong, found in (([1] * 49, r"shape \(49,\) of int64"), ([0.5] * 50, r"shape \(50,\) of float64")):
        with pytest.raises(NotationError, match=f"^counts have {found}: expected 50 whole numbers"):
            format_counts(wrong)


@given(st.text(max_size=20))
def test_any_text_is_cards_or_gets_one_sentence(text):
    kinds, message = [], "-"
    try:
        kinds = parse_cards(text)
    except NotationError as error:
        message = str(error)
    assert message
    assert "\n" not in message
    assert all(0 <= kind < KINDS for kind in kinds)
