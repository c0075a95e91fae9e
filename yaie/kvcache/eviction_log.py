"""Eviction log: the tokens that a path lost, when and why. Bounded in bytes.

`Ghosts` counts tokens that are requested again; this log answers for each token. A branch is stored
under its path's hash, up to and including its first token. Its tokens are compared, so that only
the path above is trusted to a hash.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from yaie.base.queries import EvictionReason
from yaie.kvcache.ghosts import Ghosts, hash_after, hashes_at, root_hash
from yaie.kvcache.node import Node, Tokens

MOST_BYTES = 4 * 2**20  # about a million tokens
_BRANCH_BYTES = 240  # a branch without tokens


class EvictedBranch(NamedTuple):
    """Consecutive tokens on one path that were evicted together."""

    tokens: array[int]
    clock: int  # the tree's clock at the eviction
    reason: EvictionReason


class Loss(NamedTuple):
    """A prompt's evicted tokens, from the first missing token on."""

    num_tokens: int
    clock: int  # when the first of them was evicted last
    reason: EvictionReason


class EvictionLog:
    """One tree's evicted branches; the oldest are forgotten first."""

    def __init__(self, ghosts: Ghosts, most_bytes: int = MOST_BYTES) -> None:
        self._ghosts = ghosts
        self._most_bytes = most_bytes
        self._branches: OrderedDict[int, EvictedBranch] = OrderedDict()  # in order of eviction
        self.num_bytes = 0

    def __len__(self) -> int:
        return len(self._branches)

    def clear(self) -> None:
        """Forget every branch."""
        self._branches.clear()
        self.num_bytes = 0

    def add(self, leaf: Node, keep: int, clock: int, reason: EvictionReason) -> None:
        """Remember the tokens that a leaf loses: all after its first `keep`."""
        assert leaf.parent is not None
        before = self._ghosts.path_hash(leaf.parent)
        tokens = leaf.tokens
        if keep:
            (before,) = hashes_at(before, tokens[:keep], slice(-1, None))
            tokens = tokens[keep:]
        self._put(before, EvictedBranch(tokens, clock, reason))
        while self.num_bytes > self._most_bytes:
            _, oldest = self._branches.popitem(last=False)
            self.num_bytes -= _size(oldest)

    def loss(self, namespace: Hashable, tokens: Tokens, num_known: int) -> Loss | None:
        """Return the tokens that a prompt lost after its first `num_known` tokens.

        None if the next token was never evicted, or that is forgotten. O(n) in the prompt.
        """
        if not self._branches or num_known >= len(tokens):
            return None
        hashes = hashes_at(root_hash(namespace), tokens, slice(None))
        found: EvictedBranch | None = None
        reach = num_known
        for start, path_hash in enumerate(hashes):
            if start > reach:
                break
            branch = self._branches.get(path_hash)
            if branch is None:
                continue
            end = start + _common_length(branch.tokens, tokens[start:])
            if end > num_known >= start and (found is None or branch.clock > found.clock):
                found = branch
            reach = max(reach, end)
        return None if found is None else Loss(reach - num_known, found.clock, found.reason)

    def _put(self, before: int, branch: EvictedBranch) -> None:
        """Keep a branch that follows a path with the hash `before`.

        If two branches have the same first token, the newer is kept, and the older one's different
        tokens become a separate branch.
        """
        key = hash_after(before, branch.tokens[0])
        older = self._branches.pop(key, None)
        if older is not None:
            self.num_bytes -= _size(older)
            if older.clock > branch.clock:
                older, branch = branch, older
        self._branches[key] = branch
        self.num_bytes += _size(branch)
        if older is not None:
            common = _common_length(older.tokens, branch.tokens)
            if common < len(older.tokens):
                (before,) = hashes_at(before, older.tokens[:common], slice(-1, None))
                self._put(before, older._replace(tokens=older.tokens[common:]))


def _size(branch: EvictedBranch) -> int:
    return _BRANCH_BYTES + 4 * len(branch.tokens)


def _common_length(some: array[int], others: Tokens | array[int]) -> int:
    length = min(len(some), len(others))
    differs = np.asarray(some)[:length] != np.asarray(others)[:length]
    where = int(differs.argmax()) if length else 0
    return where if length and differs[where] else length
