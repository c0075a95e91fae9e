"""Layers behind the last one, for drafts: they are unread, and memory figures leave them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.conformance.case import Case
from tests.conformance.wrapped import WRAPPED
from tests.conformance.zoo import CASES
from tests.models.float_files import UNEVEN, write_twins
from tests.models.test_wrappers import same_logits
from yaie.base.settings import EngineConfig
from yaie.cli.models import inspect_model
from yaie.models.files.checkpoint import SINGLE
from yaie.models.load.loader import load_model

BY_NAME: dict[str, Case] = {case.name: case for case in (*CASES, *WRAPPED)}


def add_a_layer(folder: Path) -> int:
    """Add a copy of the last layer behind it; return the number of parameters before."""
    weights = load_file(folder / SINGLE)
    count = sum(weight.numel() for weight in weights.values())
    for name, weight in list(weights.items()):
        if ".layers.3." in name:
            weights[name.replace(".layers.3.", ".layers.4.")] = weight.clone()
    assert sum(weight.numel() for weight in weights.values()) > 1.1 * count
    save_file(weights, folder / SINGLE, metadata={"format": "pt"})
    return count


@pytest.mark.parametrize(
    "name", ["glm4-moe-lite", pytest.param("glm4v-moe", marks=pytest.mark.integration)]
)
def test_of_a_plain_checkpoint(name: str, tmp_path: Path) -> None:
    oracle: Any = BY_NAME[name].build()
    oracle.save_pretrained(tmp_path)
    is_plain = name == "glm4-moe-lite"
    count = add_a_layer(tmp_path)
    loaded = load_model(EngineConfig(model=str(tmp_path), num_slots=64, device="cpu"))
    if is_plain:
        listed = inspect_model("x", tmp_path)
        assert (listed.num_parameters, listed.nbytes) == (count, 4 * count)
        assert loaded.metadata.planned_weight_bytes == 4 * count
    num_parameters = loaded.metadata.num_parameters
    assert loaded.metadata.planned_weight_bytes == pytest.approx(4 * num_parameters, rel=0.001)
    assert same_logits(tmp_path, oracle)


def test_of_a_checkpoint_in_fp8(tmp_path: Path) -> None:
    stored, wide = write_twins(BY_NAME["deepseek-v3"], UNEVEN.write, UNEVEN.config, tmp_path)
    add_a_layer(stored)
    found, twin = (
        load_model(EngineConfig(model=str(folder), num_slots=64, device="cpu"), may_pack=False)
        for folder in (stored, wide)
    )
    assert found.metadata.planned_weight_bytes == pytest.approx(
        twin.metadata.planned_weight_bytes, rel=0.02
    )
    assert found.model is not None
    assert twin.model is not None
    twins = twin.model.state_dict()
    for name, weight in found.model.state_dict().items():
        assert torch.equal(weight, twins[name]), name
