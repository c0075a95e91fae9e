"""Log-probabilities of sampled tokens, with ranks and alternatives."""

from __future__ import annotations

import pytest
import torch

from tests.engine.sampling import (
    GREEDY,
    state_of,
    task,
)
from yaie.base.types import SamplingParams
from yaie.engine.sampling.cpu_sampler import CpuSampler


def test_logprobs_are_of_the_raw_logits():
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(8))
    logits[2] = torch.round(logits[2])
    log_softmax = torch.log_softmax(logits.double(), dim=-1)
    params = SamplingParams(
        logprobs=5, temperature=0.2, logit_bias={4: 20.0}, repetition_penalty=1.5, top_k=2
    )
    for row in range(3):
        (result,) = CpuSampler(50).sample(logits, [task(row, state_of(params, prompt=(3,)))])
        order = sorted(range(50), key=lambda t: (-float(logits[row, t]), t))
        assert result.token_id == 4
        assert result.logprobs.token_id == 4
        assert result.logprobs.logprob == pytest.approx(float(log_softmax[row, 4]), abs=1e-5)
        assert result.logprobs.rank == order.index(4) + 1
        assert [token for token, _ in result.logprobs.top] == order[:5]
        for token, logprob in result.logprobs.top:
            assert logprob == pytest.approx(float(log_softmax[row, token]), abs=1e-5)


def test_zero_logprobs_are_those_of_the_token_alone():
    logits = torch.zeros(1, 50)
    states = [state_of(SamplingParams(**GREEDY, logprobs=k)) for k in (None, 0, 20)]
    none, chosen, top = CpuSampler(50).sample(logits, [task(0, s) for s in states])
    assert none.logprobs is None
    assert chosen.logprobs.top == () and chosen.logprobs.rank == 1
    assert [token for token, _ in top.logprobs.top] == list(range(20))
    few = CpuSampler(3).sample(
        torch.zeros(1, 3), [task(0, state_of(SamplingParams(logprobs=20), vocab_size=3))]
    )
    assert len(few[0].logprobs.top) == 3


def test_alternatives_do_not_depend_on_a_neighbours_count():
    """Two logits round to one log-probability: the larger logit is first."""
    logits = torch.full((1, 50), 1.0)
    logits[0, 9] = torch.nextafter(torch.tensor(1.0), torch.tensor(2.0))
    one, five = (state_of(SamplingParams(**GREEDY, logprobs=k)) for k in (1, 5))
    alone = CpuSampler(50).sample(logits, [task(0, one)])[0]
    together = CpuSampler(50).sample(logits, [task(0, one), task(0, five)])
    assert [result.logprobs.top[0][0] for result in (alone, *together)] == [9, 9, 9]
    assert together[1].logprobs.top[0][1] == together[1].logprobs.top[1][1]
