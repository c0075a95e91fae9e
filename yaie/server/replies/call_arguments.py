"""Arguments of a tool call as an object: also of an answer that was cut, or with wrong escapes."""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import from_json

_SURROGATE_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# Right escapes are matched first, so that the last group finds wrong ones.
_ESCAPES = re.compile(
    rf'({_SURROGATE_PAIR}|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{{4}}|\\["\\/bfnrt])'
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|(\\)"
)
_UNFINISHED = re.compile(r"(?<!\\)((?:\\\\)*)\\(u[0-9a-fA-F]{0,3})?\Z")


def read_arguments(text: str) -> dict[str, Any]:
    """Return the members that the text has up to its end; an empty object if it is none."""
    for given in (text, repair_escapes(drop_unfinished_escape(text))):
        try:
            found = from_json(given or "{}", allow_partial="trailing-strings")
        except ValueError:
            continue
        return found if isinstance(found, dict) else {}
    return {}


def drop_unfinished_escape(text: str) -> str:
    """Return JSON text without the beginning of an escape at its end."""
    return _UNFINISHED.sub(r"\1", text)


def repair_escapes(text: str) -> str:
    """Return JSON text with U+FFFD for half a surrogate pair, and stray backslashes as text."""
    return _ESCAPES.sub(_repair, text)


def _repair(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    return r"\ufffd" if found[2] else r"\\"
