"""Our own processes look for garbage neither while they start nor among what they loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In processes of their own: what is frozen here would stay frozen for all other tests.
LOADS = """
import gc
from yaie.garbage import nothing_collected
assert gc.isenabled()
runs = []
gc.callbacks.append(lambda phase, facts: runs.append(phase))
before = len(runs)
with nothing_collected():
    held = [[number] for number in range(100_000)]
assert len(runs) == before
assert gc.isenabled()
assert gc.get_freeze_count() > len(held)
"""
FAILS = """
import gc
from yaie.garbage import nothing_collected
try:
    with nothing_collected():
        raise ValueError
except ValueError:
    pass
assert gc.isenabled() and gc.get_freeze_count() == 0
gc.disable()
with nothing_collected():
    pass
assert not gc.isenabled()
"""


@pytest.mark.parametrize("script", [LOADS, FAILS], ids=["loads", "fails"])
def test_what_is_loaded_is_not_looked_through(script: str) -> None:
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
