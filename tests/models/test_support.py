"""Refused models, with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.architectures import (
    ENCODER_DECODER,
    IMAGES,
    INDEXED,
    LINEAR,
    NO_TEXT,
    REFUSED,
    SUPPORTED,
)
from yaie.models.architecture.support import (
    check_supported,
    longest_context,
    longrope_switch,
)
from yaie.models.load.hf_model import read_hf_config

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
GEMMA = {"architectures": ["Gemma4ForCausalLM"], "model_type": "gemma4_text"}
GRANITE = {"architectures": ["GraniteMoeHybridForCausalLM"], "model_type": "granitemoehybrid"}
HUNYUAN = {"architectures": ["HunYuanDenseV1ForCausalLM"], "model_type": "hunyuan_v1_dense"}
HUNYUAN_MOE = {"architectures": ["HunYuanMoEV1ForCausalLM"], "model_type": "hunyuan_v1_moe"}
MINIMAX = {"architectures": ["MiniMaxM2ForCausalLM"], "model_type": "minimax_m2"}


@pytest.mark.parametrize("entry", SUPPORTED, ids=lambda entry: entry.architecture)
def test_supported(entry: Any) -> None:
    named = {"architectures": [entry.architecture], "model_type": entry.model_type}
    assert check_supported(named) is entry
    assert check_supported({"model_type": entry.model_type}) is entry


@pytest.mark.parametrize("model_type", REFUSED)
def test_refused_by_name(model_type: str) -> None:
    with pytest.raises(ModelUnsupported, match=r"cannot be served: .{20}"):
        check_supported({"architectures": ["X"], "model_type": model_type})


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({}, "has neither"),
        ({"architectures": ["LlamaForCausaLM"]}, "nearest that is served: LlamaForCausalLM"),
        ({"architectures": ["NewForCausalLM"], "model_type": "new"}, "does not cover it"),
        (
            {"architectures": ["NewForCausalLM"], "auto_map": {"AutoConfig": "a.B"}},
            "trust_remote_code",
        ),
        (  # transformers has the class: the folder's code is not what is missing
            {
                "architectures": ["YoutuForCausalLM"],
                "model_type": "youtu",
                "auto_map": {"AutoConfig": "a.B"},
            },
            "does not cover it",
        ),
        (
            {"architectures": ["LlamaForTokenClassification"], "model_type": "llama"},
            "only LlamaForCausalLM of that family",
        ),
        ({**LLAMA, "quantization_config": {"quant_method": "hqq"}}, "method hqq is not served"),
        ({**LLAMA, "model_type": "mistral", "sliding_window": 4}, "model_type mistral"),
        ({**LLAMA, "model_type": "qwen3_next"}, "model_type qwen3_next"),
        ({**LLAMA, "transformers_weights": "other.safetensors"}, "transformers_weights"),
        ({**LLAMA, "is_encoder_decoder": True}, "encoder-decoder"),
        ({**LLAMA, "use_bidirectional_attention": True}, "attend to later tokens"),
        ({**LLAMA, "layer_types": ["full_attention", "linear_attention"]}, "linear_attention"),
        ({**LLAMA, "use_bidirectional_attention": "vision"}, "attend to later tokens"),
        ({**GEMMA, "use_bidirectional_attention": "all"}, "attend to later tokens"),
        ({**LLAMA, "layer_types": ["mamba", "attention"]}, "type mamba .* running state"),
        (
            {**LLAMA, "layer_types": ["chunked_attention"]},
            r"chunked_attention .* attention are served\.",
        ),
        ({**LLAMA, "rope_scaling": {"type": "dynamic", "alpha": 9.0}}, "longest row of a batch"),
        ({**HUNYUAN, "rope_scaling": {"type": "dynamic", "factor": 2}}, "longest row of a batch"),
        ({**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 2}}, "longest row of a batch"),
        ({**LLAMA, "rope_parameters": {"rope_type": "dynamic"}}, "longest row of a batch"),
        (
            {**LLAMA, "rope_parameters": {"full_attention": {"rope_type": "dynamic"}}},
            "longest row of a batch",
        ),
        (
            {**LLAMA, "rope_scaling": {"rope_type": "of next year"}},
            "next year.*yarn and longrope are known",
        ),
        ({**LLAMA, "rope_scaling": {"rope_type": None, "factor": 2.0}}, "'None' .* are known"),
    ],
)
def test_refused_with_the_reason(config: dict[str, Any], reason: str) -> None:
    with pytest.raises(ModelUnsupported, match=reason):
        check_supported(config)


@pytest.mark.parametrize(
    "config",
    [
        {**GEMMA, "use_bidirectional_attention": "vision"},  # among the tokens of an image only
        {**GRANITE, "layer_types": ["attention", "attention"]},
        {**GRANITE, "layer_types": ["mamba", "attention"]},
        {**HUNYUAN, "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}},
        {**HUNYUAN_MOE, "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}},
        {**MINIMAX, "auto_map": {"AutoConfig": "configuration_minimax_m2.MiniMaxM2Config"}},
    ],
)
def test_settings_without_an_effect_on_text_are_served(config: dict[str, Any]) -> None:
    assert check_supported(config).architecture == config["architectures"][0]


def test_transformers_reads_the_layer_types_of_granite_as_full_attention(tmp_path: Path) -> None:
    config = {**GRANITE, "num_hidden_layers": 2, "layer_types": ["attention", "attention"]}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert read_hf_config(tmp_path).layer_types == ["full_attention", "full_attention"]


@pytest.mark.parametrize(
    ("name", "config", "capability"),
    [
        ("OtherChatModel", {"vision_config": {}, "llm_config": {"a": 1}}, "not cover it"),
        ("OtherChatModel", {"vision_config": {"a": 1}}, IMAGES),
        ("MiniCPMV", {"vision_config": {"a": 1}, "auto_map": {"AutoConfig": "a.B"}}, IMAGES),
        ("VoxtralForConditionalGeneration", {"audio_config": {"a": 1}}, IMAGES),
        ("LlavaQwenForCausalLM", {"mm_vision_tower": "google/siglip"}, IMAGES),
        ("Phi3VForCausalLM", {"img_processor": {"name": "clip"}}, IMAGES),
        ("Phi4MMForCausalLM", {"model_type": "phi4mm"}, IMAGES),
        ("Lfm4ForCausalLM", {"layer_types": ["conv", "full_attention"]}, LINEAR),
        (
            "Qwen4ForConditionalGeneration",
            {"text_config": {"layer_types": ["linear_attention"]}, "vision_config": {"a": 1}},
            LINEAR,
        ),
        ("HYV4ForCausalLM", {"layer_types": ["indexed_attention"]}, INDEXED),
        ("NewForConditionalGeneration", {"is_encoder_decoder": True}, ENCODER_DECODER),
        ("DebertaForSequenceClassification", {"model_type": "deberta"}, NO_TEXT),
        ("ModernForMaskedLM", {"model_type": "modern"}, NO_TEXT),
    ],
)
def test_unknown_classes_are_refused_for_what_their_config_shows(
    name: str, config: dict[str, Any], capability: str
) -> None:
    with pytest.raises(ModelUnsupported, match="cannot be served") as refusal:
        check_supported({"architectures": [name], "model_type": "new", **config})
    assert capability in refusal.value.message
    assert refusal.value.message.isprintable()  # one line


def test_every_refusal_is_one_line() -> None:
    for model_type in REFUSED:
        with pytest.raises(ModelUnsupported) as refusal:
            check_supported({"architectures": ["X"], "model_type": model_type})
        assert "\n" not in refusal.value.message


def test_the_reason_names_only_the_right_class() -> None:
    config = {"architectures": ["FooForCausalLM"], "model_type": "llama"}
    with pytest.raises(ModelUnsupported, match="only LlamaForCausalLM") as refusal:
        check_supported(config)
    assert "nearest" not in str(refusal.value)


@pytest.mark.parametrize(
    "broken",
    [
        {"architectures": 7},
        {"architectures": "LlamaForCausalLM"},
        {"architectures": [7]},
        {"architectures": [{"name": "LlamaForCausalLM"}]},
        {"architectures": [["LlamaForCausalLM"]]},
        {"model_type": ["llama"]},
        {"layer_types": 5},
        {"layer_types": "full_attention"},
        {"layer_types": [["full_attention"]]},
        {"num_hidden_layers": 0},
        {"num_hidden_layers": 10_000},
        {"num_hidden_layers": 10**15},
        {"hidden_size": "64"},
        {"vocab_size": -1},
        {"vocab_size": 2**31},
        {"num_attention_heads": 2.5},
        {"max_position_embeddings": 0},
        {"max_position_embeddings": True},
        {"original_max_position_embeddings": -4},
        {"rope_scaling": {"type": "yarn", "factor": "x"}},
        {"rope_scaling": {"type": "yarn", "factor": -2}},
        {"rope_scaling": {"type": "yarn", "factor": float("inf")}},
        {"rope_parameters": {"rope_type": "yarn", "original_max_position_embeddings": "x"}},
    ],
    ids=str,
)
def test_invalid_fields_are_named(broken: dict[str, Any]) -> None:
    field = next(iter(broken))
    field = {"rope_scaling": "factor", "rope_parameters": "original_max"}.get(field, field)
    with pytest.raises(ModelUnsupported, match=rf"config\.json is damaged: {field}") as refused:
        check_supported({**LLAMA, "max_position_embeddings": 64, **broken})
    assert refused.value.code == "model_damaged"


@pytest.mark.parametrize("rope_type", ["default", "linear", "llama3", "yarn"])
def test_ropes_that_depend_on_the_position_alone(rope_type: str) -> None:
    check_supported({**LLAMA, "rope_scaling": {"rope_type": rope_type, "factor": 2.0}})


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"max_position_embeddings": 4096}, 4096),
        ({"n_positions": 1024}, 1024),
        ({}, None),
        (
            {
                "max_position_embeddings": 32_768,
                "rope_scaling": {
                    "type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 32_768,
                },
            },
            131_072,
        ),
        (
            {
                "max_position_embeddings": 131_072,
                "original_max_position_embeddings": 4096,
                "rope_scaling": {"type": "su", "short_factor": [], "long_factor": []},
            },
            131_072,
        ),
        (
            {
                "max_position_embeddings": 131_072,
                "rope_parameters": {
                    "rope_type": "longrope",
                    "original_max_position_embeddings": 8192,
                },
            },
            131_072,
        ),
        (  # as Vicuna states both lengths ...
            {
                "max_position_embeddings": 4096,
                "max_sequence_length": 16_384,
                "rope_scaling": {"type": "linear", "factor": 4.0},
            },
            16_384,
        ),
        (  # ... and others the scaled one alone
            {
                "max_position_embeddings": 16_384,
                "rope_scaling": {"type": "linear", "factor": 4.0},
            },
            16_384,
        ),
    ],
)
def test_longest_context(config: dict[str, Any], limit: int | None) -> None:
    assert longest_context(config) == limit


def test_the_switch_of_longrope() -> None:
    original = {"original_max_position_embeddings": 64}
    assert longrope_switch({"rope_scaling": {"type": "su"}, **original}) == 64
    assert longrope_switch({"rope_parameters": {"rope_type": "longrope", **original}}) == 64
    assert longrope_switch({"rope_scaling": {"type": "su"}, "max_position_embeddings": 9}) == 9
    assert longrope_switch({"rope_scaling": {"type": "linear"}, **original}) is None


@pytest.mark.parametrize("name", ["ZayaForCausalLM", "Jais2ForCausalLM", "BitNetForCausalLM"])
def test_a_common_ending_makes_no_name_near(name: str) -> None:
    with pytest.raises(ModelUnsupported) as error:
        check_supported({"architectures": [name], "model_type": "unknown"})
    assert "nearest" not in error.value.message
