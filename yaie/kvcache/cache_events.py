"""Cache events: an observer of the radix tree that names its computed blocks.

A block belongs to the node with its last token. So splits and joins move names between nodes, and
only computed and lost tokens are changes. Parents are stored first, because a token's ancestors are
computed before it, and children are removed first, because only leaves are evicted.

Names depend on the served model name, which replicas share, on the namespace and on the tokens.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from yaie.base.cache_changes import BlocksCleared, BlocksRemoved, BlocksStored, CacheChange
from yaie.kvcache.block_names import BLOCK_SIZE, block_names, root_name, routing_names
from yaie.kvcache.node import Node

if TYPE_CHECKING:
    from yaie.kvcache.radix_tree import RadixTree


class CacheEvents:
    """The block names of one tree, and the changes since `take_changes`."""

    def __init__(
        self,
        tree: RadixTree,
        model: str,
        *,
        block_size: int = BLOCK_SIZE,
        reports: Callable[[Hashable], bool] | None = None,
    ) -> None:
        """Observe an empty tree. `model`: the served model name.

        `reports`: True for namespaces whose changes `take_changes` returns; None: for none, and
        the names are `routing_names`.
        """
        self.block_size = block_size
        self.name_blocks = routing_names if reports is None else block_names
        self._model = model
        self._reports = reports
        self._namespaces = tree._namespaces
        # Nodes with names, the latest use last. A node is never older than its children, so that
        # any number of newest names is closed under parents.
        self._names: dict[Node, array[int]] = {}
        self._count = 0
        self._changes: list[BlocksStored | BlocksCleared | array[int]] = []  # array: removed names
        tree.observer = self

    def __len__(self) -> int:
        return self._count

    def names_of(self, node: Node) -> list[int]:
        """Return the names of the blocks that end in a node."""
        return self._names.get(node, array("Q")).tolist()

    def root_name(self, root: Node) -> int:
        """Return the parent name for the first block below a root."""
        return root_name(self._model, self._namespaces[root])

    def newest(self, limit: int) -> tuple[bytes, int]:
        """Return up to `limit` names, 8 bytes each, and the number of omitted names.

        Latest use first, parents before children of one path.
        """
        packed = bytearray()
        for names in reversed(self._names.values()):
            room = limit - len(packed) // 8
            if room <= 0:
                break
            packed += names[:room].tobytes()
        return bytes(packed), self._count - len(packed) // 8

    def take_changes(self) -> tuple[CacheChange, ...]:
        """Return the changes since the last call, in order."""
        if not self._changes:
            return ()
        changes, self._changes = self._changes, []
        return tuple(
            BlocksRemoved(each.tobytes()) if isinstance(each, array) else each for each in changes
        )

    # -- hooks of the tree ----------------------------------------------------------------------

    def note_computed(self, node: Node, before: int) -> None:
        """Name the whole blocks since the node had `before` computed tokens."""
        size, start = self.block_size, node.start
        first = (start + before) // size * size
        end = (start + node.num_computed) // size * size
        if first == end:
            return
        tokens = node.tokens[max(0, first - start) : end - start]
        root = node
        while (parent := root.parent) is not None:
            if first < root.start:
                tokens = parent.tokens[max(0, first - parent.start) :] + tokens
            root = parent
        above = self._last_name(node)
        names = self.name_blocks(tokens, above or self.root_name(root), size)
        self._names.setdefault(node, array("Q")).extend(names)
        self._count += len(names)
        self.note_use(node)
        if self._reports is not None and self._reports(self._namespaces[root]):
            packed = array("Q", names).tobytes()
            self._changes.append(BlocksStored(packed, above, tokens.tobytes(), size))

    def note_use(self, node: Node | None) -> None:
        """Make a path's names the newest, the root's end last."""
        while node is not None:
            names = self._names.pop(node, None)
            if names is not None:
                self._names[node] = names
            node = node.parent

    def note_split(self, node: Node, upper: Node) -> None:
        """Move the names of blocks that end in `upper`, the node's new first part, to it."""
        names = self._names.get(node)
        if names is None:
            return
        count = min(len(names), upper.end // self.block_size - upper.start // self.block_size)
        if count:
            self._names[upper] = names[:count]
            del names[:count]
            if not names:
                del self._names[node]
            self.note_use(upper)

    def note_join(self, chain: list[Node]) -> None:
        """Move the names of all nodes to the last one."""
        names = array("Q")
        for node in chain:
            names += self._names.pop(node, array("Q"))
        if names:
            self._names[chain[-1]] = names
            self.note_use(chain[-1])

    def note_loss(self, leaf: Node, keep: int) -> None:
        """Forget the names of blocks that end after a leaf's first `keep` tokens."""
        names = self._names.get(leaf)
        if names is None:
            return
        size = self.block_size
        count = (leaf.start + keep) // size - leaf.start // size
        lost = names[count:]
        if not lost:
            return
        if count:
            del names[count:]
        else:
            del self._names[leaf]
        self._count -= len(lost)
        if self._reports is None or not self._reports(self._namespace(leaf)):
            return
        lost.reverse()
        if self._changes and isinstance(last := self._changes[-1], array):
            last += lost
        else:
            self._changes.append(lost)

    def clear(self) -> None:
        """Forget every name."""
        self._names.clear()
        self._count = 0
        if self._reports is not None:
            self._changes = [BlocksCleared()]

    def _last_name(self, node: Node | None) -> int | None:
        """Return the last name on the path to a node's end; None if the path has none."""
        while node is not None:
            if names := self._names.get(node):
                return names[-1]
            node = node.parent
        return None

    def _namespace(self, node: Node) -> Hashable:
        while node.parent is not None:
            node = node.parent
        return self._namespaces[node]
