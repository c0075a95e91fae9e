"""Kernel launches: arguments from tensors, a spec and a variant."""

from __future__ import annotations

import torch

from yaie.attention.spec import AttentionSpec
from yaie.attention.tree_decode.device_metadata import MetadataViews, TableViews
from yaie.attention.tree_decode.kernels import attend_items, merge_partials, write_rows
from yaie.attention.tree_decode.variants import Variant, block_of
from yaie.kvcache.int8_rows import QuantizedRows, StoredRows, elements_of


def launch_items(
    variant: Variant,
    spec: AttentionSpec,
    *,
    programs: int,
    has_wide: bool,
    places: MetadataViews,
    table: TableViews,
    queries: torch.Tensor,
    keys: StoredRows,
    values: StoredRows,
    outputs: torch.Tensor,
    lses: torch.Tensor,
) -> None:
    """Compute all items' partials; tensors as in `PreparedStep.attend`.

    outputs: float32 [partials, num_heads, value_width], flat; lses: [partials, num_heads], flat.
    has_wide: False takes the variant without wide items, which needs fewer registers.
    """
    queries = _with_whole_heads(queries)
    pool_keys, pool_values = elements_of(keys), elements_of(values)
    attend_items[(programs, spec.num_kv_heads)](
        queries,
        pool_keys,
        pool_values,
        _scales(keys),
        _scales(values),
        places.slots,
        table.items,
        table.count,
        places.positions,
        outputs,
        lses,
        spec.scale,
        spec.softcap or 1.0,
        *queries.stride()[:2],
        *pool_keys.stride()[:2],
        *pool_values.stride()[:2],
        NUM_KV_HEADS=spec.num_kv_heads,
        GROUP=spec.group_size,
        KEY_WIDTH=spec.key_width,
        VALUE_WIDTH=spec.value_width,
        KEY_BLOCK=variant.key_block,
        VALUE_BLOCK=variant.value_block,
        NARROW=variant.narrow,
        WIDE=variant.wide if has_wide else 0,
        BLOCK_N=variant.block_n,
        WINDOW=spec.sliding_window or 0,
        HAS_SOFTCAP=spec.softcap is not None,
        IS_QUANTIZED=isinstance(keys, QuantizedRows),
        num_warps=variant.num_warps_wide if has_wide else variant.num_warps,
        enable_fp_fusion=True,
        num_stages=variant.num_stages,
    )


def launch_merge(
    variant: Variant,
    spec: AttentionSpec,
    *,
    table: TableViews,
    sinks: torch.Tensor | None,
    outputs: torch.Tensor,
    lses: torch.Tensor,
    merged: torch.Tensor,
) -> None:
    """Merge each row's partials into `merged` [rows, num_heads, value_width]."""
    merge_partials[(len(merged), -(-spec.num_heads // variant.merged_heads))](
        outputs,
        lses,
        table.indptr,
        table.partials,
        lses if sinks is None else sinks.contiguous(),
        merged,
        NUM_HEADS=spec.num_heads,
        VALUE_WIDTH=spec.value_width,
        VALUE_BLOCK=variant.value_block,
        BLOCK_H=variant.merged_heads,
        HAS_SINKS=sinks is not None,
        num_warps=variant.num_warps,
        enable_fp_fusion=True,
    )


def launch_write(
    *,
    programs: int,
    places: MetadataViews,
    keys: StoredRows,
    values: StoredRows,
    new_keys: torch.Tensor,
    new_values: torch.Tensor,
) -> None:
    """Write the new keys and values into their slots; tensors as in `PreparedStep.write`."""
    new_keys, new_values = _with_whole_heads(new_keys), _with_whole_heads(new_values)
    pool_keys, pool_values = elements_of(keys), elements_of(values)
    _, num_kv_heads, key_width = pool_keys.shape
    value_width = pool_values.shape[2]
    write_rows[(programs,)](
        new_keys,
        new_values,
        pool_keys,
        pool_values,
        _scales(keys),
        _scales(values),
        places.written_rows,
        places.written_slots,
        places.num_written,
        *new_keys.stride()[:2],
        *new_values.stride()[:2],
        *pool_keys.stride()[:2],
        *pool_values.stride()[:2],
        NUM_KV_HEADS=num_kv_heads,
        KEY_WIDTH=key_width,
        VALUE_WIDTH=value_width,
        KEY_BLOCK=block_of(key_width),
        VALUE_BLOCK=block_of(value_width),
        BLOCK_H=block_of(num_kv_heads, 1),
        IS_QUANTIZED=isinstance(keys, QuantizedRows),
        num_warps=4,
        enable_fp_fusion=True,
    )


def _scales(pool: StoredRows) -> torch.Tensor:
    """Return an int8 pool's scales; for other pools any tensor, which kernels do not read."""
    return pool.scales if isinstance(pool, QuantizedRows) else pool


def _with_whole_heads(rows: torch.Tensor) -> torch.Tensor:
    """Make each head's elements contiguous, as the kernels read them; rarely a copy."""
    return rows if rows.stride(2) == 1 else rows.contiguous()
