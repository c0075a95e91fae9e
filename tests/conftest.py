"""What tests of every floor share: a small model in a folder, and patience on busy machines."""

from __future__ import annotations

import os
import signal
import zlib
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests.tiny_model import write_tiny_model
from yaie.kernels import instruction_sets, loader

# Tests go through the best instruction set of this machine (users compile that one only) and
# those whose loops differ from it. `make test-slow` goes through all.
_HAS = instruction_sets.of_this_machine()
_TESTED = [name for name in _HAS if name != "avx512" or name == _HAS[0]]
os.environ.setdefault("YAIE_KERNELS", ",".join(_TESTED))

os.environ.setdefault("YAIE_WEIGHTS_CACHE", "off")
# Workers share the processors out already: with two threads each for layers this small, they wait
# for each other. Who wants threads names them. Heeded by workers, in which torch is not loaded yet.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A test must not fail because the machine is busy: no example has a time limit.
settings.register_profile("yaie", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("yaie")


def pytest_configure(config: pytest.Config) -> None:
    # A shell that runs the tests in the background has its programs ignore the interrupts that
    # some tests send to themselves or to what they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        loader.load()  # compiled here if need be: workers would each compile the same


@pytest.fixture(autouse=True)
def _numbers_of_its_own(request: pytest.FixtureRequest) -> None:
    """Each test draws the same random numbers, whatever ran before it in its worker."""
    torch.manual_seed(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(scope="session")
def tiny_model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen3 with tokenizer and chat template; made once, never written to."""
    return write_tiny_model(tmp_path_factory.mktemp("tiny_model"))
