"""Splits nested training state (dicts, lists, tensors, arrays, numbers) into flat tensors and JSON, and back.

Made for what checkpoints must carry beside weights: optimizer states, random generators, league tables.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from phase10_agents.neural.checkpoint import CheckpointError, Tensors

__all__ = ["flatten_state", "restore_state"]


def flatten_state(state: Any, prefix: str) -> tuple[Tensors, Any]:
    """Split `state` into named tensors and a JSON skeleton that says where they belong.

    Args:
        state: nested dicts (string or whole-number keys), lists, tuples, torch tensors, numpy arrays, None,
            booleans, numbers and strings; `optimizer.state_dict()` or `generator.bit_generator.state`, say.
        prefix: begins every tensor's name.

    Raises:
        CheckpointError: something else is in it; the sentence says where.

    >>> tensors, skeleton = flatten_state({"step": 3, "mean": np.zeros(2)}, "adam")
    >>> sorted(tensors), restore_state(tensors, skeleton)
    (['adam.mean'], {'step': 3, 'mean': array([0., 0.])})
    """
    tensors: Tensors = {}
    return tensors, _flatten(state, prefix, tensors)


def _flatten(value: Any, name: str, tensors: Tensors) -> Any:
    if isinstance(value, (torch.Tensor, np.ndarray)):
        tensors[name] = value
        return {"tensor": name}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, Mapping):
        for key in value:
            if isinstance(key, bool) or not isinstance(key, (str, int)):
                raise CheckpointError(
                    f"the state {name!r} has the key {key!r}; keys must be strings or whole numbers."
                )
        return {"dict": [[key, _flatten(item, f"{name}.{key}", tensors)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_flatten(item, f"{name}.{index}", tensors) for index, item in enumerate(value)]}
    raise CheckpointError(f"the state {name!r} is a {type(value).__name__}, which a checkpoint cannot store.")


def restore_state(tensors: Mapping[str, torch.Tensor | np.ndarray[Any, Any]], skeleton: Any) -> Any:
    """Put together what `flatten_state` split.

    Args:
        tensors: at least the tensors of this state, by name.
        skeleton: the JSON part.

    Raises:
        CheckpointError: a tensor is missing or the skeleton is not one.
    """
    if not isinstance(skeleton, Mapping) or len(skeleton) != 1:
        raise CheckpointError(f"expected a state skeleton with one key, found {skeleton!r}.")
    [(kind, content)] = skeleton.items()
    if kind == "tensor":
        if content not in tensors:
            raise CheckpointError(f"the checkpoint lacks the tensor {content!r}.")
        return tensors[content]
    if kind == "value":
        return content
    if kind == "dict":
        return {key: restore_state(tensors, item) for key, item in content}
    if kind in ("list", "tuple"):
        items = [restore_state(tensors, item) for item in content]
        return tuple(items) if kind == "tuple" else items
    raise CheckpointError(f"unknown kind {kind!r} in a state skeleton.")
