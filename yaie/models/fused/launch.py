"""Fused launches: block sizes, arguments and launches of the Triton kernels."""

from __future__ import annotations

import torch
import triton

from yaie.models.fused.kernels import gate_rows, norm_rows, rotate_rows
from yaie.models.fused.low_rank_launch import add_low_rank
from yaie.models.fused.operations import AdaptedRows, HeadOperation, LowRankPool, Store
from yaie.models.native.decoder_structure import ActivationName, Norm

_GATED_BLOCK = 1024
_ROTATED_BLOCK = 1024  # elements per program, over all its heads


class TritonOperations:
    """Operations with one kernel each. Implements `FusedOperations`."""

    name = "triton"
    stores = True

    def norm(self, rows: torch.Tensor, norm: Norm) -> torch.Tensor:
        """See `FusedOperations.norm`."""
        normed = torch.empty_like(rows, memory_format=torch.contiguous_format)
        _norm(rows, norm, normed)
        return normed

    def norm_in_place(self, rows: torch.Tensor, norm: Norm) -> None:
        """See `FusedOperations.norm_in_place`; a program loads its row before it stores."""
        _norm(rows, norm, rows)

    def add_norm(
        self,
        residual: torch.Tensor,
        rows: torch.Tensor,
        norm: Norm | None,
        *,
        factor: float = 1.0,
        first: Norm | None = None,
    ) -> torch.Tensor:
        """See `FusedOperations.add_norm`."""
        normed = residual if norm is None else torch.empty_like(residual)
        _norm(rows, norm, normed, residual=residual, factor=factor, first=first)
        return normed

    def gate(self, rows: torch.Tensor, activation: ActivationName) -> torch.Tensor:
        """See `FusedOperations.gate`."""
        count, width = rows.shape[0], rows.shape[1] // 2
        gated = torch.empty((count, width), dtype=rows.dtype, device=rows.device)
        if count:
            block = min(_GATED_BLOCK, block_of(width))
            gate_rows[(count, triton.cdiv(width, block))](
                rows,
                gated,
                rows.stride(0),
                WIDTH=width,
                BLOCK=block,
                IS_GELU=activation == "gelu",
                num_warps=4,
            )
        return gated

    def rotate(
        self,
        projected: torch.Tensor,
        positions: torch.Tensor,
        heads: HeadOperation,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """See `FusedOperations.rotate`."""
        shape = (len(projected), heads.num_kv_heads, heads.width)
        keys = torch.empty(shape, dtype=projected.dtype, device=projected.device)
        queries = _rotate(projected, positions, heads, Store(keys, keys, positions), stores=False)
        values = projected[:, (heads.num_heads + heads.num_kv_heads) * heads.width :]
        return queries, keys, values.view(shape)

    def rotate_and_store(
        self,
        projected: torch.Tensor,
        positions: torch.Tensor,
        heads: HeadOperation,
        store: Store,
    ) -> torch.Tensor:
        """See `FusedOperations.rotate_and_store`."""
        return _rotate(projected, positions, heads, store, stores=True)

    def add_low_rank(
        self, rows: torch.Tensor, output: torch.Tensor, pool: LowRankPool, adapted: AdaptedRows
    ) -> None:
        """See `FusedOperations.add_low_rank`, here in two launches."""
        add_low_rank(rows, output, pool, adapted)


def _rotate(
    projected: torch.Tensor,
    positions: torch.Tensor,
    heads: HeadOperation,
    store: Store,
    *,
    stores: bool,
) -> torch.Tensor:
    """Launch the rotation; arguments that a variant leaves unread are any tensor."""
    count, width = len(projected), heads.width
    queries = torch.empty(
        (count, heads.num_heads, width), dtype=projected.dtype, device=projected.device
    )
    if not count:
        return queries
    block = block_of(width)
    most = max(1, _ROTATED_BLOCK // block)
    query_block = min(most, block_of(heads.num_heads))
    kv_block = min(most, block_of(heads.num_kv_heads))
    programs = triton.cdiv(heads.num_heads, query_block)
    programs += triton.cdiv(heads.num_kv_heads, kv_block)
    rotary, query_norm, key_norm = heads.rotary, heads.query_norm, heads.key_norm
    rotate_rows[(count, programs)](
        projected,
        positions,
        *((projected, projected) if rotary is None else (rotary.cosines, rotary.sines)),
        *(projected if norm is None else norm.weight for norm in (query_norm, key_norm)),
        store.slots,
        queries,
        store.keys,
        store.values,
        *(0.0 if norm is None else norm.epsilon for norm in (query_norm, key_norm)),
        *(0.0 if norm is None else norm.offset for norm in (query_norm, key_norm)),
        projected.stride(0),
        *store.keys.stride()[:2],
        *store.values.stride()[:2],
        NUM_HEADS=heads.num_heads,
        NUM_KV_HEADS=heads.num_kv_heads,
        WIDTH=width,
        ROTATED=0 if rotary is None else rotary.width,
        BLOCK=block,
        QUERY_BLOCK=query_block,
        KV_BLOCK=kv_block,
        NEIGHBOURS=rotary is not None and rotary.neighbours,
        NORMS_QUERIES=query_norm is not None,
        NORMS_KEYS=key_norm is not None,
        STORES=stores,
        num_warps=4,
    )
    return queries


def _norm(
    rows: torch.Tensor,
    norm: Norm | None,
    normed: torch.Tensor,
    *,
    residual: torch.Tensor | None = None,
    factor: float = 1.0,
    first: Norm | None = None,
) -> None:
    """Launch the norm; arguments that a variant leaves unread are any tensor."""
    count, width = rows.shape
    if not count:
        return
    block = block_of(width)
    bias = None if norm is None else norm.bias
    norm_rows[(count,)](
        rows,
        normed if residual is None else residual,
        rows if first is None else first.weight,
        rows if norm is None else norm.weight,
        rows if bias is None else bias,
        normed,
        factor,
        *(0.0 if each is None else each.epsilon for each in (first, norm)),
        *(0.0 if each is None else each.offset for each in (first, norm)),
        rows.stride(0),
        normed.stride(0),
        WIDTH=width,
        BLOCK=block,
        ADDS=residual is not None,
        NORMS_FIRST=first is not None,
        NORMS=norm is not None,
        CENTRES=norm is not None and norm.centres,
        HAS_BIAS=bias is not None,
        num_warps=warps_of(block),
    )


def block_of(size: int) -> int:
    """Return the smallest power of two that is at least `size`."""
    return 1 << max(size - 1, 0).bit_length()


def warps_of(block: int) -> int:
    """Return the number of warps for `block` elements, so that a thread needs few registers."""
    return 4 if block <= 2048 else 8 if block <= 8192 else 16
