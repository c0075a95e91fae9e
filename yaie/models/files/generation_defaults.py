"""Generation defaults: a model folder's end tokens and sampling settings. Torch-free."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from tokenizers import Tokenizer

from yaie.base.errors import InvalidRequest
from yaie.base.types import SAMPLING_FIELDS, SamplingParams
from yaie.models.files.checkpoint import read_json

logger = logging.getLogger(__name__)


def read_default_sampling(folder: Path) -> dict[str, float | int]:
    """Return the sampling settings recommended by the model's authors, possibly empty."""
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
            logger.warning("ignoring a field of generation_config.json: %s", error.message)
        else:
            found[name] = value
    if settings.get("do_sample") is False:
        found["temperature"] = 0.0
    return found


def read_eos_token_ids(
    folder: Path, config: dict[str, Any], vocab_size: int, *, default: object = None
) -> tuple[int, ...]:
    """Return all end-of-text tokens, ascending, from generation config, config and tokenizer.

    `default`, an id or a list of ids, applies if the files name no token. (transformers' default is
    an id in one vocabulary, and may be any token in another.) Invalid ids are logged and ignored.
    """
    found: set[int] = set()
    for settings in (_read_optional(folder / "generation_config.json"), config):
        stated = settings.get("eos_token_id")
        found |= _ids(stated)
        if stated is not None and not all(map(_is_id, _as_list(stated))):
            logger.warning("eos_token_id is %.200r; ignoring values that are not token ids", stated)
    end = _read_optional(folder / "tokenizer_config.json").get("eos_token")
    text = end.get("content") if isinstance(end, dict) else end
    if isinstance(text, str) and (token := _token_id(folder / "tokenizer.json", text)) is not None:
        found.add(token)
    found = found or _ids(default)
    if beyond := sorted(token for token in found if token >= vocab_size):
        logger.warning(
            "ignoring end-of-text ids outside the vocabulary of %d: %s",
            vocab_size,
            ", ".join(map(str, beyond))[:200],
        )
    return tuple(sorted(found.difference(beyond)))


def _as_list(stated: object) -> list[object]:
    return stated if isinstance(stated, list) else [stated]


def _is_id(stated: object) -> TypeGuard[int]:
    return type(stated) is int and stated >= 0


def _ids(stated: object) -> set[int]:
    return {token for token in _as_list(stated) if _is_id(token)}


def _token_id(tokenizer: Path, text: str) -> int | None:
    """Return a token's id; None for a missing or damaged tokenizer, refused later."""
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
