"""A report of a fresh process about the kernel library that it found."""

from __future__ import annotations

import json
import os
import subprocess
import sys

REPORT = """
import json, sys
from yaie.kernels import library_search
loaded = library_search.load()
status = library_search.status()
print(json.dumps({
    "loaded": status.loaded, "reason": status.reason, "torch": "torch" in sys.modules,
    "set": loaded.instruction_set if loaded else None,
    "sets": loaded.instruction_sets if loaded else [],
}))
"""


def report(**environment: str) -> dict[str, object]:
    """Return the report of a process with these variables; it writes to standard output alone."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        env={**os.environ, **environment},
    )
    assert done.stderr == ""
    found: dict[str, object] = json.loads(done.stdout)
    return found
