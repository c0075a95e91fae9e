"""Triton's installation: its presence and version. Imports neither it nor torch."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from packaging.version import Version

LEAST_VERSION = "3.6"


def obstacle() -> str | None:
    """Return why the Triton kernels cannot be used and what to do; None if they can."""
    try:
        found = version("triton")
    except PackageNotFoundError:
        return "Triton is not installed; pip install 'yaie[gpu]'"
    if Version(found) < Version(LEAST_VERSION):
        return (
            f"Triton {found} is installed, but {LEAST_VERSION} is needed; pip install 'yaie[gpu]'"
        )
    return None
