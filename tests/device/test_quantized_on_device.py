"""Quantized layers on the strict device: products never wait, and a graph of them serves any plan.

Torch computes the products there, from weights that stay packed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import config_of, device_executor
from tests.device.test_fused_decoder import check_captured_steps
from yaie.models.load import loader, weight_sizes
from yaie.models.quantization.device.linear import DeviceLinear


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_a_captured_quantized_step_is_the_one_of_a_cpu(
    kind: str, tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = DelayedQueue()
    config = config_of(tiny_model_dir, quantization=kind, calibrate="none")
    original = device_executor(config, queue, max_rows=0)  # its layers are not packed
    for module in (loader, weight_sizes):
        monkeypatch.setattr(module, "is_gpu", lambda _: True)
    quantized = device_executor(config, queue, max_rows=0)
    assert quantized.loaded.model is not None
    layers = [m for m in quantized.loaded.model.modules() if isinstance(m, DeviceLinear)]
    assert layers and all(str(each.packed.values.device) != "cpu" for each in layers)
    check_captured_steps(quantized, original, queue, tolerance=1e-4)
