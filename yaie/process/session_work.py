"""`SessionWork`: processor time and bytes read by a process and its children."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

_PROCESSES = Path("/proc")
# Places in /proc/PID/stat after the command's name; proc(5) counts from 1, and the name is 2.
_SESSION = 6 - 3
_TIMES = slice(14 - 3, 18 - 3)  # user and system time, of the process and of ended children
_READ = (b"rchar:", b"read_bytes:")  # by calls; from storage, which mapped files cause too


class SessionWork(NamedTuple):
    """Work until now of a process that leads a session, and of its children."""

    processor_s: float
    bytes_read: int


def measure_session_work(leader: int) -> SessionWork | None:
    """Return the work of the session of process `leader`; None where the system does not tell."""
    ticks = bytes_read = 0
    is_known = False
    for folder in _PROCESSES.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is another user's
            facts = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            if int(facts[_SESSION]) != leader:
                continue
            ticks += sum(map(int, facts[_TIMES]))
            for line in (folder / "io").read_bytes().splitlines():
                name, number = line.split()
                bytes_read += int(number) if name in _READ else 0
            is_known = True
    if not is_known:
        return None
    return SessionWork(ticks / os.sysconf("SC_CLK_TCK"), bytes_read)
