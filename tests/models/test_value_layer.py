"""Value projections with a format of their own beside queries and keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.test_native_decoder import needs_library
from tests.models.zoo_models import load_case
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.native.native_structure import recognise_native
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.quantize import kind_of
from yaie.models.quantization.quantized_weights import QuantizedLinear


@needs_library
def test_int4_computes_values_in_int8(tmp_path: Path) -> None:
    loaded = load_case("qwen3", tmp_path, quantization="int4")
    assert kind_of(loaded.model) == "int4"
    for layer in recognise_native(loaded.model).layers:
        others, values = layer.qkv.split_by_format()
        (value,) = values.modules
        assert isinstance(value, QuantizedLinear)
        assert value.kind == "int8"
        assert len(others.modules) == 2
    expected = choose_executor(loaded, may_pack=False).execute(comparison_plan(loaded))
    executor = choose_executor(load_case("qwen3", tmp_path, quantization="int4"))
    assert executor.name == "native"
    found = executor.execute(comparison_plan(loaded))
    assert (found - expected).norm() / expected.norm() < 0.2


@pytest.mark.parametrize("kind", [None, "int8"])
def test_equal_formats_stay_together(tmp_path: Path, kind: str | None) -> None:
    settings = {} if kind is None else {"quantization": kind}
    loaded = load_case("qwen3", tmp_path, **settings)
    for layer in recognise_native(loaded.model).layers:
        (together,) = layer.qkv.split_by_format()
        assert len(together.modules) == 3
