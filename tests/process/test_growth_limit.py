"""The limit on the growth of a process, also below a hard limit of the service."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Memory is asked for as an address range, which takes no time.
PROCESS = """
import mmap, os, resource
from yaie.process.limits import growth_limiter
MIB = 1 << 20
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 256 * MIB,) * 2)
if os.geteuid() == 0:
    os.setuid(65534)  # root may raise a hard limit
limit = growth_limiter()
for growth, fits, exceeds in ((64, 16, 128), (1024, 128, 512)):
    limit(growth * MIB)
    mmap.mmap(-1, fits * MIB).close()
    try:
        mmap.mmap(-1, exceeds * MIB)
    except OSError:
        print("refused")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce the limit")
def test_growth_is_limited_below_the_hard_limit_too() -> None:
    command = [sys.executable, "-c", PROCESS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("refused\n" * 2, "")
