"""The Triton truncation kernel: one program applies min_p, top_k and top_p to a row.

A token's key is the absolute value of its scaled logit, read as an integer: floats of one sign sort
by their bits, and the most likely token has 0. The last key to keep is searched between two bounds,
eight intervals at a time. Two passes over the row leave a list of the logits between the bounds,
which further passes read and shorten. A last pass cuts the row.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra.cuda import libdevice

from yaie.engine.sampling.device.device_truncation import Limits

LAST_KEY = tl.constexpr(0x7F800000)  # the key of minus infinity; NaN's keys are larger
ABOVE_ALL = tl.constexpr(0x7FFFFFFF)
# Bound of the relative error of a float32 sum: each lane of a block adds up a thousand weights.
SLACK = tl.constexpr(2.0**-14)


@triton.jit
def truncate_rows(
    scaled,
    spare,
    least,
    num_kept,
    shares,
    vocab_size,
    BLOCK: tl.constexpr,
    HAS_TOP_K: tl.constexpr,
    HAS_TOP_P: tl.constexpr,
):
    """Set the dropped tokens of row `program_id(0)` to minus infinity, in place.

    scaled, spare: float32 [rows, vocab_size], contiguous; each row of `scaled` has the maximum 0.
    least: scaled logits below it are dropped first. num_kept: int64, all from vocab_size on.
    shares: float64 of the weights; all from 1 on.
    """
    row = tl.program_id(0).to(tl.int64)
    line = scaled + row * vocab_size
    kept = spare + row * vocab_size
    floor = tl.load(least + row)
    last = tl.full([], LAST_KEY, tl.int32)
    room = tl.full([], ABOVE_ALL, tl.int32)  # tokens with the last key that are kept
    is_cut = floor > float("-inf")
    # top_p sees the keys below `limit`, and the weight `tied` of kept keys equal to it.
    limit = tl.full([], ABOVE_ALL, tl.int32)
    tied = tl.zeros([], tl.float64)
    if HAS_TOP_K:
        wanted = tl.load(num_kept + row)
        is_cut = is_cut | (wanted < vocab_size)
        if wanted < vocab_size:
            goal = wanted.to(tl.float64)
            last, below, _ = _select(
                line, kept, vocab_size, floor, last, limit, tied, goal, BLOCK, False
            )
            room = (goal - below).to(tl.int32)
            limit = last
            tied = room.to(tl.float64) * _weights(last).to(tl.float64)
    if HAS_TOP_P:
        share = tl.load(shares + row)
        is_cut = is_cut | (share < 1)
        if share < 1:
            found, below, goal = _select(
                line, kept, vocab_size, floor, last, limit, tied, share, BLOCK, True
            )
            # All tokens with the last key have the same weight.
            count = _count_to(goal - below, _weights(found).to(tl.float64))
            room = tl.where(found == last, tl.minimum(room, count), count)
            last = found
    if is_cut:
        _cut(line, vocab_size, floor, last, room, BLOCK)


@triton.jit
def _select(
    line,
    kept,
    count,
    floor,
    end,
    limit,
    tied,
    goal,
    BLOCK: tl.constexpr,
    IS_WEIGHED: tl.constexpr,
):
    """Return the least key up to which the tokens reach a goal, or `end`; their sum below it.

    The goal is a number of tokens; with IS_WEIGHED a share of the weight below `limit` plus `tied`.
    The third result is the goal, no share any more.
    """
    low = tl.zeros([], tl.int32)
    high = end
    # Scaled logits of -1/8, -1, -2 ... -32: where the borders of most rows are.
    marks = (0x3E000000, 0x3F800000, 0x40000000, 0x40800000, 0x41000000, 0x41800000, 0x42000000)
    sums, total = _survey(line, count, floor, limit, marks, BLOCK, IS_WEIGHED)
    if IS_WEIGHED:
        goal = goal * (total + tied)
    below = tl.zeros([], tl.float64)
    low, high = _between(low, high, marks, sums, below, goal, SLACK)
    marks = _marks(low, high)
    sums, below, left = _collect(
        line, kept, count, floor, low, high, marks, BLOCK, IS_WEIGHED, tl.float32
    )
    low, high = _between(low, high, marks, sums, below, goal, SLACK)
    while low < high:
        marks = _marks(low, high)
        sums, more, left = _collect(
            kept, kept, left, floor, low, high, marks, BLOCK // 2, IS_WEIGHED, tl.float64
        )
        below += more
        low, high = _between(low, high, marks, sums, below, goal, 0.0)
    below += _sum_below(kept, left, floor, low, BLOCK, IS_WEIGHED)
    return low, below, goal


@triton.jit
def _survey(line, count, floor, limit, marks, BLOCK: tl.constexpr, IS_WEIGHED: tl.constexpr):
    """Return the sums of the tokens up to each mark, and of those below `limit`."""
    empty = tl.zeros([BLOCK], tl.float32)
    sums = (empty, empty, empty, empty, empty, empty, empty)
    total = tl.zeros([BLOCK], tl.float64)
    for start in tl.range(0, count, BLOCK, num_stages=3):
        index = start + tl.arange(0, BLOCK)
        _, key, weight = _load(line, index, index < count, floor, IS_WEIGHED)
        sums = _add_weights(sums, key, weight, marks)
        if IS_WEIGHED:
            total += tl.where(key < limit, weight, 0.0).to(tl.float64)
    return _totals(sums), tl.sum(total, 0)


@triton.jit
def _collect(
    source,
    kept,
    count,
    floor,
    low,
    high,
    marks,
    BLOCK: tl.constexpr,
    IS_WEIGHED: tl.constexpr,
    SUM: tl.constexpr,
):
    """Move the logits between the bounds to the start of `kept`, which may be the source.

    Return the sums of the tokens from `low` to each mark, the sum below `low`, and the number kept.
    """
    empty = tl.zeros([BLOCK], SUM)
    sums = (empty, empty, empty, empty, empty, empty, empty)
    below = tl.zeros([BLOCK], tl.float64)
    num_kept = tl.zeros([], tl.int32)
    tl.debug_barrier()  # other threads wrote the source
    for start in tl.range(0, count, BLOCK):
        index = start + tl.arange(0, BLOCK)
        logit, key, weight = _load(source, index, index < count, floor, IS_WEIGHED)
        sums = _add_weights(sums, key, tl.where(key >= low, weight, 0.0).to(SUM), marks)
        below += tl.where(key < low, weight, 0.0).to(tl.float64)
        is_inner = (key >= low) & (key <= high)
        rank = tl.cumsum(is_inner.to(tl.int32), 0)
        tl.debug_barrier()  # all threads have read the block
        tl.store(kept + num_kept + rank - 1, logit, mask=is_inner)
        num_kept += tl.max(rank, 0)
    return _totals(sums), tl.sum(below, 0), num_kept


@triton.jit
def _sum_below(source, count, floor, end, BLOCK: tl.constexpr, IS_WEIGHED: tl.constexpr):
    """Return the sum of the tokens below a key."""
    below = tl.zeros([BLOCK], tl.float64)
    tl.debug_barrier()
    for start in tl.range(0, count, BLOCK):
        index = start + tl.arange(0, BLOCK)
        _, key, weight = _load(source, index, index < count, floor, IS_WEIGHED)
        below += tl.where(key < end, weight, 0.0).to(tl.float64)
    return tl.sum(below, 0)


@triton.jit
def _cut(line, count, floor, last, room, BLOCK: tl.constexpr):
    """Drop the keys above `last`, and of those equal to it all but the first `room`."""
    num_tied = tl.zeros([], tl.int32)
    for start in tl.range(0, count, BLOCK):
        index = start + tl.arange(0, BLOCK)
        is_token = index < count
        _, key, _ = _load(line, index, is_token, floor, False)
        is_tied = key == last
        number = num_tied + tl.cumsum(is_tied.to(tl.int32), 0)
        # Logits below the floor have the last key of all.
        is_dropped = (key > last) | (is_tied & (number > room)) | (key == LAST_KEY)
        tl.store(line + index, float("-inf"), mask=is_token & is_dropped)
        num_tied += tl.sum(is_tied.to(tl.int32), 0)


@triton.jit
def _load(source, index, is_token, floor, IS_WEIGHED: tl.constexpr):
    """Return logits, keys, and weights, which without IS_WEIGHED are 1. Lanes beyond weigh 0."""
    logit = tl.load(source + index, mask=is_token, other=0.0)
    logit = tl.where(logit < floor, float("-inf"), logit)
    key = tl.abs(logit).to(tl.int32, bitcast=True)
    key = tl.where(is_token, key, ABOVE_ALL)
    weight = tl.where(is_token, 1.0, 0.0)
    if IS_WEIGHED:
        weight = tl.where(is_token, _weights(key), 0.0)
    return logit, key, weight


@triton.jit
def _weights(key):
    """Return the float32 weight of a key: torch's bits, as torch calls the same function."""
    return libdevice.exp(-key.to(tl.float32, bitcast=True))


@triton.jit
def _marks(low, high):
    """Return seven keys that split the keys from `low` to `high` into eight intervals."""
    part, rest = (high - low) >> 3, (high - low) & 7
    return (
        low + part + (rest >> 3),
        low + 2 * part + (2 * rest >> 3),
        low + 3 * part + (3 * rest >> 3),
        low + 4 * part + (4 * rest >> 3),
        low + 5 * part + (5 * rest >> 3),
        low + 6 * part + (6 * rest >> 3),
        low + 7 * part + (7 * rest >> 3),
    )


@triton.jit
def _add_weights(sums, key, weight, marks):
    """Return the sums with the weights of the keys up to each mark."""
    return (
        sums[0] + tl.where(key <= marks[0], weight, 0.0),
        sums[1] + tl.where(key <= marks[1], weight, 0.0),
        sums[2] + tl.where(key <= marks[2], weight, 0.0),
        sums[3] + tl.where(key <= marks[3], weight, 0.0),
        sums[4] + tl.where(key <= marks[4], weight, 0.0),
        sums[5] + tl.where(key <= marks[5], weight, 0.0),
        sums[6] + tl.where(key <= marks[6], weight, 0.0),
    )


@triton.jit
def _totals(sums):
    """Return the sums over the lanes of a block."""
    return (
        tl.sum(sums[0], 0).to(tl.float64),
        tl.sum(sums[1], 0).to(tl.float64),
        tl.sum(sums[2], 0).to(tl.float64),
        tl.sum(sums[3], 0).to(tl.float64),
        tl.sum(sums[4], 0).to(tl.float64),
        tl.sum(sums[5], 0).to(tl.float64),
        tl.sum(sums[6], 0).to(tl.float64),
    )


@triton.jit
def _between(low, high, marks, sums, below, goal, slack):
    """Return closer bounds: a mark that surely reaches the goal, after one that surely lacks.

    A goal of NaN is out of reach.
    """
    for i in tl.static_range(7):
        mark = tl.minimum(marks[i], high)
        mass = below + sums[i]
        new_high = tl.where(mass * (1 - slack) >= goal, mark, high)
        low = tl.where(mass * (1 + slack) >= goal, low, tl.maximum(low, mark + 1))
        high = new_high
    return tl.minimum(low, high), high


@triton.jit
def _count_to(missing, weight):
    """Return the least count of a weight that reaches `missing`, at least 1; int32."""
    count = tl.ceil(missing / weight)
    # The quotient is rounded; products near an integer decide.
    count = tl.where((count - 1) * weight >= missing, count - 1, count)
    count = tl.where(count * weight < missing, count + 1, count)
    count = tl.where(count >= 1, count, 1.0)  # also for NaN
    return tl.minimum(count, 2.0**30).to(tl.int32)


_BLOCK = 2048  # smaller ones in fewer warps spill registers
_LANES_OF_A_WARP = 128  # elements of a block: four for each thread, and so 16 bytes


class TritonTruncation:
    """Truncation by one launch, a program for each row. Implements `RowTruncation`."""

    name = "triton"
    skips_rows = True

    def truncate(self, scaled: Tensor, spare: Tensor, limits: Limits) -> None:
        """See `RowTruncation.truncate`."""
        num_rows, vocab_size = scaled.shape
        truncate_rows[(num_rows,)](
            scaled,
            spare,
            limits.least,
            limits.num_kept,
            limits.shares,
            vocab_size,
            BLOCK=_BLOCK,
            HAS_TOP_K=limits.has_top_k,
            HAS_TOP_P=limits.has_top_p,
            num_warps=_BLOCK // _LANES_OF_A_WARP,
            enable_fp_fusion=True,
        )
