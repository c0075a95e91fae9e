"""The decoding of GGUF blocks to float32, one function for each kind.

A function takes bytes [..., bytes of a block] and returns values [..., values of a block]. Scales
are float16. In kinds of 256 values, groups of 16 or 32 have integer scales of their own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from yaie.models.files.gguf.tensor_kinds import KINDS


def decode(kind: str, raw: torch.Tensor) -> torch.Tensor:
    """Return float32 [rows, columns] from the bytes [rows, bytes of a row] of a kind."""
    block = KINDS[kind]
    blocks = raw.reshape(len(raw), -1, block.nbytes)
    return _DECODERS[kind](blocks).reshape(len(raw), -1)


def _plain(dtype: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    def decode_plain(blocks: torch.Tensor) -> torch.Tensor:
        return blocks.contiguous().view(dtype).float()

    return decode_plain


def _q8_0(blocks: torch.Tensor) -> torch.Tensor:
    return _signed(blocks[..., 2:34]) * _scale(blocks, 0)


def _q4_0(blocks: torch.Tensor) -> torch.Tensor:
    return (_halves(blocks[..., 2:18]).float() - 8) * _scale(blocks, 0)


def _q4_1(blocks: torch.Tensor) -> torch.Tensor:
    return _halves(blocks[..., 4:20]).float() * _scale(blocks, 0) + _scale(blocks, 2)


def _q5_0(blocks: torch.Tensor) -> torch.Tensor:
    values = _halves(blocks[..., 6:22]) | _fifth_bits(blocks[..., 2:6])
    return (values.float() - 16) * _scale(blocks, 0)


def _q5_1(blocks: torch.Tensor) -> torch.Tensor:
    values = _halves(blocks[..., 8:24]) | _fifth_bits(blocks[..., 4:8])
    return values.float() * _scale(blocks, 0) + _scale(blocks, 2)


def _q4_k(blocks: torch.Tensor) -> torch.Tensor:
    groups = blocks[..., 16:144].reshape(*blocks.shape[:-1], 4, 32)
    values = torch.stack((groups & 0xF, groups >> 4), dim=-2).flatten(-3, -2)  # [..., 8, 32]
    return _with_minima(blocks, values)


def _q5_k(blocks: torch.Tensor) -> torch.Tensor:
    groups = blocks[..., 48:176].reshape(*blocks.shape[:-1], 4, 32)
    values = torch.stack((groups & 0xF, groups >> 4), dim=-2).flatten(-3, -2)
    bits = torch.arange(8, dtype=torch.uint8)[:, None]  # bit i of a byte belongs to group i
    high = (blocks[..., None, 16:48] >> bits) & 1
    return _with_minima(blocks, values | (high << 4))


def _q6_k(blocks: torch.Tensor) -> torch.Tensor:
    low = blocks[..., :128].reshape(*blocks.shape[:-1], 2, 64)  # of two halves of 128 values
    low = torch.stack((low & 0xF, low >> 4), dim=-2).flatten(-2, -1)  # [..., 2, 128]
    high = blocks[..., 128:192].reshape(*blocks.shape[:-1], 2, 1, 32)
    shifts = torch.tensor([0, 2, 4, 6], dtype=torch.uint8)[:, None]
    high = ((high >> shifts) & 3).flatten(-2, -1)
    values = (low | (high << 4)).float() - 32
    scales = _signed(blocks[..., 192:208]) * _scale(blocks, 208)
    return values.reshape(*blocks.shape[:-1], 16, 16) * scales[..., None]


def _with_minima(blocks: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return the values [..., 8, 32] times their scales, less their minima.

    Both are 6 bits: 4 groups have them in the first 8 bytes, the others share the bits left over.
    """
    packed = blocks[..., 4:16].reshape(*blocks.shape[:-1], 3, 4)
    first, second, third = packed[..., 0, :], packed[..., 1, :], packed[..., 2, :]
    scales = torch.cat((first & 63, (third & 0xF) | ((first >> 6) << 4)), dim=-1)
    minima = torch.cat((second & 63, (third >> 4) | ((second >> 6) << 4)), dim=-1)
    scale = scales.float() * _scale(blocks, 0)
    minimum = minima.float() * _scale(blocks, 2)
    return values.float() * scale[..., None] - minimum[..., None]


def _scale(blocks: torch.Tensor, first_byte: int) -> torch.Tensor:
    """Return a float16 of each block, as float32 [..., 1]."""
    return blocks[..., first_byte : first_byte + 2].contiguous().view(torch.float16).float()


def _signed(values: torch.Tensor) -> torch.Tensor:
    return values.contiguous().view(torch.int8).float()


def _halves(packed: torch.Tensor) -> torch.Tensor:
    """Return the lower halves of all bytes, then the upper ones."""
    return torch.cat((packed & 0xF, packed >> 4), dim=-1)


def _fifth_bits(packed: torch.Tensor) -> torch.Tensor:
    """Return 32 bits of 4 bytes, each in the place of the fifth bit."""
    shifts = torch.arange(8, dtype=torch.uint8)
    bits: torch.Tensor = (packed[..., None] >> shifts) & 1
    return bits.flatten(-2, -1) << 4


_DECODERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "F32": _plain(torch.float32),
    "F16": _plain(torch.float16),
    "BF16": _plain(torch.bfloat16),
    "Q8_0": _q8_0,
    "Q6_K": _q6_k,
    "Q5_K": _q5_k,
    "Q5_1": _q5_1,
    "Q5_0": _q5_0,
    "Q4_K": _q4_k,
    "Q4_1": _q4_1,
    "Q4_0": _q4_0,
}
