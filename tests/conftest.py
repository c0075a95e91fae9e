"""What tests of every floor share: a small model in a folder, and patience on busy machines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.tiny_model import write_tiny_model

# Tests go through every instruction set of this machine; users compile the best one only.
os.environ.setdefault("YAIE_KERNELS", "all")

os.environ.setdefault("YAIE_WEIGHTS_CACHE", "off")

# A test must not fail because the machine is busy: no example has a time limit.
settings.register_profile("yaie", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("yaie")


@pytest.fixture(scope="session")
def tiny_model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen3 with tokenizer and chat template; made once, never written to."""
    return write_tiny_model(tmp_path_factory.mktemp("tiny_model"))
