"""Nearest models: the names on this machine that a misspelt name may mean."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from huggingface_hub import constants

from yaie.base.errors import ModelNotFound
from yaie.base.settings import BUILTIN_MODEL
from yaie.models.files.model_index import CATALOGUE
from yaie.models.files.revisions import holds_model_file

GGUF = ".gguf"  # suffix of a file


def model_not_found(model: str, looked_in: list[str], advice: str = "") -> ModelNotFound:
    """Return the error for a name that no place has."""
    message = f"no model {model!r}; looked in: {' · '.join(looked_in)}"
    near = nearest_models(model)
    if advice:
        message += f"; {advice}"
    elif near:
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
    """Return the hub cache's repositories that have a config or a GGUF file, sorted."""
    cache = Path(constants.HF_HUB_CACHE)
    if not cache.is_dir() or not os.access(cache, os.R_OK):
        return []
    found = [
        path.name.removeprefix("models--").replace("--", "/")
        for path in cache.glob("models--*")
        if any(map(holds_model_file, path.glob("snapshots/*")))
    ]
    return sorted(found)
