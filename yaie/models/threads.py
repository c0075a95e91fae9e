"""The number of threads that torch computes with, and with it the kernel library."""

from __future__ import annotations

import torch

from yaie.process import cgroups


def set_threads(wanted: int | None) -> None:
    """Set the number of torch threads; None takes all processors that the cgroups allow.

    torch counts the processors in this process's affinity mask and ignores a container's CPU quota.
    The kernel would throttle threads beyond the quota in mid-step, and the others would wait.
    """
    if wanted is None:
        allowed = cgroups.allowed_processors()
        wanted = min(torch.get_num_threads(), allowed or torch.get_num_threads())
    if wanted != torch.get_num_threads():
        torch.set_num_threads(wanted)
