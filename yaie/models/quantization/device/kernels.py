"""Product kernels in Triton: weight-only products that convert integers or fp8 in registers.

Integers minus their zero points are exact in 16 bits. The scale is applied to the float32 sum of a
group's products, so that nothing is rounded between the stored weights and the output. Only groups
smaller than a step scale, and round, each weight.
"""

from __future__ import annotations

import triton
import triton.language as tl

# 1024 and 128 as bits: with a small integer in the lowest bits, the number of their sum.
_FP16_1024 = tl.constexpr(0x6400)
_BF16_128 = tl.constexpr(0x4300)
# e4m3 bits placed at fp16's positions are the number divided by this: exponents differ by 8.
_FP8_FACTOR = tl.constexpr(256.0)


# One kernel for any number of rows: Triton would specialize for one row and for multiples of 16.
@triton.jit(do_not_specialize=["num_rows", "last_group", "steps_of_part"])
def multiply_rows(
    rows,
    values,
    scales,
    points,
    bias,
    output,
    num_rows,
    num_outputs,
    num_inputs,
    width,
    last_group,
    steps_of_part,
    row_stride,
    scale_stride,
    point_stride,
    output_stride,
    part_stride,
    KIND: tl.constexpr,
    GROUP: tl.constexpr,
    GROUPING: tl.constexpr,
    HAS_POINTS: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    IS_PADDED: tl.constexpr,
    IS_PART: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_OUTPUTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Multiply a block of rows with a block of outputs, over one split of the inputs.

    GROUPING: "one" scale for each output, "block": each step lies in one group, or "mixed". With
    IS_PART the sum is stored in the float32 sums of `program_id(2)`; else bias is added and the
    output rounded. Rows and outputs beyond the last are computed like the last, and not stored.
    """
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    column = tl.program_id(1) * BLOCK_OUTPUTS + tl.arange(0, BLOCK_OUTPUTS)
    part = tl.program_id(2)
    inner = tl.arange(0, BLOCK)
    from_row = tl.minimum(row, num_rows - 1).to(tl.int64)
    from_column = tl.minimum(column, num_outputs - 1)
    row_place = rows + from_row[:, None] * row_stride + inner[None, :]
    value_place = values + from_column.to(tl.int64)[None, :] * width + inner[:, None]
    scale_place = scales + from_column
    point_place = points + from_column
    total = tl.zeros([BLOCK_ROWS, BLOCK_OUTPUTS], tl.float32)
    zero = tl.zeros([BLOCK_OUTPUTS], tl.int32)
    if HAS_POINTS and GROUPING == "one":
        zero = tl.load(point_place).to(tl.int32)
    begin = part * steps_of_part
    end = tl.minimum(begin + steps_of_part, width // BLOCK)
    for step in range(begin, end):
        first = step * BLOCK
        stored = tl.load(value_place + first)
        low = stored
        if KIND == "int4":
            low = stored & 15
        total = _add_product(
            total, row_place, low, first, inner, num_inputs, last_group, scale_place, point_place,
            scale_stride, point_stride, zero,
            KIND, GROUP, GROUPING, HAS_POINTS, IS_PADDED,
        )  # fmt: skip
        if KIND == "int4":
            total = _add_product(
                total, row_place, stored >> 4, first + width, inner, num_inputs, last_group,
                scale_place, point_place, scale_stride, point_stride, zero,
                KIND, GROUP, GROUPING, HAS_POINTS, IS_PADDED,
            )  # fmt: skip
    if GROUPING == "one":
        total *= _scales(scale_place, KIND)[None, :]
    is_stored = (row < num_rows)[:, None] & (column < num_outputs)[None, :]
    if IS_PART:  # launches with few blocks: 32 bits count the sums
        place = (part * part_stride + row * output_stride)[:, None] + column[None, :]
        tl.store(output + place, total, mask=is_stored)
    else:
        if HAS_BIAS:
            total += tl.load(bias + from_column).to(tl.float32)[None, :]
        place = row.to(tl.int64)[:, None] * output_stride + column[None, :]
        tl.store(output + place, total.to(output.dtype.element_ty), mask=is_stored)


@triton.jit
def _add_product(
    total,
    row_place,
    stored,
    first,
    inner,
    num_inputs,
    last_group,
    scale_place,
    point_place,
    scale_stride,
    point_stride,
    zero,
    KIND: tl.constexpr,
    GROUP: tl.constexpr,
    GROUPING: tl.constexpr,
    HAS_POINTS: tl.constexpr,
    IS_PADDED: tl.constexpr,
):
    """Return the sum plus the product between stored weights and the inputs from `first` on."""
    if IS_PADDED:
        is_input = (first + inner < num_inputs)[None, :]
        x = tl.load(row_place + first, mask=is_input, other=0.0)
    else:
        x = tl.load(row_place + first)
    if GROUPING == "mixed":
        group = tl.minimum((first + inner) // GROUP, last_group)[:, None]
        zeros = tl.zeros_like(stored).to(tl.int32)
        if HAS_POINTS:
            zeros = tl.load(point_place[None, :] + group * point_stride).to(tl.int32)
        scale = _scales(scale_place[None, :] + group * scale_stride, KIND)
        wide = _numbers(stored, zeros, KIND, tl.float32) * scale
        return _product(x, wide.to(x.dtype), total)
    if GROUPING == "one":
        return _product(x, _numbers(stored, zero[None, :], KIND, x.dtype), total)
    group = tl.minimum(first // GROUP, last_group)  # padding has no group
    if HAS_POINTS:
        zero = tl.load(point_place + group * point_stride).to(tl.int32)
    scale = _scales(scale_place + group * scale_stride, KIND)
    product = _product(x, _numbers(stored, zero[None, :], KIND, x.dtype), tl.zeros_like(total))
    return total + product * scale[None, :]


@triton.jit
def _product(x, weights, total):
    """Return total + x weights; float32 operands are not cut to tf32."""
    if x.dtype == tl.float32:
        return tl.dot(x, weights, total, input_precision="ieee")
    return tl.dot(x, weights, total)


@triton.jit
def _scales(place, KIND: tl.constexpr):
    """Load scales in float32, with the factor that `_numbers` omits."""
    scale = tl.load(place).to(tl.float32)
    if KIND == "fp8":
        scale *= _FP8_FACTOR
    return scale


@triton.jit
def _numbers(stored, zero, KIND: tl.constexpr, dtype: tl.constexpr):
    """Return stored bytes minus integer zero points, exact in `dtype`; fp8 divided by a factor."""
    bits = stored.to(tl.uint16)
    if KIND == "fp8":
        placed = ((bits & 0x80) << 8) | ((bits & 0x7F) << 7)
        return placed.to(tl.float16, bitcast=True).to(dtype)
    if KIND == "int4" and dtype == tl.bfloat16:
        shifted = (bits | _BF16_128).to(tl.bfloat16, bitcast=True)
        return shifted - (zero + 136).to(tl.float32).to(tl.bfloat16)
    middle: tl.constexpr = 8 if KIND == "int4" else 128
    shifted = (bits | _FP16_1024).to(tl.float16, bitcast=True)
    return (shifted - (zero + (1024 + middle)).to(tl.float16)).to(dtype)


@triton.jit
def add_parts(
    parts,
    bias,
    output,
    num_outputs,
    part_stride,
    output_stride,
    NUM_PARTS: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add the float32 sums of all splits and the bias, in one order; round once."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    is_output = column < num_outputs
    total = tl.zeros([BLOCK], tl.float32)
    for part in tl.static_range(NUM_PARTS):
        place = parts + part * part_stride + row * num_outputs + column
        total += tl.load(place, mask=is_output, other=0.0)
    if HAS_BIAS:
        total += tl.load(bias + column, mask=is_output, other=0.0).to(tl.float32)
    place = output + row * output_stride + column
    tl.store(place, total.to(output.dtype.element_ty), mask=is_output)
