"""Nodes, cursors and token arrays: what the radix tree is made of.

Only `RadixTree` changes these; the planner and the engine read them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from yaie.kvcache.slots import Extent

if TYPE_CHECKING:
    from yaie.kvcache.unary_chain import Chain

Tokens = NDArray[np.int32]
SlotArray = NDArray[np.int64]


_FEW_EXTENTS = 16  # numbers: for eight extents and less, that many small arrays are faster


def as_tokens(token_ids: Iterable[int] | Tokens) -> Tokens:
    """Token ids as the contiguous int32 array that the tree compares."""
    if isinstance(token_ids, np.ndarray):
        return np.ascontiguousarray(token_ids, dtype=np.int32)
    return np.array(tuple(token_ids), dtype=np.int32)


class Node:
    """A compressed edge: consecutive tokens, their slots, and how many of them are computed.

    `tokens` and `extents` are growing arrays without spare objects: 4 bytes a token, 8 an extent.
    Views of them must not be kept, since an array with a living view cannot grow.
    """

    __slots__ = (
        "chain",
        "children",
        "cursors",
        "entry",
        "extents",
        "last_used",
        "num_computed",
        "parent",
        "refs",
        "start",
        "tokens",
        "uses",
    )

    def __init__(self, parent: Node | None, start: int) -> None:
        self.parent = parent  # None: a root, or a node that was removed
        self.start = start  # position of the first token: the length of the path above
        self.tokens = array("i")
        self.extents = array("i")  # start, length, start, length, ...
        self.children: dict[int, Node] | None = None  # by first token; None: a leaf
        self.cursors: set[Cursor] | None = None  # cursors that stand on this node
        self.num_computed = 0  # tokens whose keys and values are in the pool, from the front
        self.refs = 0  # live sequences whose path includes this node
        self.last_used = 0  # tree clock when a sequence last ended or began here
        self.uses = 0  # sequences that have passed here, or ended above when this was one edge
        self.entry = 0  # number of its valid entry in the eviction queue; 0: none
        self.chain: Chain | None = None  # kept for the planner; only while there are refs

    def __len__(self) -> int:
        return len(self.tokens)

    def __bool__(self) -> bool:
        return True  # an empty root is still a node

    def __repr__(self) -> str:
        return (
            f"Node(start={self.start}, tokens={len(self.tokens)}, computed={self.num_computed}, "
            f"refs={self.refs}, children={len(self.children or ())})"
        )

    @property
    def end(self) -> int:
        """Position behind the last token."""
        return self.start + len(self.tokens)

    def view(self) -> Tokens:
        """The tokens without a copy; drop it before the node changes."""
        return np.frombuffer(self.tokens, dtype=np.int32)

    def slots(self, first: int = 0, end: int | None = None) -> SlotArray:
        """Slots of the tokens `first` to `end` (exclusive), in order."""
        end = len(self.tokens) if end is None else end
        if len(self.extents) == 2:
            return np.arange(self.extents[0] + first, self.extents[0] + end, dtype=np.int64)
        return slots_of(self.extents)[first:end]

    def extent_list(self) -> list[Extent]:
        """The extents as pairs."""
        flat = self.extents
        return list(zip(flat[0::2], flat[1::2], strict=True))

    def add_extents(self, extents: Iterable[Extent]) -> None:
        """Append slots; an extent that continues the last one is joined to it."""
        flat = self.extents
        for start, length in extents:
            if flat and flat[-2] + flat[-1] == start:
                flat[-1] += length
            else:
                flat.append(start)
                flat.append(length)

    def cut_extents(self, keep: int) -> list[Extent]:
        """Keep the first `keep` slots; return the extents of the others, in order."""
        flat = self.extents
        index, before = 0, 0
        while before + flat[index + 1] <= keep:
            before += flat[index + 1]
            index += 2
            if index == len(flat):
                return []
        inside = keep - before
        start, length = flat[index], flat[index + 1]
        rest = list(zip(flat[index + 2 :: 2], flat[index + 3 :: 2], strict=True))
        cut = [(start + inside, length - inside), *rest]
        del flat[index:]
        if inside:
            flat.append(start)
            flat.append(inside)
        return cut


def slots_of(extents: array[int]) -> SlotArray:
    """The slots of extents (start, length, start, length, ...), in order."""
    if len(extents) <= _FEW_EXTENTS:
        pairs = zip(extents[0::2], extents[1::2], strict=True)
        return np.concatenate([np.arange(start, start + length) for start, length in pairs])
    starts, lengths = np.array(extents, dtype=np.int64).reshape(-1, 2).T
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


class Cursor:
    """Where a live sequence stands: behind token `offset` of `node`.

    `offset == 0` only on a root. The tree moves a cursor when it splits the node under it.
    `node is None` after `RadixTree.close`.
    """

    __slots__ = ("node", "offset")

    def __init__(self, node: Node, offset: int) -> None:
        self.node: Node | None = node
        self.offset = offset

    @property
    def position(self) -> int:
        """Length of the path: how many tokens the sequence has."""
        assert self.node is not None, "the cursor is closed"
        return self.node.start + self.offset
