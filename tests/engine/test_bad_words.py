"""Bad words: runs of tokens that no output contains, whatever the path of the sampler."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.sampling import state_of, task
from yaie.base.errors import InvalidRequest
from yaie.base.types import SamplingParams
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.kernels import library_search

VOCAB = 6
runs = st.lists(st.integers(1, VOCAB - 1), min_size=1, max_size=3).map(tuple)


@given(
    st.lists(runs, min_size=1, max_size=6).map(tuple),
    st.sampled_from([0.0, 1.0]),
    st.integers(0, 999),
    st.booleans(),
)
def test_no_output_contains_a_bad_word(bad, temperature, seed, with_kernels):
    params = SamplingParams(temperature=temperature, bad_words_token_ids=bad)
    sampler = CpuSampler(VOCAB, kernels=library_search.load() if with_kernels else None)
    first = state_of(params, vocab_size=VOCAB, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for state in (first, first.for_sequence(1)):
        output: list[int] = []
        for _ in range(30):
            logits = torch.randn(1, VOCAB, generator=generator)
            free = state_of(SamplingParams(temperature=0.0), vocab_size=VOCAB)
            found, best = sampler.sample(logits, [task(0, state), task(0, free)])
            would_be = (*output, best.token_id)
            is_bad = any(would_be[-len(run) :] == run for run in bad)
            if temperature == 0.0 and not is_bad:
                assert found.token_id == best.token_id
            state.observe(found.token_id)
            output.append(found.token_id)
            assert not any(tuple(output[-len(run) :]) == run for run in bad)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_bad_words_of_every_token_are_named(temperature):
    bad = tuple((token_id,) for token_id in range(VOCAB))
    params = SamplingParams(temperature=temperature, bad_words_token_ids=bad)
    state = state_of(params, vocab_size=VOCAB)
    (failed,) = CpuSampler(VOCAB).sample(torch.zeros(1, VOCAB), [task(0, state)])
    assert isinstance(failed, InvalidRequest) and failed.param == "bad_words"
