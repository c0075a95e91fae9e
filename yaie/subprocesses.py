"""How another Python process that runs a module of this package is started.

Called by the engine's supervisor and for the conversion of tokenizers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def module_command(module: str, *arguments: str) -> list[str]:
    """The command line; a file of the user's folder cannot take a module's place."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment() -> dict[str, str]:
    """Ours, with the folder that this package was imported from where it is not installed."""
    environment = dict(os.environ)
    folder = Path(__file__).resolve().parents[1]
    if folder.name not in {"site-packages", "dist-packages"}:
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), *([known] if known else [])])
    return environment
