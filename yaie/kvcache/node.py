"""Nodes, cursors and token arrays of the radix tree.

Only `RadixTree` changes them; the planner and the engine read them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from yaie.kvcache.slots import Extent

if TYPE_CHECKING:
    from yaie.kvcache.unary_chain import UnaryChain

Tokens = NDArray[np.int32]
SlotArray = NDArray[np.int64]

_FEW_EXTENTS = 16  # array items: up to eight extents, one small array each is faster


def as_tokens(token_ids: Iterable[int] | Tokens) -> Tokens:
    """Return token ids as a contiguous int32 array, as the tree compares them."""
    if isinstance(token_ids, np.ndarray):
        return np.ascontiguousarray(token_ids, dtype=np.int32)
    return np.array(tuple(token_ids), dtype=np.int32)


class Node:
    """A compressed edge: consecutive tokens, their slots and the number of computed tokens.

    `tokens` and `extents` are flat growing arrays: 4 bytes a token, 8 an extent. Drop views before
    the node changes: an array cannot grow under a view.
    """

    __slots__ = (
        "adapter",
        "chain",
        "children",
        "cursors",
        "entry",
        "extents",
        "last_used",
        "num_computed",
        "number",
        "parent",
        "path_hash",
        "refs",
        "reuse_class",
        "start",
        "tokens",
        "uses",
    )

    def __init__(self, parent: Node | None, start: int) -> None:
        self.parent = parent  # None: a root, or a removed node
        self.adapter: int = (
            0 if parent is None else parent.adapter
        )  # its number; 0: the model alone
        self.start = start  # position of the first token: the length of the path above
        self.tokens = array("i")
        self.extents = array("i")  # start, length, start, length, ...
        self.children: dict[int, Node] | None = None  # by first token; None: a leaf
        self.cursors: set[Cursor] | None = None  # cursors at this node
        self.num_computed = 0  # leading tokens with their keys and values in the pool
        self.refs = 0  # live sequences whose path includes this node
        self.last_used = 0  # tree clock when a sequence last ended or began here
        self.uses = 0  # sequences that passed here, or ended above while this was one edge
        self.reuse_class = 0  # class in the `adaptive` policy; 0 until ranked
        self.path_hash = 0  # hash of all tokens to its end, if a child was evicted; see `ghosts`
        self.number = 0  # name for views; 0 until it is viewed, see `tree_view`
        self.entry = 0  # valid entry's number in the eviction queue; 0: none
        self.chain: UnaryChain | None = None  # the planner's, for a node with refs

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
        """Position after the last token."""
        return self.start + len(self.tokens)

    def view(self) -> Tokens:
        """Return the tokens without a copy; drop the view before the node changes."""
        return np.frombuffer(self.tokens, dtype=np.int32)

    def slots(self, first: int = 0, end: int | None = None) -> SlotArray:
        """Return the slots for tokens `first` to `end` (exclusive), in order."""
        end = len(self.tokens) if end is None else end
        if len(self.extents) == 2:
            return np.arange(self.extents[0] + first, self.extents[0] + end, dtype=np.int64)
        return slots_of(self.extents)[first:end]

    def extent_list(self) -> list[Extent]:
        """Return the extents as (start, length) pairs."""
        flat = self.extents
        return list(zip(flat[0::2], flat[1::2], strict=True))

    def add_extents(self, extents: Iterable[Extent]) -> None:
        """Append extents; one that continues the last extent is merged into it."""
        flat = self.extents
        for start, length in extents:
            if flat and flat[-2] + flat[-1] == start:
                flat[-1] += length
            else:
                flat.append(start)
                flat.append(length)

    def add_slot(self, slot: int) -> None:
        """Append one slot."""
        flat = self.extents
        if flat and flat[-2] + flat[-1] == slot:
            flat[-1] += 1
        else:
            flat.append(slot)
            flat.append(1)

    def cut_extents(self, keep: int) -> list[Extent]:
        """Keep the first `keep` slots; return the remaining extents, in order."""
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

    def count_trimmable(self) -> int:
        """Count a live edge's tokens past its deepest cursor; 0 if a sequence lives below."""
        if not self.cursors or self.refs != len(self.cursors):
            return 0  # not live, or a live sequence continues below
        return len(self.tokens) - max(cursor.offset for cursor in self.cursors)


def slots_of(extents: array[int]) -> SlotArray:
    """Return the slots in flat extents (start, length, start, length, ...), in order."""
    if len(extents) <= _FEW_EXTENTS:
        pairs = zip(extents[0::2], extents[1::2], strict=True)
        return np.concatenate([np.arange(start, start + length) for start, length in pairs])
    starts, lengths = np.array(extents, dtype=np.int64).reshape(-1, 2).T
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


class Cursor:
    """A live sequence's position: after token `offset` in `node`.

    `offset` is 0 only at a root. The tree moves a cursor when it splits or joins its node.
    `node` is None after `RadixTree.close`.
    """

    __slots__ = ("node", "offset")

    def __init__(self, node: Node, offset: int) -> None:
        self.node: Node | None = node
        self.offset = offset

    @property
    def position(self) -> int:
        """Number of tokens in the sequence: its path length."""
        assert self.node is not None, "the cursor is closed"
        return self.node.start + self.offset
