"""The geometry that the probe finds, and the models it refuses."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.conformance.case import WINDOW
from tests.conformance.zoo import CASES
from yaie.attention.spec import AttentionSpec
from yaie.base.errors import ModelUnsupported
from yaie.kvcache.pool import LayerShape
from yaie.models.architecture.attention_hook import IMPLEMENTATION, register
from yaie.models.architecture.layer_shapes import (
    check_layer_types,
    estimate_pool_shapes,
    layer_of,
    pool_shapes,
    probe_geometry,
    read_sizes,
)
from yaie.models.architecture.loaded_model import ModelSizes

CPU = torch.device("cpu")


def probed(name: str, change: Callable[[Any], None] = lambda model: None) -> Any:
    case = next(case for case in CASES if case.name == name)
    model: Any = case.build()
    register()
    model.set_attn_implementation(IMPLEMENTATION)
    change(model)
    return model, probe_geometry(model, CPU)


def test_windows_softcaps_and_sinks_of_each_layer() -> None:
    assert [spec.sliding_window for spec in probed("gemma2")[1]] == [WINDOW, None, WINDOW, None]
    assert {spec.softcap for spec in probed("gemma2")[1]} == {5.0}
    assert all(spec.has_sinks for spec in probed("gpt-oss")[1])
    assert {spec.softcap for spec in probed("llama")[1]} == {None}


def test_widths_and_heads() -> None:
    spec = probed("deepseek-v3")[1][0]
    assert (spec.key_width, spec.value_width) == (24, 16)
    spec = probed("llama")[1][0]
    assert (spec.num_heads, spec.num_kv_heads, spec.group_size, spec.scale) == (4, 2, 2, 0.25)


def test_layers_that_reuse_keys_and_values_store_none() -> None:
    _, specs = probed("gemma4")
    assert [spec.kv_layer for spec in specs] == [None, None, None, None, 2, 3]
    assert [spec.stored_layer for spec in specs] == [0, 1, 2, 3, 2, 3]
    assert [shape is None for shape in pool_shapes(specs)] == [False] * 4 + [True] * 2


def test_reused_layers_of_a_config_without_modes() -> None:
    """transformers 5.20 states their number alone."""
    config = next(case for case in CASES if case.name == "gemma3n").config()
    fields = config.to_dict() | {"kv_sharing_modes": None}
    found = estimate_pool_shapes(SimpleNamespace(**fields))
    assert found == estimate_pool_shapes(config)
    assert [shape is None for shape in found] == [False] * 4 + [True] * 2


def test_every_attention_module_knows_its_layer() -> None:
    model, specs = probed("llama")
    layers = [layer_of(layer.self_attn) for layer in model.model.layers]
    assert layers == [spec.layer for spec in specs] == [0, 1, 2, 3]


def test_sizes_are_those_of_the_widest_layer() -> None:
    model, specs = probed("gemma4")
    widest = max(spec.key_width for spec in specs)
    assert min(spec.key_width for spec in specs) < widest
    assert read_sizes(model.config) == ModelSizes(
        hidden=model.config.hidden_size,
        inner=model.config.intermediate_size,
        head=widest,
        num_heads=model.config.num_attention_heads,
        vocab=model.config.vocab_size,
    )


def use_one_layer_twice(model: Any) -> None:
    model.model.layers[1].self_attn = model.model.layers[0].self_attn


def look_ahead(model: Any) -> None:
    model.model.layers[2].self_attn.is_causal = False


def break_a_weight(model: Any) -> None:
    model.model.norm.weight.data.fill_(float("nan"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (use_one_layer_twice, "shared by several layers"),
        (look_ahead, "not causal"),
        (break_a_weight, "non-finite"),
    ],
)
def test_models_the_probe_refuses(change: Callable[[Any], None], reason: str) -> None:
    with pytest.raises(ModelUnsupported, match=reason):
        probed("llama", change)


def test_an_overflow_in_float16_names_bfloat16() -> None:
    def overflow(model: Any) -> None:
        model.half().model.norm.weight.data.fill_(60_000)

    with pytest.raises(ModelUnsupported, match=r"float16; use --dtype bfloat16"):
        probed("llama", overflow)


def spec(layer: int, window: int | None) -> AttentionSpec:
    return AttentionSpec(
        layer=layer,
        num_heads=1,
        num_kv_heads=1,
        key_width=8,
        value_width=8,
        scale=1.0,
        sliding_window=window,
    )


def test_windows_are_compared_with_the_config() -> None:
    specs = (spec(0, 8), spec(1, None))
    check_layer_types(specs, None)
    check_layer_types(specs, ["sliding_attention", "full_attention"])
    with pytest.raises(ModelUnsupported, match="layer 1 is sliding_attention"):
        check_layer_types(specs, ["sliding_attention", "sliding_attention"])
    with pytest.raises(ModelUnsupported, match="lists 3 layers, but 2"):
        check_layer_types(specs, ["full_attention"] * 3)


def test_inner_widths_by_layer() -> None:
    """Gemma 3n lists a width for each layer; the largest counts."""
    config = next(case for case in CASES if case.name == "gemma3n").config()
    assert isinstance(config.intermediate_size, list)
    config.intermediate_size[1] = 200
    assert read_sizes(config).inner == 200


def test_heads_and_widths_by_layer_type() -> None:
    config = next(case for case in CASES if case.name == "mimo-v2").config()
    window, full = LayerShape(4, 16, 8), LayerShape(2, 16, 8)
    assert estimate_pool_shapes(config) == [window, full] * 2
