"""The doctor on machines with a GPU and something missing: the line names the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from yaie.cli import gpu_checks
from yaie.cli.gpu_checks import Result
from yaie.device import gpu_packages


@pytest.fixture
def gpu_machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(gpu_checks, "has_device", lambda: True)
    return monkeypatch


@pytest.mark.parametrize(
    "check",
    [
        gpu_checks.check_torch_and_driver,
        gpu_checks.check_flashinfer,
        gpu_checks.check_modules,
        gpu_checks.check_triton,
    ],
)
def test_without_a_device_nothing_is_missing(
    monkeypatch: pytest.MonkeyPatch, check: Callable[[], Result]
) -> None:
    monkeypatch.setattr(gpu_checks, "has_device", lambda: False)
    assert check()[0] == "ok"


def test_a_cpu_build_of_torch(gpu_machine: pytest.MonkeyPatch) -> None:
    gpu_machine.setattr(torch.version, "cuda", None)
    status, detail = gpu_checks.check_torch_and_driver()
    assert status == "warning"
    assert "is a CPU build; pip install --force-reinstall torch" in detail


def test_a_missing_driver(gpu_machine: pytest.MonkeyPatch) -> None:
    gpu_machine.setattr(torch.version, "cuda", "13.0")
    gpu_machine.setattr(torch.cuda, "is_available", lambda: False)
    status, detail = gpu_checks.check_torch_and_driver()
    assert status == "warning"
    assert "a driver for CUDA 13.0" in detail


@pytest.mark.parametrize("found", [None, "0.6.0", "0.9.1"])
def test_an_unusable_flashinfer(gpu_machine: pytest.MonkeyPatch, found: str | None) -> None:
    gpu_machine.setattr(gpu_packages, "find_flashinfer_version", lambda: found)
    status, detail = gpu_checks.check_flashinfer()
    assert status == "warning"
    assert "pip install 'flashinfer-python<" in detail


def test_neither_nvcc_nor_prebuilt_modules(gpu_machine: pytest.MonkeyPatch) -> None:
    gpu_machine.setattr(gpu_checks, "find_nvcc", lambda: None)
    gpu_machine.setattr(gpu_checks, "_prebuilt_modules", lambda: 0)
    status, detail = gpu_checks.check_modules()
    assert status == "warning"
    assert "pip install nvidia-cuda-nvcc" in detail
    assert "CUDA_HOME" in detail
    gpu_machine.setattr(gpu_checks, "_prebuilt_modules", lambda: 3)
    assert gpu_checks.check_modules() == (
        "ok",
        "3 prebuilt modules of FlashInfer; no nvcc for others",
    )


def test_nvcc_is_found_in_cuda_home_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "bin/nvcc"
    compiler.parent.mkdir()
    compiler.touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert gpu_checks.find_nvcc() == compiler
