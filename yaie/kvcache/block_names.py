"""Block names: chained 64-bit hashes for every `BLOCK_SIZE` tokens, equal for equal prefixes.

A name depends on the model, the namespace and the tokens only, so replicas and restarts agree.
KV events publish `block_names`. Replicas and their router use `routing_names`, which are twenty
times as fast: a collision, which a client could construct, misleads the router alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from hashlib import blake2b

from yaie.kvcache.ghosts import hashes_at
from yaie.kvcache.node import Tokens

BLOCK_SIZE = 16  # tokens
_NO_PARENT = 0  # routers read a parent of 0 as none, so no block has this name


def root_name(model: str, namespace: Hashable = None) -> int:
    """Return the parent name for the first block of a namespace."""
    return _name(repr((model, namespace)).encode())


def block_names(
    token_ids: Tokens | array[int], parent: int, block_size: int = BLOCK_SIZE
) -> list[int]:
    """Return a name for each whole block of `token_ids`, which follow the block `parent`."""
    raw = token_ids.tobytes()
    step = block_size * token_ids.itemsize
    names = []
    for first in range(0, len(raw) - step + 1, step):
        parent = _name(parent.to_bytes(8, "little") + raw[first : first + step])
        names.append(parent)
    return names


def routing_names(
    token_ids: Tokens | array[int], parent: int, block_size: int = BLOCK_SIZE
) -> list[int]:
    """Return a name for each whole block, as `block_names` does: the hash of the tokens before."""
    whole = len(token_ids) // block_size * block_size
    return hashes_at(parent, token_ids[:whole], slice(block_size - 1, None, block_size))


def _name(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little") or 1
