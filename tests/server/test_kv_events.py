"""KV events over real sockets: a router's index equals the cache, through crashes and gaps."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import zmq
from prometheus_client import CollectorRegistry

from tests.server.kv_event_reader import RouterIndex, Subscriber
from tests.server.real_server import Server
from yaie.base.cache_changes import BlocksCleared, BlocksStored
from yaie.base.errors import ConfigError
from yaie.base.kv_events_config import KVEventsConfig
from yaie.server.ops.kv_event_publisher import KVEventPublisher, _Sender

pytestmark = pytest.mark.integration

FREE = "tcp://127.0.0.1:*"
TOPIC = "kv@pod@tiny"
SLOTS = 640
VARIABLES = {
    "YAIE_KV_EVENTS": FREE,
    "YAIE_KV_EVENTS_REPLAY": FREE,
    "YAIE_KV_EVENTS_TOPIC": TOPIC,
    "YAIE_NUM_SLOTS": str(SLOTS),
    "YAIE_PREPARE_TURNS": "false",
    "YAIE_WARMUP": "false",
}


def prompt(seed: int, length: int = 100) -> list[int]:
    return [random.Random(seed).randrange(10, 200) for _ in range(length)]


class Cache:
    """The server's own account of its cache, and of what it published."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def complete(self, tokens: list[int], **fields: Any) -> None:
        body = {"prompt": tokens, "max_tokens": 3, "ignore_eos": True, **fields}
        assert self._server.post("/v1/completions", body).status_code == 200

    def count_cached(self, tokens: list[int]) -> int:
        body = {"prompt": tokens, "return_cached_tokens": True}
        answer = self._server.post("/v1/count_tokens", body).json()
        cached: int = answer["cached_tokens"]
        return cached // 16 * 16

    def published(self, kind: str) -> int:
        text = self._server.get("/metrics").text
        (line,) = (x for x in text.splitlines() if x.startswith(f"yaie_kv_events_{kind}_total "))
        return int(float(line.split()[1]))


def test_a_routers_index_is_the_cache(start: Callable[..., Server]) -> None:
    server = start(**VARIABLES)
    server.wait_ready()
    state = server.stats()["kv_events"]
    assert (state["topic"], state["block_size"], state["format"]) == (TOPIC, 16, "vllm-map-1")
    cache, index = Cache(server), RouterIndex()
    prompts = [prompt(seed) for seed in range(12)]
    prompts += [each[:50] + prompt(seed, 40) for seed, each in enumerate(prompts, 50)]

    def is_same() -> bool:
        return all(index.count_cached(each) == cache.count_cached(each) for each in prompts)

    with Subscriber(state, index) as subscriber:
        for each in prompts:
            cache.complete(each)
        subscriber.replay()  # whatever was sent before the subscription was known
        subscriber.follow(is_same)
        assert index.num_removed > 20, "the pool was to be too small"
        assert sum(map(index.count_cached, prompts)) > SLOTS // 2
        before = cache.published("batches")
        cache.complete(prompt(99), cache_salt="secret")
        cache.complete(prompts[0])
        subscriber.follow(is_same)
        assert index.count_cached(prompt(99)) == 0
        assert cache.published("batches") > before

    # Gone meanwhile: blocks stored and evicted, and an engine killed.
    num_cleared = index.num_cleared
    for each in prompts[:6]:
        cache.complete(each)
    restarts = server.stats()["restarts"]
    os.kill(server.engine_pid(), signal.SIGKILL)
    server.wait_until(lambda: server.stats()["restarts"] == restarts + 1, "a restart")
    server.wait_ready()
    cache.complete(prompts[3])
    with Subscriber(state, index, subscriber.next_number) as again:
        again.replay()
        again.follow(is_same)
        assert again.num_replays == 1
        assert index.num_cleared == num_cleared + 1
        assert index.count_cached(prompts[3]) == 96
        assert again.next_number == cache.published("batches")
        assert cache.published("published") >= again.next_number
        assert cache.published("dropped") == 0
        server.process.send_signal(signal.SIGTERM)
        again.follow(lambda: not index.keys)


@contextmanager
def published_to(config: KVEventsConfig) -> Iterator[KVEventPublisher]:
    publisher = KVEventPublisher(config, 16)
    publisher.open()
    try:
        yield publisher
    finally:
        publisher.close()


def stored(number: int) -> BlocksStored:
    return BlocksStored((number + 1).to_bytes(8, "little"), None, bytes(64), 16)


def test_slow_and_absent_subscribers_do_not_slow_the_server() -> None:
    config = KVEventsConfig(endpoint=FREE, replay_endpoint=FREE, hwm=10, buffer_steps=50)
    registry = CollectorRegistry()
    with published_to(config) as publisher, zmq.Context() as context:
        publisher.count_in(registry)
        silent = context.socket(zmq.SUB)  # subscribes, and reads nothing
        silent.setsockopt(zmq.SUBSCRIBE, b"")
        silent.set_hwm(1)
        silent.connect(publisher.describe()["endpoint"])
        time.sleep(0.2)
        for number in range(20_000):  # a send that blocks would never return
            publisher.publish((stored(number),))
        index = RouterIndex()
        with Subscriber(publisher.describe(), index, 20_000 - 50) as late:
            while late.next_number < 20_000:  # the thread may still be sending
                late.replay()
        assert (late.next_number, len(index.keys)) == (20_000, 50)
        silent.close(linger=0)
    assert registry.get_sample_value("yaie_kv_events_batches_total") == 20_000
    assert registry.get_sample_value("yaie_kv_events_published_total") == 20_001  # first a clear


def test_a_flood_of_replay_requests_waits_outside() -> None:
    with zmq.Context() as context:
        received, publishing = context.socket(zmq.PULL), context.socket(zmq.PUB)
        replaying, client = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
        replaying.bind("inproc://replays")
        client.connect("inproc://replays")
        sender = _Sender(zmq, KVEventsConfig(), received, publishing, replaying)
        for _ in range(1000):
            sender._send(b"batch")
        for _ in range(100):
            client.send_multipart((b"", bytes(8)))
        for _ in range(50):
            sender._work()
            assert len(sender._replays) <= 8
        for each in (received, publishing, replaying, client):
            each.close(linger=0)


def test_a_full_queue_drops_and_clears() -> None:
    config = KVEventsConfig(endpoint=FREE, max_queue_size=1)
    publisher = KVEventPublisher(config, 16)
    publisher.open()
    registry = CollectorRegistry()
    publisher.count_in(registry)
    blocked = publisher._thread
    assert blocked is not None
    publisher._inbox.close(linger=0)  # type: ignore[union-attr]
    publisher._inbox = publisher._context.socket(zmq.PUSH)  # type: ignore[union-attr]
    publisher._inbox.set_hwm(1)
    publisher._inbox.bind("inproc://unread")  # no thread reads from it
    publisher.publish((stored(1),))
    assert registry.get_sample_value("yaie_kv_events_dropped_total") == 2
    assert publisher._must_clear
    publisher._inbox.close(linger=0)
    publisher._inbox = None
    publisher._context.destroy(linger=0)  # type: ignore[union-attr]


@pytest.mark.parametrize("field", ["endpoint", "replay_endpoint"])
def test_a_port_in_use_is_refused_with_the_fix(field: str) -> None:
    with zmq.Context() as context, context.socket(zmq.PUB) as other:
        port = other.bind_to_random_port("tcp://127.0.0.1")
        taken = f"tcp://127.0.0.1:{port}"
        config = KVEventsConfig(**{"endpoint": FREE, field: taken})  # type: ignore[arg-type]
        setting = "kv_events" if field == "endpoint" else "kv_events_replay"
        fact, fix = r"\(Address already in use\)", f"set {setting} to a free port"
        with pytest.raises(ConfigError, match=f"{taken} {fact}; {fix}"):
            KVEventPublisher(config, 16).open()


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(ConfigError, match="or to a host name to connect to"):
        KVEventPublisher(KVEventsConfig(endpoint="tcp://192.0.2.1:5557"), 16).open()


def test_a_host_name_connects_to_a_subscriber() -> None:
    with zmq.Context() as context, context.socket(zmq.SUB) as subscriber:
        port = subscriber.bind_to_random_port("tcp://127.0.0.1")
        subscriber.setsockopt(zmq.SUBSCRIBE, b"kv@")
        config = KVEventsConfig(endpoint=f"tcp://localhost:{port}", topic="kv@a@b")
        with published_to(config) as publisher:
            end = time.monotonic() + 20
            while not subscriber.poll(20):
                assert time.monotonic() < end
                publisher.publish((BlocksCleared(),))
            topic, _, _ = subscriber.recv_multipart()
            assert topic == b"kv@a@b"
