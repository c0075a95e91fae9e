"""Tree decode kernels in Triton: store new rows, compute partials of items, and merge them.

A partial is the softmax over one item's keys: its output, and the base-2 log-sum-exp of its scores.
Both are float32. A partial without a visible key has the log-sum-exp -inf and the output 0.
"""

from __future__ import annotations

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)
ITEM_WIDTH = tl.constexpr(8)
LARGEST_BYTE = tl.constexpr(127.0)
LEAST_MAGNITUDE = tl.constexpr(1e-30)  # as in yaie.kvcache.int8_rows
ROUNDER = tl.constexpr(12582912.0)  # 1.5 * 2**23: adding it leaves no bits for a fraction


@triton.jit
def attend_items(
    queries,
    keys,
    values,
    key_scales,
    value_scales,
    slots,
    items,
    num_items,
    positions,
    outputs,
    lses,
    scale,
    softcap,
    query_row_stride,
    query_head_stride,
    key_slot_stride,
    key_head_stride,
    value_slot_stride,
    value_head_stride,
    NUM_KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    KEY_WIDTH: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    KEY_BLOCK: tl.constexpr,
    VALUE_BLOCK: tl.constexpr,
    NARROW: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    WINDOW: tl.constexpr,
    HAS_SOFTCAP: tl.constexpr,
    IS_QUANTIZED: tl.constexpr,
):
    """Compute item `program_id(0)`'s partials for KV head `program_id(1)`'s query heads.

    Programs past the number of items exit, so the grid can be a capacity. NARROW and WIDE are a
    block's rows times the group size, 0 for a class without items.
    """
    item = tl.program_id(0)
    head = tl.program_id(1)
    if item < tl.load(num_items):
        fields = items + item * ITEM_WIDTH
        first_key = tl.load(fields)
        num_keys = tl.load(fields + 1)
        first_row = tl.load(fields + 2)
        num_rows = tl.load(fields + 3)
        first_position = tl.load(fields + 4)
        first_partial = tl.load(fields + 5)
        is_wide = tl.load(fields + 6)
        query_base = queries + head.to(tl.int64) * GROUP * query_head_stride
        key_base = keys + head.to(tl.int64) * key_head_stride
        value_base = values + head.to(tl.int64) * value_head_stride
        item_slots = slots + first_key
        if NARROW == 0 or (WIDE != 0 and is_wide != 0):
            _attend_block(
                query_base, key_base, value_base, key_scales + head, value_scales + head,
                item_slots, positions, outputs, lses, scale, softcap, query_row_stride,
                query_head_stride, key_slot_stride, value_slot_stride, head, num_keys, first_row,
                num_rows, first_position, first_partial, NUM_KV_HEADS, GROUP, KEY_WIDTH,
                VALUE_WIDTH, KEY_BLOCK, VALUE_BLOCK, WIDE, BLOCK_N, WINDOW, HAS_SOFTCAP,
                IS_QUANTIZED,
            )  # fmt: skip
        else:
            _attend_block(
                query_base, key_base, value_base, key_scales + head, value_scales + head,
                item_slots, positions, outputs, lses, scale, softcap, query_row_stride,
                query_head_stride, key_slot_stride, value_slot_stride, head, num_keys, first_row,
                num_rows, first_position, first_partial, NUM_KV_HEADS, GROUP, KEY_WIDTH,
                VALUE_WIDTH, KEY_BLOCK, VALUE_BLOCK, NARROW, BLOCK_N, WINDOW, HAS_SOFTCAP,
                IS_QUANTIZED,
            )  # fmt: skip


@triton.jit
def _attend_block(
    queries,
    keys,
    values,
    key_scales,
    value_scales,
    slots,
    positions,
    outputs,
    lses,
    scale,
    softcap,
    query_row_stride,
    query_head_stride,
    key_slot_stride,
    value_slot_stride,
    head,
    num_keys,
    first_row,
    num_rows,
    first_position,
    first_partial,
    NUM_KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    KEY_WIDTH: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    KEY_BLOCK: tl.constexpr,
    VALUE_BLOCK: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    WINDOW: tl.constexpr,
    HAS_SOFTCAP: tl.constexpr,
    IS_QUANTIZED: tl.constexpr,
):
    """Compute one item's partials; a block line is one query head of one row."""
    line = tl.arange(0, BLOCK_M)
    row = line // GROUP
    sub_head = line % GROUP
    is_live = row < num_rows
    key_column = tl.arange(0, KEY_BLOCK)
    value_column = tl.arange(0, VALUE_BLOCK)
    query_at = (first_row + row).to(tl.int64) * query_row_stride + sub_head * query_head_stride
    query = tl.load(
        queries + query_at[:, None] + key_column[None, :],
        mask=is_live[:, None] & (key_column < KEY_WIDTH)[None, :],
        other=0.0,
    )
    row_position = tl.load(positions + first_row + row, mask=is_live, other=-1)

    maximum = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    weighted = tl.zeros([BLOCK_M, VALUE_BLOCK], tl.float32)
    for start in range(0, num_keys, BLOCK_N):
        index = start + tl.arange(0, BLOCK_N)
        is_key = index < num_keys
        slot = tl.load(slots + index, mask=is_key, other=0).to(tl.int64)
        key = tl.load(
            keys + slot[None, :] * key_slot_stride + key_column[:, None],
            mask=is_key[None, :] & (key_column < KEY_WIDTH)[:, None],
            other=0.0,
        )
        scores = tl.dot(query, _as(key, query), input_precision="ieee") * scale
        if IS_QUANTIZED:
            key_scale = tl.load(key_scales + slot * NUM_KV_HEADS, mask=is_key, other=0.0)
            scores *= key_scale[None, :]
        if HAS_SOFTCAP:  # tanh x = 1 - 2 / (1 + e**2x), which saturates where e**2x overflows
            scores = softcap - 2 * softcap / (1 + tl.exp2(scores * (2 * LOG2_E / softcap)))
        scores *= LOG2_E
        distance = row_position[:, None] - (first_position + index)[None, :]
        is_visible = is_key[None, :] & (distance >= 0)
        if WINDOW > 0:
            is_visible = is_visible & (distance < WINDOW)
        scores = tl.where(is_visible, scores, float("-inf"))

        new_maximum = tl.maximum(maximum, tl.max(scores, 1))
        finite = tl.where(new_maximum == float("-inf"), 0.0, new_maximum)  # -inf - -inf is NaN
        weights = tl.exp2(scores - finite[:, None])
        factor = tl.exp2(maximum - finite)
        total = total * factor + tl.sum(weights, 1)
        maximum = new_maximum
        value = tl.load(
            values + slot[:, None] * value_slot_stride + value_column[None, :],
            mask=is_key[:, None] & (value_column < VALUE_WIDTH)[None, :],
            other=0.0,
        )
        if IS_QUANTIZED:
            value_scale = tl.load(value_scales + slot * NUM_KV_HEADS, mask=is_key, other=0.0)
            weights *= value_scale[None, :]
        weighted = weighted * factor[:, None]
        weighted = tl.dot(
            weights.to(query.dtype), _as(value, query), weighted, input_precision="ieee"
        )

    is_empty = total == 0.0
    divisor = tl.where(is_empty, 1.0, total)
    pair = (first_partial + row).to(tl.int64) * (NUM_KV_HEADS * GROUP) + head * GROUP + sub_head
    tl.store(
        outputs + pair[:, None] * VALUE_WIDTH + value_column[None, :],
        weighted / divisor[:, None],
        mask=is_live[:, None] & (value_column < VALUE_WIDTH)[None, :],
    )
    lse = tl.where(is_empty, float("-inf"), maximum + tl.log2(divisor))
    tl.store(lses + pair, lse, mask=is_live)


@triton.jit
def _as(stored, query):
    """Return stored keys or values in the query's dtype; int8 and fp8 are exact in it."""
    if stored.dtype == query.dtype:
        return stored
    else:  # noqa: RET505, a jit function has one return a branch
        return stored.to(tl.float32).to(query.dtype)


@triton.jit
def merge_partials(
    partial_outputs,
    partial_lses,
    indptr,
    partials,
    sinks,
    outputs,
    NUM_HEADS: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    VALUE_BLOCK: tl.constexpr,
    BLOCK_H: tl.constexpr,
    HAS_SINKS: tl.constexpr,
):
    """Merge row `program_id(0)`'s partials for BLOCK_H query heads; zeros without partials.

    Sinks join the denominator here, once for the whole path.
    """
    row = tl.program_id(0)
    head = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    column = tl.arange(0, VALUE_BLOCK)
    is_head = head < NUM_HEADS
    is_element = is_head[:, None] & (column < VALUE_WIDTH)[None, :]
    maximum = tl.full([BLOCK_H], float("-inf"), tl.float32)
    if HAS_SINKS:
        maximum = tl.load(sinks + head, mask=is_head, other=float("-inf")).to(tl.float32) * LOG2_E
    total = tl.where(maximum == float("-inf"), 0.0, 1.0)
    weighted = tl.zeros([BLOCK_H, VALUE_BLOCK], tl.float32)
    for index in range(tl.load(indptr + row), tl.load(indptr + row + 1)):
        pair = tl.load(partials + index).to(tl.int64) * NUM_HEADS + head
        lse = tl.load(partial_lses + pair, mask=is_head, other=float("-inf"))
        output = tl.load(
            partial_outputs + pair[:, None] * VALUE_WIDTH + column[None, :],
            mask=is_element,
            other=0.0,
        )
        new_maximum = tl.maximum(maximum, lse)
        finite = tl.where(new_maximum == float("-inf"), 0.0, new_maximum)
        factor = tl.exp2(maximum - finite)
        weight = tl.exp2(lse - finite)
        weighted = weighted * factor[:, None] + output * weight[:, None]
        total = total * factor + weight
        maximum = new_maximum
    merged = weighted / tl.where(total == 0.0, 1.0, total)[:, None]
    place = row.to(tl.int64) * (NUM_HEADS * VALUE_WIDTH)
    tl.store(
        outputs + place + head[:, None] * VALUE_WIDTH + column[None, :],
        merged.to(outputs.dtype.element_ty),
        mask=is_element,
    )


@triton.jit
def write_rows(
    new_keys,
    new_values,
    keys,
    values,
    key_scales,
    value_scales,
    rows,
    slots,
    num_rows,
    new_key_row_stride,
    new_key_head_stride,
    new_value_row_stride,
    new_value_head_stride,
    key_slot_stride,
    key_head_stride,
    value_slot_stride,
    value_head_stride,
    NUM_KV_HEADS: tl.constexpr,
    KEY_WIDTH: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    KEY_BLOCK: tl.constexpr,
    VALUE_BLOCK: tl.constexpr,
    BLOCK_H: tl.constexpr,
    IS_QUANTIZED: tl.constexpr,
):
    """Write row `program_id(0)`'s new keys and values into its slot."""
    index = tl.program_id(0)
    if index < tl.load(num_rows):
        row = tl.load(rows + index).to(tl.int64)
        slot = tl.load(slots + index).to(tl.int64)
        _write_heads(
            new_keys + row * new_key_row_stride, new_key_head_stride,
            keys + slot * key_slot_stride, key_head_stride, key_scales + slot * NUM_KV_HEADS,
            NUM_KV_HEADS, KEY_WIDTH, KEY_BLOCK, BLOCK_H, IS_QUANTIZED,
        )  # fmt: skip
        _write_heads(
            new_values + row * new_value_row_stride, new_value_head_stride,
            values + slot * value_slot_stride, value_head_stride,
            value_scales + slot * NUM_KV_HEADS,
            NUM_KV_HEADS, VALUE_WIDTH, VALUE_BLOCK, BLOCK_H, IS_QUANTIZED,
        )  # fmt: skip


@triton.jit
def _write_heads(
    source,
    source_head_stride,
    target,
    target_head_stride,
    scales,
    NUM_KV_HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_H: tl.constexpr,
    IS_QUANTIZED: tl.constexpr,
):
    """Write all heads of a row, rounded to the target's dtype, or to int8 with a scale each."""
    head = tl.arange(0, BLOCK_H).to(tl.int64)
    column = tl.arange(0, BLOCK)
    is_head = head < NUM_KV_HEADS
    is_element = is_head[:, None] & (column < WIDTH)[None, :]
    row = tl.load(
        source + head[:, None] * source_head_stride + column[None, :], mask=is_element, other=0.0
    )
    if IS_QUANTIZED:
        wide = row.to(tl.float32)
        # A NaN makes the largest magnitude NaN or hides; `is_finite` sees each element.
        is_finite = tl.min((tl.abs(wide) < float("inf")).to(tl.int32), 1) == 1
        largest = tl.max(tl.abs(wide), 1)
        is_spread = is_finite & (largest > LEAST_MAGNITUDE)
        factor = tl.where(is_spread, LARGEST_BYTE / tl.where(is_spread, largest, 1.0), 0.0)
        scale = tl.where(is_spread, largest / LARGEST_BYTE, 0.0)
        tl.store(scales + head, tl.where(is_finite, scale, float("nan")), mask=is_head)
        wide = tl.where(is_finite[:, None], wide, 0.0)
        row = (wide * factor[:, None] + ROUNDER) - ROUNDER
    tl.store(
        target + head[:, None] * target_head_stride + column[None, :],
        row.to(target.dtype.element_ty),
        mask=is_element,
    )
