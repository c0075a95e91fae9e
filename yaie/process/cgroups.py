"""CPU and memory limits of the cgroups of this process, including those of a container.

Called by the attention backends for the number of threads, and by the memory plan. Imports the
standard library only.
"""

from __future__ import annotations

import math
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


def allowed_processors() -> int | None:
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
