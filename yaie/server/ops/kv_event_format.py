"""KV events as bytes: batches in vLLM's present form, which llm-d, Dynamo and Ray read.

A batch is the msgpack array `[seconds, events, data-parallel rank]`; each event is a map with its
name under `type`. Engines' own block names travel as unsigned 64-bit integers. Readers hash the
token ids themselves, and use a name only to find the block again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from yaie.base.cache_changes import (
    BlocksCleared,
    BlocksStored,
    CacheChange,
    unpack_names,
    unpack_tokens,
)

HideName = Callable[[int], int]
MEDIUM = "GPU"  # the pool is the device tier for routers, on a CPU too


class BlockStored(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Blocks of one path, each with `block_size` tokens of `token_ids`."""

    block_hashes: list[int]
    parent_block_hash: int | None
    token_ids: list[int]
    block_size: int
    lora_id: int | None = None
    medium: str = MEDIUM
    lora_name: str | None = None


class BlockRemoved(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Blocks without keys and values, children before parents."""

    block_hashes: list[int]
    medium: str = MEDIUM


class AllBlocksCleared(msgspec.Struct, frozen=True, tag=True):
    """No block is cached."""


KVEvent = BlockStored | BlockRemoved | AllBlocksCleared


class KVEventBatch(msgspec.Struct, frozen=True, array_like=True):
    """Events that are published together."""

    ts: float  # unix time, seconds
    events: list[KVEvent]
    data_parallel_rank: int = 0


_encoder = msgspec.msgpack.Encoder()


def as_events(changes: Sequence[CacheChange], hide: HideName | None = None) -> list[KVEvent]:
    """Return an engine's changes as events, in order; `hide`: the public name of a block."""
    return [_as_event(each, hide) for each in changes]


def encode_batch(events: list[KVEvent], ts: float) -> bytes:
    """Return one batch as msgpack; `ts`: unix time in seconds."""
    return _encoder.encode(KVEventBatch(ts, events))


def _as_event(change: CacheChange, hide: HideName | None) -> KVEvent:
    if isinstance(change, BlocksCleared):
        return AllBlocksCleared()
    names, parent = unpack_names(change.names), getattr(change, "parent", None)
    if hide is not None:
        names, parent = list(map(hide, names)), None if parent is None else hide(parent)
    if isinstance(change, BlocksStored):
        return BlockStored(names, parent, unpack_tokens(change.token_ids), change.block_size)
    return BlockRemoved(names)
