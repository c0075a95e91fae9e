"""Weights in fp8 or mxfp4, widened to the model's dtype: each value times its scale, rounded once.

Values and scales are multiplied in float32. Called by `reading`.
"""

from __future__ import annotations

import torch

from yaie.models.quantization.float_formats import USUAL_BLOCK, VALUES_PER_SCALE, grid_of
from yaie.models.quantization.shapes import damaged

# The positive values of e2m1; the sign is the highest of its four bits.
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_BIAS = 127  # of an exponent of eight bits


def widen_float8(
    name: str,
    values: torch.Tensor,
    scales: torch.Tensor,
    block: tuple[int, int] | None,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Return weights of the shape of `values` [..., outputs, inputs].

    `scales`: one, one for each output, or one for each block; for each matrix. Raises
    `ModelUnsupported` for scales that are not finite.
    """
    factors = _factors(name, scales)
    if values.dim() == 2:
        return _scaled(values, factors, block).to(dtype)
    wide = torch.empty(values.shape, dtype=dtype)
    for matrix, part, factor in zip(wide, values, factors, strict=True):
        matrix.copy_(_scaled(part, factor, block))
    return wide


def _scaled(
    values: torch.Tensor, factors: torch.Tensor, block: tuple[int, int] | None
) -> torch.Tensor:
    outputs, inputs = values.shape
    if factors.numel() == 1:
        return values.float().mul_(factors.reshape(1, 1))
    if block is None and factors.shape[0] == outputs:
        return values.float().mul_(factors.reshape(outputs, 1))
    rows, columns = block or USUAL_BLOCK
    assert factors.shape == grid_of(outputs, inputs, (rows, columns))  # checked in the header
    by_row = factors.repeat_interleave(rows, 0)[:outputs]
    return values.float().mul_(by_row.repeat_interleave(columns, 1)[:, :inputs])


def _factors(name: str, scales: torch.Tensor) -> torch.Tensor:
    if scales.dtype is torch.uint8:
        scales = scales.view(torch.float8_e8m0fnu)
    factors = scales.float()
    if not bool(torch.isfinite(factors).all()):
        raise damaged(name, "its scales are not finite")
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
        raise damaged(name, "its scales are not finite")
    pairs = _pairs()
    num_experts, outputs, groups, _ = blocks.shape
    wide = torch.empty((num_experts, groups * VALUES_PER_SCALE, outputs), dtype=dtype)
    for expert, block, exponent in zip(wide, blocks, exponents, strict=True):
        values = torch.nn.functional.embedding(block.int(), pairs)  # [outputs, groups, 16, 2]
        factors = torch.exp2(exponent.float() - _BIAS)
        values.mul_(factors[..., None, None])
        expert.copy_(values.view(outputs, -1).T)
    return wide


def _pairs() -> torch.Tensor:
    """Return the two values of each byte, [256, 2]."""
    positive = torch.tensor(_E2M1)
    table = torch.cat((positive, -positive))
    byte = torch.arange(256)
    return torch.stack((table[byte & 0xF], table[byte >> 4]), dim=-1)
