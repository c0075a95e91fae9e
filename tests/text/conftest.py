"""The two kinds of tokenizer, loaded once."""

from __future__ import annotations

import pytest

from tests.text.small_tokenizers import write_byte_level, write_sentencepiece_like
from yaie.text.tokenizer import Tokenizer, load_tokenizer


@pytest.fixture(scope="session")
def byte_level(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load_tokenizer(write_byte_level(tmp_path_factory.mktemp("byte_level")))


@pytest.fixture(scope="session")
def sentencepiece_like(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load_tokenizer(write_sentencepiece_like(tmp_path_factory.mktemp("spm")))
