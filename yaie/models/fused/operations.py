"""The protocol of a decoder layer's fused operations.

Each computes in float32 and rounds its result once. `PlainOperations` is the oracle, and serves
where Triton cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from yaie.models.native.decoder_structure import ActivationName, Norm

PAGE_RANKS = 16  # the fewest that tensor cores multiply


@dataclass(frozen=True, slots=True)
class Rotary:
    """Rotary positions: tables in float32 [positions, pairs], for a head's first elements.

    A pair is element i and i + pairs, or with `neighbours` 2 i and 2 i + 1.
    """

    cosines: torch.Tensor
    sines: torch.Tensor
    neighbours: bool = False

    @property
    def width(self) -> int:
        """Number of rotated elements per head."""
        return 2 * self.cosines.shape[1]


@dataclass(frozen=True, slots=True)
class Store:
    """A layer in a pool without scales, and each row's slot; -1: the row is not stored."""

    keys: torch.Tensor  # [num_slots, num_kv_heads, width]
    values: torch.Tensor
    slots: torch.Tensor  # [rows]


@dataclass(frozen=True, slots=True)
class HeadOperation:
    """A projected row's heads: queries, keys and values; and what happens to the first two."""

    num_heads: int
    num_kv_heads: int
    width: int
    query_norm: Norm | None = None
    key_norm: Norm | None = None
    rotary: Rotary | None = None


@dataclass(frozen=True, slots=True)
class PageTables:
    """The pages of each adapter, on the device. An adapter's number there is its slot."""

    pages: torch.Tensor  # int32 [slots, most pages], in the order of an adapter's ranks
    owners: torch.Tensor  # int32 [pages]: the slot; below -1: free


@dataclass(frozen=True, slots=True)
class LowRankPool:
    """The low-rank weights of all adapters, for modules that read the same rows.

    A page has PAGE_RANKS ranks of one adapter in each module; ranks that it lacks are zeros.
    """

    down: torch.Tensor  # [pages, modules, PAGE_RANKS, inputs]
    up: torch.Tensor  # [pages, PAGE_RANKS, outputs]: of all modules, side by side
    used: torch.Tensor  # int32 [slots, modules]: number of pages with ranks of the module
    sizes: tuple[int, ...]  # outputs of each module
    tables: PageTables


@dataclass(frozen=True, slots=True)
class AdaptedRows:
    """A step's rows with adapters, on the device."""

    slots: torch.Tensor  # int32 [rows]; -1: the model alone
    blocks: torch.Tensor  # int32 [blocks, 3]: first row, number of rows (0: no work), slot
    block_rows: int  # most rows in a block


class FusedOperations(Protocol):
    """The operations between a decoder's matrix products and attention.

    Rows have elements in sequence; a residual is contiguous.
    """

    name: str
    stores: bool  # `rotate_and_store` takes one launch, and waits for nothing

    def norm(self, rows: torch.Tensor, norm: Norm) -> torch.Tensor:
        """Return the normed rows [rows, width], in their dtype."""

    def norm_in_place(self, rows: torch.Tensor, norm: Norm) -> None:
        """Norm rows [rows, width], which may be columns of wider ones."""

    def add_norm(
        self,
        residual: torch.Tensor,
        rows: torch.Tensor,
        norm: Norm | None,
        *,
        factor: float = 1.0,
        first: Norm | None = None,
    ) -> torch.Tensor:
        """Add `factor * rows` to the residual in place, and return the normalized residual.

        All are [rows, width]. The norm sees the sum as it is stored, rounded; without a norm the
        residual itself returns. `first`, an RMSNorm, norms the rows before they are added.
        """

    def gate(self, rows: torch.Tensor, activation: ActivationName) -> torch.Tensor:
        """Return activation(gates) * values; rows [rows, 2 * width] are gates, then values.

        "gelu" is its approximation by tanh.
        """

    def rotate(
        self,
        projected: torch.Tensor,
        positions: torch.Tensor,
        heads: HeadOperation,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return queries [rows, num_heads, width], keys [rows, num_kv_heads, width] and values.

        projected: [rows, (num_heads + 2 num_kv_heads) * width]; positions: [rows].
        Queries and keys are normed, then rotated; values are a view.
        """

    def rotate_and_store(
        self,
        projected: torch.Tensor,
        positions: torch.Tensor,
        heads: HeadOperation,
        store: Store,
    ) -> torch.Tensor:
        """Return the queries as `rotate`; keys and values go to their slots in the pool's dtype."""

    def add_low_rank(
        self, rows: torch.Tensor, output: torch.Tensor, pool: LowRankPool, adapted: AdaptedRows
    ) -> None:
        """Add the low-rank products of rows [rows, inputs] to their output [rows, outputs].

        Products in between are rounded to the pool's dtype. Rows without an adapter keep their
        bits.
        """
