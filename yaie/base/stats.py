"""Statistics of an engine: one dataclass that counts, travels to clients and names its metrics."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_type_hints


@dataclass(frozen=True, slots=True)
class MetricDescription:
    """Annotation of a statistic's type: the kind of its metric, and its help text."""

    kind: Literal["gauge", "counter"]
    help: str


@dataclass(frozen=True, slots=True)
class Metric:
    """The Prometheus metric of one statistic."""

    field: str
    name: str  # counters get the suffix `_total` on the wire
    description: MetricDescription


def _gauge(text: str) -> MetricDescription:
    return MetricDescription("gauge", text)


def _counter(text: str) -> MetricDescription:
    return MetricDescription("counter", text)


# Upper bounds of the buckets of waits for admission, in seconds.
WAIT_BOUNDS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStats:
    """Waits and work of one tenant since the start of the engine, or since it was remembered."""

    tenant: str
    num_waiting: int  # requests now
    num_admitted: int
    mean_wait_s: float  # of admitted requests
    longest_wait_s: float
    tokens: int  # computed prompt tokens, and sampled ones of ended sequences


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitStats:
    """Waits for admission: requests by bucket, the last one without a bound, and top tenants."""

    counts: tuple[int, ...] = (0,) * (len(WAIT_BOUNDS_S) + 1)
    total_s: float = 0.0
    tenants: tuple[TenantStats, ...] = ()


@dataclass(slots=True, kw_only=True)
class EngineStats:
    """Gauges of the present and counters since the start of an engine; times are in seconds.

    The engine counts in one instance and publishes copies after steps. A request has n sequences.
    """

    num_waiting: Annotated[
        int, _gauge("Waiting requests, and admitted sequences without a cursor")
    ] = 0
    num_running: Annotated[int, _gauge("Live sequences")] = 0
    num_expected_prompts: Annotated[
        int, _gauge("Prompts of later turns that wait for idle moments")
    ] = 0
    num_waiting_tokens: Annotated[int, _gauge("Tokens of waiting prompts")] = 0
    num_waiting_tenants: Annotated[int, _gauge("Tenants with a waiting request")] = 0
    oldest_wait_s: Annotated[
        float, _gauge("Time that the oldest waiting request has waited for admission")
    ] = 0.0
    num_free_slots: Annotated[int, _gauge("Free slots of the KV pool")] = 0
    num_live_slots: Annotated[int, _gauge("Slots on the paths of live and lingering sequences")] = 0
    num_cached_slots: Annotated[int, _gauge("Slots that can be evicted")] = 0
    num_nodes: Annotated[int, _gauge("Nodes of the radix tree")] = 0
    # None without a device of its own memory; then there is no metric.
    device_used_bytes: Annotated[
        int | None, _gauge("Memory of the device in use, by all processes")
    ] = None
    device_total_bytes: Annotated[int | None, _gauge("Memory of the device in all")] = None
    device_reserved_bytes: Annotated[
        int | None, _gauge("Memory of the device that torch holds, free blocks included")
    ] = None

    num_steps: Annotated[int, _counter("Steps computed")] = 0
    num_extended_steps: Annotated[
        int, _counter("Steps planned by extending the plan of the step before")
    ] = 0
    num_replayed_steps: Annotated[
        int, _counter("Steps replayed from a graph that was captured at the start")
    ] = 0
    num_late_captures: Annotated[
        int, _counter("Sampling programs captured while serving, each a pause of milliseconds")
    ] = 0
    num_flashinfer_decode_steps: Annotated[
        int, _counter("Decode steps whose attention the cost model gave to FlashInfer's decode")
    ] = 0
    num_flashinfer_cascade_steps: Annotated[
        int, _counter("Decode steps whose attention the cost model gave to FlashInfer's cascade")
    ] = 0
    num_tree_decode_steps: Annotated[
        int, _counter("Decode steps whose attention the cost model gave to tree decode")
    ] = 0
    num_out_of_memory: Annotated[
        int, _counter("Steps that ran out of memory; smaller ones computed their rows")
    ] = 0
    num_requests: Annotated[int, _counter("Requests received, including rejected ones")] = 0
    num_started: Annotated[int, _counter("Sequences with a first token")] = 0
    num_finished: Annotated[
        int, _counter("Sequences finished by an end token, a stop token or their length")
    ] = 0
    num_failed: Annotated[
        int, _counter("Sequences ended by an error; a rejected request counts once")
    ] = 0
    num_admitted: Annotated[int, _counter("Requests admitted")] = 0
    num_aged_admissions: Annotated[
        int, _counter("Requests admitted because they had waited longer than patience")
    ] = 0
    num_credited_admissions: Annotated[
        int,
        _counter("Requests admitted before cheaper ones because their cached tokens were at risk"),
    ] = 0
    num_queue_timeouts: Annotated[
        int, _counter("Requests ended because they waited too long for admission")
    ] = 0
    num_aborted: Annotated[
        int, _counter("Sequences ended by a disconnected client or a stop string")
    ] = 0
    prompt_tokens: Annotated[int, _counter("Prompt tokens of requests with a first token")] = 0
    cached_tokens: Annotated[int, _counter("Prompt tokens taken from the cache")] = 0
    output_tokens: Annotated[int, _counter("Tokens of answers, sampled or forced")] = 0
    forced_tokens: Annotated[
        int, _counter("Tokens that a grammar left no choice about, appended without a sample")
    ] = 0
    rows_computed: Annotated[int, _counter("Rows (tokens) computed by the model")] = 0
    prompt_rows_computed: Annotated[int, _counter("Rows of prompts computed")] = 0
    decode_rows_computed: Annotated[
        int, _counter("Rows of sampled tokens computed, including those after a preemption")
    ] = 0
    num_idle_steps: Annotated[
        int, _counter("Steps computed in idle moments, for prompts of later turns")
    ] = 0
    idle_rows_computed: Annotated[
        int, _counter("Rows computed in idle moments, beside the rows of requests")
    ] = 0
    num_dropped_prompts: Annotated[
        int, _counter("Prompts of later turns dropped for want of time or slots")
    ] = 0
    kv_tokens_read: Annotated[int, _counter("KV tokens read by attention, shared ones once")] = 0
    kv_tokens_unshared: Annotated[
        int, _counter("KV tokens that attention would have read without sharing")
    ] = 0
    num_preemptions: Annotated[int, _counter("Preemptions of sequences")] = 0
    num_evicted_nodes: Annotated[int, _counter("Nodes evicted from the radix tree")] = 0
    num_evicted_tokens: Annotated[int, _counter("Tokens evicted from the radix tree")] = 0
    num_wanted_again_tokens: Annotated[
        int, _counter("Prompt tokens computed again because they had been evicted")
    ] = 0
    num_audit_failures: Annotated[
        int, _counter("Failed audits of the radix tree; each one resets the tree")
    ] = 0
    schedule_s: Annotated[float, _counter("Time spent in scheduling and planning")] = 0.0
    attention_estimate_s: Annotated[
        float,
        _counter("Device time of attention in those decode steps, as the cost model estimates"),
    ] = 0.0
    forward_s: Annotated[float, _counter("Time spent in the model")] = 0.0
    sample_s: Annotated[float, _counter("Time spent in sampling")] = 0.0
    step_s: Annotated[float, _counter("Time spent in steps")] = 0.0

    waits: WaitStats = field(default_factory=WaitStats)  # in /stats; its buckets are a histogram

    def since(self, before: EngineStats) -> EngineStats:
        """Return the growth of every number that both have; `waits` stays the present one."""
        old, new = before.values(), self.values()
        grown: dict[str, Any] = {name: new[name] - old[name] for name in new.keys() & old.keys()}
        return EngineStats(**grown, waits=self.waits)

    def values(self) -> dict[str, float]:
        """Return every known number by its field."""
        every = ((each.field, getattr(self, each.field)) for each in metrics())
        return {name: value for name, value in every if value is not None}

    def count_admission(self, reason: str) -> None:
        """Count the admission of a request by the policy's reason."""
        self.num_admitted += 1
        self.num_aged_admissions += reason == "age"
        self.num_credited_admissions += reason == "credit"

    def count_attention(
        self, method: Literal["decode", "cascade", "tree"], estimate_s: float
    ) -> None:
        """Count a decode step by the method of its attention, with the estimate for all layers."""
        self.num_flashinfer_decode_steps += method == "decode"
        self.num_flashinfer_cascade_steps += method == "cascade"
        self.num_tree_decode_steps += method == "tree"
        self.attention_estimate_s += estimate_s

    def count_end(self, reason: str) -> None:
        """Count the end of a sequence by its finish reason."""
        if reason == "abort":
            self.num_aborted += 1
        elif reason == "error":
            self.num_failed += 1
        else:
            self.num_finished += 1


@cache
def metrics() -> tuple[Metric, ...]:
    """Return the metrics of all numbers, in the order of the fields."""
    hints = get_type_hints(EngineStats, include_extras=True)
    names = [each.name for each in fields(EngineStats) if each.name != "waits"]
    return tuple(_metric(name, get_args(hints[name])[1]) for name in names)


def _metric(field: str, description: MetricDescription) -> Metric:
    is_gauge = description.kind == "gauge"
    name = f"yaie_{field}" if is_gauge else f"yaie_engine_{field.removeprefix('num_')}"
    seconds = name.removesuffix("_s")
    return Metric(field, name if seconds == name else f"{seconds}_seconds", description)
