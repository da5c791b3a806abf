"""Records: written, read as a stream, replayed, and wrong ones reported with line, move and rule."""

import io
import random
import re
from pathlib import Path

import pytest
from env.simple_play import play_out
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_env.game import Game
from phase10_env.records import RecordError, record_from_actions, replay, verify
from phase10_env.rules.ruleset import PRESETS, RuleSet

QUICK = RuleSet(name="quick", phases=("set 3", "run 4 + set 2"), hand_size=7)


@pytest.fixture(scope="module")
def text() -> str:
    return play_out(Game(3, "short-5", seed=5), 5).record(agents=["a", "b", "c"])


def changed(text: str, pattern: str, replacement: str, count: int = 1) -> str:
    new, found = re.subn(pattern, replacement, text, count=count, flags=re.MULTILINE)
    assert found
    return new


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([*PRESETS.values(), QUICK]),
    st.integers(2, 6),
    st.integers(0, 2**64 - 1),
    st.integers(0, 400),
    st.sampled_from(["full", "compact"]),
)
def test_every_record_is_verified_and_written_again(
    rules: RuleSet, players: int, seed: int, decisions: int, mode: str
) -> None:
    game = play_out(Game(players, rules, seed, mode), seed, decisions)
    record = game.record()
    (replayed,) = replay(record)
    assert replayed.game.record() == record
    assert replayed.game.history == game.history
    assert replayed.game.scores == game.scores
    if not game.over:
        assert replayed.game.position() == game.position()


def test_the_header_and_the_lines_are_those_of_the_format(text: str) -> None:
    lines = text.splitlines()
    assert lines[0] == f"[ruleset short-5 {PRESETS['short-5'].digest}]"
    assert lines[1:4] == ["[players 3]", "[seed 5]", "[agents a b c]"]
    assert re.fullmatch(r"round 1 dealer [0-2]", lines[4])
    assert [line.split(":")[0] for line in lines[5:10]] == ["hand 0", "hand 1", "hand 2", "discard", "stock"]
    assert re.fullmatch(r"\[result [1-3] [1-3] [1-3]\]", lines[-1])
    assert any(re.fullmatch(r"\d: skipped", line) for line in lines)


def test_the_cards_come_from_the_record_and_not_from_its_seed(text: str) -> None:
    assert verify(changed(text, r"\[seed 5\]", "[seed 6]")) == 1


def test_a_game_that_begins_in_a_position_holds_it(text: str) -> None:
    game = Game.from_position(play_out(Game(4, "pick-a-phase", seed=3), 3, 250).to_json())
    play_out(game, 4, 300)
    record = game.record()
    assert "[position {" in record
    (replayed,) = replay(record)
    assert replayed.game.history == game.history
    assert replayed.game.record() == record


def tie_break_position() -> dict:
    game = Game(4, "official", seed=8, dealer=0)
    position = game.position()
    for seat in (1, 3):
        position["stock"] += " " + position["seats"][seat]["hand"]
        position["seats"][seat] |= {"hand": "", "phase": 11 if seat == 1 else 5, "score": 300}
    for seat in (0, 2):
        position["seats"][seat] |= {"phase": 10, "score": 120}
    return position | {"active": [0, 2], "to_act": 2, "turn": 0}


def test_a_tie_break_round_is_recorded_without_the_inactive_seats() -> None:
    rules = RuleSet(name="tiny", phases=("set 1", "set 1"), hand_size=3)
    games = (play_out(Game(3, rules, seed), seed) for seed in range(1000))
    game = next(game for game in games if _tied(game))
    record = game.record()
    (replayed,) = replay(record)
    assert replayed.game.record() == record
    assert record.split("round ")[-1].count("hand ") == 2


def _tied(game: Game) -> bool:
    return any(None in event.hands for event in game.events if hasattr(event, "hands"))


def test_a_tie_break_position_is_played_and_verified_to_its_end() -> None:
    game = play_out(Game.from_position(tie_break_position()), 1)
    assert game.over
    assert set(game.winners) <= {0, 2}
    assert verify(game.record()) == 1


def test_own_rules_are_embedded_and_their_digest_checked() -> None:
    record = play_out(Game(2, QUICK, 1), 1).record()
    assert "[rules {" in record
    assert verify(record) == 1
    with pytest.raises(RecordError, match=r"line 1: .*expected the digest"):
        verify(record.replace(f"quick {QUICK.digest}", "quick 00000000"))
    bare = changed(record, r"^\[rules .*\]\n", "")
    with pytest.raises(RecordError, match=r"expected a preset .*, a line '\[rules"):
        verify(bare)
    assert verify(io.StringIO(bare), QUICK) == 1


def test_several_games_follow_one_another_and_are_streamed(text: str, tmp_path: Path) -> None:
    path = tmp_path / "games.p10"
    path.write_text(text + "\n" + Game(2, seed=1).record() + text, encoding="utf-8")
    assert verify(path) == 3
    games = replay(path)
    first = next(games)
    assert (first.line, first.agents) == (1, ("a", "b", "c"))
    games.close()
    with pytest.raises(
        RecordError, match=r"expected a game to begin with|is no header|expected '.ruleset"
    ) as caught:
        verify(io.StringIO(text + "nonsense\n"))
    assert caught.value.line == text.count("\n") + 1


def test_an_endless_file_is_read_one_game_at_a_time(text: str) -> None:
    class Endless(io.StringIO):
        def readline(self, size: int = -1) -> str:  # type: ignore[override]
            line = super().readline(size)
            if not line:
                self.seek(0)
                line = super().readline(size)
            return line

    games = replay(Endless(text))
    assert [next(games).line for _ in range(3)] == [1 + i * text.count("\n") for i in range(3)]


@pytest.mark.parametrize(
    ("pattern", "replacement", "expected", "rule"),
    [
        (r"^\[ruleset short-5 \w+\]", "[ruleset short-5 12345678]", "expected the digest", None),
        (r"^\[ruleset short-5", "[ruleset shirt-5", "the nearest is 'short-5'", None),
        (r"^\[players 3\]", "[players 4]", "expected 4 names", None),
        (r"^\[players 3\]", "[players 9]", "from 2 to 6", None),
        (r"^\[players 3\]\n", "", r"expected '\[players", None),
        (r"^\[seed 5\]", "[sead 5]", r"the nearest is 'seed'", None),
        (r"^round 1 dealer (\d)", "round 2 dealer \\1", "expected 'round 1 dealer", "R4"),
        (r"^round 2 dealer \d", "round 2 dealer 9", "expected 'round 2 dealer", "R4"),
        (r"^hand 1: \w+ ", "hand 1: ", "has 9 cards", "R5"),
        (r"^stock: \w+ ", "stock: ", "lack 1 card", None),
        (r"^scores: ", "scores: 1", "expected 'scores", "R29"),
        (r"^phases: ", "phases: 1", "expected 'phases", "R30, R35"),
        (r"^out (\d)", "out 7", "expected 'out", "R13, R28"),
        (r"^\[result .*\]", "[result 9 9 9]", "expected '.result", "R31-R34"),
        (r"^\d: skipped\n", "", "expected '\\d: skipped'", "R7, R23"),
        (r"; discard \w+$", "; discard R13", "unknown action", None),
        (r"^(\d): (draw|take); ", "\\1: draw; draw; ", "only one card is drawn", "R8"),
        (r"; discard (\w+)$", "; discard \\1; discard \\1", "the turn is over", "R12, R28"),
        (r"; discard \w+$", "", "the turn is not finished", "R12"),
        (r"^\[result .*\]\n", "", "the record ends before", "R31-R34"),
        (r"^\[result .*\]\n", "[result unfinished]\n", "expected '.result", "R31-R34"),
    ],
)
def test_a_wrong_record_is_reported_with_line_and_rule(
    text: str, pattern: str, replacement: str, expected: str, rule: str | None
) -> None:
    wrong = changed(text, pattern, replacement)
    with pytest.raises(RecordError, match=expected) as caught:
        verify(wrong)
    assert caught.value.line > 0
    if rule is not None:
        assert caught.value.rule == rule
    assert "\n" not in str(caught.value)


def test_a_wrong_move_is_named() -> None:
    game = Game(2, seed=7, dealer=0)
    game.play("draw")
    record = game.record().replace("1: draw", "1: draw; lay 9")
    with pytest.raises(RecordError) as caught:
        verify(record)
    assert caught.value.move == "lay 9"
    assert caught.value.rule == "R10, R30"
    assert caught.value.line == record[: record.index("1: draw")].count("\n") + 1
    assert "move 'lay 9'" in str(caught.value)


def test_a_turn_of_another_seat_is_wrong() -> None:
    game = Game(3, seed=7, dealer=0)
    game.play("draw")
    with pytest.raises(RecordError, match=f"found a turn of seat 0: seat {game.to_act} is to act"):
        verify(game.record().replace(f"{game.to_act}: draw", "0: draw"))


def reshuffled_game() -> Game:
    position = Game(2, seed=3).position()
    position |= {"discard": position["discard"] + " " + position["stock"], "stock": ""}
    return Game.from_position(position)


def test_a_reshuffle_is_written_before_the_turn_that_draws_from_it_and_checked() -> None:
    game = reshuffled_game()
    game.play("draw")
    record = game.record()
    assert re.search(r"^stock: .*\n\d: draw\n", record, re.MULTILINE)
    (replayed,) = replay(record)
    assert replayed.game.position() == game.position()
    without = changed(record, r"^stock: .*\n", "")
    with pytest.raises(RecordError, match=r"the stock is empty: expected a line 'stock: ...'") as caught:
        verify(without)
    assert (caught.value.move, caught.value.rule) == ("draw", "R13")
    with pytest.raises(RecordError, match="expected every discard but the top one"):
        verify(changed(record, r"^stock: \w+ ", "stock: "))
    with pytest.raises(RecordError, match="only a draw from an empty stock"):
        verify(changed(record, r"^(\d): draw", "\\1: take"))


def test_truncation_is_recorded() -> None:
    game = play_out(Game(2, RuleSet(max_turns=2), seed=1), 1)
    record = game.record()
    assert record.endswith("[result truncated]\n")
    assert verify(record) == 1


def test_a_record_is_made_from_seed_and_actions() -> None:
    game = play_out(Game(3, "official", 21, "compact", 1, episode=4), 21, 200)
    actions = [event.action for event in game.events if hasattr(event, "action")]
    made = record_from_actions(21, 3, "official", actions, mode="compact", dealer=1, episode=4)
    assert made == game.record()


@pytest.mark.parametrize("agents", [["a"], ["a", "b c"], ["a", ""], ["a", "b]"]])
def test_agents_are_one_name_a_seat(agents: list[str]) -> None:
    with pytest.raises(ValueError, match="agents has"):
        Game(2, seed=1).record(agents)


def test_a_missing_file_and_a_folder_are_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "none.p10", tmp_path, "no\0name"):
        with pytest.raises(RecordError, match="expected a readable file with a record"):
            verify(path)


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(RecordError, match="less than 1000000 characters"):
        verify("[ruleset " + "x" * 2_000_000)


def test_cut_records_never_pass(text: str) -> None:
    chance = random.Random(1)
    for _ in range(40):
        cut = chance.randrange(1, len(text) - 1)
        with pytest.raises(RecordError):
            verify(io.StringIO(text[:cut]))
