"""Twins: branches that differ by one word, so that their equal rest is held twice. Pure.

Tokens are compared, not text: a page that may not show text can still say what a moved date costs.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, islice

import numpy as np

from yaie.base.queries import Twins
from yaie.kvcache.node import Node, Tokens

_LEAST_TOKENS = 512  # of each branch
_WORD = 16  # most tokens of the word that differs
_ANCHOR = 32  # tokens after it by which the branches are laid on each other
_MOST_SIBLINGS = 4  # of one parent, the largest
_MOST_PAIRS = 64


def find_twins(nodes: Iterable[Node]) -> Twins | None:
    """Return the pair of siblings with the most equal tokens, or None; nodes have numbers."""
    families: dict[Node | None, list[Node]] = {}
    for node in nodes:
        if len(node.tokens) >= _LEAST_TOKENS:
            families.setdefault(node.parent, []).append(node)
    pairs = (
        pair
        for family in families.values()
        for pair in combinations(sorted(family, key=_length, reverse=True)[:_MOST_SIBLINGS], 2)
    )
    best: Twins | None = None
    for one, other in islice(pairs, _MOST_PAIRS):
        num_tokens = count_equal(_view(one), _view(other))
        if num_tokens >= _LEAST_TOKENS - _WORD and (best is None or num_tokens > best.num_tokens):
            best = Twins(one.number, other.number, num_tokens)
    return best


def count_equal(one: Tokens, other: Tokens) -> int:
    """Count the tokens in a row that are equal behind a first word of at most `_WORD` tokens."""
    anchor = one[_WORD : _WORD + _ANCHOR].tobytes()
    start = other[: 2 * _WORD + _ANCHOR].tobytes()
    at = start.find(anchor)
    while at % 4 and at >= 0:  # between two tokens
        at = start.find(anchor, at + 1)
    if at < 0:
        return 0
    some, others = one[_WORD:], other[at // 4 :]
    length = min(len(some), len(others))
    differs = some[:length] != others[:length]
    return int(np.argmax(differs)) if differs.any() else length


def _length(node: Node) -> int:
    return len(node.tokens)


def _view(node: Node) -> Tokens:
    return np.frombuffer(node.tokens, dtype=np.int32)
