"""README.md keeps its word: each Python block runs, each command exists, each file it shows is there."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from phase10_training.cli import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_each_python_block_runs_and_prints_what_its_comments_say(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = blocks("python")[number]
    exec(compile(source, f"README block {number}", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    for told in re.findall(r"print\(.*\)  # (.*)", source):
        assert told in printed


def test_the_own_agent_plays_without_an_illegal_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source,) = [block for block in blocks("python") if "class Cautious" in block]
    (tmp_path / "my_agent.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    arguments = ["evaluate", "my_agent:Cautious", "--against", "random", "--deals", "4", "--json"]
    assert main(arguments) == 0
    assert '"illegal_actions": 0' in capsys.readouterr().out
    sys.modules.pop("my_agent", None)


def test_each_command_it_names_exists() -> None:
    named = set(re.findall(r"\bphase10 ([a-z]+)", README))
    section = README.split("The commands")[1].split("**Rulesets")[0]
    named |= set(re.findall(r"`([a-z]+)`", section))
    assert named
    assert named <= set(COMMANDS)


def test_the_commands_of_the_box_and_of_the_checks_are_the_same() -> None:
    run, test = (block for block in blocks("sh") if block.startswith("python -m venv"))
    assert shlex.split(run)[-3:] == ["phase10", "train", "quickstart"]
    checks = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    install = re.search(r"pip install .*?(?= &&)", test)
    assert install is not None
    assert install.group().replace("pip install ", "pip install --quiet ") in checks
    assert checks.rstrip().splitlines()[-1] == test.strip().rsplit("&& ", 1)[1]


def test_each_file_it_shows_is_there() -> None:
    for path in re.findall(r"\]\(([^)#:]+)\)", README) + re.findall(r"\| `([\w/]+/)` \|", README):
        assert (ROOT / path).exists(), path
