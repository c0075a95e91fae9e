"""Removal of compiled kernels that have been unused for 90 days from the user's cache.

Each version of the source, each compiler and each machine has its own folder in the cache, so
updates leave old folders behind. Called by the loader.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

DAY_S = 24 * 3600
UNUSED_S = 90 * DAY_S
UNFINISHED = "tmp*.so"  # left by a process that ended while it compiled


def note_use(library: Path) -> None:
    """Record the use of a library in the time of its file, at most once a day."""
    with contextlib.suppress(OSError):  # a read-only cache is never cleaned either
        if time.time() - library.stat().st_mtime > DAY_S:
            os.utime(library)


def remove(cache: Path) -> None:
    """Remove unused folders of the cache, and unfinished files that are older than a day."""
    now = time.time()
    with contextlib.suppress(OSError):
        for folder in list(cache.iterdir()):
            _remove_old_files(folder, now)


def _remove_old_files(folder: Path, now: float) -> None:
    if folder.is_symlink() or not folder.is_dir():
        return
    with contextlib.suppress(OSError):  # another process removes the same files
        ages = {path: now - path.stat().st_mtime for path in folder.iterdir()}
        # The folder's own time counts: another process may have created it to compile into.
        is_unused = min([now - folder.stat().st_mtime, *ages.values()]) > UNUSED_S
        for path, age in ages.items():
            if is_unused or (age > DAY_S and path.match(UNFINISHED)):
                path.unlink()
        if is_unused:
            folder.rmdir()
