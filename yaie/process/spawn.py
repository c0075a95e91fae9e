"""Command line and environment of a child process that runs a module of this package.

Called by the engine's supervisor and for the conversion of tokenizers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command line; `-P` keeps files of the working directory out of `sys.path`."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment() -> dict[str, str]:
    """Return our environment, with the package's folder on `PYTHONPATH` unless it is installed."""
    environment = dict(os.environ)
    folder = Path(__file__).resolve().parents[2]
    if folder.name not in {"site-packages", "dist-packages"}:
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), *([known] if known else [])])
    return environment
