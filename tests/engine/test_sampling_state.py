"""Random numbers, token counts and ends of one sequence."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.sampling import (
    VOCAB,
    sample_one,
    state_of,
    tokens,
)
from yaie.base.types import SamplingParams
from yaie.engine.sampling_state import TokenCounts, uniform

UNIFORM_7_0_0 = 0.7584968808564502


def test_random_numbers_are_uniform_and_unrelated():
    numbers = np.array([uniform(s, i, p) for s in range(20) for i in range(20) for p in range(20)])
    assert numbers.min() >= 0 and numbers.max() < 1
    counts = np.histogram(numbers, bins=16, range=(0, 1))[0]
    assert ((counts - 500) ** 2 / 500).sum() < 37.7  # 0.1 % quantile for 15 degrees of freedom
    cube = numbers.reshape(20, 20, 20)
    for axis in range(3):
        a, b = np.take(cube, range(19), axis), np.take(cube, range(1, 20), axis)
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.05
    # The stream is part of the promise that a seed gives the same text tomorrow.
    assert uniform(7, 0, 0) == UNIFORM_7_0_0
    assert uniform(-1, 0, 0) == uniform(2**64 - 1, 0, 0)


def test_ignore_eos_ends_only_at_stop_token_ids():
    state = state_of(SamplingParams(ignore_eos=True, stop_token_ids=(4,)), eos=(0,))
    assert state.finish_reason(0) is None
    assert state.finish_reason(4) == ("stop", 4)


@given(st.lists(tokens, max_size=80))
def test_token_counts_equal_a_plain_counter(added):
    counts = TokenCounts()
    for token in added:
        counts.add(token)
    assert dict(zip(counts.token_ids.tolist(), counts.counts.tolist(), strict=True)) == {
        token: added.count(token) for token in added
    }


@given(st.lists(tokens, max_size=30), st.lists(st.lists(tokens, max_size=40), max_size=3))
def test_siblings_sample_like_independent_requests(prompt, outputs):
    params = SamplingParams(
        n=4,
        repetition_penalty=1.4,
        frequency_penalty=0.3,
        temperature=1.5,
        seed=7,
        allowed_token_ids=tuple(range(1, VOCAB, 2)),
    )
    first = state_of(params, vocab_size=VOCAB, prompt=prompt)
    states = [first, *(first.for_sequence(index) for index in range(1, len(outputs) + 1))]
    alone = [state_of(params, vocab_size=VOCAB, prompt=prompt, index=i) for i in range(len(states))]
    logits = torch.randn(1, VOCAB, generator=torch.Generator().manual_seed(3))
    outputs = [[], *outputs]
    for state, twin, output in zip(states, alone, outputs, strict=True):
        for token in output:
            state.observe(token)
            twin.observe(token)
    for state, twin, output in zip(states, alone, outputs, strict=True):
        assert state.seen is not None
        ids = np.concatenate(state.seen.parts).tolist()
        assert sorted(ids) == sorted({*prompt, *output})
        assert state.output is not None
        assert sorted(state.output.token_ids.tolist()) == sorted(set(output))
        assert (state.index, state.num_output) == (twin.index, twin.num_output)
        assert sample_one(logits[0], state) == sample_one(logits[0], twin)


def test_siblings_count_their_prompt_once_at_first_use(monkeypatch):
    counted = []
    real = np.unique
    monkeypatch.setattr(np, "unique", lambda ids: counted.append(len(ids)) or real(ids))
    params = SamplingParams(n=8, repetition_penalty=1.4, temperature=0.0)
    first = state_of(params, vocab_size=5000, prompt=[*range(4000), *range(1000)])
    states = [first, *(first.for_sequence(index) for index in range(1, 8))]
    assert counted == []
    logits = torch.arange(5000.0)
    for number in range(3):
        for state in states:
            state.observe(sample_one(logits, state).token_id)
            assert state.num_output == number + 1
    assert counted == [5000]
    prompts = {id(state.seen.parts[0]) for state in states if state.seen is not None}
    assert len(prompts) == 1
    assert all(len(state.seen.parts[1]) <= 3 for state in states if state.seen is not None)


def test_siblings_share_the_complement_of_their_allowed_tokens():
    first = state_of(SamplingParams(n=2, allowed_token_ids=(7, 3, 7)), vocab_size=9)
    other = first.for_sequence(1)
    assert first.allowed is not None and other.allowed is not None
    assert first.allowed.others.tolist() == [0, 1, 2, 4, 5, 6, 8]
    assert other.allowed.others is first.allowed.others
    assert (7 in other.allowed, 8 in other.allowed) == (True, False)
