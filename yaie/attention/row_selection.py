"""Row selection: the tokens that one step computes, chosen under a row budget. Pure."""

from __future__ import annotations

from yaie.attention.step_tree import NodeRows
from yaie.kvcache.node import Cursor, Node


class RowSelection:
    """The tokens that one step computes, collected per sequence under a row budget.

    Made for each step after all admissions: the tree must not change until the step is done.
    Sequences share rows; the sequence added first pays for a shared one.
    """

    def __init__(self, max_rows: int) -> None:
        self.max_rows = max_rows
        self.num_rows = 0
        self.kv_tokens_unshared = 0
        self.entries: dict[Node, NodeRows] = {}  # by node with rows

    @property
    def room(self) -> int:
        """Rows left in the budget."""
        return self.max_rows - self.num_rows

    def make_room(self, num_rows: int) -> bool:
        """Return True if so many rows fit; an empty selection grows to fit them."""
        if not self.num_rows:
            self.max_rows = max(self.max_rows, num_rows)
        return num_rows <= self.room

    def add(self, cursor: Cursor) -> tuple[int, bool]:
        """Select the cursor's next tokens, up to the budget.

        Returns the number of added rows, and True if the step yields the sequence's next logits.
        """
        before = self.num_rows
        if not self.add_uncomputed(cursor):
            return self.num_rows - before, False
        assert cursor.node is not None
        complete = self._select_logits(cursor.node, cursor.offset - 1)
        if complete:
            self.kv_tokens_unshared += cursor.position
        return self.num_rows - before, complete

    def add_draft(self, cursor: Cursor, count: int) -> int:
        """Select the logits of tokens after a cursor, on its edge; its own are selected.

        Returns how many of the `count` tokens the budget has room for.
        """
        node, first = cursor.node, cursor.offset
        assert node is not None, "the cursor is closed"
        for added in range(count):
            is_computed = self._compute(node, first + added + 1)
            if not is_computed or not self._select_logits(node, first + added):
                count = added
                break
        self.kv_tokens_unshared += count
        return count

    def add_from(self, cursor: Cursor, path: list[Node], first: int) -> int:
        """Select the path's tokens from position `first` on, cached or not, up to the budget.

        The last token gets its logits. Returns the position up to which the budget sufficed.
        """
        end = self.add_again(path, first, cursor.position)
        if end == cursor.position:
            assert cursor.node is not None
            self._entry(cursor.node).logits.add(cursor.offset - 1)
            self.kv_tokens_unshared += end
        return end

    def add_again(self, path: list[Node], first: int, end: int) -> int:
        """Select the tokens at positions `first` to `end` on a path, cached or not.

        Returns the position up to which the budget sufficed.
        """
        for node in path:
            start, stop = max(first - node.start, 0), min(end, node.end) - node.start
            if start >= stop:
                continue
            missing = self._without_row(node, start, stop)
            is_all = len(missing) <= self.room
            if not is_all:
                stop = missing[self.room]  # the first beyond the budget
            if stop > start:
                entry = self._entry(node)
                entry.again.update(range(start, min(stop, node.num_computed)))
                entry.computed_to = max(entry.computed_to, stop)
                self.num_rows += min(len(missing), self.room)
            if not is_all:
                return node.start + stop
        return end

    def add_uncomputed(self, cursor: Cursor) -> bool:
        """Select the next tokens of the cursor's path, without logits; True if that is all."""
        node = cursor.node
        assert node is not None, "the cursor is closed"
        before = self.num_rows
        pending = []  # nodes with tokens to compute, deepest first
        end = cursor.offset
        while node.parent is not None and node.num_computed < end:
            pending.append((node, end))
            node = node.parent
            end = len(node.tokens)
        for node, end in reversed(pending):
            if not self._compute(node, end):
                self._count_unshared(node, before)
                return False
        return True

    def add_outputs(
        self, path: list[Node], first: int, end: int, *, is_hidden: bool = False
    ) -> int:
        """Select the outputs at positions `first` to `end` on a path, cached or not.

        Positions before `first` that preemption has lost are selected too. Returns the position
        up to which the budget sufficed.
        """
        before = self.num_rows
        for node in path:
            if node.start >= end:
                break
            if not self._compute(node, max(0, min(first, node.end) - node.start)):
                self._count_unshared(node, before)
                return first
            start, stop = max(first - node.start, 0), min(end, node.end) - node.start
            if start >= stop:
                continue
            missing = self._without_row(node, start, stop)
            if len(missing) > self.room:
                stop = missing[self.room]  # the first beyond the budget
                if stop == start:
                    return node.start + start
            entry = self._entry(node)
            entry.computed_to = max(entry.computed_to, stop)
            (entry.hidden if is_hidden else entry.logits).update(range(start, stop))
            self.num_rows += min(len(missing), self.room)
            if node.start + stop < min(end, node.end):
                return node.start + stop
        return end

    def _without_row(self, node: Node, start: int, stop: int) -> list[int]:
        """Return the node's tokens from `start` to `stop` that lack a row in the selection."""
        entry = self.entries.get(node)
        known = entry.outputs if entry else frozenset()
        computed_to = entry.computed_to if entry else node.num_computed
        cached = range(start, min(stop, node.num_computed))
        again = [offset for offset in cached if offset not in known]
        return [*again, *range(max(start, computed_to), stop)]

    def _compute(self, node: Node, end: int) -> bool:
        """Select the node's tokens up to `end`; return False if the budget ended before."""
        entry = self.entries.get(node)
        computed_to = entry.computed_to if entry else node.num_computed
        missing = end - computed_to
        if missing <= 0:
            return True
        rows = min(missing, self.room)
        if rows:
            self._entry(node).computed_to += rows
            self.num_rows += rows
        return rows == missing

    def _count_unshared(self, node: Node, rows_before: int) -> None:
        """Count the keys that a prompt chunk ending in this node would read by itself."""
        if self.num_rows > rows_before:
            entry = self.entries.get(node)
            self.kv_tokens_unshared += node.start + (
                entry.computed_to if entry else node.num_computed
            )

    def _select_logits(self, node: Node, offset: int) -> bool:
        entry = self.entries.get(node)
        has_row = entry is not None and offset in entry.outputs
        if offset < node.num_computed and not has_row:  # cached: a row for its logits only
            if not self.room:
                return False
            self.num_rows += 1
        self._entry(node).logits.add(offset)
        return True

    def _entry(self, node: Node) -> NodeRows:
        """Return the node's entry; create it if missing."""
        entry = self.entries.get(node)
        if entry is None:
            entry = self.entries[node] = NodeRows(node)
        return entry
