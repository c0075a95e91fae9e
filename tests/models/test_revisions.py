"""Revisions of a repository, in the local cache and on a hub."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.models.folders import edit_json
from tests.models.hub import COMMIT, LocalHub, use_offline_cache
from tests.models.test_folder import resolve_elsewhere
from yaie import LLM
from yaie.base.errors import ModelNotFound
from yaie.base.served_models import engine_configs
from yaie.base.settings import EngineConfig, load_settings
from yaie.cli.main import run_command_line
from yaie.models.files.revisions import list_cached_revisions, split_revision
from yaie.models.load.folder import names_repository, open_folder, resolve_model_path

OLDER = "89abcdef0123456789abcdef0123456789abcdef"
ALIKE = "89abcdef9999999999999999999999999999beef"
NAME = "someone/small-llama"


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Use a cache of one's own, offline."""
    return use_offline_cache(monkeypatch, tmp_path)


def add(cache: Path, folder: Path, commit: str, *names: str, context: int = 512) -> Path:
    """Put a snapshot into the cache, under some names."""
    base = cache / f"models--{NAME.replace('/', '--')}"
    for name in names:
        file = base / "refs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(commit)
    snapshot = Path(shutil.copytree(folder, base / "snapshots" / commit))
    edit_json(snapshot / "config.json", max_position_embeddings=context)
    return snapshot


def test_a_revision_is_found_by_name_and_by_commit(cache: Path, pristine: Path) -> None:
    newest = add(cache, pristine, COMMIT, "main")
    older = add(cache, pristine, OLDER, "v1", "refs/pr/3", context=256)
    assert resolve_model_path(NAME) == newest == resolve_model_path(f"{NAME}@main")
    for revision in ("v1", "refs/pr/3", OLDER, OLDER[:7]):
        assert resolve_model_path(f"{NAME}@{revision}") == older, revision
    assert open_folder(f"{NAME}@v1").config["max_position_embeddings"] == 256
    assert list_cached_revisions(NAME) == {
        "main": COMMIT,
        "refs/pr/3": OLDER,
        "v1": OLDER,
        COMMIT: COMMIT,
        OLDER: OLDER,
    }


def test_an_unknown_revision_names_those_that_are_here(cache: Path, pristine: Path) -> None:
    add(cache, pristine, COMMIT, "main")
    add(cache, pristine, OLDER, "v1")
    with pytest.raises(ModelNotFound) as error:
        resolve_model_path(f"{NAME}@v9")
    assert error.value.message == (
        f"{NAME} has no revision 'v9' ({constants.ENDPOINT} (skipped: HF_HUB_OFFLINE is set)); "
        "use one on this machine: main, v1, "
        f"{COMMIT[:12]}, {OLDER[:12]}"
    )
    with pytest.raises(ModelNotFound, match="has no revision '89abcd' "):
        resolve_model_path(f"{NAME}@{OLDER[:6]}")


def test_a_cache_without_main_names_what_it_has(cache: Path, pristine: Path) -> None:
    add(cache, pristine, OLDER, "v1")
    with pytest.raises(ModelNotFound, match=r"no revision 'main' .* use one on this machine: v1"):
        resolve_model_path(NAME)


def test_the_start_of_two_commits_is_refused(cache: Path, pristine: Path) -> None:
    older, alike = add(cache, pristine, OLDER), add(cache, pristine, ALIKE)
    with pytest.raises(ModelNotFound, match=r"matches 2 commits .* give more digits"):
        resolve_model_path(f"{NAME}@{OLDER[:8]}")
    assert resolve_model_path(f"{NAME}@{OLDER[:9]}") == older
    assert resolve_model_path(f"{NAME}@{ALIKE[:9]}") == alike


def test_a_path_with_the_sign_is_a_path(cache: Path, pristine: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(pristine, tmp_path / "mine@home"))
    assert split_revision("mine@home") == ("mine@home", None)
    assert resolve_model_path("mine@home") == folder
    with pytest.raises(ModelNotFound, match="no model 'mine@work'"):
        resolve_model_path("mine@work")


@pytest.mark.parametrize("name", ["builtin", "here"])
def test_what_has_no_revisions_is_refused_with_one(cache: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(ModelNotFound, match=f"{name} has no revisions; omit 'v1'"):
        open_folder(f"{name}@v1")
    with pytest.raises(ModelNotFound, match="the revision of a/b is empty"):
        open_folder("a/b@")


def test_a_name_with_a_revision_is_a_repository() -> None:
    assert names_repository(f"{NAME}@v1")
    assert not names_repository("builtin@v1")


def test_each_model_of_a_server_has_its_own_revision() -> None:
    settings = load_settings(
        model="a/b", revision="v1", models="plain=c/d, new=c/d@v2, old=c/d;revision=v0"
    )
    sources = {config.model_name: config.source for config in engine_configs(settings)}
    assert sources == {"a/b": "a/b@v1", "plain": "c/d", "new": "c/d@v2", "old": "c/d@v0"}
    assert EngineConfig(model="c/d").source == "c/d"


@pytest.mark.integration
def test_a_revision_is_downloaded_and_then_found(folder: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(folder, tmp_path / "old"))
    edit_json(old / "config.json", max_position_embeddings=256)
    with LocalHub({NAME: folder}, {NAME: {"v1": (OLDER, old)}}) as hub:
        first = resolve_elsewhere(tmp_path, hub.endpoint, f"{NAME}@v1")
        assert Path(first.stdout.strip()).name == OLDER, first.stderr
        newest = resolve_elsewhere(tmp_path, hub.endpoint, NAME)
        assert Path(newest.stdout.strip()).name == COMMIT, newest.stderr
        refused = resolve_elsewhere(tmp_path, hub.endpoint, f"{NAME}@v9")
        assert refused.stderr.startswith(
            f"ModelNotFound: {NAME} has no revision 'v9' ({hub.endpoint}); "
            "use one on this machine: main, v1, "
        )
        endpoint = hub.endpoint
    for revision in ("v1", OLDER, OLDER[:10]):
        again = resolve_elsewhere(tmp_path, endpoint, f"{NAME}@{revision}")
        assert again.stdout == first.stdout, again.stderr
    refused = resolve_elsewhere(tmp_path, endpoint, f"{NAME}@v9")
    assert f"has no revision 'v9' ({endpoint} (" in refused.stderr, refused.stderr


def test_an_llm_has_the_model_of_its_revision(cache: Path, tiny_model_dir: Path) -> None:
    add(cache, tiny_model_dir, COMMIT, "main")
    add(cache, tiny_model_dir, OLDER, "v1", context=96)
    with LLM(NAME, revision="v1", num_slots=256, threads=1) as llm:
        assert (llm.info.model, llm.info.max_model_len) == (NAME, 96)
    with pytest.raises(ModelNotFound, match="has no revision 'v2'"):
        LLM(NAME, revision="v2")


def test_commands_take_a_revision(
    cache: Path,
    tiny_model_dir: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    add(cache, tiny_model_dir, COMMIT, "main")
    older = add(cache, tiny_model_dir, OLDER, "v1", context=96)
    assert run_command_line(["pull", NAME, "--revision", "v1"]) == 0
    assert str(older) in capsys.readouterr().out
    assert run_command_line(["show", f"{NAME}@v1", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["folder"], facts["context"]) == (str(older), "96 tokens")
    assert facts["revisions"] == f"main, v1, {COMMIT}, {OLDER}"
    assert run_command_line(["tokenize", "-m", NAME, "--revision", "v1", "the", "--count"]) == 0
    assert run_command_line(["tokenize", "-m", NAME, "--revision", "v2", "the"]) == 3
    assert "use one on this machine: main, v1" in capsys.readouterr().err
