"""The packed decoder computes what transformers computes, and is left alone where it would not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.conformance.zoo import CASES, save
from yaie.bench.attention import Workload
from yaie.bench.exact import step_of
from yaie.config import EngineConfig
from yaie.engine.runner import ModelRunner
from yaie.kernels.loader import load
from yaie.models.loader import LoadedModel, load_model
from yaie.models.rewrites import decoder as rewrite
from yaie.models.rewrites.decoder import DecoderDiffers, comparison_plan
from yaie.models.rewrites.structure import NotRecognised, recognise

_CASES = {case.name: case for case in CASES}
RECOGNISED = [
    "llama",
    "llama-mha",
    "llama-tied",
    "llama-linear",
    "llama-llama3",
    "llama-yarn",
    "mistral",
    "mistral-window",
    "qwen2",
    "qwen3",
    "smollm3",
    "granite",
    "phi3",
    "seed-oss",
]
OTHERS = ["gemma2", "gpt2", "gpt-oss", "olmo2", "qwen3-moe", "cohere2", "opt", "glm", "ernie4-5"]

needs_library = pytest.mark.skipif(
    load() is None, reason="no kernel library: there is no compiler here, and torch serves"
)


def load_case(name: str, folder: Path, **settings: object) -> LoadedModel:
    save(_CASES[name], _CASES[name].build(), folder)
    return load_model(EngineConfig(model=str(folder), num_slots=256, **settings))  # type: ignore[arg-type]


def logits_of(loaded: LoadedModel, **settings: object) -> torch.Tensor:
    runner = ModelRunner(loaded, **settings)  # type: ignore[arg-type]
    return runner.execute(comparison_plan(loaded))


@pytest.mark.parametrize("name", RECOGNISED)
def test_structure_is_recognised(name: str) -> None:
    assert len(recognise(_CASES[name].build()).layers) > 0


@pytest.mark.parametrize("name", OTHERS)
def test_other_structures_are_left_alone(name: str) -> None:
    with pytest.raises(NotRecognised):
        recognise(_CASES[name].build())


@needs_library
@pytest.mark.parametrize("name", RECOGNISED)
def test_equals_transformers_in_float32(name: str, tmp_path: Path) -> None:
    expected = logits_of(load_case(name, tmp_path), native_decoder=False)
    loaded = load_case(name, tmp_path)
    runner = ModelRunner(loaded)
    assert runner.has_native_decoder
    found = runner.execute(comparison_plan(loaded))
    torch.testing.assert_close(found, expected, atol=5e-5, rtol=5e-5)


@needs_library
@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3", "granite", "phi3"])
def test_bfloat16_is_nearer_to_float32_than_transformers_is(name: str, tmp_path: Path) -> None:
    """The library rounds weights, keys and values; transformers rounds after each operation too.

    Where the processor multiplies bf16 numbers, the library rounds what linear layers read as well.
    Models as small as these feel that as much as the rest: then they are about as near.
    """
    settings = {"dtype": "bfloat16"}
    rounded = logits_of(load_case(name, tmp_path, **settings), native_decoder=False)
    found = logits_of(load_case(name, tmp_path, **settings))
    truth = _float32_of_rounded_weights(name, tmp_path)
    library = load()
    assert library is not None
    limit = 1.1 if library.instruction_set in ("amx", "bf16") else 1.0
    assert (found - truth).norm() < limit * (rounded - truth).norm()


def _float32_of_rounded_weights(name: str, folder: Path) -> torch.Tensor:
    model = _CASES[name].build().to(torch.bfloat16).float()
    save(_CASES[name], model, folder)
    return logits_of(load_model(EngineConfig(model=str(folder), num_slots=256)))


@needs_library
@pytest.mark.parametrize("quantization", [None, "int8"])
def test_a_step_of_many_rows_rounds_little_more(quantization: str | None) -> None:
    """What so many rows write between linear layers is bf16 where the processor multiplies that."""
    plan = step_of(Workload("", sequences=17, shared=0, own=128, rows=128))
    assert plan.num_rows * 8 * 32 * 4 >= 2 * 2**20  # bytes of queries in float32

    def logits(exact: bool, **settings: object) -> torch.Tensor:
        config = EngineConfig(num_slots=plan.num_rows, **settings)  # type: ignore[arg-type]
        return ModelRunner(load_model(config), exact=exact).execute(plan).clone()

    # Weights of the built-in model are bf16 numbers in either.
    truth = logits(exact=False, dtype="float32", quantization=quantization)
    settings = {"dtype": "bfloat16", "quantization": quantization}
    found, unrounded = logits(exact=False, **settings), logits(exact=True, **settings)
    assert torch.isfinite(found).all()
    assert (found - truth).norm() < 1.25 * (unrounded - truth).norm()
    library = load()
    assert library is not None
    if library.instruction_set in ("amx", "bf16"):
        assert not torch.equal(found, unrounded)  # or nothing was rounded


@needs_library
def test_originals_are_freed(tmp_path: Path) -> None:
    loaded = load_case("llama-tied", tmp_path)
    before = sum(p.numel() for p in loaded.model.parameters())
    runner = ModelRunner(loaded)
    assert runner.has_native_decoder
    assert sum(p.numel() for p in loaded.model.parameters()) < before / 20


@needs_library
def test_one_that_differs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrite, "_gated", lambda name: rewrite.GATED["gelu"])  # a wrong one
    with pytest.raises(DecoderDiffers, match="off by"):
        ModelRunner(load_case("llama", tmp_path))


@needs_library
def test_the_engine_then_runs_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from yaie.engine.core import EngineCore

    save(_CASES["llama"], _CASES["llama"].build(), tmp_path)
    monkeypatch.setattr(rewrite, "_gated", lambda name: rewrite.GATED["gelu"])
    core = EngineCore(EngineConfig(model=str(tmp_path), num_slots=256))
    assert core.info.execution == "transformers"
    assert "off by" in caplog.text


def test_without_the_library_transformers_runs(tmp_path: Path) -> None:
    runner = ModelRunner(load_case("llama", tmp_path), "reference")
    assert not runner.has_native_decoder


def test_loading_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from yaie.models.builtin import BUILTIN_MODEL_DIR

    load_model(EngineConfig(model=str(BUILTIN_MODEL_DIR), num_slots=64))
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""
