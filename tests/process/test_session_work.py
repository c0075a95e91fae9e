"""Work of a session's processes, as Linux counts it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from yaie.process.session_work import measure_session_work

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

# It waits for a line after its child has computed for half a second and read a megabyte.
LEADER = """
import subprocess, sys
child = "import time, sys\\nwhile time.process_time() < 0.5: pass\\nsys.stdin.read()"
subprocess.run([sys.executable, "-c", child], input=b"x" * 2**20)
print(flush=True)
sys.stdin.readline()
"""


@pytest.mark.integration
def test_work_of_children_counts() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LEADER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as leader:
        assert leader.stdin is not None and leader.stdout is not None
        leader.stdout.readline()
        work = measure_session_work(leader.pid)
        assert work is not None and work.processor_s >= 0.4
        again = measure_session_work(leader.pid)
        assert again is not None and again.processor_s - work.processor_s < 0.2
        assert work.bytes_read >= 100_000
        leader.stdin.close()


def test_a_process_without_a_session_has_no_work_to_tell() -> None:
    assert os.getsid(0) != 2**22
    assert measure_session_work(2**22) is None
