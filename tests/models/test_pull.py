"""Listed models: where they come from, and what is left behind if that fails."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.models.gguf_files import llama_metadata, tensors_of, vocabulary_metadata, write_gguf
from tests.models.test_folder import put_in_cache
from tests.models.test_gguf_model import make_model
from yaie.base.errors import ConfigError, ModelNotFound, ModelUnsupported
from yaie.models.files import model_index, pull
from yaie.models.files.model_index import CATALOGUE, ListedModel, Wheel
from yaie.models.files.nearest import GGUF, nearest_models
from yaie.models.load.folder import open_folder, resolve_model_path

MEMBER = "tiny_gguf/Tiny.Q8_0.gguf"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use empty caches, and an index that is a folder; return that folder."""
    for module in ("yaie.models.files.gguf.hf_folder", "yaie.models.files.pull"):
        monkeypatch.setattr(f"{module}.cache_folder", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


@pytest.fixture
def listed(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ListedModel:
    """A small model in the catalogue, whose wheel is in the index."""
    tensors = tensors_of(make_model("llama"), permutes=True)
    data = write_gguf(tmp_path / "t", llama_metadata() | vocabulary_metadata(), tensors)
    content = data.read_bytes()
    data.unlink()
    wheel = Wheel(
        project="tiny-gguf",
        version="1.0",
        member=MEMBER,
        sha256=hashlib.sha256(content).hexdigest(),
        nbytes=len(content),
    )
    model = ListedModel(name="tiny", repository="someone/tiny", wheel=wheel, license="MIT")
    monkeypatch.setitem(CATALOGUE, "tiny", model)
    monkeypatch.setattr(pull, "MODELS", (*model_index.MODELS, model))
    put_in_index(place, content)
    return model


def put_in_index(index: Path, content: bytes) -> None:
    metadata = "Metadata-Version: 2.1\nName: tiny-gguf\nVersion: 1.0\nRequires-Dist: llm\n"
    wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(index / "tiny_gguf-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(MEMBER, content)
        archive.writestr("tiny_gguf-1.0.dist-info/METADATA", metadata)
        archive.writestr("tiny_gguf-1.0.dist-info/WHEEL", wheel)
        archive.writestr("tiny_gguf-1.0.dist-info/RECORD", "")


def files_in(cache: Path) -> list[str]:
    return [path.name for path in cache.rglob("*") if path.is_file()]


@pytest.mark.integration  # pip in a process of its own
def test_a_folder_of_that_name_without_a_model_is_no_model(
    listed: ListedModel, tmp_path: Path
) -> None:
    (tmp_path / "tiny").mkdir()
    opened = open_folder("tiny")
    assert opened.checkpoint.files == (pull.model_path(listed),)
    (tmp_path / "tiny" / "config.json").write_text("{")
    with pytest.raises(ModelUnsupported, match=r"config\.json"):
        open_folder("tiny")


@pytest.mark.integration  # pip in a process of its own
def test_a_listed_model_is_downloaded_once(listed: ListedModel, place: Path) -> None:
    opened = open_folder("tiny")
    assert opened.checkpoint.files == (pull.model_path(listed),)
    assert files_in(pull.models_folder()) == ["Tiny.Q8_0.gguf"]  # nothing else is left
    next(place.iterdir()).unlink()
    assert resolve_model_path("tiny") == opened.path
    assert pull.list_pulled_models() == [("tiny", pull.model_path(listed))]
    assert pull.remove_pulled("tiny") == listed.wheel.nbytes
    assert not opened.path.exists() and not pull.list_pulled_models()


@pytest.mark.integration
def test_another_file_than_the_listed_one_is_refused(listed: ListedModel, place: Path) -> None:
    put_in_index(place, b"GGUF but not ours")
    with pytest.raises(ModelNotFound, match=r"not the listed tiny: its digest is \w+…; retry"):
        resolve_model_path("tiny")
    assert not files_in(pull.models_folder())


@pytest.mark.integration
def test_a_model_that_no_place_has_names_both(listed: ListedModel, place: Path) -> None:
    next(place.iterdir()).unlink()
    said = r"skipped: HF_HUB_OFFLINE is set.* · package index, tiny-gguf: No matching distribution"
    with pytest.raises(ModelNotFound, match=said):
        resolve_model_path("tiny")


def test_the_hubs_cache_comes_first(
    listed: ListedModel, tiny_model_dir: Path, tmp_path: Path
) -> None:
    expected = put_in_cache(tmp_path / "hub", "someone/tiny", tiny_model_dir)
    assert resolve_model_path("tiny") == expected


def test_a_folder_of_that_name_is_meant(
    listed: ListedModel, tiny_model_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "tiny").symlink_to(tiny_model_dir)
    assert resolve_model_path("tiny") == tiny_model_dir.resolve()


def test_without_pip_the_error_says_how_to_get_it(
    listed: ListedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelNotFound, match="python -m ensurepip"):
        resolve_model_path("tiny")


def test_a_cache_that_cannot_be_written_is_named(listed: ListedModel, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(ConfigError, match=r"cannot be stored in .*; set XDG_CACHE_HOME") as error:
        resolve_model_path("tiny")
    assert "free some space" not in error.value.message


def test_a_disk_without_room_is_told_before_the_download(
    listed: ListedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type(shutil.disk_usage("/"))(10**9, 10**9 - 5, 5)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(ConfigError, match=r"tiny needs 2 MB in .*, and 0 MB are free; free some"):
        resolve_model_path("tiny")


@pytest.mark.integration  # pip in a process of its own
def test_a_disk_that_fills_up_is_told(listed: ListedModel, tmp_path: Path) -> None:
    """A program in pip's place ends with pip's words for a full disk."""
    program = tmp_path / "bin" / "pip.py"
    program.parent.mkdir()
    program.write_text(
        "import sys; sys.exit('ERROR: Could not install packages due to an OSError: "
        "[Errno 28] No space left on device')"
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(program.parent))
        with pytest.raises(ConfigError, match="No space left on device; free some space"):
            resolve_model_path("tiny")


def test_a_misspelt_short_name_is_near(tmp_path: Path) -> None:
    assert "smollm2" in nearest_models("smolm2")
    with pytest.raises(ModelNotFound, match="near: smollm2"):
        resolve_model_path("smolm2")


def test_each_entry_names_a_file_and_a_digest() -> None:
    for model in model_index.MODELS:
        assert model.license and model.repository.count("/") == 1
        if model.wheel is not None:
            assert model.wheel.file_name.endswith(GGUF)
            assert len(bytes.fromhex(model.wheel.sha256)) == 32


def test_names_of_the_catalogue_are_their_repositories(
    tiny_model_dir: Path, tmp_path: Path
) -> None:
    """Ollama's spellings too, with and without a size."""
    expected = put_in_cache(tmp_path / "hub", "meta-llama/Llama-3.2-3B-Instruct", tiny_model_dir)
    assert resolve_model_path("llama3.2:3b") == resolve_model_path("llama3.2") == expected
    assert len(model_index.MODELS) >= 25
    with pytest.raises(ModelNotFound, match="no model 'Qwen/Qwen3"):
        resolve_model_path("qwen3:0.6b")
