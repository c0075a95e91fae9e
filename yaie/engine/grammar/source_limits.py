"""Limits on the source of a grammar: its size, the depth of its brackets, and its integers.

Checked before llguidance reads it: its parsers descend recursively. Pure.
"""

from __future__ import annotations

import json
import re

from yaie.base.errors import InvalidRequest
from yaie.base.types import Grammar

MAX_BYTES = 64 * 1024
MAX_DEPTH = 64  # nested brackets
LARGEST_EXACT = 2**53  # up to it every integer is a float64

_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
# Text in which brackets do not nest.
_FLAT = {
    "json_schema": re.compile(_QUOTED),
    "choice": re.compile(_QUOTED),
    "lark": re.compile(rf"{_QUOTED}|//[^\n]*|/(?:[^/\\\n]|\\.)+/"),
    "regex": re.compile(r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL),
}
_BRACKETS = re.compile(r"[\[({})\]]")


def check_size(grammar: Grammar) -> None:
    """Raise `InvalidRequest` if the source is too long or nested too deeply."""
    size = len(grammar.source.encode(errors="replace"))
    if size > MAX_BYTES:
        raise InvalidRequest(
            f"{grammar.param} has {size} bytes; the limit is {MAX_BYTES}, shorten it",
            param=grammar.param,
        )
    depth = depth_of(grammar)
    if depth > MAX_DEPTH:
        raise InvalidRequest(
            f"{grammar.param} is nested {depth} levels deep; the limit is {MAX_DEPTH}, flatten it",
            param=grammar.param,
        )


def check_values(grammar: Grammar) -> None:
    """Raise `InvalidRequest` for an integer beyond `LARGEST_EXACT` in `enum` or `const`.

    llguidance reads numbers as float64: it would write another value than the schema allows.
    """
    try:
        schema = json.loads(grammar.source)
    except ValueError:  # llguidance says where
        return
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, dict):
            pending += part.values()
            for name in ("enum", "const"):
                _check_exact(part.get(name), name, grammar.param)


def _check_exact(value: object, name: str, param: str) -> None:
    if isinstance(value, list):
        for item in value:
            _check_exact(item, name, param)
    elif isinstance(value, int) and abs(value) > LARGEST_EXACT:
        raise InvalidRequest(
            f"{param} has an integer beyond 2^53 in {name}, which would be rounded; write it as "
            f"text",
            param=param,
        )


def depth_of(grammar: Grammar) -> int:
    """Return the bracket depth outside literals."""
    flat = _FLAT.get(grammar.kind)
    source = flat.sub("", grammar.source) if flat else grammar.source
    depth = deepest = 0
    for match in _BRACKETS.finditer(source):
        depth += 1 if match[0] in "[({" else -1
        deepest = max(deepest, depth)
    return deepest
