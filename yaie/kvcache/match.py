"""Match: the result of a prefix look-up, and the evictable room that pinning its path takes."""

from __future__ import annotations

from typing import NamedTuple

from yaie.kvcache.node import Node


class Match(NamedTuple):
    """A prompt's longest cached prefix, valid while `RadixTree.version` equals `version`."""

    node: Node | None  # the deepest node reached; None: the namespace has no root yet
    offset: int  # matched tokens of that node
    num_known: int  # prompt tokens that have a slot
    num_computed: int  # leading prompt tokens with their keys and values in the pool
    version: int  # tree version at the look-up

    def count_evictable(self) -> int:
        """Count the matched tokens that are evictable now and that `open` would pin.

        The rest of the last edge, after the match, is not counted: it stays evictable.
        """
        tokens, node, end = 0, self.node, self.offset
        while node is not None and node.refs == 0:
            tokens += end
            node = node.parent
            end = len(node.tokens) if node else 0
        return tokens

    def count_trimmable(self) -> int:
        """Count the matched tokens that can be trimmed now and that `open` would pin.

        `RadixTree.count_trimmable` includes them.
        """
        node, end = self.node, self.offset
        while node is not None and node.refs == 0:
            node = node.parent
            end = len(node.tokens) if node else 0
        if node is None:
            return 0
        return max(0, end - (len(node.tokens) - node.count_trimmable()))
