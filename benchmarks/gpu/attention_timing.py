"""Microseconds a layer of each method of attention, beside the estimate of the cost model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch

from benchmarks.gpu.attention_cases import BACKENDS, layer_of, unshared_step
from benchmarks.gpu.attention_check import DTYPE
from benchmarks.gpu.clock import seconds_of
from benchmarks.gpu.results import Results
from tests.attention.trees import decode_step
from yaie.attention.backend import AttentionBackend
from yaie.attention.cost_model import DeviceTraits, LayerTraffic, choose_attention
from yaie.attention.measure_traits import measure_traits
from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.device.queue import make_queue

_CALLS = 20  # of a layer in one graph


@dataclass(frozen=True, slots=True)
class Steps:
    """Sizes of the timed decode steps; `own` tokens follow the `shared` ones."""

    batches: tuple[int, ...]
    shared: int
    own: int

    def plans(self, batch: int) -> dict[str, StepPlan]:
        """Return a step without shared tokens, and one of equal length with them."""
        return {
            "unshared": unshared_step(batch, self.shared + self.own),
            "shared": decode_step(batch, self.shared, self.own),
        }


@torch.inference_mode()
def time_attention(results: Results, shapes: tuple[str, ...], steps: Steps) -> None:
    """Append the traits of the device, and a line for each shape, batch, plan and method.

    us: of the device, inside a captured graph. host_us: of the host, for an eager call.
    estimate_us: the cost model's, null for a method that it does not know.
    """
    device = results.device
    traits = DeviceTraits()

    def measure_device() -> dict[str, Any]:
        nonlocal traits
        traits = measure_traits(make_queue(device))  # as an engine does at its start
        return asdict(traits)

    results.add("traits", "", measure_device)
    for shape in shapes:
        spec = layer_of(shape)
        methods: dict[str, AttentionBackend] = {}
        for name in ("flashinfer", "triton") if device.type == "cuda" else ("reference",):
            opening = partial(_open, name, spec, device, methods)
            results.add("timing", shape, opening, backend=name, case="open")
        for batch in steps.batches:
            for case, plan in steps.plans(batch).items():
                measure = partial(_times, spec=spec, plan=plan, traits=traits, device=device)
                for name, method in methods.items():
                    facts = {"method": name, "case": case, "batch": batch}
                    results.add("timing", shape, partial(measure, name, method), **facts)


def _open(
    name: str, spec: AttentionSpec, device: torch.device, methods: dict[str, AttentionBackend]
) -> dict[str, Any]:
    made = BACKENDS[name](device)
    for method in made.values():
        method.open_layers([spec], DTYPE, DTYPE, device)
    methods.update(made)
    return {}


def _times(
    name: str,
    backend: AttentionBackend,
    *,
    spec: AttentionSpec,
    plan: StepPlan,
    traits: DeviceTraits,
    device: torch.device,
) -> dict[str, Any]:
    num_slots = 2 + int(max(segment.slots.max() for segment in plan.segments))
    stored = (num_slots, spec.num_kv_heads, spec.key_width)
    keys, values = (torch.randn(stored, dtype=DTYPE, device=device) for _ in "kv")
    asked = (plan.num_rows, spec.num_heads, spec.key_width)
    queries = torch.randn(asked, dtype=DTYPE, device=device)
    step = backend.prepare(plan, device)

    def run() -> None:
        for _ in range(_CALLS):
            step.attend(spec, queries, keys, values, None)

    on_device = seconds_of(run, device) / _CALLS
    began = time.perf_counter()
    run()  # launches only: nothing waits for the device
    on_host = (time.perf_counter() - began) / _CALLS
    return {
        "us": round(1e6 * on_device, 1),
        "host_us": round(1e6 * on_host, 1),
        "estimate_us": _estimates(spec, plan, traits).get(name),
    }


def _estimates(spec: AttentionSpec, plan: StepPlan, traits: DeviceTraits) -> Mapping[str, float]:
    layer = {LayerTraffic.of(spec, DTYPE.itemsize): 1}
    found = choose_attention(plan, layer, traits).estimates
    return {method: round(1e6 * each.seconds, 1) for method, each in found.items()}
