"""Models loaded as for a GPU: packed layers, their memory, and layers merged by the fused decoder.

The CPU stands for the device; torch computes the products.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.conformance.case import save
from tests.conformance.zoo import CASES
from tests.models.quantized import Kind, write_pair
from tests.models.test_quantized import logits_of_dequantized
from tests.models.zoo_models import executor_of, fuse
from yaie.base.settings import EngineConfig
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.fused.plain import PlainOperations
from yaie.models.load import loader, weight_sizes
from yaie.models.load.loader import load_model
from yaie.models.load.memory_plan import MemoryPlan
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.device.linear import DeviceLinear
from yaie.models.quantization.device.packer import DevicePacker
from yaie.models.quantization.device.products import PlainProducts
from yaie.models.quantization.quantize import quantize_weight
from yaie.models.quantization.quantized_weights import QuantizedLinear

CASE = {case.name: case for case in CASES}
CHECKPOINTS = [
    Kind("pack-quantized", 4, 32, symmetric=False),
    Kind("gptq_v2", 8, symmetric=False),
    Kind("awq", 4, 2, symmetric=False),
    Kind("gptq", 4, 32, ordered=True),
    *(
        pytest.param(kind, marks=pytest.mark.integration)
        for kind in (
            Kind("int-quantized", 8),
            Kind("pack-quantized", 8, 16, symmetric=False),
            Kind("gptq", 4, 32),
            Kind("pack-quantized", 4, 32, symmetric=False, ordered=True),
            Kind("gptq", 8, 16, symmetric=False, ordered=True),
            Kind("gptq", 8, 32),
            Kind("awq", 4, 16, symmetric=False),
        )
    ),
]


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat the CPU as a GPU where quantized weights are read and packed."""
    for module in (loader, weight_sizes):
        monkeypatch.setattr(module, "is_gpu", lambda _: True)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of weights in each plan."""
    found: list[int] = []
    init = MemoryPlan.__init__

    def note(self: MemoryPlan, free: int, weights: int, *rest: Any, **named: Any) -> None:
        found.append(weights)
        init(self, free, weights, *rest, **named)

    monkeypatch.setattr(MemoryPlan, "__init__", note)
    return found


def load(folder: Path, **settings: Any) -> LoadedModel:
    settings = {"dtype": "float32", "attention_backend": "reference", **settings}
    return load_model(EngineConfig(model=str(folder), num_slots=256, device="cpu", **settings))


def held(model: nn.Module) -> int:
    """Return the bytes of parameters and packed tensors; shared storages count once."""
    tensors = list(model.parameters())
    for module in model.modules():
        if isinstance(module, DeviceLinear):
            packed = module.packed
            tensors += [packed.values, packed.scales]  # type: ignore[list-item]
            more = (packed.points, module.order)
            tensors += [each for each in more if each is not None]  # type: ignore[misc]
    storages = {t.untyped_storage().data_ptr(): t for t in tensors}
    return sum(t.untyped_storage().nbytes() for t in storages.values())


def logits_before_and_after_fusion(loaded: LoadedModel) -> tuple[torch.Tensor, torch.Tensor]:
    executor = executor_of(loaded)
    plan = comparison_plan(loaded)
    before = executor.execute(plan)
    fuse(executor, PlainOperations())
    assert executor.name == "fused"
    return before, executor.execute(plan)


@pytest.mark.parametrize("kind", CHECKPOINTS, ids=str)
def test_checkpoints_keep_their_numbers(kind: Kind, tmp_path: Path, planned: list[int]) -> None:
    """All layers stay quantized, in groups of any size and with zero points of 8 bits too."""
    quantized, dequantized = write_pair(CASE["llama"], kind, tmp_path, dtype=torch.float16)
    loaded = load(quantized)
    assert loaded.model is not None
    layers = [m for m in loaded.model.modules() if isinstance(m, QuantizedLinear)]
    assert len(layers) == 7 * CASE["llama"].config().num_hidden_layers
    assert all(isinstance(layer, DeviceLinear) for layer in layers)
    assert loaded.metadata.quantization == f"int{kind.bits}"
    assert set(planned) == {loaded.metadata.weight_bytes} == {held(loaded.model)}
    before, after = logits_before_and_after_fusion(loaded)
    expected = logits_of_dequantized(dequantized, loaded)
    torch.testing.assert_close(before, expected, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(after, expected, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("qwen2", {"quantization": "int4", "calibrate": "none"}),
        ("llama-tied", {"quantization": "int8"}),
        pytest.param("glm", {"quantization": "int8"}, marks=pytest.mark.integration),
        pytest.param("qwen3", {"quantization": "int4"}, marks=pytest.mark.integration),
    ],
)
def test_plain_checkpoints_are_quantized_at_load(
    name: str,
    settings: dict[str, str],
    tmp_path: Path,
    planned: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a CPU: equal rounding, calibration included."""
    save(CASE[name], CASE[name].build(), tmp_path)
    loaded = load(tmp_path, **settings)
    assert loaded.model is not None
    assert loaded.metadata.quantization == settings["quantization"]
    assert set(planned) == {loaded.metadata.weight_bytes} == {held(loaded.model)}
    with monkeypatch.context() as patch:
        for module in (loader, weight_sizes):
            patch.setattr(module, "is_gpu", lambda _: False)
        twin = load(tmp_path, **settings)
    expected = executor_of(twin).execute(comparison_plan(twin))
    before, after = logits_before_and_after_fusion(loaded)
    torch.testing.assert_close(before, expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(after, expected, atol=1e-4, rtol=1e-4)


def test_merged_weights_exist_once(tmp_path: Path) -> None:
    save(CASE["qwen2"], CASE["qwen2"].build(), tmp_path)
    loaded = load(tmp_path, quantization="int4", calibrate="none")
    model: Any = loaded.model
    before = held(model)
    fuse(executor_of(loaded), PlainOperations())
    assert held(model) == before == loaded.metadata.weight_bytes
    attention, mlp = model.model.layers[0].self_attn, model.model.layers[0].mlp
    places = [
        part.packed.values.untyped_storage().data_ptr()
        for part in (attention.q_proj, attention.k_proj, attention.v_proj)
    ]
    assert places[0] == places[1] != places[2]  # int4 keeps the value projection at 8 bits
    gates = [part.packed for part in (mlp.gate_proj, mlp.up_proj)]
    assert len({part.values.untyped_storage().data_ptr() for part in gates}) == 1


class _Wrong(PlainProducts):
    name = "wrong"

    def multiply(self, *arguments: Any) -> None:
        super().multiply(*arguments)
        arguments[-1].mul_(1.5)


class _Failing(PlainProducts):
    name = "failing"

    def multiply(self, *arguments: Any) -> None:
        raise RuntimeError("no C compiler")


class _OtherRounding(PlainProducts):
    """Products of rows that were rounded a little more."""

    name = "other"

    def multiply(self, rows: torch.Tensor, *rest: Any) -> None:
        super().multiply(rows.mul(1 + 2**-9), *rest)


def quantized_linear(kind: str = "int4") -> QuantizedLinear:
    return QuantizedLinear(quantize_weight(torch.randn(80, 128), kind), None)


@pytest.mark.parametrize(
    ("products", "why"), [(_Wrong(), "off by 50.00%"), (_Failing(), "no C compiler")]
)
def test_products_that_differ_are_dropped(
    products: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    # subclasses of the plain products would not be checked
    products = type("Kernels", (), {"name": "triton", "multiply": products.multiply})()
    packer = DevicePacker(torch.device("cpu"), torch.bfloat16, products)
    linear = quantized_linear()
    expected = linear(torch.ones(3, 128, dtype=torch.bfloat16))
    with caplog.at_level(logging.WARNING):
        first, second = packer(linear), packer(quantized_linear("int8"))
    assert why in caplog.text
    assert isinstance(first.products, PlainProducts) and isinstance(second.products, PlainProducts)
    assert torch.equal(first(torch.ones(3, 128, dtype=torch.bfloat16)), expected)


def test_products_that_round_elsewhere_stay(caplog: pytest.LogCaptureFixture) -> None:
    products: Any = type("Kernels", (), {"multiply": _OtherRounding().multiply})()
    packer = DevicePacker(torch.device("cpu"), torch.bfloat16, products)
    assert packer(quantized_linear()).products is products
    assert not caplog.text
