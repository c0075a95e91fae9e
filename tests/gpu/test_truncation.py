"""Truncation on a CUDA device: its kernel keeps the right tokens, borders within rounding."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.engine.device_truncation.rows import Rows
from yaie.base.types import SamplingParams
from yaie.engine.sampling.device.truncation_check import find_fault
from yaie.engine.sampling.device.truncation_choice import choose_truncation

pytestmark = pytest.mark.gpu
KINDS = [
    SamplingParams(top_p=0.9),
    SamplingParams(top_k=50, temperature=2.0),
    SamplingParams(top_k=4000, top_p=0.8, min_p=1e-4),
    SamplingParams(top_p=1e-9),
    SamplingParams(),
]


@pytest.mark.parametrize("vocab_size", [1, 700, 50_257, 150_001, 151_936])
@pytest.mark.parametrize("decimals", [None, 1])
def test_the_kernel_keeps_the_right_tokens(
    vocab_size: int, decimals: int | None, device: torch.device
) -> None:
    truncation = choose_truncation(device, vocab_size)
    assert truncation.name == "triton"
    logits = np.random.default_rng(0).normal(size=(len(KINDS), vocab_size), scale=3.0)
    rows = Rows.of(logits if decimals is None else logits.round(decimals), KINDS).to(device)
    assert find_fault(rows.scaled, rows.truncated(truncation), rows.limits()) is None
