"""The version window, and the one line of error where FlashInfer cannot be used."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement
from packaging.version import Version

from tests.flashinfer.fake_layers import kind_with
from yaie.attention.flashinfer.loading import check_kind, load_modules
from yaie.attention.registry import choose_backend
from yaie.base.errors import ConfigError
from yaie.device import gpu_packages

CUDA = torch.device("cuda")
ROOT = Path(__file__).parents[2]


def pretend(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    monkeypatch.setattr(gpu_packages, "find_flashinfer_version", lambda: version)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (
            None,
            "FlashInfer is not installed; pip install 'flashinfer-python<0.8,>=0.7.2.post1'",
        ),
        ("0.6.18.post1", "FlashInfer 0.6.18.post1 is installed, but 0.7.2.post1 or newer"),
        ("0.7.2", "FlashInfer 0.7.2 is installed, but 0.7.2.post1 or newer"),
        ("0.8.0", "below 0.8 is needed; pip install 'flashinfer-python<0.8,"),
    ],
)
def test_an_unusable_version_is_refused_with_the_command_that_mends_it(
    monkeypatch: pytest.MonkeyPatch, version: str | None, said: str
) -> None:
    pretend(monkeypatch, version)
    with pytest.raises(ConfigError) as caught:
        choose_backend(CUDA, "flashinfer")
    assert said in caught.value.message
    assert "--attention-backend reference" in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("version", ["0.7.2.post1", "0.7.3", "0.7.99"])
def test_versions_of_the_window_are_accepted(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    pretend(monkeypatch, version)
    assert gpu_packages.check_flashinfer() is None


def test_the_extra_asks_for_the_same_window() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [Requirement(text) for text in project["optional-dependencies"]["gpu"]]
    (flashinfer,) = [each for each in wanted if each.name == gpu_packages.FLASHINFER_PACKAGE]
    lowest, highest = gpu_packages.LEAST_FLASHINFER, gpu_packages.FIRST_UNKNOWN_FLASHINFER
    assert {str(each) for each in flashinfer.specifier} == {f">={lowest}", f"<{highest}"}
    assert Version(lowest) in flashinfer.specifier


def test_it_serves_cuda_devices_only() -> None:
    with pytest.raises(ConfigError, match="the device is cpu"):
        choose_backend(torch.device("cpu"), "flashinfer")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"dtype": torch.float32}, "bfloat16 and float16, and dtype is float32"),
        ({"kv_dtype": torch.int8}, "it reads no pool of int8"),
        ({"kv_dtype": torch.float16}, "it reads no pool of float16"),
        ({"key_width": 80, "value_width": 80}, "its key heads are 80 wide"),
        ({"value_width": 128}, "its value heads 128"),
    ],
)
def test_a_model_that_it_cannot_compute_is_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_kind(kind_with(**fields))


def test_models_that_it_computes_pass() -> None:
    for width in (64, 128, 256):
        for kv_dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
            check_kind(kind_with(key_width=width, value_width=width, kv_dtype=kv_dtype))


def test_a_missing_module_is_one_line_that_says_what_to_install() -> None:
    def no_compiler(role: object, kind: object) -> object:
        raise RuntimeError("\nCould not find nvcc and default cuda_home does not exist\nmore")

    with pytest.raises(ConfigError) as caught:
        load_modules([kind_with()], no_compiler)  # type: ignore[arg-type]
    message = caught.value.message
    assert "lacks a module for heads of 64 in bfloat16" in message
    assert "Could not find nvcc" in message
    assert "install nvcc and set CUDA_HOME" in message
    assert "--attention-backend reference" in message
    assert "\n" not in message
