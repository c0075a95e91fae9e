"""Engine statistics: one dataclass that counts, travels to clients and names its metrics."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_type_hints


@dataclass(frozen=True, slots=True)
class MetricDescription:
    """Annotation of a statistic: metric type and help text.

    Statistics of one metric name it, and differ in its label.
    """

    kind: Literal["gauge", "counter"]
    help: str
    shared_name: str = ""
    label: tuple[str, str] | None = None  # name, value


@dataclass(frozen=True, slots=True)
class Metric:
    """Prometheus metric for one statistic."""

    field: str
    name: str  # counters get the suffix `_total` on the wire
    description: MetricDescription

    @property
    def series(self) -> str:
        """Name and label as the text format writes them."""
        name = self.name + ("_total" if self.description.kind == "counter" else "")
        label = self.description.label
        return name if label is None else f'{name}{{{label[0]}="{label[1]}"}}'


def _gauge(text: str) -> MetricDescription:
    return MetricDescription("gauge", text)


def _counter(text: str) -> MetricDescription:
    return MetricDescription("counter", text)


def _miss(cause: str) -> MetricDescription:
    return MetricDescription(
        "counter",
        "Uncached prompt tokens of admitted requests by cause: new (never seen), changed (after a "
        "change of a cached prompt), evicted (cached before)",
        shared_name="yaie_engine_missed_tokens",
        label=("cause", cause),
    )


# Upper bounds of the queue time buckets, in seconds.
WAIT_BOUNDS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStats:
    """Queue times and work of one tenant since the engine started or first saw it."""

    tenant: str
    num_waiting: int  # queued requests now
    num_admitted: int
    mean_wait_s: float  # over admitted requests
    longest_wait_s: float
    tokens: int  # computed prompt tokens, and sampled ones of ended sequences


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitStats:
    """Queue times: requests per bucket, the last bucket unbounded, and top tenants."""

    counts: tuple[int, ...] = (0,) * (len(WAIT_BOUNDS_S) + 1)
    total_s: float = 0.0
    tenants: tuple[TenantStats, ...] = ()


@dataclass(slots=True, kw_only=True)
class EngineStats:
    """Engine gauges, and counters since the engine started; times are in seconds.

    The engine counts in one instance and publishes copies: every 100 ms, and when it becomes idle.
    A request has n sequences.
    """

    num_waiting: Annotated[
        int, _gauge("Requests in the waiting queue, and admitted sequences waiting for KV cache")
    ] = 0
    num_running: Annotated[int, _gauge("Running sequences")] = 0
    num_expected_prompts: Annotated[int, _gauge("Next-turn prompts waiting for an idle engine")] = 0
    num_waiting_tokens: Annotated[int, _gauge("Prompt tokens in the waiting queue")] = 0
    num_waiting_tenants: Annotated[int, _gauge("Tenants with requests in the waiting queue")] = 0
    oldest_wait_s: Annotated[float, _gauge("Queue time of the oldest waiting request")] = 0.0
    num_free_slots: Annotated[int, _gauge("Free KV cache slots")] = 0
    num_live_slots: Annotated[
        int, _gauge("KV cache slots in use by running and just finished sequences")
    ] = 0
    num_cached_slots: Annotated[int, _gauge("KV cache slots that can be evicted")] = 0
    num_nodes: Annotated[int, _gauge("Radix tree nodes")] = 0
    num_used_states: Annotated[
        int, _gauge("States of recurrent layers held by sequences and by the prefix cache")
    ] = 0
    # None for a device without separate memory; then the metric is absent.
    device_used_bytes: Annotated[int | None, _gauge("Device memory in use by all processes")] = None
    device_total_bytes: Annotated[int | None, _gauge("Total device memory")] = None
    device_reserved_bytes: Annotated[
        int | None, _gauge("Device memory reserved by torch, including free blocks")
    ] = None

    num_steps: Annotated[int, _counter("Engine steps")] = 0
    num_extended_steps: Annotated[int, _counter("Steps planned by extending the previous plan")] = 0
    num_replayed_steps: Annotated[int, _counter("Steps replayed from a captured graph")] = 0
    num_late_captures: Annotated[
        int,
        _counter("Sampling graphs captured while serving; each pauses the engine for milliseconds"),
    ] = 0
    num_flashinfer_decode_steps: Annotated[
        int, _counter("Decode steps run with FlashInfer decode attention")
    ] = 0
    num_flashinfer_cascade_steps: Annotated[
        int, _counter("Decode steps run with FlashInfer cascade attention")
    ] = 0
    num_tree_decode_steps: Annotated[
        int, _counter("Decode steps run with tree decode attention")
    ] = 0
    num_out_of_memory: Annotated[
        int, _counter("Steps that ran out of memory and were split into smaller steps")
    ] = 0
    num_failed_steps: Annotated[
        int, _counter("Steps that raised an error; smaller steps then find the faulty sequence")
    ] = 0
    num_requests: Annotated[int, _counter("Requests received, including rejected requests")] = 0
    num_started: Annotated[int, _counter("Sequences with a first token")] = 0
    num_finished: Annotated[
        int,
        _counter(
            "Sequences finished by an end-of-sequence token, a stop token or the length limit"
        ),
    ] = 0
    num_failed: Annotated[
        int, _counter("Sequences ended by an error; a rejected request counts once")
    ] = 0
    num_admitted: Annotated[int, _counter("Requests admitted from the waiting queue")] = 0
    num_aged_admissions: Annotated[
        int, _counter("Requests admitted ahead of cheaper requests because of their queue time")
    ] = 0
    num_credited_admissions: Annotated[
        int,
        _counter(
            "Requests admitted ahead of cheaper requests to use cached tokens before eviction"
        ),
    ] = 0
    num_queue_timeouts: Annotated[int, _counter("Requests ended by the queue timeout")] = 0
    num_aborted: Annotated[
        int, _counter("Sequences aborted by a client disconnect or ended by a stop string")
    ] = 0
    prompt_tokens: Annotated[int, _counter("Prompt tokens of requests with a first token")] = 0
    cached_tokens: Annotated[int, _counter("Prompt tokens served from the prefix cache")] = 0
    output_tokens: Annotated[int, _counter("Output tokens, sampled or forced")] = 0
    forced_tokens: Annotated[
        int, _counter("Output tokens forced by a grammar without sampling (jump-forward)")
    ] = 0
    num_drafts: Annotated[int, _counter("Drafts verified (speculative decoding)")] = 0
    draft_tokens: Annotated[int, _counter("Draft tokens verified")] = 0
    accepted_tokens: Annotated[int, _counter("Draft tokens accepted as output tokens")] = 0
    rows_computed: Annotated[int, _counter("Tokens computed by the model (prefill and decode)")] = 0
    prompt_rows_computed: Annotated[int, _counter("Prompt tokens computed (prefill)")] = 0
    decode_rows_computed: Annotated[
        int, _counter("Output tokens computed (decode), including recomputation after preemption")
    ] = 0
    num_idle_steps: Annotated[
        int, _counter("Steps that prefill next-turn prompts while the engine is idle")
    ] = 0
    idle_rows_computed: Annotated[
        int, _counter("Next-turn prompt tokens computed while the engine is idle")
    ] = 0
    num_dropped_prompts: Annotated[
        int, _counter("Next-turn prompts dropped for lack of time or KV cache")
    ] = 0
    kv_tokens_read: Annotated[
        int, _counter("KV tokens read by attention, shared tokens counted once")
    ] = 0
    kv_tokens_unshared: Annotated[
        int, _counter("KV tokens that attention would read without prefix sharing")
    ] = 0
    num_preemptions: Annotated[int, _counter("Sequence preemptions")] = 0
    num_evicted_nodes: Annotated[int, _counter("Radix tree nodes evicted")] = 0
    num_evicted_tokens: Annotated[int, _counter("Tokens evicted from the prefix cache")] = 0
    num_evicted_states: Annotated[
        int, _counter("States of recurrent layers evicted from the prefix cache")
    ] = 0
    rows_recomputed: Annotated[
        int, _counter("Cached tokens computed again from the last state of recurrent layers")
    ] = 0
    num_wanted_again_tokens: Annotated[
        int, _counter("Prompt tokens recomputed because they had been evicted")
    ] = 0
    num_kept_by_25_tokens: Annotated[
        int, _counter("Evicted and recomputed prompt tokens that a 25% larger cache had kept")
    ] = 0
    num_kept_by_50_tokens: Annotated[
        int, _counter("Evicted and recomputed prompt tokens that a 50% larger cache had kept")
    ] = 0
    missed_evicted_tokens: Annotated[int, _miss("evicted")] = 0
    missed_changed_tokens: Annotated[int, _miss("changed")] = 0
    missed_new_tokens: Annotated[int, _miss("new")] = 0
    num_audit_failures: Annotated[
        int, _counter("Failed radix tree audits; each resets the tree")
    ] = 0
    schedule_s: Annotated[float, _counter("Time spent scheduling and planning")] = 0.0
    attention_estimate_s: Annotated[
        float,
        _counter("Attention time of decode steps, estimated by the cost model"),
    ] = 0.0
    forward_s: Annotated[float, _counter("Time spent in the model forward pass")] = 0.0
    sample_s: Annotated[float, _counter("Time spent sampling")] = 0.0
    step_s: Annotated[float, _counter("Time spent in engine steps")] = 0.0

    waits: WaitStats = field(default_factory=WaitStats)  # in /stats; its buckets are a histogram

    def since(self, before: EngineStats) -> EngineStats:
        """Return the growth of every number that both have; keep the current `waits`."""
        old, new = before.values(), self.values()
        grown: dict[str, Any] = {name: new[name] - old[name] for name in new.keys() & old.keys()}
        return EngineStats(**grown, waits=self.waits)

    def values(self) -> dict[str, float]:
        """Return every known number by field name."""
        every = ((each.field, getattr(self, each.field)) for each in metrics())
        return {name: value for name, value in every if value is not None}

    def count_admission(self, reason: str) -> None:
        """Count an admitted request by the policy's reason."""
        self.num_admitted += 1
        self.num_aged_admissions += reason == "age"
        self.num_credited_admissions += reason == "credit"

    def count_miss(self, missed: int, evicted: int, kind: Literal["changed", "new"]) -> None:
        """Count an admitted request's uncached prompt tokens; `evicted` of them were cached once.

        The rest has the cause `kind`, and is new after evicted tokens.
        """
        self.missed_evicted_tokens += evicted
        if kind == "changed" and not evicted:
            self.missed_changed_tokens += missed
        else:
            self.missed_new_tokens += missed - evicted

    def count_attention(
        self, method: Literal["decode", "cascade", "tree"], estimate_s: float
    ) -> None:
        """Count a decode step by attention method, with the estimate for all layers."""
        self.num_flashinfer_decode_steps += method == "decode"
        self.num_flashinfer_cascade_steps += method == "cascade"
        self.num_tree_decode_steps += method == "tree"
        self.attention_estimate_s += estimate_s

    def count_end(self, reason: str) -> None:
        """Count an ended sequence by finish reason."""
        if reason == "abort":
            self.num_aborted += 1
        elif reason == "error":
            self.num_failed += 1
        else:
            self.num_finished += 1


@cache
def metrics() -> tuple[Metric, ...]:
    """Return the metrics for all numbers, in field order; metrics of one name are neighbours."""
    hints = get_type_hints(EngineStats, include_extras=True)
    names = [each.name for each in fields(EngineStats) if each.name != "waits"]
    return tuple(_metric(name, get_args(hints[name])[1]) for name in names)


def _metric(field: str, description: MetricDescription) -> Metric:
    if description.shared_name:
        return Metric(field, description.shared_name, description)
    is_gauge = description.kind == "gauge"
    name = f"yaie_{field}" if is_gauge else f"yaie_engine_{field.removeprefix('num_')}"
    seconds = name.removesuffix("_s")
    return Metric(field, name if seconds == name else f"{seconds}_seconds", description)
