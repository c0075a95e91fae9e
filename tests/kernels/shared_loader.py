"""The kernel library of a test run: searched at its first use, and compiled by one worker."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from yaie.kernels import build, library_search
from yaie.kernels.library import Library

try:
    import fcntl
except ImportError:  # a system without kernels
    fcntl = None  # type: ignore[assignment]

LOCK = "tests.lock"  # in the cache, which is what workers share
# Tests with these marks start processes, whose time limits leave no room for a compiler.
STARTS_PROCESSES = ("integration", "slow")


class SharedLoader(library_search.LibraryLoader):
    """A loader that waits while another worker compiles, and then finds the library."""

    def load(self) -> Library | None:
        """See `Loader.load`."""
        if self._done or os.environ.get(library_search.VARIABLE) == library_search.OFF:
            return super().load()
        with one_at_a_time():
            return super().load()


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold the lock of the cache of kernels; without a cache or locks, hold nothing."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(build.BuildFailed, OSError):
            folder = build.cache_folder()
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = stack.enter_context((folder / LOCK).open("w"))
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def install() -> None:
    """Let all tests of this process share one search."""
    library_search._loader = SharedLoader()
