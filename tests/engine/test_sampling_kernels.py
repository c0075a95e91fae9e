"""The sampling kernel against float64 and against torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.sampling import (
    TensorLog,
    state_of,
    task,
)
from yaie.base.types import SamplingParams
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.scheduled_step import SampledToken
from yaie.kernels import library_search as kernels
from yaie.kernels.sampling_calls import best_tokens, sample_tokens

KERNELS = kernels.load()


needs_kernels = pytest.mark.skipif(KERNELS is None, reason=kernels.status().reason)


def intervals(logits, temperature: float, min_p: float, forbidden) -> np.ndarray:
    """Return the end of each token's share of [0, 1), in float64."""
    x = np.asarray(logits, dtype=np.float64)
    weights = np.exp((x - x.max()) / temperature)
    weights[weights < min_p * (1 - 1e-6)] = 0
    weights[list(forbidden)] = 0
    return np.cumsum(weights) / weights.sum()


@needs_kernels
@given(
    st.integers(1, 3).flatmap(lambda n: st.sampled_from([n, 15, 16, 17, 255, 256, 257, 700, 5000])),
    st.integers(0, 10**6),
    st.sampled_from([0.05, 0.8, 1.0, 3.0, 1e6]),
    st.sampled_from([0.0, 0.0, 0.02]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_the_kernel_inverts_the_distribution_function(
    vocab_size: int, seed: int, temperature: float, min_p: float, forbids: bool
) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(3, vocab_size)).astype(np.float32) * 3
    logits[1, rng.random(vocab_size) < 0.5] = -math.inf
    logits[:, rng.integers(vocab_size)] = 9.0
    # Never the best token of a row: the weights of the others are relative to it.
    others = np.setdiff1d(np.arange(vocab_size), logits.argmax(1))
    forbidden = rng.choice(others, 2) if forbids and vocab_size > 3 else np.empty(0, np.int64)
    uniforms = [0.0, 1 - 2**-53, *rng.random(14)]
    rows = rng.integers(0, 3, len(uniforms)).tolist()
    tokens = sample_tokens(
        KERNELS,
        logits,
        rows=rows,
        best=[float(logits[row].max()) for row in rows],
        temperatures=[temperature] * len(rows),
        min_ps=[min_p] * len(rows),
        uniforms=uniforms,
        forbidden=[forbidden.astype(np.int64)] * len(rows),
    )
    for row, number, token in zip(rows, uniforms, tokens, strict=True):
        ends = intervals(logits[row], temperature, min_p, forbidden)
        begin, end = ends[token - 1] if token else 0.0, ends[token]
        assert begin - 1e-5 <= number <= end + 1e-5
        assert token not in forbidden
        assert logits[row, token] > -math.inf


@needs_kernels
@pytest.mark.parametrize("vocab_size", [1, 2, 15, 16, 17, 255, 256, 257, 3000])
def test_the_kernel_finds_the_lowest_best_token(vocab_size: int) -> None:
    rng = np.random.default_rng(vocab_size)
    logits = rng.integers(-9, 9, (200, vocab_size)).astype(np.float32)  # with many ties
    logits[:40] -= 1000
    logits[rng.random(logits.shape) < 0.1] = -math.inf
    best, tokens = best_tokens(KERNELS, logits)
    assert best == logits.max(1).tolist()
    assert tokens == logits.argmax(1).tolist()
    poisoned = logits.copy()
    places = rng.integers(0, vocab_size, len(logits))
    poisoned[np.arange(len(logits)), places] = np.nan
    assert np.isnan(best_tokens(KERNELS, poisoned)[0]).all()
    wide = np.full((200, vocab_size + 5), 99, dtype=np.float32)
    wide[:, :vocab_size] = logits
    assert best_tokens(KERNELS, wide[:, :vocab_size]) == (best, tokens)


@needs_kernels
def test_a_row_of_forbidden_tokens_gives_minus_one() -> None:
    (token,) = sample_tokens(
        KERNELS,
        np.zeros((1, 3), dtype=np.float32),
        rows=[0],
        best=[0.0],
        temperatures=[1.0],
        min_ps=[0.0],
        uniforms=[0.5],
        forbidden=[np.arange(3)],
    )
    assert token == -1


@needs_kernels
def test_the_kernel_samples_like_torch_and_copies_no_row() -> None:
    """Equal random numbers; rounding may differ for a number at the border of two tokens."""
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(40, 3000, generator=generator) * 4
    params = [
        SamplingParams(temperature=0.8),
        SamplingParams(temperature=1.3, min_p=0.01),
        SamplingParams(temperature=1.0, min_tokens=4, stop_token_ids=[5, 17]),
    ]
    tasks = [
        task(row, state_of(params[row % 3], vocab_size=3000, index=row, seed=row))
        for row in range(40)
    ]
    expected = CpuSampler(3000).sample(logits, tasks)
    with TensorLog() as log:
        found = CpuSampler(3000, kernels=KERNELS).sample(logits, tasks)
    assert log.longest < 3000
    assert sum(a.token_id == b.token_id for a, b in zip(expected, found, strict=True)) >= 39
    alone = [CpuSampler(3000, kernels=KERNELS).sample(logits, [each])[0] for each in tasks]
    assert alone == found


@needs_kernels
def test_torch_samples_with_ranks_bias_or_a_forbidden_best() -> None:
    logits = torch.tensor([[5.0, 200.0, 4.0, 3.0]])
    kernel = CpuSampler(4, kernels=KERNELS)
    for params in (
        SamplingParams(temperature=1.0, min_tokens=3, stop_token_ids=[1], min_p=0.5),
        SamplingParams(temperature=1.0, top_k=1),
        SamplingParams(temperature=1.0, top_p=0.1),
        SamplingParams(temperature=1.0, logit_bias={1: -100.0}),
    ):
        state = state_of(params, vocab_size=4)
        (plain,) = CpuSampler(4).sample(logits, [task(0, state)])
        (found,) = kernel.sample(logits, [task(0, state)])
        assert found == plain
        assert isinstance(found, SampledToken)
        assert found.token_id == (0 if params.min_tokens else 1)
