"""Repository: a model's files in the hub's cache, else downloaded from the hub.

A snapshot in the cache is used as it is, without a request. The config is downloaded first, so an
unsupported model is refused before its weights are transferred.
"""

from __future__ import annotations

import glob
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from yaie.base.errors import ModelNotFound, ModelUnsupported, StartupError, first_line
from yaie.models.architecture.support import check_supported
from yaie.models.files.checkpoint import INDEX, SINGLE, read_checkpoint, read_json, read_weight_map
from yaie.models.files.gguf_repository import choose_gguf, keep_models
from yaie.models.files.nearest import model_not_found
from yaie.models.files.pull import is_storage_error, storage_error
from yaie.models.files.revisions import DEFAULT, record_revision
from yaie.models.files.snapshots import (
    Snapshot,
    choose_files,
    choose_small_files,
    find_snapshot,
    list_complete_revisions,
    unknown_revision,
)
from yaie.models.files.split_files import parts_of
from yaie.process.progress import report

log = logging.getLogger(__name__)

_HUB_TIMEOUT_S = 8.0


def fetch_repository(
    repository: str,
    revision: str | None = None,
    kind: str | None = None,
    *,
    with_weights: bool = True,
    update: bool = False,
) -> Path:
    """Return a repository's folder or GGUF file: as cached, else downloaded.

    `kind` is the quantization of a GGUF file, which also serves a repository without safetensors.
    `update` asks the hub even if the cache has a complete snapshot, and replaces damaged files.
    Without weights only its small files are downloaded, such as the tokenizer's, but a GGUF file is
    downloaded whole. Raises `ModelNotFound` with the searched places and what each lacks,
    `ModelUnsupported` for damaged weights.
    """
    cached, is_damaged = _look_up(repository, revision, kind, update=update)
    if cached.path is not None and not (update or cached.absent):
        return cached.path
    if revision is not None and (cached.commit or "").startswith(revision):
        revision = cached.commit  # the hub takes whole commits
    try:
        if constants.HF_HUB_OFFLINE:
            raise OfflineModeIsEnabled("skipped: HF_HUB_OFFLINE is set")
        return _download(
            repository, revision, kind, with_weights=with_weights, replaces_cached=is_damaged
        )
    except StartupError:
        raise
    except Exception as error:  # from the hub library or its HTTP library
        if isinstance(error, OSError) and is_storage_error(error):
            folder = Path(constants.HF_HUB_CACHE)
            raise storage_error(repository, folder, error, "HF_HUB_CACHE") from None
        if cached.path is None:
            raise _absent_error(repository, revision, kind, cached.reason, error) from None
        lacks = f"lacks {', '.join(cached.absent)}" if cached.absent else "is used as cached"
        log.warning("%s %s; %s (%s)", repository, lacks, constants.ENDPOINT, _reason_of(error))
    return cached.path


def _look_up(
    repository: str, revision: str | None, kind: str | None, *, update: bool
) -> tuple[Snapshot, bool]:
    """Return what the cache has, and True if its files are damaged and to be replaced."""
    try:
        found = find_snapshot(repository, revision, kind)
        if update and found.path is not None and found.path.is_file():
            from yaie.models.files.gguf.header import read_model  # numpy

            read_model(found.path)
        return found, False
    except ModelUnsupported as error:
        if not (update and error.code == "model_damaged"):
            raise
        return Snapshot(), True


def _reason_of(error: Exception) -> str:
    """Return why the hub did not serve a repository."""
    if isinstance(error, GatedRepoError):
        return "the repository is gated"
    if isinstance(error, RepositoryNotFoundError):
        return "no such repository"
    if isinstance(error, RevisionNotFoundError):
        return "no such revision"
    return first_line(error)


def _absent_error(
    repository: str, revision: str | None, kind: str | None, reason: str, error: Exception
) -> ModelNotFound:
    """Return the error for a missing repository, file, or revision of a cached repository.

    reason: why the snapshot in the cache cannot be used, if there is one.
    """
    if isinstance(error, GatedRepoError):
        return ModelNotFound(
            f"{repository} is gated; accept its terms on {constants.ENDPOINT}/{repository} and set "
            f"HF_TOKEN"
        )
    if isinstance(error, RevisionNotFoundError):
        return unknown_revision(repository, revision or DEFAULT, constants.ENDPOINT)
    hub, complete = (
        f"{constants.ENDPOINT} ({_reason_of(error)})",
        list_complete_revisions(repository),
    )
    if complete and not reason:
        return unknown_revision(repository, revision or DEFAULT, hub)
    cache = f"{constants.HF_HUB_CACHE} ({reason})" if reason else str(constants.HF_HUB_CACHE)
    name = repository if kind is None else f"{repository}:{kind}"
    name = name if revision is None else f"{name}@{revision}"
    advice = ""
    if complete and kind is None:
        advice = f"complete here: {', '.join(complete)}; use {repository}@{complete[0]}"
    return model_not_found(name, [f"./{repository}", cache, hub], advice)


def _check_architecture(repository: str, header: Mapping[str, Any] | None) -> None:
    """Refuse an unsupported architecture that the hub states of a repository's GGUF files."""
    from yaie.models.files.gguf.families import FAMILIES, refuse_architecture  # numpy

    name = (header or {}).get("architecture")
    if name is not None and name not in FAMILIES:
        raise refuse_architecture(str(name), repository)


def _download(
    repository: str,
    revision: str | None,
    kind: str | None,
    *,
    with_weights: bool,
    replaces_cached: bool,
) -> Path:
    """Return a repository's folder, downloaded whole or without weights, or its GGUF file.

    The revision names the new commit in the cache once all files are there: an interrupted update
    leaves the older model.
    """
    report(f"asking {constants.ENDPOINT}")
    # A single request without retries, so that an unreachable hub is reported immediately.
    info = HfApi().model_info(repository, revision=revision, timeout=_HUB_TIMEOUT_S)
    commit, names = str(info.sha), [sibling.rfilename for sibling in info.siblings or ()]
    report("")  # the hub's library shows bars
    options: dict[str, Any] = {"revision": commit, "etag_timeout": _HUB_TIMEOUT_S}
    gguf = keep_models(names)
    if kind is not None or (gguf and not {SINGLE, INDEX} & set(names)):
        file = choose_gguf(repository, gguf, kind)
        _check_architecture(repository, info.gguf)
        log.info("%s means %s of %d GGUF files", repository, file, len(gguf))
        options["force_download"] = replaces_cached
        parts = [Path(hf_hub_download(repository, part, **options)) for part in parts_of(file)]
        path = parts[0]
    else:
        config = hf_hub_download(repository, "config.json", **options)
        path = Path(config).parent
        check_supported(read_json(Path(config)))
        if SINGLE not in names and INDEX in names and with_weights:
            hf_hub_download(repository, INDEX, **options)
        if with_weights:
            wanted = choose_files(names, read_weight_map(path).values())
        else:
            wanted = choose_small_files(names)
        options["force_download"] = replaces_cached
        patterns = [glob.escape(name) for name in wanted]
        snapshot_download(repository, allow_patterns=patterns, **options)
        if not with_weights:
            return path
        report("checking the files")
        read_checkpoint(path)
    if revision != commit:
        record_revision(repository, revision or DEFAULT, commit)
    return path
