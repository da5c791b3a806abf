"""The rules in words: complete for every preset, and changed by every option that changes the game."""

from __future__ import annotations

import re

import pytest

from phase10_env.rules.phases import OPTION_VALUES
from phase10_env.rules.rulebook import phase_in_words, rule_text
from phase10_env.rules.ruleset import PRESETS, RuleSet

ALWAYS = {
    f"R{n}" for n in (1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 14, 16, 17, 19, 20, 22, 28, 29, 32, 33, 34, 35)
}
WITH_WILDS = {"R7", "R18"}
WITH_SKIPS = {"R7", "R9", "R21", "R23", "R24", "R25", "R26", "R27"}


def rules_of(ruleset: RuleSet) -> dict[str, str]:
    """Return the sentences of each rule, by number, with their line breaks taken out."""
    rules: dict[str, str] = {}
    number = ""
    for line in rule_text(ruleset).splitlines():
        if match := re.match(r"(R\d+) +(.*)", line):
            number = match[1]
            rules[number] = f"{rules.get(number, '')} {match[2]}".strip()
        elif line.startswith("     "):
            rules[number] += f" {line.strip()}"
    return rules


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_the_text_of_a_preset_has_every_rule_that_applies(preset):
    expected = ALWAYS | WITH_WILDS | WITH_SKIPS
    expected |= {"R15"} if any(phase[0][0] == phase[-1][0] == "set" for phase in preset.phases) else set()
    expected |= set() if len(preset.phases) == 10 else {"R36"}
    expected |= set() if preset.advance == "every_round" else {"R30", "R31"}
    assert set(rules_of(preset)) == expected


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_no_rule_is_numbered_twice_and_their_numbers_rise(preset):
    numbers = [int(number) for number in re.findall(r"^R(\d+) ", rule_text(preset), flags=re.MULTILINE)]
    listed = [number for number in numbers if number != 36]  # own phases stand where the ten would
    assert len(set(numbers)) == len(numbers)
    assert listed == sorted(listed)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_the_text_is_headed_by_name_and_digest_and_fits_a_terminal(preset):
    lines = rule_text(preset).splitlines()
    assert lines[0] == f'Phase 10, rules "{preset.name}" ({preset.digest})'
    assert max(map(len, lines)) <= 92
    assert not any(line.endswith(" ") for line in lines)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_the_text_lists_every_phase_in_its_order(preset):
    listed = re.findall(r"^ +(\d+)\. (.*)$", rule_text(preset), flags=re.MULTILINE)
    assert listed == [(str(k), phase_in_words(phase)) for k, phase in enumerate(preset.phases, 1)]


@pytest.mark.parametrize(
    ("option", "value"), [(option, value) for option, values in OPTION_VALUES.items() for value in values[1:]]
)
def test_every_option_changes_the_rule_it_is_about(option, value):
    about = {
        "advance": "R35",
        "skip_target": "R23",
        "skip_placement": "R24",
        "hit_after_lay": "R11",
        "go_out": "R28",
        "winner": "R31",
        "tie_break": "R33",
        "naturals": "R18",
    }[option]
    official = rules_of(RuleSet())[about]
    assert rules_of(RuleSet(**{option: value}))[about] != official


@pytest.mark.parametrize(
    ("fields", "rule", "sentence"),
    [
        ({}, "R4", "The first dealer is drawn by lot."),
        ({"dealer": 2}, "R4", "The player in seat 2 deals first (seats are counted from 0)."),
        ({"dealer": 2}, "R1", "3 to 6 players."),
        ({"dealer": 5}, "R1", "6 players."),
        ({"hand_size": 13}, "R5", "Each player is dealt 13 cards."),
        ({"hand_size": 12}, "R5", "Each player is dealt twelve cards."),
        ({"allow_return": True}, "R12", "You may discard the very card that you have just taken"),
        (
            {"allow_return": False},
            "R12",
            "you may not discard it, nor another just like it, in the same turn",
        ),
        ({"max_turns": 77}, "R34", "every player has had 77 turns (lost turns count)"),
        ({"max_rounds": 66}, "R34", "a game of 66 rounds, is broken off"),
        ({"tie_break": "share"}, "R33", "Players with equal lowest totals share the win."),
        ({"tie_break": "lay_down"}, "R33", "The first of them to lay the phase down wins at once."),
        ({"tie_break": "go_out"}, "R34", "leaves the tied players to share the win"),
        ({"winner": "went_out"}, "R17", "The last phase is an exception (R31)."),
        ({"winner": "went_out"}, "R30", "The last phase is an exception (R31)."),
        ({"winner": "went_out"}, "R33", "Two players cannot tie for the win"),
        ({"advance": "every_round"}, "R32", "ranked by points alone"),
        ({"advance": "every_round"}, "R35", "The game ends after ten rounds"),
        ({"advance": "pick"}, "R10", "one phase that you have not done yet"),
        ({"advance": "pick"}, "R31", "somebody has done every phase"),
        ({"go_out": "discard"}, "R28", "The last card must be discarded, or be a Skip that is played"),
        ({"go_out": "discard", "deck": {"skips": 0}}, "R28", "The last card must be discarded: a lay-down"),
        ({"naturals": "phase"}, "R18", "the number of a set or the lowest number of a run."),
        ({"phases": ["run 7"], "naturals": "phase"}, "R18", "Each group needs at least one numbered card."),
        ({"phases": ["run 7"]}, "R36", "There is one phase: 1. a run of 7"),
        ({"phases": ["set 4"]}, "R20", "A Wild fits everywhere."),
        ({"phases": ["colour 1 + set 2"]}, "R36", "1. 1 card of one colour and a set of 2"),
        ({"phases": ["run 2 + run 2", "colour 7"]}, "R36", "1. two runs of 2 2. 7 cards of one colour"),
    ],
)
def test_a_setting_is_told_in_its_rule(fields, rule, sentence):
    assert sentence in rules_of(RuleSet(**fields))[rule]


@pytest.mark.parametrize(
    ("deck", "cards", "points"),
    [
        (
            {},
            "108 cards: the numbers 1 to 12 in four colours (red, blue, green and yellow), two of each; "
            "eight Wilds and four Skips.",
            "a card from 1 to 9 five points, a card from 10 to 12 ten, a Skip fifteen and a Wild "
            "twenty-five.",
        ),
        (
            {"numbers": "1-9", "colours": "RY", "copies": 3, "wilds": 1, "skips": 0},
            "55 cards: the numbers 1 to 9 in two colours (red and yellow), three of each; one Wild and no "
            "Skips.",
            "a card from 1 to 9 five points and a Wild twenty-five.",
        ),
        (
            {"numbers": [10, 12], "copies": 3, "wilds": 0, "skips": 1},
            "25 cards: the numbers 10, 12 in four colours (red, blue, green and yellow), three of each; no "
            "Wilds and one Skip.",
            "a card from 10 to 12 ten and a Skip fifteen.",
        ),
        (
            {"numbers": [7], "colours": "G", "copies": 15, "wilds": 0, "skips": 0},
            "15 cards: the number 7 in one colour (green), 15 of each; no Wilds and no Skips.",
            "a card from 1 to 9 five points.",
        ),
        (
            {"R1": 2, "R3": 1, "Y12": 9},
            "12 cards: in red 1 1 3; in yellow 12 12 12 12 12 12 12 12 12; no Wilds and no Skips.",
            "a card from 1 to 9 five points and a card from 10 to 12 ten.",
        ),
    ],
)
def test_a_deck_is_told_in_words_with_the_points_of_its_cards(deck, cards, points):
    rules = rules_of(RuleSet(phases=["set 2"], hand_size=5, deck=deck))
    assert rules["R2"] == cards
    assert rules["R3"] == f"Cards left in hand at the end of a round cost penalty points: {points}"


def test_rules_about_wilds_and_skips_are_left_out_of_a_deck_without_them():
    neither = rules_of(RuleSet(deck={"wilds": 0, "skips": 0}))
    assert set(neither) == (ALWAYS | {"R15", "R30", "R31"})
    assert "Wild" not in " ".join(text for rule, text in neither.items() if rule != "R2")
    assert "Skip" not in " ".join(text for rule, text in neither.items() if rule != "R2")
    assert "Wild" in rules_of(RuleSet(deck={"skips": 0}))["R7"]
    assert "Skip" in rules_of(RuleSet(deck={"wilds": 0}))["R7"]


def test_the_rule_for_two_players_is_left_out_where_there_are_more():
    assert "R26" in rules_of(RuleSet(dealer=1))
    assert "R26" not in rules_of(RuleSet(dealer=2))


def test_groups_that_no_phase_has_are_not_explained():
    rules = rules_of(RuleSet(phases=["run 4"]))
    assert "set" not in rules["R14"]
    assert "colour," not in rules["R20"]
    assert "R15" not in rules
