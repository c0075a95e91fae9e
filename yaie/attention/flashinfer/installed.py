"""FlashInfer's installation: its version, and missing requirements.

Imports neither it nor torch.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import PackageNotFoundError, version

from packaging.version import Version

PACKAGE = "flashinfer-python"
# 0.7.2.post1 masks the unused entries of a plan without split keys in a CUDA graph; before it the
# kernel reads them. 0.8 may rename what the wrappers are called with.
LEAST_VERSION = "0.7.2.post1"
FIRST_UNKNOWN_VERSION = "0.8"
INSTALL = "pip install 'yaie[gpu]'"
MEANWHILE = "or use --attention-backend reference meanwhile"


def obstacle() -> str | None:
    """Return why FlashInfer cannot be used and what to do; None if it can."""
    found = find_version()
    if found is None:
        return f"FlashInfer is not installed; {INSTALL}, {MEANWHILE}"
    if not Version(LEAST_VERSION) <= Version(found) < Version(FIRST_UNKNOWN_VERSION):
        return (
            f"FlashInfer {found} is installed, but {LEAST_VERSION} or newer below "
            f"{FIRST_UNKNOWN_VERSION} is needed; {INSTALL}, {MEANWHILE}"
        )
    return None


def find_version() -> str | None:
    """Return FlashInfer's version; None if it is not installed."""
    if importlib.util.find_spec("flashinfer") is None:
        return None
    try:
        return version(PACKAGE)
    except PackageNotFoundError:  # a folder on the path, without a package's metadata
        return None
