"""The first layer of a network on small counts that are mostly zero: a product that skips the zeros (CPU).

Shapes: n observations of D small integers (uint8), H outputs (even). A row of H weights belongs to each entry
of the observation, so y = x W + b is a sum over the few non-zero entries. With 12 % of them non-zero this
takes two thirds of the time of a dense bf16 product (on a CPU that has one), a third of a dense fp32 product.

bf16 weights travel as pairs in one uint32 (column j in the low half, column j + H/2 in the high half). A bf16
number is the upper half of a float32: a shift or a mask unpacks it on any CPU, and half as much memory moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from phase10_env.rules.kernel import vector_kernel, wide_registers

__all__ = ["EntryLists", "pack_pairs", "sparse_linear"]

_Float = npt.NDArray[np.float32]
_Words = npt.NDArray[np.uint32]
_Starts = npt.NDArray[np.int64]
_BLOCK = 4  # entries handled together; lists are padded to a multiple with entries of value zero
_SIXTEEN = np.uint32(16)
_UPPER = np.uint32(0xFFFF0000)
_ZERO, _ONE = np.uint32(0), np.uint32(1)
_HALF_MINUS_ONE = np.uint32(0x7FFF)


@vector_kernel
def _low(word: Any) -> Any:
    """Return the bf16 number in the low half of a word, as float32."""
    return np.uint32(word << _SIXTEEN).view(np.float32)


@vector_kernel
def _high(word: Any) -> Any:
    """Return the bf16 number in the high half of a word, as float32."""
    return np.uint32(word & _UPPER).view(np.float32)


@vector_kernel
def _pack(matrix: npt.NDArray[np.uint16], packed: _Words) -> None:
    """Pack column j of bf16 numbers with column j + H/2."""
    half = packed.shape[1]
    for i in range(packed.shape[0]):
        for j in range(half):
            packed[i, j] = np.uint32(matrix[i, j]) | (np.uint32(matrix[i, half + j]) << _SIXTEEN)


@vector_kernel
def _list_entries(
    x: npt.NDArray[np.uint8],
    read: npt.NDArray[np.uint16],
    starts: _Starts,
    columns: npt.NDArray[np.uint16],
    entries: npt.NDArray[np.uint8],
) -> None:
    """List the non-zero entries of every row, of the columns `read`: row i's at starts[i] … starts[i + 1]."""
    k = _ZERO  # unsigned: a place from the end, as -1 is, need not be thought of at every entry
    for i in range(x.shape[0]):
        row = x[i]
        starts[i] = k
        for d in read:
            # Written always, kept if not zero: a branch here would be mispredicted all the time.
            columns[k] = d
            k = np.uint32(k + np.uint32(row[d] != 0))
        for m in range(starts[i], np.int64(k)):
            entries[m] = row[columns[m]]
        while k % _BLOCK:
            columns[k] = 0
            entries[k] = 0
            k = np.uint32(k + _ONE)
    starts[x.shape[0]] = k


@vector_kernel
def _turn(
    starts: _Starts,
    columns: npt.NDArray[np.uint16],
    entries: npt.NDArray[np.uint8],
    turned_starts: _Starts,
    position: npt.NDArray[np.int64],
    rows: npt.NDArray[np.uint32],
    turned_entries: npt.NDArray[np.uint8],
) -> None:
    """List the same entries by column (a counting sort); `position[D]` is scratch."""
    position[:] = 0
    for k in range(starts[starts.shape[0] - 1]):
        position[columns[k]] += int(entries[k] != 0)
    total = 0
    for d in range(position.shape[0]):
        turned_starts[d] = total
        total += (position[d] + _BLOCK - 1) // _BLOCK * _BLOCK
        for k in range(turned_starts[d] + position[d], total):
            rows[k] = 0
            turned_entries[k] = 0
        position[d] = turned_starts[d]
    turned_starts[position.shape[0]] = total
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            if entries[k] != 0:
                d = columns[k]
                rows[position[d]] = i
                turned_entries[position[d]] = entries[k]
                position[d] += 1


@vector_kernel
def _add_rows(
    start: int, stop: int, picks: Any, entries: npt.NDArray[np.uint8], table: _Float, total: _Float
) -> None:
    """Add to total[H] the rows of `table` that list entries start … stop pick, times their entries."""
    wide_registers()
    for k in range(start, stop, _BLOCK):
        a, b, c, d = table[picks[k]], table[picks[k + 1]], table[picks[k + 2]], table[picks[k + 3]]
        x, y = np.float32(entries[k]), np.float32(entries[k + 1])
        z, w = np.float32(entries[k + 2]), np.float32(entries[k + 3])
        for j in range(table.shape[1]):
            total[j] += x * a[j] + y * b[j] + z * c[j] + w * d[j]


@vector_kernel
def _add_packed_rows(
    start: int, stop: int, picks: Any, entries: npt.NDArray[np.uint8], table: _Words, total: _Float
) -> None:
    """Do `_add_rows` with a table of packed bf16 pairs, adding in float32."""
    wide_registers()
    half = table.shape[1]
    lower, upper = total[:half], total[half:]
    for k in range(start, stop, _BLOCK):
        a, b, c, d = table[picks[k]], table[picks[k + 1]], table[picks[k + 2]], table[picks[k + 3]]
        x, y = np.float32(entries[k]), np.float32(entries[k + 1])
        z, w = np.float32(entries[k + 2]), np.float32(entries[k + 3])
        for j in range(half):
            lower[j] += x * _low(a[j]) + y * _low(b[j]) + z * _low(c[j]) + w * _low(d[j])
            upper[j] += x * _high(a[j]) + y * _high(b[j]) + z * _high(c[j]) + w * _high(d[j])


@vector_kernel
def _sum_rows(
    starts: _Starts, picks: Any, entries: npt.NDArray[np.uint8], table: _Float, out: _Float
) -> None:
    """Add to each row of out[m, H] what its list picks from a float32 table."""
    wide_registers()
    for i in range(out.shape[0]):
        _add_rows(starts[i], starts[i + 1], picks, entries, table, out[i])


@vector_kernel
def _sum_packed_rows(
    starts: _Starts, picks: Any, entries: npt.NDArray[np.uint8], table: _Words, out: _Float
) -> None:
    """Add to each row of out[m, H] what its list picks from a packed table."""
    wide_registers()
    for i in range(out.shape[0]):
        _add_packed_rows(starts[i], starts[i + 1], picks, entries, table, out[i])


@vector_kernel
def _sum_and_round(
    starts: _Starts,
    picks: Any,
    entries: npt.NDArray[np.uint8],
    table: _Words,
    bias: _Float,
    total: _Float,
    out: npt.NDArray[np.uint16],
) -> None:
    """Write bias + picked rows as bf16, rounded to even; total[H] is scratch that stays in the cache."""
    wide_registers()
    for i in range(out.shape[0]):
        for j in range(bias.shape[0]):
            total[j] = bias[j]
        _add_packed_rows(starts[i], starts[i + 1], picks, entries, table, total)
        words = total.view(np.uint32)
        for j in range(bias.shape[0]):
            word = words[j]
            out[i, j] = (word + _HALF_MINUS_ONE + ((word >> _SIXTEEN) & _ONE)) >> _SIXTEEN


def pack_pairs(matrix: torch.Tensor) -> torch.Tensor:
    """Round a matrix to bf16 and pack column j with column j + H/2 into one word.

    Args:
        matrix: float32 or bfloat16 [m, H], H even.

    Returns:
        int32[m, H / 2].

    >>> pack_pairs(torch.tensor([[1.0, 0.0, 2.0, 0.0]])).tolist() == [[0x40003F80, 0]]
    True
    """
    rounded = matrix.detach().to(torch.bfloat16).contiguous()
    packed = torch.empty(len(matrix), matrix.shape[1] // 2, dtype=torch.int32)
    _pack(_half_words(rounded), packed.numpy().view(np.uint32))
    return packed


def _half_words(matrix: torch.Tensor) -> npt.NDArray[np.uint16]:
    return matrix.view(torch.int16).numpy().view(np.uint16)


class EntryLists:
    """List the non-zero entries of observations, by row and by column, and multiply with them.

    Buffers are kept from one `list` to the next; they grow with the observations.

    >>> lists = EntryLists()
    >>> lists.list(torch.tensor([[0, 2, 0], [1, 0, 1]], dtype=torch.uint8))
    >>> out = torch.zeros(2, 2)
    >>> lists.add_product(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), out)
    >>> out.tolist()
    [[6.0, 8.0], [6.0, 8.0]]
    """

    def __init__(self) -> None:
        self.starts = np.zeros(1, np.int64)
        self._columns = np.empty(0, np.uint16)
        self._entries = np.empty(0, np.uint8)
        self._rows = np.empty(0, np.uint32)
        self._turned_entries = np.empty(0, np.uint8)
        self._turned_starts = np.zeros(1, np.int64)

    def list(self, x: torch.Tensor, read: npt.NDArray[np.uint16] | None = None) -> None:
        """List uint8[n, D] by row; of the columns `read` alone, if they are given."""
        n, width = x.shape
        needed = n * (width + _BLOCK) + 1
        if len(self._columns) < needed:
            self._columns, self._entries = np.empty(needed, np.uint16), np.empty(needed, np.uint8)
        if len(self.starts) != n + 1:
            self.starts = np.empty(n + 1, np.int64)
        if len(self._turned_starts) != width + 1:
            self._turned_starts = np.empty(width + 1, np.int64)
        chosen = np.arange(width, dtype=np.uint16) if read is None else read
        _list_entries(x.contiguous().numpy(), chosen, self.starts, self._columns, self._entries)

    def add_product(self, table: torch.Tensor, out: torch.Tensor) -> None:
        """Add x W to `out` float32[n, H], in place, for the float32 table W [D, H]."""
        _sum_rows(self.starts, self._columns, self._entries, table.numpy(), out.numpy())

    def round_product(self, packed: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """Return x W + b as bfloat16[n, H] for a table of packed pairs (`pack_pairs`)."""
        rounded = torch.empty(len(self.starts) - 1, len(bias), dtype=torch.bfloat16)
        words, total = packed.numpy().view(np.uint32), np.empty(len(bias), np.float32)
        lists = (self.starts, self._columns, self._entries)
        _sum_and_round(*lists, words, bias.numpy(), total, _half_words(rounded))
        return rounded

    def add_transposed(self, gradient: torch.Tensor, out: torch.Tensor) -> None:
        """Add xᵀ G to `out` float32[D, H], in place, for a gradient float32 or bfloat16 [n, H]."""
        width = len(out)
        needed = int(self.starts[-1]) + _BLOCK * width
        if len(self._rows) < needed:
            self._rows, self._turned_entries = np.empty(needed, np.uint32), np.empty(needed, np.uint8)
        turned = (self._turned_starts, self._rows, self._turned_entries)
        starts, rows, entries = turned
        position = np.empty(width, np.int64)
        _turn(self.starts, self._columns, self._entries, starts, position, rows, entries)
        if gradient.dtype == torch.bfloat16:
            _sum_packed_rows(*turned, pack_pairs(gradient).numpy().view(np.uint32), out.numpy())
        else:
            _sum_rows(*turned, gradient.contiguous().numpy(), out.numpy())


class _SparseLinear(torch.autograd.Function):
    """y = x W + b with the entries of x listed once for both directions."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        packed: torch.Tensor | None,
        read: npt.NDArray[np.uint16] | None,
    ) -> torch.Tensor:
        lists = EntryLists()
        lists.list(x, read)
        ctx.lists, ctx.width = lists, x.shape[1]
        if packed is not None:
            return lists.round_product(packed, bias.detach())
        out = bias.detach().repeat(len(x), 1)
        lists.add_product(weight.detach().contiguous(), out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[None, torch.Tensor, torch.Tensor, None, None]:
        weight_gradient = torch.zeros(ctx.width, grads[0].shape[1])
        ctx.lists.add_transposed(grads[0], weight_gradient)
        return None, weight_gradient, _sum_of_rows(grads[0]), None, None


def _sum_of_rows(gradient: torch.Tensor) -> torch.Tensor:
    """Return the sum over rows as float32 [H]; as a product, which needs no float32 copy of a bf16 matrix."""
    ones = torch.ones(1, len(gradient), dtype=gradient.dtype)
    return (ones @ gradient).squeeze(0).float()


def sparse_linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    packed: torch.Tensor | None = None,
    read: npt.NDArray[np.uint16] | None = None,
) -> torch.Tensor:
    """Compute x W + b on the CPU, skipping the zeros of x, with gradients for W and b.

    Args:
        x: uint8[n, D], D below 65536.
        weight: float32[D, H].
        bias: float32[H].
        packed: `pack_pairs(weight)` for bf16 weights and a bf16 result, None for float32.
        read: the columns of x that count, ascending; None for all. The others are taken for zeros.

    Returns:
        float32[n, H], or bfloat16[n, H] with `packed`.

    >>> x = torch.tensor([[0, 2, 0], [1, 0, 1]], dtype=torch.uint8)
    >>> sparse_linear(x, torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.zeros(2)).tolist()
    [[6.0, 8.0], [6.0, 8.0]]
    """
    result: torch.Tensor = _SparseLinear.apply(x, weight, bias, packed, read)
    return result
