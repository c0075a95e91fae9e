"""The device of these tests. Without one they fail: a skip would hide a broken driver."""

from __future__ import annotations

import pytest
import torch

from yaie.kernels import library_search


@pytest.fixture(scope="session")
def device() -> torch.device:
    if not torch.cuda.is_available():
        pytest.fail("torch sees no CUDA device; `nvidia-smi` shows the driver and its devices")
    torch.set_float32_matmul_precision("highest")
    return torch.device("cuda")


@pytest.fixture(autouse=True)
def _on_a_device(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the CPU's kernels out: compiling them would take the device's time."""
    monkeypatch.setenv(library_search.VARIABLE, library_search.OFF)
    monkeypatch.setattr(library_search, "_loader", library_search.LibraryLoader())
