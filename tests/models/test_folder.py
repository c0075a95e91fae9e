"""Finding a model by name in a folder, the cache or a hub, and the errors if it is missing."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.models.folders import edit_json
from tests.models.hub import COMMIT, LocalHub, use_offline_cache
from yaie.base.errors import ModelNotFound, ModelUnsupported
from yaie.models.files.checkpoint import read_checkpoint, read_config
from yaie.models.files.nearest import list_cached_repositories, nearest_models
from yaie.models.load.folder import names_repository, open_folder, resolve_model_path
from yaie.models.load.folder_process import find_folder


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Use an empty cache of the hub, and no network."""
    return use_offline_cache(monkeypatch, tmp_path)


def put_in_cache(cache: Path, repository: str, folder: Path) -> Path:
    base = cache / f"models--{repository.replace('/', '--')}"
    (base / "refs").mkdir(parents=True)
    (base / "refs" / "main").write_text(COMMIT)
    return Path(shutil.copytree(folder, base / "snapshots" / COMMIT))


def test_a_folder_is_found_by_any_path(
    pristine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolve_model_path(str(pristine)) == pristine
    shutil.copytree(pristine, tmp_path / "mine")
    assert resolve_model_path("mine") == tmp_path / "mine"
    assert resolve_model_path("./mine/") == tmp_path / "mine"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_model_path("~/mine") == tmp_path / "mine"


def test_a_file_is_refused_with_advice(folder: Path) -> None:
    with pytest.raises(ModelNotFound, match="is a file; name the folder"):
        resolve_model_path(str(folder / "model.safetensors"))


def test_a_damaged_gguf_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").touch()
    with pytest.raises(ModelUnsupported, match=r"model\.gguf is damaged: it is empty"):
        resolve_model_path(str(tmp_path / "model.gguf"))


def test_a_cached_repository_named_gguf_is_used(cache: Path, pristine: Path) -> None:
    expected = put_in_cache(cache, "someone/small-GGUF", pristine)
    assert resolve_model_path("someone/small-GGUF") == expected


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"has no config\.json"):
        resolve_model_path(str(tmp_path))


@pytest.mark.parametrize("name", ["/no/such/place", "./nothing", "~/nothing", "a/b/c", "a b", ""])
def test_names_that_can_only_be_paths(name: str) -> None:
    with pytest.raises(ModelNotFound):
        resolve_model_path(name)


def test_a_cached_repository_is_found(cache: Path, pristine: Path) -> None:
    expected = put_in_cache(cache, "someone/small-llama", pristine)
    assert resolve_model_path("someone/small-llama") == expected
    assert list_cached_repositories() == ["someone/small-llama"]


def test_an_incomplete_cache_entry_is_ignored(cache: Path, pristine: Path) -> None:
    entry = put_in_cache(cache, "someone/small-llama", pristine)
    (entry / "model.safetensors").unlink()
    with pytest.raises(ModelNotFound, match="skipped: HF_HUB_OFFLINE is set"):
        resolve_model_path("someone/small-llama")


def test_offline_an_entry_without_tokenizer_serves(cache: Path, pristine: Path) -> None:
    """Loading the tokenizer then reports that it is missing."""
    entry = put_in_cache(cache, "someone/small-llama", pristine)
    assert not (entry / "tokenizer.json").exists()
    assert resolve_model_path("someone/small-llama") == entry


def test_unknown_names_list_places_and_near_names(cache: Path, pristine: Path) -> None:
    put_in_cache(cache, "someone/small-llama", pristine)
    with pytest.raises(ModelNotFound) as error:
        resolve_model_path("someone/smal-lama")
    for part in (
        "./someone/smal-lama",
        str(cache),
        constants.ENDPOINT,
        "near: someone/small-llama",
    ):
        assert part in error.value.message
    assert nearest_models("buildin") == ["builtin"]


def test_near_names_include_folders(tmp_path: Path, pristine: Path) -> None:
    shutil.copytree(pristine, tmp_path / "llama-small")
    with pytest.raises(ModelNotFound, match=r"near: .*llama-small"):
        resolve_model_path(str(tmp_path / "llama-smal"))


def resolve_elsewhere(
    tmp_path: Path, endpoint: str, model: str, *flags: str
) -> subprocess.CompletedProcess[str]:
    """Resolve in a child process: the hub library reads its address when it is imported."""
    program = (
        "import sys\n"
        "from yaie.base.errors import StartupError\n"
        "from yaie.models.load.folder import resolve_model_path\n"
        "try:\n"
        "    print(resolve_model_path(sys.argv[1], with_weights=not sys.argv[2:]))\n"
        "except StartupError as error:\n"
        "    sys.exit(f'{type(error).__name__}: {error.message}')\n"
    )
    environment = {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    } | {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
    return subprocess.run(
        [sys.executable, "-c", program, model, *flags],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )


@pytest.mark.integration
def test_download_fetches_the_needed_files_once(folder: Path, tmp_path: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"never")
    (folder / "original").mkdir()
    (folder / "original" / "consolidated.00.safetensors").write_bytes(b"never")
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    with LocalHub({"someone/small-llama": folder}) as hub:
        first = resolve_elsewhere(tmp_path, hub.endpoint, "someone/small-llama")
        assert first.returncode == 0, first.stderr
        assert sorted(set(hub.downloaded)) == [
            "chat_template.jinja",
            "config.json",
            "generation_config.json",
            "model.safetensors",
        ]
        hub.downloaded.clear()
        second = resolve_elsewhere(tmp_path, hub.endpoint, "someone/small-llama")
        assert second.stdout == first.stdout
        assert hub.downloaded == []
    assert (Path(first.stdout.strip()) / "model.safetensors").is_file()


@pytest.mark.integration
@pytest.mark.parametrize("form", ["tokenizer.json", "tokenizer.model"])
def test_an_entry_without_a_tokenizer_is_completed(folder: Path, tmp_path: Path, form: str) -> None:
    """Some programs cache the weights alone."""
    entry = put_in_cache(tmp_path / "home" / "hub", "someone/small-llama", folder)
    (entry / "generation_config.json").unlink()
    (folder / form).write_text("{}")
    with LocalHub({"someone/small-llama": folder}) as hub:
        first = resolve_elsewhere(tmp_path, hub.endpoint, "someone/small-llama")
        assert first.stdout.strip() == str(entry), first.stderr
        assert {form, "generation_config.json"} <= set(hub.downloaded)
        assert (entry / form).is_file()
        hub.downloaded.clear()
        resolve_elsewhere(tmp_path, hub.endpoint, "someone/small-llama")
        assert hub.downloaded == []


@pytest.mark.integration
def test_an_entry_without_tokenizer_serves_without_hub(folder: Path, tmp_path: Path) -> None:
    entry = put_in_cache(tmp_path / "home" / "hub", "someone/small-llama", folder)
    with LocalHub({}) as hub:
        endpoint = hub.endpoint
    found = resolve_elsewhere(tmp_path, endpoint, "someone/small-llama")
    assert found.stdout.strip() == str(entry), found.stderr


@pytest.mark.integration
def test_an_unsupported_model_is_refused_before_download(folder: Path, tmp_path: Path) -> None:
    edit_json(folder / "config.json", architectures=["MambaForCausalLM"], model_type="mamba")
    with LocalHub({"someone/small-mamba": folder}) as hub:
        refused = resolve_elsewhere(tmp_path, hub.endpoint, "someone/small-mamba")
        assert refused.stderr.startswith(ModelUnsupported.__name__)
        assert hub.downloaded == ["config.json"]


@pytest.mark.integration
def test_a_check_without_weights_downloads_small_files(folder: Path, tmp_path: Path) -> None:
    small = {path.name for path in folder.iterdir() if path.suffix != ".safetensors"}
    with LocalHub({"someone/small-llama": folder}) as hub:
        found = resolve_elsewhere(tmp_path, hub.endpoint, "someone/small-llama", "config alone")
        assert found.returncode == 0, found.stderr
        assert set(hub.downloaded) == small


@pytest.mark.integration
def test_a_name_unknown_to_the_hub(tmp_path: Path) -> None:
    with LocalHub({}) as hub:
        refused = resolve_elsewhere(tmp_path, hub.endpoint, "someone/nothing")
    assert refused.stderr.startswith("ModelNotFound: no model 'someone/nothing'")
    assert hub.endpoint in refused.stderr


@pytest.mark.integration
def test_an_unreachable_hub_is_one_line(tmp_path: Path) -> None:
    with LocalHub({}) as hub:
        endpoint = hub.endpoint
    refused = resolve_elsewhere(tmp_path, endpoint, "someone/small-llama")
    assert refused.stderr.count("\n") == 1, refused.stderr
    assert refused.stderr.startswith("ModelNotFound: no model 'someone/small-llama'")


def test_repository_names_are_told_from_paths(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    paths = ("builtin", "here", "./a", "~/a", "/a", "a/b/c")
    no_ids = ("a b", "-x", "-", "--", "a.git", "ü", "x" * 97)  # by the hub's rules
    assert not any(map(names_repository, (*paths, *no_ids)))
    assert all(map(names_repository, ("someone/model", "gpt2")))


def test_an_invalid_id_is_not_found() -> None:
    with pytest.raises(ModelNotFound, match="no model '-x'"):
        resolve_model_path("-x")


def test_open_folder_returns_path_config_and_headers(pristine: Path) -> None:
    opened = open_folder(str(pristine))
    assert opened.path == pristine
    assert opened.config == read_config(pristine)
    assert opened.checkpoint == read_checkpoint(pristine)


def test_open_folder_refuses_damage_and_unsupported_models(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"short")
    with pytest.raises(ModelUnsupported, match="is damaged"):
        open_folder(str(folder))
    edit_json(folder / "config.json", architectures=["MambaForCausalLM"], model_type="mamba")
    with pytest.raises(ModelUnsupported, match="MambaForCausalLM cannot be served"):
        open_folder(str(folder))


@pytest.mark.integration
def test_child_process_reports_the_error_with_its_code(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"short")
    with pytest.raises(ModelUnsupported, match="is damaged") as refused:
        asyncio.run(find_folder(str(folder)))
    assert refused.value.code == "model_damaged"


@pytest.mark.integration
def test_the_child_finds_what_open_folder_finds(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("HF_HOME", str(tmp_path / "home")), ("HF_HUB_OFFLINE", "0")):
        monkeypatch.setenv(name, value)
    with LocalHub({"someone/small-llama": folder}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        found = asyncio.run(find_folder("someone/small-llama"))
        assert (found / "model.safetensors").is_file()
        with pytest.raises(ModelNotFound, match="no model 'someone/other'"):
            asyncio.run(find_folder("someone/other"))


@pytest.mark.integration
def test_a_cancelled_search_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub accepts and never answers; its library would wait and retry."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")

        async def give_up() -> None:
            search = asyncio.create_task(find_folder("someone/small-llama"))
            await asyncio.to_thread(silent.accept)
            search.cancel()
            with pytest.raises(asyncio.CancelledError):
                await search

        asyncio.run(asyncio.wait_for(give_up(), 60))
