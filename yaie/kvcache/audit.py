"""Audit: recomputes every invariant of the radix tree from scratch.

Called by `RadixTree.check` after every step under test, and when a server is idle.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from yaie.base.errors import InvariantViolated
from yaie.kvcache.node import Node

if TYPE_CHECKING:
    from yaie.kvcache.radix_tree import RadixTree


def audit(tree: RadixTree) -> None:
    """Raise `InvariantViolated` with the first violated invariant."""
    nodes = list(tree.nodes())
    tree.allocator.check()
    _audit_slots(tree, nodes)
    for node in nodes:
        _audit_node(node)
    for namespace, root in tree.roots.items():
        _require(
            len(root.tokens) == 0 and root.parent is None,
            "root {!r} has tokens or a parent",
            namespace,
        )
        _require(bool(root.children or root.refs), "root {!r} is empty", namespace)
        _audit_children(root)
    _audit_refs(tree, nodes)
    _audit_inside(tree, nodes)
    for node in nodes:
        _audit_chain(node)
    _audit_evictable(tree, nodes)
    if tree.observer is not None:
        _audit_blocks(tree, nodes)
    if tree.states is not None:
        tree.states.check(nodes)
    _require(tree.num_nodes == len(nodes), "num_nodes {}, found {}", tree.num_nodes, len(nodes))


def _require(holds: bool, message: str, *about: object) -> None:
    """Raise with a formatted message. Formatting only on failure saves most of the time."""
    if not holds:
        raise InvariantViolated(message.format(*about))


def _audit_slots(tree: RadixTree, nodes: list[Node]) -> None:
    owners = np.zeros(tree.num_slots, dtype=np.int64)
    for start, length in tree.allocator.extents:
        owners[start : start + length] += 1
    for node in nodes:
        extents = node.extent_list()
        total = sum(length for _, length in extents)
        _require(total == len(node.tokens), "{} has {} slots for its tokens", node, total)
        for start, length in extents:
            _require(length > 0, "{} has an empty extent", node)
            _require(start >= 0 and start + length <= tree.num_slots, "{}: slot out of pool", node)
            owners[start : start + length] += 1
    wrong = np.flatnonzero(owners != 1)
    if len(wrong):
        slot = int(wrong[0])
        raise InvariantViolated(f"slot {slot} has {int(owners[slot])} owners")


def _audit_node(node: Node) -> None:
    parent = node.parent
    assert parent is not None
    _require(len(node.tokens) > 0, "{} is empty", node)
    _require(0 <= node.num_computed <= len(node.tokens), "{} computed beyond its tokens", node)
    _require(node.start == parent.end, "{} does not start at its parent's end", node)
    if node.num_computed:
        _require(
            parent.num_computed == len(parent.tokens), "{} is computed before its parent", node
        )
    if node.refs == 0:
        _require(node.num_computed == len(node.tokens), "{} is cached but not computed", node)
    _audit_children(node)


def _audit_children(node: Node) -> None:
    _require(node.children is None or len(node.children) > 0, "{} has an empty child table", node)
    for token, child in (node.children or {}).items():
        _require(child.parent is node, "{} has another parent than its table says", child)
        _require(child.tokens[0] == token, "{} is under the key {}", child, token)


def _audit_refs(tree: RadixTree, nodes: list[Node]) -> None:
    everything = [*tree.roots.values(), *nodes]
    refs = {id(node): 0 for node in everything}
    for node in everything:
        for cursor in node.cursors or ():
            _require(cursor.node is node, "a cursor and its node disagree")
            lowest = 0 if node.parent is None else 1
            _require(lowest <= cursor.offset <= len(node.tokens), "cursor beyond {}", node)
            above: Node | None = node
            while above is not None:
                refs[id(above)] += 1
                above = above.parent
    for node in everything:
        _require(node.refs == refs[id(node)], "{} should have {} refs", node, refs[id(node)])
    live = sum(len(node.tokens) for node in nodes if node.refs)
    _require(tree.num_live == live, "num_live is {}, counted {}", tree.num_live, live)


def _audit_inside(tree: RadixTree, nodes: list[Node]) -> None:
    counts: dict[Node, int] = {}
    for node in nodes:
        count = sum(cursor.offset < len(node.tokens) for cursor in node.cursors or ())
        if count:
            counts[node] = count
    _require(
        tree.inside == counts,
        "cursors inside edges are counted as {}, found {}",
        tree.inside,
        counts,
    )


def _audit_chain(node: Node) -> None:
    """Compare a kept chain, which the planner reads, with the nodes above."""
    kept = node.chain
    if kept is None:
        return
    _require(node.refs > 0, "{} keeps a chain without refs", node)
    if not kept.leads_to(node):
        return  # stale, hence unused
    parts, above = [], node.parent
    while above is not None and above.parent is not None and above.end > kept.first_position:
        _require(above.refs == node.refs, "{} keeps a chain over {}", node, above)
        parts.append(above.slots())
        above = above.parent
    is_same = bool(parts) and np.array_equal(np.concatenate(parts[::-1]), kept.slots)
    _require(is_same, "{} keeps other slots than the nodes above it", node)


def _audit_evictable(tree: RadixTree, nodes: list[Node]) -> None:
    leaves = {id(node) for node in nodes if node.refs == 0 and node.children is None}
    offered = [id(node) for node in tree.evictable]
    _require(len(offered) == len(set(offered)), "a leaf is offered for eviction twice")
    _require(set(offered) == leaves, "the eviction queue is not the set of unpinned leaves")
    _require(len(tree.evictable) == len(leaves), "the eviction queue counts wrongly")


def _audit_blocks(tree: RadixTree, nodes: list[Node]) -> None:
    """Compare the observer's block names with names from all computed tokens."""
    observer = tree.observer
    assert observer is not None
    # By node: the last name on its path, and the computed tokens after that block.
    ends = {root: (observer.root_name(root), array("i")) for root in tree.roots.values()}
    total = 0
    for node in nodes:
        assert node.parent is not None
        parent, rest = ends[node.parent]
        tokens = rest + node.tokens[: node.num_computed]
        names = observer.name_blocks(tokens, parent, observer.block_size)
        _require(observer.names_of(node) == names, "{} has other block names than its path", node)
        ends[node] = (names[-1] if names else parent, tokens[len(names) * observer.block_size :])
        total += len(names)
    _require(len(observer) == total, "{} block names, counted {}", len(observer), total)
