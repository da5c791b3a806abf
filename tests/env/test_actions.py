"""The action table: its indices, its texts, and what is said about text that is no action."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase10_env import actions
from phase10_env.actions import ACTION_TEXTS, ActionError, action_text, parse_action
from phase10_env.rules import table
from phase10_env.rules.cards import KIND_TEXTS


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (0, "draw"),
        (1, "take"),
        (2, "lay 1"),
        (11, "lay 10"),
        (12, "build 1"),
        (21, "build 10"),
        (22, "number 1"),
        (33, "number 12"),
        (34, "colour R"),
        (35, "colour B"),
        (36, "colour G"),
        (37, "colour Y"),
        (38, "play R1"),
        (49, "play R12"),
        (50, "play B1"),
        (85, "play Y12"),
        (86, "play W"),
        (87, "onto 0.0"),
        (88, "onto 0.0 high"),
        (89, "onto 0.1"),
        (90, "onto 0.1 high"),
        (91, "onto 1.0"),
        (110, "onto 5.1 high"),
        (111, "discard R1"),
        (158, "discard Y12"),
        (159, "discard W"),
        (160, "skip 1"),
        (164, "skip 5"),
    ],
)
def test_an_action_has_its_place_in_the_table(index, text):
    assert action_text(index) == text
    assert parse_action(text) == index


def test_the_table_has_165_different_texts():
    assert table.NUM_ACTIONS == len(ACTION_TEXTS) == len(set(ACTION_TEXTS)) == 165


def test_each_offset_is_where_its_texts_begin():
    firsts = {}
    for index, text in enumerate(ACTION_TEXTS):
        firsts.setdefault(text.split()[0].upper(), index)
    offsets = {name: getattr(table, name) for name in table.__all__ if name != "NUM_ACTIONS"}
    assert offsets == firsts
    assert all(getattr(actions, name) == offset for name, offset in offsets.items())


def test_an_index_is_the_offset_and_its_argument():
    for kind in range(49):
        assert action_text(table.PLAY + kind) == f"play {KIND_TEXTS[kind]}"
        assert action_text(table.DISCARD + kind) == f"discard {KIND_TEXTS[kind]}"
    for left in range(6):
        for group in range(2):
            for end, word in enumerate(("", " high")):
                assert action_text(table.ONTO + 4 * left + 2 * group + end) == f"onto {left}.{group}{word}"


@pytest.mark.parametrize("index", range(165))
def test_every_text_leads_back_to_its_index_in_any_case_and_spacing(index):
    text = action_text(np.int64(index))
    assert parse_action(text) == index
    assert parse_action(f"  {text.upper().replace(' ', '   ')} ") == index


@pytest.mark.parametrize(
    ("index", "found"), [(165, "165"), (-1, "-1"), (1.0, "1.0"), ("draw", "'draw'"), (None, "None")]
)
def test_an_index_outside_the_table_is_refused(index, found):
    with pytest.raises(ActionError) as caught:
        action_text(index)
    assert str(caught.value) == f"expected an action index from 0 to 164, found {found}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unknown action '': expected one such as 'draw', 'lay 1', 'play R7' or 'discard R7'"),
        ("   ", "unknown action '   ': expected one such as 'draw', 'lay 1', 'play R7' or 'discard R7'"),
        ("discrad R7", "unknown action 'discrad R7': the nearest is 'discard R7'"),
        ("dra", "unknown action 'dra': the nearest is 'draw'"),
        ("color R", "unknown action 'color R': the nearest is 'colour R'"),
        (
            "discrad R13",
            "unknown action 'discrad R13': the nearest word is 'discard', followed by a card from R1 to Y12 "
            "or W, as in 'discard R7'",
        ),
        ("lay 11", "unknown action 'lay 11': 'lay' is followed by a phase from 1 to 10, as in 'lay 1'"),
        ("lay 0", "unknown action 'lay 0': 'lay' is followed by a phase from 1 to 10, as in 'lay 1'"),
        ("lay", "unknown action 'lay': 'lay' is followed by a phase from 1 to 10, as in 'lay 1'"),
        ("draw 2", "unknown action 'draw 2': 'draw' is followed by nothing, as in 'draw'"),
        (
            "number 13",
            "unknown action 'number 13': 'number' is followed by a number from 1 to 12, as in 'number 7'",
        ),
        (
            "colour red",
            "unknown action 'colour red': 'colour' is followed by one of the letters R, B, G, Y, as in "
            "'colour R'",
        ),
        (
            "play R0",
            "unknown action 'play R0': 'play' is followed by a card from R1 to Y12 or W, as in 'play R7'",
        ),
        (
            "onto 0.1 low",
            "unknown action 'onto 0.1 low': 'onto' is followed by seats to the left 0-5, a dot and group 0 "
            "or 1, then 'high' for the high end of a run, as in 'onto 0.1 high'",
        ),
        (
            "skip 0",
            "unknown action 'skip 0': 'skip' is followed by a player 1 to 5 seats to the left, as in "
            "'skip 1'",
        ),
        (
            "discard S",
            "unknown action 'discard S': a Skip is played on a player 1 to 5 seats to the left, as in 'skip "
            "1'",
        ),
        (
            "play s",
            "unknown action 'play s': a Skip is played on a player 1 to 5 seats to the left, as in 'skip 1'",
        ),
        (
            "xyzzy",
            "unknown action 'xyzzy': an action begins with one of draw, take, lay, build, number, colour, "
            "play, onto, discard, skip",
        ),
        (
            "q" * 100,
            f"unknown action '{'q' * 37}...': an action begins with one of draw, take, lay, build, number, "
            "colour, play, onto, discard, skip",
        ),
    ],
)
def test_a_text_that_is_no_action_gets_a_sentence_that_says_what_would_do(text, message):
    with pytest.raises(ActionError) as caught:
        parse_action(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [3, None, b"draw", ["draw"]])
def test_what_is_not_text_is_refused(value):
    with pytest.raises(ActionError) as caught:
        parse_action(value)
    assert str(caught.value) == f"expected an action as text, such as 'draw' or 'discard R7', found {value!r}"


@given(
    st.text(max_size=30) | st.sampled_from(ACTION_TEXTS).flatmap(lambda t: st.text(max_size=3).map(t.__add__))
)
def test_any_text_is_an_action_or_gets_one_sentence(text):
    index, message = None, "-"
    try:
        index = parse_action(text)
    except ActionError as error:
        message = str(error)
    assert message
    assert "\n" not in message
    assert index is None or " ".join(text.lower().split()) == action_text(index).lower()
