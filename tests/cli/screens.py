"""Programs on a pseudo-terminal: their screen, read step by step, and their keyboard."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator

CTRL_C, CTRL_D = b"\x03", b"\x04"


class Screen:
    """A program's terminal: its output, read step by step, and its keyboard."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self._unread = b""

    def type(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def wait_for(self, wanted: bytes) -> None:
        give_up = time.monotonic() + 60
        while wanted not in self._unread:
            self._read(give_up - time.monotonic(), wanted)
        self._unread = self._unread.partition(wanted)[2]

    def wait_for_more(self) -> None:
        while not self._unread:
            self._read(60, b"anything")

    def rest(self) -> bytes:
        with contextlib.suppress(OSError, TimeoutError):  # EIO: the other side has ended
            while True:
                self._read(0.2, b"more")
        return self._unread

    def _read(self, limit_s: float, wanted: bytes) -> None:
        if limit_s <= 0 or not select.select([self._terminal], [], [], limit_s)[0]:
            raise TimeoutError(f"no {wanted!r} in {self._unread!r}")
        self._unread += os.read(self._terminal, 4096)


@contextlib.contextmanager
def on_a_terminal(
    typed: list[str], environment: dict[str, str], stdin: int | None = None
) -> Iterator[Screen]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _ON_A_TERMINAL, *typed],
        stdin=theirs if stdin is None else stdin,
        stdout=theirs,
        stderr=theirs,
        env=environment | {"TERM": "xterm"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Screen(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


# Makes the terminal the process's own, so that Ctrl-C and Ctrl-D reach it.
_ON_A_TERMINAL = (
    "import fcntl, termios; fcntl.ioctl(1, termios.TIOCSCTTY, 0); "
    "from yaie.cli.main import main; main()"
)
