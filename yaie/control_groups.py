"""The control groups that this process is in, a container's among them, and what they allow it.

Called by the attention backends for the number of threads, and by the plan of memory. Imports the
standard library only.
"""

from __future__ import annotations

import math
from pathlib import Path

OWN_CONTROL_GROUPS = Path("/proc/self/cgroup")
CONTROL_GROUPS = Path("/sys/fs/cgroup")


def own_groups(controller: str) -> list[tuple[int, Path]]:
    """Version and folder of each group that a controller's limits may be in.

    From this process's own group up to the root: a limit of a group holds for all groups in it.
    Not each of the folders has to be there.
    """
    try:
        lines = OWN_CONTROL_GROUPS.read_text().splitlines()
    except OSError:
        return []  # another system
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            version, root = 2, CONTROL_GROUPS
        elif controller in controllers.split(","):
            version, root = 1, CONTROL_GROUPS / controller
        else:
            continue
        inner = Path(path.lstrip("/"))
        if ".." in inner.parts:  # it lies beside what a container sees
            inner = Path()
        found += [(version, root / inner), *((version, root / up) for up in inner.parents)]
    return found


def allowed_processors() -> int | None:
    """How many processors' time the groups leave this process, rounded up; None without a limit."""
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
        return None  # the root of all groups, or one that is not seen from here
