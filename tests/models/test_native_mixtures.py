"""Mixtures in the native decoder: routers of all forms, kept experts, and a second start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conformance.case import Case, save
from tests.conformance.mixtures import MIXTURES
from tests.models.float_files import MXFP4, write_mxfp4, write_twins
from tests.models.test_native_decoder import needs_library
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.engine.execution.executor_loading import load_executor
from yaie.models.load.loader import load_model
from yaie.models.native import decoder_recognition
from yaie.models.native.decoder_structure import LayerFactors, NotRecognised
from yaie.models.native.native_structure import recognise_native
from yaie.models.native.numerics_check import comparison_plan

BY_NAME = {case.name: case for case in MIXTURES}
GROUPS = {"n_routed_experts": 12, "num_local_experts": 12, "num_experts_per_tok": 3}
ROUTERS = {
    "sigmoid": ("glm4-moe", {}),
    "scaled": ("glm4-moe", {"routed_scaling_factor": 2.5, "norm_topk_prob": False}),
    "groups": ("glm4-moe", {**GROUPS, "n_group": 4, "topk_group": 2}),
    "pairs": ("glm4-moe", {**GROUPS, "n_group": 6, "topk_group": 2, "routed_scaling_factor": 1.5}),
    "softmax": ("qwen3-moe", {"norm_topk_prob": False, "num_experts": 21}),
    "all": ("olmoe", {"num_experts_per_tok": 4}),
    "mixed layers": ("qwen2-moe", {"mlp_only_layers": [1]}),
}
MORE = [
    "dots1",
    "exaone-moe",
    "granite-moe",
    "granite-moe-shared",
    "hy-v3",
    "mellum",
    "mimo-v2",
    "minimax-m2",
    "solar-open",
]


def build(name: str, **settings: Any) -> tuple[Case, torch.nn.Module]:
    """Return a mixture whose biases of choice decide some choices."""
    case = BY_NAME[name]
    case = Case(name, case.architecture, "", {**case.settings, **settings})
    model = case.build()
    torch.manual_seed(7)
    for part, buffer in model.named_buffers():
        if part.endswith("e_score_correction_bias"):
            buffer.copy_(torch.randn_like(buffer) * 0.2)
    return case, model


def check(folder: Path, name: str, **settings: Any) -> None:
    save(*build(name, **settings), folder)
    config = EngineConfig(model=str(folder), num_slots=256)
    loaded = load_model(config)
    plan = comparison_plan(loaded)
    expected = choose_executor(loaded, may_pack=False).execute(plan)
    executor = choose_executor(load_model(config))
    assert executor.name == "native"
    torch.testing.assert_close(executor.execute(plan), expected, atol=1e-4, rtol=1e-4)


@needs_library
@pytest.mark.parametrize("form", ROUTERS)
def test_routers_choose_as_in_transformers(form: str, tmp_path: Path) -> None:
    name, settings = ROUTERS[form]
    check(tmp_path, name, **settings)


@needs_library
@pytest.mark.integration
@pytest.mark.parametrize("name", MORE)
def test_more_families(name: str, tmp_path: Path) -> None:
    check(tmp_path, name)


@needs_library
def test_routers_in_float32_serve_rows_in_bfloat16(tmp_path: Path) -> None:
    """Transformers keeps the router of GLM-4.5 in float32."""
    save(*build("glm4-moe", n_shared_experts=1), tmp_path)
    config = EngineConfig(model=str(tmp_path), num_slots=256, dtype="bfloat16")
    loaded: Any = load_model(config)
    gate = loaded.model.model.layers[1].mlp.gate
    assert gate.weight.dtype is torch.float32
    assert choose_executor(loaded).name == "native"


@pytest.mark.parametrize("part", ["mlp", "mlp.gate"])
def test_a_mixture_that_does_not_run_alone_is_not_recognised(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, model = build("qwen3-moe")

    def fail(*each: Any) -> Any:
        raise RuntimeError("expected more")

    monkeypatch.setattr(type(model.get_submodule(f"model.layers.0.{part}")), "forward", fail)
    with pytest.raises(NotRecognised, match=r"does not run alone|another router"):
        recognise_native(model)


@needs_library
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_softplus_gates_stay_with_transformers(dtype: str, tmp_path: Path) -> None:
    """Gates of the kernel library are sigmoids."""
    save(*build("laguna", num_attention_heads_per_layer=[4] * 4), tmp_path)
    loaded = load_model(EngineConfig(model=str(tmp_path), num_slots=256, dtype=dtype))
    executor = choose_executor(loaded)
    assert executor.name == "transformers"
    assert executor.reason.endswith("LagunaAttention computes more than its parts")


@needs_library
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_factor_in_attention_is_noticed(
    dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logits of a mixture in 16 bits may be off by less than they are by a few experts."""
    save(*build("mimo-v2"), tmp_path)
    loaded: Any = load_model(EngineConfig(model=str(tmp_path), num_slots=256, dtype=dtype))
    factors = LayerFactors()
    monkeypatch.setattr(decoder_recognition, "_factors_of", lambda *modules: factors)
    executor = choose_executor(loaded)
    assert executor.name == "transformers"
    assert "MiMoV2FlashAttention computes more" in executor.reason


def test_a_mixture_that_computes_more_is_not_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    _, model = build("qwen3-moe")
    block: Any = type(model.model.layers[0].mlp)  # type: ignore[union-attr, index]
    forward = block.forward
    monkeypatch.setattr(block, "forward", lambda *each: 2 * forward(*each))
    with pytest.raises(NotRecognised, match="computes more than its parts"):
        recognise_native(model)


def test_a_router_of_another_form_is_not_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    _, model = build("qwen3-moe")
    router: Any = type(model.model.layers[0].mlp.gate)  # type: ignore[union-attr, index]
    forward = router.forward

    def squared(*each: Any) -> Any:
        logits, weights, ids = forward(*each)
        return logits, weights**2, ids

    monkeypatch.setattr(router, "forward", squared)
    with pytest.raises(NotRecognised, match="another router"):
        recognise_native(model)


@needs_library
@pytest.mark.parametrize("kind", ["int4", "mxfp4", None])
def test_a_second_start_restores_a_mixture(kind: str | None, tmp_path: Path) -> None:
    model, settings = tmp_path / "model", {}
    if kind == "mxfp4":
        model, _ = write_twins(BY_NAME["gpt-oss"], write_mxfp4, MXFP4, model, only=".experts.")
    else:
        save(*build("qwen2-moe"), model)
        settings = {"quantization": kind}
    config = EngineConfig(
        model=str(model), num_slots=256, weights_cache=str(tmp_path / "cache"), **settings
    )  # fmt: skip
    first, writer = load_executor(config)
    assert first.name == "native" and writer is not None and writer.wait(60)
    plan = comparison_plan(first.loaded)
    second, writer = load_executor(config)
    assert second.name == "native" and writer is None and second.loaded.model is None
    assert torch.equal(first.execute(plan), second.execute(plan))
    assert first.loaded.metadata == second.loaded.metadata
