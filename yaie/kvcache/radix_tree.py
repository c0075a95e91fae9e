"""The radix tree: cache, block table of every live sequence, and shape of the batch in one.

Owned by the engine thread; nobody else touches it. A path from a root is a token sequence whose
every token has a slot in the pool. The scheduler opens a cursor for each live sequence, appends
what is drawn, and closes it; whatever no cursor needs stays until its slots are wanted.

    root ── "You are a helpful …" ──┬── " What is 2+2?" ── " 4"      refs: cursors in or below
            start 0, refs 2         └── " Who are you?"  ^cursor     a node without refs and
                                                          children   without children may go
Invariants (see `audit`): every slot is free or owned by one node; children differ in their first
token; computed tokens have computed ancestors; refs equal the cursors in or below; what has no
refs is wholly computed, so that everything that is kept is worth something.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from yaie.kvcache.eviction import EvictionQueue, RankFunction, rank_lru
from yaie.kvcache.node import Cursor, Node, Tokens, as_tokens
from yaie.kvcache.slots import Extent, OutOfSlots, SlotAllocator

_SHARE_OF_ROOM = 32  # of a pool is evicted at once when a sequence has no room to grow


@dataclass(frozen=True, slots=True)
class Match:
    """How much of a prompt the tree holds. A pure look-up: it goes stale when the tree changes."""

    node: Node | None  # the deepest node reached; None: the namespace has no root yet
    offset: int  # tokens of that node that belong to the match
    num_known: int  # tokens of the prompt that have a slot
    num_computed: int  # of these, from the front, tokens whose keys and values are in the pool


class RadixTree:
    """All paths of all namespaces over one pool of `num_slots` slots."""

    def __init__(self, num_slots: int, rank: RankFunction = rank_lru) -> None:
        self.num_slots = num_slots
        self.allocator = SlotAllocator(num_slots)
        self.evictable = EvictionQueue(rank)
        self.roots: dict[Hashable, Node] = {}
        self._namespaces: dict[Node, Hashable] = {}  # of each root
        # Cursors that stand inside each edge and not at its end; edges without any are absent.
        # What an edge has behind its deepest cursor is found here, however large the tree is.
        self.inside: dict[Node, int] = {}
        self.clock = 0  # tokens processed so far
        self.num_nodes = 0  # roots not counted
        self.num_live = 0  # tokens of nodes with refs
        self.room_to_grow = max(1, num_slots // _SHARE_OF_ROOM)
        self.num_evicted_nodes = 0  # since the start
        self.num_evicted_tokens = 0

    # -- what there is --------------------------------------------------------------------------

    @property
    def num_free(self) -> int:
        """Slots that no node owns."""
        return self.allocator.num_free

    @property
    def num_cached(self) -> int:
        """Tokens of nodes that no live sequence needs: all of them can be evicted."""
        return self.num_slots - self.allocator.num_free - self.num_live

    @property
    def num_available(self) -> int:
        """Slots that are free or held by nodes that no live sequence needs."""
        return self.num_slots - self.num_live

    def count_loose(self) -> int:
        """Tokens of live edges behind all who stand on them: these too can go at once.

        Looks at every cursor inside an edge, so it is for when `num_available` is not enough.
        """
        return sum(loose_tokens(node) for node in self.inside)

    def nodes(self) -> Iterator[Node]:
        """Every node but the roots, parents before children."""
        stack = list(self.roots.values())
        while stack:
            node = stack.pop()
            if node.parent is not None:
                yield node
            if node.children:
                stack.extend(node.children.values())

    @staticmethod
    def path(cursor: Cursor) -> list[Node]:
        """The nodes from below the root down to the cursor's."""
        nodes = []
        node = cursor.node
        while node is not None and node.parent is not None:
            nodes.append(node)
            node = node.parent
        nodes.reverse()
        return nodes

    @classmethod
    def tokens(cls, cursor: Cursor) -> Tokens:
        """The token sequence that the cursor stands for."""
        parts = [np.array(node.tokens, dtype=np.int32) for node in cls.path(cursor)]
        if not parts:
            return np.empty(0, dtype=np.int32)
        return np.concatenate(parts)[: cursor.position]

    def match(self, namespace: Hashable, tokens: Tokens) -> Match:
        """The longest prefix of `tokens` (int32) that the tree holds. Changes nothing."""
        node = self.roots.get(namespace)
        if node is None:
            return Match(None, 0, 0, 0)
        offset = known = computed = 0
        total = len(tokens)
        keys = memoryview(tokens)  # type: ignore[arg-type]  # an int from it costs half as much
        while known < total:
            children = node.children
            child = children.get(keys[known]) if children else None
            if child is None:
                break
            offset = 1  # the first token is the key under which the node was found
            if len(child.tokens) > 1:
                length = min(len(child.tokens), total - known)
                offset = _common_length(child, tokens, known, length)
            if computed == known:
                computed += offset if offset <= child.num_computed else child.num_computed
            known += offset
            node = child
            if offset < len(child.tokens):
                break
        return Match(node, offset, known, computed)

    # -- live sequences -------------------------------------------------------------------------

    def open(self, namespace: Hashable, tokens: Tokens) -> Cursor:
        """Let a live sequence begin: its path exists from now on and is pinned until `close`.

        Tokens that are not held get slots, for which others may be evicted. Raises `OutOfSlots`
        when even that is not enough; then no token but evicted ones has changed its place.
        """
        tokens = as_tokens(tokens)  # other widths of int would be misread below
        match = self.match(namespace, tokens)
        node = match.node
        if node is None:
            node = self.roots[namespace] = Node(None, 0)
            self._namespaces[node] = namespace
        if match.num_known < len(tokens) and match.offset < len(node.tokens):
            # Cut before it is pinned: the tail is not used by this sequence.
            node = self._split(node, match.offset)
        cursor = Cursor(node, match.offset)
        self._attach(cursor, node, match.offset)
        self._pin(node)
        self._join_path(node)
        if match.num_known < len(tokens):
            try:
                self._insert(cursor, tokens[match.num_known :])
            except OutOfSlots:
                self.close(cursor)
                raise
        return cursor

    def append(self, cursor: Cursor, token: int) -> None:
        """One drawn token: walk into what holds it already, extend the leaf in place, or branch.

        Raises `OutOfSlots` when a slot is needed and none can be made free; the cursor then
        stands where it stood.
        """
        node = cursor.node
        assert node is not None, "the cursor is closed"
        if cursor.offset < len(node.tokens):
            if node.tokens[cursor.offset] == token:
                cursor.offset += 1
                if cursor.offset == len(node.tokens):
                    self._leave_inside(node)
                return
            node = self._split(node, cursor.offset)
        child = node.children.get(token) if node.children else None
        if child is None:
            slot = self._slot_after(node)
            node = cursor.node  # making room may have split the node; the cursor was moved along
            assert node is not None
            if node.children is None and node.parent is not None:
                node.tokens.append(token)
                node.add_extents(((slot, 1),))
                self._lengthened(node, 1, cursor)
                return
            child = self._add_child(node, (token,), [(slot, 1)])
        self._pin_one(child)
        self._detach(cursor)
        self._attach(cursor, child, 1)

    def close(self, cursor: Cursor, *, keep: bool = True) -> None:
        """End a live sequence, whatever the reason: drop its refs.

        Its computed tokens stay held until their slots are wanted; tokens that were never
        computed give their slots back now. Without `keep` all that nobody else needs goes too,
        for keys and values that are no good.
        """
        node: Node | None = cursor.node
        assert node is not None, "the cursor is closed"
        self._detach(cursor)
        refs_below = 0
        while node is not None:
            parent = node.parent
            node.refs -= 1
            node.last_used = self.clock
            if refs_below in (0, node.refs):  # there may be nobody left who stands or parts here
                node.chain = None
            refs_below = node.refs
            if node.refs == 0:
                self.num_live -= len(node.tokens)
                if node.children is None:
                    if not keep:
                        node.num_computed = 0
                    self._settle(node)
            node = parent

    def mark_computed(self, node: Node, num_computed: int) -> None:
        """The node's first `num_computed` tokens now have their keys and values in the pool."""
        node.num_computed = max(node.num_computed, num_computed)

    def advance(self, num_tokens: int) -> None:
        """Let the clock of the tree go on by the tokens that a step has processed."""
        self.clock += num_tokens

    # -- eviction -------------------------------------------------------------------------------

    def evict(self, count: int) -> int:
        """Free at least `count` slots if as many can be freed; returns how many were.

        Leaves go in order of the policy's rank; of the last one only a tail, if that is enough.
        The number may exceed `count` by tokens that were never computed.
        """
        free_before = self.num_free
        # Counted by what became free, since releasing tails frees slots that were never computed.
        while (missing := count - (self.num_free - free_before)) > 0:
            leaf = self.evictable.pop()
            if leaf is None:
                if not self._release_tails():
                    break
            elif len(leaf.tokens) > missing:
                self._trim(leaf, len(leaf.tokens) - missing)
                self.evictable.add(leaf)
                self.num_evicted_tokens += missing
            else:
                self.num_evicted_tokens += len(leaf.tokens)
                self.num_evicted_nodes += 1
                self._remove(leaf)
        return self.num_free - free_before

    def clear(self) -> int:
        """Evict all that no live sequence needs; returns the number of tokens."""
        return self.evict(self.num_slots)

    def reset(self) -> None:
        """Forget everything and begin with all slots free; no cursor is of any use afterwards.

        For a caller that has no live sequences, whatever the tree may believe.
        """
        self.allocator = SlotAllocator(self.num_slots)
        self.evictable = EvictionQueue(self.evictable.rank)
        self.roots.clear()
        self._namespaces.clear()
        self.inside.clear()
        self.num_nodes = self.num_live = 0

    def check(self) -> None:
        """Recompute every invariant from scratch; raises `InvariantViolated`. For tests, audits."""
        from yaie.kvcache.audit import audit

        audit(self)

    # -- inside ---------------------------------------------------------------------------------

    def _insert(self, cursor: Cursor, tokens: Tokens) -> None:
        """Grow the cursor's path by tokens that the tree does not hold, computed by nobody yet."""
        extents = self._allocate(len(tokens))
        node = cursor.node
        assert node is not None
        if cursor.offset < len(node.tokens):
            node = self._split(node, cursor.offset)
        if node.children is None and node.parent is not None:
            node.tokens.frombytes(tokens.tobytes())
            node.add_extents(extents)
            self._lengthened(node, len(tokens), cursor)
            return
        child = self._add_child(node, tokens, extents)
        self._pin_one(child)
        self._detach(cursor)
        self._attach(cursor, child, len(tokens))

    def _lengthened(self, node: Node, count: int, cursor: Cursor) -> None:
        """A live leaf has grown in place by so many tokens, and `cursor` stands behind them."""
        self.num_live += count
        cursor.offset = len(node.tokens)
        assert node.cursors is not None
        if len(node.cursors) > 1:  # the others stand where its end was, or further up
            self.inside[node] = len(node.cursors) - 1

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
        """Cut an edge behind its first `keep` tokens; returns the new node that holds them.

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
        self._move_cursors(node, upper, keep)
        if node.entry:
            self.evictable.add(node)  # anew: it begins deeper now, which changes its rank
        return upper

    def _join_path(self, node: Node) -> None:
        """Make one edge of those above the node, and it, that nothing branches off any more.

        Eviction leaves them behind, and a look-up walks through each node of a held prompt. Only
        live edges are joined, and where the policy counts uses, only those used alike: else a tail
        would be worth as much as the prefix that it hangs on.
        """
        lowest = [node]
        while (parent := node.parent) is not None:
            # As many refs as its one child has: no cursor stands on it.
            alone = parent.children is not None and len(parent.children) == 1
            alike = parent.uses == node.uses or self.evictable.rank is rank_lru
            if alone and alike and parent.parent is not None and parent.refs == node.refs:
                lowest.append(parent)
            else:
                if len(lowest) > 1:
                    self._join(lowest[::-1])
                lowest = [parent]
            node = parent

    def _join(self, chain: list[Node]) -> None:
        """Make one edge of live edges that follow each other. The last object stays."""
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
        for gone in chain[:-1]:
            gone.parent = gone.children = gone.chain = None
        self.num_nodes -= len(chain) - 1

    def _move_cursors(self, node: Node, upper: Node, keep: int) -> None:
        """After a split: cursors of the first `keep` tokens go up and leave the tail's refs."""
        cursors, node.cursors = node.cursors or (), None
        self.inside.pop(node, None)
        for cursor in cursors:
            if cursor.offset <= keep:
                self._attach(cursor, upper, cursor.offset)
            else:
                self._attach(cursor, node, cursor.offset - keep)
        if upper.cursors and node.refs:
            node.refs -= len(upper.cursors)
            node.uses -= len(upper.cursors)
            if node.refs == 0:
                self.num_live -= len(node.tokens)
                if node.children is None:
                    self._settle(node)

    def _settle(self, leaf: Node) -> None:
        """A leaf that no sequence needs: drop what is not computed, offer the rest for eviction."""
        if leaf.parent is None:
            self._drop_root(leaf)
        elif leaf.num_computed == 0:
            self._remove(leaf)
        else:
            if leaf.num_computed < len(leaf.tokens):
                self._trim(leaf, leaf.num_computed)
            self.evictable.add(leaf)

    def _trim(self, leaf: Node, keep: int) -> None:
        """Give back the slots behind the first `keep` tokens of an unpinned leaf."""
        for start, length in leaf.cut_extents(keep):
            self.allocator.free(start, length)
        del leaf.tokens[keep:]
        leaf.num_computed = min(leaf.num_computed, keep)

    def _remove(self, leaf: Node) -> None:
        """Take an unpinned leaf out of the tree; its parent may become evictable."""
        self.evictable.discard(leaf)
        for start, length in leaf.extent_list():
            self.allocator.free(start, length)
        parent = leaf.parent
        assert parent is not None
        assert parent.children is not None
        del parent.children[leaf.tokens[0]]
        leaf.parent = None
        self.num_nodes -= 1
        if not parent.children:
            parent.children = None
            if parent.refs == 0:
                self._settle(parent)

    def _drop_root(self, root: Node) -> None:
        del self.roots[self._namespaces.pop(root)]

    def _release_tails(self) -> bool:
        """Under pressure: split live edges behind their deepest cursor, so that the rest may go."""
        edges = [(node, count) for node in self.inside if (count := loose_tokens(node))]
        for node, count in edges:
            self._split(node, len(node.tokens) - count)
        return bool(edges)

    def _allocate(self, count: int) -> list[Extent]:
        missing = count - self.allocator.num_in_runs
        if missing > 0:
            self.evict(missing)
        if count > self.allocator.num_free:
            raise OutOfSlots(count, self.allocator.num_free)
        return self.allocator.allocate(count)

    def _slot_after(self, node: Node) -> int:
        """One slot for a token behind the node, next to its last one if that is free."""
        if node.extents and self.allocator.take(node.extents[-2] + node.extents[-1]):
            return node.extents[-2] + node.extents[-1]
        if self.allocator.num_in_runs < self.room_to_grow and (
            self.evictable or not self.allocator.num_free
        ):
            # Evicted token by token, every sequence would get the odd slots of another's tail.
            # As long as there is a slot, room is not worth looking through live edges for.
            self.evict(self.room_to_grow)
        return self.allocator.take_with_room()

    def _pin(self, node: Node | None) -> None:
        while node is not None:
            self._pin_one(node)
            node = node.parent

    def _pin_one(self, node: Node) -> None:
        if node.refs == 0:
            self.num_live += len(node.tokens)
            self.evictable.discard(node)
        node.refs += 1
        node.uses += 1
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

    def _leave_inside(self, node: Node) -> None:
        """One cursor less stands inside the node's edge."""
        count = self.inside[node] - 1
        if count:
            self.inside[node] = count
        else:
            del self.inside[node]


def loose_tokens(node: Node) -> int:
    """Tokens of a live edge behind all the cursors that keep it alive: they can be cut off."""
    if not node.cursors or node.refs != len(node.cursors):
        return 0  # nobody's, or somebody stands further down
    return len(node.tokens) - max(cursor.offset for cursor in node.cursors)


def _common_length(node: Node, tokens: Tokens, first: int, length: int) -> int:
    """How many of the node's first `length` tokens equal those of `tokens` from `first` on."""
    differs = node.view()[:length] != tokens[first : first + length]
    where = int(differs.argmax())
    return where if differs[where] else length
