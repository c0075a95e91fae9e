"""Text models whose class transformers has under another model type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers
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
from yaie.models.architecture.support import check_supported
from yaie.models.architecture.text_backbones import RENAMED
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


@pytest.mark.parametrize(
    ("config_class", "named"),
    [("InternLM3Config", "InternLM3ForCausalLM"), ("IQuestCoderConfig", "IQuestCoderForCausalLM")],
)
def test_llamas_of_another_model_type(config_class: str, named: str, tmp_path: Path) -> None:
    """transformers reads their configs by classes of their own, with defaults of their own."""
    if not hasattr(transformers, config_class):
        pytest.skip(f"transformers {transformers.__version__} has no {config_class} yet")
    settings = {key: value for key, value in COMMON.items() if key != "pad_token_id"}
    config = getattr(transformers, config_class)(**settings)
    oracle = random_model("LlamaForCausalLM", config)
    oracle.save_pretrained(tmp_path)  # type: ignore[operator]
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == config.model_type
    for names in ([named], ["LlamaForCausalLM"], None):
        edit_json(tmp_path / "config.json", architectures=names)
        assert same_logits(tmp_path, oracle)


def test_every_renamed_model_is_served() -> None:
    """Also those that transformers maps to a supported class."""
    mapped = {
        model_type
        for model_type, name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items()
        for entry in SUPPORTED
        if name == entry.architecture and model_type != entry.model_type
    }
    assert mapped - {"gpt-sw3"} <= set(RENAMED)  # that one is published as gpt2
    for model_type, (twin, name) in RENAMED.items():
        config = {"model_type": model_type, "architectures": [name]}
        assert check_supported(config).architecture == twin.architecture


@pytest.mark.integration
def test_kimi_k2_in_fp8(tmp_path: Path) -> None:
    """As published: with blocks of 128."""
    stored, wide = write_twins(DEEPSEEK, BLOCK.write, BLOCK.config, tmp_path)
    edit_json(stored / "config.json", **KIMI_K2)
    found, twin = (
        load_model(EngineConfig(model=str(folder), num_slots=64, device="cpu"))
        for folder in (stored, wide)
    )
    assert found.model is not None
    assert twin.model is not None
    twins = twin.model.state_dict()
    for name, weight in found.model.state_dict().items():
        assert torch.equal(weight, twins[name]), name


@pytest.mark.parametrize("named", ["DeepseekV3ForSequenceClassification", "Other"])
def test_other_classes_of_a_renamed_model_are_refused(named: str) -> None:
    with pytest.raises(ModelUnsupported, match=f"{named} cannot be served"):
        check_supported(KIMI_K2 | {"architectures": [named]})
    assert check_supported({"model_type": "kimi_k2"}).architecture == "DeepseekV3ForCausalLM"
