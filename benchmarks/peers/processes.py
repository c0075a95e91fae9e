"""Process trees of peers: memory, CPU time, suspension.

Linux only (reads /proc). Used by the runner.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_SAMPLE_S = 0.25
_SAMPLES_OF_A_TREE = 16
_END_S = 20.0


def tree_of(root: int) -> list[int]:
    """Return the ids of a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = _stat(int(entry.name))
            if fields is not None:
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, ())
    return found


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the state on; None if the process has gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def cpu_seconds(root: int) -> float:
    """Return the CPU time of a process tree so far."""
    all_fields = [_stat(pid) for pid in tree_of(root)]
    return sum(int(f[11]) + int(f[12]) for f in all_fields if f is not None) / _TICKS_PER_S


def resident_bytes(pids: Iterable[int]) -> int:
    """Return the resident memory of processes; shared pages count in each."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    return total


def machine_busy_seconds() -> float:
    """Return the CPU time of the whole machine since boot."""
    with Path("/proc/stat").open(encoding="utf-8") as file:
        user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / _TICKS_PER_S


def wait_until_idle(*, at_most_s: float, busy_cores: float = 0.06, window_s: float = 0.5) -> bool:
    """Wait until the machine is nearly idle; return False if still busy after `at_most_s`."""
    deadline = time.monotonic() + at_most_s
    while time.monotonic() < deadline:
        before = machine_busy_seconds()
        time.sleep(window_s)
        if machine_busy_seconds() - before <= busy_cores * window_s:
            return True
    return False


class Usage:
    """Resource use of a process tree, and of all others, within a context.

    `peak_bytes`: peak resident memory of the tree; `own_cpu_s`: its CPU time; `other_cpu_s`: that
    of all other processes except this one.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self.peak_bytes = 0
        self.own_cpu_s = 0.0
        self.other_cpu_s = 0.0

    def __enter__(self) -> Usage:
        self._own_start = cpu_seconds(self._root)
        self._self_start = time.process_time()
        self._machine_start = machine_busy_seconds()
        self._sampler.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        machine_s = machine_busy_seconds() - self._machine_start
        self.own_cpu_s = cpu_seconds(self._root) - self._own_start
        mine_s = time.process_time() - self._self_start
        self.other_cpu_s = max(0.0, machine_s - self.own_cpu_s - mine_s)
        self._ended.set()
        self._sampler.join()

    def _sample(self) -> None:
        for index in itertools.count():
            if index % _SAMPLES_OF_A_TREE == 0:  # finding the tree reads every process in /proc
                pids = tree_of(self._root)
            self.peak_bytes = max(self.peak_bytes, resident_bytes(pids))
            if self._ended.wait(_SAMPLE_S):
                return


def suspend(process: subprocess.Popen[bytes]) -> None:
    """Stop a process group: it neither computes nor spins, and keeps its memory."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGSTOP)


def resume(process: subprocess.Popen[bytes]) -> None:
    """Continue a process group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGCONT)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process group: SIGTERM, then SIGKILL."""
    if process.poll() is None:
        resume(process)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
