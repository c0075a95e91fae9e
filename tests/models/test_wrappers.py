"""Wrappers: their text part, loaded by YAIE, gives the wrapper's own logits, bit for bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.conformance.case import VOCAB_SIZE
from tests.conformance.wrapped import WRAPPED, WrapperCase
from tests.models.folders import edit_json
from yaie.base.errors import ModelUnsupported
from yaie.base.settings import EngineConfig
from yaie.models.architecture.support import check_supported
from yaie.models.files.checkpoint import SINGLE
from yaie.models.load.folder import open_folder
from yaie.models.load.loader import load_model

BY_NAME = {case.name: case for case in WRAPPED}
_BY_DEFAULT = {"qwen2.5-vl", "mllama"}
# One of each way in which a text part differs from its text-only class.
_BY_INTEGRATION = {
    *("qwen3-vl-moe", "gemma3-vision", "gemma3n-vision", "gemma4-vision-moe", "mistral3-scaled"),
    *("kimi-k25", "muse-glimmer", "glm4v-moe", "glm-ocr", "idefics3", "internvl-chat"),
}


def _leveled(case: WrapperCase) -> Any:
    if case.name in _BY_DEFAULT:
        return pytest.param(case, id=case.name)
    level = "integration" if case.name in _BY_INTEGRATION else "slow"
    return pytest.param(case, id=case.name, marks=getattr(pytest.mark, level))


def rewrite(folder: Path, rename: Callable[[str], str]) -> None:
    """Save the weights again, under other names."""
    weights = load_file(folder / SINGLE)
    save_file({rename(name): weight for name, weight in weights.items()}, folder / SINGLE)


@torch.inference_mode()
def same_logits(folder: Path, oracle: torch.nn.Module) -> bool:
    """Compare the loaded model, in transformers' eager attention, with the wrapper itself."""
    loaded = load_model(EngineConfig(model=str(folder), num_slots=64, device="cpu"))
    assert loaded.model is not None
    loaded.model.set_attn_implementation("eager")  # type: ignore[operator]
    ids = torch.randint(3, VOCAB_SIZE, (1, 60), generator=torch.Generator().manual_seed(3))
    expected = oracle(ids, use_cache=False).logits
    return torch.equal(loaded.model(ids, use_cache=False).logits, expected)


def read_text(folder: Path) -> dict[str, Any]:
    """Return what is known of each text tensor besides its place in the file."""
    tensors = open_folder(str(folder)).checkpoint.tensors
    return {
        name: (each.kind, each.shape, each.is_transposed, each.num_rows)
        for name, each in tensors.items()
    }


def to_nested(name: str) -> str:
    """Return a tensor's name as wrappers were saved from 2025 on."""
    name = name.replace(".blocks.", ".layers.") if "language_model" in name else name
    for old in ("language_model.model.", "model.layers.", "model.embed_tokens.", "model.norm."):
        if name.startswith(old):
            inner = name.removeprefix("language_model.").removeprefix("model.")
            return f"model.language_model.{inner}"
    return name.removeprefix("language_model.")


def to_inner_causal(name: str) -> str:
    """Return a tensor's name as the first LLaVA-like wrappers were saved."""
    nested = to_nested(name)
    if nested.startswith("lm_head."):
        return f"language_model.{nested}"
    return nested.replace("model.language_model.", "language_model.model.", 1)


def to_flat(name: str) -> str:
    """Return a tensor's name as the first Qwen2-VL checkpoints were saved."""
    return to_nested(name).replace("model.language_model.", "model.", 1)


@pytest.mark.parametrize("case", [_leveled(case) for case in WRAPPED])
def test_the_text_part_is_bit_identical(case: WrapperCase, tmp_path: Path) -> None:
    oracle = case.build()
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    assert same_logits(tmp_path, oracle)
    expected = read_text(tmp_path)
    names = [to_nested, to_inner_causal]
    if case.architecture.startswith("Qwen2"):
        names.append(to_flat)
    for rename in names:
        rewrite(tmp_path, rename)
        assert read_text(tmp_path) == expected, rename.__name__


@pytest.mark.integration
def test_experts_of_qwen3_vl_as_published(tmp_path: Path) -> None:
    """Their inputs come first in the file, and last where transformers saves them again."""
    oracle = BY_NAME["qwen3-vl-moe"].build()
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    weights = load_file(tmp_path / SINGLE)
    experts = [name for name in weights if ".experts." in name]
    assert weights[experts[0]].shape[1] != weights[experts[0]].shape[2]
    for name in experts:
        weights[name] = weights[name].transpose(1, 2).contiguous()
    save_file(weights, tmp_path / SINGLE)
    assert same_logits(tmp_path, oracle)


def test_only_the_text_part_is_read_and_counted(tmp_path: Path) -> None:
    oracle = BY_NAME["qwen2.5-vl"].build()
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    weights = load_file(tmp_path / SINGLE)
    text = sum(weight.numel() for name, weight in weights.items() if "visual" not in name)
    assert any("visual" in name for name in weights)
    for name, weight in weights.items():
        if "visual" in name:
            weight.fill_(torch.nan)  # would be refused if it were read
    save_file(weights, tmp_path / SINGLE)
    folder = open_folder(str(tmp_path))
    assert folder.checkpoint.num_parameters == text
    loaded = load_model(EngineConfig(model=str(tmp_path), num_slots=64, device="cpu"))
    assert loaded.metadata.num_parameters == text
    assert loaded.metadata.planned_weight_bytes == 4 * text
    assert loaded.metadata.architecture == "Qwen2_5_VLForConditionalGeneration"
    assert same_logits(tmp_path, oracle)


@pytest.mark.parametrize(
    ("name", "text", "whole"),
    [
        ("qwen2.5-vl", False, True),
        pytest.param("qwen3-vl-moe", True, False, marks=pytest.mark.integration),
    ],
)
def test_the_head_is_tied_as_the_wrapper_says(
    name: str, text: bool, whole: bool, tmp_path: Path
) -> None:
    case = BY_NAME[name]
    settings = {**case.settings, "tie_word_embeddings": text}
    parts = {**case.parts, "tie_word_embeddings": whole}
    oracle = WrapperCase(name, case.architecture, "", settings, parts=parts).build()
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    assert ("lm_head.weight" in load_file(tmp_path / SINGLE)) is not whole
    assert same_logits(tmp_path, oracle)


@pytest.mark.parametrize("whole", [False, None])
def test_a_head_that_the_file_leaves_out_is_tied(whole: bool | None, tmp_path: Path) -> None:
    """Also if only the text part says so, as after a conversion that lost the whole's setting."""
    case = BY_NAME["smolvlm"]
    settings = {**case.settings, "tie_word_embeddings": True}
    parts = {**case.parts, "tie_word_embeddings": True}
    oracle = WrapperCase(case.name, case.architecture, "", settings, parts=parts).build()
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    edit_json(tmp_path / "config.json", tie_word_embeddings=whole)
    assert same_logits(tmp_path, oracle)


@pytest.mark.parametrize("is_added", [False, True])
def test_tensors_that_do_not_fit(
    is_added: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A missing one is refused, and no random numbers take its place; one too many is logged."""
    oracle = BY_NAME["qwen2.5-vl"].build()
    oracle.save_pretrained(tmp_path, max_shard_size="100KB")  # type: ignore[operator]
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) > 2
    for shard in shards:
        weights = load_file(shard)
        for name in [name for name in weights if name.endswith("layers.1.mlp.up_proj.weight")]:
            if is_added:
                weights["model.language_model.rotary.inv_freq"] = torch.ones(4)
            else:
                del weights[name]
            save_file(weights, shard, metadata={"format": "pt"})
    if is_added:
        assert same_logits(tmp_path, oracle)
        assert "1 tensors of" in caplog.text
        assert "rotary.inv_freq" in caplog.text
        return
    with pytest.raises(ModelUnsupported, match=r"lack 1 tensors .* model.layers.1.mlp.up_proj"):
        same_logits(tmp_path, oracle)


def test_the_first_qwen2_5_vl_checkpoints(tmp_path: Path) -> None:
    """They have no text_config, and the oldest names."""
    oracle = BY_NAME["qwen2.5-vl"].build()
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    text = config.pop("text_config")
    text.pop("model_type")
    rope = text.pop("rope_parameters")
    text["rope_theta"] = rope["rope_theta"]
    text["rope_scaling"] = {"type": "mrope", "mrope_section": rope["mrope_section"]}
    path.write_text(json.dumps({**text, **config}))
    rewrite(tmp_path, to_flat)
    assert same_logits(tmp_path, oracle)


def test_a_damaged_text_config_is_refused() -> None:
    config = {"architectures": ["Qwen2VLForConditionalGeneration"], "text_config": [1]}
    with pytest.raises(ModelUnsupported, match="text_config is"):
        check_supported(config)


def test_a_checkpoint_without_text_is_refused(tmp_path: Path) -> None:
    oracle = BY_NAME["qwen2.5-vl"].build()
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    rewrite(tmp_path, lambda name: f"visual.{name}")
    with pytest.raises(ModelUnsupported, match="has no text model"):
        open_folder(str(tmp_path))


def test_a_head_width_that_the_text_config_omits_is_derived(tmp_path: Path) -> None:
    """The text-only class has a default of 128."""
    case = BY_NAME["glm4v"]
    case.build().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["text_config"].pop("head_dim", None)
    (tmp_path / "config.json").write_text(json.dumps(config))
    opened = open_folder(str(tmp_path))
    heads = opened.config["num_attention_heads"]
    assert opened.config["head_dim"] == opened.config["hidden_size"] // heads != 128
    assert load_model(EngineConfig(model=str(tmp_path), num_slots=64, device="cpu")).model
