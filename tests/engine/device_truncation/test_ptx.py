"""The kernel's compiled sm_80 code, run by the interpreter of PTX against its twin.

Each address must lie in a tensor that the launch was given, and each write in an output.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.attention.tree_decode import test_ptx
from tests.engine.device_truncation.rows import Rows, check
from tests.ptx.memory import MemoryFault
from tests.triton_process import needs_triton
from yaie.base.types import SamplingParams

pytestmark = [needs_triton, pytest.mark.integration, pytest.mark.timeout(600)]
LIMITS = SamplingParams(top_k=300, top_p=0.9, min_p=1e-4)


@pytest.fixture(autouse=True)
def _outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(test_ptx.OUTPUTS, "truncate_rows", {"scaled", "spare"})


def run_compiled(vocab_size: int, edit: Callable[[str], str] = str) -> None:
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.engine.sampling.device.truncation_kernel import TritonTruncation

    logits = np.random.default_rng(1).normal(size=(1, vocab_size), scale=2.0).round(1)
    with launches_to(80, lambda launch: test_ptx.execute(launch, edit)):
        check(Rows.of(logits, [LIMITS]), TritonTruncation())


@pytest.mark.parametrize("vocab_size", [500, pytest.param(2500, marks=pytest.mark.slow)])
def test_compiled_code_keeps_the_tokens_of_its_twins(vocab_size: int) -> None:
    run_compiled(vocab_size)


def test_a_missing_barrier_is_caught() -> None:
    def without(code: str) -> str:
        return code.replace("bar.sync", "// bar.sync")

    with pytest.raises((MemoryFault, AssertionError)):
        run_compiled(500, without)
