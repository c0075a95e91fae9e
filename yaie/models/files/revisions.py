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
_MAX_NAMED = 8


def split_revision(model: str) -> tuple[str, str | None]:
    """Return a name and its revision, if it has one. A path that exists is a name."""
    name, separator, revision = model.partition(_SEPARATOR)
    if not separator or not name or Path(model).expanduser().exists():
        return model, None
    return name, revision


def list_cached_revisions(repository: str) -> dict[str, str]:
    """Return the revisions in the local cache with their commits: names first, then commits.

    Lists commits whose snapshot has a config, and their names.
    """
    base = Path(constants.HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}"
    commits = {path.parent.name for path in base.glob("snapshots/*/config.json")}
    refs = base / "refs"
    files = sorted(path for path in refs.rglob("*") if path.is_file())
    names = {path.relative_to(refs).as_posix(): path.read_text().strip() for path in files}
    found = {name: commit for name, commit in names.items() if commit in commits}
    return found | {commit: commit for commit in sorted(commits)}


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


def unknown_revision(repository: str, revision: str, where: str) -> ModelNotFound:
    """Return the error for a revision that neither the cache nor the hub has."""
    present = [
        each[:_SHORT_LEN] if _COMMIT.fullmatch(each) else each
        for each in list_cached_revisions(repository)
    ]
    more = [f"and {len(present) - _MAX_NAMED} more"] if len(present) > _MAX_NAMED else []
    named = ", ".join([*present[:_MAX_NAMED], *more])
    advice = f"use one on this machine: {named}" if present else "this machine has no revision"
    return ModelNotFound(f"{repository} has no revision {revision!r} ({where}); {advice}")
