"""The choice by cost over FlashInfer's real plans and interpreted Triton, in one engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flashinfer.fake_device import FakeRuntime
from tests.triton_process import needs_triton, run_interpreted


@needs_triton
@pytest.mark.flashinfer
@pytest.mark.timeout(3600)
def test_an_engine_takes_every_method(device: FakeRuntime) -> None:
    run_interpreted(Path(__file__).parent / "interpreted_by_cost.py")
