"""Views of a tree: the nodes of most worth, for a page that shows the cache. Pure.

A view is made between two steps, so it visits a bounded number of nodes. Live paths come first,
then the nodes with the most uses times tokens, each after its parent.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from itertools import count, islice

from yaie.base.queries import Twins, ViewedNode
from yaie.kvcache.node import Node
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.twins import find_twins

_MOST_VISITED = 4000
_MOST_CHILDREN = 256  # of one node, the newest
_numbers = count(1)  # nodes get their numbers when they are first viewed


def view_nodes(
    tree: RadixTree,
    live: Iterable[Node],
    *,
    limit: int,
    num_shown: int,
    time_of: Callable[[int], float],
) -> tuple[list[ViewedNode], Twins | None]:
    """Return up to `limit` nodes, parents before children, and the largest twins among them.

    `live`: nodes whose paths come first. `time_of`: the time of a tree clock in seconds.
    """
    chosen = _choose(tree, live, limit)
    num_chosen = Counter(node.parent for node in chosen)
    owners = {root: owner_of(namespace) for namespace, root in tree.roots.items()}
    found: list[ViewedNode] = []
    inherited: dict[Node, tuple[str, bool]] = {}
    for node in chosen:
        parent = node.parent
        assert parent is not None
        owner = inherited[node] = inherited.get(parent) or owners.get(parent, ("", True))
        if not node.number:
            node.number = next(_numbers)
        found.append(
            ViewedNode(
                number=node.number,
                parent=parent.number,
                owner=owner[0],
                is_salted=owner[1],
                start=node.start,
                num_tokens=len(node.tokens),
                num_uses=node.uses,
                used_at=time_of(node.last_used),
                num_live=node.refs,
                num_hidden=len(node.children or ()) - num_chosen[node],
                first_tokens=node.tokens[:num_shown].tobytes(),
            )
        )
    return found, find_twins(chosen)


def _choose(tree: RadixTree, live: Iterable[Node], limit: int) -> dict[Node, None]:
    chosen: dict[Node, None] = {}
    for tip in live:
        path, above = [], tip
        while above.parent is not None and above not in chosen:
            path.append(above)
            above = above.parent
        chosen.update(dict.fromkeys(path[::-1][: limit - len(chosen)]))
    waiting: list[tuple[int, int, Node]] = []  # worth, order, node
    order = count()

    def offer(parent: Node) -> None:
        children = reversed((parent.children or {}).values())
        for child in islice(children, _MOST_CHILDREN):
            if child not in chosen:
                worth = -(child.uses + 1) * len(child.tokens)
                heapq.heappush(waiting, (worth, next(order), child))

    for parent in (*islice(reversed(tree.roots.values()), _MOST_CHILDREN), *list(chosen)):
        offer(parent)
    num_visited = 0
    while waiting and len(chosen) < limit and num_visited < _MOST_VISITED:
        _, _, node = heapq.heappop(waiting)
        chosen[node] = None
        num_visited += 1 + min(_MOST_CHILDREN, len(node.children or ()))
        offer(node)
    return chosen


def owner_of(namespace: Hashable) -> tuple[str, bool]:
    """Return the owner of a namespace, and whether a salt separates it.

    A namespace that belongs to one request counts as salted.
    """
    if isinstance(namespace, tuple) and len(namespace) >= 2:
        owner, salt, *_ = namespace
        if isinstance(owner, str):
            return owner, bool(salt)
    return "", True
