"""Tournaments: formats, the store that survives a kill, faults that stop nobody, and records of every game."""

import importlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phase10_agents import catalog
from phase10_agents.base import AgentError
from phase10_env.records import replay
from phase10_training.blocks import BlockPlan, block_games
from phase10_training.cli import main
from phase10_training.config import config_names, load_config
from phase10_training.errors import UsageError
from phase10_training.game_records import write_records
from phase10_training.line_ups import rotations
from phase10_training.standings import Standings
from phase10_training.store import ResultStore, StoreError
from phase10_training.tournament import (
    TournamentConfig,
    check_config,
    play_here,
    play_in_processes,
    read_standings,
    run_tournament,
    total_games,
)

AGENTS = ("melder", "greedy:epsilon=0.3", "greedy")


def config(**changes: Any) -> TournamentConfig:
    fields: dict[str, Any] = {
        "agents": AGENTS,
        "rules": "short-5",
        "deals": 6,
        "resamples": 50,
        "block_games": 8,
    }
    return TournamentConfig(**{**fields, **changes})


def without_clock(standings: Standings) -> dict[str, Any]:
    found = standings.to_dict()
    for row in found["agents"]:
        del row["ms_per_decision"]
    return found


# ---- schedule


@pytest.mark.parametrize("block_games_wanted", [1, 4, 7, 100])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_blocks_cut_the_schedule_without_loss_or_repeat(block_games_wanted: int, players: int) -> None:
    pairings = (tuple(range(players)), (0, *[1] * (players - 1)))
    plan = BlockPlan(1, pairings, 5, 5, 7, "official", "full", None, block_games_wanted)
    blocks = [block_games(plan, block) for block in range(plan.blocks)]
    numbers = np.concatenate([block.number for block in blocks])
    assert len(numbers) == len(set(numbers.tolist())) == plan.games
    assert (np.diff(numbers) > 0).all()
    seeds = dict(
        zip(np.concatenate([b.deal for b in blocks]), np.concatenate([b.seeds for b in blocks]), strict=True)
    )
    assert len(set(seeds.values())) == 5
    assert set(seeds) == set(range(5, 10))
    for block in blocks:
        for which, deal in set(zip(block.line_up.tolist(), block.deal.tolist(), strict=True)):
            here = (block.line_up == which) & (block.deal == deal)
            assert [tuple(seats) for seats in block.seats[here].tolist()] == rotations(pairings[which])
            assert len(set(block.seeds[here].tolist())) == 1


# ---- formats


@pytest.mark.parametrize(
    ("changes", "games"),
    [
        ({}, 6 * 3 * 2),
        ({"players": 3}, 6 * 6),
        ({"format": "field", "players": 3, "deals": 2}, 2 * 6 * 3),
        ({"format": "gauntlet", "challengers": ("greedy",), "players": 4, "deals": 2}, 2 * 2 * 4),
        ({"format": "swiss", "rounds": 3, "deals": 2}, 3 * 2 * 2),
    ],
)
def test_every_format_plays_what_it_says(changes: dict[str, Any], games: int, tmp_path: Path) -> None:
    chosen = config(**changes)
    standings = run_tournament(chosen, tmp_path / "t")
    assert standings.games == games == total_games(chosen)
    assert {row.agent for row in standings.rows} == set(AGENTS)
    assert standings.rows[0].agent != "melder"
    assert standings.par == 1 / chosen.players
    assert read_standings(tmp_path / "t")[1].to_dict() == standings.to_dict()


def test_equal_agents_are_rated_equal(tmp_path: Path) -> None:
    chosen = config(agents=("greedy",) * 4, players=4, deals=8)
    standings = run_tournament(chosen, tmp_path / "t")
    assert [row.agent for row in standings.rows] == ["greedy", "greedy#2", "greedy#3", "greedy#4"]
    assert [row.win_share for row in standings.rows] == [pytest.approx(0.25)] * 4
    assert np.abs(standings.ratings.elo).max() < 1e-6  # type: ignore[union-attr]


def test_a_swiss_tournament_pairs_by_the_standings_and_gives_byes(tmp_path: Path) -> None:
    agents = ("greedy", "melder", "melder", "greedy", "random")
    run_tournament(config(agents=agents, format="swiss", rounds=3, deals=4, rules="short-5"), tmp_path / "t")
    store = ResultStore.open(tmp_path / "t")
    games = store.games()
    store.close()
    assert sorted(set(games.stage.tolist())) == [0, 1, 2]
    sat_out = [set(range(5)) - set(games.seats[games.stage == stage].ravel().tolist()) for stage in range(3)]
    assert [len(out) for out in sat_out] == [1, 1, 1]
    assert sat_out[0] == {4}
    assert len(set.union(*sat_out)) == 3
    met = [frozenset(seats.tolist()) for seats in games.seats]
    stages = [set(zip(met, [stage] * len(met), strict=True)) for stage in games.stage]
    assert stages
    assert frozenset({0, 3}) in set(met)
    assert len(np.unique(games.deal)) == 12


def test_the_field_gives_the_share_of_one_agent_among_copies(tmp_path: Path) -> None:
    standings = run_tournament(config(format="field", players=4, deals=6), tmp_path / "t")
    greedy, melder = standings.agents.index("greedy"), standings.agents.index("melder")
    assert standings.cross_par == 0.25
    assert standings.cross.mean[greedy, melder] > 0.5
    assert standings.cross.mean[melder, greedy] < 0.25
    assert standings.nash is not None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"agents": ("greedy",)}, "agents expects at least two, found"),
        ({"agents": ("greedy", "gredy")}, "unknown agent 'gredy'"),
        ({"players": 4}, "expects at least 4 agents, found 3"),
        ({"format": "gauntlet"}, "a gauntlet expects challengers and a pool"),
        ({"format": "gauntlet", "challengers": ("greedi",)}, "the nearest agent is 'greedy'"),
        ({"challengers": ("greedy",)}, "challengers only play in format = 'gauntlet'"),
        ({"format": "swiss", "players": 5}, "expects as many agents, found 3"),
        ({"rules": "oficial"}, "oficial"),
    ],
)
def test_settings_that_cannot_be_played_are_refused(
    changes: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=sentence):
        run_tournament(config(**changes), tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("name", config_names("tournaments"))
def test_shipped_configurations_can_be_played(name: str) -> None:
    chosen = load_config(TournamentConfig, name, folder="tournaments")
    check_config(chosen)
    assert total_games(chosen) > 0


# ---- store


def test_blocks_in_any_order_and_in_other_processes_give_the_same_table(tmp_path: Path) -> None:
    def backwards(plan: BlockPlan, blocks: Any, specs: Any) -> Any:
        return play_here(plan, list(blocks)[::-1], specs)

    plain = run_tournament(config(), tmp_path / "plain")
    turned = run_tournament(config(), tmp_path / "turned", play=backwards)
    assert without_clock(plain) == without_clock(turned)
    counts = []
    for name in ("plain", "turned"):
        store = ResultStore.open(tmp_path / name)
        counts.append(store.round_stats(3, 2).to_bytes())
        store.close()
    assert counts[0] == counts[1]
    spread = run_tournament(config(), tmp_path / "spread", play=play_in_processes(2))
    assert without_clock(plain) == without_clock(spread)


def test_a_tournament_stopped_after_any_block_goes_on_without_replaying(tmp_path: Path) -> None:
    plain = run_tournament(config(), tmp_path / "plain")

    class StopError(Exception):
        pass

    def some(count: int) -> Any:
        def play(plan: BlockPlan, blocks: Any, specs: Any) -> Any:
            played.extend(blocks[:count])
            yield from play_here(plan, blocks[:count], specs)
            raise StopError

        return play

    played: list[int] = []
    for count in (0, 1, 2):
        with pytest.raises(StopError):
            run_tournament(config(), tmp_path / "t", resume=True, play=some(count))
    resumed = run_tournament(
        config(), tmp_path / "t", resume=True, play=lambda p, b, s: _noted(p, b, s, played)
    )
    assert sorted(played) == sorted(set(played)) == list(range(5))
    assert without_clock(resumed) == without_clock(plain)


def _noted(plan: BlockPlan, blocks: Any, specs: Any, played: list[int]) -> Any:
    played.extend(blocks)
    return play_here(plan, blocks, specs)


KILLED = """
import sys, time
from pathlib import Path
from phase10_training.tournament import TournamentConfig, play_here, run_tournament
def slowly(plan, blocks, specs):
    for block, results in play_here(plan, blocks, specs):
        yield block, results
        print(block, flush=True)
config = TournamentConfig(agents={agents!r}, rules="short-5", deals=40, resamples=50, block_games=8)
run_tournament(config, Path({folder!r}), resume=True, play=slowly)
"""


def test_sigkill_at_any_moment_loses_nothing_and_counts_nothing_twice(tmp_path: Path) -> None:
    chosen = config(deals=40)
    plain = run_tournament(chosen, tmp_path / "plain")
    folder = tmp_path / "killed"
    for wait in (1, 5, 12):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED.format(agents=AGENTS, folder=str(folder))],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for _ in range(wait):
            process.stdout.readline()
        time.sleep(0.003 * wait)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        process.stdout.close()
        store = ResultStore.open(folder)
        games, blocks = store.games(), store.done(0)
        store.close()
        assert len(blocks) >= wait
        assert len(games.number) == len(set(games.number.tolist()))
        assert len(games.number) == 8 * len(blocks)
    resumed = run_tournament(chosen, folder, resume=True)
    assert without_clock(resumed) == without_clock(plain)
    assert resumed.games == 40 * 3 * 2


def test_results_of_other_settings_are_refused(tmp_path: Path) -> None:
    run_tournament(config(deals=1), tmp_path / "t")
    with pytest.raises(StoreError, match="already holds results; go on with --resume"):
        run_tournament(config(deals=1), tmp_path / "t")
    with pytest.raises(StoreError, match="was made with seed = 0, found 1"):
        run_tournament(config(deals=1, seed=1), tmp_path / "t", resume=True)


def test_damaged_and_missing_results_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="found none; name the folder of a tournament"):
        read_standings(tmp_path)
    run_tournament(config(deals=1), tmp_path / "t")
    file = tmp_path / "t" / "results.sqlite"
    file.write_bytes(b"nonsense" * 1000)
    with pytest.raises(StoreError, match="cannot be used as a file of results"):
        read_standings(tmp_path / "t")


def test_two_processes_cannot_write_the_same_results(tmp_path: Path) -> None:
    first = ResultStore(tmp_path, {"a": 1})
    with pytest.raises(StoreError, match="in use by another process"):
        ResultStore(tmp_path, {"a": 1}, resume=True)
    first.close()
    ResultStore(tmp_path, {"a": 1}, resume=True).close()


def test_a_block_is_stored_once_and_as_a_whole(tmp_path: Path) -> None:
    plan = BlockPlan(0, ((0, 1),), 4, 0, 7, "short-5", "full", None, 4)
    store = ResultStore(tmp_path, {})
    ((block, results),) = play_here(plan, [0], ("greedy", "melder"))
    store.add(0, block, block_games(plan, block), results)
    with pytest.raises(StoreError, match="already holds these games"):
        store.add(0, block, block_games(plan, block), results)
    with pytest.raises(StoreError, match="already holds these games"):
        store.add(0, 1, block_games(plan, 0), results)
    assert store.games_done() == 4
    assert store.done(0) == {0}
    store.close()


def test_results_can_be_read_with_plain_sql(tmp_path: Path) -> None:
    run_tournament(config(deals=2), tmp_path / "t")
    with sqlite3.connect(tmp_path / "t" / "results.sqlite") as database:
        (total,) = database.execute("SELECT sum(share) FROM seats").fetchone()
    database.close()
    assert total == pytest.approx(2 * 3 * 2)


# ---- faults


class Crashing:
    """Fails at one decision in fifty."""

    name = "crashing"

    def __init__(self) -> None:
        self.greedy = catalog.load_agent("greedy")

    def act(self, view: Any) -> np.ndarray:
        if (view.random % np.uint64(50) == 0).any():
            raise RuntimeError("lost the thread")
        return self.greedy.act(view)


def test_an_agent_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(catalog.AGENTS, "crashing", catalog.Entry(lambda parameters: Crashing()))
    chosen = config(agents=("crashing", "greedy", "melder"))
    standings = run_tournament(chosen, tmp_path / "t")
    rows = {row.agent: row for row in standings.rows}
    assert standings.games == total_games(chosen)
    assert rows["crashing"].crashes == standings.forfeited > 0
    assert rows["greedy"].crashes == rows["melder"].crashes == 0
    store = ResultStore.open(tmp_path / "t")
    faults = store.faults()
    store.close()
    assert len(faults) == standings.forfeited
    assert faults[0]["detail"] == "RuntimeError: lost the thread"
    assert faults[0]["position"]["to_act"] == faults[0]["seat"]
    assert write_records(tmp_path / "t", tmp_path / "records") == standings.games
    files = sorted((tmp_path / "records").iterdir())
    assert sum(1 for file in files for _ in replay(file)) == standings.games


class ForTwo:
    """Says that it plays at tables of two only."""

    name = "for-two"

    def act(self, view: Any) -> np.ndarray:
        if view.num_players != 2:
            raise AgentError(f"agent 'for-two' was made for 2 players, found {view.num_players}")
        return view.legal_actions[:, 0].astype(np.int64)


def test_an_agent_made_for_another_table_is_an_input_error_not_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(catalog.AGENTS, "for-two", catalog.Entry(lambda parameters: ForTwo()))
    assert main(f"tournament for-two greedy melder --players 3 --out {tmp_path / 't'}".split()) == 2
    assert main(["evaluate", "for-two", "--against", "greedy", "--players", "3"]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.count("error: agent 'for-two' was made for 2 players, found 3\n") == 2
    assert not (tmp_path / "t").exists()


# ---- records


def test_every_game_is_a_record_that_replays_to_the_same_result(tmp_path: Path) -> None:
    chosen = config(deals=3, rules="small-deck", players=3, actions="compact")
    run_tournament(chosen, tmp_path / "t")
    assert write_records(tmp_path / "t", tmp_path / "records") == 18
    store = ResultStore.open(tmp_path / "t")
    games = store.games()
    store.close()
    replayed = [game for file in sorted((tmp_path / "records").glob("*.p10")) for game in replay(file)]
    assert [game.game.ranks for game in replayed] == games.rank.tolist()
    assert [list(game.game.scores) for game in replayed] == games.score.tolist()
    assert [game.agents for game in replayed] == [tuple(AGENTS[a] for a in seats) for seats in games.seats]


# ---- command line


def test_the_command_plays_prints_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"tournament melder greedy --deals 3 --rules short-5 --no-report --out {tmp_path / 't'}"
    assert main([*words.split(), "--records", str(tmp_path / "records")]) == 0
    out = capsys.readouterr().out
    assert "greedy" in out
    assert max(map(len, out.splitlines())) <= 80 + len(str(tmp_path))
    assert main(words.split()) == 2
    assert "already holds results" in capsys.readouterr().err
    assert main([*words.split(), "--resume", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["agent"] for row in found["agents"]] == ["greedy", "melder"]
    assert found["settings"]["deals"] == 3
    assert len(found["cross_table"]["cells"]) == 2
    assert len(list((tmp_path / "records").iterdir())) == 3


def test_long_names_are_folded_in_the_tables_and_not_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = f"greedy:epsilon=0.{'0123456789' * 8}"
    words = f"tournament {spec} melder --deals 2 --rules short-5 --no-report --out {tmp_path / 't'}"
    assert main(words.split()) == 0
    out = capsys.readouterr().out
    tables = out[: out.index("4 games on")]
    assert "…" not in tables
    assert max(map(len, tables.splitlines())) <= 80
    left = spec * 2  # once in each table, in pieces from line to line
    for word in tables.split():
        left = left.removeprefix(word)
    assert left == ""


OWN_AGENT = """
from phase10_agents.catalog import load_agent

class Player:
    name = "own"

    def __init__(self):
        self.act = load_agent("melder").act
"""


def begun(folder: Path, count: int, **changes: Any) -> TournamentConfig:
    """Play the first blocks of a tournament, as if it had been killed then."""

    class StopError(Exception):
        pass

    def some(plan: BlockPlan, blocks: Any, specs: Any) -> Any:
        yield from play_here(plan, blocks[:count], specs)
        raise StopError

    chosen = config(**changes)
    with pytest.raises(StopError):
        run_tournament(chosen, folder, play=some)
    return chosen


def test_a_tournament_goes_on_from_its_folder_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "house.toml"
    rules.write_text('name = "house"\nphases = ["set 3", "run 4"]\n')
    (tmp_path / "own_player_a.py").write_text(OWN_AGENT)
    monkeypatch.syspath_prepend(tmp_path)
    changes = {
        "agents": ("own_player_a:Player", "greedy", "melder"),
        "format": "gauntlet",
        "challengers": ("greedy",),
        "rules": str(rules),
        "seed": 5,
    }
    plain = run_tournament(config(**changes), tmp_path / "plain")
    chosen = begun(tmp_path / "t", 1, **changes)
    rules.unlink()  # the folder holds the rules, too
    words = f"tournament --resume --no-report --json --out {tmp_path / 't'}".split()
    for _ in range(2):  # the second time there is nothing left to play
        assert main(words) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["games"] == total_games(chosen) == plain.games
        assert tuple(found["settings"]["agents"]) == chosen.agents
    assert without_clock(read_standings(tmp_path / "t")[1]) == without_clock(plain)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("--deals 9", "was made with deals = 6, found 9"),
        ("--set seed=3", "was made with seed = 0, found 3"),
        ("--rules official", "was made with rules = "),
    ],
)
def test_other_settings_than_those_of_the_folder_are_refused(
    more: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(tmp_path / "t", 1)
    assert main(f"tournament --resume --out {tmp_path / 't'} {more}".split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "no module has that name"),
        ("raise RuntimeError('no display')", "cannot be imported: RuntimeError: no display"),
        ("class Other: pass", "has no 'Player'"),
    ],
)
def test_an_agent_that_is_not_there_any_more_is_one_sentence(
    text: str | None,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = tmp_path / "own_player_b.py"
    module.write_text(OWN_AGENT)
    monkeypatch.syspath_prepend(tmp_path)
    begun(tmp_path / "t", 1, agents=("own_player_b:Player", "greedy"))
    monkeypatch.delitem(sys.modules, "own_player_b")
    module.unlink() if text is None else module.write_text(text + "  # another length\n")
    importlib.invalidate_caches()
    assert main(f"tournament --resume --out {tmp_path / 't'}".split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: agent 'own_player_b:Player' of the tournament in ")
    assert reason in error
    assert "go on in the folder where the tournament was begun" in error
    assert error.count("\n") == 1


def test_configurations_take_overrides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        f"tournament smoke --set deals=1 --set agents=['greedy','melder'] --no-report --json --out {tmp_path}"
    )
    assert main(words.split()) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tournament", "expected a configuration or at least two agents"),
        ("tournament smok", "the nearest configuration is 'smoke'"),
        ("tournament chess --out OUT", "found 'chess'; expected one of the configurations '"),
        ("tournament greedy gredy --out OUT", "unknown agent 'gredy'"),
        (
            "tournament smoke --set dels=3 --out OUT",
            "unknown key 'dels' in --set dels=3; the nearest valid key is 'deals'",
        ),
        ("tournament smoke --deals 0 --out OUT", "deals"),
        ("tournament smoke --workers 0 --out OUT", "--workers expects at least 1, found 0"),
        ("tournament smoke --resume", "--resume expects the folder to go on with"),
        ("tournament --resume", "--resume expects the folder to go on with"),
        ("tournament --resume --out OUT", "found none; name the folder of a tournament"),
        ("tournament no/such.toml", "does not exist"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(text.replace("OUT", str(tmp_path / "t")).split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "t").exists()


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    script = "import sys; from phase10_training.cli import main; sys.exit(main(sys.argv[1:]))"
    words = f"tournament random melder --deals 4000 --no-report --out {tmp_path / 't'}"
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words.split()], stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stderr is not None
    while "games/s" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 130
    assert f"go on with 'phase10 tournament --resume --out {tmp_path / 't'}'." in rest
    assert "Traceback" not in rest


def test_agents_that_play_too_few_games_are_not_rated(tmp_path: Path) -> None:
    chosen = config(agents=("greedy", "melder", "greedy", "melder"), format="swiss", rounds=1, deals=1)
    standings = run_tournament(chosen, tmp_path / "t")
    assert standings.ratings is None
    assert any(
        line.startswith("no ratings: expected agents linked by common games") for line in standings.warnings
    )
    assert issubclass(StoreError, UsageError)
