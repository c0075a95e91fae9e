"""FlashInfer wrappers: calls planned once a step for each layer type, and run once a layer.

Plans are made from lengths on the CPU; nothing is copied from the device. FlashInfer is imported
when a wrapper is made.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from yaie.attention.flashinfer.cascade import Groups
from yaie.attention.flashinfer.merge import Partial
from yaie.attention.flashinfer.staging import Staging
from yaie.attention.spec import AttentionSpec
from yaie.device.queue import DeviceQueue
from yaie.kvcache.pool import PoolLayout

LAYOUT: PoolLayout = "NHD"
_PAGE_SIZE = 1  # a page is one token
# Group sizes compiled for decode on CUDA cores; other sizes use the tensor-core kernel. From 4 on,
# tensor cores are faster: a KV head's query heads fill more of the tile.
_CUDA_CORE_GROUPS = frozenset({1, 2, 3})
_LEAST_WORKSPACE = 128 * 1024**2
_FIXED_WORK_LIST = 1024**2

_NO_ROWS = np.empty(0, dtype=np.int64)

Role = Literal["decode", "extend", "shared"]


class LayerKind(NamedTuple):
    """Layers that one plan serves."""

    num_heads: int
    num_kv_heads: int
    key_width: int
    value_width: int
    scale: float
    softcap: float | None
    sliding_window: int | None
    dtype: torch.dtype
    kv_dtype: torch.dtype

    @classmethod
    def of(cls, spec: AttentionSpec, dtype: torch.dtype, kv_dtype: torch.dtype) -> LayerKind:
        """Return the type of a layer with these query and pool dtypes."""
        return cls(
            num_heads=spec.num_heads,
            num_kv_heads=spec.num_kv_heads,
            key_width=spec.key_width,
            value_width=spec.value_width,
            scale=spec.scale,
            softcap=spec.softcap,
            sliding_window=spec.sliding_window,
            dtype=dtype,
            kv_dtype=kv_dtype,
        )

    @property
    def group_size(self) -> int:
        """Number of query heads per KV head."""
        return self.num_heads // self.num_kv_heads


class FixedBuffers(NamedTuple):
    """The arrays of plans that a captured graph reads, at fixed addresses; all int32."""

    key_indptr: torch.Tensor  # [groups + 1]
    slots: torch.Tensor  # [most keys]
    fill: torch.Tensor  # [groups] of the last page


class PlannedWrapper:
    """A FlashInfer wrapper with the buffers of its plan."""

    def __init__(
        self,
        role: Role,
        kind: LayerKind,
        workspace: torch.Tensor,
        queue: DeviceQueue,
        fixed: FixedBuffers | None = None,
    ) -> None:
        """`workspace`: the device's float buffer, shared by wrappers that run in turns.

        `fixed`: for decode only, which then has equally many groups in every plan.
        """
        self._role = role
        self._kind = kind
        self._staging = Staging(queue)
        self._wrapper = _make(role, kind, workspace, fixed)
        self.rows: torch.Tensor = torch.empty(0)  # planned queries, if gathered

    def plan(self, groups: Groups, window_left: int = -1) -> None:
        """Plan the groups; valid until the next plan. The queries of "decode" are one a group."""
        gathered = groups.rows if groups.rows is not None else _NO_ROWS
        query_indptr, key_indptr, fill, slots, rows = self._staging.send(
            (groups.query_indptr, groups.key_indptr, groups.has_keys, groups.slots, gathered)
        )
        self.rows = rows.device
        kind = self._kind
        common: dict[str, Any] = {
            "sm_scale": kind.scale,
            "window_left": window_left,
            "logits_soft_cap": kind.softcap,
            "q_data_type": kind.dtype,
            "kv_data_type": kind.kv_dtype,
            "non_blocking": True,
        }
        pages = (key_indptr.host, slots.device, fill.host)
        heads = (kind.num_heads, kind.num_kv_heads, kind.key_width, _PAGE_SIZE)
        if self._role == "decode":
            self._wrapper.plan(*pages, *heads, **common)
        else:
            self._wrapper.plan(
                query_indptr.host,
                *pages,
                *heads,
                head_dim_vo=kind.value_width,
                causal=self._role == "extend",
                **common,
            )
        self._staging.mark()  # FlashInfer copies an internal buffer as well

    def run(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Return all planned queries' output [queries, heads, value_width].

        keys: [num_slots, num_kv_heads, key_width] in the layout NHD; values alike.
        """
        output: torch.Tensor = self._wrapper.run(queries, (keys[:, None], values[:, None]))
        return output

    def run_partial(
        self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> Partial:
        """Run as `run` does, and return the log-sum-exp as well."""
        output, lse = self._wrapper.run(queries, (keys[:, None], values[:, None]), return_lse=True)
        return Partial(output, lse * math.log(2))  # FlashInfer's is in base 2


def _make(
    role: Role, kind: LayerKind, workspace: torch.Tensor, fixed: FixedBuffers | None = None
) -> Any:
    import flashinfer

    # "fa2": other backends neither split a long group's keys nor pack query heads.
    if role == "decode":
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(
            workspace,
            LAYOUT,
            use_cuda_graph=fixed is not None,
            use_tensor_cores=kind.group_size not in _CUDA_CORE_GROUPS,
            paged_kv_indptr_buffer=fixed.key_indptr if fixed else None,
            paged_kv_indices_buffer=fixed.slots if fixed else None,
            paged_kv_last_page_len_buffer=fixed.fill if fixed else None,
            backend="fa2",
        )
        if fixed:  # there is one for each batch size; its work list is small
            wrapper.reset_workspace_buffer(
                workspace, torch.empty(_FIXED_WORK_LIST, dtype=torch.uint8, device=workspace.device)
            )
        return wrapper
    return flashinfer.BatchPrefillWithPagedKVCacheWrapper(workspace, LAYOUT, backend="fa2")


def workspace_bytes(kind: LayerKind, num_multiprocessors: int) -> int:
    """Return the float buffer's size: a float32 partial result for every block in a grid."""
    blocks = 2 * num_multiprocessors + kind.num_kv_heads
    rows_in_block = 128
    partial = blocks * kind.group_size * rows_in_block * (kind.value_width + 1) * 4
    return max(_LEAST_WORKSPACE, partial)
