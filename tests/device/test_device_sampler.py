"""The device sampler against the CPU's samplers: equal tokens from equal logits, without a wait."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.device.delayed_queue import DelayedQueue
from tests.device.sampled_tokens import VARIANTS, same
from tests.device.strict import device, to_device
from tests.engine.sampling import (
    GREEDY,
    VOCAB,
    rows_of_logits,
    sequences,
    state_of,
    task,
    twin_logits,
    twin_tokens,
)
from tests.sizes import large, size
from yaie.base.errors import InvalidRequest, InvariantViolated, RequestFailed
from yaie.base.types import ReasoningLimit, SamplingParams
from yaie.device.buckets import bucket_of, buckets_up_to
from yaie.device.queue import PlainQueue
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling.device.device_sampler import DeviceSampler
from yaie.engine.sampling.logit_rules import RULES, LogitRule
from yaie.engine.sampling_state import SamplingState, uniform
from yaie.engine.scheduled_step import SampledToken
from yaie.kernels import library_search as kernels

CPU = torch.device("cpu")
KERNELS = kernels.load()
MAX_TASKS = 8


@dataclass
class FixedGrammar:
    """A grammar that allows the same tokens everywhere."""

    allowed: frozenset[int]
    vocab_size: int = VOCAB
    param: str = "grammar"
    is_over: bool = False

    def mask(self) -> np.ndarray:
        bits = np.zeros(-(-self.vocab_size // 32) * 32, dtype=np.bool_)
        bits[list(self.allowed)] = True
        return np.packbits(bits, bitorder="little").view(np.uint32)

    def allows(self, token_id: int) -> bool:
        return token_id in self.allowed

    def must_end(self) -> bool:
        return False


def plain_sampler(vocab_size: int = VOCAB, **kwargs) -> DeviceSampler:
    return DeviceSampler(vocab_size, PlainQueue(CPU), max_tasks=MAX_TASKS, **kwargs)


@st.composite
def asked(draw):
    """Return parameters as `sequences` draws them, with the rules that those leave out."""
    params, prompt, output, index, row = draw(sequences())
    runs = st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=2).map(tuple)
    params = replace(
        params,
        bad_words_token_ids=tuple(draw(st.lists(runs, max_size=2))),
        logprobs=draw(st.sampled_from([None, None, 0, 1, 5])),
    )
    limit = None
    if draw(st.integers(0, 4)) == 0:
        limit = ReasoningLimit(
            max_tokens=draw(st.integers(0, 3)), opener_id=3, closer_id=5, is_open=True
        )
    grammar = draw(st.none() | st.none() | st.sets(st.integers(0, VOCAB - 1), max_size=VOCAB))
    return params, prompt, output, index, row, limit, grammar


def state_for(each, seed: int) -> SamplingState:
    params, prompt, output, index, _, limit, grammar = each
    state = SamplingState(
        params,
        index=index,
        prompt_token_ids=prompt,
        eos_token_ids=(0, 1),
        vocab_size=VOCAB,
        fallback_seed=seed,
        reasoning_limit=limit,
    )
    for token_id in output:
        state.observe(token_id)
    if grammar is not None:
        state.grammar = FixedGrammar(frozenset(grammar))  # type: ignore[assignment]
    return state


def draws_twice(state: SamplingState) -> bool:
    if state.params.is_greedy:
        return False
    rules = [rule for rule in RULES if rule.is_enabled(state) and rule.applies(state)]
    return len(rules) == 1 and state.grammar is not None


batches = given(rows_of_logits(), st.lists(asked(), min_size=1, max_size=11), st.integers(0, 9))


@pytest.mark.integration
@large
@settings(max_examples=size(400))
@batches
def test_tokens_and_errors_are_those_of_the_cpu(logits, batch, seed):
    compare(logits, batch, seed)


def compare(logits, batch, seed):
    if KERNELS is None:
        pytest.skip(kernels.status().reason)
    tasks = [task(each[4], state_for(each, seed)) for each in batch]
    rows = torch.from_numpy(logits)
    found = plain_sampler().sample(rows, tasks)
    in_torch = CpuSampler(VOCAB).sample(rows, tasks)
    in_kernels = (
        in_torch if KERNELS is None else CpuSampler(VOCAB, kernels=KERNELS).sample(rows, tasks)
    )
    for each, asked_for, mine, torchs, kernel in zip(
        tasks, batch, found, in_torch, in_kernels, strict=True
    ):
        # torch alone draws once under the mask of a grammar.
        expected = kernel if draws_twice(each.state) else torchs
        assert same(mine, expected), (mine, expected, asked_for)


@pytest.mark.integration
@large
@settings(max_examples=size(200))
@given(rows_of_logits(), st.lists(asked(), min_size=1, max_size=6), st.integers(0, 9), st.data())
def test_on_the_strict_device_nothing_waits_before_the_results(logits, batch, seed, data):
    """Two launches are on their way at once; the device gets as far as it likes at each call."""
    queue = DelayedQueue(hesitate=lambda: data.draw(st.integers(0, 40)))
    sampler = DeviceSampler(VOCAB, queue, max_tasks=MAX_TASKS)
    rows = to_device(torch.from_numpy(logits))
    parts = [batch, batch[::-1]]
    tasks = [[task(each[4], state_for(each, seed)) for each in part] for part in parts]
    for _ in range(2):  # the second time with programs of the first
        with device.forbid_waits():
            launched = [sampler.launch(rows, each) for each in tasks]
        for each, on_way in zip(tasks, launched, strict=True):
            expected = plain_sampler().sample(torch.from_numpy(logits), each)
            for mine, other in zip(on_way.results(), expected, strict=True):
                assert same(mine, other)


def test_a_step_takes_one_copy_each_way() -> None:
    queue = DelayedQueue()
    sampler = DeviceSampler(VOCAB, queue, max_tasks=MAX_TASKS)
    params = SamplingParams(
        top_p=0.9, top_k=9, min_p=0.01, logit_bias={3: 1.0}, presence_penalty=1.0, logprobs=2
    )
    tasks = [task(0, state_of(params, vocab_size=VOCAB, output=(1, 2))) for _ in range(4)]
    sampler.sample(to_device(torch.randn(1, VOCAB)), tasks)
    assert (queue.num_uploads, queue.num_downloads) == (1, 1)


def test_results_do_not_depend_on_the_batch() -> None:
    rng = np.random.default_rng(1)
    logits = torch.from_numpy(rng.normal(size=(6, 700), scale=2).astype(np.float32))
    tasks = [
        task(
            i % 6,
            state_of(
                SamplingParams(seed=i, **kw), vocab_size=700, prompt=(1, 2), output=(4, 9), index=i
            ),
        )
        for i, kw in enumerate(VARIANTS * 4)
    ]
    sampler = DeviceSampler(700, PlainQueue(CPU), max_tasks=32)
    together = sampler.sample(logits, tasks)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(tasks))[: 5 + 10 * seed]
        for mine, i in zip(sampler.sample(logits, [tasks[i] for i in order]), order, strict=True):
            assert same(mine, together[i])
    for mine, other in zip(CpuSampler(700).sample(logits, tasks), together, strict=True):
        assert same(other, mine)


@pytest.mark.parametrize("kw", VARIANTS)
def test_a_program_in_frequent_use_is_captured_and_samples_the_tasks_of_the_moment(kw) -> None:
    queue = DelayedQueue()
    sampler = DeviceSampler(VOCAB, queue, max_tasks=MAX_TASKS)

    def tasks(step: int):
        """Return three tasks with one more token of output than in the step before."""
        params = [SamplingParams(seed=step + i, **kw) for i in range(3)]
        output = tuple(range(3 + step))
        return [
            task(i, state_of(each, vocab_size=VOCAB, output=output))
            for i, each in enumerate(params)
        ]

    for step in range(12):
        logits = torch.randn(3, VOCAB)
        rows = to_device(logits)
        with device.forbid_waits():
            launched = sampler.launch(rows, tasks(step))
        expected = CpuSampler(VOCAB).sample(logits, tasks(step))
        for mine, other in zip(launched.results(), expected, strict=True):
            assert same(mine, other)
        assert sampler.num_captured == (step >= 7)


def test_a_large_vocabulary_follows_its_slow_twin() -> None:
    """Flat rows, so that truncation by rank goes deep; ties at every border."""
    rng = np.random.default_rng(5)
    logits = np.round(rng.normal(size=(2, 5000)), 1).astype(np.float32)
    for kw in ({"top_p": 0.95}, {"top_k": 2000}, {"top_k": 2000, "top_p": 0.7}, {"top_p": 1e-9}):
        params = SamplingParams(seed=3, temperature=1.5, **kw)
        tasks = [task(i % 2, state_of(params, vocab_size=5000, index=i)) for i in range(8)]
        found = plain_sampler(5000).sample(torch.from_numpy(logits), tasks)
        expected = CpuSampler(5000).sample(torch.from_numpy(logits), tasks)
        assert found == expected
        for each, result in zip(tasks, found, strict=True):
            x = twin_logits(logits[each.logit_row], params, (), (), ())
            assert result.token_id in twin_tokens(x, params, uniform(3, each.state.index, 0))


class EvenOnly(LogitRule):
    """A rule that only has `apply`."""

    def is_enabled(self, state: SamplingState) -> bool:
        return True

    def apply(self, own, rows) -> None:
        for row, _ in rows:
            own[row, 1::2] = -math.inf


def test_a_rule_with_apply_alone_holds_too() -> None:
    rules = (*RULES, EvenOnly())
    logits = torch.randn(4, VOCAB)
    logits[:, 7] = 9.0
    for kw in (GREEDY, {}, {"top_k": 5}):
        tasks = [task(i, state_of(SamplingParams(**kw), vocab_size=VOCAB)) for i in range(4)]
        found = plain_sampler(rules=rules).sample(logits, tasks)
        assert found == CpuSampler(VOCAB, rules=rules).sample(logits, tasks)
        assert all(each.token_id % 2 == 0 for each in found)


def test_input_logits_stay_unchanged() -> None:
    logits = torch.randn(2, VOCAB)
    before = logits.clone()
    params = SamplingParams(top_p=0.5, top_k=9, min_p=0.01, logit_bias={1: 3.0}, logprobs=4)
    plain_sampler().sample(logits, [task(r, state_of(params, vocab_size=VOCAB)) for r in (0, 1, 1)])
    assert torch.equal(logits, before)


@pytest.mark.parametrize("poison", [math.nan, math.inf, "all -inf"])
@pytest.mark.parametrize("extra", [GREEDY, {}, {"top_p": 0.5, "presence_penalty": 1.0}])
def test_a_non_finite_row_fails_only_its_own_tasks(poison, extra) -> None:
    logits = torch.randn(3, VOCAB)
    params = SamplingParams(logprobs=1, **extra)
    tasks = [task(r, state_of(params, vocab_size=VOCAB, output=(1,), seed=r)) for r in (0, 1, 2, 1)]
    sampler = plain_sampler()
    expected = sampler.sample(logits, tasks)
    logits[1] = -math.inf
    if poison != "all -inf":
        logits[1, 17] = poison
    results = sampler.sample(logits, tasks)
    assert (results[0], results[2]) == (expected[0], expected[2])
    for result in (results[1], results[3]):
        assert isinstance(result, RequestFailed)
        assert result.code == "logits_not_finite"


def test_a_faulty_state_fails_only_its_own_task() -> None:
    logits = torch.randn(1, VOCAB)
    params = SamplingParams(presence_penalty=0.5)
    states = [state_of(params, vocab_size=VOCAB, output=(1, 2), seed=s) for s in range(5)]
    tasks = [task(0, each) for each in states]
    sampler = plain_sampler()
    states[3].grammar = FixedGrammar(frozenset())
    expected = sampler.sample(logits, tasks)
    states[1].output.add(VOCAB)  # beyond the vocabulary
    states[2].output = "not counts"
    results = sampler.sample(logits, tasks)
    assert (results[0], results[4]) == (expected[0], expected[4])
    assert isinstance(results[1], InvariantViolated)
    assert isinstance(results[2], RequestFailed) and "AttributeError" in results[2].message
    assert isinstance(results[3], InvalidRequest) and "grammar" in results[3].message


def test_wrong_rows_and_wrong_shapes_are_errors() -> None:
    sampler, state = plain_sampler(50), state_of(SamplingParams())
    good, bad, negative = sampler.sample(
        torch.zeros(1, 50), [task(0, state), task(1, state), task(-1, state)]
    )
    assert isinstance(good, SampledToken)
    assert isinstance(bad, InvariantViolated) and isinstance(negative, InvariantViolated)
    with pytest.raises(InvariantViolated, match="expected"):
        sampler.sample(torch.zeros(1, 49), [task(0, state)])
    assert sampler.sample(torch.zeros(1, 50), []) == []


def test_buckets_hold_their_counts_and_are_few() -> None:
    assert buckets_up_to(20) == [1, 2, 4, 8, 16, 24]
    sizes = buckets_up_to(1024)
    assert all(bucket_of(count) == min(s for s in sizes if s >= count) for count in range(1, 1025))
    assert len(sizes) < 32
