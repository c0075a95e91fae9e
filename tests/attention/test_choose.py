"""The choice of an attention backend without a kernel library."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from yaie.attention import choose
from yaie.attention.choose import choose_backend
from yaie.errors import ConfigError
from yaie.kernels import loader

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def no_library_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the loader and the warning, as in a new process."""
    monkeypatch.setattr(loader, "_loader", loader.Loader())
    choose.warn_of_torch.cache_clear()


def test_a_missing_library_is_one_warning_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(loader, "_loader", loader.Loader(loader.AUTO, prebuilt=Path("none")))
    for _ in range(3):  # chosen several times while a model is loaded
        assert choose_backend(CPU).name == "reference"
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "$CXX is 'no-such-compiler'" in record.message
    assert "YAIE_KERNELS=off" in record.message


def test_a_chosen_reference_backend_is_no_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(loader.VARIABLE, loader.OFF)
    assert choose_backend(CPU).name == "reference"
    assert choose_backend(CPU, "reference").name == "reference"
    assert not loader.status().loaded
    assert caplog.records == []


@pytest.mark.skipif(loader.load() is None, reason=loader.status().reason)
def test_backends_are_chosen_by_device_and_setting() -> None:
    assert choose_backend(CPU).name == "cpu"
    assert choose_backend(CPU, "cpu").name == "cpu"
    assert choose_backend(CPU, "reference").name == "reference"
    with pytest.raises(ConfigError, match="the device is cuda"):
        choose_backend(torch.device("cuda"), "cpu")


def test_triton_serves_a_gpu_that_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from yaie.attention.tree_decode import installed

    with pytest.raises(ConfigError, match="the device is cpu"):
        choose_backend(CPU, "triton")
    monkeypatch.setattr(installed, "version", lambda _: "3.5.1")
    assert str(installed.obstacle()).startswith("Triton 3.5.1 is installed, but 3.6 is needed")
    monkeypatch.setattr(installed, "version", lambda _: "3.6.0")
    assert installed.obstacle() is None
