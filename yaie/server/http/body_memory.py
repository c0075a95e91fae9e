"""`BodyMemory`: bytes of the bodies in memory, and of the stored items that they name.

A few bytes of a body may name megabytes of stored items, so the request's share grows by them. The
share is free once everything that uses the body has ended: the request, and the generation that may
outlive it.
"""

from __future__ import annotations

import threading

from yaie.base.errors import Overloaded

MAX_BODIES_BYTES = 256 * 1024**2  # of all requests in progress
SHORT_BYTES = 64 * 1024  # of a body that is always read


class BodyMemory:
    """Limit on the bytes of all requests in progress."""

    def __init__(self, max_body_bytes: int, max_bytes: int = MAX_BODIES_BYTES) -> None:
        """`max_body_bytes`: of one body; two such bodies always fit."""
        self.max_bytes = max(max_bytes, 2 * max_body_bytes)
        self.num_bytes = 0
        self.lock = threading.Lock()  # stored items are read in threads


class BodyShare:
    """The bytes of one request in the memory; its first holder is the request."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._num_holders = 1
        self.num_bytes = 0

    def add(self, num_bytes: int) -> None:
        """Count more bytes. Raises `Overloaded` without room; short requests always have room.

        Raises it too once all holders have released the share: a text thread may outlive its
        request, and nothing would free these bytes.
        """
        memory = self._memory
        with memory.lock:
            if not self._num_holders:
                raise Overloaded("the request has ended; send it again")
            wanted = self.num_bytes + num_bytes
            if wanted > SHORT_BYTES and memory.num_bytes + num_bytes > memory.max_bytes:
                raise Overloaded(
                    f"the bodies of requests in progress, with the stored items that they name, "
                    f"have {memory.num_bytes} bytes, and the server holds {memory.max_bytes}; send "
                    "the request again in a moment"
                )
            memory.num_bytes += num_bytes
            self.num_bytes = wanted

    def keep(self) -> None:
        """Add a holder, which releases the share too."""
        with self._memory.lock:
            self._num_holders += 1

    def release(self) -> None:
        """Free the bytes if this was the last holder."""
        with self._memory.lock:
            self._num_holders -= 1
            if not self._num_holders:
                self._memory.num_bytes -= self.num_bytes
