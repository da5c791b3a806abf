"""Choosing actions: the right distribution, deterministic, never illegal."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from phase10_agents.neural.inference import Choices, act, choose_actions
from phase10_agents.neural.networks import NetworkSettings, PolicyValueNet

ACTIONS = 165


def problem(
    seed: int, n: int, spread: float = 1.0
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint8], npt.NDArray[np.int16]]:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 15, n).astype(np.int16)
    legal = np.full((n, 20), 255, np.uint8)
    for i, count in enumerate(counts):
        legal[i, :count] = np.sort(rng.choice(ACTIONS, count, replace=False))
    return (spread * rng.standard_normal((n, ACTIONS))).astype(np.float32), legal, counts


def chosen(
    seed: int, n: int, temperature: float = 1.0, spread: float = 1.0
) -> tuple[Choices, tuple[np.ndarray, ...]]:
    data = problem(seed, n, spread)
    keys = np.arange(n, dtype=np.uint64)
    return choose_actions(*data, keys, keys * np.uint64(7), temperature=temperature), data


def exact_log_probs(logits: npt.NDArray[np.float32], legal: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    z = logits[legal].astype(float)
    return np.asarray(z - np.logaddexp.reduce(z))


@given(
    seed=st.integers(0, 2**32 - 1),
    spread=st.sampled_from([0.0, 1.0, 1e4]),
    temperature=st.sampled_from([0.0, 0.5, 1.0]),
)
@settings(max_examples=50, deadline=None)
def test_choices_are_legal_and_report_their_own_probability(
    seed: int, spread: float, temperature: float
) -> None:
    choices, (logits, legal, counts) = chosen(seed, 20, temperature, spread)
    for i, count in enumerate(counts):
        row = legal[i, :count]
        assert choices.actions[i] in row
        log_p = exact_log_probs(logits[i] / np.float32(temperature or 1.0), row)
        place = list(row).index(choices.actions[i])
        assert choices.log_probs[i] == pytest.approx(log_p[place], rel=1e-4, abs=1e-5)
        entropy = -np.sum(np.exp(log_p) * log_p)
        assert choices.entropies[i] == pytest.approx(entropy, rel=1e-4, abs=1e-5)
        if temperature == 0.0:
            assert choices.actions[i] == row[np.argmax(logits[i, row])]


def test_frequencies_follow_the_masked_softmax() -> None:
    n = 40_000
    logits = np.tile(np.linspace(-1, 1, ACTIONS).astype(np.float32), (n, 1))
    legal = np.tile(np.array([3, 50, 90, 164, 7], np.uint8), (n, 1))
    counts = np.full(n, 4, np.int16)
    choices = choose_actions(logits, legal, counts, np.full(n, 11, np.uint64), np.arange(n, dtype=np.uint64))
    observed = [int((choices.actions == action).sum()) for action in legal[0, :4]]
    expected = n * np.exp(exact_log_probs(logits[0], legal[0, :4]))
    assert sum(observed) == n
    assert chisquare(observed, expected).pvalue > 1e-4


def test_a_row_depends_on_its_own_stream_alone() -> None:
    whole, (logits, legal, counts) = chosen(5, 64)
    keys = np.arange(64, dtype=np.uint64)

    def part(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        return choose_actions(
            logits[rows], legal[rows], counts[rows], keys[rows], keys[rows] * np.uint64(7)
        ).actions

    order = np.random.default_rng(0).permutation(64)
    assert (part(order) == whole.actions[order]).all()
    with ThreadPoolExecutor(4) as pool:
        pieces = list(pool.map(part, np.array_split(np.arange(64), 9)))
    assert (np.concatenate(pieces) == whole.actions).all()


def test_the_next_number_of_a_stream_gives_other_choices() -> None:
    logits, legal, counts = problem(9, 200)
    keys = np.arange(200, dtype=np.uint64)
    one = choose_actions(logits, legal, counts, keys, np.zeros(200, np.uint64))
    other = choose_actions(logits, legal, counts, keys, np.ones(200, np.uint64))
    assert (one.actions != other.actions).any()


def test_greedy_takes_the_first_of_equals() -> None:
    legal = np.array([[8, 30, 31]], np.uint8)
    zero = np.zeros(1, np.uint64)
    found = choose_actions(
        np.zeros((1, ACTIONS), np.float32), legal, np.array([3], np.int16), zero, zero, temperature=0.0
    )
    assert found.actions.tolist() == [8]


def test_act_returns_the_networks_values_and_choices() -> None:
    net = PolicyValueNet(
        torch.ones(30), NetworkSettings(actor=(16,), critic=(16,)), privileged_scale=torch.ones(4)
    )
    _, legal, counts = problem(2, 25)
    rng = np.random.default_rng(1)
    observations = rng.integers(0, 3, (25, 30)).astype(np.uint8)
    hidden = rng.integers(0, 3, (25, 4)).astype(np.uint8)
    keys = np.arange(25, dtype=np.uint64)
    with torch.inference_mode():
        logits, values = net(torch.from_numpy(observations), torch.from_numpy(hidden))
        folded = net.fold()
    found = act(net, observations, legal, counts, keys, keys, privileged=hidden, folded=folded)
    wanted = choose_actions(logits.numpy(), legal, counts, keys, keys)
    assert (found.actions == wanted.actions).all()
    assert (found.values == values.numpy()).all()
