"""The garbage collector is paused while a process of ours starts; then all objects are frozen."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

# In child processes, since `gc.freeze` would last for all other tests of this process.
LOADS = """
import gc
from yaie.process.gc_pause import gc_paused_then_frozen
assert gc.isenabled()
runs = []
gc.callbacks.append(lambda phase, facts: runs.append(phase))
before = len(runs)
with gc_paused_then_frozen():
    held = [[number] for number in range(100_000)]
assert len(runs) == before
assert gc.isenabled()
assert gc.get_freeze_count() > len(held)
"""
FAILS = """
import gc
from yaie.process.gc_pause import gc_paused_then_frozen
try:
    with gc_paused_then_frozen():
        raise ValueError
except ValueError:
    pass
assert gc.isenabled() and gc.get_freeze_count() == 0
gc.disable()
with gc_paused_then_frozen():
    pass
assert not gc.isenabled()
"""


@pytest.mark.parametrize("script", [LOADS, FAILS], ids=["loads", "fails"])
def test_gc_pauses_and_freezes_only_on_success(script: str) -> None:
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
