"""Connection of `HttpProtocol` without a socket, on an event loop with virtual time.

A test feeds bytes to `data_received`, cut as it likes. Time advances when the loop would sleep: a
minute of silence costs microseconds.
"""

from __future__ import annotations

import asyncio
import re
import selectors
from collections import deque
from collections.abc import Coroutine
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from yaie.server.http.protocol import HttpProtocol


class _SkippingSelector(selectors.DefaultSelector):  # type: ignore[valid-type, misc]
    """Selector with virtual waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        events = super().select(0)
        if events or timeout == 0:
            return list(events)
        assert timeout is not None, "nothing is scheduled: the test would wait forever"
        self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Event loop with a clock that skips idle time."""

    def __init__(self) -> None:
        self._skipping = _SkippingSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        """Virtual seconds."""
        return self._skipping.now


class FakeTransport(asyncio.Transport):
    """Transport with a record of its writes; delivers input unless reading is paused."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: HttpProtocol) -> None:
        super().__init__()
        self.written = bytearray()
        self.is_aborted = False
        self.keeps_output = False  # as with a stalled client: closing must wait
        self._loop = loop
        self._protocol = protocol
        self.is_paused = self._is_closing = False
        self._input: deque[bytes] = deque()

    def feed(self, data: bytes) -> None:
        self._input.append(data)
        self._deliver()

    def _deliver(self) -> None:
        while self._input and not self.is_paused and not self._is_closing:
            self._protocol.data_received(self._input.popleft())

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def is_closing(self) -> bool:
        return self._is_closing

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            if not self.keeps_output:
                self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.is_aborted, self.keeps_output, self._is_closing = True, False, False
        self.close()

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False
        self._loop.call_soon(self._deliver)


class Wire:
    """One connection to an application."""

    def __init__(self, loop: VirtualLoop, app: Any) -> None:
        config = uvicorn.Config(app, ws="none", log_level="error", lifespan="off")
        self.loop = loop
        self.protocol = HttpProtocol(config, ServerState(), {}, _loop=loop)
        self.transport = FakeTransport(loop, self.protocol)
        self._num_read = 0
        self.protocol.connection_made(self.transport)

    @property
    def is_closed(self) -> bool:
        """True after the server closed the connection."""
        return self.transport.is_closing()

    def feed(self, *parts: bytes, pause_s: float = 0.0) -> None:
        """Receive bytes, each part by itself and followed by a pause."""
        for part in parts:
            self.transport.feed(part)
            self.wait(pause_s)

    def wait(self, seconds: float = 0.0) -> None:
        """Let time pass and run all ready tasks."""
        self.run(asyncio.sleep(seconds))
        for _ in range(20):  # tasks wake each other
            self.run(asyncio.sleep(0))

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine to its end."""
        self.loop.run_until_complete(work)

    def disconnect(self) -> None:
        """Lose the client."""
        self.transport.close()
        self.wait()

    def responses(self) -> list[tuple[int, bytes]]:
        """Status and body of each response since the last call; bodies must not be chunked."""
        raw, found = self.read(), []
        while raw:
            head, _, rest = raw.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            size = int(length[1]) if length else 0
            found.append((int(head.split()[1]), rest[:size]))
            raw = rest[size:]
        return found

    def read(self) -> bytes:
        """Everything written since the last call."""
        new = bytes(self.transport.written[self._num_read :])
        self._num_read = len(self.transport.written)
        return new
