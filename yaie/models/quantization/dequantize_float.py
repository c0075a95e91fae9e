"""Float dequantization: widens fp8, mxfp4 and nvfp4 weights to the model's dtype.

Each value is multiplied by its scale in float32, and rounded once. Called by `readers`.
"""

from __future__ import annotations

import torch

from yaie.models.quantization.float_formats import (
    USUAL_BLOCK,
    VALUES_PER_NVFP4_SCALE,
    VALUES_PER_SCALE,
    grid_of,
)
from yaie.models.quantization.tensor_shapes import damage_error

# The positive e2m1 values; the highest of the four bits is the sign.
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_BIAS = 127  # eight-bit exponent
_SLICE_VALUES = 2**18  # per chunk: float32 stays in the processor's cache


def widen_float8(
    name: str,
    values: torch.Tensor,
    scales: torch.Tensor,
    block: tuple[int, int] | None,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Return weights in the shape of `values` [..., outputs, inputs].

    `scales`: one, one for each output, or one for each block; for each matrix. Raises
    `ModelUnsupported` for scales that are not finite.
    """
    factors = _factors(name, scales)
    wide = torch.empty(values.shape, dtype=dtype)
    if values.dim() == 2:
        _widen_matrix(wide, values, factors, block)
        return wide
    for matrix, part, factor in zip(wide, values, factors, strict=True):
        _widen_matrix(matrix, part, factor, block)
    return wide


def _widen_matrix(
    wide: torch.Tensor,
    values: torch.Tensor,
    factors: torch.Tensor,
    block: tuple[int, int] | None,
) -> None:
    """Widen whole block rows at a time: float32 stays small, also in several threads."""
    outputs, inputs = values.shape
    rows, columns = block or USUAL_BLOCK
    if factors.numel() == 1:
        rows, columns, factors = 1, inputs, factors.reshape(1, 1).expand(outputs, 1)
    elif block is None and factors.shape[0] == outputs:
        rows, columns, factors = 1, inputs, factors.reshape(outputs, 1)
    assert factors.shape == grid_of(outputs, inputs, (rows, columns))  # checked in the header
    step = max(1, _SLICE_VALUES // (inputs * rows))  # rows of blocks
    for first in range(0, factors.shape[0], step):
        part = slice(first * rows, (first + step) * rows)
        factor = factors[first : first + step].repeat_interleave(columns, 1)[:, :inputs]
        slab = values[part].float()
        wide[part] = slab.mul_(factor.repeat_interleave(rows, 0)[: len(slab)])


def scales_by_output(
    name: str, scales: torch.Tensor, outputs: int, block: tuple[int, int] | None
) -> torch.Tensor:
    """Return a matrix's float32 scales, [outputs, 1] or [outputs, input blocks].

    Raises `ModelUnsupported` for scales that are not finite.
    """
    factors = _factors(name, scales)
    if factors.numel() == 1:
        return factors.reshape(1, 1).expand(outputs, 1)
    if block is None and factors.shape[0] == outputs:
        return factors.reshape(outputs, 1)
    return factors.repeat_interleave((block or USUAL_BLOCK)[0], 0)[:outputs]


def _factors(name: str, scales: torch.Tensor) -> torch.Tensor:
    if scales.dtype is torch.uint8:
        scales = scales.view(torch.float8_e8m0fnu)
    factors = scales.float()
    if factors.dim() == 4:  # [rows, 1, columns, 1]
        factors = factors[:, 0, :, 0]
    if not bool(torch.isfinite(factors).all()):
        raise damage_error(name, "its scales are not finite")
    return factors


def widen_mxfp4(
    name: str, blocks: torch.Tensor, exponents: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """Return the experts' weights [experts, inputs, outputs].

    `blocks`: uint8 [experts, outputs, groups, 16], the first of two values in the lower half;
    `exponents`: uint8 [experts, outputs, groups]. Raises `ModelUnsupported` for scales that are not
    finite.
    """
    if bool((exponents == 255).any()):  # not a number
        raise damage_error(name, "its scales are not finite")
    # Values and powers of two are exact in bfloat16, and so are their products.
    compute = torch.bfloat16 if dtype is torch.bfloat16 else torch.float32
    pairs = _pairs(compute)
    num_experts, outputs, groups, _ = blocks.shape
    wide = torch.empty((num_experts, groups * VALUES_PER_SCALE, outputs), dtype=dtype)
    step = max(1, _SLICE_VALUES // (groups * VALUES_PER_SCALE))
    for expert, block, exponent in zip(wide, blocks, exponents, strict=True):
        for first in range(0, outputs, step):
            part = slice(first, first + step)
            words = pairs.index_select(0, block[part].flatten().int())
            values = words.view(compute).view(-1, groups, VALUES_PER_SCALE)
            factors = torch.exp2(exponent[part].float() - _BIAS).to(compute)
            expert[:, part] = values.mul_(factors[..., None]).flatten(1).T
    return wide


def widen_nvfp4(
    name: str,
    packed: torch.Tensor,
    scales: torch.Tensor,
    factor: torch.Tensor,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Return weights [outputs, inputs].

    `packed`: uint8 [outputs, inputs / 2], the first of two values in the lower half; `scales`:
    e4m3 [outputs, inputs / 16], all multiplied by `factor`. Raises `ModelUnsupported` for scales
    that are not finite.
    """
    factors = _factors(name, scales.float() * factor)
    outputs, half = packed.shape
    pairs = _pairs(torch.float32)
    wide = torch.empty((outputs, 2 * half), dtype=dtype)
    step = max(1, _SLICE_VALUES // (2 * half))
    for first in range(0, outputs, step):
        part = slice(first, first + step)
        words = pairs.index_select(0, packed[part].flatten().int())
        values = words.view(torch.float32).view(-1, factors.shape[1], VALUES_PER_NVFP4_SCALE)
        wide[part] = values.mul_(factors[part, :, None]).flatten(1)
    return wide


def _pairs(dtype: torch.dtype) -> torch.Tensor:
    """Return each byte's two values, [256], as an integer with their bits."""
    positive = torch.tensor(_E2M1)
    table = torch.cat((positive, -positive))
    byte = torch.arange(256)
    both = torch.stack((table[byte & 0xF], table[byte >> 4]), dim=-1).to(dtype)
    return both.view(torch.int32 if dtype is torch.bfloat16 else torch.int64).flatten()
