"""The garbage collector is paused while a process of ours starts; then all objects are frozen."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

# In child processes, since `gc.freeze` would last for all other tests of this process.
LOADS = """
import gc
from yaie.process.spawn import gc_paused_then_frozen
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
from yaie.process.spawn import gc_paused_then_frozen
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
EXITS = """
import atexit, gc, sys
from yaie.process.spawn import gc_paused_then_frozen
def check():
    print(gc.get_freeze_count() > 0)
atexit.register(check)  # runs after what is registered later
with gc_paused_then_frozen():
    pass
assert gc.get_freeze_count() > 0
if loaded:
    sys.modules["triton"] = sys
"""


@pytest.mark.parametrize("script", [LOADS, FAILS], ids=["loads", "fails"])
def test_gc_pauses_and_freezes_only_on_success(script: str) -> None:
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize("loaded", [False, True])
def test_objects_are_freed_at_the_exit_if_triton_would_print_them(loaded: bool) -> None:
    command = [sys.executable, "-c", f"loaded = {loaded}\n{EXITS}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (ended.stdout, ended.stderr) == (f"{not loaded}\n", "")
