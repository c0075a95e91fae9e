"""Step tree: the nodes with rows in a step, and the nodes where their paths fork.

Pure; used by the planner. All nodes between two entries are one `Chain`.

    path     A ─ B ─ C ─┬─ D ─ E^       entries    C ─┬─ E    slots above: of D
                        └─ F^                         └─ F    of C: of A, B
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from yaie.kvcache.node import Node, SlotArray
from yaie.kvcache.unary_chain import make_chain_above


class NodeRows:
    """One node's rows in a step; a fork may have an entry without rows."""

    __slots__ = ("again", "branches", "computed_to", "hidden", "logits", "node", "slots_above")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.computed_to = node.num_computed  # tokens computed at the end of the step
        self.logits: set[int] = set()  # tokens with requested logits
        self.hidden: set[int] = set()  # tokens with a requested hidden row
        self.again: set[int] = set()  # cached tokens that recurrent layers compute again
        self.branches: list[NodeRows] = []  # entries below this one
        self.slots_above: SlotArray | None = None  # slots of the nodes up to the entry above

    @property
    def outputs(self) -> set[int]:
        """Tokens that have a row even if they are cached."""
        if self.hidden or self.again:
            return self.logits | self.hidden | self.again
        return self.logits


def connect(entries: Mapping[Node, NodeRows]) -> list[NodeRows]:
    """Connect each entry with the entries below it, and add entries where paths fork.

    Returns the top entries. Branches are in entry order.
    """
    for entry in entries.values():
        entry.branches, entry.slots_above = [], None  # a selection may be planned more than once
    known = dict(entries)
    inside = _inside_chains(entries)
    connected: set[Node] = set()
    tops: list[NodeRows] = []
    for entry in entries.values():
        below = entry
        while below.node not in connected:
            connected.add(below.node)
            above = _entry_above(below, known, inside)
            if above is None:
                tops.append(below)
                break
            above.branches.append(below)
            below = above
    return tops


def _entry_above(
    entry: NodeRows, known: dict[Node, NodeRows], inside: Mapping[Node, list[NodeRows]]
) -> NodeRows | None:
    """Return the next entry above, creating it if missing; None directly below a root."""
    parent = entry.node.parent
    assert parent is not None
    if parent.parent is None:
        return None
    found = known.get(parent)
    if found is not None:
        return found
    chain = make_chain_above(entry.node)
    if chain is not None:
        others = inside.get(chain.top, ())
        num_above = bisect_left(others, entry.node.start, key=_start)
        if num_above:
            above = others[num_above - 1]
            entry.slots_above = chain.slots[above.node.end - chain.first_position :]
            return above
        entry.slots_above = chain.slots
        parent = chain.top.parent
        assert parent is not None
        if parent.parent is None:
            return None
        found = known.get(parent)
    if found is None:
        found = known[parent] = NodeRows(parent)
    return found


def _inside_chains(entries: Mapping[Node, NodeRows]) -> dict[Node, list[NodeRows]]:
    """Return entries without a cursor, which may be inside a chain.

    These nodes are prompts in progress. Keyed by the chain's top node (the node itself if it is the
    top), sorted by position.
    """
    unattended = [entry for entry in entries.values() if not entry.node.cursors]
    if not unattended:  # true of most steps
        return {}
    found: dict[Node, list[NodeRows]] = {}
    tops: dict[Node, Node] = {}
    for entry in sorted(unattended, key=_start):
        node, parent = entry.node, entry.node.parent
        if parent in tops and parent.refs == node.refs:
            tops[node] = tops[parent]
        else:
            chain = make_chain_above(node)
            tops[node] = chain.top if chain else node
        found.setdefault(tops[node], []).append(entry)
    return found


def _start(entry: NodeRows) -> int:
    return entry.node.start
