"""A router's end of the KV events: sockets as vLLM documents them, and llm-d's and Dynamo's rules.

Written from the rules of these readers, and strict where they drop an event: a map with its name
under `type` and every field; whole blocks of one size; names that are not 0 and not repeated; a
parent that is known. Block keys are hashed again from the token ids, and a name only finds them.
"""

from __future__ import annotations

import hashlib
import time
from array import array
from collections.abc import Callable
from typing import Any

import msgspec
import zmq

WAIT_MS = 20_000
END = (-1).to_bytes(8, "big", signed=True)


class RouterIndex:
    """The prefixes that one replica holds, by a router's own keys."""

    def __init__(self, block_size: int = 16) -> None:
        self.block_size = block_size
        self.keys: dict[int, bytes] = {}  # by the engine's names
        self.parents: dict[int, int | None] = {}
        self.num_stored = self.num_removed = self.num_cleared = 0

    def take(self, payload: bytes) -> None:
        batch = msgspec.msgpack.decode(payload)
        assert isinstance(batch, list) and len(batch) in (2, 3)
        seconds, events, *rank = batch
        assert isinstance(seconds, float) and abs(seconds - time.time()) < 600
        assert rank in ([], [0])
        assert events
        for event in events:
            self._take_event(event)

    def count_cached(self, tokens: list[int]) -> int:
        """Return how many leading tokens of a prompt the replica holds, in whole blocks."""
        held, key, size = set(self.keys.values()), b"", self.block_size
        for end in range(size, len(tokens) + 1, size):
            key = _key(key, tokens[end - size : end])
            if key not in held:
                return end - size
        return len(tokens) // size * size

    def _take_event(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind == "AllBlocksCleared":
            assert event == {"type": kind}
            self.keys.clear()
            self.parents.clear()
            self.num_cleared += 1
        elif kind == "BlockStored":
            self._store(event)
        else:
            assert kind == "BlockRemoved"
            assert event.keys() == {"type", "block_hashes", "medium"}
            assert event["medium"] == "GPU"
            for name in event["block_hashes"]:
                assert name not in self.parents.values(), "removed before its children"
                del self.keys[name], self.parents[name]
                self.num_removed += 1

    def _store(self, event: dict[str, Any]) -> None:
        required = {"block_hashes", "parent_block_hash", "token_ids", "block_size"}
        assert event.keys() == {"type", "lora_id", "lora_name", "medium"} | required
        assert (event["medium"], event["lora_id"], event["lora_name"]) == ("GPU", None, None)
        assert event["block_size"] == self.block_size
        names, tokens = event["block_hashes"], event["token_ids"]
        assert names and len(tokens) == len(names) * self.block_size
        parent = event["parent_block_hash"]
        key = b"" if parent is None else self.keys[parent]
        for index, name in enumerate(names):
            assert type(name) is int and 0 < name < 2**64
            assert name not in self.keys, "stored twice"
            block = tokens[index * self.block_size : (index + 1) * self.block_size]
            key = _key(key, block)
            self.keys[name], self.parents[name] = key, parent
            parent = name
            self.num_stored += 1


class Subscriber:
    """Reads a stream into an index; `follow` fills a gap by a replay, as Dynamo does."""

    def __init__(self, state: dict[str, Any], index: RouterIndex, next_number: int = 0) -> None:
        self.index, self.next_number = index, next_number
        self.num_replays = 0
        self._topic = state["topic"].encode()
        self._replay_endpoint = state["replay_endpoint"]
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.SUB)
        self._socket.setsockopt(zmq.SUBSCRIBE, self._topic)
        self._socket.connect(state["endpoint"])

    def __enter__(self) -> Subscriber:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.destroy(linger=0)

    def follow(self, until: Callable[[], bool]) -> None:
        """Read batches until `until()` holds."""
        end = time.monotonic() + WAIT_MS / 1000
        while not until():
            assert time.monotonic() < end, "the events did not arrive"
            while self._socket.poll(50):
                self._read(self._socket.recv_multipart())

    def replay(self) -> None:
        """Ask for every batch since the last one that was read."""
        self.num_replays += 1
        socket = self._context.socket(zmq.DEALER)
        socket.connect(self._replay_endpoint)
        socket.send_multipart([b"", self.next_number.to_bytes(8, "big")])
        while True:
            assert socket.poll(WAIT_MS), "no replay"
            delimiter, *frames = socket.recv_multipart()
            assert delimiter == b""
            if frames == [b"", END, b""]:
                break
            self._take(frames)
        socket.close(linger=0)

    def _read(self, frames: list[bytes]) -> None:
        number = int.from_bytes(frames[1], "big")
        if number > self.next_number:
            self.replay()
        if number >= self.next_number:
            self._take(frames)

    def _take(self, frames: list[bytes]) -> None:
        topic, number, payload = frames
        assert topic == self._topic
        assert len(number) == 8 and int.from_bytes(number, "big") == self.next_number
        self.next_number += 1
        self.index.take(payload)


def _key(parent: bytes, tokens: list[int]) -> bytes:
    return hashlib.sha256(parent + array("i", tokens).tobytes()).digest()
