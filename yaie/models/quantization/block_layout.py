"""Block layout: which tensors of a GGUF file stay in their blocks on a CPU, and their bytes.

Linear layers and embeddings in a kind that the kernel library computes with stay as they are. Other
quantized kinds are decoded and held in Q8_0, whose error is far below theirs. Torch-free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TYPE_CHECKING

from yaie.kernels.decoder_structures import BLOCKS
from yaie.models.files.checkpoint import DTYPES, Checkpoint, StoredTensor

if TYPE_CHECKING:
    from yaie.models.files.gguf.tensor_kinds import TensorKind

HELD_AS = "Q8_0"  # kinds without a kernel
# Factors that a file packs in 6 bits take a byte once packed: see csrc/block_kinds.inl.
_PACKED_BYTES = {"Q3_K": 114, "Q4_K": 148, "Q5_K": 180, "IQ4_XS": 138}
_DECODING_BYTES = 16 * 1024**2  # decoded at once, to compare the packed model


@cache
def block_of(kind: str) -> TensorKind:
    """Return the size of a kind's blocks. Imports `gguf`, which models of other files lack."""
    from yaie.models.files.gguf.tensor_kinds import KINDS

    return KINDS[kind]


def held_kind(kind: str) -> str | None:
    """Return the kind in which a tensor of a kind is held; None: in a plain dtype."""
    if kind in BLOCKS:
        return kind
    return None if kind in DTYPES else HELD_AS


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """The tensors of a GGUF file that stay in blocks, and its plain tensors."""

    kept: tuple[StoredTensor, ...]
    plain: tuple[StoredTensor, ...]

    @property
    def requantized(self) -> Counter[str]:
        """Number of tensors by kind that are decoded and held in another kind."""
        return Counter(each.kind for each in self.kept if each.kind not in BLOCKS)

    def nbytes(self, wide: int, *, packed: bool) -> int:
        """Return the bytes in memory, with `wide` bytes per plain weight."""
        del packed
        plain = sum(prod(each.shape) for each in self.plain) * wide
        return plain + sum(
            held_nbytes(held_kind(each.kind) or HELD_AS, prod(each.shape)) for each in self.kept
        )

    def loading_nbytes(self, wide: int) -> int:
        """Return the peak bytes during loading; stored blocks are pages of the file."""
        return self.nbytes(wide, packed=True) + self.dequantizing_nbytes

    @property
    def dequantizing_nbytes(self) -> int:
        """Bytes of the part of a tensor that is decoded at once, to compare packed weights."""
        return _DECODING_BYTES


def held_nbytes(kind: str, num_weights: int) -> int:
    """Return the packed bytes of weights in blocks of a kind."""
    block = block_of(kind)
    return num_weights // block.num_values * _PACKED_BYTES.get(kind, block.nbytes)


def read_block_layout(checkpoint: Checkpoint, experts: Collection[str] = ()) -> BlockLayout | None:
    """Return the layout of a GGUF checkpoint without experts; None if no tensor has blocks.

    experts: names of tensors that are packed expert by expert.
    """
    tensors = {name: each for name, each in checkpoint.tensors.items() if name not in experts}
    kept = {
        name: tensor
        for name, tensor in tensors.items()
        if len(tensor.shape) == 2 and name.endswith(".weight") and held_kind(tensor.kind)
    }
    plain = tuple(each for name, each in tensors.items() if name not in kept)
    return BlockLayout(tuple(kept.values()), plain) if kept or experts else None


def holds_experts(checkpoint: Checkpoint) -> bool:
    """Return True if a GGUF checkpoint has experts, which its file stacks."""
    return any(".experts." in name for name in checkpoint.tensors)
