from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.models.folders import make_llama
from yaie.kernels import library_search
from yaie.kernels.library import Library


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("pristine"))


@pytest.fixture
def folder(pristine: Path, tmp_path: Path) -> Path:
    """Return a copy of a good model folder, to be damaged."""
    return Path(shutil.copytree(pristine, tmp_path / "model"))


@pytest.fixture(scope="session")
def library() -> Library:
    loaded = library_search.load()
    if loaded is None:
        pytest.skip("no kernel library: a compiler is missing")
    return loaded
