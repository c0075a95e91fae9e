"""Each supported family runs fused, or by transformers, as `docs/guides/gpu.md` says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conformance.case import Case
from tests.conformance.zoo import CASES
from tests.models.fused.test_decoder import logits_before_and_after
from tests.models.zoo_models import executor_of, load_case
from yaie.models.architecture.architectures import SUPPORTED
from yaie.models.fused.fused_decoder import build_fused_decoder
from yaie.models.fused.fused_structure import FusedParts, recognise_for_a_gpu
from yaie.models.fused.plain import PlainOperations
from yaie.models.native.decoder_structure import NotRecognised, OtherMlps, norm_of

DOCUMENT = Path(__file__).parents[3] / "docs" / "guides" / "gpu.md"
MODEL_TYPES = {entry.architecture: entry.model_type for entry in SUPPORTED}


def documented() -> dict[str, str]:
    """Return how the layers of each model type run, by the table of the document."""
    section = DOCUMENT.read_text().split("## The layers")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (fused|fused except MLPs|transformers) \|(.*)$", section, re.M)
    found = [(name, verdict) for verdict, rest in rows for name in re.findall(r"`(\w+)`", rest)]
    assert len(dict(found)) == len(found), "a family has two rows"
    return dict(found)


def verdict_of(parts: FusedParts) -> str:
    has_others = any(isinstance(layer.parts.mlp, OtherMlps) for layer in parts.layers)
    return "fused except MLPs" if has_others else "fused"


def parts_of(name: str, folder: Path) -> FusedParts:
    loaded = load_case(name, folder)
    return recognise_for_a_gpu(loaded.model, loaded.specs, loaded.max_model_len)


def test_the_document_has_every_family() -> None:
    on_cpus = {entry.model_type for entry in SUPPORTED if entry.recurrent}
    served = set(MODEL_TYPES.values())
    assert served - on_cpus <= set(documented()) <= served


def check_family(case: Case, folder: Path) -> None:
    expected = documented()[MODEL_TYPES[case.architecture]]
    loaded = load_case(case.name, folder)
    try:
        found = verdict_of(recognise_for_a_gpu(loaded.model, loaded.specs, loaded.max_model_len))
    except NotRecognised:
        assert build_fused_decoder(loaded, PlainOperations()) is None
        found = "transformers"
    assert found == expected
    if found == "transformers":
        return
    executor = executor_of(loaded)
    before, after = logits_before_and_after(executor)
    assert executor.name == "fused"
    torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["gemma3", "mixtral", "cohere"])
def test_a_family_runs_as_documented(name: str, tmp_path: Path) -> None:
    check_family(next(case for case in CASES if case.name == name), tmp_path)


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_family_runs_as_documented(case: Case, tmp_path: Path) -> None:
    check_family(case, tmp_path)


def test_layers_without_positions_and_tables_by_kind_are_found(tmp_path: Path) -> None:
    rotaries = [layer.heads.rotary for layer in parts_of("gemma3", tmp_path / "a").layers]
    assert rotaries[0] is not None and rotaries[1] is not None
    assert not torch.equal(rotaries[0].cosines, rotaries[1].cosines)
    assert rotaries[0].cosines.data_ptr() == rotaries[2].cosines.data_ptr()  # type: ignore[union-attr]
    rotaries = [layer.heads.rotary for layer in parts_of("cohere2", tmp_path / "b").layers]
    assert [rotary is None for rotary in rotaries] == [False, True, False, True]
    assert rotaries[0] is not None and rotaries[0].neighbours


def test_another_rotation_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.models.qwen3 import modeling_qwen3

    rotate = modeling_qwen3.apply_rotary_pos_emb
    loaded = load_case("qwen3", tmp_path)
    for name, wrong in {
        "backwards": lambda q, k, cos, sin: rotate(q, k, cos, -sin),
        "keys alone": lambda q, k, cos, sin: (q, rotate(q, k, cos, sin)[1]),
    }.items():
        monkeypatch.setattr(modeling_qwen3, "apply_rotary_pos_emb", wrong)
        with pytest.raises(NotRecognised, match="rotates in another way"):
            recognise_for_a_gpu(loaded.model, loaded.specs, loaded.max_model_len)
            pytest.fail(name)


def test_what_a_layer_has_besides_is_refused(tmp_path: Path) -> None:
    loaded = load_case("qwen3", tmp_path)
    model: Any = loaded.model
    layer = model.model.layers[1]

    def refused(match: str) -> None:
        with pytest.raises(NotRecognised, match=match):
            recognise_for_a_gpu(model, loaded.specs, loaded.max_model_len)

    layer.gain = torch.nn.Parameter(torch.ones(1))
    refused("has gain")
    del layer.gain
    layer.self_attn.gate_proj = torch.nn.Linear(2, 2)
    refused("gate_proj besides projections")
    del layer.self_attn.gate_proj
    layer.self_attn.sinks = torch.nn.Parameter(torch.ones(4))
    refused("sinks of layer 1")
    del layer.self_attn.sinks
    model.config.clip_qkv = 8.0
    refused("clipped")
    model.config.clip_qkv = None
    recognise_for_a_gpu(model, loaded.specs, loaded.max_model_len)


def test_norms_are_found_by_evaluating_them() -> None:
    layer_norm = torch.nn.LayerNorm(48, eps=1e-3)
    torch.nn.init.normal_(layer_norm.weight)
    torch.nn.init.normal_(layer_norm.bias)
    found = norm_of(layer_norm)
    assert found.centres and found.bias is not None and not found.is_rms
    assert (found.offset, found.epsilon) == (0.0, 1e-3)
    rms_norm = torch.nn.RMSNorm(48, eps=1e-3)
    assert norm_of(rms_norm).is_rms
    rms_norm.register_forward_hook(lambda module, inputs, output: output * 1.5)
    with pytest.raises(NotRecognised, match="neither an RMSNorm nor a layer norm"):
        norm_of(rms_norm)
