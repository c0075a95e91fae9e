"""Ghosts of evicted tokens: fingerprints that tell if an evicted prefix is requested again.

A fingerprint hashes a whole prefix that ends at a multiple of `BLOCK` tokens. The last evicted
tokens, at most one pool, keep their fingerprints. So "requested again" means: a pool of about twice
the size would have kept the token.

The age of a fingerprint, in tokens evicted since, tells how much larger the pool would have had to
be. That is exact for `lru` and an estimate for other policies.

A prefix hash is a polynomial, so it continues from a node's parent without the tokens above. A node
with evicted children stores its path hash (`Node.path_hash`).
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yaie.kvcache.node import Node, Tokens

BLOCK = 16
_MOST = 2**16  # fingerprints: some 10 MB
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64
_MASK = 2**64 - 1
_SHORT = 48  # tokens: below, a loop is faster than numpy


class Wanted(NamedTuple):
    """Evicted tokens of a prompt, by the size of a pool that would have kept them."""

    in_double: int = 0  # all of them
    in_quarter_more: int = 0
    in_half_more: int = 0

    def __add__(self, other: Wanted) -> Wanted:  # type: ignore[override]  # as numbers, not as lists
        return Wanted(*map(sum, zip(self, other, strict=True)))


class Ghosts:
    """Fingerprints of a tree's last evicted prefixes."""

    def __init__(self, num_slots: int, namespaces: Mapping[Node, Hashable]) -> None:
        """`namespaces`: each root's hash."""
        self._most = min(_MOST, max(1, num_slots // BLOCK))
        self._namespaces = namespaces
        self._num_slots = num_slots
        # In order of eviction, with the number of blocks evicted before.
        self._known: OrderedDict[int, int] = OrderedDict()
        self.num_blocks = 0  # evicted so far

    def __len__(self) -> int:
        return len(self._known)

    def clear(self) -> None:
        """Forget every fingerprint."""
        self._known.clear()

    def evict(self, leaf: Node, keep: int) -> None:
        """Remember the tokens that a leaf loses: all after its first `keep`."""
        first = BLOCK * ((leaf.start + keep) // BLOCK + 1)  # end of a block, as all that follow
        if first > leaf.end:
            return
        assert leaf.parent is not None
        known, before = self._known, self.path_hash(leaf.parent)
        for fingerprint in hashes_at(
            before, leaf.tokens, slice(first - leaf.start - 1, None, BLOCK)
        ):
            self.num_blocks += 1
            known[fingerprint] = self.num_blocks
            known.move_to_end(fingerprint)
        while len(known) > self._most:
            known.popitem(last=False)

    def count_wanted(
        self, namespace: Hashable, tokens: Tokens, num_computed: int, num_blocks: int
    ) -> Wanted:
        """Count the tokens after the first `num_computed` that were evicted, and forget them.

        `num_blocks`: the value before the evictions that made room for these tokens.
        """
        first = BLOCK * (num_computed // BLOCK + 1)
        if not self._known or first > len(tokens):
            return Wanted()
        fingerprints = hashes_at(root_hash(namespace), tokens, slice(first - 1, None, BLOCK))
        wanted = by_quarter = by_half = 0
        for number, fingerprint in enumerate(fingerprints):
            if (evicted_at := self._known.pop(fingerprint, None)) is not None:
                count = BLOCK if number else first - num_computed
                missing = BLOCK * (num_blocks - evicted_at + 1) / self._num_slots
                wanted += count
                by_quarter += count if missing <= 0.25 else 0
                by_half += count if missing <= 0.5 else 0
        return Wanted(wanted, by_quarter, by_half)

    def path_hash(self, node: Node) -> int:
        """Return the path hash at the end of an inner node or a root."""
        below: list[Node] = []
        while not node.path_hash and node.parent is not None:
            below.append(node)
            node = node.parent
        path_hash = node.path_hash or root_hash(self._namespaces[node])
        for each in reversed(below):
            (path_hash,) = hashes_at(path_hash, each.tokens, slice(-1, None))
            each.path_hash = path_hash
        return path_hash


def hashes_at(before: int, tokens: Tokens | array[int], places: slice) -> list[int]:
    """Return the hashes after each of some tokens, from the hash before the first.

    That after token k is that before it times the base, plus the token and 1, modulo 2^64.
    """
    if len(tokens) < _SHORT:
        hashes = []
        for token in tokens:
            before = (before * _BASE + int(token) + 1) & _MASK
            hashes.append(before)
        return hashes[places]
    powers, inverses = _powers(len(tokens).bit_length())
    terms = (np.asarray(tokens).astype(np.uint64) + np.uint64(1)) * inverses[: len(tokens)]
    sums = np.cumsum(terms)[places] + np.uint64(before)
    found: list[int] = (sums * powers[: len(tokens)][places]).tolist()
    return found


def hash_after(before: int, token: int) -> int:
    """Return the hash after one more token."""
    return (before * _BASE + token + 1) & _MASK


@cache
def _powers(bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the powers of the base and of its inverse, from 1 to 2^bits, modulo 2^64."""
    bases = (_BASE, pow(_BASE, -1, 2**64))
    powers = [np.cumprod(np.full(2**bits, base, np.uint64), dtype=np.uint64) for base in bases]
    return powers[0], powers[1]


def root_hash(namespace: Hashable) -> int:
    """Return the hash of a namespace's empty path."""
    return hash(namespace) & _MASK
