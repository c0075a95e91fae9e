"""Finds, loads and describes the kernel library. Called by the CPU attention backend and `doctor`.

In order: a library that lies prebuilt in the package and fits this source, one compiled earlier by
this user, one compiled now (for this process alone where it cannot be kept). Where none of it works
there is no library, torch serves instead, and `status()` says why. YAIE_KERNELS=off refuses the
library; the name of an instruction set (amx, bf16, vnni, avx512, avx2, portable) forces that one;
of several, separated by commas, and of `all` the best is used, and the library that is compiled has
each.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from yaie.errors import ConfigError
from yaie.kernels import build, instruction_sets, leftovers
from yaie.kernels.decoder import Decoder, DecoderCall, Linear
from yaie.kernels.sampling import Best, Draws
from yaie.kernels.structures import ABI, Layer, Step, Write

log = logging.getLogger(__name__)

VARIABLE = "YAIE_KERNELS"
AUTO, ALL, OFF = "auto", "all", "off"
FAILED = "failed"  # a file in place of a library: why there is none
REMEMBERED_S = 24 * 3600
_SWITCHED_OFF = f"switched off by {VARIABLE}={OFF}"
PREBUILT = Path(__file__).parent / build.LIBRARY_NAME


@dataclass(frozen=True, slots=True)
class Status:
    """Whether there is a kernel library and why, in words for people."""

    loaded: bool
    reason: str
    switched_off: bool = False  # nobody wanted one


class NoUsableSet(OSError):
    """A library is whole, and has no instruction set that this processor has."""


class Library:
    """The loaded library. Its calls release Python's lock while they compute."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if the file cannot be loaded, has another source or no set that fits."""
        self.path = path
        handle = ctypes.CDLL(str(path))
        try:
            self._declare(handle)
        except AttributeError as error:
            raise OSError(f"{path} is no kernel library: {error}") from None
        if handle.yaie_abi() != ABI or handle.yaie_source().decode() != build.source_digest():
            raise OSError(f"{path} was made from another version of the source")
        if handle.yaie_chosen_instruction_set() is None:
            raise NoUsableSet(f"{path} was made for another processor")
        self._handle = handle
        self.attention = handle.yaie_attention  # (Step *, Layer *) -> 0, or 1: unknown dtype
        self.decode = handle.yaie_decode  # (Decoder *, Step *, DecoderCall *)
        self.best = handle.yaie_best  # (Best *)
        self.draw = handle.yaie_draw  # (Draws *)
        self.linear = handle.yaie_linear  # (Linear *, x, rows, y, store, factor)
        self.pack = handle.yaie_pack  # (from, to, outputs, inputs, weights kind, is gated)
        # (values, scales, zero points, to, to scales, to zero points, outputs, inputs, groups,
        # weights kind, is gated)
        self.pack_integers = handle.yaie_pack_integers
        self.packed_inputs = handle.yaie_packed_inputs  # (weights kind, inputs)
        self.prefer_huge_pages = handle.yaie_prefer_huge_pages  # (memory, bytes)
        self.write_kv = handle.yaie_write_kv  # (Step *, Write *keys, Write *values)

    def _declare(self, handle: ctypes.CDLL) -> None:
        handle.yaie_source.restype = ctypes.c_char_p
        handle.yaie_instruction_set.restype = ctypes.c_char_p
        handle.yaie_chosen_instruction_set.restype = ctypes.c_char_p
        handle.yaie_set_threads.restype = None
        handle.yaie_write_kv.restype = None
        step, write = ctypes.POINTER(Step), ctypes.POINTER(Write)
        handle.yaie_attention.argtypes = [step, ctypes.POINTER(Layer)]
        handle.yaie_panel_outputs.restype = ctypes.c_int64
        handle.yaie_packed_inputs.restype = ctypes.c_int64
        handle.yaie_packed_inputs.argtypes = [ctypes.c_int32, ctypes.c_int64]
        for name in ("pack", "pack_integers", "linear", "decode", "best", "draw"):
            getattr(handle, f"yaie_{name}").restype = None
        address, size, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
        handle.yaie_pack.argtypes = [address, address, size, size, number, number]
        handle.yaie_prefer_huge_pages.argtypes = [address, size]
        handle.yaie_pack_integers.argtypes = [*[address] * 6, *[size] * 3, number, number]
        linear = ctypes.POINTER(Linear)
        handle.yaie_linear.argtypes = [linear, address, size, address, number, ctypes.c_float]
        call = ctypes.POINTER(DecoderCall)
        handle.yaie_decode.argtypes = [ctypes.POINTER(Decoder), step, call]
        handle.yaie_prefer_huge_pages.restype = None
        handle.yaie_best.argtypes = [ctypes.POINTER(Best)]
        handle.yaie_draw.argtypes = [ctypes.POINTER(Draws)]
        handle.yaie_write_kv.argtypes = [step, write, write]

    @property
    def instruction_sets(self) -> list[str]:
        """Those that are in the library and that this processor has, best first."""
        found: list[bytes] = []
        while (name := self._handle.yaie_instruction_set(len(found))) is not None:
            found.append(name)
        available = [name.decode() for name in found if self._handle.yaie_is_available(name)]
        known = instruction_sets.of_this_machine()
        return sorted(available, key=lambda n: known.index(n) if n in known else len(known))

    @property
    def instruction_set(self) -> str:
        """The one in use."""
        name: bytes = self._handle.yaie_chosen_instruction_set()
        return name.decode()

    def use_instruction_set(self, name: str) -> None:
        """Use another one from now on, in this process. Raises ConfigError if there is none."""
        if self._handle.yaie_choose_instruction_set(name.encode()):
            raise _unknown(name)

    @property
    def panel_outputs(self) -> int:
        """Outputs of a linear layer that are packed together, for the instruction set in use."""
        count: int = self._handle.yaie_panel_outputs()
        return count

    @property
    def threads(self) -> int:
        """How many threads compute, the calling one among them.

        Fewer than wanted where the system would not start so many; known once they have computed.
        """
        count: int = self._handle.yaie_threads()
        return count

    @threads.setter
    def threads(self, count: int) -> None:
        self._handle.yaie_set_threads(count)


class _Loader:
    """Loads once a process; several threads may ask at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tried = False
        self._library: Library | None = None
        self._reason = "not loaded yet"

    def load(self) -> Library | None:
        with self._lock:
            if not self._tried:
                self._library, self._reason = _find(os.environ.get(VARIABLE) or AUTO)
                self._tried = True
            return self._library

    def status(self) -> Status:
        self.load()
        return Status(self._library is not None, self._reason, self._reason == _SWITCHED_OFF)


_loader = _Loader()


def load() -> Library | None:
    """The kernel library of this process, or None; see `status`. The first call may compile.

    Raises ConfigError if YAIE_KERNELS names something that this machine does not have.
    """
    return _loader.load()


def status() -> Status:
    """Whether the library is there, and why or why not."""
    return _loader.status()


def _find(wish: str) -> tuple[Library | None, str]:
    if wish == OFF:
        return None, _SWITCHED_OFF
    if not build.is_supported_platform():
        return None, "there are no kernels for this system"
    known = instruction_sets.of_this_machine()
    wanted = known if wish in (AUTO, ALL) else tuple(wish.split(","))
    if not set(known).issuperset(wanted):
        raise _unknown(wish)
    try:
        library, origin = _open(wish)
    except (build.BuildFailed, OSError) as error:
        return None, str(error)
    if wish not in (AUTO, ALL):
        library.use_instruction_set(min(wanted, key=known.index))
    return library, f"{library.instruction_set}, {origin}"


def _unknown(wish: str) -> ConfigError:
    known = ", ".join((AUTO, ALL, OFF, *instruction_sets.of_this_machine()))
    return ConfigError(f"{VARIABLE} is {wish!r}; on this machine it may be {known}", param=VARIABLE)


def _open(wish: str) -> tuple[Library, str]:
    if PREBUILT.is_file():
        try:
            return Library(PREBUILT), "prebuilt"
        except OSError:
            pass  # made for another machine or source: compile instead
    compilers = build.require_compilers()
    failures: dict[tuple[str, ...], Exception] = {}
    for sets in _choices(wish):
        try:
            library, origin = _compiled_by_any(compilers, sets)
        except (build.BuildFailed, OSError) as error:
            failures[sets] = error
        else:
            without = (f"; without {', '.join(sets)}: {why}" for sets, why in failures.items())
            return library, "".join((origin, *without))
    raise next(iter(failures.values()))


def _compiled_by_any(compilers: list[str], sets: tuple[str, ...]) -> tuple[Library, str]:
    """By the first that can; raises what the first said where none can."""
    failures: list[Exception] = []
    for compiler in compilers:
        try:
            return _compiled(compiler, sets)
        except NoUsableSet:
            raise  # another compiler would make the same of it
        except (build.BuildFailed, OSError) as error:
            failures.append(error)
    raise failures[0]


def _choices(wish: str) -> list[tuple[str, ...]]:
    """The instruction sets to compile, and what to try next where a compiler does not know them."""
    if wish == ALL:
        return [()]
    if wish == AUTO:
        return [(name,) for name in instruction_sets.of_this_machine()]
    return [tuple(sorted(wish.split(",")))]


def _compiled(compiler: str, sets: tuple[str, ...]) -> tuple[Library, str]:
    """A library with these sets, or with all: from the cache if it is there, else compiled now.

    What does not compile or cannot be loaded is remembered for a day, beside where the library
    would lie: else each start would spend the time again. A failure may be one of that day (a full
    disk, a compiler without its headers), so it is not remembered for good.
    """
    target = build.cached_library(compiler, sets)
    for found in (target, build.cached_library(compiler)):
        if build.is_whole(found):
            try:
                library = Library(found)
                leftovers.note_use(found)
                return library, "compiled before"
            except NoUsableSet:
                if found == target:
                    raise  # compiled anew it would have the same
            except OSError:
                pass  # of no use here: compile anew
    marker = target.parent / FAILED
    _raise_remembered(marker)
    log.info("compiling the kernels, once (about 15 s)")
    try:
        build.compile_library(compiler, target, sets)
        library = Library(target)
    except build.CannotWrite as error:
        return _compiled_for_this_process(compiler, sets, str(error))
    except NoUsableSet:
        raise  # the file is there and says so by itself
    except (build.BuildFailed, OSError) as error:
        with contextlib.suppress(OSError):
            marker.write_text(str(error), encoding="utf-8")
        raise
    marker.unlink(missing_ok=True)
    leftovers.remove(build.cache_folder())
    return library, f"compiled with {compiler}"


def _compiled_for_this_process(
    compiler: str, sets: tuple[str, ...], reason: str
) -> tuple[Library, str]:
    """A library in a folder that only this user can enter, and that is gone once it is loaded."""
    try:
        temporary = tempfile.TemporaryDirectory(prefix="yaie-kernels-")
    except OSError as error:
        raise build.BuildFailed(f"{reason}; nor a temporary folder: {error.strerror}") from None
    with temporary as folder:
        target = Path(folder) / build.LIBRARY_NAME
        build.compile_library(compiler, target, sets)
        library = Library(target)
    log.warning(
        "the kernel library is compiled anew at each start, as it cannot be kept: %s; make the "
        "folder writable, or set XDG_CACHE_HOME to one that is",
        reason,
    )
    return library, f"compiled with {compiler} for this process alone: {reason}"


def _raise_remembered(marker: Path) -> None:
    """Raises `BuildFailed` with the reason if this failed not long ago."""
    try:
        age_s = time.time() - marker.stat().st_mtime
        reason = marker.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if age_s < REMEMBERED_S:
        raise build.BuildFailed(
            f"{reason} (tried before; tried again a day later, or once {marker} is removed)"
        )
