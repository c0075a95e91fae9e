"""Tokens that samplers of two devices have sampled, compared; and parameters of each kind."""

from __future__ import annotations

import pytest

from tests.engine.sampling import GREEDY
from yaie.base.errors import YaieError
from yaie.engine.scheduled_step import SampledToken

VARIANTS = [
    {},
    GREEDY,
    {"top_p": 0.8},
    {"top_k": 20, "top_p": 0.9},
    {"min_p": 0.1, "logprobs": 3},
    {"repetition_penalty": 1.2, "presence_penalty": 0.5},
    {"frequency_penalty": 1.0, **GREEDY},
    {"logit_bias": {3: 5.0}},
]


def same(found: SampledToken | YaieError, expected: SampledToken | YaieError) -> bool:
    """Compare two results; the sums of log-probabilities are rounded differently."""
    if isinstance(found, YaieError) or isinstance(expected, YaieError):
        return type(found) is type(expected) and str(found) == str(expected)
    mine, other = found.logprobs, expected.logprobs
    if mine is None or other is None:
        return found == expected
    assert mine.logprob == pytest.approx(other.logprob, abs=1e-5)
    assert [p for _, p in mine.top] == pytest.approx([p for _, p in other.top], abs=1e-5)
    return (found.token_id, mine.token_id, mine.rank, [i for i, _ in mine.top]) == (
        expected.token_id,
        other.token_id,
        other.rank,
        [i for i, _ in other.top],
    )
