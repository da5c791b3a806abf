"""Equity models travel: copies and pickles are equal and as read-only as the original."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from phase10_env import GameBatch, RuleSet
from phase10_env.equity import EquityModel, default_equity

WAYS: dict[str, Callable[[EquityModel], EquityModel]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_copied_model_is_equal_and_read_only(way: str) -> None:
    model = default_equity(RuleSet(), 3)
    copied = WAYS[way](model)
    assert copied == model
    assert copied.hash == model.hash
    assert copied.record.tobytes() == model.record.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        copied.record["lag"] = 1.0
    assert not model.record.flags.writeable


def test_a_copied_batch_goes_on_alike() -> None:
    batch = GameBatch(4, 2, "short-5", seed=3, episode="round", reward="equity")
    batch.play_random(50)
    copied = copy.deepcopy(batch)
    assert not copied.equity.record.flags.writeable
    for each in (batch, copied):
        each.play_random(200)
    assert (copied.games == batch.games).all()
    assert np.array_equal(copied.rewards, batch.rewards)
