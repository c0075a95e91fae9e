"""Ollama's folder: the GGUF file of a model that Ollama downloaded.

A manifest below `manifests/HOST/USER/NAME/TAG` names the files of a model by their digests; they
are in `blobs`. Ollama's own templates are not Jinja and are unused: a GGUF file has the
publisher's.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from yaie.base.errors import ModelUnsupported
from yaie.base.json_reader import read_json_file

_NAME = re.compile(
    r"(?:(?P<host>[\w.-]+\.\w+)/)?(?:(?P<user>\w[\w.-]*)/)?(?P<name>\w[\w.-]*)(?::(?P<tag>\w[\w.-]*))?"
)
_HOST, _USER, _TAG = "registry.ollama.ai", "library", "latest"
_MODEL = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def find_ollama_model(name: str) -> Path | None:
    """Return the GGUF file of a model by its name in Ollama; None if it is not there.

    Raises `ModelUnsupported` for a damaged manifest and for a model in several files.
    """
    found = _NAME.fullmatch(name)
    folder = _folder()
    if found is None or folder is None:
        return None
    parts = (found["host"] or _HOST, found["user"] or _USER, found["name"], found["tag"] or _TAG)
    manifest = folder.joinpath("manifests", *parts)
    if not manifest.is_file():
        return None
    try:
        layers = read_json_file(manifest)["layers"]
        digests = [each["digest"] for each in layers if each["mediaType"] == _MODEL]
    except (OSError, ValueError, KeyError, TypeError):
        digests = []
    if len(digests) > 1:
        raise ModelUnsupported(
            f"{name} in {folder} is in {len(digests)} files, and models in one are read; use the "
            f"model's GGUF file or its safetensors folder"
        )
    blob = None
    if digests and isinstance(digests[0], str) and _DIGEST.fullmatch(digests[0]):
        blob = folder / "blobs" / digests[0].replace(":", "-")
    if blob is None or not blob.is_file():
        raise ModelUnsupported(
            f"{manifest} is damaged: it names no file of a model in {folder / 'blobs'}; run "
            f"`ollama pull {name}` again",
            code="model_damaged",
        )
    return blob


def _folder() -> Path | None:
    """Return Ollama's folder of models: OLLAMA_MODELS, by default in the user's home."""
    stated = os.environ.get("OLLAMA_MODELS")
    try:
        return Path(stated) if stated else Path.home() / ".ollama" / "models"
    except RuntimeError:  # a user without a home
        return None
