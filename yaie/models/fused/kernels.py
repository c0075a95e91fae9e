"""Fused kernels: a decoder layer in Triton.

Each computes in float32 and rounds its results once.
"""

from __future__ import annotations

import triton
import triton.language as tl

GELU_SCALE = tl.constexpr(1.5957691216057308)  # 2 * sqrt(2 / pi)
GELU_CUBE = tl.constexpr(0.044715)


@triton.jit
def norm_rows(
    rows,
    residual,
    first_weight,
    weight,
    bias,
    normed,
    factor,
    first_epsilon,
    epsilon,
    first_offset,
    offset,
    row_stride,
    normed_stride,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    ADDS: tl.constexpr,
    NORMS_FIRST: tl.constexpr,
    NORMS: tl.constexpr,
    CENTRES: tl.constexpr,
    HAS_BIAS: tl.constexpr,
):
    """Norm the row that `program_id(0)` names; with ADDS, its sum with the residual.

    The residual has contiguous rows. The sum is stored in the residual, and normed as stored.
    With NORMS_FIRST the row is normed before it is added; without NORMS the sum is all.
    """
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    is_element = column < WIDTH
    x = tl.load(rows + row * row_stride + column, mask=is_element, other=0.0).to(tl.float32)
    if NORMS_FIRST:
        w = _weights(first_weight, column, is_element) + first_offset
        x = x * tl.rsqrt(tl.sum(x * x, 0) / WIDTH + first_epsilon) * w
    if ADDS:
        place = residual + row * WIDTH + column
        total = tl.load(place, mask=is_element, other=0.0).to(tl.float32) + x * factor
        stored = total.to(residual.dtype.element_ty)
        tl.store(place, stored, mask=is_element)
        x = stored.to(tl.float32)
    if NORMS:
        if CENTRES:
            x = tl.where(is_element, x - tl.sum(x, 0) / WIDTH, 0.0)
        w = _weights(weight, column, is_element) + offset
        y = x * tl.rsqrt(tl.sum(x * x, 0) / WIDTH + epsilon) * w
        if HAS_BIAS:
            y += _weights(bias, column, is_element)
        place = normed + row * normed_stride + column
        tl.store(place, y.to(normed.dtype.element_ty), mask=is_element)


@triton.jit
def gate_rows(
    rows,
    gated,
    row_stride,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    IS_GELU: tl.constexpr,
):
    """Gate one block in row `program_id(0)`: activation(gates) * values.

    gelu(x), approximated by tanh, equals x * sigmoid(2 * u) for tanh's argument u.
    """
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    is_element = column < WIDTH
    place = rows + row * row_stride + column
    x = tl.load(place, mask=is_element, other=0.0).to(tl.float32)
    value = tl.load(place + WIDTH, mask=is_element, other=0.0).to(tl.float32)
    exponent = x
    if IS_GELU:
        exponent = GELU_SCALE * (x + GELU_CUBE * x * x * x)
    y = x * tl.sigmoid(exponent) * value
    tl.store(gated + row * WIDTH + column, y.to(gated.dtype.element_ty), mask=is_element)


@triton.jit
def rotate_rows(
    projected,
    positions,
    cosines,
    sines,
    query_weight,
    key_weight,
    slots,
    queries,
    keys,
    values,
    query_epsilon,
    key_epsilon,
    query_offset,
    key_offset,
    row_stride,
    key_slot_stride,
    key_head_stride,
    value_slot_stride,
    value_head_stride,
    NUM_HEADS: tl.constexpr,
    NUM_KV_HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    ROTATED: tl.constexpr,
    BLOCK: tl.constexpr,
    QUERY_BLOCK: tl.constexpr,
    KV_BLOCK: tl.constexpr,
    NEIGHBOURS: tl.constexpr,
    NORMS_QUERIES: tl.constexpr,
    NORMS_KEYS: tl.constexpr,
    STORES: tl.constexpr,
):
    """Normalize and rotate a block of heads in row `program_id(0)`.

    Along `program_id(1)` the first programs have QUERY_BLOCK query heads each, the rest KV_BLOCK KV
    heads. With STORES, keys and values go to the row's slot, unless it is negative; without, the
    slot of keys is the row, and values stay where they are. A head's first ROTATED elements rotate
    in pairs (i, i + ROTATED / 2), or with NEIGHBOURS (2 i, 2 i + 1).
    """
    row = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    column = tl.arange(0, BLOCK)
    is_column = column < WIDTH
    is_turned = column < ROTATED
    if NEIGHBOURS:
        is_first = column % 2 == 0
        other = tl.where(is_first, column + 1, column - 1)
        angle = column // 2
    else:
        is_first = column < ROTATED // 2
        other = tl.where(is_first, column + ROTATED // 2, column - ROTATED // 2)
        angle = tl.where(is_first, column, column - ROTATED // 2)
    other = tl.where(is_turned, other, column)
    cosine = tl.full([BLOCK], 1.0, tl.float32)
    sine = tl.zeros([BLOCK], tl.float32)
    if ROTATED > 0:
        table = tl.load(positions + row).to(tl.int64) * (ROTATED // 2) + angle
        cosine = tl.load(cosines + table, mask=is_turned, other=1.0)
        sine = tl.load(sines + table, mask=is_turned, other=0.0)
        sine = tl.where(is_first, -sine, sine)
    source = projected + row * row_stride
    query_programs: tl.constexpr = (NUM_HEADS + QUERY_BLOCK - 1) // QUERY_BLOCK
    if block < query_programs:
        head = block * QUERY_BLOCK + tl.arange(0, QUERY_BLOCK)
        is_element = (head < NUM_HEADS)[:, None] & is_column[None, :]
        query = _rotate(
            source + head[:, None] * WIDTH, column, other, is_element, cosine, sine,
            query_weight, query_epsilon, query_offset, is_column, WIDTH, NORMS_QUERIES,
        )  # fmt: skip
        tl.store(
            queries + row * (NUM_HEADS * WIDTH) + head[:, None] * WIDTH + column[None, :],
            query.to(queries.dtype.element_ty),
            mask=is_element,
        )
    else:
        slot = row
        if STORES:
            slot = tl.load(slots + row).to(tl.int64)
        if slot >= 0:
            head = (block - query_programs) * KV_BLOCK + tl.arange(0, KV_BLOCK)
            is_element = (head < NUM_KV_HEADS)[:, None] & is_column[None, :]
            key_source = source + (NUM_HEADS + head[:, None]) * WIDTH
            key = _rotate(
                key_source, column, other, is_element, cosine, sine,
                key_weight, key_epsilon, key_offset, is_column, WIDTH, NORMS_KEYS,
            )  # fmt: skip
            place = slot * key_slot_stride + head[:, None] * key_head_stride + column[None, :]
            tl.store(keys + place, key.to(keys.dtype.element_ty), mask=is_element)
            if STORES:
                value = tl.load(
                    key_source + NUM_KV_HEADS * WIDTH + column[None, :], mask=is_element, other=0.0
                )
                place = slot * value_slot_stride + head[:, None] * value_head_stride
                tl.store(
                    values + place + column[None, :],
                    value.to(values.dtype.element_ty),
                    mask=is_element,
                )


@triton.jit
def _rotate(
    source,
    column,
    other,
    is_element,
    cosine,
    sine,
    weight,
    epsilon,
    offset,
    is_column,
    WIDTH: tl.constexpr,
    HAS_NORM: tl.constexpr,
):
    """Return heads [heads, BLOCK] normed and rotated; `other` is each element's partner."""
    x = tl.load(source + column[None, :], mask=is_element, other=0.0).to(tl.float32)
    y = tl.load(source + other[None, :], mask=is_element, other=0.0).to(tl.float32)
    if HAS_NORM:
        scale = tl.rsqrt(tl.sum(x * x, 1) / WIDTH + epsilon)[:, None]
        x *= scale * (_weights(weight, column, is_column) + offset)[None, :]
        y *= scale * (_weights(weight, other, is_column) + offset)[None, :]
    return x * cosine[None, :] + y * sine[None, :]


@triton.jit
def _weights(weight, column, is_column):
    """Load a norm's weights or bias."""
    return tl.load(weight + column, mask=is_column, other=0.0).to(tl.float32)
