"""Low-rank kernels: the products that adapters add to a decoder's rows, in Triton.

A block has rows of one adapter. `shrink_rows` maps them to its ranks, `expand_rows` maps ranks to
outputs and adds these to what the layer computed. Programs without work end at once, so that a
captured launch serves any adapters.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["steps_of_part", "part_stride"])
def shrink_rows(
    rows,
    down,
    middle,
    blocks,
    used,
    pages,
    row_stride,
    num_inputs,
    steps_of_part,
    part_stride,
    NUM_MODULES: tl.constexpr,
    MOST_PAGES: tl.constexpr,
    RANKS: tl.constexpr,
    IS_PADDED: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Multiply block `program_id(0)` with the ranks of a module, over one split of the inputs.

    The float32 sums [parts, rows, modules, ranks] of ranks that an adapter lacks stay unwritten.
    """
    block = tl.program_id(0)
    module = tl.program_id(1)
    part = tl.program_id(2)
    first_row = tl.load(blocks + 3 * block)
    count = tl.load(blocks + 3 * block + 1)
    if count > 0:
        slot = tl.load(blocks + 3 * block + 2)
        inner = tl.arange(0, BLOCK)
        rank = tl.arange(0, RANKS)
        line = tl.arange(0, BLOCK_ROWS)
        is_row = line < count
        row = (first_row + tl.where(is_row, line, 0)).to(tl.int64)
        row_place = rows + row[:, None] * row_stride + inner[None, :]
        sum_place = middle + part.to(tl.int64) * part_stride
        sum_place += (row * NUM_MODULES + module)[:, None] * (MOST_PAGES * RANKS) + rank[None, :]
        begin = part * steps_of_part
        end = tl.minimum(begin + steps_of_part, tl.cdiv(num_inputs, BLOCK))
        for index in range(tl.load(used + slot * NUM_MODULES + module)):
            page = tl.load(pages + slot * MOST_PAGES + index).to(tl.int64)
            weight_row = (page * NUM_MODULES + module) * RANKS + rank
            weight_place = down + weight_row[None, :] * num_inputs + inner[:, None]
            total = tl.zeros([BLOCK_ROWS, RANKS], tl.float32)
            for step in range(begin, end):
                first = step * BLOCK
                if IS_PADDED:
                    is_input = first + inner < num_inputs
                    x = tl.load(row_place + first, mask=is_input[None, :], other=0.0)
                    w = tl.load(weight_place + first, mask=is_input[:, None], other=0.0)
                else:
                    x = tl.load(row_place + first)
                    w = tl.load(weight_place + first)
                total = tl.dot(x, w, total, input_precision="ieee")
            tl.store(sum_place + index * RANKS, total, mask=is_row[:, None])


@triton.jit(do_not_specialize=["part_stride"])
def expand_rows(
    middle,
    up,
    output,
    blocks,
    used,
    pages,
    output_stride,
    num_outputs,
    part_stride,
    FIRST_SIZE: tl.constexpr,
    SECOND_SIZE: tl.constexpr,
    THIRD_SIZE: tl.constexpr,
    NUM_MODULES: tl.constexpr,
    NUM_PARTS: tl.constexpr,
    MOST_PAGES: tl.constexpr,
    RANKS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_OUTPUTS: tl.constexpr,
):
    """Add the product of block `program_id(0)` to some outputs of one module; round once.

    Along `program_id(1)` the outputs of each module are cut by themselves.
    """
    block = tl.program_id(0)
    first_row = tl.load(blocks + 3 * block)
    count = tl.load(blocks + 3 * block + 1)
    if count > 0:
        slot = tl.load(blocks + 3 * block + 2)
        before_second: tl.constexpr = (FIRST_SIZE + BLOCK_OUTPUTS - 1) // BLOCK_OUTPUTS
        before_third: tl.constexpr = (
            before_second + (SECOND_SIZE + BLOCK_OUTPUTS - 1) // BLOCK_OUTPUTS
        )
        module = tl.program_id(1) * 0
        place = tl.program_id(1)
        begin = module
        size = module + FIRST_SIZE
        if tl.program_id(1) >= before_third:
            module += 2
            place -= before_third
            begin += FIRST_SIZE + SECOND_SIZE
            size += THIRD_SIZE - FIRST_SIZE
        elif tl.program_id(1) >= before_second:
            module += 1
            place -= before_second
            begin += FIRST_SIZE
            size += SECOND_SIZE - FIRST_SIZE
        num_used = tl.load(used + slot * NUM_MODULES + module)
        if num_used > 0:
            rank = tl.arange(0, RANKS)
            column = place * BLOCK_OUTPUTS + tl.arange(0, BLOCK_OUTPUTS)
            is_column = column < size
            column += begin
            line = tl.arange(0, BLOCK_ROWS)
            is_row = line < count
            row = (first_row + tl.where(is_row, line, 0)).to(tl.int64)
            sum_row = (row * NUM_MODULES + module)[:, None] * (MOST_PAGES * RANKS)
            sum_place = middle + sum_row + rank[None, :]
            total = tl.zeros([BLOCK_ROWS, BLOCK_OUTPUTS], tl.float32)
            for index in range(num_used):
                page = tl.load(pages + slot * MOST_PAGES + index).to(tl.int64)
                h = tl.zeros([BLOCK_ROWS, RANKS], tl.float32)
                for part in tl.static_range(NUM_PARTS):
                    h += tl.load(sum_place + index * RANKS + part * part_stride)
                weight_row = (page * RANKS + rank)[:, None] * num_outputs
                w = tl.load(up + weight_row + column[None, :], mask=is_column[None, :], other=0.0)
                total = tl.dot(h.to(w.dtype), w, total, input_precision="ieee")
            output_place = output + row[:, None] * output_stride + column[None, :]
            is_stored = is_row[:, None] & is_column[None, :]
            total += tl.load(output_place, mask=is_stored, other=0.0).to(tl.float32)
            tl.store(output_place, total.to(output.dtype.element_ty), mask=is_stored)
