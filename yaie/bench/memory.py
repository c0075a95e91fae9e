"""Memory of a server's processes, as counted by Linux. Used by `yaie bench start`.

Resident memory counts every mapped page in memory, including pages of files and shared pages. The
proportional share divides shared pages by their users. Sizes are in bytes.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
_KIB = 1024


@dataclass(slots=True)
class Peak:
    """The largest memory of one process."""

    command: str
    resident: int = 0  # from the system's high-water mark, which misses no peak
    proportional: int = 0  # from samples


@dataclass(slots=True)
class MemoryWatch:
    """Samples the memory of a process and its descendants; a context manager.

    `peaks` are by process id. `together` is the largest sum of proportional shares at one time.
    """

    pid: int
    interval_s: float = 0.1
    peaks: dict[int, Peak] = field(default_factory=dict)
    together: int = 0
    _ending: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> MemoryWatch:
        self._thread = threading.Thread(target=self._watch, name="memory-watch", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        self.sample()

    def sample(self) -> None:
        """Take one sample; ended processes keep their peaks."""
        total = 0
        for pid in process_tree(self.pid):
            try:
                resident = _status(pid)["VmHWM"]
                proportional = _proportional(pid)
            except (OSError, KeyError):
                continue  # it has ended
            peak = self.peaks.setdefault(pid, Peak(_command(pid)))
            peak.resident = max(peak.resident, resident)
            peak.proportional = max(peak.proportional, proportional)
            total += proportional
        self.together = max(self.together, total)

    def _watch(self) -> None:
        while not self._ending.wait(self.interval_s):
            self.sample()


def can_measure() -> bool:
    """Return True if this system reports the memory of processes."""
    return (PROC / "self" / "smaps_rollup").is_file()


def process_tree(pid: int) -> list[int]:
    """Return the ids of a process and its living descendants, parents first."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return found


def _status(pid: int) -> dict[str, int]:
    """Return the sizes in a process's status."""
    sizes = {}
    for line in (PROC / str(pid) / "status").read_text().splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            sizes[name] = int(value.split()[0]) * _KIB
    return sizes


def _proportional(pid: int) -> int:
    for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * _KIB
    return 0


def _command(pid: int) -> str:
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return b" ".join(words).decode(errors="replace").strip()
