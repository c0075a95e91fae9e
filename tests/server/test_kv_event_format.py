"""KV events as bytes: what a router's decoder accepts, and one batch byte for byte."""

from __future__ import annotations

import time
from array import array

import msgspec
import pytest

from tests.server.kv_event_reader import RouterIndex
from yaie.base.cache_changes import BlocksCleared, BlocksRemoved, BlocksStored
from yaie.base.errors import ConfigError
from yaie.base.settings import Settings
from yaie.server.app import create_app
from yaie.server.ops.kv_event_format import as_events, encode_batch


def packed(kind: str, *values: int) -> bytes:
    return array(kind, values).tobytes()


STORED = BlocksStored(packed("Q", 7, 2**64 - 1), None, packed("i", *range(32)), 16)
CHILD = BlocksStored(packed("Q", 9), 2**64 - 1, packed("i", *range(32, 48)), 16)


def test_a_router_follows_stored_removed_and_cleared_blocks() -> None:
    index = RouterIndex()
    index.take(encode_batch(as_events([STORED, CHILD]), time.time()))
    assert index.count_cached([*range(60)]) == 48
    assert index.count_cached([*range(40), 0]) == 32
    index.take(encode_batch(as_events([BlocksRemoved(packed("Q", 9))]), time.time()))
    assert index.count_cached([*range(60)]) == 32
    index.take(encode_batch(as_events([BlocksCleared()]), time.time()))
    assert index.count_cached([*range(60)]) == 0


def test_a_batch_has_the_maps_of_vllm() -> None:
    assert msgspec.msgpack.decode(encode_batch(as_events([STORED, BlocksCleared()]), 1.5)) == [
        1.5,
        [
            {
                "type": "BlockStored",
                "block_hashes": [7, 2**64 - 1],
                "parent_block_hash": None,
                "token_ids": [*range(32)],
                "block_size": 16,
                "lora_id": None,
                "medium": "GPU",
                "lora_name": None,
            },
            {"type": "AllBlocksCleared"},
        ],
        0,
    ]


def test_an_engine_without_a_process_publishes_nothing() -> None:
    with pytest.raises(ConfigError, match="needs an engine in a child process"):
        create_app(Settings(kv_events="tcp://*:5557"), make_client=lambda config: None)  # type: ignore[arg-type,return-value]


def test_a_missing_pyzmq_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zmq", None)
    with pytest.raises(ConfigError, match="needs pyzmq, which is not installed; run pip install"):
        create_app(Settings(kv_events="tcp://*:5557"))
