"""Machine and version description, part of every report."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from yaie.base.own_package import read_version
from yaie.kernels import instruction_sets


def describe_machine() -> dict[str, Any]:
    """Return the processor, this process's cores and the library versions.

    Includes the kernels' best instruction set: virtual machines allow different sets on processors
    with one name.
    """
    return {
        "cpu": _cpu_name(),
        "instruction_set": instruction_sets.of_this_machine()[0],
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "yaie": read_version(),
    }


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
