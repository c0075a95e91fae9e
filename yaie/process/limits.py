"""Resource limits: this process's cgroup CPU and memory, its growth, and the free memory."""

from __future__ import annotations

import math
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

OWN_CGROUPS = Path("/proc/self/cgroup")
CGROUP_ROOT = Path("/sys/fs/cgroup")


def own_groups(controller: str) -> list[tuple[int, Path]]:
    """Return version and folder of each cgroup that may limit this process.

    The order is from our own cgroup up to the root: a limit applies to all descendants. Some of
    the folders may be missing.
    """
    try:
        lines = OWN_CGROUPS.read_text().splitlines()
    except OSError:
        return []  # not Linux
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            version, root = 2, CGROUP_ROOT
        elif controller in controllers.split(","):
            version, root = 1, CGROUP_ROOT / controller
        else:
            continue
        inner = Path(path.lstrip("/"))
        if ".." in inner.parts:  # outside the container's cgroup namespace
            inner = Path()
        found += [(version, root / inner), *((version, root / up) for up in inner.parents)]
    return found


def read_cpu_quota() -> int | None:
    """Return the CPU quota in processors, rounded up; None without a limit."""
    quotas = [_quota(version, group) for version, group in own_groups("cpu")]
    return min((max(1, math.ceil(quota)) for quota in quotas if quota is not None), default=None)


def _quota(version: int, group: Path) -> float | None:
    try:
        if version == 2:
            quota, period = (group / "cpu.max").read_text().split()
        else:
            quota, period = (
                (group / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period")
            )
        return int(quota) / int(period) if quota.isdigit() else None  # else "max", or -1
    except (OSError, ValueError):
        return None  # the root cgroup, or one outside our namespace


def available_bytes() -> int:
    """Return the free memory of the machine, or of this process' tightest cgroup if less."""
    limits = [_available_in_system(), _available_in_cgroups()]
    return min(limit for limit in limits if limit is not None)


def _available_in_system() -> int | None:
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    # Other systems need another library to measure free memory; assume half.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


@dataclass(frozen=True, slots=True)
class _CgroupFiles:
    """The file and field names of one cgroup version."""

    limit: str
    usage: str
    cache: str

    def room(self, group: Path) -> int | None:
        """Return the memory that a group's processes may still take; None without a limit."""
        try:
            limit = (group / self.limit).read_text().strip()
            usage = int((group / self.usage).read_text())
            statistics = (group / "memory.stat").read_text().splitlines()
        except OSError:
            return None  # another version, or a group invisible from this namespace
        if not limit.isdigit():
            return None
        # The page cache counts as used, but is reclaimed when memory is requested.
        reclaimable = sum(
            int(line.split()[1]) for line in statistics if line.split()[0] == self.cache
        )
        return max(0, int(limit) - usage + reclaimable)


_FILES_OF_VERSION = {
    1: _CgroupFiles("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: _CgroupFiles("memory.max", "memory.current", "inactive_file"),
}


def _available_in_cgroups() -> int | None:
    """Return the memory left by the tightest cgroup of this process; None without a limit."""
    rooms = [_FILES_OF_VERSION[version].room(group) for version, group in own_groups("memory")]
    return min((room for room in rooms if room is not None), default=None)


def growth_limiter() -> Callable[[int], None]:
    """Return a function that limits the address space to its present size and some bytes more.

    It stays below the hard limit of the service. Other systems than Linux do not enforce it.
    """
    if sys.platform != "linux":
        return lambda growth: None
    statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    page, (_, hard) = resource.getpagesize(), resource.getrlimit(resource.RLIMIT_AS)

    def limit(growth: int) -> None:
        most = int(os.pread(statm, 64, 0).split()[0]) * page + growth
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))

    return limit
