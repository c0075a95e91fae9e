"""Attention of each method on a CUDA device against float64, in bfloat16 and real shapes."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from benchmarks.gpu.attention_cases import DECODE_STEPS, STEPS, Case, layer_of, make_case
from tests.attention.layer_steps import (
    CAPTURED_ROWS,
    SHAPES,
    TOLERANCE,
    CapturedLayer,
    open_method,
    replay_errors,
    step_errors,
)
from tests.attention.test_reference import FEATURES, compare
from tests.attention.trees import RandomTree
from yaie.attention.spec import AttentionSpec

pytestmark = pytest.mark.gpu
METHODS = [("flashinfer", "cascade"), ("flashinfer", "decode"), ("triton", "tree")]
CAPTURED = METHODS[1:]  # a cascade is never captured


@cache
def cases_of(shape: str) -> dict[str, Case]:
    spec, device = layer_of(shape), torch.device("cuda")
    return {step: make_case(plan, spec, torch.bfloat16, device) for step, plan in STEPS.items()}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("backend", "method"), METHODS)
def test_steps_equal_float64(backend: str, method: str, shape: str, device: torch.device) -> None:
    opened = open_method(backend, method, layer_of(shape), torch.bfloat16, device)
    errors = step_errors(opened, cases_of(shape))
    assert max(errors.values()) < TOLERANCE, errors


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("backend", "method"), CAPTURED)
def test_replayed_steps_equal_float64(
    backend: str, method: str, shape: str, device: torch.device
) -> None:
    opened = open_method(backend, method, layer_of(shape), torch.bfloat16, device)
    cases = {step: cases_of(shape)[step] for step in DECODE_STEPS}
    captured = CapturedLayer(opened, next(iter(cases.values())), num_rows=CAPTURED_ROWS)
    errors = replay_errors(captured, cases)
    # FlashInfer leaves rows that share much to a cascade.
    expected = cases if method == "tree" else [step for step in cases if " behind " not in step]
    assert {step for step, _ in errors} == set(expected)
    assert max(errors.values()) < TOLERANCE, errors


@pytest.mark.parametrize("seed", range(12))
def test_tree_decode_of_other_shapes_features_and_pools(seed: int, device: torch.device) -> None:
    from tests.attention.tree_decode.cases import check, make_case  # imports Triton

    check(make_case(seed), device)


@pytest.mark.parametrize("feature", FEATURES)
def test_the_reference_equals_float64(feature: str) -> None:
    for seed in range(3):
        spec = AttentionSpec(layer=0, **FEATURES[feature])  # type: ignore[arg-type]
        compare(RandomTree(seed).plan(), spec, "cuda")
