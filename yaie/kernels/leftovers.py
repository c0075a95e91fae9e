"""Removes compiled kernels that nobody has used for long from the cache of this user.

Each version of the source, each compiler and each machine has a folder of its own in the cache, and
after an update nobody would ever look at the old ones again. Called by the loader.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

DAY_S = 24 * 3600
UNUSED_S = 90 * DAY_S
UNFINISHED = "tmp*.so"  # of a process that ended while it compiled


def note_use(library: Path) -> None:
    """Keep a library from being removed: the time of its file is when it was last used."""
    with contextlib.suppress(OSError):  # a cache that cannot be written is never cleaned either
        if time.time() - library.stat().st_mtime > DAY_S:
            os.utime(library)


def remove(cache: Path) -> None:
    """Remove folders of the cache without use for long, and what never became a library."""
    now = time.time()
    with contextlib.suppress(OSError):
        for folder in list(cache.iterdir()):
            _remove_old_files(folder, now)


def _remove_old_files(folder: Path, now: float) -> None:
    if folder.is_symlink() or not folder.is_dir():
        return
    with contextlib.suppress(OSError):  # another process removes the same
        ages = {path: now - path.stat().st_mtime for path in folder.iterdir()}
        # Its own time too: another process may have made it to compile into.
        is_unused = min([now - folder.stat().st_mtime, *ages.values()]) > UNUSED_S
        for path, age in ages.items():
            if is_unused or (age > DAY_S and path.match(UNFINISHED)):
                path.unlink()
        if is_unused:
            folder.rmdir()
