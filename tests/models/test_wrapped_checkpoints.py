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
from yaie.base.errors import ModelUnsupported, UnsupportedParameter
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.architecture.support import check_supported
from yaie.models.architecture.text_backbones import WRAPPERS, wrapper_of
from yaie.models.files.checkpoint import SINGLE
from yaie.models.load.folder import open_folder
from yaie.models.load.loader import load_model
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.checkpoint_layers import read_stored_layout

CLIP = {
    "model_type": "clip_vision_model",
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}


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
            {"model_type": "internvl_chat", "llm_config": {"model_type": "internlm2"}},
            "internlm2 cannot be served",
        ),
        (
            {
                "model_type": "gemma4",
                "text_config": {
                    "model_type": "gemma4_text",
                    "use_bidirectional_attention": "all",
                },
            },
            "tokens attend to later tokens",
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
