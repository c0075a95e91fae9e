"""Packed linear layers inside models run by transformers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.conformance.case import save
from tests.conformance.zoo import CASES
from tests.engine.asking import ask, run
from tests.models.test_native_decoder import needs_library
from tests.models.zoo_models import load_case
from yaie.base.settings import EngineConfig
from yaie.engine.core import EngineCore
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.load.loader import load_model
from yaie.models.native import packed_linears
from yaie.models.native.numerics_check import DecoderDiffers, comparison_plan
from yaie.models.native.packed_linears import PackedLinear
from yaie.models.quantization.quantized_weights import QuantizedLinear

CASE = {case.name: case for case in CASES}
OTHERS = ["glm4", "deepseek-v3", "starcoder2", "afmoe", "cohere2", "opt", "gpt-neox"]


@needs_library
@pytest.mark.parametrize("name", OTHERS)
def test_equals_transformers_in_float32(name: str, tmp_path: Path) -> None:
    loaded = load_case(name, tmp_path)
    expected = choose_executor(loaded, may_pack=False).execute(comparison_plan(loaded))
    executor = choose_executor(loaded)
    assert executor.name == "transformers"
    assert any(isinstance(module, PackedLinear) for module in loaded.model.modules())
    found = executor.execute(comparison_plan(loaded))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@needs_library
def test_bfloat16_stays_near_float32(tmp_path: Path) -> None:
    settings = {"dtype": "bfloat16"}
    plain = load_case("glm4", tmp_path, **settings)
    rounded = choose_executor(plain, may_pack=False).execute(comparison_plan(plain))
    loaded = load_case("glm4", tmp_path, **settings)
    found = choose_executor(loaded).execute(comparison_plan(loaded))
    assert (found - rounded).norm() / rounded.norm() < 0.1


@needs_library
@pytest.mark.parametrize("name", ["llama", "glm4"])
def test_float16_stays_with_transformers(name: str, tmp_path: Path) -> None:
    loaded = load_case(name, tmp_path, dtype="float16")
    expected = choose_executor(loaded, may_pack=False).execute(comparison_plan(loaded))
    executor = choose_executor(loaded)
    assert executor.name == "transformers"
    assert not any(isinstance(module, PackedLinear) for module in loaded.model.modules())
    found = executor.execute(comparison_plan(loaded))
    torch.testing.assert_close(found, expected, atol=0, rtol=0)


@needs_library
def test_the_engine_answers_in_float16(tiny_model_dir: Path) -> None:
    core = EngineCore(EngineConfig(model=str(tiny_model_dir), num_slots=256, dtype="float16"))
    assert core.info.execution == "transformers"
    assert len(run(core, ask("a", (1, 2, 3), max_tokens=4)).tokens("a")) == 4


@needs_library
@pytest.mark.parametrize("is_tied", [True, False])
def test_a_model_without_packable_layers_is_not_run(
    is_tied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GPT-2 has layers of its own class: only an untied head can be packed."""
    case = CASE["gpt2"]
    case = replace(case, settings={**case.settings, "tie_word_embeddings": is_tied})
    save(case, case.build(), tmp_path)
    loaded = load_model(EngineConfig(model=str(tmp_path), num_slots=256))
    executed: list[object] = []
    forward = type(loaded.model).forward

    def count(*arguments: object, **settings: object) -> object:
        executed.append(settings)
        return forward(*arguments, **settings)

    monkeypatch.setattr(type(loaded.model), "forward", count)
    choose_executor(loaded)
    assert len(executed) == (0 if is_tied else 4)  # two texts, before and after the packing


@needs_library
@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_quantized_weights_are_computed_as_integers(kind: str, tmp_path: Path) -> None:
    loaded = load_case("glm4", tmp_path, quantization=kind)
    expected = choose_executor(loaded, may_pack=False).execute(comparison_plan(loaded))
    executor = choose_executor(loaded)
    assert not any(isinstance(module, QuantizedLinear) for module in loaded.model.modules())
    found = executor.execute(comparison_plan(loaded))
    assert 0 < (found - expected).norm() / expected.norm() < 0.25


@needs_library
def test_a_tied_head_is_not_packed(tmp_path: Path) -> None:
    loaded = load_case("cohere2", tmp_path)
    choose_executor(loaded)
    embedding = loaded.model.get_input_embeddings().weight  # type: ignore[operator]
    assert loaded.model.get_output_embeddings().weight is embedding  # type: ignore[operator]


@needs_library
def test_the_engine_runs_the_original_if_layers_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = PackedLinear.forward
    monkeypatch.setattr(PackedLinear, "forward", lambda self, x: 1.5 * forward(self, x))
    with pytest.raises(DecoderDiffers, match="off by"):
        choose_executor(load_case("glm4", tmp_path))
    core = EngineCore(EngineConfig(model=str(tmp_path), num_slots=256))
    assert core.info.execution == "transformers"


@needs_library
def test_a_forward_that_reads_its_layers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reach(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight.T

    monkeypatch.setattr(packed_linears.PackedLinear, "forward", reach)
    with pytest.raises(DecoderDiffers, match="does not run with packed layers"):
        choose_executor(load_case("glm4", tmp_path))
