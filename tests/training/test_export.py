"""Exported policies: the ONNX model computes what the network computes, the folder is a checkpoint with a card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training.tiny import tiny_settings

from phase10_agents.neural.agent import load_checkpoint_agent
from phase10_agents.neural.checkpoint import load_checkpoint
from phase10_env import GameBatch
from phase10_training.cli import main
from phase10_training.export import export_policy, onnx_bytes
from phase10_training.ppo import make_network
from phase10_training.train import TrainingRun

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize(
    ("players", "level", "discards"),
    [(2, "full", 0), (4, "full", 0), (2, "candidates", 0), (2, "candidates", 8), (4, "full", 8)],
)
def test_the_onnx_model_gives_the_logits_values_and_choices_of_the_network(
    players: int, level: str, discards: int
) -> None:
    shortcut = ["take_gain", "discard_loss"] if level == "candidates" else []
    settings = tiny_settings(
        environment={"num_players": players, "observation": level},
        network={"actor": [24, 16], "critic": [8], "shortcut": shortcut, "discards": discards},
    )
    net = make_network(settings)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    session = onnxruntime.InferenceSession(onnx_bytes(net))
    batch = GameBatch(16, players, seed=3, actions="compact", observation=level)
    batch.play_random(30)
    logits, actions, values = session.run(
        None, {"observations": batch.observations, "action_masks": batch.action_masks}
    )
    with torch.no_grad():
        expected, worth = net(torch.from_numpy(batch.observations))
    masked = np.where(batch.action_masks, expected.numpy(), -1e9)
    np.testing.assert_allclose(logits, masked, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values, worth.numpy(), rtol=1e-4, atol=1e-4)
    assert batch.action_masks[np.arange(16), actions].all()
    assert (actions == masked.argmax(axis=1)).all()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    training = TrainingRun(tiny_settings(), tmp_path / "run")
    training.metrics.close()
    result = {"opponent": "greedy", "win_share": 0.25, "interval": [0.2, 0.3], "par": 0.5, "deals": 100}
    (tmp_path / "run" / "evaluation.json").write_text(json.dumps([result]))
    return tmp_path / "run"


def test_the_folder_holds_model_config_and_card_and_plays_as_a_checkpoint(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "exported"
    assert main(["export", str(run), "--out", str(out), "--name", "demo"]) == 0
    card = (out / "README.md").read_text()
    assert card.startswith("---\nlicense: mit\n")
    assert '- name: "demo"' in card
    assert "value: 0.2500" in card
    assert "| greedy | 25.0 % |" in card
    config = json.loads((out / "config.json").read_text())
    assert (config["num_players"], config["ruleset"]) == (2, "official")
    agent = load_checkpoint_agent(str(out))
    batch = GameBatch(8, 2, seed=1, actions="compact")
    session = onnxruntime.InferenceSession(out / "model.onnx")
    _, actions, _ = session.run(
        None, {"observations": batch.observations, "action_masks": batch.action_masks}
    )
    assert (agent.act(batch.view()) == actions).all()


def test_weights_alone_in_half_the_size_play_nearly_the_same(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "small"
    assert main(["export", str(run), "--out", str(out), "--half", "--no-onnx"]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md", "config.json", "manifest.json", "tensors.safetensors",
    ]  # fmt: skip
    assert "onnx" not in (out / "README.md").read_text()
    whole, half = load_checkpoint_agent(str(run)), load_checkpoint_agent(str(out))
    view = GameBatch(64, 2, seed=1, actions="compact").view()
    np.testing.assert_allclose(half.logits(view), whole.logits(view), atol=0.02)
    weights = load_checkpoint(out).weights("policy")
    assert {str(weight.dtype) for weight in weights.values()} == {"torch.bfloat16"}


def test_where_a_training_began_is_told_without_its_path(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    TrainingRun(tiny_settings(), begun).metrics.close()
    TrainingRun(tiny_settings(start_from=str(begun)), tmp_path / "run").metrics.close()
    export_policy(tmp_path / "run", tmp_path / "out", "x", onnx=False)
    assert load_checkpoint(tmp_path / "out").manifest["config"]["start_from"] == "begun"
    assert str(tmp_path) not in (tmp_path / "out" / "manifest.json").read_text()


def test_an_existing_folder_and_a_missing_checkpoint_are_refused(
    run: Path, tmp_path: Path, capsys: Any
) -> None:
    assert main(["export", str(run), "--out", str(run)]) == 2
    assert main(["export", str(tmp_path / "none"), "--out", str(tmp_path / "x")]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2
    assert all(line.startswith("error: ") for line in errors)
    assert not (tmp_path / "x").exists()


def test_a_failed_export_leaves_nothing(run: Path, tmp_path: Path) -> None:
    (run / "evaluation.json").write_text("{")
    with pytest.raises(ValueError, match="is not an evaluation"):
        export_policy(run, tmp_path / "x", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
