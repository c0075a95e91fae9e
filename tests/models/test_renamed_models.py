"""Text models whose class transformers has under another model type."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.conformance.case import save
from tests.conformance.zoo import CASES
from tests.models.float_files import BLOCK, write_twins
from tests.models.folders import edit_json
from tests.models.test_wrappers import same_logits
from yaie.cli.models import inspect_model
from yaie.config import EngineConfig
from yaie.errors import ModelUnsupported
from yaie.models.loader import load_model
from yaie.models.support import check_supported

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
