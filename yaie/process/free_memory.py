"""Memory that processes of this machine may still take, in bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from yaie.process.cgroups import own_groups


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
    # Other systems need another library for the free part; assume half.
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
