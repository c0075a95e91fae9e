"""The radix tree: prefix cache, block table of live sequences and shape of the batch in one.

Only the engine thread touches it. A path from a root is a token sequence, and every token has a
slot in the pool. The scheduler opens a cursor for each live sequence, appends sampled tokens and
closes it. Tokens without a cursor below them stay cached until their slots are needed.

    root ── "You are a helpful …" ──┬── " What is 2+2?" ── " 4"      refs: cursors in or below
            start 0, refs 2         └── " Who are you?"  ^cursor     a leaf without refs is
                                                                     evictable
Invariants (see `audit`): every slot is free or owned by one node; children differ in their first
token; computed tokens have computed ancestors; refs equal the cursors in or below; a node without
refs is wholly computed, so that all cached tokens save work.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from yaie.base.queries import EvictionReason
from yaie.kvcache.eviction import LRU, EvictionPolicy, EvictionQueue
from yaie.kvcache.eviction_log import EvictionLog
from yaie.kvcache.ghosts import Ghosts, Wanted
from yaie.kvcache.match import Match
from yaie.kvcache.namespaces import adapter_of
from yaie.kvcache.node import Cursor, Node, Tokens, as_tokens
from yaie.kvcache.release import SlotRelease
from yaie.kvcache.slots import Extent, OutOfSlots, SlotAllocator
from yaie.kvcache.tree_edits import TreeEdits

_ABANDONED = -(2**40)  # last use: earlier than any clock
_GROWTH_SHARE = 32  # evict 1/32 of the pool when a sequence has no room to grow


class RadixTree(TreeEdits):
    """All namespaces' paths over one pool with `num_slots` slots."""

    def __init__(
        self,
        num_slots: int,
        eviction: EvictionPolicy = LRU,
        release: SlotRelease | None = None,
    ) -> None:
        """`release` receives the slots that the tree gives up; the default frees them."""
        super().__init__(num_slots, eviction, release)
        self.room_to_grow = max(1, num_slots // _GROWTH_SHARE)
        self.num_evicted_nodes = 0  # since the start
        self.num_evicted_tokens = 0
        self.wanted_again = Wanted()  # tokens evicted before and computed again
        self.ghosts = Ghosts(num_slots, self._namespaces)
        self.evicted = EvictionLog(self.ghosts)

    # -- contents -------------------------------------------------------------------------------

    @property
    def num_free(self) -> int:
        """Slots without an owner."""
        return self.allocator.num_free

    @property
    def num_cached(self) -> int:
        """Tokens in nodes without refs, all evictable."""
        return self.num_slots - self.allocator.num_free - self.num_live

    @property
    def num_available(self) -> int:
        """Slots that are free or evictable."""
        return self.num_slots - self.num_live

    def count_trimmable(self) -> int:
        """Count live edges' tokens past their deepest cursor; they can be evicted immediately.

        Visits every edge with a cursor inside: call it only if `num_available` is not enough.
        """
        return sum(node.count_trimmable() for node in self.inside)

    def nodes(self) -> Iterator[Node]:
        """Yield every node but the roots, parents before children."""
        stack = list(self.roots.values())
        while stack:
            node = stack.pop()
            if node.parent is not None:
                yield node
            if node.children:
                stack.extend(node.children.values())

    @staticmethod
    def path(cursor: Cursor) -> list[Node]:
        """Return the nodes from below the root down to the cursor's."""
        nodes = []
        node = cursor.node
        while node is not None and node.parent is not None:
            nodes.append(node)
            node = node.parent
        nodes.reverse()
        return nodes

    @classmethod
    def tokens(cls, cursor: Cursor) -> Tokens:
        """Return the tokens on the cursor's path."""
        parts = [np.array(node.tokens, dtype=np.int32) for node in cls.path(cursor)]
        if not parts:
            return np.empty(0, dtype=np.int32)
        return np.concatenate(parts)[: cursor.position]

    def match(self, namespace: Hashable, tokens: Tokens) -> Match:
        """Return the longest cached prefix for `tokens` (int32), without any change."""
        node = self.roots.get(namespace)
        if node is None:
            return Match(None, 0, 0, 0, self.version, 0)
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
        resumable = computed
        if self.states is not None:  # the last token has a row in any case, from a state before it
            resumable, _ = self.states.find(node, offset, min(computed, total - 1))
        return Match(node, offset, known, computed, self.version, resumable)

    # -- live sequences -------------------------------------------------------------------------

    def open(
        self,
        namespace: Hashable,
        tokens: Tokens,
        match: Match | None = None,
        *,
        is_use: bool = True,
    ) -> Cursor:
        """Start a live sequence: make its path exist and pin it until `close`.

        Tokens without a slot take one, for which other tokens may be evicted. `match` is an earlier
        look-up with the same tokens; a stale one is repeated. With `is_use` false eviction does not
        learn from it. Raises `OutOfSlots` if eviction frees too few slots; then only evicted tokens
        have moved.
        """
        tokens = as_tokens(tokens)  # other widths of int would be misread below
        if match is None or match.version != self.version:
            match = self.match(namespace, tokens)
        self.version += 1
        node = match.node
        if node is None:
            node = self.roots[namespace] = Node(None, 0)
            self._namespaces[node] = namespace
            node.adapter = adapter_of(namespace)
        if match.num_known < len(tokens) and match.offset < len(node.tokens):
            # Split before it is pinned: this sequence does not use the tail.
            node = self._split(node, match.offset)
        cursor = Cursor(node, match.offset)
        self._attach(cursor, node, match.offset)
        self._pin(node, is_use=is_use)
        self._join_path(node)
        if match.num_known < len(tokens):
            num_blocks = self.ghosts.num_blocks
            try:
                self._insert(cursor, tokens[match.num_known :])
            except OutOfSlots:
                self.close(cursor)
                raise
            self.wanted_again += self.ghosts.count_wanted(
                namespace, tokens, match.num_known, num_blocks
            )
        return cursor

    def fork(self, cursor: Cursor) -> Cursor:
        """Start a live sequence on another sequence's path, without a look-up or new slots."""
        node = cursor.node
        assert node is not None, "the cursor is closed"
        self.version += 1
        twin = Cursor(node, cursor.offset)
        self._attach(twin, node, cursor.offset)
        self._pin(node)
        return twin

    def append(self, cursor: Cursor, token: int) -> None:
        """Add a sampled token: walk into cached tokens, extend the leaf in place, or branch.

        Raises `OutOfSlots` if every slot is pinned; the cursor has not moved then.
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
        self.version += 1
        if node.children is None and node.extents:
            end = node.extents[-2] + node.extents[-1]
            if self.allocator.take(end):  # true for most tokens of most sequences
                node.tokens.append(token)
                node.extents[-1] += 1
                self._advance_cursor(node, 1, cursor)
                return
        child = node.children.get(token) if node.children else None
        if child is None:
            slot = self._slot_after(node)
            node = cursor.node  # eviction may have split the node and moved the cursor along
            assert node is not None
            if node.children is None and node.parent is not None:
                node.tokens.append(token)
                node.add_slot(slot)
                self._advance_cursor(node, 1, cursor)
                return
            child = self._add_child(node, (token,), [(slot, 1)])
        self._pin_one(child)
        self._detach(cursor)
        self._attach(cursor, child, 1)

    def close(self, cursor: Cursor, *, keep: bool = True) -> None:
        """End a live sequence, for whatever reason: drop its refs.

        Computed tokens stay cached until their slots are needed; uncomputed ones lose their slots
        now. With `keep` false the sequence's own tokens are dropped too: their keys and values
        are invalid.
        """
        node: Node | None = cursor.node
        assert node is not None, "the cursor is closed"
        self.version += 1
        self._detach(cursor)
        refs_below = 0
        while node is not None:
            parent = node.parent
            node.refs -= 1
            node.last_used = self.clock
            if refs_below in (0, node.refs):  # perhaps no live sequence ends or forks here now
                node.chain = None
            refs_below = node.refs
            if node.refs == 0:
                self.num_live -= len(node.tokens)
                if node.children is None:
                    if not keep:
                        node.num_computed = 0
                    self._settle(node)
            node = parent

    def abandon(self, namespace: Hashable, tokens: Tokens, keep: int) -> None:
        """Have a path's tokens after its first `keep` evicted before all other tokens.

        Those that live sequences or other paths need stay as they are. A later use restores their
        normal order.
        """
        node = self.match(namespace, tokens).node
        if node is None or node.children:
            return
        while node is not None and node.start >= keep and node.refs == 0:
            if node.children and len(node.children) > 1:
                return
            node.last_used = _ABANDONED
            if node.entry:
                self.evictable.add(node)  # its rank has changed
            node = node.parent

    def mark_computed(self, node: Node, num_computed: int) -> None:
        """Record that the node's first `num_computed` tokens have keys and values in the pool.

        Call `advance` after a step's marks: it also makes earlier look-ups stale.
        """
        before = node.num_computed
        if num_computed > before:
            node.num_computed = num_computed
            if self.observer is not None:
                self.observer.note_computed(node, before)

    def advance(self, num_tokens: int) -> None:
        """Advance the tree's clock by the tokens that a step has processed."""
        self.version += 1
        self.clock += num_tokens

    # -- eviction -------------------------------------------------------------------------------

    def evict(self, count: int, reason: EvictionReason = "capacity") -> int:
        """Free at least `count` slots if possible; return the number of freed slots.

        Leaves are evicted in the policy's order; the last one is only trimmed if that is enough.
        Uncomputed tokens that lose their slots on the way can raise the number above `count`.
        """
        self.version += 1
        if self.eviction.has_changed(len(self.evictable)):
            self.evictable.rank_again()
        free_before = self.num_free
        # Counted by free slots, because a split also frees uncomputed tokens.
        while (missing := count - (self.num_free - free_before)) > 0:
            leaf = self.evictable.pop()
            if leaf is None:
                if not self._split_past_cursors():
                    break
                continue
            self.eviction.note_eviction(leaf)
            keep = max(0, len(leaf.tokens) - missing)
            self.ghosts.evict(leaf, keep)
            self.evicted.add(leaf, keep, self.clock, reason)
            if keep:
                self._trim(leaf, keep)
                self.evictable.add(leaf)
                self.num_evicted_tokens += missing
            else:
                self.num_evicted_tokens += len(leaf.tokens)
                self.num_evicted_nodes += 1
                self._remove(leaf)
        return self.num_free - free_before

    def clear(self) -> int:
        """Evict every unpinned token; return their number."""
        return self.evict(self.num_slots, "flushed")

    def reset(self) -> None:
        """Drop all nodes and start with free slots; every cursor becomes invalid.

        For a caller without live sequences that has found the bookkeeping wrong.
        """
        self.version += 1
        self.allocator = SlotAllocator(self.num_slots)
        self.evictable = EvictionQueue(self.eviction.rank)
        self.roots.clear()
        self._namespaces.clear()
        self.ghosts.clear()
        self.evicted.clear()
        self.inside.clear()
        self.num_nodes = self.num_live = 0
        if self.observer is not None:
            self.observer.clear()
        if self.states is not None:
            self.states.clear()

    def check(self) -> None:
        """Recompute every invariant from scratch; raise `InvariantViolated`. For tests, audits."""
        from yaie.kvcache.audit import audit

        audit(self)

    # -- slots ----------------------------------------------------------------------------------

    def _insert(self, cursor: Cursor, tokens: Tokens) -> None:
        """Extend the cursor's path by uncomputed tokens that the tree lacks."""
        extents = self._allocate(len(tokens))
        node = cursor.node
        assert node is not None
        if cursor.offset < len(node.tokens):
            node = self._split(node, cursor.offset)
        if node.children is None and node.parent is not None:
            node.tokens.frombytes(tokens.tobytes())
            node.add_extents(extents)
            self._advance_cursor(node, len(tokens), cursor)
            return
        child = self._add_child(node, tokens, extents)
        self._pin_one(child)
        self._detach(cursor)
        self._attach(cursor, child, len(tokens))

    def _allocate(self, count: int) -> list[Extent]:
        missing = count - self.allocator.num_in_runs
        if missing > 0:
            self.evict(missing)
        if count > self.allocator.num_free:
            raise OutOfSlots(count, self.allocator.num_free)
        return self.allocator.allocate(count)

    def _slot_after(self, node: Node) -> int:
        """Take one slot for the next token, adjacent to the node's last one if that is free."""
        if node.extents and self.allocator.take(node.extents[-2] + node.extents[-1]):
            return node.extents[-2] + node.extents[-1]
        if self.allocator.num_in_runs < self.room_to_grow and (
            self.evictable or not self.allocator.num_free
        ):
            # Evicting token by token would scatter every sequence over single slots.
            # While any slot is free, splitting live edges for more room does not pay.
            self.evict(self.room_to_grow)
        return self.allocator.take_with_room()


def _common_length(node: Node, tokens: Tokens, first: int, length: int) -> int:
    """Count how many tokens at the node's start equal `tokens[first:]`."""
    differs = node.view()[:length] != tokens[first : first + length]
    where = int(differs.argmax())
    return where if differs[where] else length
