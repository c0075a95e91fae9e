"""Kernel build: compiles the library into the user's cache on first use, or for a wheel.

Called by `yaie.kernels.library_search` with this machine's instruction set, unless a prebuilt
library fits, and by hatch_build.py with all sets. Processes may compile at the same time: each
writes its own file and renames it, so a library is always complete. Imports the standard library
only.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from yaie.process.hidden_keys import environment_without_secrets

SOURCES = Path(__file__).parent / "csrc"
MAIN_SOURCE = SOURCES / "kernels.cpp"
LIBRARY_NAME = "libyaie_kernels.so"
DIGEST = ".sha256"  # suffix of the file with the library's digest
COMPILERS = ("g++", "c++", "clang++")
UNFINISHED = "unfinished-"  # prefix of the folder that a process compiles in
TIMEOUT_S = 600  # compiling takes seconds, or minutes on an overloaded machine
RunCompiler = Callable[[list[str]], None]

# Contraction turns products and sums into fused multiply-adds; the math flags turn comparisons into
# blends. Hidden symbols keep two versions of the library in one process apart.
FLAGS = (
    *("-O2", "-std=c++17", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden"),
    *("-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"),
    *("-Wno-psabi", "-Wno-unknown-pragmas"),
)


class BuildFailed(Exception):
    """A library could not be built; the message has the reason."""


class CannotWriteLibrary(BuildFailed):
    """The folder for the library cannot be written."""


def source_digest() -> str:
    """Return the digest of the source and the flags. It is compiled into the library."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def find_compilers() -> list[str]:
    """Return the commands of C++ compilers in shell syntax: $CXX if set, else the usual names."""
    found: dict[Path, str] = {}  # a compiler with several names counts once
    chosen = os.environ.get("CXX", "").strip()
    for command in (chosen,) if chosen else COMPILERS:
        with contextlib.suppress(ValueError):  # an unclosed quote
            program, *arguments = shlex.split(command)  # for example `ccache g++`
            path = shutil.which(program)
            if path is not None:
                found.setdefault(Path(path).resolve(), shlex.join((path, *arguments)))
    return list(found.values())


def require_compilers() -> list[str]:
    """Return `find_compilers()`, or raise `BuildFailed` if the list is empty."""
    compilers = find_compilers()
    if compilers:
        return compilers
    chosen = os.environ.get("CXX", "").strip()
    if chosen:
        raise BuildFailed(
            f"$CXX is {chosen!r}, which was not found; set it to a compiler or unset it"
        )
    raise BuildFailed(
        "no prebuilt library fits and there is no C++ compiler; install g++ or clang++, or name "
        "one in $CXX"
    )


def library_cache_path(compiler: str, sets: Sequence[str] = ()) -> Path:
    """Return the path in the cache for this source, compiler, machine and these instruction sets.

    An empty `sets` means all. A compiler is identified by its file's size and time, because
    querying its version starts a process. Raises `BuildFailed` without a cache folder.
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
    """Return the folder for compiled kernels: $XDG_CACHE_HOME/yaie/kernels, by default in ~/.cache.

    Raises `BuildFailed` for a user without that variable and without a home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "yaie" / "kernels"
    except RuntimeError:
        raise BuildFailed(
            "this user has no home folder to store compiled kernels in; set XDG_CACHE_HOME or HOME"
        ) from None


def run_compiler(command: list[str]) -> None:
    """Run a compiler, whose temporary files are next to the last file of the command.

    The compiler and its children end with this process. Raises `BuildFailed` with the first error
    message.
    """
    environment = {**environment_without_secrets(), "TMPDIR": str(Path(command[-1]).parent)}
    with _group_that_ends_with_us() as group:
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
                env=environment,
                process_group=group,
            )
        except subprocess.TimeoutExpired:
            raise BuildFailed(f"it took longer than {TIMEOUT_S} s") from None
    if done.returncode != 0:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "")
        raise BuildFailed(first or f"exit code {done.returncode}")


@contextlib.contextmanager
def _group_that_ends_with_us() -> Iterator[int]:
    """Yield a process group that is killed at the end, and when this process dies.

    Its first process waits for the end of a pipe, which the system closes for a killed process.
    """
    guard = subprocess.Popen(
        ["sh", "-c", "read _; kill -9 0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        yield guard.pid
    finally:
        os.killpg(guard.pid, signal.SIGKILL)
        guard.communicate()


@contextlib.contextmanager
def unfinished_folder(parent: Path, prefix: str = UNFINISHED) -> Iterator[Path]:
    """Yield a temporary folder, locked so that other processes see it in use.

    `remove_abandoned` removes the folder of a killed process. Raises `OSError`.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with contextlib.suppress(FileNotFoundError):  # removed before the lock
            handle = os.open(folder, os.O_RDONLY)
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_SH)
            if folder.exists():
                break
            os.close(handle)
    try:
        yield folder
    finally:
        os.close(handle)
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path, prefix: str = UNFINISHED) -> None:
    """Remove the unfinished folders in `parent` that no process uses."""
    for folder in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # another user's, or being removed
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def compile_library(
    compiler: str,
    target: Path,
    sets: Sequence[str] = (),
    flags: Sequence[str] = (),
    run: RunCompiler = run_compiler,
) -> None:
    """Compile to `target` atomically, and write its digest file. Raises `BuildFailed`.

    compiler: a command in shell syntax, as from `find_compilers`.
    sets: the instruction sets to compile; empty means all.
    flags: options in addition to `FLAGS`.
    """
    with contextlib.ExitStack() as stack:
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder = stack.enter_context(unfinished_folder(target.parent))
        except OSError as error:
            reason = f"{target.parent} cannot be written: {error.strerror}"
            raise CannotWriteLibrary(reason) from None
        unfinished = folder / LIBRARY_NAME
        defines = [f'-DYAIE_SOURCE="{source_digest()}"', f"-DYAIE_CHOSEN_SETS={int(bool(sets))}"]
        defines += [f"-DYAIE_WITH_{name}=1" for name in sets]
        command = [*shlex.split(compiler), *FLAGS, *flags, *defines]
        command += [str(MAIN_SOURCE), "-o", str(unfinished)]
        try:
            run(command)
            unfinished.chmod(0o700)
            _digest_file(target).write_text(_digest(unfinished))
            _sync(unfinished)
            unfinished.replace(target)
            _sync(target.parent)
        except BuildFailed as error:
            raise BuildFailed(f"{compiler} failed: {error}") from None
        except OSError as error:
            raise BuildFailed(f"{compiler} failed: {error.strerror}") from None


def is_whole(library: Path) -> bool:
    """Return whether a library matches its digest; loading a damaged one could end the process."""
    try:
        return _digest_file(library).read_bytes() == _digest(library).encode()
    except OSError:
        return False


def _digest(library: Path) -> str:
    return hashlib.sha256(library.read_bytes()).hexdigest()


def _digest_file(library: Path) -> Path:
    return library.with_name(library.name + DIGEST)


def _sync(path: Path) -> None:
    """Wait until a file or folder is on disk, if the file system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_supported_platform() -> bool:
    """Return whether the source supports this operating system and byte order."""
    return sys.platform in ("linux", "darwin") and sys.byteorder == "little"
