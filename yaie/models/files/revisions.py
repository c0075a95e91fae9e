"""Revisions: a repository's branch, tag or commit, written as `name@revision`.

The hub's cache has a file in `refs/` for each branch or tag, which names a commit, and a folder in
`snapshots/` for each commit.
"""

from __future__ import annotations

import re
from pathlib import Path

from huggingface_hub import constants

from yaie.base.errors import ModelNotFound

DEFAULT = "main"
_SEPARATOR = "@"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHORT_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_SHORT_LEN = 12  # characters of a commit in messages


def split_revision(model: str) -> tuple[str, str | None]:
    """Return a name and its revision, if it has one. A path that exists is a name."""
    name, separator, revision = model.partition(_SEPARATOR)
    if not separator or not name or Path(model).expanduser().exists():
        return model, None
    return name, revision


def list_cached_revisions(repository: str) -> dict[str, str]:
    """Return the revisions in the local cache with their commits: names first, then commits.

    Lists commits whose snapshot has a config or a GGUF file, and their names.
    """
    snapshots = cached_repository(repository).glob("snapshots/*")
    commits = {path.name for path in snapshots if holds_model_file(path)}
    names = read_cached_names(repository)
    found = {name: commit for name, commit in names.items() if commit in commits}
    return found | {commit: commit for commit in sorted(commits)}


def holds_model_file(snapshot: Path) -> bool:
    """Return True if a snapshot has a config or a GGUF file, in a subfolder too."""
    return any(any(snapshot.glob(form)) for form in ("config.json", "*.gguf", "*/*.gguf"))


def cached_repository(repository: str) -> Path:
    """Return the repository's folder in the hub's cache, whether it exists or not."""
    return Path(constants.HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}"


def read_cached_names(repository: str) -> dict[str, str]:
    """Return the commit of each branch and tag in the local cache."""
    refs = cached_repository(repository) / "refs"
    files = sorted(path for path in refs.rglob("*") if path.is_file())
    return {path.relative_to(refs).as_posix(): path.read_text().strip() for path in files}


def record_revision(repository: str, revision: str, commit: str) -> None:
    """Make a branch or tag in the local cache name a commit."""
    file = cached_repository(repository) / "refs" / revision
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(commit)


def shorten_commit(revision: str) -> str:
    """Return the first characters of a commit, and names as they are."""
    return revision[:_SHORT_LEN] if _COMMIT.fullmatch(revision) else revision


def find_cached_commit(repository: str, revision: str) -> str | None:
    """Return a revision's commit in the local cache.

    The first 7 or more characters of a commit identify it. Raises `ModelNotFound` if they match
    several commits.
    """
    present = list_cached_revisions(repository)
    if revision in present:
        return present[revision]
    if not _SHORT_COMMIT.fullmatch(revision):
        return None
    commits = sorted({each for each in present.values() if each.startswith(revision)})
    if len(commits) > 1:
        raise ModelNotFound(
            f"{revision} matches {len(commits)} commits of {repository}: {', '.join(commits)}; "
            "give more digits"
        )
    return commits[0] if commits else None
