"""Checkpoints in fp8 keep their bytes on a CPU whose kernels compute in fp8."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.conformance.case import Case
from tests.conformance.zoo import CASES
from tests.models.float_files import BLOCK, FORMS, UNEVEN, Float8, write_twins
from tests.models.test_float_weights import leveled
from tests.models.test_native_decoder import needs_library
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.kernels import library_search
from yaie.kernels.instruction_sets import WITH_BF16
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.load.loader import load_model
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.quantized_weights import QuantizedLinear

CASE = {case.name: case for case in CASES}
WIDE = Case("wide", "LlamaForCausalLM", "", {"hidden_size": 256, "intermediate_size": 384})
LAYERS = 7 * WIDE.config().num_hidden_layers
IN_DEFAULT = {"blocks of 128", "channel", "exponents as bytes"}


@pytest.fixture
def in_float32() -> None:
    """Choose the best set without bf16 products: sets with them widen fp8."""
    library = library_search.load()
    assert library is not None
    before = library.instruction_set
    library.use_instruction_set(
        next(name for name in library.instruction_sets if name not in WITH_BF16)
    )
    yield
    library.use_instruction_set(before)


def load(folder: Path, **settings: object) -> LoadedModel:
    return load_model(
        EngineConfig(model=str(folder), num_slots=128, device="cpu", **settings)  # type: ignore[arg-type]
    )


def kept_layers(loaded: LoadedModel) -> dict[str, QuantizedLinear]:
    assert loaded.model is not None
    modules = loaded.model.named_modules()
    return {name: each for name, each in modules if isinstance(each, QuantizedLinear)}


@needs_library
@pytest.mark.usefixtures("in_float32")
@pytest.mark.parametrize(
    "form",
    [leveled(form, default=form.name in IN_DEFAULT) for form in FORMS if form is not UNEVEN],
    ids=str,
)
def test_fp8_stays_fp8(form: Float8, tmp_path: Path) -> None:
    stored, wide = write_twins(WIDE, form.write, form.config, tmp_path)
    found, twin = load(stored, dtype="float32"), load(wide, dtype="float32")
    assert found.metadata.quantization == "fp8"
    layers = kept_layers(found)
    assert len(layers) == LAYERS
    for name, layer in layers.items():
        assert layer.kind == "fp8"
        rounded = layer.quantized.dequantize(torch.bfloat16).float()  # type: ignore[union-attr]
        assert torch.equal(rounded, twin.model.get_submodule(name).weight)  # type: ignore[union-attr, arg-type]
    plan = comparison_plan(found)
    expected = choose_executor(found, may_pack=False).execute(plan)
    executor = choose_executor(found)
    assert executor.name == "native"
    torch.testing.assert_close(executor.execute(plan), expected, atol=5e-4, rtol=5e-4)


@needs_library
@pytest.mark.usefixtures("in_float32")
def test_a_model_takes_its_stored_bytes(tmp_path: Path) -> None:
    stored, wide = write_twins(WIDE, BLOCK.write, BLOCK.config, tmp_path)
    found, twin = load(stored), load(wide)
    layers = kept_layers(found)
    saved = sum(layer.num_weights for layer in layers.values())  # a byte of each weight's two
    scales = sum(layer.quantized.scales.nbytes for layer in layers.values())  # type: ignore[union-attr]
    assert found.metadata.weight_bytes == twin.metadata.weight_bytes - saved + scales
    assert found.metadata.planned_weight_bytes == pytest.approx(
        found.metadata.weight_bytes, rel=0.02
    )


@needs_library
@pytest.mark.usefixtures("in_float32")
def test_layers_computed_one_by_one_keep_fp8_too(tmp_path: Path) -> None:
    case = CASE["glm4"]
    stored, _ = write_twins(case, FORMS[7].write, FORMS[7].config, tmp_path)
    loaded = load(stored, dtype="float32")
    assert kept_layers(loaded)
    expected = choose_executor(loaded, may_pack=False).execute(comparison_plan(loaded))
    found = choose_executor(loaded).execute(comparison_plan(loaded))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@needs_library
@pytest.mark.parametrize(
    ("settings", "quantization"),
    [({"dtype": "float16"}, None), ({"quantization": "int8"}, "int8")],
)
@pytest.mark.usefixtures("in_float32")
def test_other_settings_widen_it(
    settings: dict[str, str], quantization: str | None, tmp_path: Path
) -> None:
    stored, _ = write_twins(WIDE, BLOCK.write, BLOCK.config, tmp_path)
    assert load(stored, **settings).metadata.quantization == quantization


@needs_library
def test_sets_with_bf16_products_widen_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored, _ = write_twins(WIDE, BLOCK.write, BLOCK.config, tmp_path)
    library = library_search.load()
    monkeypatch.setattr(type(library), "instruction_set", "amx")
    assert load(stored).metadata.quantization is None
