"""Prompts that overlap, and what one batch of them costs. Used by `yaie demo` and `bench offline`.

A batch is given to the engine at once and nobody is made to wait for a first request: what is
shared is computed once, in that very step.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from yaie.errors import InvalidRequest, RequestFailed
from yaie.stats import EngineStats

if TYPE_CHECKING:
    from yaie.llm import LLM, RequestOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """So many requests at once: tokens that all share, tokens of each alone, tokens generated."""

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
        """Tokens of one sequence at its end."""
        return self.shared_prefix + self.own + self.output

    def prompts(self, vocab_size: int, seed: int) -> list[list[int]]:
        """Random token ids; another seed gives prompts that share nothing but chance tokens.

        The first own tokens differ as far as the vocabulary goes, so that what is shared is
        `shared_prefix` tokens and not more.
        """
        random = np.random.default_rng(seed)
        shared = random.integers(0, vocab_size, self.shared_prefix).tolist()
        own = random.integers(0, vocab_size, (self.requests, self.own))
        own[:, 0] = np.resize(random.permutation(vocab_size), self.requests)
        return [shared + tail for tail in own.tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFigures:
    """What one batch cost. Times are seconds from the moment the whole batch was handed over."""

    prompt_tokens: int
    output_tokens: int
    cached_tokens: int
    first_token_s: tuple[float, ...]  # of each request
    total_s: float
    spent: EngineStats  # counters: this batch alone

    @property
    def rows_without_sharing(self) -> int:
        """Rows if every sequence computed its own: all its tokens but the last drawn one."""
        return self.prompt_tokens + self.output_tokens - len(self.first_token_s)

    @property
    def rows_saved(self) -> int:
        """Rows that did not have to be computed, or only once for several sequences."""
        return self.rows_without_sharing - self.spent.rows_computed

    @property
    def prompt_s(self) -> float:
        """When the last request had its first token."""
        return max(self.first_token_s)

    @property
    def prompt_tokens_per_s(self) -> float:
        """Prompt tokens, held ones included, until every request had its first token."""
        return self.prompt_tokens / self.prompt_s

    @property
    def output_tokens_per_s(self) -> float:
        """Tokens drawn after every request had its first one, by the time that took."""
        drawn_later = self.output_tokens - len(self.first_token_s)
        decoding_s = self.total_s - self.prompt_s
        return drawn_later / decoding_s if drawn_later and decoding_s > 0 else 0.0

    @property
    def scheduler_share(self) -> float:
        """The part of all steps' time that went into scheduling and planning."""
        return self.spent.schedule_s / self.spent.step_s if self.spent.step_s else 0.0

    def first_token_percentile(self, percent: float) -> float:
        """Time to first token that so many percent of the requests did not exceed."""
        return float(np.percentile(self.first_token_s, percent))


def run_batch(
    llm: LLM, ask: Callable[[], list[RequestOutput]]
) -> tuple[BatchFigures, list[RequestOutput]]:
    """Run one batch and measure it. `ask` hands it to `llm`, of which it must be the only user."""
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
        spent=_difference(before, llm.stats),
    )
    return figures, outputs


def _difference(before: EngineStats, after: EngineStats) -> EngineStats:
    names = [field.name for field in dataclasses.fields(EngineStats)]
    return EngineStats(**{name: getattr(after, name) - getattr(before, name) for name in names})
