"""Memory of a launch: accesses are checked for live tensors, alignment and the right to write.

Addresses are those of the process, or of a block's shared memory. Shared memory begins as poison,
all bits set, which is NaN in each float type; so does the target of an asynchronous copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

Addresses = NDArray[np.uint64]  # one for each lane
Bytes = NDArray[np.uint8]
POISON = 0xFF
SHARED_BASE = 1024  # of shared addresses: a small address made from a null pointer is invalid


class MemoryFault(Exception):
    """An access outside live memory, to read-only memory, or at an unaligned address."""


@dataclass
class Region:
    """The bytes of one tensor, from its first element to its last."""

    name: str
    begin: int
    data: Bytes
    is_writable: bool

    @classmethod
    def of(cls, name: str, tensor: torch.Tensor, *, is_writable: bool) -> Region:
        """Return the region of a CPU tensor, strided ones with the gaps between their elements."""
        last = sum(
            (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
        )
        length = (last + 1) * tensor.element_size() if tensor.numel() else 0
        storage = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())  # type: ignore[call-overload]
        offset = tensor.storage_offset() * tensor.element_size()
        return cls(name, tensor.data_ptr(), storage.numpy()[offset : offset + length], is_writable)


@dataclass
class Memory:
    """The regions that a space has. Regions are disjoint, or equal."""

    regions: list[Region] = field(default_factory=list)

    def add(self, region: Region) -> None:
        """Make a region live; one of the same bytes may be written if either may."""
        for known in self.regions:
            if known.begin == region.begin and len(known.data) == len(region.data):
                known.is_writable |= region.is_writable
                known.name += f" or {region.name}"
                return
        self.regions.append(region)

    def load(self, addresses: Addresses, size: int, count: int = 1) -> Bytes:
        """Return [lanes, count * size] bytes of vectors of `count` elements."""
        total = size * count
        found = np.empty((len(addresses), total), dtype=np.uint8)
        for region, lanes, offsets in self._found(addresses, total):
            found[lanes] = region.data[offsets[:, None] + np.arange(total)]
        return found

    def store(self, addresses: Addresses, data: Bytes) -> None:
        """Write [lanes, bytes]; of lanes with equal addresses one wins."""
        total = data.shape[1]
        for region, lanes, offsets in self._found(addresses, total):
            if not region.is_writable:
                raise MemoryFault(f"a write to {region.name}, which the kernel may only read")
            region.data[offsets[:, None] + np.arange(total)] = data[lanes]

    def _found(
        self, addresses: Addresses, size: int
    ) -> list[tuple[Region, NDArray[np.int64], NDArray[np.int64]]]:
        """Return the regions of the addresses, each with its lanes and their offsets."""
        if (addresses % np.uint64(size)).any():
            raise MemoryFault(f"addresses {_hex(addresses)} are no multiples of {size}")
        places = addresses.astype(np.int64)
        missing = np.ones(len(places), dtype=bool)
        found = []
        for region in self.regions:
            offsets = places - region.begin
            inside = (offsets >= 0) & (offsets + size <= len(region.data)) & missing
            if inside.any():
                lanes = np.flatnonzero(inside)
                found.append((region, lanes, offsets[lanes]))
                missing &= ~inside
                if not missing.any():
                    return found
        if missing.any():
            names = {each.name: (hex(each.begin), len(each.data)) for each in self.regions}
            raise MemoryFault(f"{_hex(addresses[missing])} x {size} bytes is in none of {names}")
        return found


def shared_memory(size: int) -> Memory:
    """Return the poisoned shared memory of a block."""
    data = np.full(max(size, 1), POISON, dtype=np.uint8)
    return Memory([Region("shared memory", SHARED_BASE, data, is_writable=True)])


@dataclass
class AsyncCopies:
    """The asynchronous copies of one warp: they take effect when the warp waits for them."""

    shared: Memory
    memory: Memory
    groups: list[list[tuple[Addresses, Bytes]]] = field(default_factory=list)
    open_group: list[tuple[Addresses, Bytes]] = field(default_factory=list)

    def issue(
        self, targets: Addresses, sources: Addresses, size: int, used: NDArray[np.int64]
    ) -> None:
        """Begin copies of `size` bytes; those beyond the `used` ones of a lane become zeros."""
        data = np.zeros((len(targets), size), dtype=np.uint8)
        full = used == size
        assert ((used == 0) | full).all(), "a copy of a part of an element"
        if full.any():
            data[full] = self.memory.load(sources[full], size)
        self.shared.store(targets, np.full_like(data, POISON))
        self.open_group.append((targets, data))

    def commit(self) -> None:
        """End a group of copies."""
        self.groups.append(self.open_group)
        self.open_group = []

    def wait(self, most_pending: int) -> None:
        """Complete all groups except the last ones."""
        done = max(len(self.groups) - most_pending, 0)
        for group in self.groups[:done]:
            for targets, data in group:
                self.shared.store(targets, data)
        del self.groups[:done]


def _hex(addresses: Addresses) -> str:
    return ", ".join(hex(int(each)) for each in np.unique(addresses)[:4])
