"""The command line: shared options, exit codes, and errors of one sentence."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import tyro

from phase10_env.positions import PositionError
from phase10_training.cli_support import (
    DealOptions,
    DeviceOptions,
    GameOptions,
    GameOverrides,
    Interrupted,
    JsonOption,
    OutputOptions,
    SetOptions,
    parse_arguments,
    run_command,
)
from phase10_training.config import ConfigError
from phase10_training.errors import UsageError


@dataclass(frozen=True)
class Train:
    """Train an agent.

    Example: phase10 train quickstart --set optimizer.epochs=2
    """

    config: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CONFIG")]
    """Name of a configuration,
    or the path of one."""
    settings: SetOptions
    game: GameOverrides
    output: OutputOptions
    device: DeviceOptions


@dataclass(frozen=True)
class Evaluate:
    """Evaluate an agent."""

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """Who is evaluated (required)."""
    depth: Annotated[int, tyro.conf.Positional, tyro.conf.arg(metavar="DEPTH")]
    game: GameOptions
    deals: DealOptions
    json: JsonOption


COMMANDS = (
    Annotated[Train, tyro.conf.subcommand("train")] | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
)


def parse(text: str) -> Any:
    return parse_arguments(COMMANDS, text.split())


def test_shared_options_are_written_without_a_prefix() -> None:
    found = parse("evaluate greedy 2 --players 4 --rules official --seed 7 --deals 50 --json")
    assert found == Evaluate("greedy", 2, GameOptions(4, "official", 7), DealOptions(50), JsonOption(True))
    found = parse("train quick --set a.b=1 --set c=x --out runs/x --resume --device cpu --seed 3")
    assert found.settings.overrides == ("a.b=1", "c=x")
    assert found.output == OutputOptions(Path("runs/x"), resume=True)
    assert found.game == GameOverrides(seed=3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "expected one of {train, evaluate}; see phase10 --help."),
        ("trian x", "unrecognized options: trian, x; the nearest is 'train'; see phase10"),
        ("train", "missing from phase10 train: CONFIG; see phase10 train --help."),
        ("evaluate", "missing from phase10 evaluate: AGENT, DEPTH; see phase10 evaluate --help."),
        ("evaluate x deep", "DEPTH expects a number, found 'deep'; see phase10 --help."),
        ("train x --devise cpu", "unrecognized options: --devise, cpu; did you mean --device? see phase10"),
        ("train x --players many", "--players expects a number, found 'many'; see phase10 --help."),
        ("train x --device tpu", "invalid choice 'tpu' for argument '--device'. Expected one of"),
        ("train x --players 7", "--players expects 2 to 6, found 7; see phase10 --help."),
        ("evaluate x 1 --seed -1", "--seed expects a whole number from 0 to 2^63 - 1, found -1;"),
        ("evaluate x 1 --deals 0", "--deals expects at least 1, found 0;"),
        (f"train x --out {__file__}", "--out expects a folder, found the file"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert str(caught.value).startswith(sentence)
    assert not set("\n│╭─") & set(str(caught.value))


@pytest.mark.parametrize("columns", ["30", "200"])
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_what_is_missing_is_named_whatever_the_terminal(columns: str, encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "phase10_training.cli", "perft"],
        env={**os.environ, "COLUMNS": columns, "PYTHONIOENCODING": encoding},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    words = "error: missing from phase10 perft: POSITION.json, DEPTH; see phase10 perft --help.\n"
    assert done.stderr == words


def test_help_is_printed_and_leaves_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        parse("train --help")
    assert leaving.value.code == 0
    out = capsys.readouterr().out
    assert "Example: phase10 train quickstart" in out
    for option in ("--set SECTION.KEY=VALUE", "--players P", "--out DIR", "--resume", "--device {cpu,cuda}"):
        assert option in out
    assert "--no-resume" not in out


def outcome(
    problem: BaseException | None, capsys: pytest.CaptureFixture[str], **options: Any
) -> tuple[int, str]:
    def command() -> int:
        if problem is not None:
            raise problem
        return 0

    code = run_command(command, **options)
    captured = capsys.readouterr()
    assert captured.out == ""
    return code, captured.err


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (None, (0, "")),
        (UsageError("expected a, found b; use a."), (2, "error: expected a, found b; use a.\n")),
        (ConfigError("unknown\nkey"), (2, "error: unknown key\n")),
        (ValueError("players"), (2, "error: players\n")),
        (PositionError("a is 1: expected 2", "b is 3"), (2, "error: a is 1: expected 2; b is 3\n")),
        (FileNotFoundError(2, "No such file or directory", "x.json"),
         (2, "error: 'x.json' cannot be used: No such file or directory; check the path.\n")),
        (OSError(28, "No space left on device"),
         (1, "error: the system refused: No space left on device.\n")),
        (MemoryError(), (1, "error: out of memory; use fewer games or a smaller batch.\n")),
        (KeyboardInterrupt(), (130, "interrupted.\n")),
        (Interrupted("go on with --resume."), (130, "interrupted; go on with --resume.\n")),
    ],
)  # fmt: skip
def test_each_problem_has_its_exit_code_and_one_line(
    problem: BaseException | None, expected: tuple[int, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(problem, capsys) == expected


def test_ctrl_c_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    hint = "go on with --resume."
    assert outcome(KeyboardInterrupt(), capsys, resume_hint=hint) == (130, f"interrupted; {hint}\n")


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        run_command(lambda: 1 // 0)


def test_debugging_shows_the_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHASE10_DEBUG", "1")
    code, text = outcome(ValueError("players"), capsys)
    assert code == 2
    assert "Traceback" in text
    assert text.endswith("error: players\n")


def test_a_reader_that_goes_away_gets_no_traceback() -> None:
    program = (
        "import sys; from phase10_training.cli_support import run_command\n"
        "sys.exit(run_command(lambda: [print('x' * 100, flush=True) for _ in range(10000)] and None))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 1


@pytest.mark.parametrize(("given", "found"), [(None, "1"), ("2", "2")])
def test_a_command_computes_in_one_thread_unless_told_otherwise(given: str | None, found: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    if given is not None:
        environment["OMP_NUM_THREADS"] = given
    script = "import sys, phase10_training.cli as c; c.main(['rules']); import torch; print(torch.get_num_threads())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[-1] == found
