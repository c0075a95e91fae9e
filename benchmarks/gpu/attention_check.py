"""Every method of an attention backend against float64: eager, and captured over several plans."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from benchmarks.gpu.attention_cases import (
    BACKENDS,
    DECODE_STEPS,
    NUM_SLOTS,
    STEPS,
    Case,
    layer_of,
    make_case,
    make_pool,
)
from benchmarks.gpu.results import Results
from yaie.attention.backend import AttentionBackend, CapturableBackend
from yaie.attention.spec import AttentionSpec
from yaie.device.queue import make_queue

DTYPE = torch.bfloat16
_MOST_ERROR = 0.02  # of the norm; bfloat16's rounding of the result alone is 0.002
_CAPTURED_ROWS = 40  # of every decode step, and some padding


def check_attention(results: Results, backend: str, shapes: tuple[str, ...]) -> None:
    """Append a line for each shape, method and plan; an error is far from float64, or has NaN."""
    methods: dict[str, AttentionBackend] = {}

    def make() -> dict[str, Any]:
        methods.update(BACKENDS[backend](results.device))
        return {}

    results.add("attention", "", make, backend=backend, case="make")
    check_methods(results, backend, methods, shapes)


@torch.inference_mode()
def check_methods(
    results: Results, backend: str, methods: Mapping[str, AttentionBackend], shapes: tuple[str, ...]
) -> None:
    """Append lines for the methods of a backend."""
    device = results.device
    for shape in shapes if methods else ():
        spec = layer_of(shape)
        add = partial(results.add, "attention", shape, backend=backend)
        opened = [
            add(partial(_open, method, spec, device), method=name, case="open")
            for name, method in methods.items()
        ]
        if not all(opened):
            continue  # each case would fail alike
        cases = {what: make_case(plan, spec, DTYPE, device) for what, plan in STEPS.items()}
        for what, case in cases.items():
            for name, method in methods.items():
                add(partial(_eager, method, case, device), method=name, case=what)
        steps = {what: cases[what] for what in DECODE_STEPS}
        for name, method in methods.items():
            if isinstance(method, CapturableBackend):
                add(partial(_captured, method, steps, device), method=name, case="captured")


def _open(backend: AttentionBackend, spec: AttentionSpec, device: torch.device) -> dict[str, Any]:
    backend.open_layers([spec], DTYPE, DTYPE, device)
    return {}


def _eager(backend: AttentionBackend, case: Case, device: torch.device) -> dict[str, Any]:
    step, pool = backend.prepare(case.plan, device), make_pool(case.spec, DTYPE, device)
    keys, values = _fill(pool.keys(0), case.keys), _fill(pool.values(0), case.values)
    step.write(keys, values, case.new_keys, case.new_values)
    found = step.attend(case.spec, case.queries, keys, values, None)
    facts = {"rows": case.plan.num_rows, "segments": len(case.plan.segments)}
    return facts | _judged(_difference(found, case.expected))


def _captured(
    backend: CapturableBackend, cases: Mapping[str, Case], device: torch.device
) -> dict[str, Any]:
    """Capture a step, and replay it for every case that its buffers hold."""
    queue = make_queue(device)
    static = backend.make_static(_CAPTURED_ROWS, NUM_SLOTS - 1, device)
    first = next(iter(cases.values()))
    pool = make_pool(first.spec, DTYPE, device)
    keys, values = pool.keys(0), pool.values(0)
    queries, new_keys, new_values = (
        torch.zeros(_CAPTURED_ROWS, *each.shape[1:], dtype=DTYPE, device=device)
        for each in (first.queries, first.new_keys, first.new_values)
    )
    output = torch.zeros_like(queries)

    def run() -> None:
        static.write(keys, values, new_keys, new_values)
        output.copy_(static.attend(first.spec, queries, keys, values, None))

    def fill(case: Case) -> None:
        _fill(keys, case.keys)
        _fill(values, case.values)
        num_rows = case.plan.num_rows
        queries[:num_rows], new_keys[:num_rows] = case.queries, case.new_keys
        new_values[:num_rows] = case.new_values
        output.fill_(torch.nan)
        static.refill(case.plan)

    fill(first)
    run()
    replay = queue.capture(run).replay if queue.can_capture else run
    found: dict[str, Any] = {}
    for what, case in cases.items():
        if not static.holds(case.plan):
            found[what] = "not held"
            continue
        fill(case)
        replay()
        found[what] = _difference(output[: case.plan.num_rows], case.expected)
    differences = [each for each in found.values() if isinstance(each, dict)]
    worst = max(differences, key=lambda each: (each["nan"], each["relative_error"] or 0.0))
    return {"steps": found} | _judged(worst)


def _fill(stored: Any, numbers: torch.Tensor) -> torch.Tensor:
    assert isinstance(stored, torch.Tensor)
    return stored.copy_(numbers)


def _difference(found: torch.Tensor, expected: torch.Tensor) -> dict[str, Any]:
    values = found.detach().cpu().double()
    difference = (values - expected).abs()
    error = float(difference.norm() / expected.norm())
    return {
        "relative_error": error if math.isfinite(error) else None,  # JSON has no NaN
        "nan": int(values.isnan().sum()),
        "worst_row": int(difference.amax((1, 2)).argmax()),
    }


def _judged(difference: dict[str, Any]) -> dict[str, Any]:
    """Add an error to a difference that rounding does not explain."""
    error = difference["relative_error"]
    if error is not None and error < _MOST_ERROR:
        return difference
    return difference | {
        "error": f"the result differs from float64: relative error {error}, "
        f"{difference['nan']} values are NaN, row {difference['worst_row']} is the worst"
    }
