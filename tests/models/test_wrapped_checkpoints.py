"""Published forms of wrappers: configs, quantized weights, packed weights, and chats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.conformance.wrapped import WRAPPED
from tests.models.float_files import FORMS, Float8, blocks_of, write_twins
from tests.models.quantized import AWQ, CT, GPTQ, LLAMA, Kind, write_pair
from tests.text.small_tokenizers import write_byte_level
from yaie import LLM, SamplingParams
from yaie.config import EngineConfig
from yaie.engine.choose_executor import choose_executor
from yaie.errors import ModelUnsupported, UnsupportedParameter
from yaie.models.checkpoint import SINGLE
from yaie.models.folder import open_folder
from yaie.models.hf_model import read_hf_config
from yaie.models.loader import load_model
from yaie.models.native.agreement import comparison_plan
from yaie.models.quantization.layout import read_stored_layout
from yaie.models.support import check_supported, longest_context
from yaie.models.wrappers import WRAPPERS, text_config, wrapper_of

CLIP = {
    "model_type": "clip_vision_model",
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}

# config.json as published: settings at the top, or a text_config that leaves defaults out.
PUBLISHED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "olmOCR 7B (Qwen2-VL)": (
        {
            "architectures": ["Qwen2VLForConditionalGeneration"],
            "model_type": "qwen2_vl",
            "bos_token_id": 151643,
            "eos_token_id": 151645,
            "hidden_size": 3584,
            "intermediate_size": 18944,
            "max_position_embeddings": 32768,
            "max_window_layers": 28,
            "num_attention_heads": 28,
            "num_hidden_layers": 28,
            "num_key_value_heads": 4,
            "rope_scaling": {"rope_type": "mrope", "mrope_section": [16, 24, 24]},
            "rope_theta": 1000000.0,
            "sliding_window": 32768,
            "tie_word_embeddings": False,
            "use_sliding_window": False,
            "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 3584},
            "vocab_size": 152064,
        },
        {
            "model_type": "qwen2",
            "num_hidden_layers": 28,
            "vocab_size": 152064,
            "eos_token_id": 151645,
            "max_position_embeddings": 32768,
        },
    ),
    "Gemma 3 4B": (
        {
            "architectures": ["Gemma3ForConditionalGeneration"],
            "model_type": "gemma3",
            "eos_token_id": [1, 106],
            "text_config": {
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "model_type": "gemma3_text",
                "num_hidden_layers": 34,
                "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                "sliding_window": 1024,
            },
            "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"},
        },
        {
            "model_type": "gemma3_text",
            "num_attention_heads": 8,
            "vocab_size": 262208,
            "tie_word_embeddings": True,
            "eos_token_id": [1, 106],
            "max_position_embeddings": 131072,
        },
    ),
    "Llama 3.2 11B Vision": (
        {
            "architectures": ["MllamaForConditionalGeneration"],
            "model_type": "mllama",
            "text_config": {
                "model_type": "mllama_text_model",
                "hidden_size": 4096,
                "num_hidden_layers": 40,
                "eos_token_id": [128001, 128008, 128009],
                "max_position_embeddings": 131072,
                "rope_theta": 500000.0,
                "rope_scaling": {
                    "factor": 8.0,
                    "high_freq_factor": 4.0,
                    "low_freq_factor": 1.0,
                    "original_max_position_embeddings": 8192,
                    "rope_type": "llama3",
                },
                "vocab_size": 128256,
            },
            "vision_config": {},
        },
        {"model_type": "llama", "num_hidden_layers": 32, "tie_word_embeddings": False},
    ),
    "Kimi K2.5": (
        {
            "architectures": ["KimiK25ForConditionalGeneration"],
            "auto_map": {"AutoConfig": "configuration_kimi_k25.KimiK25Config"},
            "model_type": "kimi_k25",
            "text_config": {
                "architectures": ["DeepseekV3ForCausalLM"],
                "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"},
                "model_type": "kimi_k2",
                "num_hidden_layers": 61,
                "kv_lora_rank": 512,
                "max_position_embeddings": 262144,
                "n_group": 1,
                "topk_group": 1,
            },
            "tie_word_embeddings": False,
        },
        {"model_type": "deepseek_v3", "num_hidden_layers": 61, "tie_word_embeddings": False},
    ),
    "Qwen3-VL 2B": (
        {
            "architectures": ["Qwen3VLForConditionalGeneration"],
            "model_type": "qwen3_vl",
            "text_config": {
                "model_type": "qwen3_vl_text",
                "hidden_size": 2048,
                "num_hidden_layers": 28,
                "num_attention_heads": 16,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "intermediate_size": 6144,
                "max_position_embeddings": 262144,
                "rope_scaling": {
                    "mrope_interleaved": True,
                    "mrope_section": [24, 20, 20],
                    "rope_type": "default",
                },
                "rope_theta": 5000000,
                "tie_word_embeddings": True,
                "vocab_size": 151936,
            },
            "tie_word_embeddings": True,
        },
        {"model_type": "qwen3", "tie_word_embeddings": True, "max_position_embeddings": 262144},
    ),
    "Ministral 3 (without fp8)": (
        {
            "architectures": ["Mistral3ForConditionalGeneration"],
            "model_type": "mistral3",
            "text_config": {
                "model_type": "ministral3",
                "hidden_size": 3072,
                "num_hidden_layers": 26,
                "max_position_embeddings": 262144,
                "rope_parameters": {
                    "rope_type": "yarn",
                    "type": "yarn",
                    "rope_theta": 1000000.0,
                    "factor": 16.0,
                    "original_max_position_embeddings": 16384,
                    "llama_4_scaling_beta": 0.1,
                    "beta_fast": 32.0,
                    "beta_slow": 1.0,
                    "mscale": 1.0,
                    "mscale_all_dim": 1.0,
                },
            },
            "tie_word_embeddings": True,
        },
        {"model_type": "ministral3", "tie_word_embeddings": True},
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_configs(name: str, tmp_path: Path) -> None:
    """transformers' reading of them agrees with ours, which fills in no defaults."""
    config, wanted = PUBLISHED[name]
    entry = check_supported(config)
    (tmp_path / "config.json").write_text(json.dumps(config))
    read = read_hf_config(tmp_path, wrapper_of(config)).to_dict()
    assert {key: read[key] for key in wanted if key != "eos_token_id"} == {
        key: value for key, value in wanted.items() if key != "eos_token_id"
    }
    assert read["model_type"] == entry.model_type
    light = text_config(config)
    if "eos_token_id" in wanted:
        assert light["eos_token_id"] == wanted["eos_token_id"]
    for key in ("num_hidden_layers", "hidden_size", "vocab_size"):
        assert light.get(key, read[key]) == read[key]
    assert check_supported(read) is entry
    if longest_context(light) is not None:
        assert longest_context(read) == longest_context(light)
    assert "mrope_section" not in str(read["rope_parameters"])


def test_a_wrapper_without_names_of_classes() -> None:
    for wrapper in WRAPPERS:
        assert wrapper_of({"model_type": wrapper.model_type}) is wrapper
        assert wrapper_of({"architectures": [wrapper.architecture]}) is wrapper


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"model_type": "llava", "text_config": {"model_type": "falcon"}}, "bypasses"),
        ({"model_type": "internvl", "text_config": {"model_type": "new"}}, "new cannot be served"),
        (
            {
                "model_type": "gemma4",
                "text_config": {
                    "model_type": "gemma4_text",
                    "use_bidirectional_attention": "all",
                },
            },
            "tokens see later ones",
        ),
        (
            {
                "architectures": ["Llama4ForConditionalGeneration"],
                "model_type": "llama4",
                "text_config": {"model_type": "llama4_text"},
            },
            "chunked",
        ),
    ],
)
def test_a_text_part_that_is_not_served(config: dict[str, Any], reason: str) -> None:
    with pytest.raises(ModelUnsupported, match=reason):
        check_supported(config)


def wrap(folder: Path, target: Path, **changes: Any) -> Path:
    """Write a checkpoint of Llama as the text part of LLaVA."""
    target.mkdir()
    config = json.loads((folder / "config.json").read_text())
    top = {
        "architectures": ["LlavaForConditionalGeneration"],
        "model_type": "llava",
        "quantization_config": config.pop("quantization_config", None),
        "text_config": config,
        "vision_config": CLIP,
        **changes,
    }
    (target / "config.json").write_text(json.dumps(top))
    tensors = {f"language_model.{n}": t for n, t in load_file(folder / SINGLE).items()}
    tensors["vision_tower.vision_model.post_layernorm.weight"] = torch.full((32,), torch.nan)
    save_file(tensors, target / SINGLE, metadata={"format": "pt"})
    return target


def logits_of(folder: Path, **settings: Any) -> torch.Tensor:
    settings = {"num_slots": 256, "dtype": "float32", "device": "cpu", **settings}
    loaded = load_model(EngineConfig(model=str(folder), **settings))
    with torch.inference_mode():
        return choose_executor(loaded, "reference").execute(comparison_plan(loaded))


@pytest.mark.parametrize(
    "target", [r"re:language_model\.model\.layers.*", r"re:model\.layers\..*", r"re:.*_proj"]
)
def test_targets_of_a_quantization(target: str, tmp_path: Path) -> None:
    """They name modules as the files do, or as the text-only class does."""
    quantized, _ = write_pair(LLAMA, CT, tmp_path)
    config = CT.config()
    group = config["config_groups"].pop("group_0")
    wrong = {**group, "weights": {**group["weights"], "num_bits": 8}}
    config["config_groups"] = {"all": wrong, "named": {**group, "targets": [target]}}
    folder = open_folder(str(wrap(quantized, tmp_path / "wrapped", quantization_config=config)))
    layout = read_stored_layout(folder.config, folder.checkpoint)
    assert layout is not None
    assert {layer.format.bits for layer in layout.layers} == {4}
    assert len(layout.layers) == 7 * 4


# What each tool writes of modules that it leaves plain, by the names of the wrapper.
LEFT_OUT: dict[str, dict[str, Any]] = {
    "pack-quantized": {"ignore": ["re:.*vision_tower.*", "re:.*projector.*", "lm_head"]},
    "awq": {"modules_to_not_convert": ["vision_tower", "multi_modal_projector"]},
    "gptq": {"dynamic": {"-:.*vision_tower.*": {}, r"-:.*projector.*": {}}},
}


@pytest.mark.parametrize("kind", [CT, AWQ, GPTQ], ids=str)
def test_quantized_weights(kind: Kind, tmp_path: Path) -> None:
    quantized, _ = write_pair(LLAMA, kind, tmp_path)
    config = kind.config() | LEFT_OUT[kind.layout]
    folder = wrap(quantized, tmp_path / "wrapped", quantization_config=config)
    opened = open_folder(str(folder))
    layout = read_stored_layout(opened.config, opened.checkpoint)
    assert layout is not None
    assert len(layout.layers) == 7 * 4
    assert not layout.is_widened
    assert torch.equal(logits_of(folder), logits_of(quantized))


@pytest.mark.integration
def test_a_quantization_in_the_text_config(tmp_path: Path) -> None:
    """As of Kimi K2.5."""
    quantized, _ = write_pair(LLAMA, CT, tmp_path)
    text = json.loads((quantized / "config.json").read_text())
    folder = wrap(quantized, tmp_path / "wrapped", text_config=text, quantization_config=None)
    assert torch.equal(logits_of(folder), logits_of(quantized))


@pytest.mark.integration
@pytest.mark.parametrize("form", FORMS[1:6:4], ids=str)
def test_fp8(form: Float8, tmp_path: Path) -> None:
    """Widened as of the text-only checkpoint; modules for images are left out by their names."""
    quantized, _ = write_twins(LLAMA, form.write, form.config, tmp_path)
    left_out = ["model.vision_tower", "model.multi_modal_projector", "lm_head"]
    config = form.config | {"modules_to_not_convert": left_out}
    folder = wrap(quantized, tmp_path / "wrapped", quantization_config=config)
    assert torch.equal(logits_of(folder), logits_of(quantized))


@pytest.mark.integration
def test_fp8_experts_that_are_stored_with_the_inputs_first(tmp_path: Path) -> None:
    """As of Qwen3-VL: weights and their scales are transposed."""
    form = Float8("blocks of 16", (16, 16), blocks_of(16, 16))
    case = next(case for case in WRAPPED if case.name == "qwen3-vl-moe")
    case.build().save_pretrained(tmp_path / "stored")  # type: ignore[operator]
    (tmp_path / "wide").mkdir()
    config = json.loads((tmp_path / "stored" / "config.json").read_text())
    stored: dict[str, torch.Tensor] = {}
    wide: dict[str, torch.Tensor] = {}
    for name, tensor in load_file(tmp_path / "stored" / SINGLE).items():
        stored[name] = wide[name] = tensor.bfloat16()
        if ".experts." in name:
            as_published = tensor.transpose(1, 2).contiguous()
            assert as_published.shape[1:] == ((64, 96) if "gate" in name else (48, 64))
            parts, wide[name] = form.write(name, as_published)
            del stored[name]
            stored |= {each: part.contiguous() for each, part in parts.items()}
    for folder, tensors, extra in (
        ("stored", stored, {"quantization_config": form.config}),
        ("wide", wide, {}),
    ):
        save_file(tensors, tmp_path / folder / SINGLE, metadata={"format": "pt"})
        (tmp_path / folder / "config.json").write_text(json.dumps(config | extra))
    found = logits_of(tmp_path / "stored", dtype="bfloat16")
    assert torch.equal(found, logits_of(tmp_path / "wide", dtype="bfloat16"))


@pytest.mark.integration
@pytest.mark.parametrize("quantization", ["int8", "int4"])
def test_quantization_at_load(quantization: str, tmp_path: Path) -> None:
    LLAMA.build().save_pretrained(tmp_path / "plain")  # type: ignore[operator]
    folder = wrap(tmp_path / "plain", tmp_path / "wrapped")
    how = {"quantization": quantization, "calibrate": "none" if quantization == "int4" else None}
    assert torch.equal(logits_of(folder, **how), logits_of(tmp_path / "plain", **how))


@pytest.mark.integration
def test_a_chat(tmp_path: Path) -> None:
    """The second start reads packed weights; answers are those of the wrapper's greedy search."""
    case = next(case for case in WRAPPED if case.name == "qwen2.5-vl")
    write_byte_level(tmp_path, chat_template=None)
    oracle = case.build()
    oracle.resize_token_embeddings(420)  # type: ignore[operator]
    oracle.config.eos_token_id = None
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    template = (
        "{% for m in messages %}{% for c in m['content'] %}{{ c['text'] }}|{% endfor %}{% endfor %}"
    )
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": template}))
    cache = str(tmp_path / "cache")
    for _ in range(2):
        with LLM(str(tmp_path), num_slots=512, device="cpu", weights_cache=cache) as llm:
            parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
            sampling = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)
            messages = [{"role": "user", "content": parts}]
            (answer,) = llm.chat(messages, sampling, progress=False)
            ids = list(answer.prompt_token_ids)
            tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(str(tmp_path))
            assert tokenizer.decode(ids) == "one|two|"
            for _ in range(8):
                with torch.inference_mode():
                    logits = oracle(torch.tensor([ids]), use_cache=False).logits
                ids.append(int(logits[0, -1].argmax()))
            assert list(answer.token_ids) == ids[-8:]
            image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
            with pytest.raises(UnsupportedParameter, match="served for text only"):
                llm.chat([{"role": "user", "content": [image]}], sampling, progress=False)
