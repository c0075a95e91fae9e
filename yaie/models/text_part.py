"""The weights of a wrapper's text part, by the names of its text-only class. Torch-free."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from pathlib import Path

from yaie.errors import ModelUnsupported
from yaie.models.checkpoint import Checkpoint, StoredTensor, summarize

log = logging.getLogger(__name__)

# Names of text tensors, as wrappers were saved over the years:
#   model.language_model.layers.0...   language_model.model.layers.0...   model.layers.0...
_TEXT = re.compile(
    r"(?:model\.)?language_model\.(?:model\.)?(?P<inner>.+)"
    r"|(?P<own>lm_head\..+|model\.(?:embed_tokens|layers|norm)\..+)"
)
_HEAD = "lm_head."


def text_checkpoint(folder: Path, checkpoint: Checkpoint) -> Checkpoint:
    """Return the text part of a wrapper's checkpoint, with files and sizes of it alone.

    Raises `ModelUnsupported` if it has none.
    """
    tensors: dict[str, StoredTensor] = {}
    for stored, tensor in checkpoint.tensors.items():
        name = text_name(stored)
        if name is not None:
            tensors[name] = replace(tensor, name=name, stored_as=stored)
    if not tensors:
        raise ModelUnsupported(
            f"{folder} holds no text model: none of its {len(checkpoint.tensors)} tensors has a "
            f"name such as model.language_model.norm.weight; download it again",
            code="model_damaged",
        )
    left = len(checkpoint.tensors) - len(tensors)
    log.info("%d tensors for images or audio are not read: the model is served for text", left)
    used = {tensor.file for tensor in tensors.values()}
    files = tuple(file for file in checkpoint.files if file in used)
    return summarize(folder, files, tensors)


def text_name(stored: str) -> str | None:
    """Return the name of a text tensor in the text-only class; None for other tensors."""
    found = _TEXT.fullmatch(stored)
    if found is None:
        return None
    inner = found["inner"]
    if inner is None:
        return found["own"]
    return inner if inner.startswith(_HEAD) else f"model.{inner}"
