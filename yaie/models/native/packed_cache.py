"""Packed-weight cache: a second start reads the weights that the first start packed.

One file for each model, packing and kernel library: a JSON header, the data, and a checksum for
each page. Files appear whole or not at all, and the least recently used ones are evicted from a
full cache. Every failure here is a log line only: the weights are packed again.

    magic (8 bytes) | length of the header (8) | header | zeros up to a page | data | checksums

A checksum is the sum of the page's 64-bit words, modulo 2^64: it runs at memory speed, and a start
waits for it. Stronger checks are slower.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import shutil
import struct
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yaie.base.settings import EngineConfig
from yaie.kernels.build import BuildFailed, source_digest
from yaie.kernels.build import cache_folder as kernels_folder
from yaie.models.files.checkpoint import read_checkpoint
from yaie.models.quantization.calibration_text import calibration_digest

log = logging.getLogger(__name__)

VARIABLE = "YAIE_WEIGHTS_CACHE"
AUTO, OFF = "auto", "off"
PREFIX, SUFFIX = "yaie-", ".packed"  # file names; other files are never removed
UNFINISHED = ".unfinished"  # suffix of the name until a file is complete
FORMAT = 3

_MAGIC = b"YAIEPACK"
_PAGE = 4096
_WORD = 8
_WORDS_IN_PAGE = _PAGE // _WORD
_MAX_HEADER_BYTES = 64 * 1024**2
_CHUNK_BYTES = 8 * 1024**2  # read by one thread; written between two checks for a stop
_READERS = 4
_FLUSH_BYTES = 8 * _CHUNK_BYTES  # in flight to the disk: the longest wait of a stop
_FREE_DISK_BYTES = 2 * 1024**3  # left free on the disk
_ABANDONED_S = 3600  # age of an unfinished file at which it is removed
_SAMPLES = 64  # samples of a weight file in its identity
_SAMPLE_BYTES = 4096
# Settings without an effect on packed weights; any other, also a new one, makes another file.
_UNRELATED = {
    *("served_model_name", "model", "revision", "num_slots", "max_step_rows", "max_running"),
    *("max_waiting", "max_waiting_tokens", "queue_timeout_s", "tenant_weights"),
    *("max_loras", "tool_call_parser", "cache_events", "kv_block_size", "grammar_cache_bytes"),
    *("policy", "priority_aging", "eviction", "prefix_cache", "threads", "audit"),
    *("weights_cache", "weights_cache_bytes", "memory_bytes"),
    "calibrate",  # the text counts, not its path
}


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A cache file: its header, and the position of its data."""

    header: dict[str, Any]
    path: Path
    first: int
    checksums: NDArray[np.uint64]  # one per data page

    def load(self, memory: memoryview) -> None:
        """Read the data, `header["nbytes"]` bytes, into memory.

        Raises `OSError`, or `ValueError` for a wrong checksum. The file is not mapped: its small
        pages would slow weight reads to two thirds in every step.
        """
        found = np.zeros_like(self.checksums)

        def read_chunk(begin: int) -> None:
            chunk = memory[begin : begin + _CHUNK_BYTES]
            done = 0
            while done < len(chunk):
                count = os.preadv(file.fileno(), [chunk[done:]], self.first + begin + done)
                if not count:
                    raise OSError(f"{self.path} was truncated while it was read")
                done += count
            _add_to_checksums(found, chunk, begin)

        with self.path.open("rb", buffering=0) as file, ThreadPoolExecutor(_READERS) as readers:
            for _ in readers.map(read_chunk, range(0, len(memory), _CHUNK_BYTES)):
                pass
        if not np.array_equal(found, self.checksums):
            page = int(np.flatnonzero(found != self.checksums)[0])
            raise ValueError(
                f"the data in {self.path} fails its checksum from byte "
                f"{self.first + page * _PAGE:,} on"
            )


class PackedCache:
    """The cache folder. Several processes may use it at once."""

    def __init__(self, folder: Path, limit: int) -> None:
        """`limit`: the files' largest total size, in bytes."""
        self.folder = folder
        self._limit = limit

    def read(self, key: str) -> CacheEntry | None:
        """Return a key's entry; None if its file is missing, damaged or unreadable."""
        path = self._path(key)
        try:
            with path.open("rb", buffering=0) as file:
                entry = _read(path, file.fileno())
        except OSError:
            return None
        except (ValueError, RecursionError) as error:
            log.warning("%s is damaged and was removed: %s", path, error)
            self.remove(key)
            return None
        with contextlib.suppress(OSError):  # a read-only folder
            os.utime(path)
        return entry

    def write(
        self,
        key: str,
        header: dict[str, Any],
        pieces: Iterable[memoryview],
        nbytes: int,
        stop: threading.Event,
    ) -> bool:
        """Write a file with `nbytes` of data; return False, with a log line, if that failed.

        Chunks are whole 8-byte words.
        """
        path = self._path(key)
        unfinished: Path | None = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._make_room(nbytes):
                return False
            handle, name = tempfile.mkstemp(UNFINISHED, PREFIX, self.folder)
            unfinished = Path(name)
            with os.fdopen(handle, "wb", buffering=0) as file:
                if not _fill(file.fileno(), header, pieces, nbytes, stop):
                    return False
            unfinished.replace(path)
        except (OSError, ValueError) as error:  # a ValueError: a chunk with partial words
            log.warning("packed weights are not cached in %s: %s", self.folder, error)
            return False
        finally:
            if unfinished is not None:
                with contextlib.suppress(OSError):
                    unfinished.unlink(missing_ok=True)
        log.info("packed weights are cached in %s (%.2f GiB)", path, nbytes / 1024**3)
        return True

    def holds(self, key: str) -> bool:
        """Return whether a key's file is there."""
        return self._path(key).is_file()

    def remove(self, key: str) -> None:
        """Remove a key's file."""
        with contextlib.suppress(OSError):
            self._path(key).unlink(missing_ok=True)

    def usage(self) -> tuple[int, int]:
        """Return the file count and the total size in bytes."""
        sizes = [status.st_size for _, status in self._files(SUFFIX)]
        return len(sizes), sum(sizes)

    def _path(self, key: str) -> Path:
        return self.folder / f"{PREFIX}{key}{SUFFIX}"

    def _make_room(self, nbytes: int) -> bool:
        """Evict the least recently used files until `nbytes` fit; return False if they never do."""
        for path, status in self._files(UNFINISHED):
            if time.time() - status.st_mtime > _ABANDONED_S:
                path.unlink(missing_ok=True)
        files = sorted(self._files(SUFFIX), key=lambda file: file[1].st_mtime)
        used = sum(status.st_size for _, status in files)
        free = shutil.disk_usage(self.folder).free - _FREE_DISK_BYTES
        if nbytes > self._limit or nbytes > free + used:
            log.info(
                "packed weights are not cached: %s lacks room for %d bytes", self.folder, nbytes
            )
            return False
        for path, status in files:
            if used + nbytes <= self._limit and nbytes <= free:
                break
            path.unlink(missing_ok=True)
            used -= status.st_size
            free += status.st_size
        return True

    def _files(self, suffix: str) -> Iterator[tuple[Path, os.stat_result]]:
        with contextlib.suppress(OSError):
            for path in list(self.folder.iterdir()):
                if path.name.startswith(PREFIX) and path.name.endswith(suffix):
                    with contextlib.suppress(FileNotFoundError):
                        yield path, path.stat()


def open_cache(config: EngineConfig) -> PackedCache | None:
    """Return the cache that the settings name, unless it is switched off."""
    where = config.weights_cache.strip() or AUTO  # an empty path would be the working directory
    if where == AUTO:  # the environment serves processes without settings
        where = os.environ.get(VARIABLE, "").strip() or AUTO
    if where == OFF:
        return None
    try:
        folder = kernels_folder().parent / "packed" if where == AUTO else Path(where).expanduser()
    except (BuildFailed, RuntimeError) as error:  # a user without a home folder
        log.warning("packed weights are not cached: %s", error)
        return None
    return PackedCache(folder, config.weights_cache_bytes)


def cache_key(config: EngineConfig, folder: Path, instruction_set: str) -> str:
    """Hash everything that packed weights depend on: the checkpoint, the settings, the code.

    Weight files are identified by path, size, modification time and content samples. Raises
    `ConfigError` if the text for calibration cannot be read.
    """
    parts: dict[str, Any] = {
        "format": FORMAT,
        "settings": {
            name: value
            for name, value in dataclasses.asdict(config).items()
            if name not in _UNRELATED
        },
        "calibration": calibration_digest(config.calibrate) if config.is_calibrated else None,
        "kernels": [source_digest(), instruction_set],
        "code": _code_digest(),
        "versions": [version("torch"), version("transformers")],
        "weights": [_identity(path) for path in read_checkpoint(folder).files],
        "texts": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted((*folder.glob("*.json"), *folder.glob("*.jinja")))
        },
    }
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _identity(path: Path) -> list[Any]:
    status = path.stat()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for index in range(_SAMPLES):
            file.seek(max(0, status.st_size - _SAMPLE_BYTES) * index // (_SAMPLES - 1))
            digest.update(file.read(_SAMPLE_BYTES))
    return [str(path.resolve()), status.st_size, status.st_mtime_ns, digest.hexdigest()]


def _code_digest() -> str:
    """Hash the modules that build, read and pack models."""
    package = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for part in ("attention", "kernels", "models"):
        for path in sorted((package / part).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(path: Path, handle: int) -> CacheEntry:
    start, size = os.pread(handle, 16, 0), os.fstat(handle).st_size
    if start[:8] != _MAGIC or len(start) < 16:
        raise ValueError("it lacks the magic bytes")
    (length,) = struct.unpack("<Q", start[8:])
    if length > _MAX_HEADER_BYTES:
        raise ValueError(f"its header claims {length} bytes")
    header = json.loads(os.pread(handle, length, 16))
    nbytes = header.get("nbytes") if isinstance(header, dict) else None
    if type(nbytes) is not int or nbytes < 0:
        raise ValueError("its header lacks the size of the data")
    first = _data_offset(length)
    end = first + nbytes
    pages = -(-end // _PAGE)
    if size != end + pages * _WORD:
        raise ValueError(f"it has {size} bytes instead of {end + pages * _WORD}")
    checksums = np.frombuffer(os.pread(handle, pages * _WORD, end), np.uint64)
    own, others = np.split(checksums, [first // _PAGE])
    found = np.zeros_like(own)
    _add_to_checksums(found, os.pread(handle, first, 0), 0)
    if not np.array_equal(found, own):
        raise ValueError("its header fails its checksum")
    return CacheEntry(header, path, first, others)


def _fill(
    handle: int,
    header: dict[str, Any],
    pieces: Iterable[memoryview],
    nbytes: int,
    stop: threading.Event,
) -> bool:
    """Write header, chunks and checksums and flush them; return False if stopped."""
    text = json.dumps({**header, "nbytes": nbytes}).encode()
    end = _data_offset(len(text)) + nbytes
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, end + -(-end // _PAGE) * _WORD)  # a full disk fails here
    start = (_MAGIC + struct.pack("<Q", len(text)) + text).ljust(end - nbytes, b"\0")
    unflushed = 0
    for piece in _with_checksums(chain([memoryview(start)], pieces), end):
        done = 0
        while done < len(piece):
            if stop.is_set():
                return False
            count = os.write(handle, piece[done : done + _CHUNK_BYTES])
            done += count
            unflushed += count
            if unflushed >= _FLUSH_BYTES:
                os.fsync(handle)
                unflushed = 0
    os.fsync(handle)
    return True


def _with_checksums(pieces: Iterable[memoryview], nbytes: int) -> Iterator[memoryview]:
    """Yield the chunks, then each page's checksum."""
    checksums = np.zeros(-(-nbytes // _PAGE), np.uint64)
    begin = 0
    for piece in pieces:
        if begin + len(piece) > nbytes:
            raise OSError(f"more data than {nbytes} bytes")
        _add_to_checksums(checksums, piece, begin)
        yield piece
        begin += len(piece)
    if begin != nbytes:
        raise OSError(f"{begin} bytes of data instead of {nbytes}")
    yield memoryview(checksums.tobytes())


def _add_to_checksums(checksums: NDArray[np.uint64], data: bytes | memoryview, begin: int) -> None:
    """Add the data's words, from byte `begin`, to its pages' checksums."""
    if not len(data):
        return
    words = np.frombuffer(data, np.uint64)
    page, word = divmod(begin // _WORD, _WORDS_IN_PAGE)
    starts = np.arange(-word, len(words), _WORDS_IN_PAGE).clip(min=0)
    checksums[page : page + len(starts)] += np.add.reduceat(words, starts)


def _data_offset(header_bytes: int) -> int:
    return -(-(16 + header_bytes) // _PAGE) * _PAGE
