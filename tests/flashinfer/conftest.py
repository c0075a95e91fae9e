"""The fake CUDA runtime, for tests that `make test-flashinfer` runs in a process of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

from tests.flashinfer import fake_device


@pytest.fixture(scope="session")
def device() -> fake_device.FakeRuntime:
    if fake_device.VARIABLE not in os.environ:
        pytest.skip("needs FlashInfer's modules and a fake CUDA runtime: make test-flashinfer")
    return fake_device.use()


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
