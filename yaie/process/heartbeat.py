"""Heartbeat: a counter in shared memory that a process advances while it makes progress.

Its parent reads the counter. A long step of the engine counts each layer, in Python or in the
kernel library, so that a slow step differs from a step that never returns.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile

_COUNTER = ctypes.c_uint64
_SIZE = ctypes.sizeof(_COUNTER)

_counter = _COUNTER()  # private, until a parent shares its memory


def beat() -> None:
    """Count progress."""
    _counter.value += 1


def counter_address() -> int:
    """Return the address of the counter, for native code that counts."""
    return ctypes.addressof(_counter)


def share_counter(descriptor: int) -> None:
    """Count in the memory of a parent's `Heartbeat`; closes the descriptor."""
    global _counter  # noqa: PLW0603 - one process, one heartbeat
    _counter = _COUNTER.from_buffer(mmap.mmap(descriptor, _SIZE))
    os.close(descriptor)


class Heartbeat:
    """Parent's side of a child's counter; `descriptor` is to be inherited by the child."""

    def __init__(self) -> None:
        """Make the memory. Raises `OSError`."""
        if hasattr(os, "memfd_create"):
            self.descriptor = os.memfd_create("yaie-heartbeat")
        else:
            with tempfile.TemporaryFile() as file:
                self.descriptor = os.dup(file.fileno())
        try:
            os.ftruncate(self.descriptor, _SIZE)
            self._memory = mmap.mmap(self.descriptor, _SIZE)
        except BaseException:
            os.close(self.descriptor)
            raise

    @property
    def count(self) -> int:
        """The child's counter; 0 before its first beat."""
        return 0 if self._memory.closed else _COUNTER.from_buffer_copy(self._memory).value

    def close(self) -> None:
        """Free the memory on this side."""
        if not self._memory.closed:
            self._memory.close()
            os.close(self.descriptor)
