"""Choosing actions from logits: masked sampling and the greedy choice, over lists of legal actions.

Shapes: n decisions, A actions (165), L the longest list of legal actions. The random number of a decision is
number `counter` of the stream `key` of its row, so a choice depends on nothing but the logits and these two.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
import torch

from phase10_agents.neural.networks import FoldedWeights, PolicyValueNet
from phase10_env.rules.kernel import kernel
from phase10_env.rules.random import random_bits

__all__ = ["Choices", "act", "choose_actions"]

_Float = npt.NDArray[np.float32]

_EXACT_BITS = np.uint64(11)  # a float64 holds 53 of 64 bits
_UNIT = 2.0**-53


@dataclasses.dataclass(frozen=True, slots=True)
class Choices:
    """Hold one action for each of n decisions.

    Attributes:
        actions: uint8[n].
        log_probs: float32[n], log-probability of that action under the policy (also for a greedy choice).
        entropies: float32[n], of the policy over its legal actions.
        values: float32[n]; zero where no value was asked for.
    """

    actions: npt.NDArray[np.uint8]
    log_probs: _Float
    entropies: _Float
    values: _Float


@kernel
def _choose(
    logits: _Float,
    legal_actions: npt.NDArray[np.uint8],
    legal_counts: npt.NDArray[np.int16],
    keys: npt.NDArray[np.uint64],
    counters: npt.NDArray[np.uint64],
    temperature: float,
    probs: npt.NDArray[np.float64],
    actions: npt.NDArray[np.uint8],
    log_probs: _Float,
    entropies: _Float,
) -> None:
    """Choose for every row; temperature 0 takes the first of the likeliest. `probs[L]` is scratch."""
    for i in range(logits.shape[0]):
        count = legal_counts[i]
        legal = legal_actions[i]
        best = 0
        for k in range(1, count):
            if logits[i, legal[k]] > logits[i, legal[best]]:
                best = k
        top = np.float64(logits[i, legal[best]])
        inverse = 1.0 / temperature if temperature > 0.0 else 1.0
        total = 0.0
        weighted = 0.0
        for k in range(count):
            z = (np.float64(logits[i, legal[k]]) - top) * inverse
            probs[k] = np.exp(z)
            total += probs[k]
            weighted += probs[k] * z
        chosen = best
        if temperature > 0.0:
            bits = random_bits(keys[i], counters[i])
            left = np.float64(bits >> _EXACT_BITS) * _UNIT * total
            for k in range(count):
                # An action of probability zero is never taken, even if rounding leaves a remainder.
                if probs[k] > 0.0:
                    chosen = k
                    left -= probs[k]
                    if left < 0.0:
                        break
        actions[i] = legal[chosen]
        log_total = np.log(total)
        log_probs[i] = (np.float64(logits[i, legal[chosen]]) - top) * inverse - log_total
        entropies[i] = log_total - weighted / total


def choose_actions(
    logits: _Float,
    legal_actions: npt.NDArray[np.uint8],
    legal_counts: npt.NDArray[np.int16],
    keys: npt.NDArray[np.uint64],
    counters: npt.NDArray[np.uint64],
    *,
    temperature: float = 1.0,
) -> Choices:
    """Choose an action for every row from its masked softmax.

    Args:
        logits: float32[n, A].
        legal_actions: uint8[n, L], legal actions first, ascending.
        legal_counts: int16[n], at least 1.
        keys: uint64[n], the random stream of each row.
        counters: uint64[n], which number of the stream to use.
        temperature: of the softmax; 0 chooses the likeliest action (the first of equals), and log-probability
            and entropy are then those at temperature 1.

    Returns:
        The choices, with values zero.

    >>> zero = np.zeros(1, np.uint64)
    >>> found = choose_actions(
    ...     np.zeros((1, 165), np.float32),
    ...     np.array([[4, 9]], np.uint8),
    ...     np.array([2], np.int16),
    ...     zero,
    ...     zero,
    ...     temperature=0.0,
    ... )
    >>> int(found.actions[0]), round(float(found.entropies[0]), 4)
    (4, 0.6931)
    """
    n = len(logits)
    choices = Choices(
        np.empty(n, np.uint8), np.empty(n, np.float32), np.empty(n, np.float32), np.zeros(n, np.float32)
    )
    _choose(
        np.ascontiguousarray(logits),
        np.ascontiguousarray(legal_actions),
        np.ascontiguousarray(legal_counts),
        np.ascontiguousarray(keys),
        np.ascontiguousarray(counters),
        float(temperature),
        np.empty(legal_actions.shape[1]),
        choices.actions,
        choices.log_probs,
        choices.entropies,
    )
    return choices


def act(
    net: PolicyValueNet,
    observations: npt.NDArray[np.uint8],
    legal_actions: npt.NDArray[np.uint8],
    legal_counts: npt.NDArray[np.int16],
    keys: npt.NDArray[np.uint64],
    counters: npt.NDArray[np.uint64],
    *,
    temperature: float = 1.0,
    privileged: npt.NDArray[np.uint8] | None = None,
    folded: FoldedWeights | None = None,
) -> Choices:
    """Run the network and choose an action for every row; temperature 0 is greedy.

    Args as in `choose_actions` and `PolicyValueNet.forward`; `folded` spares folding the weights each time.

    >>> from phase10_agents.neural.networks import NetworkSettings
    >>> net = PolicyValueNet(torch.ones(8), NetworkSettings())
    >>> zero = np.zeros(1, np.uint64)
    >>> act(
    ...     net, np.ones((1, 8), np.uint8), np.array([[4, 9]], np.uint8), np.array([1], np.int16), zero, zero
    ... ).actions.tolist()
    [4]
    """
    with torch.inference_mode():
        hidden = None if privileged is None else torch.from_numpy(privileged).to(net.device)
        logits, values = net(
            torch.from_numpy(observations).to(net.device),
            hidden,
            folded=folded,
            legal=(torch.from_numpy(legal_actions), torch.from_numpy(legal_counts)),
        )
    choices = choose_actions(
        logits.cpu().numpy(), legal_actions, legal_counts, keys, counters, temperature=temperature
    )
    return dataclasses.replace(choices, values=values.cpu().numpy())
