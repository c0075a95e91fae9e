"""Checkpoints in fp8 keep their bytes and scales on a GPU; the CPU stands for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.conformance.case import Case
from tests.conformance.zoo import CASES
from tests.models.float_files import BLOCK, FORMS, UNEVEN, Float8, write_twins
from tests.models.quantized_device.test_models import (
    as_on_a_gpu,  # noqa: F401
    held,
    load,
    logits_before_and_after_fusion,
    planned,  # noqa: F401
)
from tests.models.test_nvfp4_weights import OF_MODELOPT, RARER
from yaie.base.errors import ModelUnsupported
from yaie.models.files.checkpoint import read_checkpoint, read_config
from yaie.models.quantization.checkpoint_layers import read_stored_layout
from yaie.models.quantization.device.linear import DeviceLinear

CASE = Case("wide", "LlamaForCausalLM", "", {"hidden_size": 256, "intermediate_size": 384})
FORM = {form.name: form for form in FORMS}
KEPT = [BLOCK, FORM["static, older"]]
MORE = [form for form in (*FORMS, *RARER) if form not in (*KEPT, UNEVEN)]


@pytest.mark.parametrize(
    "form",
    [*KEPT, *(pytest.param(form, marks=pytest.mark.integration) for form in MORE)],
    ids=str,
)
def test_fp8_stays_fp8(form: Float8, tmp_path: Path, planned: list[int]) -> None:  # noqa: F811
    stored, wide = write_twins(CASE, form.write, form.config, tmp_path)
    loaded = load(stored)
    assert loaded.model is not None
    twins = load_file(wide / "model.safetensors")  # each value times its scale, rounded once
    layers = {n: m for n, m in loaded.model.named_modules() if isinstance(m, DeviceLinear)}
    assert len(layers) == 7 * CASE.config().num_hidden_layers
    for name, layer in layers.items():
        assert torch.equal(layer.packed.dequantize(torch.bfloat16), twins[f"{name}.weight"])
    assert loaded.metadata.quantization == "fp8"
    assert loaded.metadata.weight_bytes == held(loaded.model)
    assert planned[0] == pytest.approx(held(loaded.model), rel=0.02)  # scales may be narrowed
    before, after = logits_before_and_after_fusion(loaded)
    torch.testing.assert_close(after, before, atol=1e-4, rtol=1e-4)


def test_uneven_blocks_experts_and_other_types_are_widened(tmp_path: Path) -> None:
    mixture = next(case for case in CASES if case.name == "qwen3-moe")
    for case, form, reason in (
        (CASE, UNEVEN, "blocks of uneven size"),
        (mixture, BLOCK, "experts and their routers"),
        (CASE, OF_MODELOPT, "no kernel computes in nvfp4"),
    ):
        stored, _ = write_twins(case, form.write, form.config, tmp_path / reason)
        checkpoint = read_checkpoint(stored)
        layout = read_stored_layout(read_config(stored), checkpoint, on_gpu=True)
        assert layout is not None and reason in layout.dequantized


def test_values_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    stored, _ = write_twins(CASE, BLOCK.write, BLOCK.config, tmp_path)
    tensors = load_file(stored / "model.safetensors")
    name = "model.layers.1.mlp.up_proj"
    tensors[f"{name}.weight"].view(torch.uint8)[3, 3] = 0xFF
    save_file(tensors, stored / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnsupported, match=f"{name} .* not finite"):
        load(stored)
