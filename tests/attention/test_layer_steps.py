"""The checks of a device's attention, on a CPU: they pass right results and refuse wrong ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.gpu.attention_cases import STEPS, Case, layer_of, make_case
from tests.attention.layer_steps import (
    CAPTURED_ROWS,
    SHAPES,
    TOLERANCE,
    CapturedLayer,
    attend,
    open_method,
    replay_errors,
    step_errors,
    worst_error,
)
from tests.device.padded_backend import PaddedBackend
from tests.flashinfer.repeating_queue import RepeatingQueue
from tests.triton_process import needs_triton, run_interpreted
from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend

CPU = torch.device("cpu")


def cases_of(shape: str, *steps: str) -> dict[str, Case]:
    spec = layer_of(shape)
    return {step: make_case(STEPS[step], spec, torch.bfloat16, CPU) for step in steps}


@pytest.mark.integration  # ten seconds a shape
@pytest.mark.parametrize("shape", SHAPES)
def test_the_reference_passes(shape: str) -> None:
    backend = open_method("reference", "reference", layer_of(shape), torch.bfloat16, CPU)
    cases = cases_of(shape, "tree 0", "decode 37 x 64", "decode 16 behind 500", "prompt of 300")
    errors = step_errors(backend, cases)
    assert max(errors.values()) < TOLERANCE / 2, errors


def test_a_replayed_step_passes() -> None:
    cases = cases_of("qwen3-0.6b", "decode 1 x 7", "decode 37 x 64")
    backend = PaddedBackend(RepeatingQueue(CPU), context_len=64)
    first = next(iter(cases.values()))
    captured = CapturedLayer(backend, first, num_rows=CAPTURED_ROWS, queue=RepeatingQueue(CPU))
    errors = replay_errors(captured, cases)
    assert {step for step, _ in errors} == cases.keys()
    assert max(errors.values()) < TOLERANCE / 2, errors


def without_a_key(plan: StepPlan, index: int) -> StepPlan:
    """Return a plan in which one key of the longest segment is another one."""
    longest = max(range(len(plan.segments)), key=lambda i: len(plan.segments[i].slots))
    slots = plan.segments[longest].slots.copy()
    slots[index] = slots[index - 1]
    segments = list(plan.segments)
    segments[longest] = replace(segments[longest], slots=slots)
    return replace(plan, segments=tuple(segments))


@pytest.mark.parametrize(
    ("step", "index"),
    [
        pytest.param("tree 0", -1, marks=pytest.mark.integration),  # seven seconds
        *(("decode 5 x 333", index) for index in (1, -1)),
        *(("decode 16 behind 500", index) for index in (1, -1)),
    ],
)
def test_one_wrong_key_is_seen(step: str, index: int) -> None:
    case = cases_of("qwen3-0.6b", step)[step]
    spoiled = replace(case, plan=without_a_key(case.plan, index))
    assert worst_error(attend(ReferenceBackend(), spoiled), case) > 2 * TOLERANCE


def test_a_read_of_an_unused_slot_is_seen() -> None:
    case = cases_of("qwen3-0.6b", "decode 5 x 333")["decode 5 x 333"]
    used = np.concatenate([segment.slots for segment in case.plan.segments])
    (unused, *_) = np.setdiff1d(np.arange(4096), used)
    segment = case.plan.segments[0]
    slots = segment.slots.copy()
    slots[7] = unused
    plan = replace(case.plan, segments=(replace(segment, slots=slots), *case.plan.segments[1:]))
    assert worst_error(attend(ReferenceBackend(), replace(case, plan=plan)), case) == float("inf")


@needs_triton
@pytest.mark.slow
def test_interpreted_tree_decode_passes() -> None:
    run_interpreted(Path(__file__).parent / "tree_decode" / "interpreted_steps.py")
