"""`KVEventPublisher`: sends cache changes to routers over ZeroMQ, and again on request.

The event loop encodes batches and queues them without waiting. A thread owns the sockets: it
numbers each batch, keeps the last ones for replays, and sends three frames: topic, number (8 bytes,
big-endian) and batch. A replay request is the number to begin with; a batch without a topic, with
the number -1, ends the reply.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter

from yaie.base.cache_changes import BlocksCleared, CacheChange
from yaie.base.errors import ConfigError
from yaie.base.kv_events_config import FORMAT, KVEventsConfig, is_bound
from yaie.base.own_package import install_command
from yaie.base.served_models import engine_configs
from yaie.base.settings import Settings
from yaie.server.models.service import Service
from yaie.server.ops.kv_event_format import (
    AllBlocksCleared,
    HideName,
    KVEvent,
    as_events,
    encode_batch,
)

if TYPE_CHECKING:
    import zmq

logger = logging.getLogger(__name__)

_MOST_KEPT_BYTES = 256 * 2**20  # of batches for replays
_REPLAYED_AT_ONCE = 64  # batches between two looks at new ones
_MOST_REPLAYS = 8  # at a time; further requests wait in the socket
_LINGER_MS = 500  # for the last batches at the end
_END_S = 5.0  # for the thread's end
_INBOX = "inproc://batches"
_NUMBER_BYTES = 8
_END_OF_REPLAY = (-1).to_bytes(_NUMBER_BYTES, "big", signed=True)


class KVEventPublisher:
    """One stream of events, from `open` to `close`, both on the event loop."""

    def __init__(self, config: KVEventsConfig, block_size: int) -> None:
        """Raises `ConfigError` if pyzmq is not installed."""
        try:
            import zmq
        except ImportError:
            raise ConfigError(
                "kv_events needs pyzmq, which is not installed; run " + install_command("events"),
                param="kv_events",
            ) from None
        self._zmq = zmq
        self._config = config
        self._block_size = block_size
        self._context: zmq.Context[Any] | None = None
        self._inbox: zmq.Socket[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._endpoints: dict[str, str] = {}
        self.hide_name: HideName | None = None  # for names that keys or salts are part of
        # Routers may know blocks of an earlier server, or miss a dropped batch.
        self._must_clear = True
        self._published = _counter("published", "KV events published")
        self._dropped = _counter("dropped", "KV events dropped because the queue was full")
        self._batches = _counter("batches", "Batches of KV events published")

    def count_in(self, registry: CollectorRegistry) -> None:
        """Add the counters to a registry."""
        for each in (self._published, self._dropped, self._batches):
            registry.register(each)

    def describe(self) -> dict[str, Any]:
        """Return the sockets and the format, for routers that ask the server."""
        return {
            "endpoint": self._endpoints.get("endpoint", self._config.endpoint),
            "replay_endpoint": self._endpoints.get("replay", self._config.replay_endpoint),
            "topic": self._config.topic,
            "block_size": self._block_size,
            "format": FORMAT,
        }

    def open(self) -> None:
        """Open the sockets and start the thread. Raises `ConfigError` for a wrong endpoint."""
        zmq, config = self._zmq, self._config
        self._must_clear = True  # numbers begin again
        context = self._context = zmq.Context()
        try:
            publishing = context.socket(zmq.PUB)
            publishing.set_hwm(config.hwm)
            publishing.setsockopt(zmq.TCP_KEEPALIVE, 1)
            self._attach(publishing, "endpoint", config.endpoint)
            replaying = None
            if config.replay_endpoint is not None:
                replaying = context.socket(zmq.ROUTER)
                replaying.set_hwm(config.buffer_steps + 1)  # a whole replay
                self._attach(replaying, "replay", config.replay_endpoint)
        except BaseException:
            context.destroy(linger=0)
            raise
        received = context.socket(zmq.PULL)
        received.set_hwm(1)
        received.bind(_INBOX)
        self._inbox = context.socket(zmq.PUSH)
        self._inbox.set_hwm(config.max_queue_size)
        self._inbox.connect(_INBOX)
        sender = _Sender(zmq, config, received, publishing, replaying)
        self._thread = threading.Thread(target=sender.run, name="yaie-kv-events", daemon=True)
        self._thread.start()
        logger.info("KV events on %s", ", replays on ".join(self._endpoints.values()))

    def publish(self, changes: Sequence[CacheChange]) -> None:
        """Send changes as one batch, without waiting; on the event loop."""
        if self._inbox is None:
            return
        events: list[KVEvent] = as_events(changes, self.hide_name)
        if self._must_clear and not isinstance(changes[0], BlocksCleared):
            events.insert(0, AllBlocksCleared())
        try:
            self._inbox.send(encode_batch(events, time.time()), self._zmq.NOBLOCK)
        except self._zmq.Again:
            self._must_clear = True
            self._dropped.inc(len(events))
        else:
            self._must_clear = False
            self._published.inc(len(events))
            self._batches.inc()

    def close(self) -> None:
        """Send the queued batches, within seconds, and close the sockets."""
        if self._inbox is None or self._context is None or self._thread is None:
            return
        with contextlib.suppress(self._zmq.Again):
            self._inbox.send(b"", self._zmq.NOBLOCK)
        self._inbox.close(linger=0)
        self._inbox = None
        self._thread.join(_END_S)
        if not self._thread.is_alive():
            self._context.term()

    def _attach(self, socket: zmq.Socket[bytes], name: str, endpoint: str) -> None:
        """Listen or connect."""
        if "[" in endpoint:
            socket.setsockopt(self._zmq.IPV6, 1)
        setting = "kv_events" if name == "endpoint" else "kv_events_replay"
        try:
            if name == "endpoint" and not is_bound(endpoint):
                socket.connect(endpoint)
                self._endpoints[name] = endpoint
                return
            socket.bind(endpoint)
        except self._zmq.ZMQError as error:
            raise ConfigError(
                f"cannot publish KV events on {endpoint} ({os.strerror(error.errno or 0)}); set "
                f"{setting} to a free port and an address of this machine, or to a host name to "
                "connect to",
                param=setting,
            ) from None
        self._endpoints[name] = socket.getsockopt_string(self._zmq.LAST_ENDPOINT)


class _Sender:
    """The thread's part: sockets, the next number and the kept batches."""

    def __init__(
        self,
        zmq: Any,
        config: KVEventsConfig,
        received: zmq.Socket[bytes],
        publishing: zmq.Socket[bytes],
        replaying: zmq.Socket[bytes] | None,
    ) -> None:
        self._zmq = zmq
        self._topic = config.topic.encode()
        self._received, self._publishing, self._replaying = received, publishing, replaying
        self._next = 0
        self._kept: deque[tuple[bytes, bytes]] = deque()  # number and batch
        self._kept_bytes = 0
        self._most_kept = config.buffer_steps
        self._replays: deque[Iterator[tuple[bytes, ...]]] = deque()

    def run(self) -> None:
        """Send until an empty batch comes, then close the sockets."""
        try:
            while self._work():
                pass
        except Exception:
            logger.exception("no more KV events are published; restart the server to publish them")
        finally:
            self._received.close(linger=0)
            self._publishing.close(linger=_LINGER_MS)
            if self._replaying is not None:
                self._replaying.close(linger=0)

    def _work(self) -> bool:
        """Wait for a batch or a request, and serve it; False at the end."""
        poller = self._zmq.Poller()
        for socket in (self._received, self._replaying):
            if socket is not None:
                poller.register(socket, self._zmq.POLLIN)
        ready = dict(poller.poll(0 if self._replays else None))
        if self._received in ready:
            batch = self._received.recv()
            if not batch:
                return False
            self._send(batch)
        if self._replaying in ready and len(self._replays) < _MOST_REPLAYS:
            self._begin_replay()
        if self._replays:
            self._continue_replay()
        return True

    def _send(self, batch: bytes) -> None:
        number = self._next.to_bytes(_NUMBER_BYTES, "big")
        self._next += 1
        self._kept.append((number, batch))
        self._kept_bytes += len(batch)
        while len(self._kept) > self._most_kept or self._kept_bytes > _MOST_KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft()[1])
        self._publishing.send_multipart((self._topic, number, batch))

    def _begin_replay(self) -> None:
        assert self._replaying is not None
        frames = self._replaying.recv_multipart()
        if len(frames) != 3 or len(frames[2]) != _NUMBER_BYTES:
            logger.warning(
                "a replay request has %d frames; it must be an empty frame and 8 bytes",
                len(frames) - 1,
            )
            return
        client, _, first = frames
        self._replays.append(
            (client, b"", *each)
            for each in [
                *((self._topic, number, batch) for number, batch in self._kept if number >= first),
                (b"", _END_OF_REPLAY, b""),
            ]
        )

    def _continue_replay(self) -> None:
        """Send some batches of the first replay; later replays wait for their turn."""
        assert self._replaying is not None
        replay = self._replays.popleft()
        sent = 0
        for frames in islice(replay, _REPLAYED_AT_ONCE):
            self._replaying.send_multipart(frames)
            sent += 1
        if sent == _REPLAYED_AT_ONCE:
            self._replays.append(replay)


def publisher_of(settings: Settings, *, has_process: bool) -> KVEventPublisher | None:
    """Return the publisher of a server; None if it publishes nothing.

    `has_process`: the engine has a process, whose end can be published. Raises `ConfigError`.
    """
    config = settings.kv_events_stream
    if config is None:
        return None
    if not has_process:
        raise ConfigError(
            "kv_events needs an engine in a child process, as `yaie serve` starts it, and this "
            "application has another; unset kv_events",
            param="kv_events",
        )
    (engine,) = engine_configs(settings)
    return KVEventPublisher(config, engine.kv_block_size)


@contextlib.contextmanager
def publishing(service: Service, publisher: KVEventPublisher | None) -> Iterator[None]:
    """Keep the sockets of a publisher open meanwhile; a wrong endpoint fails the service."""
    if publisher is None:
        yield
        return
    try:
        publisher.open()
    except ConfigError as error:
        service.fail(error)
    try:
        yield
    finally:
        publisher.close()


def _counter(name: str, text: str) -> Counter:
    return Counter(f"yaie_kv_events_{name}", text, registry=None)
