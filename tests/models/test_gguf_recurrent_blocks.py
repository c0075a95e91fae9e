"""GGUF files of models with recurrent layers: their projections stay in the file's blocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models.gguf_recurrent_twins import RECURRENT_TWINS
from tests.models.gguf_twins import Twin
from tests.models.test_gguf_kept_blocks import load, random_tensor, relative_error
from tests.models.test_native_decoder import needs_library
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.quantized_weights import QuantizedLinear

# Two value heads of a key head share the 256 columns of a block.
WIDE: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 256}
DELTA_NET = {"linear_key_head_dim": 128, "linear_value_head_dim": 128}
MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 64}
FALCON = {"mamba_d_ssm": 256, "mamba_n_heads": 4, "mamba_d_head": 64}
NEMOTRON = {"mamba_num_heads": 4, "mamba_head_dim": 64}
EXPERTS = {"shared_intermediate_size": 256}
_BY_DEFAULT = {"qwen35", "lfm2"}


def wide_twins() -> list[Any]:
    settings = {
        "qwen35": DELTA_NET,
        "qwen3next": DELTA_NET
        | {"moe_intermediate_size": 256, "shared_expert_intermediate_size": 256},
        "lfm2": {},
        "nemotron_h": NEMOTRON,
        "granitehybrid": MAMBA | EXPERTS,
        "falcon-h1": FALCON,
    }
    found = []
    for architecture, own in settings.items():
        twin = next(each for each in RECURRENT_TWINS if each.architecture == architecture)
        wide = replace(twin, settings={**twin.settings, **WIDE, **own})
        marks = () if architecture in _BY_DEFAULT else pytest.mark.integration
        found.append(pytest.param(wide, id=architecture, marks=marks))
    return found


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "yaie.models.files.gguf.hf_folder.cache_folder", lambda name: tmp_path / name
    )


def write(twin: Twin, path: Path, kind: str) -> tuple[Path, int]:
    """Write a file with random blocks in its matrices; return the bytes of its tensors."""
    model = twin.build()
    tensors: dict[str, Any] = {}
    nbytes = 0
    for name, values in twin.tensors(model).items():
        is_matrix = values.ndim == 2 and values.shape[1] % 256 == 0 and "ssm_norm" not in name
        tensors[name] = random_tensor(kind, values.shape) if is_matrix else values
        nbytes += len(tensors[name].data) if is_matrix else values.nbytes
    return twin.write(path, model, **tensors), nbytes


@needs_library
@pytest.mark.parametrize("twin", wide_twins())
def test_projections_stay_in_the_blocks_of_the_file(
    twin: Twin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, nbytes = write(twin, tmp_path / "model.gguf", "Q4_K")
    loaded, decoded = load(path), load(path, dtype="float32")
    assert loaded.model is not None and decoded.model is not None
    linears = {n: m for n, m in loaded.model.named_modules() if isinstance(m, QuantizedLinear)}
    for name, module in linears.items():
        assert module.quantized is not None
        expected = decoded.model.get_submodule(name).weight
        assert torch.equal(module.quantized.dequantize(torch.float32), expected), name
    mixers = [name for name in linears if name.endswith(("out_proj", "o_proj"))]
    assert len(mixers) >= 2
    assert loaded.metadata.quantization == "Q4_K"
    assert loaded.metadata.planned_weight_bytes <= 1.2 * nbytes
    executors = [choose_executor(each) for each in (loaded, decoded)]
    found, expected = (each.execute(comparison_plan(loaded)) for each in executors)
    assert relative_error(found, expected) < 0.05
    assert "are held as" not in caplog.text
