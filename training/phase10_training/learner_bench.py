"""Measures the learner on synthetic decisions: forward, choice, loss, backward and optimizer step.

Shapes: n decisions of D small integers, L listed legal actions. Speeds are decisions per second.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping

import msgspec
import numpy as np
import torch

from phase10_agents.neural.inference import act, choose_actions
from phase10_agents.neural.networks import ACTIONS, NetworkSettings, PolicyValueNet
from phase10_training.fused_loss import LossBatch, LossSettings, fused_loss, torch_loss

__all__ = ["LearnerBenchSettings", "SyntheticDecisions", "bench_learner", "measure_rates"]


class LearnerBenchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold what is measured.

    Attributes:
        observation_size: D.
        density: share of non-zero observation entries.
        rollout_batch: games a forward pass of the rollout serves.
        minibatch: decisions of one update.
        longest: L.
        seconds: measuring time of each item.
        network: widths; its precision and input layer are measured in all variants.

    >>> LearnerBenchSettings().minibatch
    4096
    """

    observation_size: int = 1000
    density: float = 0.12
    rollout_batch: int = 1024
    minibatch: int = 4096
    longest: int = 32
    seconds: float = 1.0
    network: NetworkSettings = NetworkSettings()


@dataclasses.dataclass(frozen=True, slots=True)
class SyntheticDecisions:
    """Hold random decisions: observations uint8[n, D] and everything the loss needs of them."""

    observations: torch.Tensor
    batch: LossBatch

    @classmethod
    def draw(cls, n: int, settings: LearnerBenchSettings, seed: int = 0) -> SyntheticDecisions:
        """Draw n decisions with 2 to 14 legal actions each."""
        rng = np.random.default_rng(seed)
        size = (n, settings.observation_size)
        observations = ((rng.random(size) < settings.density) * rng.integers(1, 4, size)).astype(np.uint8)
        counts = rng.integers(2, 15, n).astype(np.int16)
        order = rng.permuted(np.tile(np.arange(ACTIONS, dtype=np.uint8), (n, 1)), axis=1)
        legal = np.zeros((n, settings.longest), np.uint8)
        for i, count in enumerate(counts):
            legal[i, :count] = np.sort(order[i, :count])

        def normal() -> torch.Tensor:
            return torch.from_numpy(rng.standard_normal(n).astype(np.float32))

        batch = LossBatch(
            legal_actions=torch.from_numpy(legal),
            legal_counts=torch.from_numpy(counts),
            actions=torch.from_numpy(legal[np.arange(n), rng.integers(0, counts)]),
            old_log_probs=torch.from_numpy(-np.log(counts).astype(np.float32)),
            advantages=normal(),
            returns=normal(),
            old_values=normal(),
        )
        return cls(torch.from_numpy(observations), batch)


def measure_rates(items: Mapping[str, tuple[int, Callable[[], object]]], seconds: float) -> dict[str, float]:
    """Return how many decisions each item handles per second, by its fastest call.

    The items take turns, so that whatever else runs on the machine slows all of them and ratios hold.

    Args:
        items: by name, the decisions one call handles and the call.
        seconds: measuring time of each item.

    >>> rates = measure_rates({"sum": (10, lambda: sum(range(10)))}, seconds=0.01)
    >>> rates["sum"] > 0
    True
    """
    best = dict.fromkeys(items, float("inf"))
    for _, call in items.values():
        call()
    end = time.perf_counter() + seconds * len(items)
    while time.perf_counter() < end:
        for name, (_, call) in items.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return {name: decisions / best[name] for name, (decisions, _) in items.items()}


def _network_items(
    label: str, network: NetworkSettings, settings: LearnerBenchSettings, data: SyntheticDecisions
) -> dict[str, tuple[int, Callable[[], object]]]:
    """Return rollout step, forward pass and whole update of one variant of the network."""
    net = PolicyValueNet(torch.ones(settings.observation_size), network)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-5, fused=True)
    rows = settings.rollout_batch
    legal = data.batch.legal_actions[:rows].numpy()
    counts = data.batch.legal_counts[:rows].numpy()
    keys = np.arange(rows, dtype=np.uint64)
    observations = data.observations[:rows].numpy()
    with torch.inference_mode():
        folded = net.fold()

    def update() -> None:
        logits, values = net(data.observations)
        loss, _ = fused_loss(logits, values, data.batch, LossSettings())
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()

    def forward() -> None:
        net(data.observations)

    def rollout_step() -> None:
        act(net, observations, legal, counts, keys, keys, folded=folded)

    n = settings.minibatch
    return {
        f"{label} rollout": (rows, rollout_step),
        f"{label} forward": (n, forward),
        f"{label} update": (n, update),
    }


def _part_items(
    settings: LearnerBenchSettings, data: SyntheticDecisions
) -> dict[str, tuple[int, Callable[[], object]]]:
    """Return the loss twins, the choice of actions and the optimizer variants."""
    n = settings.minibatch
    logits = torch.randn(n, ACTIONS, generator=torch.Generator().manual_seed(0)).requires_grad_()
    values = torch.zeros(n, requires_grad=True)
    legal, counts = data.batch.legal_actions.numpy(), data.batch.legal_counts.numpy()
    keys = np.arange(n, dtype=np.uint64)

    def choice() -> None:
        choose_actions(logits.detach().numpy(), legal, counts, keys, keys)

    items: dict[str, tuple[int, Callable[[], object]]] = {
        "loss fused": (
            n,
            lambda: torch.autograd.backward(fused_loss(logits, values, data.batch, LossSettings())[0]),
        ),
        "loss torch": (
            n,
            lambda: torch.autograd.backward(torch_loss(logits, values, data.batch, LossSettings())[0]),
        ),
        "choice": (n, choice),
    }
    for fused in (True, False):
        net = PolicyValueNet(torch.ones(settings.observation_size), settings.network)
        for parameter in net.parameters():
            parameter.grad = torch.full_like(parameter, 1e-3)
        optimizer = torch.optim.Adam(net.parameters(), fused=fused, foreach=not fused)
        items["adam fused" if fused else "adam foreach"] = (n, optimizer.step)
    return items


def bench_learner(settings: LearnerBenchSettings) -> dict[str, float]:
    """Measure the learner's parts, and its network in every precision and input layer.

    Returns:
        Decisions per second by item: `<precision>-<input layer> rollout`, `… forward` and `… update`,
        `loss fused`, `loss torch`, `choice`, `adam fused`, `adam foreach`. Run it with
        one torch thread.

    >>> small = LearnerBenchSettings(
    ...     observation_size=64,
    ...     minibatch=64,
    ...     rollout_batch=32,
    ...     seconds=0.01,
    ...     network=NetworkSettings(actor=(16,), critic=(16,)),
    ... )
    >>> all(rate > 0 for rate in bench_learner(small).values())
    True
    """
    data = SyntheticDecisions.draw(settings.minibatch, settings)
    items = _part_items(settings, data)
    for precision in ("fp32", "bf16"):
        for input_layer in ("dense", "sparse"):
            network = msgspec.structs.replace(settings.network, precision=precision, input_layer=input_layer)
            items |= _network_items(f"{precision}-{input_layer}", network, settings, data)
    return measure_rates(items, settings.seconds)
