"""The choice of an attention backend without a kernel library."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from yaie.attention import registry
from yaie.attention.registry import choose_backend
from yaie.base.errors import ConfigError
from yaie.kernels import library_search

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.fixture(autouse=True)
def no_library_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the loader and the warning, as in a new process."""
    monkeypatch.setattr(library_search, "_loader", library_search.LibraryLoader())
    registry.warn_of_torch.cache_clear()
    registry._log_once.cache_clear()


def test_a_missing_library_is_one_warning_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(
        library_search,
        "_loader",
        library_search.LibraryLoader(library_search.AUTO, prebuilt=Path("none")),
    )
    for _ in range(3):  # chosen several times while a model is loaded
        assert choose_backend(CPU).name == "reference"
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "$CXX is 'no-such-compiler'" in record.message
    assert "YAIE_KERNELS=off" in record.message


def test_a_chosen_reference_backend_is_no_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(library_search.VARIABLE, library_search.OFF)
    assert choose_backend(CPU).name == "reference"
    assert choose_backend(CPU, "reference").name == "reference"
    assert not library_search.status().loaded
    assert caplog.records == []


@pytest.mark.skipif(library_search.load() is None, reason=library_search.status().reason)
def test_backends_are_chosen_by_device_and_setting() -> None:
    assert choose_backend(CPU).name == "cpu"
    assert choose_backend(CPU, "cpu").name == "cpu"
    assert choose_backend(CPU, "reference").name == "reference"
    with pytest.raises(ConfigError, match="the device is cuda"):
        choose_backend(torch.device("cuda"), "cpu")


def test_triton_serves_a_gpu_that_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from yaie.device import gpu_packages

    with pytest.raises(ConfigError, match="the device is cpu"):
        choose_backend(CPU, "triton")
    monkeypatch.setattr(gpu_packages, "version", lambda _: "3.5.1")
    reason = gpu_packages.check_triton()
    assert str(reason).startswith("Triton 3.5.1 is installed, but 3.6 is needed")
    monkeypatch.setattr(gpu_packages, "version", lambda _: "3.6.0")
    assert gpu_packages.check_triton() is None


class Fake:
    """A backend that exists by name."""

    def __init__(self, name: str) -> None:
        self.name = name


@pytest.fixture
def gpu_packages(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """Return the obstacles of FlashInfer and Triton, to be changed; backends are fakes."""
    obstacles: dict[str, str | None] = {"flashinfer": None, "triton": None}
    rows = [
        replace(
            row,
            obstacle=lambda name=row.name: obstacles[name],
            make=lambda device, exact, name=row.name: Fake(name),
            make_automatic=(lambda device: Fake("flashinfer+triton"))
            if row.make_automatic
            else None,
        )
        if row.device == "cuda"
        else row
        for row in registry._TABLE
    ]
    monkeypatch.setattr(registry, "_TABLE", tuple(rows))
    return obstacles


@pytest.mark.parametrize(
    ("obstacles", "expected", "said"),
    [
        ({}, "flashinfer+triton", []),
        (
            {"flashinfer": "no FlashInfer"},
            "triton",
            ["triton computes attention: no FlashInfer"],
        ),
        (
            {"flashinfer": "no FlashInfer", "triton": "no Triton"},
            "reference",
            [
                f"torch computes attention, several times slower: no {each}"
                for each in ("FlashInfer", "Triton")
            ],
        ),
    ],
)
def test_auto_falls_back_on_a_gpu_and_says_why(
    gpu_packages: dict[str, str | None],
    caplog: pytest.LogCaptureFixture,
    obstacles: dict[str, str],
    expected: str,
    said: list[str],
) -> None:
    gpu_packages.update(obstacles)
    for _ in range(2):  # chosen several times while a model is loaded
        assert choose_backend(CUDA).name == expected
    assert [record.message for record in caplog.records] == [
        f"{text} (see `yaie doctor`)" for text in said
    ]
    assert {record.levelname for record in caplog.records} <= {"WARNING"}


def test_a_named_backend_is_alone(gpu_packages: dict[str, str | None]) -> None:
    assert choose_backend(CUDA, "flashinfer").name == "flashinfer"
    assert choose_backend(CUDA, "triton").name == "triton"
    gpu_packages["flashinfer"] = "no FlashInfer"
    with pytest.raises(ConfigError, match="no FlashInfer"):
        choose_backend(CUDA, "flashinfer")


def test_a_model_that_a_backend_refuses_falls_to_the_next(
    gpu_packages: dict[str, str | None],
) -> None:
    names = partial(registry.names_after, device=CUDA)
    assert names(Fake("flashinfer+triton")) == names(Fake("flashinfer")) == ["triton", "reference"]
    assert names(Fake("triton")) == ["reference"]
    gpu_packages["triton"] = "no Triton"
    assert names(Fake("flashinfer")) == ["reference"]
    assert registry.names_after(choose_backend(CPU, "reference"), CPU) == []


def test_flashinfer_without_triton_is_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("flashinfer", reason="FlashInfer is not installed")
    monkeypatch.setattr(registry.gpu_packages, "check_triton", lambda: None)
    assert registry._make_by_cost(CPU).name == "flashinfer+triton"
    monkeypatch.setattr(registry.gpu_packages, "check_triton", lambda: "no Triton")
    with caplog.at_level(logging.INFO):
        assert registry._make_by_cost(CPU).name == "flashinfer"
    assert "without tree decode: no Triton" in caplog.text
