"""What a model folder says of generating: which tokens end a text, and how to sample by default.

Torch-free. Called by the loader.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from tokenizers import Tokenizer

from yaie.errors import InvalidRequest
from yaie.models.checkpoint import read_json
from yaie.types import SAMPLING_FIELDS, SamplingParams

logger = logging.getLogger(__name__)


def read_default_sampling(folder: Path) -> dict[str, float | int]:
    """The sampling settings that the model's authors recommend; empty where they say nothing."""
    settings = _read_optional(folder / "generation_config.json")
    found: dict[str, float | int] = {}
    for name, each in SAMPLING_FIELDS.items():
        value = settings.get(name) if each.is_recommended else None
        if value is None:
            continue
        if name == "top_k" and isinstance(value, float) and value.is_integer():
            value = int(value)
        try:
            replace(SamplingParams(), **{name: value})  # type: ignore[arg-type]
        except InvalidRequest as error:
            logger.warning("generation_config.json is not followed: %s", error.message)
        else:
            found[name] = value
    if settings.get("do_sample") is False:
        found["temperature"] = 0.0
    return found


def read_eos_token_ids(
    folder: Path, config: dict[str, Any], vocab_size: int, *, default: object = None
) -> tuple[int, ...]:
    """Every token that ends a text, ascending: of generation config, config and tokenizer.

    `default` is the id, or the list of ids, where none of them names one: transformers fills in
    its class's own, which in another vocabulary is any token. An id that the model cannot draw is
    named in the log and left out.
    """
    found: set[int] = set()
    for settings in (_read_optional(folder / "generation_config.json"), config):
        stated = settings.get("eos_token_id")
        found |= _ids(stated)
        if stated is not None and not all(map(_is_id, _listed(stated))):
            logger.warning("eos_token_id is %.200r; what is no token id is not followed", stated)
    end = _read_optional(folder / "tokenizer_config.json").get("eos_token")
    text = end.get("content") if isinstance(end, dict) else end
    if isinstance(text, str) and (token := _token_id(folder / "tokenizer.json", text)) is not None:
        found.add(token)
    found = found or _ids(default)
    if beyond := sorted(token for token in found if token >= vocab_size):
        logger.warning(
            "end-of-text ids beyond the vocabulary of %d are not followed: %s",
            vocab_size,
            ", ".join(map(str, beyond))[:200],
        )
    return tuple(sorted(found.difference(beyond)))


def _listed(stated: object) -> list[object]:
    return stated if isinstance(stated, list) else [stated]


def _is_id(stated: object) -> TypeGuard[int]:
    return type(stated) is int and stated >= 0


def _ids(stated: object) -> set[int]:
    return {token for token in _listed(stated) if _is_id(token)}


def _token_id(tokenizer: Path, text: str) -> int | None:
    """None also where there is no tokenizer, or a damaged one: whoever needs it refuses it."""
    if not tokenizer.is_file():
        return None
    try:
        found: int | None = Tokenizer.from_file(str(tokenizer)).token_to_id(text)
    except Exception as error:  # the Rust reader raises plain Exception
        logger.warning("%s cannot be read: %s", tokenizer, error)
        return None
    return found


def _read_optional(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}
