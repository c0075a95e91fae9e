"""Plain operations: the fused operations in torch, and the choice between torch and Triton."""

from __future__ import annotations

import logging
from importlib.util import find_spec

import torch
import torch.nn.functional as F

from yaie.models.fused.operations import (
    AdaptedRows,
    FusedOperations,
    HeadOperation,
    LowRankPool,
    Rotary,
    Store,
)
from yaie.models.native.decoder_structure import ActivationName, Norm

log = logging.getLogger(__name__)


class PlainOperations:
    """Operations with several torch calls each. Implements `FusedOperations`."""

    name = "plain"
    stores = False

    def norm(self, rows: torch.Tensor, norm: Norm) -> torch.Tensor:
        """See `FusedOperations.norm`."""
        return normalize(rows.float(), norm).to(rows.dtype)

    def norm_in_place(self, rows: torch.Tensor, norm: Norm) -> None:
        """See `FusedOperations.norm_in_place`."""
        rows.copy_(self.norm(rows, norm))

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
        wide = rows.float() if first is None else normalize(rows.float(), first)
        residual.copy_(residual.float() + wide * factor)
        return residual if norm is None else self.norm(residual, norm)

    def gate(self, rows: torch.Tensor, activation: ActivationName) -> torch.Tensor:
        """See `FusedOperations.gate`."""
        gates, values = rows.float().chunk(2, -1)
        active = F.silu(gates) if activation == "silu" else F.gelu(gates, approximate="tanh")
        return (active * values).to(rows.dtype)

    def rotate(
        self,
        projected: torch.Tensor,
        positions: torch.Tensor,
        heads: HeadOperation,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """See `FusedOperations.rotate`."""
        counts = [heads.num_heads, heads.num_kv_heads, heads.num_kv_heads]
        every = projected.view(len(projected), sum(counts), heads.width)
        queries, keys, values = torch.split(every, counts, 1)
        turned = [
            rotate(
                rows.float() if norm is None else normalize(rows.float(), norm),
                positions,
                heads.rotary,
            ).to(projected.dtype)
            for rows, norm in ((queries, heads.query_norm), (keys, heads.key_norm))
        ]
        return turned[0], turned[1], values

    def rotate_and_store(
        self,
        projected: torch.Tensor,
        positions: torch.Tensor,
        heads: HeadOperation,
        store: Store,
    ) -> torch.Tensor:
        """See `FusedOperations.rotate_and_store`; keys are rounded twice, and it waits."""
        queries, keys, values = self.rotate(projected, positions, heads)
        is_stored = store.slots >= 0
        slots = store.slots[is_stored].long()
        store.keys[slots] = keys[is_stored].to(store.keys.dtype)
        store.values[slots] = values[is_stored].to(store.values.dtype)
        return queries

    def add_low_rank(
        self, rows: torch.Tensor, output: torch.Tensor, pool: LowRankPool, adapted: AdaptedRows
    ) -> None:
        """See `FusedOperations.add_low_rank`; every row meets all pages, and keeps its own."""
        num_pages, num_modules, ranks, _ = pool.down.shape
        middle = F.linear(rows.to(pool.down.dtype), pool.down.flatten(0, 2))
        middle = middle.view(len(rows), num_pages, num_modules, ranks).float()
        is_own = adapted.slots[:, None] == pool.tables.owners
        middle = torch.where(is_own[:, :, None, None], middle, 0.0)
        products = [
            middle[:, :, module].flatten(1) @ up.float().flatten(0, 1)
            for module, up in enumerate(torch.split(pool.up, list(pool.sizes), -1))
        ]
        total = output.float() + torch.cat(products, -1)
        has_adapter = adapted.slots[:, None] >= 0
        output.copy_(torch.where(has_adapter, total.to(output.dtype), output))


def rotate(wide: torch.Tensor, positions: torch.Tensor, rotary: Rotary | None) -> torch.Tensor:
    """Rotate float32 heads [rows, heads, width] by their rows' positions."""
    if rotary is None:
        return wide
    cosines = rotary.cosines.index_select(0, positions)[:, None]
    sines = rotary.sines.index_select(0, positions)[:, None]
    turned, rest = wide[..., : rotary.width], wide[..., rotary.width :]
    if rotary.neighbours:
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned.chunk(2, -1)
    pair = (first * cosines - second * sines, second * cosines + first * sines)
    joined = torch.stack(pair, -1).flatten(-2) if rotary.neighbours else torch.cat(pair, -1)
    return torch.cat((joined, rest), -1)


def normalize(wide: torch.Tensor, norm: Norm) -> torch.Tensor:
    """Return float32 rows [..., width] normed, in float32."""
    if norm.centres:
        wide = wide - wide.mean(-1, keepdim=True)
    scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + norm.epsilon)
    scaled = wide * scale * (norm.weight.float() + norm.offset)
    return scaled if norm.bias is None else scaled + norm.bias.float()


def choose_operations(device: torch.device) -> FusedOperations:
    """Return Triton's operations on a CUDA device with Triton, else torch's."""
    if device.type == "cuda" and find_spec("triton") is not None:
        from yaie.models.fused.launch import TritonOperations

        return TritonOperations()
    if device.type == "cuda":
        log.warning("torch computes norms, rotations and gates, slower: triton is not installed")
    return PlainOperations()
