"""Exports a policy: an ONNX model with the action mask as an input, in a folder laid out as Hugging Face expects.

The folder is a checkpoint as well (`checkpoint:FOLDER` plays it) and holds a model card; nothing is uploaded.
Shapes: n observations uint8[n, D], masks bool[n, 165].
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from torch import nn
from torch.nn import functional

from phase10_agents.neural.agent import policy_of
from phase10_agents.neural.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from phase10_agents.neural.networks import PolicyValueNet
from phase10_training.cli_support import JsonOption
from phase10_training.errors import UsageError

__all__ = ["ExportOptions", "OnnxPolicy", "export_command", "export_policy", "model_card"]

ONNX_FILE = "model.onnx"
CARD_FILE = "README.md"
CONFIG_FILE = "config.json"
_LEAST = -1e9
"""Logit of an illegal action; below every logit, and finite, so that a softmax of it stays a number."""


class OnnxPolicy(nn.Module):
    """Compute a policy in plain float32 products: what is exported.

    Inputs: observations uint8[n, D], action_masks bool[n, 165]. Outputs: logits float32[n, 165] with -1e9 for
    illegal actions, the likeliest legal action int64[n], the value float32[n].
    """

    def __init__(self, net: PolicyValueNet) -> None:
        super().__init__()
        with torch.no_grad():
            self.register_buffer("weight", (net.input_weight * net.scale[:, None]).clone())
            self.register_buffer("bias", net.input_bias.detach().clone())
        self.widths = [net.settings.actor[0], net.settings.critic[0]]
        self.actor, self.critic = _chain(net.actor), _chain(net.critic)

    def forward(
        self, observations: torch.Tensor, action_masks: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return masked logits, actions and values."""
        hidden = functional.linear(observations.float(), self.weight.T, self.bias)  # type: ignore[arg-type, operator]
        actor, critic = torch.split(hidden, self.widths, dim=1)
        logits = torch.where(action_masks, self.actor(functional.relu(actor)), _LEAST)
        values = self.critic(functional.relu(critic)).squeeze(1)
        return logits, logits.argmax(dim=1), values


def _chain(trunk: nn.ModuleList) -> nn.Sequential:
    layers: list[nn.Module] = []
    for layer in trunk:
        if isinstance(layer, nn.Linear):
            copied = nn.Linear(layer.in_features, layer.out_features)
            copied.load_state_dict(layer.state_dict())
            layers += [copied, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def export_policy(source: Path, out: Path, name: str) -> Path:
    """Write the folder of an exported policy; it appears whole or not at all.

    Args:
        source: a checkpoint or a run.
        out: the folder; it must not exist.
        name: of the model, for its card.

    Raises:
        CheckpointError: no checkpoint there, or a damaged one.
        UsageError: the folder exists, or the packages of the extra `export` are missing.
    """
    if out.exists():
        raise UsageError(f"{str(out)!r} exists; choose another --out.")
    checkpoint = load_checkpoint(source)
    net = policy_of(checkpoint)
    _check_packages()
    partial = out.with_name(f".{out.name}.partial-export")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        policy = {f"policy.{key}": value for key, value in checkpoint.weights("policy").items()}
        manifest = {key: checkpoint.manifest[key] for key in _KEPT if key in checkpoint.manifest}
        save_checkpoint(partial, policy, manifest)
        _write_onnx(net, partial / ONNX_FILE)
        config = _config(checkpoint, net)
        (partial / CONFIG_FILE).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        card = model_card(name, checkpoint.manifest, _results(source))
        (partial / CARD_FILE).write_text(card, encoding="utf-8")
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return out


_KEPT = ("ruleset_digest", "layout_digest", "equity_hash", "config", "counters", "precision")


def _check_packages() -> None:
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as missing:
        raise UsageError(
            f"the export needs {missing.name!r}; install it with pip install 'phase10-env[export]'."
        ) from None


def _write_onnx(net: PolicyValueNet, path: Path) -> None:
    width = len(net.scale)
    example = (torch.zeros(2, width, dtype=torch.uint8), torch.ones(2, 165, dtype=torch.bool))
    batch = torch.export.Dim("batch")
    program = torch.onnx.export(
        OnnxPolicy(net).eval(),
        example,
        dynamo=True,
        input_names=["observations", "action_masks"],
        output_names=["logits", "actions", "values"],
        dynamic_shapes={"observations": {0: batch}, "action_masks": {0: batch}},
        verbose=False,
    )
    assert program is not None
    program.save(str(path), external_data=False)


def _config(checkpoint: Checkpoint, net: PolicyValueNet) -> dict[str, Any]:
    environment = checkpoint.manifest["config"]["environment"]
    return {
        "model_type": "phase10-policy",
        "num_players": environment["num_players"],
        "ruleset": environment.get("ruleset", "official"),
        "actions": environment.get("actions", "compact"),
        "observation_size": len(net.scale),
        "layout_digest": checkpoint.manifest["layout_digest"],
        "ruleset_digest": checkpoint.manifest["ruleset_digest"],
        "inputs": {"observations": "uint8[n, D]", "action_masks": "bool[n, 165]"},
        "outputs": {"logits": "float32[n, 165]", "actions": "int64[n]", "values": "float32[n]"},
    }


def _results(source: Path) -> list[dict[str, Any]]:
    """Return the final evaluation of a run, if there is one."""
    file = source / "evaluation.json"
    if not file.is_file():
        return []
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return [dict(each) for each in found]
    except (OSError, TypeError, ValueError) as problem:
        raise UsageError(f"{str(file)!r} is not an evaluation ({problem}); remove it.") from None


def model_card(name: str, manifest: dict[str, Any], results: list[dict[str, Any]]) -> str:
    """Return the text of a model card: YAML with a `model-index`, then what the model is and how to use it."""
    environment = manifest["config"]["environment"]
    players, rules = environment["num_players"], environment.get("ruleset", "official")
    decisions = int(manifest["counters"].get("decisions", 0))
    hours = float(manifest["counters"].get("seconds", 0.0)) / 3600
    lines = ["---", "license: mit", "library_name: phase10-env", "pipeline_tag: reinforcement-learning"]
    lines += ["tags:", "- reinforcement-learning", "- phase-10", "- onnx"]
    if results:
        lines += ["model-index:", f"- name: {json.dumps(name)}", "  results:"]
    for result in results:
        low, high = result["interval"]
        title = f"win share against {result['opponent']}, 95 % interval {low:.3f} to {high:.3f}, par {result['par']:.3f}"
        lines += [
            "  - task:",
            "      type: reinforcement-learning",
            "      name: Phase 10",
            "    dataset:",
            f"      type: phase10-{rules}-{players}p",
            f"      name: {json.dumps(f'Phase 10, rules {rules}, {players} players')}",
            "    metrics:",
            "    - type: win_share",
            f"      value: {result['win_share']:.4f}",
            f"      name: {json.dumps(title)}",
            "      verified: false",
        ]
    lines += ["---", "", f"# {name}", ""]
    lines += [f"A policy for the card game Phase 10: {players} players, rules `{rules}`.", ""]
    lines += [f"Trained for {decisions:,} decisions ({hours:.1f} hours of one machine) by self-play.", ""]
    if results:
        lines += ["| against | win share | 95 % interval | par | deals |", "|---|---|---|---|---|"]
        for result in results:
            low, high = result["interval"]
            lines.append(
                f"| {result['opponent']} | {100 * result['win_share']:.1f} % | {100 * low:.1f} to {100 * high:.1f} % "
                f"| {100 * result['par']:.1f} % | {result['deals']} |"
            )
        lines.append("")
    lines += (
        ["Whole games on paired deals from every seat, the likeliest action each time.", ""]
        if results
        else []
    )
    lines += ["```python", "import onnxruntime", "from phase10_env import GameBatch", ""]
    mode = environment.get("actions", "compact")
    lines += [f'games = GameBatch(num_games=8, num_players={players}, ruleset="{rules}", actions="{mode}")']
    lines += [f'model = onnxruntime.InferenceSession("{ONNX_FILE}")']
    lines += ['inputs = {"observations": games.observations, "action_masks": games.action_masks}']
    lines += ["logits, actions, values = model.run(None, inputs)", "games.step(actions)", "```", ""]
    return "\n".join(lines)


# ---- command -----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class ExportOptions:
    """Write a policy as ONNX (the action mask is an input), with a model card, in a folder of its own.

    Needs the extra `export`. Nothing is uploaded.

    Example: phase10 export runs/quickstart --out exported
    """

    json: JsonOption
    source: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """A run or a checkpoint."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The folder to write."""
    name: Annotated[str, tyro.conf.arg(metavar="NAME")] = ""
    """Name of the model; that of the folder if empty."""


def export_command(options: ExportOptions) -> None:
    """Run `phase10 export`."""
    folder = export_policy(options.source, options.out, options.name or options.out.name)
    if options.json.json:
        sys.stdout.write(json.dumps({"folder": str(folder)}) + "\n")
    else:
        sys.stdout.write(
            f"{folder}: {ONNX_FILE}, {CONFIG_FILE}, {CARD_FILE}; play it as checkpoint:{folder}\n"
        )
