"""A model in the hub's cache starts without the hub, whichever program has filled the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.models.folders import edit_json, make_llama
from tests.models.hub import COMMIT, EXTRAS, LocalHub, use_offline_cache
from tests.models.test_folder import resolve_elsewhere
from tests.models.test_revisions import NAME, OLDER, add
from tests.server.real_server import Server
from yaie.base.errors import ModelNotFound
from yaie.models.files.checkpoint import INDEX
from yaie.models.load.folder import resolve_model_path

NEWER = "fedcba9876543210fedcba9876543210fedcba98"
AT_COMMIT = f"{NAME}@{COMMIT}"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A function: run Python on a hub's address, with a cache of one's own."""

    def run_python(endpoint: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        kept = {name: each for name, each in os.environ.items() if "_proxy" not in name.lower()}
        hub = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            env=kept | hub | more,
            cwd=tmp_path,
            timeout=120,
            check=False,
        )

    return run_python


@pytest.fixture
def repository(tiny_model_dir: Path, tmp_path: Path) -> Path:
    """A model with tokenizer and chat template, to be served by a hub."""
    return Path(shutil.copytree(tiny_model_dir, tmp_path / "repository"))


def pull(run: Run, hub: LocalHub, name: str = NAME) -> str:
    """Run `yaie pull` and return its output."""
    done = run(hub.endpoint, "-m", "yaie", "pull", name)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.integration
def test_a_pulled_model_runs_without_a_request(run: Run, repository: Path, tmp_path: Path) -> None:
    command = ("-m", "yaie", "run", "-m", NAME, "--max-tokens", "2", "hi")
    with LocalHub({NAME: repository}) as hub:
        pull(run, hub)
        assert not set(hub.downloaded) & {name.rpartition("/")[2] for name in EXTRAS} - {
            "config.json"
        }
        hub.requests.clear()
        online = run(hub.endpoint, *command)
        assert (online.returncode, hub.requests) == (0, []), online.stderr
        started = Server(
            Path(NAME),
            tmp_path / "log",
            HF_ENDPOINT=hub.endpoint,
            HF_HOME=str(tmp_path / "home"),
            HF_HUB_OFFLINE="0",
        )
        try:
            started.wait_ready()
            assert hub.requests == []
        finally:
            started.stop()
        endpoint = hub.endpoint
    assert run(endpoint, *command).returncode == 0  # no hub
    assert run(endpoint, *command, HF_HUB_OFFLINE="1").returncode == 0


@pytest.mark.integration
def test_tokens_of_a_model_that_was_never_pulled_need_no_weights(
    run: Run, repository: Path
) -> None:
    (repository / "chat_template.jinja").write_text("{{ messages[0].content }}!")
    command = ("-m", "yaie", "tokenize", "-m", NAME, "--count")
    weights = {path.name for path in repository.glob("*.safetensors")}
    with LocalHub({NAME: repository}) as hub:
        plain = run(hub.endpoint, *command, "hi")
        assert plain.returncode == 0, plain.stderr
        chat = run(hub.endpoint, *command, "--chat", "hi")
        assert int(chat.stdout) == int(plain.stdout) + 1, chat.stderr
        assert hub.downloaded and not weights & set(hub.downloaded)
        pull(run, hub)
        assert weights <= set(hub.downloaded)
        assert len(hub.downloaded) == len(set(hub.downloaded))


DOWNLOADS = {
    "hf download": "snapshot_download(name)",
    "vLLM": (
        "snapshot_download(name, allow_patterns=['*.safetensors', '*.json']); "
        "hf_hub_download(name, 'chat_template.jinja')"
    ),
    "file by file": "[hf_hub_download(name, file) for file in files]",
    "older hub library": "snapshot_download(name); shutil.rmtree(base / 'trees', True)",
    "a commit": f"snapshot_download(name, revision='{COMMIT}')",
}


@pytest.mark.integration
@pytest.mark.parametrize("program", DOWNLOADS)
def test_a_cache_of_another_program_is_used(
    run: Run, repository: Path, tmp_path: Path, program: str
) -> None:
    (repository / "chat_template.jinja").write_text("{{ messages }}")
    code = (
        "import shutil, sys; from pathlib import Path; "
        "from huggingface_hub import constants, hf_hub_download, snapshot_download; "
        f"name = {NAME!r}; files = {[path.name for path in repository.iterdir()]!r}; "
        f"base = Path(constants.HF_HUB_CACHE) / 'models--{NAME.replace('/', '--')}'; "
    )
    name = AT_COMMIT if program == "a commit" else NAME
    with LocalHub({NAME: repository}) as hub:
        done = run(hub.endpoint, "-c", code + DOWNLOADS[program])
        assert done.returncode == 0, done.stderr
        hub.requests.clear()
        found = resolve_elsewhere(tmp_path, hub.endpoint, name)
        assert (Path(found.stdout.strip()).name, hub.requests) == (COMMIT, []), found.stderr


@pytest.mark.integration
def test_a_file_that_another_program_left_out_is_fetched_once(
    run: Run, repository: Path, tmp_path: Path
) -> None:
    (repository / "chat_template.jinja").write_text("{{ messages }}")
    code = (
        "from huggingface_hub import snapshot_download; "
        f"snapshot_download({NAME!r}, allow_patterns=['*.safetensors', '*.json'])"
    )
    with LocalHub({NAME: repository}) as hub:
        assert run(hub.endpoint, "-c", code).returncode == 0
        resolve_elsewhere(tmp_path, hub.endpoint, NAME)
        assert hub.downloaded[-1] == "chat_template.jinja"
        hub.requests.clear()
        resolve_elsewhere(tmp_path, hub.endpoint, NAME)
        assert hub.requests == []


@pytest.mark.integration
def test_shards_in_a_subfolder_are_downloaded_and_read(
    run: Run, repository: Path, tmp_path: Path
) -> None:
    move_weights_to_subfolder(repository)
    with LocalHub({NAME: repository}) as hub:
        assert f"snapshots/{COMMIT}" in pull(run, hub)
        assert set(hub.downloaded) >= {"model-00001-of-00001.safetensors", INDEX}
        hub.requests.clear()
        again = resolve_elsewhere(tmp_path, hub.endpoint, NAME)
        assert (Path(again.stdout.strip()).name, hub.requests) == (COMMIT, []), again.stderr


def move_weights_to_subfolder(folder: Path) -> None:
    """Give a folder an index whose only shard is in a subfolder."""
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "pt") as file:
        names = list(file.keys())
    (folder / "weights").mkdir()
    shard = "weights/model-00001-of-00001.safetensors"
    (folder / "model.safetensors").rename(folder / shard)
    edit_json(folder / INDEX, metadata={}, weight_map=dict.fromkeys(names, shard))


@pytest.mark.integration
def test_pull_updates_a_model_and_a_start_does_not(
    run: Run, repository: Path, tmp_path: Path
) -> None:
    with LocalHub({NAME: repository}) as hub:
        assert COMMIT in pull(run, hub)
        newer = Path(shutil.copytree(repository, tmp_path / "newer"))
        edit_json(newer / "config.json", max_position_embeddings=64)
        hub.revisions[NAME]["main"] = (NEWER, newer)
        assert COMMIT in resolve_elsewhere(tmp_path, hub.endpoint, NAME).stdout
        assert NEWER in pull(run, hub)
        hub.downloaded.clear()
        assert NEWER in pull(run, hub)
        assert hub.downloaded == []
        assert NEWER in resolve_elsewhere(tmp_path, hub.endpoint, NAME).stdout
        endpoint = hub.endpoint
    unreachable = run(endpoint, "-m", "yaie", "pull", NAME)
    assert NEWER in unreachable.stdout and unreachable.returncode == 0
    assert f"{NAME} is used as cached; {endpoint} (" in unreachable.stderr


@pytest.mark.integration
def test_an_update_that_fails_leaves_the_older_model(
    run: Run, repository: Path, tmp_path: Path
) -> None:
    with LocalHub({NAME: repository}) as hub:
        pull(run, hub)
        newer = Path(shutil.copytree(repository, tmp_path / "newer"))
        (newer / "model.safetensors").write_bytes(b"cut")
        hub.revisions[NAME]["main"] = (NEWER, newer)
        refused = run(hub.endpoint, "-m", "yaie", "pull", NAME)
        assert refused.returncode == 3 and "is damaged" in refused.stderr
        assert COMMIT in resolve_elsewhere(tmp_path, hub.endpoint, NAME).stdout


@pytest.mark.integration
def test_pull_replaces_damaged_files(run: Run, repository: Path, tmp_path: Path) -> None:
    with LocalHub({NAME: repository}) as hub:
        pull(run, hub)
        (snapshot,) = (tmp_path / "home").glob("hub/models--*/snapshots/*")
        weights = snapshot / "model.safetensors"
        weights.resolve().write_bytes(weights.read_bytes()[:-8])
        damaged = resolve_elsewhere(tmp_path, hub.endpoint, NAME)
        assert "is truncated; download it again" in damaged.stderr
        assert COMMIT in pull(run, hub)
        assert COMMIT in resolve_elsewhere(tmp_path, hub.endpoint, NAME).stdout


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Use a cache of one's own, offline."""
    return use_offline_cache(monkeypatch, tmp_path)


def test_main_on_a_config_alone_names_the_complete_commit(cache: Path, pristine: Path) -> None:
    complete = add(cache, pristine, OLDER)
    probed = add(cache, pristine, NEWER, "main")
    (probed / "model.safetensors").unlink()
    with pytest.raises(ModelNotFound) as error:
        resolve_model_path(NAME)
    message = error.value.message
    assert f"{cache} ({NEWER[:12]} holds no model.safetensors)" in message
    assert message.endswith(f"complete here: {OLDER[:12]}; use {NAME}@{OLDER[:12]}")
    assert resolve_model_path(f"{NAME}@{OLDER[:12]}") == complete


def test_a_missing_shard_is_counted(cache: Path, tmp_path: Path) -> None:
    folder = make_llama(tmp_path / "sharded", max_shard_size="10KB")
    snapshot = add(cache, folder, COMMIT, "main")
    shards = sorted(snapshot.glob("*.safetensors"))
    shards[1].unlink()
    shards[1].symlink_to("../../blobs/gone")
    with pytest.raises(ModelNotFound) as error:
        resolve_model_path(NAME)
    assert f"{COMMIT[:12]} lacks 1 of {len(shards)} weight files" in error.value.message


def test_main_on_a_snapshot_that_is_gone_is_said(cache: Path, pristine: Path) -> None:
    shutil.rmtree(add(cache, pristine, COMMIT, "main"))
    with pytest.raises(ModelNotFound, match=f"{COMMIT[:12]} has no snapshot"):
        resolve_model_path(NAME)


def test_a_name_with_a_line_end_is_read(cache: Path, pristine: Path) -> None:
    snapshot = add(cache, pristine, COMMIT, "main")
    (snapshot.parents[1] / "refs" / "main").write_text(f"{COMMIT}\n")
    assert resolve_model_path(NAME) == snapshot


@pytest.mark.integration
def test_a_cache_that_cannot_be_written_is_no_network_fault(
    run: Run, repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "hub").write_text("a file")
    with LocalHub({NAME: repository}) as hub:
        refused = run(hub.endpoint, "-m", "yaie", "pull", NAME)
    assert f"{NAME} cannot be stored in {tmp_path / 'home' / 'hub'}" in refused.stderr
    assert "set HF_HUB_CACHE to a folder that can be written" in refused.stderr
