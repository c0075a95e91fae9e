"""Metrics of requests by LoRA adapter. Label values are names that the operator has given."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from yaie.base.types import Usage

_LABELS = ("model", "adapter")


class AdapterMetrics:
    """Counters of the requests that name an adapter as their model."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "yaie_adapter_requests",
            "Completion requests by LoRA adapter",
            _LABELS,
            registry=registry,
        )
        self._tokens = Counter(
            "yaie_adapter_tokens",
            "Tokens of finished requests by LoRA adapter and kind: prompt, cached, completion",
            (*_LABELS, "kind"),
            registry=registry,
        )

    def note(self, model: str, adapter: str, usage: Usage, *, is_lost: bool) -> None:
        """Count a call that has ended; `is_lost` if it failed before its first token."""
        self._requests.labels(model, adapter).inc()
        if is_lost:
            return
        for kind, count in (
            ("prompt", usage.prompt_tokens),
            ("cached", usage.cached_tokens),
            ("completion", usage.completion_tokens),
        ):
            self._tokens.labels(model, adapter, kind).inc(count)
