"""Slot release: the one interface through which the radix tree frees slots.

A second KV tier copies keys and values out here before their slots are free; an event stream
reports the loss. Called by `RadixTree` when it evicts, trims or drops tokens.
"""

from __future__ import annotations

from typing import Protocol

from yaie.kvcache.node import Node
from yaie.kvcache.slots import Extent, SlotAllocator


class SlotRelease(Protocol):
    """Receives every slot that the tree releases."""

    def release(
        self, node: Node, first: int, extents: list[Extent], allocator: SlotAllocator
    ) -> None:
        """Free `extents`, the slots for the node's tokens from offset `first` on.

        The node still has these tokens and its parent. Tokens from `node.num_computed` on are
        uncomputed. All slots must be free on return.
        """


class FreeSlots:
    """Slot release without a second tier: the slots are free immediately."""

    def release(
        self, node: Node, first: int, extents: list[Extent], allocator: SlotAllocator
    ) -> None:
        """Free the slots."""
        for start, length in extents:
            allocator.free(start, length)
