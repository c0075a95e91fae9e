"""`python -m tests.flashinfer [PYTEST ARGUMENTS]`: build the modules, then run the marked tests.

With `--whole-modules`, build FlashInfer's modules with their device kernels, and run their tests.
With `--say`, print in one line whether they could run here.
"""

from __future__ import annotations

import subprocess
import sys

from tests.flashinfer import whole_modules
from tests.flashinfer.modules import build, environment, folder, missing

_WHOLE = "tests/flashinfer/test_whole_modules.py"


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
    if "--whole-modules" in arguments:
        arguments = [each for each in arguments if each != "--whole-modules"]
        chosen, variables = [_WHOLE], whole_modules.build(folder())
    else:
        chosen, variables = ["tests/flashinfer", "--ignore", _WHOLE], environment(build())
    command = [sys.executable, "-m", "pytest", "-m", "flashinfer", *chosen, *arguments]
    return subprocess.run(command, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
