"""`python -m tests.flashinfer [PYTEST ARGUMENTS]`: build the modules, then run the marked tests.

With `--say`, print in one line whether they could run here.
"""

from __future__ import annotations

import subprocess
import sys

from tests.flashinfer.modules import build, environment, missing


def main(arguments: list[str]) -> int:
    reason = missing()
    if arguments == ["--say"]:
        print(
            "make test-flashinfer:",
            f"cannot run here: {reason}" if reason else "not a part of CI, as it compiles for long",
        )
        return 0
    if reason is not None:
        print(f"skipped: {reason}")
        return 0
    command = [sys.executable, "-m", "pytest", "-m", "flashinfer", "tests/flashinfer", *arguments]
    return subprocess.run(command, env=environment(build()), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
