"""GPU packages: the versions of FlashInfer and Triton, and why one cannot be used.

Imports neither of them nor torch.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import PackageNotFoundError, version

from packaging.version import Version

from yaie.base.own_package import install_command

FLASHINFER_PACKAGE = "flashinfer-python"
# 0.7.2.post1 masks the unused entries of a plan without split keys in a CUDA graph; before it the
# kernel reads them. 0.8 may rename what the wrappers are called with.
LEAST_FLASHINFER = "0.7.2.post1"
FIRST_UNKNOWN_FLASHINFER = "0.8"
LEAST_TRITON = "3.6"
MEANWHILE = "or use --attention-backend reference meanwhile"


def check_flashinfer() -> str | None:
    """Return why FlashInfer cannot be used and what to do; None if it can."""
    found = find_flashinfer_version()
    if found is None:
        return f"FlashInfer is not installed; {install_command('gpu')}, {MEANWHILE}"
    if not Version(LEAST_FLASHINFER) <= Version(found) < Version(FIRST_UNKNOWN_FLASHINFER):
        return (
            f"FlashInfer {found} is installed, but {LEAST_FLASHINFER} or newer below "
            f"{FIRST_UNKNOWN_FLASHINFER} is needed; {install_command('gpu')}, {MEANWHILE}"
        )
    return None


def find_flashinfer_version() -> str | None:
    """Return FlashInfer's version; None if it is not installed."""
    if importlib.util.find_spec("flashinfer") is None:
        return None
    try:
        return version(FLASHINFER_PACKAGE)
    except PackageNotFoundError:  # a folder on the path, without a package's metadata
        return None


def check_triton() -> str | None:
    """Return why the Triton kernels cannot be used and what to do; None if they can."""
    try:
        found = version("triton")
    except PackageNotFoundError:
        return f"Triton is not installed; {install_command('gpu')}"
    if Version(found) < Version(LEAST_TRITON):
        return (
            f"Triton {found} is installed, but {LEAST_TRITON} is needed; {install_command('gpu')}"
        )
    return None
