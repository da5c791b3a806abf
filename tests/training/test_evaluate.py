"""Evaluation: paired deals from every seat, fair to equal agents, faults charged to whoever makes them."""

import json
import sys
import time
from collections import Counter
from itertools import permutations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_agents.catalog import load_agent
from phase10_env import DecisionView, Game, GameBatch
from phase10_env.rules.ruleset import get_ruleset
from phase10_training import matches
from phase10_training.cli import COMMANDS, load_command, main
from phase10_training.errors import UsageError
from phase10_training.evaluate import evaluate
from phase10_training.guarded import GuardedAgent
from phase10_training.line_ups import deal_seeds, field, gauntlet, rotations, round_robin, swiss_round
from phase10_training.matches import FORFEITED, PlaySettings, observation_level, play_games
from phase10_training.round_stats import RoundStats

SHORT = get_ruleset("official").replace(name="short-2", phases=["set 3 + set 3", "run 7"])


class Faulty:
    """Plays greedy, but fails at one decision in `every`, chosen by the decision's random stream."""

    def __init__(self, kind: str, every: int = 97) -> None:
        self.name = f"faulty-{kind}"
        self.kind, self.every = kind, every
        self.greedy = load_agent("greedy")

    def act(self, view: DecisionView) -> np.ndarray:
        actions = self.greedy.act(view)
        bad = view.random % np.uint64(self.every) == 0
        if not bad.any():
            return actions
        if self.kind == "illegal":
            return np.where(bad, np.where(view.action_masks[:, 159], 0, 159), actions)
        if self.kind == "crash":
            raise RuntimeError("no idea")
        if self.kind == "stall":
            time.sleep(30)
        if self.kind == "outside":
            return np.where(bad, 999, actions)
        return {"float": actions * 1.0, "short": actions[:-1], "nothing": None}[self.kind]  # type: ignore[return-value]


class Silent:
    """Plays at random from a source of its own."""

    name = "silent"

    def __init__(self) -> None:
        self.source = np.random.default_rng(5)

    def act(self, view: DecisionView) -> np.ndarray:
        chance = self.source.random(view.action_masks.shape)
        return np.where(view.action_masks, chance, -1.0).argmax(axis=1)


# ---- line-ups


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6))
def test_rotations_give_every_agent_every_seat_equally_often(line_up: list[int]) -> None:
    seatings = rotations(line_up)
    assert len(set(seatings)) == len(seatings)
    assert all(Counter(seating) == Counter(line_up) for seating in seatings)
    for agent, copies in Counter(line_up).items():
        held = [sum(seating[seat] == agent for seating in seatings) for seat in range(len(line_up))]
        assert held == [copies * len(seatings) / len(line_up)] * len(line_up)


def test_up_to_three_players_all_permutations_are_played() -> None:
    assert set(rotations((0, 1, 2))) == set(permutations((0, 1, 2)))
    assert len(rotations((0, 1, 2, 3))) == 4


def test_formats_pair_the_agents() -> None:
    assert round_robin(4, 3) == [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    assert field(3, 2) == [(0, 1), (0, 2), (1, 2)]
    assert len(field(3, 4)) == 6
    assert gauntlet([2], [0, 1, 2], 2) == [(2, 0), (2, 1)]
    with pytest.raises(UsageError, match="expects at least 4 agents, found 3; use format = 'field'"):
        round_robin(3, 4)
    with pytest.raises(UsageError, match="line-ups, expected at most 5000"):
        round_robin(60, 4)


def test_a_swiss_round_pairs_equals_that_have_not_met_and_lets_the_last_sit_out() -> None:
    met = np.zeros((5, 5), np.int64)
    met[0, 1] = met[1, 0] = 1
    tables, out = swiss_round([3.0, 2.0, 1.0, 0.5, 0.0], met, [0, 0, 0, 0, 0], 2)
    assert out == [4]
    assert tables == [(0, 2), (1, 3)]
    assert swiss_round([3.0, 2.0, 1.0, 0.5, 0.0], met, [0, 0, 0, 0, 1], 2)[1] == [3]


# ---- fairness


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("spec", ["greedy", "greedy:epsilon=0.3"])
def test_copies_of_one_agent_come_out_exactly_equal(players: int, spec: str) -> None:
    seatings = np.array(rotations(range(players)))
    deals = 4
    agents = [load_agent(spec) for _ in range(players)]
    results = play_games(
        agents,
        np.repeat(deal_seeds(3, 0, deals), len(seatings)),
        np.tile(seatings, (deals, 1)),
        PlaySettings(SHORT),
    )
    shares = results.share.reshape(deals, len(seatings), players)
    order = np.tile(seatings, (deals, 1, 1))
    of_agent = np.stack([np.where(order == agent, shares, 0).sum(axis=(1, 2)) for agent in range(players)])
    assert np.allclose(of_agent, len(seatings) / players)
    assert (results.status != FORFEITED).all()


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
def test_copies_with_random_numbers_of_their_own_come_out_equal_within_the_interval(players: int) -> None:
    result = evaluate(
        Silent(), [Silent()], players, SHORT.replace(max_turns=20), deals=60, confidence=0.9999
    )[0]
    assert result.interval[0] <= 1 / players <= result.interval[1]


def test_two_copies_in_one_game_do_not_share_random_numbers() -> None:
    batch = GameBatch(num_games=50, num_players=2, seed=1)
    first = batch.view().random
    batch.step(batch.legal_actions[:, 0])
    assert not np.isin(first, batch.view().random).any()


def test_the_same_arguments_give_the_same_result_whatever_is_played_beside() -> None:
    alone = evaluate("greedy:epsilon=0.2", ["melder"], 3, SHORT, deals=20, seed=9)[0]
    beside = evaluate("greedy:epsilon=0.2", ["greedy", "melder"], 3, SHORT, deals=20, seed=9)[1]
    assert (alone.shares == beside.shares).all()
    assert (alone.shares[:5] == evaluate("greedy:epsilon=0.2", ["melder"], 3, SHORT, 5, 9)[0].shares).all()
    other = evaluate("greedy:epsilon=0.2", ["melder"], 3, SHORT, deals=20, seed=10)[0]
    assert (alone.shares != other.shares).any()


def test_a_better_agent_is_above_par_with_its_interval() -> None:
    result = evaluate("greedy", ["melder"], 4, "short-5", deals=40)[0]
    assert result.interval[0] > result.par == 0.25
    assert result.interval[0] <= result.win_share <= result.interval[1]
    assert result.illegal_actions == 0
    assert result.shares.shape == (40, 4)


def test_games_agree_with_the_same_actions_played_one_by_one() -> None:
    seeds = deal_seeds(2, 0, 3)
    results = play_games(
        [load_agent("greedy"), load_agent("random")],
        seeds,
        [[0, 1, 0]] * 3,
        PlaySettings(SHORT, keep_actions=True),
    )
    assert results.actions is not None
    for row in range(3):
        game = Game(3, SHORT, int(seeds[row]))
        for action in results.actions[row]:
            game.play(action)
        assert game.over
        assert game.ranks == results.rank[row].tolist()
        assert game.scores == results.score[row].tolist()
        assert results.decisions[row].sum() == len(results.actions[row])


def test_truncated_games_count_par_for_everybody() -> None:
    results = play_games(
        [load_agent("random")],
        [1, 2],
        [[0, 0, 0, 0]] * 2,
        PlaySettings(get_ruleset("official").replace(max_rounds=1)),
    )
    assert (results.status == 2).all()
    assert (results.share == 0.25).all()


class Named(Silent):
    """Has a name of its own."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class Idle:
    """Draws and discards, and never lays down."""

    name = "idle"

    def act(self, view: DecisionView) -> np.ndarray:
        turn = np.where(view.action_masks[:, 0], 0, 111 + view.action_masks[:, 111:160].argmax(axis=1))
        return np.where(view.action_masks[:, 111:160].any(axis=1), turn, view.action_masks.argmax(axis=1))


@pytest.mark.parametrize(
    ("agent", "rules"),
    [(Idle(), {"max_turns": 30}), ("greedy", {}), ("greedy", {"advance": "pick"})],
    ids=["never lays down", "in order", "any phase"],
)
def test_progress_moves_steadily_however_weak_the_agents(
    agent: Any, rules: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matches, "SECONDS_BETWEEN_NEWS", -1.0)
    told = [0]
    player = load_agent(agent) if isinstance(agent, str) else agent
    settings = PlaySettings(get_ruleset("official").replace(**rules))
    play_games([player], list(range(40)), [[0, 0]] * 40, settings, told.append)
    steps = np.diff(told)
    assert told[-1] == 40
    assert (steps >= 0).all()
    assert told[len(told) // 2] >= 10
    assert steps.max() <= 4


def test_agents_say_what_they_read() -> None:
    class Blind(Silent):
        observation = None

    class Basic(Silent):
        observation = "basic"

    assert observation_level([Blind(), Blind()]) is None
    assert observation_level([Blind(), Basic()]) == "basic"
    assert observation_level([Blind(), Basic(), Silent()]) == "full"


# ---- faults


@pytest.mark.parametrize("kind", ["illegal", "outside", "crash", "float", "short", "nothing"])
@pytest.mark.parametrize("players", [2, 4])
def test_a_fault_loses_the_game_for_its_seat_and_nothing_else(kind: str, players: int) -> None:
    deals = 20
    faulty, greedy = Faulty(kind), load_agent("greedy")
    line_ups = np.tile(rotations((0, *[1] * (players - 1))), (deals, 1))
    seeds = np.repeat(deal_seeds(1, 0, deals), players)
    results = play_games([faulty, greedy], seeds, line_ups, PlaySettings(SHORT))
    sound = play_games([greedy, greedy], seeds, line_ups, PlaySettings(SHORT))
    lost = results.status == FORFEITED
    assert 0 < lost.sum() < len(lost)
    assert len(results.faults) == lost.sum()
    assert (results.rank[~lost] == sound.rank[~lost]).all()
    for fault in results.faults:
        assert fault.agent == 0
        assert line_ups[fault.game, fault.seat] == 0
        assert results.share[fault.game, fault.seat] == 0
        assert results.rank[fault.game, fault.seat] == players
        assert results.share[fault.game].sum() == pytest.approx(1)
        assert fault.kind == ("illegal" if kind in ("illegal", "outside") else "crash")
        position = Game.from_position(json.dumps(fault.position))
        assert position.to_act == fault.seat
    assert results.illegal.sum() == (lost.sum() if kind in ("illegal", "outside") else 0)


def test_the_report_of_an_illegal_action_names_action_and_reason() -> None:
    results = evaluate(Faulty("illegal"), ["greedy"], 2, SHORT, deals=20)[0]
    details = {fault.detail for fault in results.faults}
    assert results.illegal_actions == len(results.faults) > 0
    assert results.opponent_illegal_actions == 0
    assert any(detail.startswith("discard W: ") for detail in details)


def test_an_agent_that_stalls_is_stopped_and_not_asked_again_after_three_times() -> None:
    results = play_games(
        [Faulty("stall", every=23), load_agent("greedy")],
        deal_seeds(1, 0, 8),
        [[0, 1]] * 8,
        PlaySettings(SHORT, time_limit=0.05),
    )
    stalls = [fault for fault in results.faults if fault.kind == "stall"]
    assert len(stalls) >= 4
    assert [fault.kind for fault in results.faults] == ["stall"] * len(results.faults)
    assert sum("no action within 0.05 s" in fault.detail for fault in stalls) == 3
    assert sum("not asked again after 3 stalls" in fault.detail for fault in stalls) == len(stalls) - 3


def test_a_slow_call_for_many_decisions_is_no_stall() -> None:
    class Slow(Silent):
        largest = 0

        def act(self, view: DecisionView) -> np.ndarray:
            time.sleep(0.02 * len(view))
            self.largest = max(self.largest, len(view))
            return super().act(view)

    guard = GuardedAgent(Slow(), time_limit=0.2)
    _, problems = guard.act(GameBatch(num_games=32).view())
    assert not problems
    assert guard.decisions == 32
    assert guard.agent.largest < 32  # type: ignore[attr-defined]


def test_a_program_that_is_interrupted_is_not_blamed_on_the_agent() -> None:
    class Interrupting(Silent):
        def act(self, view: DecisionView) -> np.ndarray:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(Interrupting(), ["greedy"], deals=1)


# ---- rounds and luck


def tracked(deals: int = 60, players: int = 3, **changes: Any) -> Any:
    ruleset = get_ruleset("short-5").replace(**changes) if changes else get_ruleset("short-5")
    seatings = rotations((0, *[1] * (players - 1)))
    return play_games(
        [load_agent("greedy"), load_agent("melder")],
        np.repeat(deal_seeds(4, 0, deals), len(seatings)),
        np.tile(seatings, (deals, 1)),
        PlaySettings(ruleset, track_rounds=True),
    )


def test_luck_has_mean_zero_and_dealt_luck_is_the_same_for_every_seating_of_the_first_round() -> None:
    results = tracked()
    luck = results.luck.reshape(60, -1, 4)
    error = luck.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(60)
    assert (np.abs(luck.mean(axis=(0, 1))) < 4 * error).all()
    assert (luck.std(axis=(0, 1)) > 0.1).all()


def test_rounds_are_counted_once_for_every_seat() -> None:
    results = tracked(tie_break="share")
    stats: RoundStats = results.round_stats
    assert stats.tried.sum() == stats.rounds.sum() == results.rounds.sum() * 3
    assert (stats.laid <= stats.tried).all()
    assert stats.laid[0].sum() > stats.laid[1].sum() / 2
    assert stats.laid.sum() == results.phases.sum()
    assert stats.points.sum() == results.score.sum()
    assert stats.dealt_wilds.sum() == stats.dealt_skips.sum() > 0


def test_round_counts_add_up_and_survive_the_store() -> None:
    stats: RoundStats = tracked(deals=5).round_stats
    both = stats + RoundStats.from_bytes(stats.to_bytes(), 2, 3)
    assert (both.tried == 2 * stats.tried).all()
    assert (both.drawn == 2 * stats.drawn).all()


@settings(max_examples=5, deadline=None)
@given(
    st.integers(0, 2**32), st.sampled_from(["pile-skip", "pick-a-phase", "ten-rounds", "next-player-skip"])
)
def test_every_preset_can_be_tracked(seed: int, preset: str) -> None:
    results = play_games(
        [load_agent("greedy"), load_agent("melder")],
        deal_seeds(seed, 0, 4),
        [[0, 1]] * 4,
        PlaySettings(get_ruleset(preset), track_rounds=True),
    )
    assert np.isfinite(results.luck).all()
    assert results.round_stats.tried.sum() > 0


# ---- command line


def test_every_command_can_be_loaded() -> None:
    for name, entry in COMMANDS.items():
        function, options = load_command(name)
        assert callable(function)
        assert entry.example.split()[:2] == ["phase10", name]
        assert "Example: phase10 " + name in (options.__doc__ or "")


def test_json_gives_every_opponent(capsys: pytest.CaptureFixture[str]) -> None:
    words = "evaluate greedy --against random melder --deals 4 --rules short-5 --json"
    assert main(words.split()) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["opponent"] for row in found["opponents"]] == ["random", "melder"]
    for row in found["opponents"]:
        assert row["par"] == 0.5
        assert row["deals"] == 4
        assert row["illegal_actions"] == 0
        assert row["interval"][0] <= row["win_share"] <= row["interval"][1]


BROKEN = {
    "crash": "raise KeyError('phase')",
    "nothing": "return None",
    "for_six": "raise AgentError(\"agent 'for_six' plays at tables of six, found another\")",
    "illegal": "return [164] * len(view)",
    "now_and_then": "return view.legal_actions[:, 0].astype(int) if len(view) > 1 or view.random[0] % 50 else 1 / 0",
}


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        f"class {kind}:\n    name = {kind!r}\n    def act(self, view):\n        {body}"
        for kind, body in BROKEN.items()
    ]
    lines.insert(0, "from phase10_agents.base import AgentError")
    (tmp_path / "broken_agents.py").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    "text",
    [
        "evaluate broken_agents:crash --against melder greedy --deals 3 --rules short-5",
        "evaluate greedy --against melder broken_agents:nothing --deals 3 --rules short-5 --json",
        "compare greedy broken_agents:crash --max-deals 4 --rules short-5 --json",
    ],
)
def test_an_agent_that_never_answers_makes_a_failed_run(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(text.split()) == 1
    captured = capsys.readouterr()
    last = captured.err.splitlines()[-1]
    assert last.startswith(
        "error: 'crash' gave no action in" if "crash" in text else "error: 'nothing' gave no"
    )
    assert "so nothing was measured; mend the agent" in last
    if "--json" in text:
        json.loads(captured.out)  # what there is to tell is told all the same


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("agent", ["illegal", "now_and_then"])
def test_agents_that_answer_are_measured_whatever_they_lose_by(
    agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"evaluate broken_agents:{agent} --against melder --deals 6 --rules short-5 --json"
    assert main(words.split()) == 0
    captured = capsys.readouterr()
    (found,) = json.loads(captured.out)["opponents"]
    assert found["illegal_actions"] == (12 if agent == "illegal" else 0)
    assert "error" not in captured.err


def test_a_long_name_is_folded_in_the_table_and_not_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("long_named")
    name = "checkpoint:runs/" + "-".join(["policy"] * 12)
    module.Player = lambda: Named(name)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "long_named", module)
    assert (
        main(["evaluate", "melder", "--against", "long_named:Player", "--deals", "2", "--rules", "short-5"])
        == 0
    )
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    left = name
    for word in out.split():
        left = left.removeprefix(word)
    assert left == ""


def test_a_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    words = "evaluate greedy --against melder --deals 4 --rules short-5"
    assert main(words.split()) == 0
    out = capsys.readouterr().out
    assert "melder" in out
    assert "50.0" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("evaluate gredy --against random", "unknown agent 'gredy': the nearest is 'greedy'"),
        ("evaluate greedy --against random gredy", "unknown agent 'gredy': the nearest is 'greedy'"),
        ("evaluate greedy --against random broken_agents:for_six", "'for_six' plays at tables of six"),
        ("evaluate greedy --against", "--against expects at least one opponent, found none"),
        ("evaluate greedy --against random --rules nope", "nope"),
        ("evaluate greedy --against random --time-limit 0", "--time-limit expects a number above 0, found 0"),
        ("evaluate greedy --against random --players 9", "--players expects 2 to 6, found 9"),
        ("evalute greedy", "there is no command 'evalute'; the nearest is 'evaluate'; see phase10 --help."),
        ("chess", "there is no command 'chess'; expected one of 'train', 'evaluate',"),
        ("--json", "expected a command before '--json'"),
    ],
)
@pytest.mark.usefixtures("broken")
def test_bad_input_is_one_sentence_and_exit_code_2(
    text: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(text.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1


def test_help_and_version_need_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out and entry.example in out for name, entry in COMMANDS.items())
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("phase10 ")
    assert main([]) == 2
