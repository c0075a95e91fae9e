"""Steps of one layer by an attention backend, eager or captured, and their errors.

Their cases come from `benchmarks.gpu.attention_cases`: unused slots hold NaN, and so do those that
the step itself writes.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from benchmarks.gpu.attention_cases import BACKENDS, NUM_SLOTS, Case, make_pool
from yaie.attention.backend import AttentionBackend, CapturableBackend, PreparedStep
from yaie.attention.spec import AttentionSpec
from yaie.device.queue import DeviceQueue, make_queue

SHAPES = ["qwen3-0.6b", "llama-3.1-8b"]  # 16 and 32 heads of 128 over 8 KV heads
CAPTURED_ROWS = 40  # more than any decode step of the cases has
# Bfloat16 rounds the result by 0.002; weights of the softmax are rounded too.
TOLERANCE = 0.01


def open_method(
    backend: str, method: str, spec: AttentionSpec, dtype: torch.dtype, device: torch.device
) -> AttentionBackend:
    """Return a backend's method, ready for layers like `spec`."""
    methods = BACKENDS[backend](device)
    for each in methods.values():
        each.open_layers([spec], dtype, dtype, device)
    return methods[method]


@torch.inference_mode()
def attend(backend: AttentionBackend, case: Case) -> torch.Tensor:
    """Run a step eagerly over a pool of its own; return [rows, heads, width]."""
    device = case.queries.device
    pool = make_pool(case.spec, case.queries.dtype, device)
    _fill(pool.keys(0), case.keys)
    _fill(pool.values(0), case.values)
    step = backend.prepare(case.plan, device)
    step.write(pool.keys(0), pool.values(0), case.new_keys, case.new_values)
    return step.attend(case.spec, case.queries, pool.keys(0), pool.values(0), None)


class CapturedLayer:
    """A step of one layer at fixed addresses, captured once and replayed for many plans."""

    @torch.inference_mode()
    def __init__(
        self,
        backend: AttentionBackend,
        first: Case,
        *,
        num_rows: int,
        queue: DeviceQueue | None = None,
    ) -> None:
        """Capture with the plan of `first`; `num_rows` is the size of the captured step."""
        assert isinstance(backend, CapturableBackend)
        device, dtype = first.queries.device, first.queries.dtype
        pool = make_pool(first.spec, dtype, device)
        self._spec = first.spec
        self._keys, self._values = pool.keys(0), pool.values(0)
        self._step = backend.make_static(num_rows, NUM_SLOTS - 1, device)
        self._rows = [
            torch.zeros(num_rows, *each.shape[1:], dtype=dtype, device=device)
            for each in (first.queries, first.new_keys, first.new_values)
        ]
        self._output = torch.zeros(
            num_rows, first.spec.num_heads, first.spec.value_width, dtype=dtype, device=device
        )
        self._fill(first)
        self._run()  # the first run may compile
        self._graph = (queue or make_queue(device)).capture(self._run)

    def holds(self, case: Case) -> bool:
        """Return True if the buffers are large enough for a case."""
        return self._step.holds(case.plan)

    @torch.inference_mode()
    def replay(self, case: Case) -> torch.Tensor:
        """Return [rows, heads, width] of a case that the buffers hold."""
        self._fill(case)
        self._graph.replay()
        assert bool(self._output.isfinite().all()), "padding rows must be finite"
        return self._output[: case.plan.num_rows]

    def _fill(self, case: Case) -> None:
        _fill(self._keys, case.keys)
        _fill(self._values, case.values)
        for held, rows in zip(
            self._rows, (case.queries, case.new_keys, case.new_values), strict=True
        ):
            held[: len(rows)] = rows  # the rest are those of the step before, as in an engine
        self._output.fill_(torch.nan)
        self._step.refill(case.plan)

    def _run(self) -> None:
        queries, new_keys, new_values = self._rows
        step: PreparedStep = self._step
        step.write(self._keys, self._values, new_keys, new_values)
        self._output.copy_(step.attend(self._spec, queries, self._keys, self._values, None))


def worst_error(found: torch.Tensor, case: Case) -> float:
    """Return the largest relative error of a head in a row; infinite if a number is not finite."""
    found = found.cpu().double()
    if not bool(found.isfinite().all()):
        return float("inf")
    difference = torch.linalg.vector_norm(found - case.expected, dim=-1)
    return float((difference / torch.linalg.vector_norm(case.expected, dim=-1)).max())


def step_errors(backend: AttentionBackend, cases: Mapping[str, Case]) -> dict[str, float]:
    """Return the error of each step, run eagerly."""
    return {step: worst_error(attend(backend, case), case) for step, case in cases.items()}


def replay_errors(
    captured: CapturedLayer, cases: Mapping[str, Case]
) -> dict[tuple[str, int], float]:
    """Return the error of each step that a captured one holds, replayed in two orders."""
    errors = {}
    for turn, order in enumerate((list(cases), list(reversed(cases)))):
        for step in order:
            if captured.holds(cases[step]):
                errors[step, turn] = worst_error(captured.replay(cases[step]), cases[step])
    return errors


def _fill(stored: object, numbers: torch.Tensor) -> None:
    assert isinstance(stored, torch.Tensor)
    stored.copy_(numbers)
