"""Compiles the kernel library: on first use into a cache folder of the user, or for a wheel.

Called by `yaie.kernels.loader` where no prebuilt library fits, with the instruction set that the
machine will use, and by hatch_build.py with all. Several processes may do this at once: each
compiles to a file of its own and renames it, so nobody ever loads half a library. Imports the
standard library only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCES = Path(__file__).parent / "csrc"
MAIN_SOURCE = SOURCES / "kernels.cpp"
LIBRARY_NAME = "libyaie_kernels.so"
DIGEST = ".sha256"  # of a file that lies beside the library and ends in this
COMPILERS = ("g++", "c++", "clang++")
TIMEOUT_S = 600  # compiling takes seconds; minutes on a machine that is overloaded

# Contraction makes fused multiply-adds of products and sums; the rest lets compares become blends.
# What is hidden is not shared with another version of the library in the same process.
FLAGS = (
    *("-O2", "-std=c++17", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden"),
    *("-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"),
    *("-Wno-psabi", "-Wno-unknown-pragmas"),
)


class BuildFailed(Exception):
    """There is no library, and this is why."""


class CannotWrite(BuildFailed):
    """The folder for the library cannot be written."""


def source_digest() -> str:
    """Identifies the source that a library was compiled from; it is part of the library."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def find_compilers() -> list[str]:
    """Commands of C++ compilers, as a shell would read them: $CXX if set, else the usual ones."""
    found: dict[Path, str] = {}  # one of several names of a compiler is enough
    chosen = os.environ.get("CXX", "").strip()
    for command in (chosen,) if chosen else COMPILERS:
        with contextlib.suppress(ValueError):  # a quote that is not closed
            program, *arguments = shlex.split(command)  # such as `ccache g++`
            path = shutil.which(program)
            if path is not None:
                found.setdefault(Path(path).resolve(), shlex.join((path, *arguments)))
    return list(found.values())


def require_compilers() -> list[str]:
    """As `find_compilers`, one at least. Raises `BuildFailed` where there is none."""
    compilers = find_compilers()
    if compilers:
        return compilers
    chosen = os.environ.get("CXX", "").strip()
    if chosen:
        raise BuildFailed(f"$CXX is {chosen!r}, which is not there; name another or unset it")
    raise BuildFailed(
        "there is no prebuilt library and no C++ compiler; install g++ or clang++, or name one in "
        "$CXX"
    )


def cached_library(compiler: str, sets: Sequence[str] = ()) -> Path:
    """Where the library of this source, compiler, machine and these instruction sets lies or would.

    No sets stand for all. A compiler is told apart by its files: asking for its version would start
    a process each time. Raises `BuildFailed` where there is no place for it.
    """
    parts: list[object] = [source_digest()]
    for word in shlex.split(compiler):
        program = shutil.which(word)
        if program is None:
            parts.append(word)  # an argument
            continue
        file = Path(program).resolve()
        status = file.stat()
        parts += (file, status.st_size, status.st_mtime_ns)
    parts += (platform.machine(), *sets)
    key = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
    return cache_folder() / key / LIBRARY_NAME


def cache_folder() -> Path:
    """The folder for compiled kernels: $XDG_CACHE_HOME/yaie/kernels, by default below ~/.cache.

    Raises `BuildFailed` for a user who has neither that variable nor a home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "yaie" / "kernels"
    except RuntimeError:
        raise BuildFailed(
            "this user has no home folder to keep compiled kernels in; set XDG_CACHE_HOME or HOME"
        ) from None


def compile_library(
    compiler: str, target: Path, sets: Sequence[str] = (), flags: Sequence[str] = ()
) -> None:
    """Compile to `target`, which appears whole or not at all. Raises `BuildFailed`.

    `compiler` is a command as `find_compilers` gives it. With the instruction sets named only, or
    with all; `flags` are added to those that belong to it.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(suffix=".so", dir=target.parent)
    except OSError as error:
        raise CannotWrite(f"{target.parent} cannot be written: {error.strerror}") from None
    os.close(handle)
    unfinished = Path(name)
    defines = [f'-DYAIE_SOURCE="{source_digest()}"', f"-DYAIE_CHOSEN_SETS={int(bool(sets))}"]
    defines += [f"-DYAIE_WITH_{name}=1" for name in sets]
    command = [*shlex.split(compiler), *FLAGS, *flags, *defines]
    command += [str(MAIN_SOURCE), "-o", str(unfinished)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "")
            raise BuildFailed(f"{compiler} failed: {first or f'exit code {done.returncode}'}")
        unfinished.chmod(0o700)
        _digest_file(target).write_text(_digest(unfinished))
        _put_on_disk(unfinished)
        unfinished.replace(target)
        _put_on_disk(target.parent)
    except subprocess.TimeoutExpired:
        raise BuildFailed(f"{compiler} took longer than {TIMEOUT_S} s") from None
    except OSError as error:
        raise BuildFailed(f"{compiler}: {error.strerror}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def is_whole(library: Path) -> bool:
    """Whether a library is what was compiled. To load one that is not may end the process."""
    try:
        return _digest_file(library).read_bytes() == _digest(library).encode()
    except OSError:
        return False


def _digest(library: Path) -> str:
    return hashlib.sha256(library.read_bytes()).hexdigest()


def _digest_file(library: Path) -> Path:
    return library.with_name(library.name + DIGEST)


def _put_on_disk(path: Path) -> None:
    """Wait until a file or folder is on disk, as far as its file system knows how."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_supported_platform() -> bool:
    """Whether the source is meant for this system at all."""
    return sys.platform in ("linux", "darwin") and sys.byteorder == "little"
