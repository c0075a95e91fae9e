"""Checks of a device's attention over interpreted kernels; `test_layer_steps` runs this file."""

from __future__ import annotations

import torch

from benchmarks.gpu.attention_cases import STEPS, layer_of, make_case
from tests.attention.layer_steps import (
    CAPTURED_ROWS,
    TOLERANCE,
    CapturedLayer,
    replay_errors,
    step_errors,
)
from tests.attention.tree_decode.interpreter import nan_in_new_tensors, right_rounding  # noqa: F401
from tests.flashinfer.repeating_queue import RepeatingQueue
from yaie.attention.tree_decode.backend import TreeDecodeBackend

CPU = torch.device("cpu")
SPEC = layer_of("tiny")  # two heads of 128: an interpreter is slow
EAGER = ("tree 0", "tree 1", "decode 16 behind 500", "prompt of 300")
DECODE = ("decode 1 x 7", "decode 37 x 64", "decode 16 behind 500")


def opened() -> TreeDecodeBackend:
    backend = TreeDecodeBackend(RepeatingQueue(CPU))
    backend.open_layers([SPEC], torch.bfloat16, torch.bfloat16, CPU)
    return backend


def test_eager_steps() -> None:
    cases = {step: make_case(STEPS[step], SPEC, torch.bfloat16, CPU) for step in EAGER}
    errors = step_errors(opened(), cases)
    print(errors)
    assert max(errors.values()) < TOLERANCE, errors


def test_replayed_steps() -> None:
    cases = {step: make_case(STEPS[step], SPEC, torch.bfloat16, CPU) for step in DECODE}
    first = next(iter(cases.values()))
    captured = CapturedLayer(opened(), first, num_rows=CAPTURED_ROWS, queue=RepeatingQueue(CPU))
    errors = replay_errors(captured, cases)
    print(errors)
    assert {step for step, _ in errors} == cases.keys()
    assert max(errors.values()) < TOLERANCE, errors
