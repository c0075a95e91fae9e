"""Available memory: a device's free memory, and returning memory to the system. Sizes in bytes."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import re
from collections.abc import Iterable
from pathlib import Path

import torch

from yaie.process.limits import available_bytes

_MADV_DONTNEED = 4
# Lines of /proc/PID/smaps: addresses and file of a mapping; a mapping with private pages.
_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+ *(.*)$", re.MULTILINE)
_WRITTEN = re.compile(r"^Anonymous: +[1-9]", re.MULTILINE)


def free_bytes(device: torch.device) -> int:
    """Return the memory that can still be allocated on a device."""
    if device.type == "cuda":
        free: int = torch.cuda.mem_get_info(device)[0]
        return free
    return available_bytes()


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an allocation failed, on any device."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def release_unused(device: torch.device) -> None:
    """Release GPU memory that torch caches for later allocations."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


class MappedFiles:
    """File mappings that this process reads, such as weights.

    Their pages count as its memory until they are released. Mappings with written pages are
    skipped: the file lacks their content. Works on Linux only.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._wanted = {str(path.resolve()) for path in paths}

    def release(self) -> None:
        """Release the resident pages; a later read fetches them from the files again."""
        libc = ctypes.CDLL(None)
        libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for first, length in self._read_mappings():
            libc.madvise(first, length, _MADV_DONTNEED)

    def _read_mappings(self) -> list[tuple[int, int]]:
        """Return each mapping's address and size, read from the system each time.

        After a file is unmapped, writable memory may take its address.
        """
        maps = Path("/proc/self/smaps")
        if not maps.is_file():
            return []
        heads = list(_MAPPING.finditer(text := maps.read_text()))
        ends = [head.start() for head in heads[1:]] + [len(text)]
        found = []
        for head, end in zip(heads, ends, strict=True):
            if head[3] in self._wanted and _WRITTEN.search(text, head.end(), end) is None:
                first = int(head[1], 16)
                found.append((first, int(head[2], 16) - first))
        return found


def trim_heap() -> None:
    """Return freed memory to the operating system, if the C library can."""
    with contextlib.suppress(AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
