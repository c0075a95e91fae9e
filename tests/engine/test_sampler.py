"""The sampler against a slow twin, its promises one by one, and isolation of faults."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.sampling import (
    GREEDY,
    VOCAB,
    TensorLog,
    rows_of_logits,
    sample_one,
    sequences,
    state_of,
    task,
    twin_candidates,
    twin_logits,
    twin_tokens,
)
from tests.sizes import large, size
from yaie.base.errors import InvariantViolated, RequestFailed
from yaie.base.types import SamplingParams
from yaie.engine.sampling import cpu_sampler as sampler_module
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling_state import uniform
from yaie.engine.scheduled_step import SampledToken

batches = given(rows_of_logits(), st.lists(sequences(), min_size=1, max_size=6), st.integers(0, 9))


@large
@settings(max_examples=size(400))
@batches
def test_the_sampler_equals_its_slow_twin(logits, batch, seed):
    compare_with_twin(logits, batch, seed)


def compare_with_twin(logits, batch, seed):
    """Sample a batch and compare each token with those that the twin accepts."""
    eos = (0, 1)
    tasks = [
        task(
            row,
            state_of(
                p, vocab_size=VOCAB, index=i, prompt=prompt, output=output, eos=eos, seed=seed
            ),
        )
        for p, prompt, output, i, row in batch
    ]
    results = CpuSampler(VOCAB).sample(torch.from_numpy(logits), tasks)
    for (params, prompt, output, index, row), result in zip(batch, results, strict=True):
        x = twin_logits(logits[row], params, prompt, output, eos)
        used_seed = seed if params.seed is None else params.seed
        assert isinstance(result, SampledToken), result
        assert result.token_id in twin_tokens(x, params, uniform(used_seed, index, len(output)))


def test_results_do_not_depend_on_the_batch():
    rng = np.random.default_rng(1)
    logits = torch.from_numpy(rng.normal(size=(6, 700), scale=2).astype(np.float32))
    variants = [
        SamplingParams(seed=i, **kw)
        for i, kw in enumerate(
            [
                {},
                {"temperature": 0.0},
                {"top_p": 0.8},
                {"top_k": 20, "top_p": 0.9},
                {"min_p": 0.1, "logprobs": 3},
                {"repetition_penalty": 1.2, "presence_penalty": 0.5},
                {"temperature": 0.0, "frequency_penalty": 1.0},
                {"logit_bias": {3: 5.0}},
            ]
        )
    ]
    tasks = [
        task(i % 6, state_of(params, vocab_size=700, prompt=(1, 2), output=(4, 4, 9), index=i))
        for i, params in enumerate(variants * 4)
    ]
    sampler = CpuSampler(700)
    together = sampler.sample(logits, tasks)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(tasks))[: 5 + 10 * seed]
        assert sampler.sample(logits, [tasks[i] for i in order]) == [together[i] for i in order]
    for each, expected in zip(tasks, together, strict=True):
        alone = sampler.sample(
            logits[each.logit_row : each.logit_row + 1], [replace(each, logit_row=0)]
        )
        assert alone == [expected]


def test_chunks_give_the_same_results(monkeypatch):
    logits = torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    tasks = [
        task(i % 4, state_of(SamplingParams(top_p=0.9, logprobs=2), vocab_size=64, seed=i))
        for i in range(12)
    ]
    whole = CpuSampler(64).sample(logits, tasks)
    monkeypatch.setattr(sampler_module, "CHUNK_ELEMENTS", 3 * 64)
    monkeypatch.setattr("yaie.engine.sampling.logprobs.CHUNK_ELEMENTS", 5 * 64)
    assert CpuSampler(64).sample(logits, tasks) == whole


@pytest.mark.integration
@pytest.mark.parametrize(
    "extra", [{}, {"temperature": 0.6}, {"top_k": 4}, {"top_p": 0.7}, {"min_p": 0.2}]
)
def test_samples_follow_the_distribution(extra):
    logits = np.array([1.5, 0.0, -1.0, 2.0, 0.5, -3.0, 1.0, 0.2], dtype=np.float32)
    params = SamplingParams(**extra)
    tasks = [task(0, state_of(params, vocab_size=8, index=i, seed=11)) for i in range(8000)]
    results = CpuSampler(8).sample(torch.from_numpy(logits)[None], tasks)
    observed = np.bincount([r.token_id for r in results], minlength=8)
    weights = twin_candidates(list(map(float, logits)), params, params.top_p)
    expected = np.zeros(8)
    expected[list(weights)] = np.array(list(weights.values())) / sum(weights.values()) * 8000
    assert observed[expected == 0].sum() == 0
    likely = expected > 0
    chi_square = ((observed - expected)[likely] ** 2 / expected[likely]).sum()
    assert chi_square < 24.3  # 0.1 % quantile for 7 degrees of freedom; fewer make it smaller


def test_a_new_state_replays_a_sequence_after_preemption():
    logits = torch.randn(30, 50, generator=torch.Generator().manual_seed(3))
    params = SamplingParams(seed=5, presence_penalty=0.4, repetition_penalty=1.1)
    sampler = CpuSampler(50)

    def continue_from(output: list[int]) -> list[int]:
        state = state_of(params, prompt=(1, 2, 3), output=output)
        output = list(output)
        while len(output) < 30:
            (result,) = sampler.sample(logits, [task(len(output), state)])
            output.append(result.token_id)
            state.observe(result.token_id)
        return output

    whole = continue_from([])
    assert len(set(whole)) > 5
    for cut in (1, 7, 29):
        assert continue_from(whole[:cut]) == whole


def test_siblings_and_seeds_give_different_texts():
    logits = torch.zeros(50)

    def text(**kw) -> tuple[int, ...]:
        params = SamplingParams(seed=kw.pop("own_seed", None))
        state, output = state_of(params, **kw), []
        for _ in range(12):
            output.append(sample_one(logits, state).token_id)
            state.observe(output[-1])
        return tuple(output)

    assert len({text(index=i, own_seed=4) for i in range(8)}) == 8
    assert len({text(own_seed=s) for s in range(8)}) == 8
    assert len({text(seed=s) for s in range(8)}) == 8
    assert text(own_seed=9, seed=1) == text(own_seed=9, seed=2)


def test_greedy_takes_the_lowest_tied_id_and_copies_no_row():
    logits = torch.zeros(2, 50)
    logits[1, [30, 20]] = 4.0
    state = state_of(SamplingParams(temperature=0.0))
    with TensorLog() as log:
        results = CpuSampler(50).sample(logits, [task(0, state), task(1, state), task(1, state)])
    assert [r.token_id for r in results] == [0, 20, 20]
    assert log.longest == 2  # one maximum per row


def test_input_logits_stay_unchanged():
    logits = torch.randn(2, 50)
    before = logits.clone()
    params = SamplingParams(
        top_p=0.5, top_k=9, min_p=0.01, logit_bias={1: 3.0}, repetition_penalty=2.0, logprobs=4
    )
    CpuSampler(50).sample(logits, [task(r, state_of(params, prompt=(5,))) for r in (0, 1, 1)])
    assert torch.equal(logits, before)


@pytest.mark.parametrize("poison", [math.nan, math.inf, "all -inf"])
@pytest.mark.parametrize("extra", [GREEDY, {}, {"top_p": 0.5, "presence_penalty": 1.0}])
def test_a_non_finite_row_fails_only_its_own_tasks(poison, extra):
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(2))
    params = SamplingParams(logprobs=1, **extra)
    tasks = [task(r, state_of(params, output=(1,), seed=r)) for r in (0, 1, 2, 1)]
    expected = CpuSampler(50).sample(logits, tasks)
    if poison == "all -inf":
        logits[1] = -math.inf
    else:
        logits[1, 17] = poison
    results = CpuSampler(50).sample(logits, tasks)
    assert (results[0], results[2]) == (expected[0], expected[2])
    for result in (results[1], results[3]):
        assert isinstance(result, RequestFailed)
        assert result.code == "logits_not_finite"
        assert "not finite" in result.message


def test_a_faulty_state_fails_only_its_own_task():
    logits = torch.randn(1, 50, generator=torch.Generator().manual_seed(2))
    params = SamplingParams(presence_penalty=0.5)
    states = [state_of(params, output=(1, 2), seed=s) for s in range(4)]
    expected = CpuSampler(50).sample(logits, [task(0, s) for s in states])
    states[1].output.add(50)  # beyond the vocabulary
    states[2].output = "not counts"
    results = CpuSampler(50).sample(logits, [task(0, s) for s in states])
    assert (results[0], results[3]) == (expected[0], expected[3])
    assert isinstance(results[1], InvariantViolated)
    assert isinstance(results[2], RequestFailed) and "AttributeError" in results[2].message


def test_wrong_rows_and_wrong_shapes_are_errors():
    sampler, state = CpuSampler(50), state_of(SamplingParams())
    good, bad, negative = sampler.sample(
        torch.zeros(1, 50), [task(0, state), task(1, state), task(-1, state)]
    )
    assert isinstance(good, SampledToken)
    assert isinstance(bad, InvariantViolated) and isinstance(negative, InvariantViolated)
    with pytest.raises(InvariantViolated, match="expected"):
        sampler.sample(torch.zeros(1, 49), [task(0, state)])
    assert sampler.sample(torch.zeros(1, 50), []) == []
