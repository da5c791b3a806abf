"""Gradients of a large minibatch on several cores: fixed lanes, so that the sum never depends on the threads.

Shapes: n observations uint8[n, D], privileged state uint8[n, Q], and a `LossBatch` of the same n decisions.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

from phase10_training.fused_loss import LossBatch, LossSettings, LossSizes, policy_value_loss
from phase10_training.networks import PolicyValueNet

__all__ = ["GradientLanes"]


class GradientLanes:
    """Split minibatches into chunks, deal the chunks out to lanes, and add the lanes' gradients.

    Each lane is a copy of the network that shares its weights and has gradients of its own. Chunk c belongs
    to lane c mod `lanes`, a lane takes its chunks in order, and the lanes are added in order: the result is
    the same bit for bit for any number of threads, also for one.

    Args:
        net: the network to train, on a CPU; its parameters receive the gradients.
        lanes: parts that may run at the same time. Part of the training recipe: it changes rounding.
        threads: how many do run at the same time (at most `lanes` are of use).
        chunk: decisions handled at once in a lane; bounds memory.

    >>> from phase10_training.networks import NetworkSettings
    >>> net = PolicyValueNet(torch.ones(8), NetworkSettings(actor=(4,), critic=(4,)))
    >>> legal, counts = torch.tensor([[3, 7]], dtype=torch.uint8), torch.tensor([2], dtype=torch.int16)
    >>> batch = LossBatch.teaching(legal, counts, torch.tensor([[0.0, 1.0]]))
    >>> with GradientLanes(net) as lanes:
    ...     statistics = lanes.gradient(torch.ones(1, 8, dtype=torch.uint8), batch, LossSettings(clone=1.0))
    >>> net.input_weight.grad is not None
    True
    """

    def __init__(self, net: PolicyValueNet, *, lanes: int = 2, threads: int = 1, chunk: int = 2048) -> None:
        self._net = net
        self._chunk = chunk
        self._lanes = [net.twin() for _ in range(lanes)]
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gradient") if threads > 1 else None

    def __enter__(self) -> GradientLanes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def gradient(
        self,
        observations: torch.Tensor,
        batch: LossBatch,
        settings: LossSettings,
        privileged: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Set the gradients of the network's parameters to those of the whole batch.

        Returns:
            The loss statistics float64[9] (see `STATISTICS`).

        Raises:
            IllegalActionError: an action is not among its decision's legal actions.
        """
        sizes = LossSizes.of(batch)
        starts = range(0, len(observations), self._chunk)

        def run(number: int) -> torch.Tensor:
            net = self._lanes[number]
            net.zero_grad(set_to_none=True)
            total = torch.zeros(9, dtype=torch.float64)
            for start in starts[number :: len(self._lanes)]:
                part = slice(start, start + self._chunk)
                hidden = None if privileged is None else privileged[part]
                logits, values = net(observations[part], hidden)
                loss, statistics = policy_value_loss(logits, values, batch.rows(part), settings, sizes)
                torch.autograd.backward(loss)
                total += statistics
            return total

        numbers = range(len(self._lanes))
        results = list(map(run, numbers) if self._pool is None else self._pool.map(run, numbers))
        self._add_up()
        return torch.stack(results).sum(dim=0)

    def _add_up(self) -> None:
        for parameter, *copies in zip(
            self._net.parameters(), *(lane.parameters() for lane in self._lanes), strict=True
        ):
            gradients = [copy.grad for copy in copies if copy.grad is not None]
            parameter.grad = gradients[0] if gradients else None
            for gradient in gradients[1:]:
                gradients[0].add_(gradient)
