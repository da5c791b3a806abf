"""What makes a ruleset impossible (R37): each refusal with its sentence, and what just passes."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_env.rules.cards import KIND_TEXTS, KINDS, NUMBERS, WILD
from phase10_env.rules.phases import OPTION_VALUES
from phase10_env.rules.ruleset import FIELDS, RuleSet, RuleSetError
from phase10_env.rules.validity import wilds_needed


def problems_of(**fields: object) -> tuple[str, ...]:
    """Return the problems with which a ruleset is refused."""
    with pytest.raises(RuleSetError) as caught:
        RuleSet(**fields)
    return caught.value.problems


def problem_of(**fields: object) -> str:
    """Return the only problem with which a ruleset is refused."""
    problems = problems_of(**fields)
    assert len(problems) == 1, problems
    return problems[0]


# ---------------------------------------------------------------- phases (R36, R37)


def test_phases_may_be_text_or_groups():
    ruleset = RuleSet(phases=["set 3+run 4", [["colour", 7]], ("Run 5",), (("set", np.int8(2)), "colour 3")])
    assert ruleset.phases == (
        (("set", 3), ("run", 4)),
        (("colour", 7),),
        (("run", 5),),
        (("set", 2), ("colour", 3)),
    )


@pytest.mark.parametrize(
    ("phases", "problem"),
    [
        (
            "set 3",
            "phases is 'set 3': expected a list of phases such as ['set 3 + run 4', 'colour 7']",
        ),
        ([], "phases has 0 entries: expected 1 to 10 phases (R36)"),
        (["set 3"] * 11, "phases has 11 entries: expected 1 to 10 phases (R36)"),
        ([7], "phases, phase 1 is 7: expected text such as 'set 3 + run 4' or a list of groups"),
        ([[]], "phases, phase 1 is [], 0 groups: expected one group or two"),
        (
            ["set 3", "set 1 + set 2 + set 3"],
            "phases, phase 2 is 'set 1 + set 2 + set 3', 3 groups: expected one group or two",
        ),
        (
            ["sett 3"],
            "phases, phase 1: 'sett 3' is no group; expected 'set N', 'run N' or 'colour N'; the nearest is "
            "'set'",
        ),
        (
            [[["sett", 3]]],
            "phases, phase 1: ['sett', 3] is no group; expected 'set N', 'run N' or 'colour N'; the nearest "
            "is 'set'",
        ),
        (
            [[("set", True)]],
            "phases, phase 1: ('set', True) is no group; expected 'set N', 'run N' or 'colour N'",
        ),
        (["set"], "phases, phase 1: 'set' is no group; expected 'set N', 'run N' or 'colour N'"),
        (["set 0"], "phases, phase 1: a set of 0 is impossible; expected a size from 1 to 15"),
        (["set 16"], "phases, phase 1: a set of 16 is impossible; expected a size from 1 to 15"),
        (["run 1"], "phases, phase 1: a run of 1 is impossible; expected a size from 2 to 12"),
        (["run 13"], "phases, phase 1: a run of 13 is impossible; expected a size from 2 to 12"),
        (["colour 0"], "phases, phase 1: a colour of 0 is impossible; expected a size from 1 to 15"),
        (
            ["colour 2 + colour 3"],
            "phases, phase 1 is 'colour 2 + colour 3': expected at most one colour group in a phase",
        ),
        (
            ["set 6 + run 6"],
            "phases, phase 1 is 'set 6 + run 6', 12 cards: expected at most 11, as hand_size is 10; make the "
            "phase smaller or hand_size larger",
        ),
    ],
)
def test_an_impossible_phase_is_refused_in_one_sentence(phases, problem):
    assert problem_of(phases=phases) == problem


def test_phases_of_eleven_cards_need_a_hand_that_may_go_out_by_a_lay_down():
    assert RuleSet(phases=["run 11"]).phases == ((("run", 11),),)
    assert problem_of(phases=["run 11"], go_out="discard") == (
        "phases, phase 1 is 'run 11', 11 cards: expected at most 10, as one card must be left to discard "
        "(go_out); make the phase smaller or hand_size larger"
    )
    assert RuleSet(phases=["run 10"], go_out="discard")
    assert RuleSet(phases=["run 12"], hand_size=11)


def test_a_phase_that_no_hand_can_hold_is_refused():
    assert problem_of(phases=["run 4", "set 5"], deck={"colours": "RB", "wilds": 0}) == (
        "phases, phase 2 is 'set 5': with this deck it takes at least 1 Wilds and there are 0; make the "
        "phase smaller or add cards to deck"
    )
    assert RuleSet(phases=["run 4", "set 5"], deck={"colours": "RB", "wilds": 1})


def test_a_phase_without_its_natural_card_is_refused():
    one_natural = {"R1": 1, "W": 8, "S": 4}
    assert problem_of(phases=["set 2 + set 2"], hand_size=4, deck=one_natural) == (
        "phases, phase 1 is 'set 2 + set 2': no hand of this deck can have a natural card in each group; add "
        "numbers to deck"
    )
    assert RuleSet(phases=["set 2 + set 2"], hand_size=4, deck=one_natural, naturals="phase")
    assert problem_of(phases=["set 2"], hand_size=4, deck={"W": 8, "S": 4}) == (
        "phases, phase 1 is 'set 2': no hand of this deck can have a natural card in it; add numbers to deck"
    )


GROUPS = st.one_of(
    st.tuples(st.just("set"), st.integers(1, 3)),
    st.tuples(st.just("run"), st.integers(2, 3)),
    st.tuples(st.just("colour"), st.integers(1, 2)),
)


def _fewest_wilds_by_trying(phase, deck, naturals):
    """Try every declaration and every card in every place."""

    def declarations(kind, size):
        if kind == "set":
            return [[{k for k in range(WILD) if k % NUMBERS == n}] * size for n in range(NUMBERS)]
        if kind == "colour":
            return [[{k for k in range(WILD) if k // NUMBERS == c}] * size for c in range(4)]
        return [
            [{k for k in range(WILD) if k % NUMBERS == n} for n in range(low, low + size)]
            for low in range(NUMBERS - size + 1)
        ]

    def fewest(places, left, groups_with_natural):
        if not places:
            enough = groups_with_natural == set(range(len(phase)))
            if naturals == "phase":
                enough = bool(groups_with_natural)
            return 0 if enough else None
        (group, kinds), rest = places[0], places[1:]
        with_wild = fewest(rest, left, groups_with_natural)
        found = [None if with_wild is None else with_wild + 1]
        found += [
            fewest(rest, {**left, kind: left[kind] - 1}, groups_with_natural | {group})
            for kind in sorted(kinds & left.keys())
            if left[kind]
        ]
        return min((n for n in found if n is not None), default=None)

    held = {kind: deck[kind] for kind in range(WILD) if deck[kind]}
    found = [
        fewest([(g, kinds) for g, group in enumerate(chosen) for kinds in group], held, set())
        for chosen in itertools.product(*(declarations(*group) for group in phase))
    ]
    return min((n for n in found if n is not None), default=None)


@settings(max_examples=40, deadline=None)
@given(
    phase=st.lists(GROUPS, min_size=1, max_size=2).map(tuple),
    held=st.dictionaries(
        st.sampled_from([0, 1, 2, 12, 13, 26, 47]), st.integers(1, 2), min_size=0, max_size=4
    ),
    naturals=st.sampled_from(OPTION_VALUES["naturals"]),
)
def test_the_wilds_a_phase_needs_are_those_found_by_trying_everything(phase, held, naturals):
    deck = tuple(held.get(kind, 0) for kind in range(KINDS))
    expected = _fewest_wilds_by_trying(phase, deck, naturals)
    assert wilds_needed(phase, deck, naturals) == expected


# ---------------------------------------------------------------- decks (R2, R37)


def test_a_deck_may_be_counts_properties_or_kinds():
    by_counts = RuleSet(deck=[2] * 48 + [8, 3])
    assert by_counts == RuleSet(deck=np.array([2] * 48 + [8, 3])) == RuleSet(deck={"skips": 3})
    small = RuleSet(
        phases=["set 2"], hand_size=3, deck={"numbers": [2, 1], "colours": "yr", "wilds": 1, "skips": 0}
    )
    assert small.deck_size == 9
    assert (
        small.deck
        == RuleSet(phases=["set 2"], hand_size=3, deck={"R1": 2, "R2": 2, "Y1": 2, "Y2": 2, "W": 1}).deck
    )
    assert RuleSet(deck={}) == RuleSet()
    one = RuleSet(phases=["set 2"], hand_size=2, deck={"numbers": "7", "skips": 0, "wilds": 0})
    assert [KIND_TEXTS[k] for k in range(KINDS) if one.deck[k]] == ["R7", "B7", "G7", "Y7"]


@pytest.mark.parametrize(
    ("deck", "problem"),
    [
        (
            [2] * 49,
            "deck is a list of 49: expected 50 numbers of "
            "copies, a table of kinds such as {R1 = 2, W = 8}, or a table such as {numbers = '1-9', copies = "
            "2}",
        ),
        (
            108,
            "deck is 108: expected 50 numbers of copies, a table of kinds such as {R1 = 2, W = 8}, or a "
            "table such as {numbers = '1-9', copies = 2}",
        ),
        (
            [2] * 48 + [8, -1],
            "deck, S is -1: expected a whole number of cards from 0 to 108",
        ),
        (
            {"R1": 2.0},
            "deck, R1 is 2.0: expected a whole number of cards from 0 to 108",
        ),
        (
            {"wild": 2},
            "deck has the unknown key 'wild': expected kinds of card such as R1, W, S, or else numbers, "
            "colours, copies, wilds, skips; the nearest is 'wilds'",
        ),
        (
            {"R1": 3, "copies": 2, "skips": 2},
            "deck mixes kinds of card with copies, skips: expected the one or the other",
        ),
        (
            {"numbers": "0-9"},
            "deck, numbers is '0-9': expected a range such as '1-9' or a list of different numbers, from 1 "
            "to 12",
        ),
        (
            {"numbers": [1, 1, 2]},
            "deck, numbers is [1, 1, 2]: expected a range such as '1-9' or a list of different numbers, from "
            "1 to 12",
        ),
        (
            {"numbers": "9-1"},
            "deck, numbers is '9-1': expected a range such as '1-9' or a list of different numbers, from 1 "
            "to 12",
        ),
        (
            {"numbers": 12},
            "deck, numbers is 12: expected a range such as '1-9' or a list of different numbers, from 1 to "
            "12",
        ),
        ({"colours": "RR"}, "deck, colours is 'RR': expected different letters of RBGY, as in 'RB'"),
        ({"colours": 4}, "deck, colours is 4: expected different letters of RBGY, as in 'RB'"),
        ({"copies": True}, "deck, copies is True: expected a whole number of cards from 0 to 108"),
        ({"skips": 5}, "deck has 109 cards: expected at most 108; lower the copies"),
        (
            {"numbers": "1-4", "copies": 4, "wilds": 0},
            "deck has 16 cards with number 1: expected at most 15 of one number; lower the copies or take "
            "fewer colours",
        ),
        (
            {"colours": "RB", "wilds": 27},
            "deck has 24 cards of colour R and 27 Wilds: expected at most 32 together, the most a meld can "
            "hold; lower the copies",
        ),
    ],
)
def test_an_impossible_deck_is_refused_in_one_sentence(deck, problem):
    assert problem_of(phases=["set 2 + run 2"], deck=deck) == problem


def test_a_meld_can_hold_every_card_that_may_be_added_to_it():
    problems = problems_of(phases=["set 2"], deck={"R1": 5, "B1": 5, "G1": 5, "W": 18})
    assert problems == (
        "deck has 15 cards with number 1 and 18 Wilds: expected at most 32 together, the most a meld can "
        "hold; lower the copies",
    )
    assert RuleSet(phases=["set 2"], deck={"R1": 5, "B1": 5, "G1": 5, "W": 17})
    assert RuleSet(phases=["set 2"], deck={"colours": "RB", "wilds": 8})
    assert problem_of(phases=["set 2"], deck={"colours": "RB", "wilds": 9}).startswith(
        "deck has 24 cards of colour R"
    )


def test_a_deck_leaves_two_players_a_stock():
    fields = {"phases": ["set 2"], "hand_size": 3}
    assert RuleSet(**fields, deck={"R1": 4, "B1": 4}).max_players == 2
    assert problem_of(**fields, deck={"R1": 4, "B1": 3}) == (
        "deck has 7 cards: two players with hand_size 3 need at least 8; add cards or deal fewer"
    )


# ---------------------------------------------------------------- the other fields (R37)


@pytest.mark.parametrize("option", OPTION_VALUES)
def test_a_wrong_option_names_the_values_and_the_nearest(option):
    values = OPTION_VALUES[option]
    wrong = values[-1] + "x"
    expected = ", ".join(f"'{value}'" for value in values)
    assert problem_of(**{option: wrong}) == (
        f"{option} is '{wrong}': expected one of {expected}; the nearest is '{values[-1]}'"
    )
    assert problem_of(**{option: 0}) == f"{option} is 0: expected one of {expected}"


@pytest.mark.parametrize(
    ("field", "value", "low", "high"),
    [
        ("hand_size", 0, 1, 14),
        ("hand_size", 15, 1, 14),
        ("hand_size", "10", 1, 14),
        ("hand_size", 10.0, 1, 14),
        ("max_turns", 0, 1, 10000),
        ("max_turns", 10001, 1, 10000),
        ("max_rounds", True, 1, 10000),
        ("max_rounds", 10001, 1, 10000),
        ("dealer", -1, 0, 5),
        ("dealer", 6, 0, 5),
        ("dealer", "0", 0, 5),
    ],
)
def test_a_number_out_of_range_is_refused_in_one_sentence(field, value, low, high):
    assert problem_of(**{field: value}) == (
        f"{field} is {value!r}: expected a whole number from {low} to {high}"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [("hand_size", 14), ("max_turns", 1), ("max_turns", 10000), ("max_rounds", 1), ("max_rounds", 10000)],
)
def test_the_ends_of_a_range_are_accepted(field, value):
    assert getattr(RuleSet(**{field: value}), field) == value


def test_a_hand_of_one_card_is_accepted():
    assert RuleSet(phases=["set 1"], hand_size=1).hand_size == 1


def test_an_integer_too_long_to_print_is_refused_all_the_same():
    assert problem_of(hand_size=10**5000) == (
        "hand_size is a value too large to show: expected a whole number from 1 to 14"
    )


def test_allow_return_is_true_or_false():
    assert problem_of(allow_return=1) == "allow_return is 1: expected true or false"


@pytest.mark.parametrize("name", ["", "two words", "a/b", "-x", "x" * 65, 7, "a\nb", "]"])
def test_a_name_that_would_not_fit_a_record_is_refused(name):
    assert problem_of(name=name).startswith("name is ")


def test_winning_by_going_out_needs_phases_in_order():
    for advance in ("every_round", "pick"):
        assert problem_of(winner="went_out", advance=advance) == (
            f"winner is 'went_out' with advance '{advance}': expected advance 'completed', or else winner "
            "'completed' (R31)"
        )
    assert RuleSet(winner="went_out").winner == "went_out"


def test_a_first_dealer_needs_a_deck_for_that_many_players():
    fields = {"phases": ["set 2"], "hand_size": 3, "deck": {"R1": 5, "B1": 6}}
    assert RuleSet(**fields, dealer=2).dealer == 2
    assert problem_of(**fields, dealer=3) == (
        "dealer is 3, which takes 4 players and at least 14 cards: the deck has 11; expected a lower seat or "
        "a larger deck"
    )


def test_a_deck_too_small_for_two_is_reported_once_whoever_deals():
    for dealer in (None, 0, 1):
        assert problem_of(phases=["set 2"], hand_size=3, deck={"R1": 4}, dealer=dealer).startswith(
            "deck has 4 cards"
        )


def test_a_value_is_shown_whole_up_to_sixty_characters():
    assert problem_of(skip_target="x" * 58).startswith(f"skip_target is '{'x' * 58}': expected")
    assert problem_of(skip_target="x" * 59).startswith(f"skip_target is '{'x' * 56}...: expected")


def test_all_problems_are_reported_at_once():
    problems = problems_of(
        name="",
        phases=["set", "run 13"],
        skip_target="nxt",
        allow_return=None,
        hand_size=0,
        deck={"copies": -1, "wilds": "x"},
        dealer=9,
        max_turns=0,
        max_rounds=0,
        advance="pick",
        winner="went_out",
    )
    fields = [problem.split()[0].rstrip(",") for problem in problems]
    assert fields == [
        "name", "phases", "phases", "skip_target", "allow_return", "hand_size", "deck", "deck", "dealer",
        "max_turns", "max_rounds", "winner",
    ]  # fmt: skip
    with pytest.raises(RuleSetError) as caught:
        RuleSet(hand_size=0, dealer=9)
    assert str(caught.value) == "\n".join(caught.value.problems)
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from([*FIELDS, "base", "bass"]), ANYTHING, max_size=5))
def test_any_data_gives_a_ruleset_or_sentences(values):
    ruleset, problems = RuleSet(), ()
    try:
        ruleset = RuleSet.from_dict(values)
    except RuleSetError as error:
        problems = error.problems or ("",)
    assert all(problem and "\n" not in problem and len(problem) < 400 for problem in problems)
    assert RuleSet.from_dict(ruleset.to_dict()) == ruleset
