"""Waits of experts for the device."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.conformance.zoo import CASES
from yaie.models.architecture.moe import experts_wait

CASES_BY_NAME = {case.name: case for case in CASES}
WITH_EXPERTS = ["qwen3-moe", "mixtral", "olmoe", "deepseek-v2", "deepseek-v3", "gpt-oss"]


@pytest.mark.parametrize("name", WITH_EXPERTS)
def test_grouped_products_wait_unless_torch_has_a_kernel(name: str) -> None:
    model: Any = CASES_BY_NAME[name].build()
    for dtype, capability, waits in (
        (torch.bfloat16, (9, 0), False),
        (torch.bfloat16, (10, 0), False),
        (torch.bfloat16, (8, 0), True),
        (torch.bfloat16, (12, 0), True),
        (torch.float16, (9, 0), True),
    ):
        assert experts_wait(model, dtype, capability) is waits
    model.set_experts_implementation("eager")
    assert experts_wait(model, torch.bfloat16, (9, 0))


def test_models_without_experts_never_wait() -> None:
    assert not experts_wait(CASES_BY_NAME["llama"].build(), torch.float32, (8, 0))
