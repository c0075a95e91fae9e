"""What tests of every floor share: a small model in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_model import write_tiny_model


@pytest.fixture(scope="session")
def tiny_model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen3 with tokenizer and chat template; made once, never written to."""
    return write_tiny_model(tmp_path_factory.mktemp("tiny_model"))
