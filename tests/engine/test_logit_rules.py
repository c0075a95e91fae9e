"""Masks, bias and penalties, and the obedience of every path to every rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.engine.sampling import (
    GREEDY,
    TensorLog,
    sample_one,
    state_of,
    task,
)
from yaie.base.errors import InvalidRequest
from yaie.base.types import SamplingParams
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling.logit_rules import RULES, LogitRule
from yaie.kernels import library_search


def test_penalties_count_prompt_and_output_as_documented():
    logits = [0.0] * 6
    logits[1], logits[2], logits[3] = 3.0, 2.9, 2.8

    def greedy(prompt=(), output=(), **kw) -> int:
        params = SamplingParams(**GREEDY, **kw)
        return sample_one(
            logits, state_of(params, vocab_size=6, prompt=prompt, output=output)
        ).token_id

    assert greedy() == 1
    assert greedy(prompt=(1,), repetition_penalty=1.1) == 2  # the prompt counts
    assert greedy(output=(1, 2), repetition_penalty=1.2) == 3  # and so does the output
    assert greedy(prompt=(1,), presence_penalty=2.0, frequency_penalty=2.0) == 1  # here not
    assert greedy(output=(1,), presence_penalty=0.15) == 2
    assert greedy(output=(1, 1, 2), frequency_penalty=0.3) == 3
    assert greedy(output=(1, 1, 1), presence_penalty=0.05) == 1  # once, however often it occurred
    assert greedy(output=(3,), presence_penalty=-1.0) == 3
    negative = [-1.0, -1.05, -5.0]
    state = state_of(SamplingParams(**GREEDY, repetition_penalty=1.2), vocab_size=3, prompt=(0,))
    assert sample_one(negative, state).token_id == 1  # below zero the penalty multiplies


def test_logit_bias_is_added():
    logits = np.linspace(1, 0, 50)
    assert (
        sample_one(logits, state_of(SamplingParams(**GREEDY, logit_bias={0: -100}))).token_id == 1
    )
    assert (
        sample_one(logits, state_of(SamplingParams(**GREEDY, logit_bias={40: 9.0}))).token_id == 40
    )


def test_min_tokens_forbids_end_tokens_at_first():
    logits = [9.0, 8.0, 7.0, 0.0]
    params = SamplingParams(**GREEDY, min_tokens=2, stop_token_ids=(1,))
    state = state_of(params, vocab_size=4, eos=(0, 99))
    for _ in range(2):
        assert sample_one(logits, state).token_id == 2
        assert state.finish_reason(0) is None
        state.observe(2)
    assert sample_one(logits, state).token_id == 0
    assert state.finish_reason(0) == ("stop", 0)
    assert state.finish_reason(1) == ("stop", 1)
    assert state.finish_reason(2) is None


@pytest.mark.parametrize("extra", [GREEDY, {}])
def test_a_mask_of_every_token_is_an_error_of_the_request(extra):
    params = SamplingParams(min_tokens=1, stop_token_ids=tuple(range(50)), **extra)
    fine = state_of(SamplingParams(**GREEDY, logit_bias={3: 1.0}))
    failed, sampled = CpuSampler(50).sample(
        torch.zeros(1, 50), [task(0, state_of(params)), task(0, fine)]
    )
    assert isinstance(failed, InvalidRequest) and "min_tokens (1)" in failed.message
    assert sampled.token_id == 3


# A rule beyond those of the engine, like a future grammar mask.


class OddTokens(LogitRule):
    """Mask that leaves the odd tokens, by the two required methods."""

    def is_enabled(self, state):
        return True

    def apply(self, own, rows):
        for row, _ in rows:
            own[row, ::2] = -math.inf


class FastOddTokens(OddTokens):
    """The same mask, with the methods that admit it to the fast paths."""

    def keeps_best(self, state, best_id):
        return best_id % 2 == 1

    def forbidden(self, state):
        return np.arange(0, 700, 2)


KERNELS = library_search.load()
PATHS = [
    pytest.param(None, id="torch"),
    pytest.param(
        KERNELS,
        id="kernel",
        marks=pytest.mark.skipif(KERNELS is None, reason=library_search.status().reason),
    ),
]
REQUESTS = [
    {"temperature": 0.0},
    {"temperature": 0.0, "logprobs": 2},
    {"temperature": 1.0},
    {"temperature": 1.0, "logprobs": 0},
    {"temperature": 1.0, "min_p": 0.01},
    {"temperature": 1.0, "top_k": 9},
    {"temperature": 1.0, "top_p": 0.7},
    {"temperature": 0.0, "repetition_penalty": 1.3, "presence_penalty": 0.4},
    {"temperature": 1.0, "logit_bias": {6: 30.0, 7: 20.0}},
    {"temperature": 0.0, "allowed_token_ids": (4, 5, 6, 7, 8)},
    {"temperature": 1.0, "allowed_token_ids": tuple(range(3, 699))},
    {"temperature": 0.0, "bad_words_token_ids": ((1,), (5, 3), (4, 5, 7))},
    {"temperature": 1.0, "bad_words_token_ids": ((1,), (5, 3), (4, 5, 7))},
    {"temperature": 0.0, "min_tokens": 9, "stop_token_ids": (1, 3)},
    {"temperature": 1.0, "min_tokens": 9, "stop_token_ids": (1, 3)},
]


@pytest.mark.parametrize("kernels", PATHS)
@pytest.mark.parametrize("num_allowed", [1, 3, 690])
@pytest.mark.parametrize("params", REQUESTS[:9], ids=str)
def test_every_path_samples_allowed_tokens_only(kernels, num_allowed, params):
    logits = torch.randn(60, 700, generator=torch.Generator().manual_seed(4)) * 3
    # Each row's best token is the first to be left out.
    allowed = [(-row).argsort()[-num_allowed:].tolist() for row in logits]
    tasks = [
        task(
            row,
            state_of(
                SamplingParams(**params, allowed_token_ids=tuple(allowed[row])),
                vocab_size=700,
                prompt=(1, 2),
                output=(5,),
                seed=row,
            ),
        )
        for row in range(60)
    ]
    free = task(7, state_of(SamplingParams(**GREEDY), vocab_size=700))
    *results, untouched = CpuSampler(700, kernels=kernels).sample(logits, [*tasks, free])
    for row, result in enumerate(results):
        assert result.token_id in allowed[row]
        if params["temperature"] == 0.0 and params.keys() <= {"temperature", "logprobs"}:
            assert result.token_id == allowed[row][0]
    assert untouched.token_id == int(logits[7].argmax())


@pytest.mark.parametrize("kernels", PATHS)
def test_allowed_tokens_keep_their_proportions(kernels):
    logits = torch.full((1, 700), 5.0)
    for token_id, weight in {3: 0.2, 9: 0.8}.items():
        logits[0, token_id] = math.log(weight)
    tasks = [
        task(0, state_of(SamplingParams(allowed_token_ids=(9, 3)), vocab_size=700, seed=seed))
        for seed in range(2000)
    ]
    results = CpuSampler(700, kernels=kernels).sample(logits, tasks)
    share = sum(result.token_id == 9 for result in results) / len(results)
    assert share == pytest.approx(0.8, abs=0.05)
    assert {result.token_id for result in results} == {3, 9}


def test_allowed_tokens_that_are_all_excluded_are_named():
    params = SamplingParams(allowed_token_ids=(1,), min_tokens=1, stop_token_ids=(1,))
    (failed,) = CpuSampler(50).sample(torch.zeros(1, 50), [task(0, state_of(params))])
    assert isinstance(failed, InvalidRequest) and failed.param == "allowed_token_ids"
    assert "allowed_token_ids ((1,))" in failed.message


@pytest.mark.parametrize("kernels", PATHS)
@pytest.mark.parametrize("rule", [OddTokens(), FastOddTokens()], ids=["plain", "fast"])
@pytest.mark.parametrize("params", REQUESTS, ids=str)
def test_every_path_obeys_a_new_mask(kernels, rule, params):
    logits = torch.randn(60, 700, generator=torch.Generator().manual_seed(4)) * 3
    tasks = [
        task(
            row,
            state_of(
                SamplingParams(**params), vocab_size=700, prompt=(1, 2), output=(5,), seed=row
            ),
        )
        for row in range(60)
    ]
    sampler = CpuSampler(700, kernels=kernels, rules=(*RULES, rule))
    results = sampler.sample(logits, tasks)
    assert all(result.token_id % 2 == 1 for result in results)
    if params["temperature"] == 0.0 and len(params) == 1:
        best = [1 + 2 * int(row[1::2].argmax()) for row in logits]
        assert [result.token_id for result in results] == best
    if "logprobs" in params:
        logprobs = torch.log_softmax(logits.double(), dim=-1)
        for row, result in enumerate(results):
            expected = float(logprobs[row, result.token_id])
            assert result.logprobs.logprob == pytest.approx(expected, abs=1e-5)
    for state in [each.state for each in tasks]:
        state.rules = None
    free = CpuSampler(700, kernels=kernels).sample(logits, tasks)
    assert any(result.token_id % 2 == 0 for result in free)  # the rule makes the difference


@pytest.mark.parametrize("params", REQUESTS, ids=str)
def test_a_fast_mask_samples_like_a_plain_one(params):
    logits = torch.randn(60, 700, generator=torch.Generator().manual_seed(4)) * 3

    def results(rule):
        tasks = [
            task(row, state_of(SamplingParams(**params), vocab_size=700, seed=row))
            for row in range(60)
        ]
        return CpuSampler(700, kernels=KERNELS, rules=(*RULES, rule)).sample(logits, tasks)

    pairs = zip(results(FastOddTokens()), results(OddTokens()), strict=True)
    # The kernel and torch round differently where a random number falls between two tokens.
    assert sum(fast == plain for fast, plain in pairs) >= 59


def test_a_fast_mask_is_sampled_in_place_by_the_kernel():
    logits = torch.randn(4, 700, generator=torch.Generator().manual_seed(4))
    logits[:, 1] = 9.0  # the best token is allowed
    tasks = [task(row, state_of(SamplingParams(), vocab_size=700, seed=row)) for row in range(4)]
    with TensorLog() as log:
        results = CpuSampler(700, kernels=KERNELS, rules=(FastOddTokens(),)).sample(logits, tasks)
    assert all(result.token_id % 2 == 1 for result in results)
    assert KERNELS is None or log.longest < 700


def test_rules_that_leave_no_token_name_their_parameters():
    class Nothing(LogitRule):
        param = "logit_bias"

        def is_enabled(self, state):
            return state.params.logit_bias is not None

        def apply(self, own, rows):
            own[[row for row, _ in rows]] = -math.inf

    masked = state_of(SamplingParams(logit_bias={1: 2.0}))
    free = state_of(SamplingParams(**GREEDY))
    sampler = CpuSampler(50, rules=(Nothing(),))
    failed, token = sampler.sample(torch.zeros(1, 50), [task(0, masked), task(0, free)])
    assert isinstance(failed, InvalidRequest)
    assert failed.param == "logit_bias" and "output position 0" in failed.message
    assert token.token_id == 0
