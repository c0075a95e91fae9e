"""Adapter pools: the low-rank weights of all loaded adapters, at fixed addresses on a GPU.

Weights lie in pages of 16 ranks. A loaded adapter has a slot and, in every layer, as many pages as
its ranks fill. A captured step reads tables of slots and pages, so an adapter is loaded and
unloaded without another capture.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from yaie.attention.plan import IntArray
from yaie.base.errors import NotEnoughMemory
from yaie.device.packed import PackedField
from yaie.models.adapters.adapted_modules import adapter_ranges, find_adaptable
from yaie.models.adapters.adapter import Adapter, LowRank, Shapes
from yaie.models.adapters.adapter_folders import read_ranks
from yaie.models.adapters.peft_config import MAX_RANK
from yaie.models.fused.low_rank_check import AddLowRank, choose_low_rank
from yaie.models.fused.operations import (
    PAGE_RANKS,
    AdaptedRows,
    FusedOperations,
    LowRankPool,
    PageTables,
)

log = logging.getLogger(__name__)

LinearMap = Callable[[torch.Tensor], torch.Tensor]  # [rows, inputs] to [rows, outputs]

_FREE = -2  # no slot, and not the -1 of rows without an adapter
_LEAST_ADAPTERS = 4
_FEW_ROWS, _SMALL_BLOCK, _LARGE_BLOCK = 128, 16, 64


@dataclass(frozen=True, slots=True)
class _Place:
    """A module's part of a pool."""

    pool: LowRankPool
    module: int
    first: int  # of its outputs
    shape: tuple[int, int]  # inputs and outputs

    def fill(self, pages: Sequence[int], slot: int, low_rank: LowRank | None) -> None:
        """Write an adapter's weights into its pages, or zeros."""
        outputs = self.shape[1]
        rank = 0 if low_rank is None else low_rank.rank
        for page, begin in zip(pages, range(0, len(pages) * PAGE_RANKS, PAGE_RANKS), strict=True):
            down = self.pool.down[page, self.module]
            up = self.pool.up[page, :, self.first : self.first + outputs]
            down.zero_()
            up.zero_()
            if low_rank is not None and begin < rank:
                count = min(PAGE_RANKS, rank - begin)
                down[:count].copy_(low_rank.down[begin : begin + count])
                up[:count].copy_(low_rank.up[:, begin : begin + count].T.contiguous())
        self.pool.used[slot, self.module].fill_(-(-rank // PAGE_RANKS))


class AdapterPools:
    """One fused decoder's adapters. Implements `Adapted`."""

    device = torch.device("cpu")  # adapters are read there, then written into the pools

    def __init__(
        self, model: nn.Module, like: torch.Tensor, operations: FusedOperations, num_pages: int
    ) -> None:
        """`like`: a weight with the decoder's dtype and device; `num_pages` in each pool."""
        self.dtype = like.dtype
        self._like = like
        self._names = {module: name for name, module in find_adaptable(model).items()}
        self._places: dict[str, _Place] = {}
        self._num_pages = num_pages
        self._free_pages, self._free_slots = list(range(num_pages)), list(range(num_pages))
        self._held: dict[int, tuple[int, list[int]]] = {}  # slot and pages, by adapter
        most_pages = min(num_pages, MAX_RANK // PAGE_RANKS)
        self._tables = PageTables(
            self._make(num_pages, most_pages, dtype=torch.int32),
            self._make(num_pages, dtype=torch.int32).fill_(_FREE),
        )
        self._add: AddLowRank = choose_low_rank(operations, like)
        self._rows: AdaptedRows | None = None  # of the step
        self._uncalled: set[str] = set()  # modules inside others that no step has called

    def _make(self, *shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        made = torch.empty(shape, dtype=dtype or self.dtype, device=self._like.device)
        return made.zero_()

    @property
    def nbytes(self) -> int:
        """Bytes of all pools."""
        pools = {id(place.pool): place.pool for place in self._places.values()}
        return sum(pool.down.nbytes + pool.up.nbytes for pool in pools.values())

    @property
    def shapes(self) -> Shapes:
        """See `Adapted.shapes`."""
        return {
            name: place.shape for name, place in self._places.items() if name not in self._uncalled
        }

    def over(self, product: LinearMap, modules: Sequence[nn.Module]) -> LinearMap:
        """Return a map that adds the products of a step's adapters to the outputs of another.

        modules: the layers whose outputs `product` computes, side by side.
        """
        pool = self._open(modules)

        def multiply(rows: torch.Tensor) -> torch.Tensor:
            output = product(rows)
            if self._rows is not None:
                self._add(rows, output, pool, self._rows)
            return output

        return multiply

    def watch(self, parent: nn.Module) -> None:
        """Add products after the linear layers inside a module that computes a step's rows."""
        for module in parent.modules():
            if module not in self._names:
                continue
            self._uncalled.add(self._names[module])
            module.register_forward_hook(self._hook(self._names[module], self._open([module])))

    def _hook(self, name: str, pool: LowRankPool) -> Callable[..., None]:
        def add(module: nn.Module, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
            self._uncalled.discard(name)
            if self._rows is None:
                return
            rows = inputs[0].flatten(0, -2)
            if len(rows) != len(self._rows.slots):
                raise RuntimeError(f"{name} computes {len(rows)} of {len(self._rows.slots)} rows")
            self._add(rows, output.view(len(rows), -1), pool, self._rows)

        return add

    def _open(self, modules: Sequence[Any]) -> LowRankPool:
        """Return a pool for modules that read the same rows."""
        shapes: list[tuple[int, int]] = [
            (int(each.in_features), int(each.out_features)) for each in modules
        ]
        sizes = tuple(outputs for _, outputs in shapes)
        pool = LowRankPool(
            self._make(self._num_pages, len(modules), PAGE_RANKS, shapes[0][0]),
            self._make(self._num_pages, PAGE_RANKS, sum(sizes)),
            self._make(self._num_pages, len(modules), dtype=torch.int32),
            sizes,
            self._tables,
        )
        first = 0
        for number, (module, shape) in enumerate(zip(modules, shapes, strict=True)):
            self._places[self._names[module]] = _Place(pool, number, first, shape)
            first += shape[1]
        return pool

    def begin(self, rows: AdaptedRows | None) -> None:
        """Begin a step; None: no row has an adapter."""
        self._rows = rows

    @torch.inference_mode()
    def add(self, adapter: Adapter) -> None:
        """See `Adapted.add`. Raises `NotEnoughMemory` if too few pages are free."""
        wanted, free = -(-adapter.info.rank // PAGE_RANKS), len(self._free_pages)
        if wanted > free:
            raise NotEnoughMemory(
                f"the adapter {adapter.info.name!r} of rank {adapter.info.rank} needs {wanted} of "
                f"{self._num_pages} pages of {PAGE_RANKS} ranks on the GPU, but {free} are free; "
                "unload another adapter, or start with more --max-loras",
                param="max_loras",
            )
        slot = self._free_slots.pop()
        pages, self._free_pages = self._free_pages[:wanted], self._free_pages[wanted:]
        for name, place in self._places.items():
            place.fill(pages, slot, adapter.layers.get(name))
        for index, page in enumerate(pages):
            self._tables.pages[slot, index].fill_(page)
            self._tables.owners[page].fill_(slot)
        self._held[adapter.number] = slot, pages

    @torch.inference_mode()
    def remove(self, number: int) -> None:
        """See `Adapted.remove`."""
        slot, pages = self._held.pop(number)
        for page in pages:
            self._tables.owners[page].fill_(_FREE)
        self._free_slots.append(slot)
        self._free_pages += pages

    def place(self, adapters: IntArray) -> AdaptedRows | None:
        """Return an uncaptured step's rows, from the adapter of each; None without any."""
        if not adapters.any():
            return None
        block_rows = _block_rows(len(adapters))
        slots, blocks = self._slots_of(adapters), self._blocks_of(adapters, block_rows)
        device = self._like.device
        return AdaptedRows(
            torch.from_numpy(slots).to(device), torch.from_numpy(blocks).to(device), block_rows
        )

    def fields(self, num_rows: int) -> Mapping[str, PackedField]:
        """Return the inputs of a captured step of `num_rows` rows."""
        # Each adapter has at most one block with fewer rows than fit.
        most = min(num_rows, self._num_pages + num_rows // _block_rows(num_rows))
        return {
            "adapter_slots": PackedField("int32", (num_rows,)),
            "adapter_blocks": PackedField("int32", (most, 3)),
        }

    def view(self, inputs: Mapping[str, torch.Tensor]) -> AdaptedRows:
        """Return a captured step's rows: its inputs on the device."""
        slots = inputs["adapter_slots"]
        return AdaptedRows(slots, inputs["adapter_blocks"], _block_rows(len(slots)))

    def fill(self, inputs: Mapping[str, NDArray[Any]], adapters: IntArray) -> None:
        """Fill a captured step's inputs from the adapter of each row; the rest is padding."""
        slots, blocks = inputs["adapter_slots"], inputs["adapter_blocks"]
        found = self._blocks_of(adapters, _block_rows(len(slots)))
        slots[len(adapters) :] = -1
        slots[: len(adapters)] = self._slots_of(adapters)
        blocks[len(found) :] = 0
        blocks[: len(found)] = found

    def _slots_of(self, adapters: IntArray) -> NDArray[np.int32]:
        slots = np.full(len(adapters), -1, dtype=np.int32)
        for first, end, number in adapter_ranges(adapters):
            slots[first:end] = self._held[number][0]
        return slots

    def _blocks_of(self, adapters: IntArray, block_rows: int) -> NDArray[np.int32]:
        """Return runs of rows with one adapter, cut into blocks [blocks, 3]."""
        found = [
            (begin, min(block_rows, end - begin), self._held[number][0])
            for first, end, number in adapter_ranges(adapters)
            for begin in range(first, end, block_rows)
        ]
        return np.array(found, dtype=np.int32).reshape(-1, 3)


def count_pages(lora: str, max_loras: int | None) -> int:
    """Return the pages for `max_loras` adapters of the largest rank that the setting `lora` lists.

    None: for the adapters in `lora`, and for at least 4. Raises `ConfigError`.
    """
    ranks = read_ranks(lora)
    each = -(-min(max(ranks, default=1), MAX_RANK) // PAGE_RANKS)
    return each * (max_loras or max(len(ranks), _LEAST_ADAPTERS))


def _block_rows(num_rows: int) -> int:
    return _SMALL_BLOCK if num_rows <= _FEW_ROWS else _LARGE_BLOCK
