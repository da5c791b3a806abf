"""`phase10 train`: a run survives kills and Ctrl-C, resumes to the same result, and refuses bad input in a sentence."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import torch

from phase10_agents.neural.checkpoint import latest_checkpoint, load_checkpoint, save_checkpoint
from phase10_env.equity import EquityModel, default_equity
from phase10_env.rules.ruleset import RuleSet
from phase10_training.cli import main
from phase10_training.metrics import read_metrics

FILLED_IN = ("format", "tensors_sha256", "libraries", "python")

TINY = """
seed = 1
total_decisions = 2048
[network]
actor = [16]
critic = [16]
precision = "fp32"
[rollout]
games = 8
steps = 16
workers = 2
[clone]
agent = "greedy"
decisions = 512
[optimizer]
epochs = 1
minibatch = 64
[loss]
anchor = 0.01
[pool]
share = 0.5
agents = ["random"]
snapshots = 2
snapshot_every = 384
[evaluation]
against = ["random"]
every = 512
deals = 2
final_deals = 2
[checkpoint]
every = 256
keep = 2
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.toml"
    file.write_text(TINY)
    return file


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run with all its checkpoints; tests work on a copy."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "tiny.toml").write_text(TINY)
    assert train(folder / "tiny.toml", folder / "run", "--json", "--set", "checkpoint.keep=99") == 0
    return folder / "run"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def train(config: Path, out: Path, *more: str) -> int:
    return main(["train", str(config), "--out", str(out), *more])


def comparable(out: Path) -> list[dict[str, Any]]:
    """Return the metrics without what a clock measured."""
    return [
        {
            key: value
            for key, value in line.items()
            if key != "seconds" and key not in ("time/fps", "time/time_elapsed")
        }
        for line in read_metrics(out)
    ]


def assert_same_run(one: Path, two: Path) -> None:
    first, second = load_checkpoint(one), load_checkpoint(two)
    assert first.tensors.keys() == second.tensors.keys()
    for name, tensor in first.tensors.items():
        other = second.tensors[name]
        same = (
            torch.equal(tensor, other) if isinstance(tensor, torch.Tensor) else bool((tensor == other).all())
        )
        assert same, name
    assert comparable(one) == comparable(two)
    results = [json.loads((out / "evaluation.json").read_text()) for out in (one, two)]
    for result in results:
        for each in result:
            del each["seconds_per_decision"], each["agent"]
    assert results[0] == results[1]


def test_a_training_runs_from_its_config_to_its_evaluation(config: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "run"
    assert train(config, out, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["decisions"] == 2048
    assert printed["evaluation"][0]["illegal_actions"] == 0
    lines = read_metrics(out)
    assert [line["step"] for line in lines] == list(range(128, 2049, 128))
    assert "train/clone_agreement" in lines[0]
    assert "train/approx_kl" in lines[-1]
    assert "train/anchor_kl" in lines[-1]
    assert "eval/win_share_random" in lines[3]
    assert latest_checkpoint(out).name == "step_000000002048"
    assert len(list((out / "checkpoints").glob("step_*"))) == 2
    assert (
        main(["evaluate", f"checkpoint:{out / 'best'}", "--against", "random", "--deals", "2", "--json"]) == 0
    )


def test_a_run_that_lost_its_last_decisions_twice_ends_as_one_that_did_not(finished: Path, run: Path) -> None:
    for keep in ("step_000000000512", "step_000000001280"):
        lose_checkpoints_after(run, keep)
        assert main(["train", "--resume", "--out", str(run), "--json"]) == 0
    assert_same_run(finished, run)


def lose_checkpoints_after(run: Path, name: str) -> None:
    folder = run / "checkpoints"
    for step in folder.glob("step_*"):
        if step.name > name:
            for file in step.iterdir():
                file.unlink()
            step.rmdir()
    (folder / "latest").write_text(name + "\n")


def test_a_finished_run_can_be_resumed_and_only_evaluates_again(finished: Path, run: Path) -> None:
    assert main(["train", "--resume", "--out", str(run), "--json"]) == 0
    assert_same_run(finished, run)


def test_a_run_can_begin_with_the_policy_of_another(config: Path, run: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    more = ("network.actor=[32]", "total_decisions=128")
    sets = [word for each in more for word in ("--set", each)]
    assert train(config, begun, "--json", "--start-from", str(run), *sets) == 0
    settings = json.loads((begun / "settings.json").read_text())
    assert settings["network"]["actor"] == [16]
    assert settings["clone"]["decisions"] == 0  # what it has learned is not overwritten by a teacher
    first = load_checkpoint(begun / "checkpoints" / "step_000000000000").weights("policy")
    for name, tensor in load_checkpoint(run).weights("policy").items():
        assert torch.equal(tensor, first[name])
    assert main(["evaluate", f"checkpoint:{begun}", "--against", "random", "--deals", "2", "--json"]) == 0


def test_a_critic_may_see_more_or_less_than_the_one_it_begins_with(
    config: Path, run: Path, tmp_path: Path
) -> None:
    more = ("clone.decisions=0", 'clone.agent=""', "total_decisions=128", "rollout.oracle_critic=true")
    sets = [word for each in more for word in ("--set", each)]
    seeing, blind = tmp_path / "seeing", tmp_path / "blind"
    assert train(config, seeing, "--json", "--start-from", str(run), *sets) == 0
    assert train(config, blind, "--json", "--start-from", str(seeing), *sets[:-2]) == 0

    former, latter = load_checkpoint(run).weights("policy"), load_checkpoint(seeing).weights("policy")
    first = load_checkpoint(seeing / "checkpoints" / "step_000000000000").weights("policy")
    assert not first.pop("privileged_weight").any()  # the values begin as the former ones
    assert latter.pop("privileged_weight").any()
    last = load_checkpoint(blind / "checkpoints" / "step_000000000000").weights("policy")
    assert first.keys() == former.keys() == last.keys()
    assert all(torch.equal(former[name], first[name]) for name in former)
    assert all(torch.equal(latter[name], last[name]) for name in former)


# ---- bad input ---------------------------------------------------------------------------------------------


def refusal(capsys: Any, code: int) -> str:
    captured = capsys.readouterr()
    assert code == 2
    assert captured.err.startswith("error: ") or "\nerror: " in captured.err
    assert "Traceback" not in captured.err
    sentence = [line for line in captured.err.splitlines() if line.startswith("error: ")]
    assert len(sentence) == 1
    return sentence[0]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--set", "optimizer.lr=1"], "optimizer.learning_rate"),
        (["--set", "clone.agent=nobody"], "nobody"),
        (["--set", 'pool.agents=["nobody"]'], "nobody"),
        (["--set", 'evaluation.against=["nobody"]'], "nobody"),
        (["--set", "environment.ruleset=oficial"], "oficial"),
        (["--set", "environment.num_players=7"], "num_players"),
        (["--set", "environment.equity=missing.json"], "missing.json"),
        (["--set", "network.actor=[15]"], "15"),
        (["--start-from", "nowhere"], "nowhere"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_bad_settings_are_one_sentence_and_nothing_is_written(
    config: Path, tmp_path: Path, capsys: Any, more: list[str], words: str
) -> None:
    out = tmp_path / "run"
    assert words in refusal(capsys, train(config, out, *more))
    assert not out.exists()


def test_an_unknown_config_names_the_nearest(tmp_path: Path, capsys: Any) -> None:
    assert "quickstart" in refusal(capsys, train(Path("quikstart"), tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_a_run_is_not_overwritten(config: Path, run: Path, capsys: Any) -> None:
    before = (run / "metrics.jsonl").read_bytes()
    assert "--resume" in refusal(capsys, train(config, run))
    assert (run / "metrics.jsonl").read_bytes() == before


def test_resume_without_a_run_says_so(tmp_path: Path, capsys: Any) -> None:
    assert "holds no run" in refusal(capsys, main(["train", "--resume", "--out", str(tmp_path / "none")]))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("damage", ["cut", "altered", "missing"])
def test_a_damaged_checkpoint_is_refused_and_left_alone(run: Path, capsys: Any, damage: str) -> None:
    file = latest_checkpoint(run) / "tensors.safetensors"
    data = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(data[:-7] if damage == "cut" else data[:-1] + bytes([data[-1] ^ 1]))
    metrics = (run / "metrics.jsonl").read_bytes()
    assert "damaged" in refusal(capsys, main(["train", "--resume", "--out", str(run)]))
    assert (run / "metrics.jsonl").read_bytes() == metrics


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--set", "environment.ruleset=short-5"], "environment.ruleset cannot change"),
        (["--set", "network.actor=[32]"], "network.actor cannot change"),
        (["--seed", "2"], "seed cannot change"),
    ],
)
def test_what_makes_it_another_run_cannot_change_on_resume(
    run: Path, capsys: Any, change: list[str], words: str
) -> None:
    assert words in refusal(capsys, main(["train", "--resume", "--out", str(run), *change]))


@pytest.mark.parametrize("total", [1, 2047])
def test_a_run_cannot_go_on_to_less_than_it_has_done(run: Path, capsys: Any, total: int) -> None:
    before = (run / "settings.json").read_bytes()
    more = ("--resume", "--out", str(run), "--set", f"total_decisions={total}")
    words = (
        f"total_decisions expects at least 2048, what the run in {str(run)!r} has done, found {total}; name"
    )
    assert words in refusal(capsys, main(["train", *more]))
    assert (run / "settings.json").read_bytes() == before


def test_a_run_that_went_a_little_beyond_its_total_is_still_resumed(run: Path, capsys: Any) -> None:
    settings = json.loads((run / "settings.json").read_text()) | {"total_decisions": 2040}
    (run / "settings.json").write_text(json.dumps(settings))
    assert main(["train", "--resume", "--out", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["decisions"] == 2048


def test_a_checkpoint_of_other_rules_is_refused(run: Path, capsys: Any) -> None:
    settings = json.loads((run / "settings.json").read_text())
    settings["environment"]["ruleset"] = "short-5"
    (run / "settings.json").write_text(json.dumps(settings))
    assert "ruleset_digest" in refusal(capsys, main(["train", "--resume", "--out", str(run)]))


def test_a_run_keeps_the_shipped_equity_model_that_it_began_with(run: Path) -> None:
    table = EquityModel.from_file(
        resources.files("phase10_env") / "data" / "equity" / "official-2-table.json"
    )
    assert table.hash != default_equity(RuleSet(), 2).hash
    checkpoint = load_checkpoint(run)
    manifest = {key: checkpoint.manifest[key] for key in checkpoint.manifest if key not in FILLED_IN}
    save_checkpoint(checkpoint.path, checkpoint.tensors, manifest | {"equity_hash": table.hash})
    assert main(["train", "--resume", "--out", str(run), "--json"]) == 0
    assert load_checkpoint(run).manifest["equity_hash"] == table.hash


# ---- kills -------------------------------------------------------------------------------------------------


def start(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    code = "import sys; from phase10_training.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_lines(process: subprocess.Popen[str], out: Path, lines: int) -> None:
    file = out / "metrics.jsonl"
    while process.poll() is None:
        if file.exists() and file.read_bytes().count(b"\n") >= lines:
            return
        time.sleep(0.002)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_kill_9_at_random_moments_changes_nothing(
    config: Path, finished: Path, tmp_path: Path, seed: int
) -> None:
    killed = tmp_path / "killed"
    moments = random.Random(seed)
    arguments = ["train", str(config), "--out", str(killed), "--json"]
    for number in range(4):
        process = start(*arguments)
        wait_for_lines(process, killed, number * 4)
        time.sleep(moments.random() * 0.2)
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
        if (killed / "metrics.jsonl").exists():
            arguments = ["train", "--resume", "--out", str(killed), "--json"]
    process = start(*arguments)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert_same_run(finished, killed)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_with_130_a_checkpoint_and_a_hint(
    config: Path, tmp_path: Path, number: int
) -> None:
    straight, out = tmp_path / "straight", tmp_path / "run"
    more = ["--set", "total_decisions=20480", "--set", "evaluation.every=0"]
    assert train(config, straight, "--json", *more) == 0
    process = start("train", str(config), "--out", str(out), *more)
    wait_for_lines(process, out, 5)
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert f"phase10 train --resume --out {out}" in errors
    assert "Traceback" not in errors
    assert load_checkpoint(out).manifest["counters"]["decisions"] < 20480
    assert main(["train", "--resume", "--out", str(out), "--json"]) == 0
    assert_same_run(straight, out)
