"""The writer of packed weights at the end of the interpreter."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import sys, threading, torch
from yaie.models.native.packed_weights import PackedWeightsWriter
from yaie.models.native.saved_structures import SavedTensors

began = threading.Event()

class Cache:
    def write(self, key, header, pieces, nbytes, stop):
        tensor = torch.zeros(1000, dtype=torch.bfloat16)
        began.set()
        while not stop.is_set():
            tensor.detach().reshape(-1).view(torch.uint8).numpy().data

writer = PackedWeightsWriter(Cache(), "key", {}, SavedTensors([]))
assert began.wait(60) and not writer.wait(0)
if "close" in sys.argv:
    writer.close()
sys.exit(3)
"""


@pytest.mark.integration
@pytest.mark.parametrize("arguments", [[], ["close"]])
def test_a_process_that_ends_while_weights_are_written_is_not_aborted(
    arguments: list[str],
) -> None:
    """As after a start that is refused once the model is loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (3, "")
