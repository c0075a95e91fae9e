"""min_p, top_k and top_p: the tokens that they keep."""

from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.sampling import (
    state_of,
    task,
    twin_candidates,
    twin_tokens,
)
from yaie.base.types import SamplingParams
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling.truncation import apply_top_k_top_p_min_p
from yaie.engine.sampling_state import uniform


def test_top_k_keeps_exactly_k_and_top_p_at_least_one():
    logits = [2.0] * 10

    def seen(**kw) -> set[int]:
        params = SamplingParams(**kw)
        tasks = [task(0, state_of(params, vocab_size=10, seed=s)) for s in range(400)]
        return {r.token_id for r in CpuSampler(10).sample(torch.tensor([logits]), tasks)}

    assert seen() == set(range(10))
    assert seen(top_k=3) == {0, 1, 2}
    assert seen(top_k=1) == {0}
    assert seen(top_p=0.35) == {0, 1, 2, 3}
    assert seen(top_p=1e-9) == {0}
    assert seen(min_p=1.0) == set(range(10))
    assert seen(top_k=4, top_p=0.5) == {0, 1}
    logits[7] = 3.0
    assert seen(min_p=0.5) == {7}
    assert seen(temperature=1e-30) == {7}


def test_top_p_looks_beyond_its_first_candidates():
    vocab_size = 5000
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, vocab_size), scale=0.1).astype(np.float32)
    logits[1] *= 60  # one flat row, one peaked row, in one batch
    params = SamplingParams(top_p=0.9)
    kept = [set(twin_candidates(list(map(float, row)), params, params.top_p)) for row in logits]
    assert len(kept[0]) > 1024 > len(kept[1])
    tasks = [task(i % 2, state_of(params, vocab_size=vocab_size, seed=i)) for i in range(600)]
    results = CpuSampler(vocab_size).sample(torch.from_numpy(logits), tasks)
    for i, result in enumerate(results):
        assert result.token_id in kept[i % 2]
        x = list(map(float, logits[i % 2])) if i < 20 else None
        if x:
            assert result.token_id in twin_tokens(x, params, uniform(i, 0, 0))


def test_a_large_top_k_leaves_its_neighbours_unchanged():
    vocab_size = 3000
    logits = torch.randn(4, vocab_size, generator=torch.Generator().manual_seed(6))
    params = [
        SamplingParams(top_k=20),
        SamplingParams(top_k=1025, top_p=0.9),
        SamplingParams(top_k=2900),
        SamplingParams(top_k=7, top_p=0.5),
    ]
    tasks = [task(i % 4, state_of(params[i % 4], vocab_size=vocab_size, seed=i)) for i in range(12)]
    sampler = CpuSampler(vocab_size)
    alone = [sampler.sample(logits, [each])[0] for each in tasks]
    assert sampler.sample(logits, tasks) == alone
    for each, result in zip(tasks[:4], alone, strict=False):
        x = list(map(float, logits[each.logit_row]))
        number = each.state.next_uniform()
        assert result.token_id in twin_tokens(x, each.state.params, number)


@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans())
@settings(max_examples=20, deadline=None)
def test_top_k_of_any_size_keeps_the_first_k(seed, num_rows, has_ties):
    generator = torch.Generator().manual_seed(seed)
    scaled = torch.randn(num_rows, 2000, generator=generator)
    if has_ties:
        scaled = scaled.round()
    scaled[torch.rand(scaled.shape, generator=generator) < 0.2] = -math.inf
    scaled -= scaled.amax(dim=-1, keepdim=True)
    for k in (1, 1024, 1025, 1999):
        rows = [(i, state_of(SamplingParams(top_k=k), vocab_size=2000)) for i in range(num_rows)]
        found = scaled.clone()
        apply_top_k_top_p_min_p(found, rows)
        for row, kept in zip(scaled.tolist(), found.tolist(), strict=True):
            order = sorted(range(2000), key=lambda token: (-row[token], token))
            first = set(order[:k])
            assert kept == [row[i] if i in first else -math.inf for i in range(2000)]
