"""Largest branches of a tree, for cache statistics. Pure.

A walk visits at most `MOST_VISITED` nodes, so that no step waits long for it.
"""

from __future__ import annotations

from collections.abc import Hashable

from yaie.base.queries import Branch, Branches
from yaie.kvcache.node import Node
from yaie.kvcache.radix_tree import RadixTree

MOST_VISITED = 20_000


def largest_branches(
    tree: RadixTree, namespace: Hashable, *, limit: int, num_shown: int
) -> Branches:
    """Return the `limit` edges with most tokens in and below them, parents before children."""
    root = tree.roots.get(namespace)
    if root is None:
        return Branches((), 0, tree.clock, is_complete=True)
    nodes, is_complete = _visit(root)
    sizes = {node: len(node.tokens) for node in nodes}
    for node in reversed(nodes):
        if node is not root and node.parent in sizes:
            sizes[node.parent] += sizes[node]
    # A parent is at least as large as its children: the largest ones are a tree again.
    chosen = sorted(nodes[1:], key=lambda node: -sizes[node])[:limit]
    return Branches(
        tuple(_branch(node, sizes[node], num_shown) for node in _depth_first(root, chosen)),
        sizes[root],
        tree.clock,
        is_complete=is_complete and len(chosen) == len(nodes) - 1,
    )


def _visit(root: Node) -> tuple[list[Node], bool]:
    """Return nodes by depth; False if there are more than are visited."""
    nodes = [root]
    for node in nodes:
        children = list((node.children or {}).values())
        if len(nodes) + len(children) > MOST_VISITED:
            return nodes, False
        nodes += children
    return nodes, True


def _depth_first(root: Node, chosen: list[Node]) -> list[Node]:
    below: dict[Node, list[Node]] = {}
    for node in chosen:  # largest first
        assert node.parent is not None
        below.setdefault(node.parent, []).append(node)
    found, stack = [], below.get(root, [])[::-1]
    while stack:
        node = stack.pop()
        found.append(node)
        stack += below.get(node, [])[::-1]
    return found


def _branch(node: Node, size: int, num_shown: int) -> Branch:
    depth, above = 0, node.parent
    while above is not None and above.parent is not None:
        depth, above = depth + 1, above.parent
    return Branch(
        token_ids=tuple(node.tokens[:num_shown]),
        start=node.start,
        num_tokens=len(node.tokens),
        num_tokens_below=size - len(node.tokens),
        depth=depth,
        num_live=node.refs,
        num_uses=node.uses,
        last_used=node.last_used,
    )
