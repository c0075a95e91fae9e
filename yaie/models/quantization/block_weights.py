"""Block weights: linear layers and embeddings that keep the blocks of a GGUF file.

The kernel library packs the blocks with the same numbers. Until then, and to compare, torch
decodes them at each call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from yaie.kernels import library_search
from yaie.kernels.decoder_structures import BLOCKS
from yaie.models.quantization.block_layout import block_of
from yaie.models.quantization.quantized_layers import Q8_0_INPUTS

_HALF_PRECISION = 2.0**-11  # the relative error of a float16 that was rounded
_SLICE_VALUES = 2**20  # decoded at once: the float32 values stay in the processor's cache


def decode_rows(kind: str, rows: torch.Tensor) -> torch.Tensor:
    """Return the values [rows, columns] of uint8 blocks [rows, bytes], in float32.

    The kernel library decodes the kinds with which it computes; `gguf` decodes other kinds, slower.
    """
    from yaie.models.files.gguf.tensor_kinds import decode  # see `block_of`

    library = library_search.load()
    if library is None or kind not in BLOCKS:
        return torch.from_numpy(decode(kind, rows.numpy()))
    block, rows = block_of(kind), rows.contiguous()
    decoded = torch.empty(len(rows), rows.shape[1] // block.nbytes * block.num_values)
    library.dequantize(rows.data_ptr(), decoded.data_ptr(), *decoded.shape, BLOCKS[kind])
    return decoded


def fit_in_q8_0(scales: torch.Tensor) -> bool:
    """Return True if float16 holds float32 scales with its whole precision, or exactly.

    Below 2^-14 it has fewer bits; from 65,520 on it is infinite.
    """
    rounded = scales.half().float()
    return bool(((rounded - scales).abs() <= _HALF_PRECISION * scales.abs()).all())


def encode_rows(kind: str, values: torch.Tensor) -> torch.Tensor:
    """Return uint8 blocks [rows, bytes] of values [rows, columns], rounded to nearest."""
    from gguf.constants import GGMLQuantizationType  # see `block_of`
    from gguf.quants import quantize

    return torch.from_numpy(quantize(values.numpy(), GGMLQuantizationType[kind]))


def make_q8_0(values: torch.Tensor, scales: torch.Tensor) -> BlockWeight:
    """Return blocks of int8 values [outputs, inputs] and scales [outputs, groups], in float16.

    A group is a multiple of 32 inputs; the scales fit, see `fit_in_q8_0`.
    """
    outputs, inputs = values.shape
    per_group = inputs // scales.shape[1] // Q8_0_INPUTS
    factors = scales.half().repeat_interleave(per_group, 1)[..., None].contiguous()
    blocks = values.view(outputs, -1, Q8_0_INPUTS).contiguous()
    rows = torch.cat((factors.view(torch.uint8), blocks.view(torch.uint8)), dim=-1)
    return BlockWeight("Q8_0", rows.view(outputs, -1))


@dataclass(frozen=True, slots=True)
class BlockWeight:
    """A matrix of GGUF blocks. Rows are outputs."""

    kind: str  # "Q4_K", ...
    rows: torch.Tensor  # uint8 [outputs, bytes of a row]; perhaps pages of the file
    order: torch.Tensor | None = None  # int64 [inputs]: input of each column; None: as they are

    @property
    def shape(self) -> tuple[int, int]:
        """The outputs and inputs."""
        return len(self.rows), self.rows.shape[1] // block_of(self.kind).nbytes * self._block

    @property
    def _block(self) -> int:
        return block_of(self.kind).num_values

    @property
    def format(self) -> tuple[object, ...]:
        """The properties that joined weights share."""
        return self.kind, self.rows.shape[1], None if self.order is None else id(self.order)

    @property
    def num_weights(self) -> int:
        """Number of weights."""
        outputs, inputs = self.shape
        return outputs * inputs

    def dequantize(self, dtype: torch.dtype) -> torch.Tensor:
        """Return the weights [outputs, inputs] in `dtype`."""
        whole = torch.empty(self.shape, dtype=dtype)
        for part, rows in zip(torch.split(whole, self._slice), self._slices(), strict=True):
            part.copy_(decode_rows(self.kind, rows))
        return whole if self.order is None else whole[:, self.order.argsort()]

    def multiply(self, x: torch.Tensor) -> torch.Tensor:
        """Return x W^T [..., outputs] for x [..., inputs], in float32; decodes part by part."""
        wide = (x if self.order is None else x[..., self.order]).float()
        parts = [
            nn.functional.linear(wide, decode_rows(self.kind, rows)) for rows in self._slices()
        ]
        return torch.cat(parts, dim=-1)

    def _slices(self) -> Sequence[torch.Tensor]:
        return torch.split(self.rows, self._slice)

    @property
    def _slice(self) -> int:
        """Outputs that are decoded at once."""
        return max(1, _SLICE_VALUES // self.shape[1])

    def nbytes(self, *, packed: bool) -> int:
        """Return the bytes of the blocks; packed ones take up to 4 % more."""
        del packed
        return self.rows.nbytes


def join_blocks(weights: Sequence[BlockWeight]) -> BlockWeight | None:
    """Concatenate weights along their outputs; return None if their formats differ."""
    if len(weights) == 1:
        return weights[0]
    if len({w.format for w in weights}) > 1 or any(w.order is not None for w in weights):
        return None
    return BlockWeight(weights[0].kind, torch.cat([weight.rows for weight in weights]))


class BlockEmbedding(nn.Embedding):
    """An embedding that decodes the rows that it looks up."""

    def __init__(self, blocks: BlockWeight, dtype: torch.dtype) -> None:
        num_rows, width = blocks.shape
        super().__init__(num_rows, width, _weight=torch.empty(num_rows, width, device="meta"))
        self.weight = nn.Parameter(torch.empty(0, dtype=dtype), requires_grad=False)
        self.blocks: BlockWeight | None = blocks

    def forward(self, token_ids: torch.Tensor) -> torch.Tensor:
        """Map token ids [...] to hidden states [..., width]."""
        if self.blocks is None:
            raise RuntimeError("the embedding was packed for the kernel library and freed here")
        rows = self.blocks.rows[token_ids.reshape(-1).cpu()]
        found = decode_rows(self.blocks.kind, rows).to(self.weight.dtype)
        return found.view(*token_ids.shape, self.embedding_dim)

    def free(self) -> None:
        """Free the blocks after packing."""
        self.blocks = None
