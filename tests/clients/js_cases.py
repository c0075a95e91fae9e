"""Runner of the cases in JavaScript: each is a process of Node."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

JS = Path(__file__).parent / "js"


def features(module: str) -> list[str]:
    """Return the names of a module's cases."""
    text = (JS / f"{module}.mjs").read_text(encoding="utf-8")
    return re.findall(r"^export async function (\w+)", text, re.MULTILINE)


def run(module: str, feature: str) -> None:
    """Run one case, and raise its error."""
    done = subprocess.run(
        ["node", "run.mjs", module, feature],
        capture_output=True,
        text=True,
        cwd=JS,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
