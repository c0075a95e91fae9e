"""Repositories of GGUF files: `org/name:Q4_K_M` names a file, downloaded alone and once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.models.gguf_files import llama_metadata, tensors_of, vocabulary_metadata, write_gguf
from tests.models.hub import COMMIT, LocalHub
from tests.models.test_gguf_model import make_model
from tests.server.real_server import Server
from yaie.base.errors import ModelNotFound
from yaie.models.files.gguf_repository import choose_gguf, keep_models, kind_in, split_kind
from yaie.models.load.folder import names_repository

NAME = "someone/Small-GGUF"
OLDER = "fedcba9876543210fedcba9876543210fedcba98"
Run = Callable[..., subprocess.CompletedProcess[str]]

# As published: unsloth, bartowski, Qwen, ggml-org.
UNSLOTH = [
    "BF16/Qwen3-32B-BF16-00001-of-00002.gguf",
    "BF16/Qwen3-32B-BF16-00002-of-00002.gguf",
    "Qwen3-32B-IQ4_XS.gguf",
    "Qwen3-32B-Q3_K_M.gguf",
    "Qwen3-32B-Q4_0.gguf",
    "Qwen3-32B-Q4_K_M.gguf",
    "Qwen3-32B-Q4_K_S.gguf",
    "Qwen3-32B-Q8_0.gguf",
    "Qwen3-32B-UD-Q4_K_XL.gguf",
    "Qwen3-32B-UD-Q4_K_M.gguf",
]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (None, "Qwen3-32B-Q4_K_M.gguf"),
        ("Q4_K_M", "Qwen3-32B-Q4_K_M.gguf"),
        ("q8_0", "Qwen3-32B-Q8_0.gguf"),
        ("UD-Q4_K_M", "Qwen3-32B-UD-Q4_K_M.gguf"),
        ("Q4_K_XL", "Qwen3-32B-UD-Q4_K_XL.gguf"),
        ("iq4_xs", "Qwen3-32B-IQ4_XS.gguf"),
        ("Qwen3-32B-Q4_0.gguf", "Qwen3-32B-Q4_0.gguf"),
    ],
)
def test_a_file_is_chosen_by_its_quantization(kind: str | None, expected: str) -> None:
    assert choose_gguf(NAME, UNSLOTH, kind) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["m-Q8_0.gguf", "m-f16.gguf"], "m-Q8_0.gguf"),
        (["m-Q3_K_M.gguf", "m-Q5_K_M.gguf", "m-Q8_0.gguf"], "m-Q5_K_M.gguf"),
        (["m-Q4_0.gguf", "m-IQ4_XS.gguf", "m-Q4_K_S.gguf"], "m-Q4_K_S.gguf"),
        (["m.gguf"], "m.gguf"),
        (["m.gguf", "m.Q2_K.gguf"], "m.Q2_K.gguf"),
        (["gpt-oss-20b-mxfp4.gguf", "mmproj-F16.gguf", "imatrix.gguf"], "gpt-oss-20b-mxfp4.gguf"),
        (["a/m-Q4_K_M-00001-of-00002.gguf", "m-Q6_K.gguf"], "m-Q6_K.gguf"),  # incomplete
    ],
)
def test_without_a_quantization_the_nearest_one_is_chosen(names: list[str], expected: str) -> None:
    assert choose_gguf(NAME, keep_models(names), None) == expected


def test_another_quantization_is_refused_with_the_present_ones() -> None:
    present = "BF16"
    with pytest.raises(ModelNotFound, match=rf"'Q4_K'; name one of: Q3_K_M, IQ4_XS, .*{present}"):
        choose_gguf(NAME, UNSLOTH, "Q4_K")
    with pytest.raises(ModelNotFound, match=r"no GGUF file of a model; omit :Q4_0"):
        choose_gguf(NAME, keep_models(["mmproj-Q4_0.gguf", "model.safetensors"]), "Q4_0")


def test_of_a_split_model_the_first_part_is_chosen() -> None:
    assert choose_gguf(NAME, UNSLOTH, "bf16") == UNSLOTH[0]
    assert choose_gguf(NAME, UNSLOTH[:2], None) == UNSLOTH[0]
    with pytest.raises(ModelNotFound, match=r"lacks 1 of 2 files of BF16, .*-00002-of-"):
        choose_gguf(NAME, UNSLOTH[:1], None)


def test_quantizations_are_read_from_names() -> None:
    assert kind_in("Q8/qwen2.5-0.5b-instruct-q4_k_m.gguf") == "q4_k_m"
    assert kind_in("Llama-3.2-1B-Instruct.IQ2_XXS.gguf") == "IQ2_XXS"
    assert kind_in("Qwen3-32B-UD-Q4_K_XL-00001-of-00003.gguf") == "UD-Q4_K_XL"
    assert kind_in("TinyLlama.gguf") == "TinyLlama"


def test_names_of_repositories_and_quantizations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for host in ("", "hf.co/", "huggingface.co/", "https://huggingface.co/"):
        assert split_kind(f"{host}{NAME}:Q4_K_M") == (NAME, "Q4_K_M")
        assert split_kind(f"{host}{NAME}") == (NAME, None)
        assert names_repository(f"{host}{NAME}:Q4_K_M@v2") and names_repository(f"{host}{NAME}")
    for other in ("qwen3:0.6b", "./a/b:c", "a/b/c", "https://example.com/a/b", "a/b:", "a/b.gguf"):
        assert split_kind(other) == (other, None)
    Path("a").mkdir()
    Path("a/b:c").touch()
    assert split_kind("a/b:c") == ("a/b:c", None)


def write_model(path: Path, **changes: object) -> Path:
    """Write a small llama; its architecture has the tokenizer of the built-in model."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = llama_metadata(**changes) | vocabulary_metadata()
    return write_gguf(path, metadata, tensors_of(make_model("llama"), permutes=True))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of three models and an image encoder, with a config as unsloth has."""
    folder = tmp_path / "repository"
    whole = write_model(folder / "Small-Q4_K_M.gguf")
    for name in ("Small-Q8_0.gguf", "Small-BF16-00001-of-00002.gguf", "mmproj-F16.gguf"):
        shutil.copy(whole, folder / name)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A function: run `yaie` on a hub's address, with caches of one's own."""

    def run_yaie(hub: LocalHub | None, *arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {name: each for name, each in os.environ.items() if "_proxy" not in name.lower()}
        return subprocess.run(
            [sys.executable, "-m", "yaie", *arguments],
            capture_output=True,
            text=True,
            env=kept | surroundings(hub, tmp_path),
            cwd=tmp_path,
            timeout=120,
            check=False,
        )

    return run_yaie


def surroundings(hub: LocalHub | None, folder: Path) -> dict[str, str]:
    """Return variables for a hub, or none, and caches in a folder."""
    return {
        "HF_ENDPOINT": hub.endpoint if hub else "http://127.0.0.1:9",
        "HF_HOME": str(folder / "home"),
        "HF_HUB_OFFLINE": "0" if hub else "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "YAIE_KERNELS": "off",
    }


@pytest.mark.integration
@pytest.mark.parametrize(
    "name",
    [
        f"hf.co/{NAME}:q8_0",
        NAME,
        pytest.param(f"{NAME}:Q8_0", marks=pytest.mark.slow),
        pytest.param(f"{NAME}:Q8_0@main", marks=pytest.mark.slow),
    ],
)
def test_one_file_is_downloaded_and_starts_without_a_request(
    run: Run, repository: Path, name: str
) -> None:
    expected = "Small-Q4_K_M.gguf" if name == NAME else "Small-Q8_0.gguf"
    command = ("tokenize", "-m", name, "hi")
    with LocalHub({NAME: repository}) as hub:
        first = run(hub, *command)
        assert (first.returncode, hub.downloaded) == (0, [expected]), first.stderr
        hub.requests.clear()
        second = run(hub, *command)
        assert (second.returncode, hub.requests) == (0, []), second.stderr
    offline = run(None, *command)
    assert offline.returncode == 0, offline.stderr


@pytest.mark.integration
@pytest.mark.slow
def test_a_pulled_file_is_listed_and_shown(run: Run, repository: Path, tmp_path: Path) -> None:
    with LocalHub({NAME: repository}) as hub:
        pulled = run(hub, "pull", f"hf.co/{NAME}:Q8_0")
        assert f"snapshots/{COMMIT}" in pulled.stdout, pulled.stderr
        hub.requests.clear()
        assert f"{NAME}:Q8_0 " in run(hub, "list").stdout
        for name in (f"{NAME}:Q8_0", f"hf.co/{NAME}:q8_0", NAME):
            shown = run(hub, "show", name, "--json")
            assert json.loads(shown.stdout)["architecture"] == "LlamaForCausalLM", shown.stderr
        absent = run(hub, "show", f"{NAME}:Q4_K_M")
        assert f"{NAME}:Q4_K_M is not on this machine" in absent.stderr
        assert hub.requests == []
        blob = next((tmp_path / "home").glob("hub/models--*/snapshots/*/*.gguf")).resolve()
        whole = blob.read_bytes()
        blob.write_bytes(whole[:-8])
        assert "is truncated; download it again" in run(hub, "show", NAME).stdout
        assert run(hub, "pull", NAME).returncode == 0
        assert blob.read_bytes() == whole
        removed = run(hub, "rm", f"hf.co/{NAME}:Q8_0")
        assert "MB removed" in removed.stdout, removed.stderr
        assert f"{NAME}:Q8_0" not in run(hub, "list").stdout


@pytest.mark.integration
def test_a_file_of_an_older_commit_starts_offline(
    run: Run, repository: Path, tmp_path: Path
) -> None:
    """Another quantization moves main to a newer commit."""
    with LocalHub({NAME: repository}, {NAME: {"main": (OLDER, repository)}}) as hub:
        assert run(hub, "pull", f"{NAME}:Q8_0").returncode == 0
    with LocalHub({NAME: repository}) as hub:
        assert run(hub, "pull", f"{NAME}:Q4_K_M").returncode == 0
    (names,) = (tmp_path / "home").glob("hub/models--*/snapshots")
    for kind, commit in (("Q8_0", OLDER), ("Q4_K_M", COMMIT)):
        shown = run(None, "tokenize", "-m", f"{NAME}:{kind}", "hi")
        assert shown.returncode == 0, shown.stderr
        assert (names / commit / f"Small-{kind}.gguf").is_file()
    refused = run(None, "tokenize", "-m", f"{NAME}:Q2_K", "hi")
    assert f"no model '{NAME}:Q2_K'" in refused.stderr
    assert f"{COMMIT[:12]} has Q4_K_M" in refused.stderr


@pytest.mark.integration
def test_refusals_come_before_the_download(run: Run, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "mamba").mkdir()
    write_gguf(tmp_path / "mamba" / "m-Q4_0.gguf", {"general.architecture": "mamba"}, {})
    with LocalHub({NAME: repository, "someone/mamba": tmp_path / "mamba"}) as hub:
        for name, why in (
            (f"{NAME}:Q2_K", "of 'Q2_K'\n  name one of: Q4_K_M, Q8_0, BF16"),
            (f"{NAME}:BF16", "lacks 1 of 2 files of BF16"),
            ("someone/mamba:Q4_0", "someone/mamba holds a model of architecture 'mamba'"),
            (f"{NAME}:Q8_0@v9", "has no revision 'v9'"),
        ):
            refused = run(hub, "pull", name)
            assert refused.returncode == 3 and why in refused.stderr, refused.stderr
        assert hub.downloaded == []


@pytest.mark.integration
def test_a_quantization_is_served(run: Run, repository: Path, tmp_path: Path) -> None:
    name = f"hf.co/{NAME}:Q8_0"
    with LocalHub({NAME: repository}) as hub:
        variables = surroundings(hub, tmp_path) | {"YAIE_MODEL": name}
        server = Server(repository, tmp_path / "log", **variables, YAIE_SERVED_MODEL_NAME="")
        try:
            server.wait_ready()
            request = {"model": name, "prompt": "Hi", "max_tokens": 3}
            answer = server.post("/v1/completions", request).json()
            assert (answer["model"], answer["usage"]["completion_tokens"]) == (name, 3)
        finally:
            server.stop()
        assert hub.downloaded == ["Small-Q8_0.gguf"]
        hub.requests.clear()
        done = run(hub, "run", "-m", name, "--raw", "--max-tokens", "2", "hi")
        assert (done.returncode, hub.requests) == (0, []), done.stderr
