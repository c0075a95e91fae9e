"""Overlapping prompts, and the cost of one batch, for `yaie demo` and `bench offline`.

A batch is sent to the engine at once; its shared prefix is computed once, in the same step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from yaie.base.errors import InvalidRequest, RequestFailed
from yaie.base.stats import EngineStats

if TYPE_CHECKING:
    from yaie.api.llm import LLM, RequestOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Concurrent requests, and the tokens in each: shared, unique, generated."""

    requests: int = 32
    shared_prefix: int = 1024
    own: int = 64
    output: int = 32

    def __post_init__(self) -> None:
        for name, least in (("requests", 1), ("shared_prefix", 0), ("own", 1), ("output", 1)):
            if getattr(self, name) < least:
                raise InvalidRequest(f"{name} must be at least {least}", param=name)

    @property
    def longest(self) -> int:
        """Number of tokens in one finished sequence."""
        return self.shared_prefix + self.own + self.output

    def prompts(self, vocab_size: int, seed: int) -> list[list[int]]:
        """Return random token ids for each request.

        Prompts of different seeds share chance tokens only. The first own tokens differ as far as
        the vocabulary allows, so that exactly `shared_prefix` tokens are shared.
        """
        random = np.random.default_rng(seed)
        shared = random.integers(0, vocab_size, self.shared_prefix).tolist()
        own = random.integers(0, vocab_size, (self.requests, self.own))
        own[:, 0] = np.resize(random.permutation(vocab_size), self.requests)
        return [shared + tail for tail in own.tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFigures:
    """The cost of one batch. Times are in seconds since the batch was sent."""

    prompt_tokens: int
    output_tokens: int
    cached_tokens: int
    first_token_s: tuple[float, ...]  # one per request
    total_s: float
    spent: EngineStats  # counters of this batch alone

    @property
    def rows_without_sharing(self) -> int:
        """Number of rows without sharing: all tokens but the last of each sequence."""
        return self.prompt_tokens + self.output_tokens - len(self.first_token_s)

    @property
    def rows_saved(self) -> int:
        """Number of rows that sharing saved."""
        return self.rows_without_sharing - self.spent.rows_computed

    @property
    def prompt_s(self) -> float:
        """Time until the last request had its first token."""
        return max(self.first_token_s)

    @property
    def prompt_tokens_per_s(self) -> float:
        """Prompt tokens, also cached ones, per second until every request had its first token."""
        return self.prompt_tokens / self.prompt_s

    @property
    def output_tokens_per_s(self) -> float:
        """Tokens per second after every request had its first one."""
        num_later = self.output_tokens - len(self.first_token_s)
        decoding_s = self.total_s - self.prompt_s
        return num_later / decoding_s if num_later and decoding_s > 0 else 0.0

    @property
    def scheduler_share(self) -> float:
        """Share of scheduling and planning in the steps' time."""
        return self.spent.schedule_s / self.spent.step_s if self.spent.step_s else 0.0

    def first_token_percentile(self, percent: float) -> float:
        """Return this percentile of the time to first token."""
        return float(np.percentile(self.first_token_s, percent))


def run_batch(
    llm: LLM, ask: Callable[[], list[RequestOutput]]
) -> tuple[BatchFigures, list[RequestOutput]]:
    """Run one batch and return its measurements and outputs.

    `ask` sends the batch to `llm`, which must have no other user.
    """
    before = llm.stats
    began = time.perf_counter()
    outputs = ask()
    total_s = time.perf_counter() - began
    failed = next((output.error for output in outputs if output.error), None)
    if failed is not None:
        raise RequestFailed(f"a request of the batch failed: {failed}")
    usages = [output.usage for output in outputs]
    figures = BatchFigures(
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        output_tokens=sum(usage.completion_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        first_token_s=tuple(output.timings.first_token_s for output in outputs),
        total_s=total_s,
        spent=llm.stats.since(before),
    )
    return figures, outputs
