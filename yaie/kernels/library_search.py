"""Library search: finds this process's kernel library.

Called by the CPU attention backend and `doctor`.

In this order: the package's prebuilt library, if it matches this source; a library that this user
compiled before; a library compiled now, in a temporary folder where the cache is read-only. If all
fail, torch computes instead and `status()` has the reason.

The variable YAIE_KERNELS restricts the search: `off` disables the library; the name of an
instruction set (amx, bf16, vnni, avx512, avx2, portable) forces that set; of several names,
separated by commas, or of `all`, the library has each and uses the best.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from yaie.base.errors import ConfigError
from yaie.kernels import build, instruction_sets
from yaie.kernels.library import Library, UnusableLibrary
from yaie.process.progress import report

DAY_S = 24 * 3600
UNUSED_S = 90 * DAY_S
PRIVATE = "yaie-kernels-"  # prefix of a temporary folder, where the cache is read-only

log = logging.getLogger(__name__)

VARIABLE = "YAIE_KERNELS"
AUTO, ALL, OFF = "auto", "all", "off"
FAILED = "failed"  # name of the cache file that records a failed compilation
REMEMBERED_S = 24 * 3600  # a failure may be temporary: a full disk, a compiler without its headers
PREBUILT = Path(__file__).parent / build.LIBRARY_NAME
_DISABLED = f"switched off by {VARIABLE}={OFF}"


@dataclass(frozen=True, slots=True)
class LibraryStatus:
    """Outcome of the search, with a readable reason."""

    loaded: bool
    reason: str
    switched_off: bool = False  # by YAIE_KERNELS=off


class LibraryLoader:
    """A search that runs once; threads may share it.

    option: the value of YAIE_KERNELS; None reads the variable. prebuilt: the package's library
    path. run_compiler: runs a compiler's command line, see `build.run_compiler`. open_library:
    loads a file; raises OSError if it is unusable.
    """

    def __init__(
        self,
        option: str | None = None,
        *,
        prebuilt: Path = PREBUILT,
        run_compiler: build.RunCompiler = build.run_compiler,
        open_library: Callable[[Path], Library] = Library,
    ) -> None:
        self._option = option
        self._prebuilt = prebuilt
        self._run_compiler = run_compiler
        self._open_library = open_library
        self._lock = threading.Lock()
        self._done = False
        self._library: Library | None = None
        self._reason = "not loaded yet"

    def load(self) -> Library | None:
        """Return the library, or None; the first call searches and may compile.

        Raises ConfigError if the option names an instruction set that this machine lacks.
        """
        with self._lock:
            if not self._done:
                option = self._option or os.environ.get(VARIABLE) or AUTO
                self._library, self._reason = self._find(option)
                self._done = True
            return self._library

    def status(self) -> LibraryStatus:
        """Return the outcome of `load`, with its reason."""
        self.load()
        return LibraryStatus(self._library is not None, self._reason, self._reason == _DISABLED)

    def _find(self, option: str) -> tuple[Library | None, str]:
        if option == OFF:
            return None, _DISABLED
        if not build.is_supported_platform():
            return None, "there are no kernels for this system"
        known = instruction_sets.of_this_machine()
        chosen = known if option in (AUTO, ALL) else tuple(option.split(","))
        if not set(known).issuperset(chosen):
            raise _unknown_option(option)
        try:
            library, origin = self._open(option)
        except (build.BuildFailed, OSError) as error:
            return None, str(error)
        if option not in (AUTO, ALL):
            library.use_instruction_set(min(chosen, key=known.index))
        return library, f"{library.instruction_set}, {origin}"

    def _open(self, option: str) -> tuple[Library, str]:
        if self._prebuilt.is_file():
            # Built for another machine or source: compile instead.
            with contextlib.suppress(OSError):
                return self._open_library(self._prebuilt), "prebuilt"
        compilers = build.require_compilers()
        failures: dict[tuple[str, ...], Exception] = {}
        for sets in _choices(option):
            try:
                library, origin = self._compile_with_any(compilers, sets)
            except (build.BuildFailed, OSError) as error:
                failures[sets] = error
            else:
                without = (f"; without {', '.join(sets)}: {why}" for sets, why in failures.items())
                return library, "".join((origin, *without))
        raise next(iter(failures.values()))

    def _compile_with_any(self, compilers: list[str], sets: tuple[str, ...]) -> tuple[Library, str]:
        """Return a library from the first compiler that works, or raise the first failure."""
        failures: list[Exception] = []
        for compiler in compilers:
            try:
                return self._get_compiled(compiler, sets)
            except UnusableLibrary:
                raise
            except (build.BuildFailed, OSError) as error:
                failures.append(error)
        raise failures[0]

    def _get_compiled(self, compiler: str, sets: tuple[str, ...]) -> tuple[Library, str]:
        """Return a library with these sets (empty: all), from the cache or compiled now.

        A failure is remembered for a day in the cache, so that each start does not repeat it.
        """
        target = build.library_cache_path(compiler, sets)
        for cached in (target, build.library_cache_path(compiler)):
            if build.is_whole(cached):
                try:
                    library = self._open_library(cached)
                    note_use(cached)
                    remove_unused(build.cache_folder())
                    return library, "compiled before"
                except UnusableLibrary:
                    if cached == target:
                        raise  # compiling it again would not help
                except OSError:
                    pass  # compile again
        marker = target.parent / FAILED
        _raise_remembered(marker)
        log.info("compiling the kernels, once (about 15 s)")
        report("compiling the kernels")
        try:
            build.compile_library(compiler, target, sets, run=self._run_compiler)
            library = self._open_library(target)
        except build.CannotWriteLibrary as error:
            return self._compile_for_this_process(compiler, sets, str(error))
        except UnusableLibrary:
            raise  # the cached file raises the same error at the next start
        except (build.BuildFailed, OSError) as error:
            with contextlib.suppress(OSError):
                marker.write_text(str(error), encoding="utf-8")
            raise
        marker.unlink(missing_ok=True)
        remove_unused(build.cache_folder())
        return library, f"compiled with {compiler}"

    def _compile_for_this_process(
        self, compiler: str, sets: tuple[str, ...], reason: str
    ) -> tuple[Library, str]:
        """Return a library from a private folder that is removed once the file is loaded."""
        with contextlib.ExitStack() as stack:
            try:
                parent = Path(tempfile.gettempdir())
                build.remove_abandoned(parent, PRIVATE)
                folder = stack.enter_context(build.unfinished_folder(parent, PRIVATE))
            except OSError as error:
                detail = f"a temporary folder also failed: {error.strerror}"
                raise build.BuildFailed(f"{reason}; {detail}") from None
            target = folder / build.LIBRARY_NAME
            build.compile_library(compiler, target, sets, run=self._run_compiler)
            library = self._open_library(target)
        log.warning(
            "the kernels are compiled at each start, because they cannot be stored: %s; make the "
            "folder writable, or set XDG_CACHE_HOME to one that is",
            reason,
        )
        return library, f"compiled with {compiler} for this process only: {reason}"


_loader = LibraryLoader()


def load() -> Library | None:
    """Return this process's kernel library, or None; the first call may compile.

    Raises ConfigError if YAIE_KERNELS names an instruction set that this machine lacks.
    """
    return _loader.load()


def status() -> LibraryStatus:
    """Return the outcome of `load`, with its reason."""
    return _loader.status()


def _unknown_option(option: str) -> ConfigError:
    known = ", ".join((AUTO, ALL, OFF, *instruction_sets.of_this_machine()))
    return ConfigError(f"{VARIABLE} is {option!r}; this machine supports {known}", param=VARIABLE)


def _choices(option: str) -> list[tuple[str, ...]]:
    """Return the sets to compile, preferred first: a compiler may lack the first ones."""
    if option == ALL:
        return [()]
    if option == AUTO:
        return [(name,) for name in instruction_sets.of_this_machine()]
    return [tuple(sorted(option.split(",")))]


def _raise_remembered(marker: Path) -> None:
    """Raise `BuildFailed` with the stored reason if compiling failed within a day."""
    try:
        age_s = time.time() - marker.stat().st_mtime
        reason = marker.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if age_s < REMEMBERED_S:
        raise build.BuildFailed(
            f"{reason} (tried before; tried again after a day, or once {marker} is removed)"
        )


def note_use(library: Path) -> None:
    """Record a library's use in its file's time, at most once a day."""
    with contextlib.suppress(OSError):  # a read-only cache is never cleaned either
        if time.time() - library.stat().st_mtime > DAY_S:
            os.utime(library)


def remove_unused(cache: Path) -> None:
    """Remove unused cache folders, and what processes left that were killed while compiling."""
    now = time.time()
    with contextlib.suppress(OSError):
        for folder in list(cache.iterdir()):
            _remove_old_files(folder, now)


def _remove_old_files(folder: Path, now: float) -> None:
    if folder.is_symlink() or not folder.is_dir():
        return
    with contextlib.suppress(OSError):  # another process removes the same files
        build.remove_abandoned(folder)
        ages = {path: now - path.stat().st_mtime for path in folder.iterdir()}
        # The folder's own time counts: another process may have created it to compile into.
        is_unused = min([now - folder.stat().st_mtime, *ages.values()]) > UNUSED_S
        if is_unused:
            shutil.rmtree(folder)
