"""Split GGUF files, and the models in Ollama's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models.gguf_files import write_gguf
from tests.models.gguf_twins import Twin
from yaie.base.errors import ModelNotFound, ModelUnsupported
from yaie.models.files.gguf.hf_weights import unread_weights
from yaie.models.files.ollama_store import find_ollama_model
from yaie.models.load.folder import open_folder, resolve_model_path

TWIN = Twin(case="qwen3", architecture="qwen3")
COUNT = 3


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "yaie.models.files.gguf.hf_folder.cache_folder", lambda name: tmp_path / name
    )
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture(scope="module")
def model() -> Any:
    return TWIN.build()


def write_parts(folder: Path, model: Any, **changes: Any) -> list[Path]:
    """Write the model as llama-gguf-split does: the metadata is in the first part alone."""
    tensors = list(TWIN.tensors(model).items())
    metadata = TWIN.whole_metadata(model.config)
    paths = []
    for number in range(COUNT):
        own = {"split.no": number, "split.count": COUNT, "split.tensors.count": len(tensors)}
        path = folder / f"m-Q8_0-0000{number + 1}-of-0000{COUNT}.gguf"
        share = dict(tensors[number::COUNT])
        part = write_gguf(path, (metadata if number == 0 else {}) | own | changes, share)
        paths.append(part)
    return paths


@pytest.mark.parametrize("named", range(COUNT))
def test_any_part_stands_for_the_model(named: int, model: Any, tmp_path: Path) -> None:
    paths = write_parts(tmp_path, model)
    folder = open_folder(str(paths[named]))
    assert folder.checkpoint.files == tuple(paths)
    assert folder.path == open_folder(str(paths[0])).path
    weights = unread_weights(paths[0], torch.float32)
    expected = model.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name][...], value) for name, value in expected.items())


def test_a_folder_of_parts_is_one_model(model: Any, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    paths = write_parts(parts, model)
    assert open_folder(str(parts)).checkpoint.files == tuple(paths)
    paths[1].unlink()
    with pytest.raises(ModelNotFound, match=r"in 3 parts, and 1 of them .* m-Q8_0-00002-of-00003"):
        open_folder(str(parts))


def test_a_changed_part_is_read_again(model: Any, tmp_path: Path) -> None:
    paths = write_parts(tmp_path, model)
    first = resolve_model_path(str(paths[0]))
    paths[2].write_bytes(paths[2].read_bytes() + b"\0")
    assert resolve_model_path(str(paths[0])) != first


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"split.count": 4}, "it is not part 1 of 3"), ({"split.no": 2}, "it is not part 1 of 3")],
)
def test_parts_of_other_models_are_refused(
    changes: dict[str, Any], why: str, model: Any, tmp_path: Path
) -> None:
    paths = write_parts(tmp_path, model, **changes)
    with pytest.raises(ModelUnsupported, match=why):
        open_folder(str(paths[0]))


def test_a_renamed_part_is_refused_with_the_name_it_needs(model: Any, tmp_path: Path) -> None:
    part = write_parts(tmp_path, model)[0].rename(tmp_path / "model.gguf")
    with pytest.raises(ModelUnsupported, match=r"in 3 files.*MODEL-00001-of-00003\.gguf"):
        open_folder(str(part))


DIGEST = "sha256:" + "ab" * 32


def write_manifest(store: Path, *parts: str, layers: Any = None) -> None:
    manifest = store.joinpath("manifests", *parts)
    manifest.parent.mkdir(parents=True, exist_ok=True)
    kind = "application/vnd.ollama.image."
    own = [
        {"mediaType": f"{kind}template", "digest": "sha256:" + "cd" * 32},
        {"mediaType": f"{kind}model", "digest": DIGEST},
    ]
    manifest.write_text(json.dumps({"layers": own if layers is None else layers}))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("tiny", ("registry.ollama.ai", "library", "tiny", "latest")),
        ("tiny:1b", ("registry.ollama.ai", "library", "tiny", "1b")),
        ("someone/tiny:1b", ("registry.ollama.ai", "someone", "tiny", "1b")),
        ("hf.co/org/tiny-GGUF:Q8_0", ("hf.co", "org", "tiny-GGUF", "Q8_0")),
        ("qwen3:0.6b", ("registry.ollama.ai", "library", "qwen3", "0.6b")),
    ],
)
def test_a_model_of_ollama_has_its_name_there(
    name: str, parts: tuple[str, ...], model: Any, tmp_path: Path
) -> None:
    store = tmp_path / "ollama"
    (store / "blobs").mkdir(parents=True)
    blob = TWIN.write(store / "blobs" / DIGEST.replace(":", "-"), model)
    write_manifest(store, *parts)
    assert open_folder(name).checkpoint.files == (blob,)


def test_without_a_manifest_there_is_no_model(tmp_path: Path) -> None:
    for name in ("tiny", "../../etc/passwd", "a/b/c/d", "tiny:..", "..", ""):
        assert find_ollama_model(name) is None


@pytest.mark.parametrize("layers", [[], [{"mediaType": 1}], "x", [{"digest": "sha256:../x"}], None])
def test_a_damaged_manifest_is_named(layers: Any, tmp_path: Path) -> None:
    """The last one names a file that is absent."""
    write_manifest(
        tmp_path / "ollama", "registry.ollama.ai", "library", "tiny", "latest", layers=layers
    )
    with pytest.raises(ModelUnsupported, match=r"latest is damaged.*run `ollama pull tiny` again"):
        resolve_model_path("tiny")
