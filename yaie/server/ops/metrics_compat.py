"""`MetricsCompat`: histograms and counters of ended calls under the names of vLLM and SGLang.

Each choice counts as a request, as in those engines. Choices of one call share its times, except
the times in the engine, and its outcome. A call that failed before its first token does not count.
The buckets are YAIE's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from prometheus_client import Counter, Gauge, Histogram
from starlette.requests import Request

from yaie.base.stats import WAIT_BOUNDS_S
from yaie.server.metrics.engine_aliases import Dialect
from yaie.server.metrics.prometheus import (
    FIRST_TOKEN_BUCKETS,
    INTER_TOKEN_BUCKETS,
    TOTAL_BUCKETS,
    Metrics,
)
from yaie.server.models.request_hook import RequestHook
from yaie.server.replies.ended_call import EndedCall
from yaie.server.replies.generation import Generation

_TOKEN_BUCKETS = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 5))
_REASONS = {"stop": "stop", "length": "length", "abort": "abort", "disconnect": "abort"}


@dataclass(frozen=True, slots=True)
class _Measure:
    """One histogram: its name, and the samples that a call adds to it."""

    name: str
    help: str
    buckets: tuple[float, ...]
    samples: Callable[[EndedCall], Iterable[float]]


def _first_token_s(ended: EndedCall) -> Iterable[float]:
    return [] if ended.first_token_s is None else [ended.first_token_s] * ended.call.num_choices


def _token_s(ended: EndedCall) -> Iterable[float]:
    """Yield the mean seconds between the tokens of each choice."""
    if ended.first_token_s is None:
        return
    decode_s = max(0.0, ended.total_s - ended.first_token_s)
    for num_tokens in _choices(ended):
        if num_tokens > 1:
            yield decode_s / (num_tokens - 1)


def _choices(ended: EndedCall) -> list[int]:
    """Return the completion tokens of each choice."""
    return [each for prompt in ended.num_tokens for each in prompt]


_ALWAYS = (
    _Measure(
        "time_to_first_token_seconds",
        "Time to first token in seconds",
        FIRST_TOKEN_BUCKETS,
        _first_token_s,
    ),
    _Measure(
        "e2e_request_latency_seconds",
        "End-to-end request latency in seconds",
        TOTAL_BUCKETS,
        lambda ended: [ended.total_s] * ended.call.num_choices,
    ),
    _Measure(
        "request_time_per_output_token_seconds",
        "Mean time between the output tokens of a request in seconds",
        INTER_TOKEN_BUCKETS,
        _token_s,
    ),
)
_QUEUE = partial(
    _Measure,
    help="Queue time in seconds",
    buckets=WAIT_BOUNDS_S,
    samples=lambda ended: [each.queued_s for each in ended.timings],
)
_MEASURES = {
    "sglang": (*_ALWAYS, _QUEUE("queue_time_seconds")),
    "vllm": (
        *_ALWAYS,
        _QUEUE("request_queue_time_seconds"),
        _Measure(
            "request_prefill_time_seconds",
            "Prefill time in seconds",
            TOTAL_BUCKETS,
            lambda ended: [each.first_token_s - each.queued_s for each in ended.timings],
        ),
        _Measure(
            "request_decode_time_seconds",
            "Decode time in seconds",
            TOTAL_BUCKETS,
            lambda ended: [each.total_s - each.first_token_s for each in ended.timings],
        ),
        _Measure(
            "request_inference_time_seconds",
            "Prefill and decode time in seconds",
            TOTAL_BUCKETS,
            lambda ended: [each.total_s - each.queued_s for each in ended.timings],
        ),
        _Measure(
            "request_prompt_tokens",
            "Prompt tokens of a request",
            _TOKEN_BUCKETS,
            lambda ended: [
                usage.prompt_tokens
                for usage, choices in zip(ended.usages, ended.num_tokens, strict=True)
                for _ in choices
            ],
        ),
        _Measure(
            "request_generation_tokens", "Output tokens of a request", _TOKEN_BUCKETS, _choices
        ),
        _Measure(
            "request_max_num_generation_tokens",
            "Output tokens of the longest choice of a prompt",
            _TOKEN_BUCKETS,
            lambda ended: [max(choices) for choices in ended.num_tokens],
        ),
    ),
}


class MetricsCompat(RequestHook):
    """Measurements of the calls of one server, under the names of one engine."""

    def __init__(self, dialect: Dialect, metrics: Metrics) -> None:
        self._dialect = dialect
        prefix, labels, registry = dialect.prefix, dialect.label_names, metrics.registry
        self._histograms = [
            (
                measure,
                Histogram(
                    f"{prefix}:{measure.name}",
                    measure.help,
                    labels,
                    buckets=measure.buckets,
                    registry=registry,
                ),
            )
            for measure in _MEASURES[prefix]
        ]
        count = partial(Counter, registry=registry)
        self._finished = self._requests = self._aborted = self._hit_rate = None
        if prefix == "vllm":
            self._finished = count(
                f"{prefix}:request_success",
                "Requests by finish reason",
                (*labels, "finished_reason"),
            )
            return
        self._requests = count(f"{prefix}:num_requests", "Ended requests", labels)
        self._aborted = count(f"{prefix}:num_aborted_requests", "Aborted requests", labels)
        self._hit_rate = Gauge(
            f"{prefix}:cache_hit_rate",
            "Share of the last call's prompt tokens served from the prefix cache",
            labels,
            registry=registry,
        )

    def on_open(self, request: Request, generation: Generation) -> None:
        """See `RequestHook.on_open`: a call is measured once it has ended."""
        labels = self._dialect.label_values(request.state.model)
        generation.at_close.append(partial(self._measure, labels))

    def _measure(self, labels: tuple[str, ...], ended: EndedCall) -> None:
        if ended.is_lost:
            return
        for measure, histogram in self._histograms:
            series = histogram.labels(*labels)
            for sample in measure.samples(ended):
                series.observe(sample)
        num, usage = ended.call.num_choices, ended.usage
        reason = _REASONS.get(ended.outcome, "error")
        if self._finished is not None:
            self._finished.labels(*labels, reason).inc(num)
        if self._requests is not None:
            self._requests.labels(*labels).inc(num)
        if self._aborted is not None:
            self._aborted.labels(*labels).inc(num if reason == "abort" else 0)
        if self._hit_rate is not None:
            self._hit_rate.labels(*labels).set(usage.cached_tokens / max(1, usage.prompt_tokens))
