"""JSON files that a model or a user brings: read within bounds, refused in one line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

MAX_BYTES = 256 * 1024**2  # the largest index of a published model has 0.1 % of it


def read_json_file(path: Path, *, unique_keys: bool = False) -> Any:
    """Return the value in a JSON file. Raises `OSError`, and `ValueError` as `parse_json`.

    A pipe or a device in the place of a file is a `ValueError`: it may never end.
    """
    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")
    with path.open("rb") as file:
        return parse_json(file.read(MAX_BYTES + 1), unique_keys=unique_keys)


def parse_json(text: bytes | str, *, unique_keys: bool = False) -> Any:
    """Return the value of a JSON text.

    Raises `ValueError` in one line for text that is no JSON, is nested deeper than the interpreter
    can follow, or has more than `MAX_BYTES`; with `unique_keys` also for a key that an object has
    twice.
    """
    if len(text) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES} bytes")
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return json.loads(text, object_pairs_hook=_refuse_twins if unique_keys else None)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise DuplicateKey(key)
    return found


class DuplicateKey(ValueError):
    """A key that an object has twice; `line` counts from 1, if it is known."""

    def __init__(self, key: object, line: int | None = None) -> None:
        place = "" if line is None else f", again in line {line}"
        super().__init__(f"has {str(key)[:100]} twice{place}; remove one")
