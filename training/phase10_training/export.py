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

import numpy as np
import numpy.typing as npt
import torch
import tyro
from torch import nn

from phase10_agents.neural.agent import policy_of
from phase10_agents.neural.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from phase10_agents.neural.discard_head import DiscardHead
from phase10_agents.neural.networks import PolicyValueNet
from phase10_env.rules.table import DISCARD, NUM_ACTIONS
from phase10_training.cli_support import JsonOption
from phase10_training.errors import UsageError
from phase10_training.files import check_folder

__all__ = ["ExportOptions", "export_command", "export_policy", "model_card", "onnx_bytes"]

ONNX_FILE = "model.onnx"
CARD_FILE = "README.md"
CONFIG_FILE = "config.json"
_LEAST = -1e9
"""Logit of an illegal action; below every logit, and finite, so that a softmax of it stays a number."""


def export_policy(source: Path, out: Path, name: str, onnx: bool = True, half: bool = False) -> Path:
    """Write the folder of an exported policy; it appears whole or not at all.

    Args:
        source: a checkpoint or a run.
        out: the folder; it must not exist.
        name: of the model, for its card.
        onnx: write the ONNX model, too; without it the extra `export` is not needed.
        half: write the weights as bfloat16, half the size; products are rounded to it on most machines anyway.

    Raises:
        CheckpointError: no checkpoint there, or a damaged one.
        UsageError: the folder exists or cannot be written, or the packages of the extra `export` are missing.
    """
    if out.exists():
        raise UsageError(f"{str(out)!r} exists; choose another --out.")
    check_folder("--out", out)
    checkpoint = load_checkpoint(source)
    net = policy_of(checkpoint)
    model = onnx_bytes(net) if onnx else b""
    partial = out.with_name(f".{out.name}.partial-export")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        policy = {
            f"policy.{key}": value.to(torch.bfloat16) if half else value
            for key, value in checkpoint.weights("policy").items()
        }
        manifest = {key: checkpoint.manifest[key] for key in _KEPT if key in checkpoint.manifest}
        # where it began lies on the machine it was trained on
        start = Path(str(manifest["config"].get("start_from", ""))).name
        manifest["config"] = {**manifest["config"], "start_from": start}
        save_checkpoint(partial, policy, manifest)
        if onnx:
            (partial / ONNX_FILE).write_bytes(model)
        config = _config(checkpoint, net)
        (partial / CONFIG_FILE).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        card = model_card(name, checkpoint.manifest, _results(source), onnx)
        (partial / CARD_FILE).write_text(card, encoding="utf-8")
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return out


_KEPT = ("ruleset_digest", "layout_digest", "equity_hash", "config", "counters", "precision")


def onnx_bytes(net: PolicyValueNet) -> bytes:
    """Return a policy as an ONNX model in plain float32 products.

    Inputs: observations uint8[n, D], action_masks bool[n, 165]. Outputs: logits float32[n, 165] with -1e9 for
    illegal actions, actions int64[n] (the likeliest legal ones), values float32[n]. Privileged state that a
    critic was trained with counts as zero.

    Raises:
        UsageError: the package onnx is missing.
    """
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError:
        raise UsageError(
            "the export needs onnx; install it with pip install 'phase10-env[export]'."
        ) from None
    constants: dict[str, npt.NDArray[Any]] = {
        "weight": (net.input_weight * net.scale[:, None]).numpy(force=True),
        "bias": net.input_bias.numpy(force=True),
        "least": np.array(_LEAST, np.float32),
        "split": np.array([net.settings.actor[0], net.settings.critic[0]], np.int64),
        "last": np.array([1], np.int64),
    }
    nodes = [
        helper.make_node("Cast", ["observations"], ["counts"], to=TensorProto.FLOAT),
        helper.make_node("Gemm", ["counts", "weight", "bias"], ["hidden"]),
        helper.make_node("Split", ["hidden", "split"], ["actor", "critic"], axis=1),
    ]
    for name, trunk in (("actor", net.actor), ("critic", net.critic)):
        place = name
        for number, layer in enumerate(layer for layer in trunk if isinstance(layer, nn.Linear)):
            weight, bias = f"{name}.{number}.weight", f"{name}.{number}.bias"
            constants[weight], constants[bias] = layer.weight.numpy(force=True), layer.bias.numpy(force=True)
            nodes.append(helper.make_node("Relu", [place], [f"{place}.positive"]))
            nodes.append(
                helper.make_node("Gemm", [f"{place}.positive", weight, bias], [f"{name}.{number}"], transB=1)
            )
            place = f"{name}.{number}"
        if name == "actor" and net.shortcut_weight is not None:
            constants["shortcut.columns"] = net.shortcut_columns.numpy(force=True)
            constants["shortcut.weight"] = net.shortcut_matrix().numpy(force=True)
            nodes += [
                helper.make_node("Gather", ["counts", "shortcut.columns"], ["told"], axis=1),
                helper.make_node("Gemm", ["told", "shortcut.weight", place], ["actor.told"]),
            ]
            place = "actor.told"
        if name == "actor" and net.discards is not None:
            found, steps = _discard_head(net.discards)
            constants |= found
            nodes += [helper.make_node(kind, *ends, **more) for kind, *ends, more in steps]
            nodes.append(helper.make_node("Add", [place, "discards"], ["actor.judged"]))
            place = "actor.judged"
        if name == "actor":
            nodes.append(helper.make_node("Where", ["action_masks", place, "least"], ["logits"]))
            nodes.append(helper.make_node("ArgMax", ["logits"], ["actions"], axis=1, keepdims=0))
        else:
            nodes.append(helper.make_node("Squeeze", [place, "last"], ["values"]))
    graph = helper.make_graph(
        nodes,
        "phase10-policy",
        [
            helper.make_tensor_value_info("observations", TensorProto.UINT8, ["n", len(net.scale)]),
            helper.make_tensor_value_info("action_masks", TensorProto.BOOL, ["n", NUM_ACTIONS]),
        ],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", NUM_ACTIONS]),
            helper.make_tensor_value_info("actions", TensorProto.INT64, ["n"]),
            helper.make_tensor_value_info("values", TensorProto.FLOAT, ["n"]),
        ],
        [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    data: bytes = model.SerializeToString()
    return data


def _discard_head(head: DiscardHead) -> tuple[dict[str, npt.NDArray[Any]], list[tuple[Any, ...]]]:
    """Return constants and nodes (kind, inputs, outputs, attributes) that make "discards" [n, 165] of "counts".

    The graph judges all 48 naturals, the network those in hand; the action mask leaves the same ones.
    """
    after = NUM_ACTIONS - DISCARD - len(head.columns)
    constants = {
        "head.state": head.state * head.scale[:, None],
        "head.bias": head.bias,
        "head.columns": head.columns,
        "head.factors": head.factors,
        "head.told": head.told,
        "head.kinds": head.kinds,
        "head.hidden": head.hidden.weight.t(),
        "head.hidden.bias": head.hidden.bias,
        "head.out": head.out[:, None],
        "head.direct": head.direct[:, None],
        "head.hand": torch.arange(head.hand, head.hand + len(head.columns)),
        "head.second": torch.tensor([1]),
        "head.third": torch.tensor([2]),
        "head.none": torch.tensor(0.0),
        "head.pads": torch.tensor([0, DISCARD, 0, after]),
    }
    steps: list[tuple[Any, ...]] = [
        ("Gemm", ["counts", "head.state", "head.bias"], ["head.seen"], {}),
        ("Unsqueeze", ["head.seen", "head.second"], ["head.seen.each"], {}),
        ("Gather", ["counts", "head.columns"], ["head.raw"], {"axis": 1}),
        ("Mul", ["head.raw", "head.factors"], ["head.views"], {}),
        ("MatMul", ["head.views", "head.told"], ["head.viewed"], {}),
        ("Sum", ["head.viewed", "head.kinds", "head.seen.each"], ["head.first"], {}),
        ("Relu", ["head.first"], ["head.first.positive"], {}),
        ("MatMul", ["head.first.positive", "head.hidden"], ["head.mixed"], {}),
        ("Add", ["head.mixed", "head.hidden.bias"], ["head.last"], {}),
        ("Relu", ["head.last"], ["head.last.positive"], {}),
        ("MatMul", ["head.last.positive", "head.out"], ["head.judged"], {}),
        ("MatMul", ["head.views", "head.direct"], ["head.straight"], {}),
        ("Add", ["head.judged", "head.straight"], ["head.column"], {}),
        ("Squeeze", ["head.column", "head.third"], ["head.worths"], {}),
        ("Gather", ["counts", "head.hand"], ["head.held"], {"axis": 1}),
        ("Greater", ["head.held", "head.none"], ["head.holds"], {}),
        ("Where", ["head.holds", "head.worths", "least"], ["head.own"], {}),
        ("ReduceMax", ["head.own"], ["head.best"], {"axes": [1], "keepdims": 1}),
        ("Sub", ["head.worths", "head.best"], ["head.scores"], {}),
        ("Pad", ["head.scores", "head.pads"], ["discards"], {}),
    ]
    return {name: value.numpy(force=True) for name, value in constants.items()}, steps


def _config(checkpoint: Checkpoint, net: PolicyValueNet) -> dict[str, Any]:
    environment = checkpoint.manifest["config"]["environment"]
    return {
        "model_type": "phase10-policy",
        "num_players": environment["num_players"],
        "ruleset": environment.get("ruleset", "official"),
        "actions": environment.get("actions", "compact"),
        "observation": environment.get("observation", "full"),
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


def model_card(name: str, manifest: dict[str, Any], results: list[dict[str, Any]], onnx: bool = True) -> str:
    """Return the text of a model card: YAML with a `model-index`, then what the model is and how to use it."""
    environment = manifest["config"]["environment"]
    players, rules = environment["num_players"], environment.get("ruleset", "official")
    decisions = int(manifest["counters"].get("decisions", 0))
    hours = float(manifest["counters"].get("seconds", 0.0)) / 3600
    lines = ["---", "license: mit", "library_name: phase10-env", "pipeline_tag: reinforcement-learning"]
    lines += ["tags:", "- reinforcement-learning", "- phase-10", *(["- onnx"] if onnx else [])]
    if results:
        lines += ["model-index:", f"- name: {json.dumps(name)}", "  results:"]
    for result in results:
        low, high = result["interval"]
        title = f"win share against {result['opponent']} (95 % interval {low:.3f} to {high:.3f})"
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
    if not onnx:
        return "\n".join(lines)
    lines += ["```python", "import onnxruntime", "from phase10_env import GameBatch", ""]
    mode, level = environment.get("actions", "compact"), environment.get("observation", "full")
    lines += ["games = GameBatch("]
    lines += [
        f'    num_games=8, num_players={players}, ruleset="{rules}", actions="{mode}", observation="{level}"'
    ]
    lines += [")"]
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
    half: bool = False
    """Weights of the checkpoint as bfloat16, half the size."""
    no_onnx: bool = False
    """Only the checkpoint and its card; needs no extra."""


def export_command(options: ExportOptions) -> None:
    """Run `phase10 export`."""
    folder = export_policy(
        options.source, options.out, options.name or options.out.name, not options.no_onnx, options.half
    )
    if options.json.json:
        sys.stdout.write(json.dumps({"folder": str(folder)}) + "\n")
    else:
        sys.stdout.write(
            f"{folder}: {'' if options.no_onnx else f'{ONNX_FILE}, '}{CONFIG_FILE}, {CARD_FILE}; "
            f"play it as checkpoint:{folder}\n"
        )
