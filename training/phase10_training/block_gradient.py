"""The gradient of the training loss on a CPU, without autograd: block after block of decisions, in float32.

Autograd keeps what a whole minibatch computes, some 4 MB a layer, which leaves the cache and comes from fresh
memory at each step. Here the same products run over blocks of rows that stay in the cache, into buffers that stay
allocated, and the loss hands over its gradient (`fused_loss`): half the time of autograd. What it computes is
`PolicyValueNet.forward` and its derivative; a test holds the two together. Only a discard head, whose rows differ in
number from block to block, is left to autograd, within a block.

Shapes: n decisions of D small integers, r rows of a block, A actions, Ha and Hc widths of the first layers.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
import torch

from phase10_agents.neural.discard_head import FoldedHead
from phase10_agents.neural.listed_head import add_listed_gradient, listed_logits
from phase10_agents.neural.networks import FoldedWeights, PolicyValueNet
from phase10_agents.neural.sparse_input import EntryLists
from phase10_env.actions import DISCARD
from phase10_training.fused_loss import STATISTICS, LossBatch, LossSettings, LossSizes, loss_gradient

__all__ = ["BlockGradient"]

_NUMBERS = 3 * 2**17
"""First-layer outputs of a block: 1.5 MB stay in a second-level cache, and more blocks cost time by their number."""
_LANES = 16  # a product is quickest where its width is a multiple of the float32 numbers in a register

_Lists = tuple[torch.Tensor, torch.Tensor]
"""Legal actions uint8[r, L] and how many of them count, int16[r]."""

_Layers = tuple[tuple[torch.Tensor, torch.Tensor], ...]


class _Trunk:
    """Run the layers behind the first one, forward and backward, for one block at a time.

    With lists of actions the head computes their outputs alone; the others are zero.

    Args:
        layers: (weight [out, in], bias [out]) in order, the head last.
        rows: most decisions of a block.
    """

    def __init__(self, layers: _Layers, rows: int) -> None:
        self.shapes = [tuple(weight.shape) for weight, _ in layers]
        padded = [-(-width // _LANES) * _LANES for width, _ in self.shapes]
        inputs = [layers[0][0].shape[1], *padded]
        self.outputs = [torch.zeros(rows, width) for width in padded]
        self.slopes = [torch.zeros(rows, width) for width in padded]
        # Rows behind the width stay zero, and so does what they add.
        self.weights = [torch.zeros(out, into) for out, into in zip(padded, inputs, strict=False)]
        self.biases = [torch.zeros(out) for out in padded]
        self.weight_sums = [torch.zeros_like(weight) for weight in self.weights]
        self.bias_sums = [torch.zeros_like(bias) for bias in self.biases]

    def take(self, layers: _Layers) -> None:
        """Take the present weights, and forget the gradients."""
        for (weight, bias), ours, our_bias in zip(layers, self.weights, self.biases, strict=True):
            ours[: weight.shape[0], : weight.shape[1]] = weight
            our_bias[: len(bias)] = bias
        for sums in (*self.weight_sums, *self.bias_sums):
            sums.zero_()

    def forward(self, hidden: torch.Tensor, lists: _Lists | None = None) -> torch.Tensor:
        """Return the head's outputs [r, padded width] for the first layer's [r, H], which are rectified already."""
        rows = len(hidden)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            out = self.outputs[i][:rows]
            if i < len(self.weights) - 1:
                torch.addmm(bias, hidden, weight.t(), out=out).clamp_(min=0.0)
            elif lists is None:
                torch.addmm(bias, hidden, weight.t(), out=out)
            else:
                listed_logits(hidden.contiguous(), weight, bias, *lists, out.zero_())
            hidden = out
        return hidden

    def backward(
        self, hidden: torch.Tensor, slope: torch.Tensor, result: torch.Tensor, lists: _Lists | None = None
    ) -> None:
        """Add up the layers' gradients and write the one for the first layer's outputs to `result` [r, H].

        Args:
            hidden: what `forward` was given.
            slope: gradient for the head's outputs [r, padded width].
            result: where the gradient for `hidden` goes, not yet through its rectifier.
            lists: what `forward` was given.
        """
        rows = len(hidden)
        ones = torch.ones(rows)
        for i in reversed(range(len(self.weights))):
            before = self.outputs[i - 1][:rows] if i else hidden
            into = self.slopes[i - 1][:rows] if i else result
            sums = self.weight_sums[i], self.bias_sums[i]
            if lists is None or i < len(self.weights) - 1:
                sums[0].addmm_(slope.t(), before)
                sums[1].addmv_(slope.t(), ones)
                torch.mm(slope, self.weights[i], out=into)
            else:
                written = into if into.is_contiguous() else torch.empty(into.shape)
                add_listed_gradient(slope, before.contiguous(), self.weights[i], *lists, *sums, written)
                into.copy_(written)
            if i:
                _through_rectifier(into, before)
            slope = into

    def gradients(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return for each layer the gradients of weight and bias."""
        return [
            (weight[:out, :into], bias[:out])
            for weight, bias, (out, into) in zip(self.weight_sums, self.bias_sums, self.shapes, strict=True)
        ]


def _through_rectifier(slope: torch.Tensor, output: torch.Tensor) -> None:
    """Set a gradient to zero, in place, where the rectified output is zero."""
    torch.ops.aten.threshold_backward.grad_input(slope, output, 0.0, grad_input=slope)


class BlockGradient:
    """Compute loss statistics and gradients of one network, float32 on a CPU; it owns the buffers for that.

    Args:
        net: the network. Gradients are written to its parameters' `grad`.
    """

    def __init__(self, net: PolicyValueNet) -> None:
        self.net = net
        with torch.no_grad():
            folded = net.fold()
        self._lists = EntryLists()
        width = folded.input.shape[1]
        self._rows = max(1, _NUMBERS // width)
        self._actor, self._critic = _Trunk(folded.actor, self._rows), _Trunk(folded.critic, self._rows)
        self._hidden, self._slope = torch.zeros(self._rows, width), torch.zeros(self._rows, width)
        self._input_sum = torch.zeros_like(folded.input)
        self._bias_sum = torch.zeros(width)

    @staticmethod
    def serves(net: PolicyValueNet) -> bool:
        """Whether a network computes in a way that this can: sparse input, float32, CPU."""
        return net.is_sparse and net.precision == "fp32"

    @torch.no_grad()
    def __call__(
        self,
        observations: torch.Tensor,
        privileged: torch.Tensor | None,
        batch: LossBatch,
        settings: LossSettings,
        sizes: LossSizes,
    ) -> npt.NDArray[np.float64]:
        """Write the gradient of the loss to the network's parameters and return its statistics.

        Args:
            observations: uint8[n, D].
            privileged: uint8[n, Q], for a critic that sees it.
            batch: the decisions, `settings` the weights of the terms, `sizes` what the means divide by.

        Returns:
            float64[9], see `fused_loss.STATISTICS`.
        """
        folded = self.net.fold()
        self._actor.take(folded.actor)
        self._critic.take(folded.critic)
        self._input_sum.zero_()
        self._bias_sum.zero_()
        head = self.net.discards
        judge = None
        if head is not None and folded.discards is not None:
            head.zero_grad(set_to_none=True)
            judge = dataclasses.replace(folded.discards, state=folded.discards.state.requires_grad_())
        extra = [] if folded.privileged is None else [torch.zeros_like(folded.privileged)]
        direct = [] if folded.shortcut is None else [torch.zeros_like(folded.shortcut)]
        statistics = np.zeros(len(STATISTICS))
        for start in range(0, len(observations), self._rows):
            rows = slice(start, start + self._rows)
            state = None if privileged is None else privileged[rows].float()
            statistics += self._block(
                observations[rows], state, batch.rows(rows), settings, sizes, folded, extra, direct, judge
            )
        self._hand_over(extra, direct)
        if head is not None and judge is not None:
            assert judge.state.grad is not None
            _set(head.state, judge.state.grad * head.scale[:, None])
        return statistics

    def _block(
        self,
        observations: torch.Tensor,
        state: torch.Tensor | None,
        batch: LossBatch,
        settings: LossSettings,
        sizes: LossSizes,
        folded: FoldedWeights,
        extra: list[torch.Tensor],
        direct: list[torch.Tensor],
        judge: FoldedHead | None,
    ) -> npt.NDArray[np.float64]:
        """Add the gradient of one block to the sums; return its share of the statistics."""
        rows = len(observations)
        hidden, slope = self._hidden[:rows], self._slope[:rows]
        at = self.net.settings.actor[0]
        self._lists.list(observations, self.net.read)
        hidden.copy_(self.net.input_bias)
        self._lists.add_product(folded.input, hidden)
        if state is not None:
            assert folded.privileged is not None
            hidden[:, at:].addmm_(state, folded.privileged)
        hidden.clamp_(min=0.0)

        lists = batch.legal_actions, batch.legal_counts
        logits = self._actor.forward(hidden[:, :at], lists)
        entries = None
        if folded.shortcut is not None:
            entries = observations.index_select(1, self.net.shortcut_columns).float()
            logits[:, : folded.shortcut.shape[1]].addmm_(entries, folded.shortcut)
        judged = None
        if self.net.discards is not None and judge is not None:
            with torch.enable_grad():
                which, kinds, judged = self.net.discards(observations, judge)
            kinds = kinds + DISCARD
            logits.index_put_((which, kinds), judged.detach(), accumulate=True)
        values = self._critic.forward(hidden[:, at:])[:, 0].contiguous()
        statistics, logit_slope, value_slope = loss_gradient(logits, values, batch, settings, sizes)

        self._actor.backward(hidden[:, :at], logit_slope, slope[:, :at], lists)
        self._critic.backward(hidden[:, at:], self._padded(value_slope), slope[:, at:])
        if entries is not None:
            direct[0].addmm_(entries.t(), logit_slope[:, : direct[0].shape[1]])
        if judged is not None:
            judged.backward(logit_slope[which, kinds])
        _through_rectifier(slope, hidden)
        if state is not None:
            extra[0].addmm_(state.t(), slope[:, at:])
        self._lists.add_transposed(slope, self._input_sum)
        self._bias_sum.addmv_(slope.t(), torch.ones(rows))
        return statistics

    def _padded(self, values: torch.Tensor) -> torch.Tensor:
        """Return the gradient [r] for the values as one for the critic's padded head."""
        padded = torch.zeros(len(values), self._critic.outputs[-1].shape[1])
        padded[:, 0] = values
        return padded

    def _hand_over(self, extra: list[torch.Tensor], direct: list[torch.Tensor]) -> None:
        """Write the sums to the parameters' gradients, without the scales folded into the weights."""
        net = self.net
        _set(net.input_weight, self._input_sum * net.scale[:, None])
        _set(net.input_bias, self._bias_sum)
        if net.privileged_weight is not None:
            _set(net.privileged_weight, extra[0] * net.privileged_scale[:, None])
        if net.shortcut_weight is not None:
            _set(net.shortcut_weight, direct[0] * net.shortcut_scale[:, None])
        for trunk, layers in ((self._actor, net.actor), (self._critic, net.critic)):
            for layer, (weight, bias) in zip(layers, trunk.gradients(), strict=True):
                assert isinstance(layer, torch.nn.Linear)
                _set(layer.weight, weight)
                _set(layer.bias, bias)


def _set(parameter: torch.Tensor, gradient: torch.Tensor) -> None:
    if parameter.grad is None:
        parameter.grad = torch.empty_like(parameter)
    parameter.grad.copy_(gradient)
