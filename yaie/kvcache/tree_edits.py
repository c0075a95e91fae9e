"""Tree edits that keep the radix tree's invariants: split, join, trim, settle, pin.

`RadixTree` adds look-ups, the life of sequences and eviction. The edits keep the indexes
consistent: evictable leaves, cursors inside edges, node and token counts.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from yaie.kvcache.eviction import LRU, EvictionPolicy, EvictionQueue
from yaie.kvcache.node import Cursor, Node, Tokens
from yaie.kvcache.release import FreeSlots, SlotRelease
from yaie.kvcache.slots import Extent, SlotAllocator

if TYPE_CHECKING:
    from yaie.kvcache.cache_events import CacheEvents
    from yaie.kvcache.node_states import NodeStates


class TreeEdits:
    """Nodes, slots and their indexes, with the edits that `RadixTree` uses."""

    def __init__(
        self,
        num_slots: int,
        eviction: EvictionPolicy = LRU,
        release: SlotRelease | None = None,
    ) -> None:
        self.num_slots = num_slots
        self.eviction = eviction
        self.allocator = SlotAllocator(num_slots)
        self.evictable = EvictionQueue(eviction.rank)
        self.roots: dict[Hashable, Node] = {}
        # Number of cursors before the end of each edge. These edges may have trimmable tokens, and
        # are found here without a tree walk.
        self.inside: dict[Node, int] = {}
        self.clock = 0  # tokens processed so far
        self.version = 0  # a `Match` of an older version is stale
        self.num_nodes = 0  # without roots
        self.num_live = 0  # tokens of nodes with refs
        self._namespaces: dict[Node, Hashable] = {}  # root to namespace
        self._release = (release or FreeSlots()).release
        self.observer: CacheEvents | None = None  # from the start, or never
        self.states: NodeStates | None = None  # of a model with recurrent layers

    # -- edges ----------------------------------------------------------------------------------

    def _add_child(
        self, node: Node, tokens: Tokens | tuple[int, ...], extents: list[Extent]
    ) -> Node:
        child = Node(node, node.end)
        if isinstance(tokens, tuple):
            child.tokens.extend(tokens)
        else:
            child.tokens.frombytes(tokens.tobytes())
        child.add_extents(extents)
        child.last_used = self.clock
        if node.children is None:
            node.children = {}
        node.children[child.tokens[0]] = child
        self.num_nodes += 1
        return child

    def _split(self, node: Node, keep: int) -> Node:
        """Split an edge after `keep` tokens; return the new node, which takes these tokens.

        The old object keeps the tail and its children.
        """
        parent = node.parent
        assert parent is not None
        assert parent.children is not None
        upper = Node(parent, node.start)
        upper.tokens = node.tokens[:keep]
        tail = node.cut_extents(keep)
        upper.extents = node.extents
        upper.num_computed = min(node.num_computed, keep)
        upper.refs = node.refs
        upper.last_used = node.last_used
        upper.uses = node.uses
        upper.chain, node.chain = node.chain, None
        upper.children = {node.tokens[keep]: node}
        parent.children[upper.tokens[0]] = upper
        node.parent = upper
        node.start += keep
        node.tokens = node.tokens[keep:]
        node.extents = array("i")
        node.add_extents(tail)
        node.num_computed = max(0, node.num_computed - keep)
        self.num_nodes += 1
        if self.observer is not None:  # first: without its cursors the tail may be removed
            self.observer.note_split(node, upper)
        if self.states is not None:
            self.states.note_split(node, upper)
        self._move_cursors(node, upper, keep)
        node.reuse_class = 0
        if node.entry:
            self.evictable.add(node)  # its greater depth changes its rank
        return upper

    def _move_cursors(self, node: Node, upper: Node, keep: int) -> None:
        """After a split, move the cursors inside the first `keep` tokens up and drop their refs."""
        cursors, node.cursors = node.cursors or (), None
        self.inside.pop(node, None)
        for cursor in cursors:
            if cursor.offset <= keep:
                self._attach(cursor, upper, cursor.offset)
            else:
                self._attach(cursor, node, cursor.offset - keep)
        if upper.cursors and node.refs:
            node.refs -= len(upper.cursors)
            node.uses = max(0, node.uses - len(upper.cursors))  # some cursors are no uses
            if node.refs == 0:
                self.num_live -= len(node.tokens)
                if node.children is None:
                    self._settle(node)

    def _join_path(self, node: Node) -> None:
        """Join the edges from the root to the node wherever all branches have gone.

        Eviction leaves such cuts, and a look-up walks through each node of a cached prompt. Only
        live edges are joined, and only with equal use counts if the policy ranks by use: otherwise
        a suffix would inherit its prefix's rank.
        """
        lowest = [node]
        while (parent := node.parent) is not None:
            # A parent with as many refs as its only child has no cursor ending in it.
            alone = parent.children is not None and len(parent.children) == 1
            alike = parent.uses == node.uses or not self.eviction.ranks_by_uses
            if alone and alike and parent.parent is not None and parent.refs == node.refs:
                lowest.append(parent)
            else:
                if len(lowest) > 1:
                    self._join(lowest[::-1])
                lowest = [parent]
            node = parent

    def _join(self, chain: list[Node]) -> None:
        """Join consecutive live edges, top first, into the last object."""
        top, node = chain[0], chain[-1]
        parent = top.parent
        assert parent is not None
        assert parent.children is not None
        parent.children[top.tokens[0]] = node
        for cursor in node.cursors or ():
            cursor.offset += node.start - top.start
        node.start, node.parent = top.start, parent
        node.num_computed = sum(part.num_computed for part in chain)
        node.uses = max(part.uses for part in chain)
        tokens, runs = array("i"), [part.extent_list() for part in chain]
        for part in chain:
            tokens.extend(part.tokens)
        node.tokens, node.extents = tokens, array("i")
        for extents in runs:
            node.add_extents(extents)
        if self.observer is not None:
            self.observer.note_join(chain)
        if self.states is not None:
            self.states.note_join(chain)
        for gone in chain[:-1]:
            gone.parent = gone.children = gone.chain = None
        self.num_nodes -= len(chain) - 1

    def _advance_cursor(self, node: Node, count: int, cursor: Cursor) -> None:
        """Move `cursor` to the end of a live leaf that grew in place by `count` tokens."""
        self.num_live += count
        cursor.offset = len(node.tokens)
        assert node.cursors is not None
        if len(node.cursors) > 1:  # other cursors are at the old end or further up
            self.inside[node] = len(node.cursors) - 1

    # -- drafts ---------------------------------------------------------------------------------

    def draft(self, cursor: Cursor, tokens: Sequence[int]) -> int:
        """Add guessed tokens after a cursor at the end of a leaf; return how many got a slot.

        The cursor stays. Only free slots are taken; call `retract` before any other path grows. 0
        elsewhere, and if another cursor is at this end.
        """
        node = cursor.node
        assert node is not None, "the cursor is closed"
        end = len(node.tokens)
        if node.children is not None or node.parent is None or cursor.offset < end:
            return 0
        if sum(each.offset == end for each in node.cursors or ()) > 1:
            return 0
        for count, token in enumerate(tokens):
            slot = node.extents[-2] + node.extents[-1]
            if not self.allocator.take(slot):
                if not self.allocator.num_free:
                    tokens = tokens[:count]
                    break
                slot = self.allocator.take_with_room()
            node.tokens.append(token)
            node.add_slot(slot)
        if tokens:
            self.version += 1
            self.num_live += len(tokens)
            self.inside[node] = self.inside.get(node, 0) + 1
        return len(tokens)

    def retract(self, cursor: Cursor) -> None:
        """Free the guessed tokens that are still after the cursor; they are not computed."""
        node = cursor.node
        assert node is not None, "the cursor is closed"
        count = len(node.tokens) - cursor.offset
        if not count:
            return
        self.version += 1
        for start, length in node.cut_extents(cursor.offset):
            self.allocator.free(start, length)
        del node.tokens[cursor.offset :]
        self.num_live -= count
        self._count_inside(node)  # other cursors may have come to this end meanwhile

    # -- tokens that lose their slots -----------------------------------------------------------

    def _settle(self, leaf: Node) -> None:
        """Drop an unpinned leaf's uncomputed tokens and offer the rest for eviction."""
        if leaf.parent is None:
            self._drop_root(leaf)
        elif leaf.num_computed == 0:
            self._remove(leaf)
        else:
            if leaf.num_computed < len(leaf.tokens):
                self._trim(leaf, leaf.num_computed)
            self.evictable.add(leaf)

    def _trim(self, leaf: Node, keep: int) -> None:
        """Release an unpinned leaf's slots after its first `keep` tokens."""
        if self.observer is not None:
            self.observer.note_loss(leaf, keep)
        if self.states is not None:
            self.states.note_loss(leaf, keep)
        self._release(leaf, keep, leaf.cut_extents(keep), self.allocator)
        del leaf.tokens[keep:]
        leaf.num_computed = min(leaf.num_computed, keep)

    def _remove(self, leaf: Node) -> None:
        """Remove an unpinned leaf; its parent may become evictable."""
        if self.observer is not None:
            self.observer.note_loss(leaf, 0)
        if self.states is not None:
            self.states.note_loss(leaf, 0)
        self.evictable.discard(leaf)
        self._release(leaf, 0, leaf.extent_list(), self.allocator)
        parent = leaf.parent
        assert parent is not None
        assert parent.children is not None
        del parent.children[leaf.tokens[0]]
        leaf.parent = None
        self.num_nodes -= 1
        if not parent.children:
            parent.children = None
            parent.path_hash = 0  # a leaf may grow
            if parent.refs == 0:
                self._settle(parent)

    def _drop_root(self, root: Node) -> None:
        del self.roots[self._namespaces.pop(root)]

    def _split_past_cursors(self) -> bool:
        """Split live edges after their deepest cursor, so that the rest becomes evictable.

        False if every rest is pinned.
        """
        edges = [(node, count) for node in self.inside if (count := node.count_trimmable())]
        for node, count in edges:
            self._split(node, len(node.tokens) - count)
        return bool(edges)

    # -- refs and cursors -----------------------------------------------------------------------

    def _pin(self, node: Node | None, *, is_use: bool = True) -> None:
        if self.observer is not None and is_use:
            self.observer.note_use(node)
        while node is not None:
            self._pin_one(node, is_use=is_use)
            node = node.parent

    def _pin_one(self, node: Node, *, is_use: bool = True) -> None:
        if node.refs == 0:
            self.num_live += len(node.tokens)
            if node.entry:
                if is_use:
                    self.eviction.note_reuse(node, self.clock)
                self.evictable.discard(node)
        node.refs += 1
        node.uses += is_use
        node.last_used = self.clock

    def _attach(self, cursor: Cursor, node: Node, offset: int) -> None:
        cursor.node, cursor.offset = node, offset
        if node.cursors is None:
            node.cursors = set()
        node.cursors.add(cursor)
        if offset < len(node.tokens):
            self.inside[node] = self.inside.get(node, 0) + 1

    def _detach(self, cursor: Cursor) -> None:
        node = cursor.node
        assert node is not None
        assert node.cursors is not None
        node.cursors.discard(cursor)
        if not node.cursors:
            node.cursors = None
        if cursor.offset < len(node.tokens):
            self._leave_inside(node)
        cursor.node = None

    def _count_inside(self, node: Node) -> None:
        """Count all cursors inside the node's edge."""
        self.inside.pop(node, None)
        count = sum(cursor.offset < len(node.tokens) for cursor in node.cursors or ())
        if count:
            self.inside[node] = count

    def _leave_inside(self, node: Node) -> None:
        """Count one cursor fewer inside the node's edge."""
        count = self.inside[node] - 1
        if count:
            self.inside[node] = count
        else:
            del self.inside[node]
