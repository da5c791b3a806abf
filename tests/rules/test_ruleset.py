"""RuleSet: what is accepted, what is refused and in which words, and the ways in and out of it."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_env.rules.cards import KIND_TEXTS, KINDS, STANDARD_DECK
from phase10_env.rules.phases import GROUP_KINDS, OPTION_VALUES, RULES, STANDARD_PHASES
from phase10_env.rules.ruleset import CUSTOM, FIELDS, PRESETS, RuleSet, RuleSetError, get_ruleset, phase_text

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "rules"

NEXT_PLAYER_SKIP = {
    "skip_target": "next",
    "skip_placement": "pile",
    "hit_after_lay": "own",
    "go_out": "discard",
    "tie_break": "lay_down",
}

CHANGES = {
    **{option: values[1] for option, values in OPTION_VALUES.items()},
    "phases": STANDARD_PHASES[:9],
    "allow_return": False,
    "hand_size": 9,
    "deck": {"skips": 3},
    "dealer": 0,
    "max_turns": 499,
    "max_rounds": 199,
}
"""Another value for each field but the name."""


# ---------------------------------------------------------------- presets


def test_the_default_is_the_official_sheet():
    assert RuleSet() == PRESETS["official"]
    assert RuleSet().phases == STANDARD_PHASES
    assert RuleSet().deck == tuple(STANDARD_DECK.tolist())
    assert all(getattr(RuleSet(), option) == values[0] for option, values in OPTION_VALUES.items())


@pytest.mark.parametrize(
    ("name", "differs"),
    [
        ("official", {}),
        ("ten-rounds", {"advance": "every_round"}),
        ("short-5", {"phases": STANDARD_PHASES[:5]}),
        ("short-7", {"phases": STANDARD_PHASES[:7]}),
        ("short-8", {"phases": STANDARD_PHASES[:8]}),
        ("next-player-skip", NEXT_PLAYER_SKIP),
        (
            "even-phases",
            {**NEXT_PLAYER_SKIP, "phases": tuple(STANDARD_PHASES[k - 1] for k in (2, 4, 6, 8, 10))},
        ),
        (
            "odd-phases",
            {**NEXT_PLAYER_SKIP, "phases": tuple(STANDARD_PHASES[k - 1] for k in (1, 3, 5, 7, 9))},
        ),
        ("pick-a-phase", {**NEXT_PLAYER_SKIP, "advance": "pick"}),
        ("pile-skip", {"skip_placement": "pile"}),
    ],
)
def test_a_preset_differs_from_the_official_rules_in_its_options_alone(name, differs):
    assert PRESETS[name] == RuleSet(**{"name": name, **differs})
    assert PRESETS[name].name == name


def test_there_are_ten_presets_with_ten_digests():
    assert len(PRESETS) == 10
    assert len({preset.digest for preset in PRESETS.values()}) == 10


def test_the_digest_of_the_official_rules_never_changes():
    assert PRESETS["official"].digest == "77b9c0f6"


@pytest.mark.parametrize("name", PRESETS)
def test_the_file_of_a_preset_equals_the_preset(name):
    assert RuleSet.from_toml(CONFIGS / f"{name}.toml") == PRESETS[name]


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_each_rules_file_can_be_played_by_two_and_bears_its_own_name(path):
    ruleset = get_ruleset(path)
    ruleset.check_players(2)
    assert ruleset.name == path.stem


# ---------------------------------------------------------------- digest, name, copies


@pytest.mark.parametrize("field", sorted(set(FIELDS) - {"name"}))
def test_every_field_but_the_name_changes_the_digest(field):
    assert RuleSet(**{field: CHANGES[field]}).digest != RuleSet().digest


@pytest.mark.parametrize(
    ("option", "value"), [(option, v) for option, values in OPTION_VALUES.items() for v in values[1:]]
)
def test_every_option_value_has_its_own_digest_and_record(option, value):
    changed = RuleSet(**{option: value})
    others = [RuleSet(**{option: other}) for other in OPTION_VALUES[option] if other != value]
    assert all(changed.digest != other.digest for other in others)
    assert changed.record[0][option] == OPTION_VALUES[option].index(value)


def test_the_name_does_not_change_the_digest():
    assert RuleSet(name="family").digest == RuleSet().digest


def test_the_spelling_of_phases_and_deck_does_not_change_the_digest():
    spelled = RuleSet(
        phases=[phase_text(phase).upper().replace(" ", "  ") for phase in STANDARD_PHASES],
        deck={text: int(n) for text, n in zip(KIND_TEXTS, STANDARD_DECK, strict=True)},
        hand_size=np.int64(10),
        allow_return=np.bool_(True),
    )
    assert spelled == RuleSet()
    assert spelled.digest == RuleSet().digest
    assert type(spelled.hand_size) is int
    assert type(spelled.allow_return) is bool


def test_other_rules_under_the_name_of_a_preset_are_called_custom():
    assert RuleSet(hand_size=9).name == CUSTOM
    assert PRESETS["short-5"].replace(hand_size=9).name == CUSTOM
    assert RuleSet(name="family").replace(hand_size=9).name == "family"


def test_fields_are_given_by_name():
    with pytest.raises(TypeError):
        RuleSet("family")


def test_a_ruleset_is_frozen_and_hashable():
    with pytest.raises(AttributeError):
        RuleSet().hand_size = 3
    assert len({RuleSet(), PRESETS["official"], RuleSet(dealer=1)}) == 2


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_copies_are_equal_and_their_record_stays_read_only(preset):
    preset.record  # noqa: B018  # cached before the copy is taken
    for twin in (pickle.loads(pickle.dumps(preset)), copy.deepcopy(preset)):
        assert twin == preset
        assert np.array_equal(twin.record, preset.record)
        assert not twin.record.flags.writeable


def test_the_repr_names_what_differs_and_evaluates_to_the_same_rules():
    ruleset = RuleSet(name="x", phases=("set 3", "run 4"), dealer=2, deck={"wilds": 4})
    text = repr(ruleset)
    assert "skip_target" not in text
    assert eval(text, {"RuleSet": RuleSet}) == ruleset


# ---------------------------------------------------------------- the record for kernels


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_the_record_holds_every_field(preset):
    record = preset.record
    assert record.shape == (1,)
    assert record.dtype == RULES
    assert preset.record is record
    row = record[0]
    assert row["num_phases"] == len(preset.phases)
    for k in range(10):
        groups = preset.phases[k] if k < len(preset.phases) else ()
        for g in range(2):
            kind, size = groups[g] if g < len(groups) else ("none", 0)
            assert GROUP_KINDS[row["group_kinds"][k, g]] == kind
            assert row["group_sizes"][k, g] == size
    assert row["allow_return"] == 1
    assert (row["hand_size"], row["max_turns"], row["max_rounds"]) == (10, 500, 200)
    assert row["dealer"] == -1
    assert row["deck_size"] == 108
    assert row["deck_counts"].tolist() == STANDARD_DECK.tolist()
    assert np.bincount(row["deck_cards"], minlength=KINDS).tolist() == STANDARD_DECK.tolist()
    assert (np.diff(row["deck_cards"].astype(int)) >= 0).all()


def test_the_record_of_a_small_deck_ends_with_its_cards():
    ruleset = RuleSet(phases=["set 2"], hand_size=3, deck={"R1": 4, "B1": 4, "S": 2}, dealer=1)
    row = ruleset.record[0]
    assert row["deck_size"] == 10
    assert row["deck_cards"][:10].tolist() == [0] * 4 + [12] * 4 + [49] * 2
    assert not row["deck_cards"][10:].any()
    assert row["dealer"] == 1


def test_the_record_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        RuleSet().record["hand_size"] = 3


# ---------------------------------------------------------------- players


@pytest.mark.parametrize("num_players", [1, 7, 0, -2])
def test_a_game_has_two_to_six_players(num_players):
    with pytest.raises(RuleSetError) as caught:
        RuleSet().check_players(num_players)
    assert caught.value.problems == (f"num_players is {num_players}: expected 2 to 6 players (R1)",)


@pytest.mark.parametrize("num_players", [True, 2.0, "3", None])
def test_a_number_of_players_is_a_whole_number(num_players):
    with pytest.raises(RuleSetError, match=r"num_players is .*: expected a whole number from 2 to 6 \(R1\)"):
        RuleSet().check_players(num_players)


def test_every_number_of_players_fits_every_preset():
    for preset in PRESETS.values():
        assert preset.max_players == 6
        for num_players in range(2, 7):
            preset.check_players(num_players)
        preset.check_players(np.int64(4))


def test_players_for_whom_there_is_no_stock_or_no_dealer_are_refused():
    ruleset = RuleSet(
        phases=["set 2"], hand_size=10, deck={"numbers": "1-5", "wilds": 2, "skips": 0}, dealer=3
    )
    assert ruleset.max_players == 4
    ruleset.check_players(4)
    with pytest.raises(RuleSetError) as caught:
        ruleset.check_players(5)
    assert caught.value.problems == (
        "deck has 42 cards: 5 players with hand_size 10 need at least 52; play with at most 4, add cards or "
        "deal fewer",
    )
    with pytest.raises(RuleSetError) as caught:
        ruleset.check_players(3)
    assert caught.value.problems == ("dealer is 3: with 3 players expected a seat from 0 to 2",)


# ---------------------------------------------------------------- data and files

SOME_RULES = st.fixed_dictionaries(
    {"name": st.sampled_from(["official", "family", "Köln_2"])},
    optional={
        **{
            option: st.sampled_from(values) for option, values in OPTION_VALUES.items() if option != "advance"
        },
        "advance": st.just("completed"),
        "phases": st.lists(st.sampled_from(STANDARD_PHASES), min_size=1, max_size=10),
        "allow_return": st.booleans(),
        "hand_size": st.integers(10, 14),
        "deck": st.fixed_dictionaries(
            {},
            optional={
                "wilds": st.integers(3, 8),
                "skips": st.integers(0, 4),
                "numbers": st.sampled_from(["1-12", "2-11", [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]]),
            },
        )
        | st.builds(lambda n: [2] * 47 + [1, 8, n], st.integers(0, 4)),
        "dealer": st.integers(0, 5),
        "max_turns": st.integers(1, 10000),
        "max_rounds": st.integers(1, 10000),
    },
)


@settings(max_examples=60, deadline=None)
@given(SOME_RULES)
def test_rules_survive_a_round_trip_through_dict_json_and_toml(tmp_path_factory, fields):
    ruleset = RuleSet(**fields)
    assert RuleSet.from_dict(ruleset.to_dict()) == ruleset
    assert (
        get_ruleset(json.loads(json.dumps(ruleset.spec)) if ruleset.spec != ruleset.name else ruleset.spec)
        == ruleset
    )
    path = tmp_path_factory.mktemp("rules") / "some.toml"
    path.write_text(ruleset.to_toml(), encoding="utf-8")
    assert RuleSet.from_toml(path) == ruleset
    assert RuleSet.from_toml(path).digest == ruleset.digest


def test_a_dict_overrides_single_options_of_its_base():
    ruleset = RuleSet.from_dict({"base": "even-phases", "skip_placement": "front"})
    assert ruleset == PRESETS["even-phases"].replace(skip_placement="front")
    assert ruleset.name == CUSTOM
    assert RuleSet.from_dict({"base": "even-phases"}) == PRESETS["even-phases"]


def test_unknown_fields_are_errors_that_name_the_nearest():
    with pytest.raises(RuleSetError) as caught:
        RuleSet.from_dict({"skiptarget": "next", "hand_size": 0})
    first, second = caught.value.problems
    assert first.startswith("unknown field 'skiptarget': expected one of base, name, phases, ")
    assert first.endswith("; the nearest is 'skip_target'")
    assert second.startswith("hand_size is 0")
    with pytest.raises(RuleSetError, match=r"unknown field 'hands'.*nearest is 'hand_size'"):
        RuleSet().replace(hands=3)
    with pytest.raises(RuleSetError, match="unknown field 7: expected one of base"):
        RuleSet.from_dict({7: 3})


@pytest.mark.parametrize(("base", "hint"), [("offical", "; the nearest is 'official'"), (3, ""), ([], "")])
def test_an_unknown_base_is_refused(base, hint):
    with pytest.raises(RuleSetError) as caught:
        RuleSet.from_dict({"base": base, "sips": 2})
    assert caught.value.problems[0].startswith("unknown field 'sips'")
    assert caught.value.problems[1] == (f"base is {base!r}: expected one of {', '.join(PRESETS)}{hint}")


def test_the_file_names_rules_without_a_name(tmp_path):
    for stem, name in (("my rules", "my-rules"), ("...", CUSTOM), ("official", CUSTOM), ("family", "family")):
        path = tmp_path / f"{stem}.toml"
        path.write_text("hand_size = 9\n", encoding="utf-8")
        assert RuleSet.from_toml(path).name == name
        assert RuleSet.from_toml(str(path)).hand_size == 9


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"hand_size = ", "expected TOML such as base = 'official', found: Invalid value"),
        (b"\xff\xfe", "expected TOML such as base = 'official', found: 'utf-8' codec can't decode"),
        (b"a = " + b"[" * 20000, "expected TOML such as base = 'official', found: "),
        (b"hand_size = " + b"9" * 5000, "expected TOML such as base = 'official', found: "),
        (b"hand_size = 0", "hand_size is 0: expected a whole number from 1 to 14"),
        (b"[deck]\ncopy = 3", "deck has the unknown key 'copy'"),
    ],
)
def test_a_bad_file_is_refused_with_its_path(tmp_path, content, problem):
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(RuleSetError) as caught:
        get_ruleset(str(path))
    assert len(caught.value.problems) == 1
    assert str(caught.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(
        RuleSetError, match=r"none\.toml: expected a readable file with rules, found: No such file"
    ):
        get_ruleset(tmp_path / "none.toml")
    with pytest.raises(RuleSetError, match="expected a readable file with rules, found: "):
        get_ruleset(str(tmp_path))


def test_a_ruleset_is_found_by_whatever_stands_for_it(tmp_path):
    ruleset = RuleSet(name="family", hand_size=9)
    path = tmp_path / "family"
    path.write_text(ruleset.to_toml(), encoding="utf-8")
    assert get_ruleset(ruleset) is ruleset
    assert get_ruleset("short-5") is PRESETS["short-5"]
    assert get_ruleset(path) == get_ruleset(str(path)) == get_ruleset(ruleset.to_dict()) == ruleset
    assert get_ruleset(ruleset.spec) == ruleset
    assert PRESETS["short-5"].spec == "short-5"


@pytest.mark.parametrize(
    ("spec", "hint"), [("shrt-5", "; the nearest is 'short-5'"), ("", ""), ("a\0b", ""), ("x" * 5000, "")]
)
def test_an_unknown_ruleset_names_the_presets_and_the_nearest(spec, hint):
    with pytest.raises(RuleSetError) as caught:
        get_ruleset(spec)
    assert str(caught.value).startswith("unknown ruleset ")
    assert str(caught.value).endswith(f"one of {', '.join(PRESETS)}{hint}")


@pytest.mark.parametrize("spec", [7, None, ["official"]])
def test_what_can_be_no_ruleset_is_refused(spec):
    with pytest.raises(RuleSetError, match="unknown ruleset"):
        get_ruleset(spec)
