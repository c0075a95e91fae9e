"""Text models whose class transformers has under another model type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import save_file
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from tests.conformance.case import COMMON, random_model, save
from tests.conformance.zoo import CASES
from tests.models.float_files import BLOCK, write_twins
from tests.models.folders import edit_json
from tests.models.test_wrappers import same_logits
from yaie.base.errors import ModelUnsupported
from yaie.base.settings import EngineConfig
from yaie.cli.models import inspect_model
from yaie.models.architecture.architectures import SUPPORTED
from yaie.models.architecture.support import check_supported, longest_context
from yaie.models.architecture.text_backbones import RENAMED, WRAPPERS
from yaie.models.architecture.text_weights import renamed_checkpoint
from yaie.models.files.checkpoint import SINGLE, read_checkpoint
from yaie.models.load.loader import load_model

DEEPSEEK = next(case for case in CASES if case.name == "deepseek-v3")
KIMI_K2 = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"},
    "model_type": "kimi_k2",
}


def test_kimi_k2_is_deepseek_v3(tmp_path: Path) -> None:
    oracle = DEEPSEEK.build()
    save(DEEPSEEK, oracle, tmp_path)
    edit_json(tmp_path / "config.json", **KIMI_K2)
    assert same_logits(tmp_path, oracle)
    found = inspect_model("x", tmp_path)
    assert (found.architecture, found.refused) == ("DeepseekV3ForCausalLM", "")


_EXPERTS = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
_LATENT = {
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
    "num_key_value_heads": 4,
    "head_dim": 8,
}


@pytest.mark.parametrize(
    ("config_class", "named", "settings"),
    [
        ("InternLM3Config", "InternLM3ForCausalLM", {}),
        ("IQuestCoderConfig", "IQuestCoderForCausalLM", {}),
        ("ExaoneConfig", "ExaoneForCausalLM", {}),
        ("SarvamMoEConfig", "SarvamMoEForCausalLM", _EXPERTS),
        ("SarvamMLAConfig", "SarvamMLAForCausalLM", {**_EXPERTS, **_LATENT}),
    ],
)
def test_classes_of_another_model_type(
    config_class: str, named: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    """transformers reads their configs by classes of their own, with defaults of their own.

    It saves the weights under the names in which they were published.
    """
    if not hasattr(transformers, config_class):
        pytest.skip(f"transformers {transformers.__version__} has no {config_class} yet")
    common = {key: value for key, value in COMMON.items() if key != "pad_token_id"}
    config = getattr(transformers, config_class)(**{**common, **settings})
    twin = RENAMED[config.model_type].twin.architecture
    oracle = random_model(twin, config)
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == config.model_type
    for names in ([named], [twin], None):
        edit_json(tmp_path / "config.json", architectures=names)
        assert same_logits(tmp_path, oracle)


def test_published_settings_of_renamed_models(tmp_path: Path) -> None:
    """EXAONE has other names of settings, Sarvam's long model another name of yarn."""
    if "exaone" not in CONFIG_MAPPING:
        pytest.skip(f"transformers {transformers.__version__} has no ExaoneConfig yet")
    common = {key: value for key, value in COMMON.items() if key != "pad_token_id"}
    oracle = random_model("LlamaForCausalLM", transformers.ExaoneConfig(**common))
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    for ours, theirs in (
        ("num_hidden_layers", "num_layers"),
        ("rms_norm_eps", "layer_norm_epsilon"),
        ("hidden_act", "activation_function"),
    ):
        config[theirs] = config.pop(ours)
    path.write_text(json.dumps(config | {"architectures": ["ExaoneForCausalLM"]}))
    assert same_logits(tmp_path, oracle)
    scaling = {"type": "deepseek_yarn", "factor": 40, "original_max_position_embeddings": 4096}
    yarn = {
        "model_type": "sarvam_mla",
        "max_position_embeddings": 131072,
        "rope_scaling": scaling,
    }
    assert check_supported(yarn).architecture == "DeepseekV3ForCausalLM"
    assert longest_context(yarn) == 163840


def test_joined_projections_in_another_form_are_refused(tmp_path: Path) -> None:
    tensor = "model.layers.0.attention.query_key_value.weight_scale"
    save_file({tensor: torch.ones(8, 1), "lm_head.weight": torch.ones(2, 2)}, tmp_path / SINGLE)
    config = {"model_type": "sarvam_moe", "num_attention_heads": 4, "num_key_value_heads": 2}
    with pytest.raises(ModelUnsupported, match=f"joined projections.*{tensor}"):
        renamed_checkpoint(tmp_path, read_checkpoint(tmp_path), config)


def test_every_renamed_model_is_served() -> None:
    """Also those that transformers maps to a supported class."""
    mapped = {
        model_type
        for model_type, name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items()
        for entry in SUPPORTED
        if name == entry.architecture and model_type != entry.model_type
    }
    wrappers = {wrapper.model_type for wrapper in WRAPPERS}  # the text is in a config of its own
    assert mapped - wrappers - {"gpt-sw3"} <= set(RENAMED)  # that one is published as gpt2
    for model_type, renamed in RENAMED.items():
        config = {"model_type": model_type, "architectures": [renamed.name]}
        if not renamed.since or model_type in CONFIG_MAPPING:
            assert check_supported(config).architecture == renamed.twin.architecture
            continue
        with pytest.raises(ModelUnsupported, match=f"transformers {renamed.since} or newer"):
            check_supported(config)


@pytest.mark.integration
def test_kimi_k2_in_fp8(tmp_path: Path) -> None:
    """As published: with blocks of 128."""
    stored, wide = write_twins(DEEPSEEK, BLOCK.write, BLOCK.config, tmp_path)
    edit_json(stored / "config.json", **KIMI_K2)
    found, twin = (
        load_model(EngineConfig(model=str(folder), num_slots=64, device="cpu"), may_pack=False)
        for folder in (stored, wide)
    )
    assert found.model is not None
    assert twin.model is not None
    twins = twin.model.state_dict()
    for name, weight in found.model.state_dict().items():
        assert torch.equal(weight, twins[name]), name


@pytest.mark.parametrize("named", ["DeepseekV3ForSequenceClassification", "Other"])
def test_other_classes_of_a_renamed_model_are_refused(named: str) -> None:
    with pytest.raises(ModelUnsupported, match=f"{named} .*cannot be served"):
        check_supported(KIMI_K2 | {"architectures": [named]})
    assert check_supported({"model_type": "kimi_k2"}).architecture == "DeepseekV3ForCausalLM"
