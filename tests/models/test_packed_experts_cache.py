"""Packed experts as cache files: a second start reads them, whatever became of the file."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.conformance.case import save
from tests.conformance.mixtures import MIXTURES
from yaie.base.settings import EngineConfig
from yaie.engine.execution import executor_loading
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.executor_loading import load_executor
from yaie.kernels.library_search import load
from yaie.models.load import loader, packed_experts
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.calibration_text import CalibrationText

BY_NAME = {case.name: case for case in MIXTURES}

pytestmark = pytest.mark.skipif(
    load() is None, reason="no kernel library: without a compiler torch serves"
)


# Mixtures that transformers runs: the native decoder saves its experts with its other weights.
@pytest.fixture(params=["deepseek-v3", "afmoe"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> EngineConfig:
    case = BY_NAME[request.param]
    save(case, case.build(), tmp_path / "model")
    return EngineConfig(
        model=str(tmp_path / "model"),
        num_slots=256,
        quantization="int4",
        weights_cache=str(tmp_path / "cache"),
    )


def start(config: EngineConfig) -> tuple[Executor, bool]:
    """Return an executor, and whether its packed weights were saved."""
    executor, writer = load_executor(config)
    if writer is not None:
        assert writer.wait(60)
    return executor, writer is not None


def logits_of(executor: Executor) -> torch.Tensor:
    return executor.execute(comparison_plan(executor.loaded))


def count_roundings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    kinds: list[str] = []
    round_one = packed_experts.quantize_weight

    def counted(weight: torch.Tensor, kind: str) -> Any:
        kinds.append(kind)
        return round_one(weight, kind)

    monkeypatch.setattr(packed_experts, "quantize_weight", counted)
    return kinds


def test_a_second_start_reads_them(config: EngineConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    roundings = count_roundings(monkeypatch)
    first, was_saved = start(config)
    assert was_saved and first.loaded.model is not None
    layers = [
        each
        for each in first.loaded.model.modules()
        if isinstance(each, packed_experts.PackedExperts)
    ]
    assert len(roundings) == 2 * sum(each.num_experts for each in layers)
    roundings.clear()
    second, was_saved = start(config)
    assert not was_saved
    assert len(roundings) == 2 * len(layers)  # the one of each layer that is compared
    assert torch.equal(logits_of(first), logits_of(second))
    assert second.loaded.metadata == first.loaded.metadata


@pytest.mark.parametrize("damage", ["header", "data"])
def test_a_damaged_file_is_replaced(
    config: EngineConfig, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    first, _ = start(config)
    (file,) = Path(config.weights_cache).iterdir()
    content = bytearray(file.read_bytes())
    content[40 if damage == "header" else len(content) // 2] ^= 1
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        second, was_saved = start(config)
    assert was_saved and "removed" in caplog.text
    assert torch.equal(logits_of(first), logits_of(second))
    assert not start(config)[1]


def test_a_damaged_file_in_a_read_only_folder_stops_no_start(
    config: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(config)
    (file,) = Path(config.weights_cache).iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"x")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError("a read-only folder")

    monkeypatch.setattr(Path, "unlink", refuse)
    start(config)


def test_the_file_of_another_model_is_not_used(
    config: EngineConfig, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first expert of each layer is compared, should two models ever share a key."""
    monkeypatch.setattr(executor_loading, "cache_key", lambda *_: "same")
    start(config)
    weights = Path(config.model) / "model.safetensors"
    save_file({name: -each for name, each in load_file(weights).items()}, weights)
    with caplog.at_level(logging.WARNING):
        assert start(config)[1]
    assert "its packed experts compute something else" in caplog.text


def test_experts_are_not_calibrated_unless_asked(
    config: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text through every expert took minutes, for a twentieth of the weights."""
    planned: list[CalibrationText] = []
    monkeypatch.setattr(loader, "plan_calibration", lambda model, text, *_: planned.append(text))
    for is_default in (True, False):
        text = CalibrationText((1, 2, 3), (), is_default=is_default)
        monkeypatch.setattr(loader, "read_calibration", lambda *_, text=text: text)
        load_executor(replace(config, weights_cache="off"))
    assert [each.is_default for each in planned] == [False]
