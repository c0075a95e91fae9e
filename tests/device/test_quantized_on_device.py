"""Quantized layers on the strict device: products never wait, and a graph of them serves any plan.

Torch computes the products there, from weights that stay packed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import MAX_ROWS, config_of, device_executor
from tests.device.strict import device, on_host
from tests.device.test_decode_graphs import decode_plan
from tests.models.fused.test_decoder import fuse
from yaie.models import loader, weight_sizes
from yaie.models.fused.plain import PlainOperations
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
    fuse(quantized, PlainOperations())
    assert quantized.name == "fused"
    for tensor in quantized.pool.tensors():  # the comparison wrote there
        tensor.zero_()
    quantized.capture_decoding(queue, MAX_ROWS)
    for seed, lengths in enumerate([[5], [3, 9], [7, 1, 4], [2, 8, 30, 6]]):
        plan = decode_plan(seed, lengths)
        with device.forbid_waits():
            launched = quantized.execute(plan)
        found, expected = on_host(launched), on_host(original.execute(plan))
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert quantized._graphs is not None and quantized._graphs.num_replayed == 4
