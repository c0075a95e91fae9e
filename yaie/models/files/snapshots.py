"""Snapshots: a repository's commits in the hub's cache, judged by their files without the hub.

Other programs fill the cache too: a snapshot may hold a config alone, or lack files that only
transformers or vLLM omits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from yaie.base.errors import ModelNotFound, StartupError
from yaie.base.json_reader import read_json_file
from yaie.models.files.checkpoint import (
    INDEX,
    SINGLE,
    read_checkpoint,
    read_config,
    read_weight_map,
)
from yaie.models.files.gguf_repository import choose_gguf, describe_kinds, list_gguf
from yaie.models.files.revisions import (
    DEFAULT,
    cached_repository,
    find_cached_commit,
    list_cached_revisions,
    read_cached_names,
    shorten_commit,
)
from yaie.text.convert import OLDER_FORMS, TOKENIZER

# Top-level files that transformers and the tokenizer read, in addition to the weights.
_SMALL = ("*.json", "*.jinja", "merges.txt", *OLDER_FORMS)
# Of embedding models and rerankers.
_STEPS = (
    *("*_Pooling/config.json", "*_LogitScore/config.json"),
    *("*_Dense/config.json", "*_Dense/model.safetensors"),
)
_MAX_NAMED = 8


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Snapshot of a revision in the cache."""

    commit: str | None = None
    path: Path | None = None  # folder or GGUF file; None: no weights, or not all of them
    reason: str = ""  # why a snapshot that is there cannot be used
    absent: tuple[str, ...] = ()  # files that the repository has and the folder lacks


def find_snapshot(repository: str, revision: str | None, kind: str | None = None) -> Snapshot:
    """Return a revision's snapshot; `main` without one.

    `kind`: the quantization of a GGUF file. Without a revision the file of any commit is used.
    Raises `ModelNotFound` for an ambiguous commit, `ModelUnsupported` for damaged weights.
    """
    asked = revision or DEFAULT
    commit = read_cached_names(repository).get(asked) or find_cached_commit(repository, asked)
    if commit is None:
        return Snapshot()
    folder = cached_repository(repository) / "snapshots" / commit
    reason = _find_gap(folder) if kind is None else ""
    if kind is None and not reason:
        return Snapshot(commit, folder, absent=_list_absent(folder))
    folders = [folder]
    if kind is not None and revision is None:
        folders += sorted(folder.parent.glob("*"), key=lambda path: -path.stat().st_mtime)
    for each in folders:
        names = list_gguf(each)
        with contextlib.suppress(StartupError):  # of another quantization, or in parts
            return Snapshot(commit, each / choose_gguf(repository, names, kind))
        if each == folder:
            reason = f"has {describe_kinds(names)}" if names else reason or "has no GGUF file"
    return Snapshot(commit, reason=f"{shorten_commit(commit)} {reason}")


def list_complete_revisions(repository: str) -> list[str]:
    """Return the revisions in the cache whose config and weights are whole: names, then commits."""
    snapshots = cached_repository(repository) / "snapshots"
    found = list_cached_revisions(repository)
    complete = {
        commit
        for commit in set(found.values())
        if not _find_gap(snapshots / commit) or list_gguf(snapshots / commit)
    }
    return [shorten_commit(name) for name, commit in found.items() if commit in complete]


def unknown_revision(repository: str, revision: str, where: str) -> ModelNotFound:
    """Return the error for a revision that neither the cache nor the hub has."""
    present = list_complete_revisions(repository)
    more = [f"and {len(present) - _MAX_NAMED} more"] if len(present) > _MAX_NAMED else []
    named = ", ".join([*present[:_MAX_NAMED], *more])
    advice = f"use one on this machine: {named}" if present else "this machine has no revision"
    return ModelNotFound(f"{repository} has no revision {revision!r} ({where}); {advice}")


def choose_files(names: Iterable[str], weight_map: Iterable[str]) -> list[str]:
    """Return a repository's files that a model needs; `weight_map` has the index's file names."""
    present = set(names)
    weights = {SINGLE} if SINGLE in present else {INDEX, *weight_map}
    return sorted(present & weights | set(choose_small_files(present)))


def choose_small_files(names: Iterable[str]) -> list[str]:
    """Return the files of the config, the tokenizer and the chat template."""
    wanted = [
        name for name in names if "/" not in name or any(fnmatchcase(name, step) for step in _STEPS)
    ]
    return sorted(name for name in wanted if any(fnmatchcase(name, each) for each in _SMALL))


def _find_gap(folder: Path) -> str:
    """Return what a snapshot lacks to be a model; empty if it is whole."""
    if not folder.is_dir():
        return "has no snapshot"
    try:
        read_config(folder)
        read_checkpoint(folder)
    except ModelNotFound as error:
        return error.message.replace(f"{folder} ", "").partition("; ")[0]
    return ""


def _list_absent(folder: Path) -> tuple[str, ...]:
    """Return files that a snapshot lacks: files in the hub library's listing, or a tokenizer."""
    listing = folder.parent.parent / "trees" / f"{folder.name}.json"
    try:
        names = list(read_json_file(listing)["files"])
    except (OSError, ValueError, KeyError, TypeError):  # none, or another version's
        names = []
    wanted = choose_files(names, read_weight_map(folder).values())
    absent = tuple(name for name in wanted if not (folder / name).exists())
    has_tokenizer = any(file for form in (TOKENIZER, *OLDER_FORMS) for file in folder.glob(form))
    return absent if absent or has_tokenizer else ("a tokenizer",)
