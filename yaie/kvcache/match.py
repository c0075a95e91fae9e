"""Match: the result of a prefix look-up, and the evictable room that pinning its path takes."""

from __future__ import annotations

from itertools import islice
from typing import Literal, NamedTuple

from yaie.kvcache.node import Node

CHANGED_TOKENS = 256  # a cached continuation this long was probably meant to be reused
_MOST_CHILDREN = 64  # that are looked at


class Match(NamedTuple):
    """A prompt's longest cached prefix, valid while `RadixTree.version` equals `version`."""

    node: Node | None  # the deepest node reached; None: the namespace has no root yet
    offset: int  # matched tokens of that node
    num_known: int  # prompt tokens that have a slot
    num_computed: int  # leading prompt tokens with their keys and values in the pool
    version: int  # tree version at the look-up
    # Computed tokens before which nothing is computed again: all, or up to the deepest state of a
    # model with recurrent layers.
    num_resumable: int

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


def kind_of_miss(match: Match) -> Literal["changed", "new"]:
    """Return why a prompt leaves the tree where it does, apart from evictions.

    "changed" if a cached continuation of at least `CHANGED_TOKENS` tokens begins there: so long a
    prompt rarely ends and differs there by chance.
    """
    node = match.node
    if node is None:
        return "new"
    if match.offset < len(node.tokens):
        longest = len(node.tokens) - match.offset
    else:
        children = islice((node.children or {}).values(), _MOST_CHILDREN)
        longest = max((len(child.tokens) for child in children), default=0)
    return "changed" if longest >= CHANGED_TOKENS else "new"
