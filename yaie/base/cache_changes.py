"""Cache changes: messages on the blocks that an engine's tree gains and loses.

A block is `block_size` consecutive tokens of a path, with a chained 64-bit name. Names and tokens
travel packed, in the machine's byte order.
"""

from __future__ import annotations

from array import array

import msgspec


class BlocksStored(msgspec.Struct, frozen=True, tag=True):
    """Consecutive blocks of one path whose keys and values are in the pool now."""

    names: bytes  # 8 each
    parent: int | None  # name of the block before the first one; None at the start of a path
    token_ids: bytes  # 4 each
    block_size: int  # tokens


class BlocksRemoved(msgspec.Struct, frozen=True, tag=True):
    """Blocks that have lost keys and values, children before parents."""

    names: bytes  # 8 each


class BlocksCleared(msgspec.Struct, frozen=True, tag=True):
    """Every block is gone."""


CacheChange = BlocksStored | BlocksRemoved | BlocksCleared


def unpack_names(packed: bytes) -> list[int]:
    """Return the block names in `packed`."""
    return array("Q", packed).tolist()


def unpack_tokens(packed: bytes) -> list[int]:
    """Return the token ids in `packed`."""
    return array("i", packed).tolist()
