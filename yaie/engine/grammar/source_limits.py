"""Limits on the source of a grammar: its size, brackets, integers, and what compiling it may cost.

Checked before llguidance reads it: its parsers descend recursively. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

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

# A plain grammar compiles in the engine: its cost is bounded by its size. llguidance writes bounded
# repetitions of a literal out, and keeps the rest of a literal at each of its bytes.
_PLAIN_LENGTHS = {
    "json_object": 0,
    "json_schema": 8192,
    "choice": 4096,
    "lark": 2048,
    "regex": 1024,
}
_LONGEST_LITERAL = 768  # bytes, with repetitions written out
_MOST_REPETITIONS = 20_000  # the product of the two largest counts in a Lark grammar
_COUNT = r"\{(\d+)(?:,(\d*))?\}"
_LARK_COUNTS = re.compile(_COUNT + r"|~\s*(\d+)(?:\s*\.\.\s*(\d+))?")
# Parts of a regular expression: classes, escaped characters, counts, all others.
_PARTS = re.compile(
    rf"(\[\^?\]?(?:[^\]\\]|\\.)*\]|\\[a-zA-Z](?:\{{\w+\}})?|\.)|{_COUNT}|(\\?.)", re.DOTALL
)
_LITERALS = re.compile(rf"{_QUOTED}|/(?:[^/\\\n]|\\.)+/")
# Constructs whose automata may be far larger than their source.
_EXPANSIVE = re.compile(r'"(?:multipleOf|allOf|x-guidance)"')
_EXPANSIVE_LARK = re.compile(r"&|~(?!\s*\d)|%regex|%llguidance")
# Bytes of a compiled plain grammar, measured by a test: at once, for each character of the source,
# and for each Unicode class.
_PLAIN_BASE_BYTES = 256 * 1024
_PLAIN_BYTES = 160
_CLASS_BYTES = 640 * 1024
_CLASSES = re.compile(r"\\[wWdDsSpP](?:\{\w+\})?")


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


def is_plain(grammar: Grammar) -> bool:
    """Return True if the source's size bounds what it costs to compile and to follow."""
    if len(grammar.source) > _PLAIN_LENGTHS.get(grammar.kind, 0) or is_expansive(grammar):
        return False
    if grammar.kind == "lark" and _EXPANSIVE_LARK.search(grammar.source):
        return False
    return grammar.kind not in ("json_schema", "lark") or not _EXPANSIVE.search(grammar.source)


def plain_bytes(grammar: Grammar) -> int:
    """Return the bytes of a plain grammar once it is compiled, at most."""
    num_classes = len(set(_CLASSES.findall(grammar.source)))
    return _PLAIN_BASE_BYTES + _PLAIN_BYTES * len(grammar.source) + _CLASS_BYTES * num_classes


def is_expansive(grammar: Grammar) -> bool:
    """Return True for long literals and repetitions, whose cost may appear late in a text."""
    if grammar.kind == "regex":
        return literal_length(grammar.source) > _LONGEST_LITERAL
    if grammar.kind == "lark":
        found = (_largest(counts) for counts in _LARK_COUNTS.findall(grammar.source))
        first, second, *_ = [*sorted(found, reverse=True), 1, 1]
        literals = _LITERALS.findall(grammar.source)
        longest = max(map(len, literals), default=0)
        return first * second > _MOST_REPETITIONS or longest > _LONGEST_LITERAL
    try:
        parts = [json.loads(grammar.source or "null")]
    except (ValueError, RecursionError):  # the compiler says where
        return False
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts += [each for key, each in part.items() if key not in _COMMENTS]
            if isinstance(patterns := part.get("patternProperties"), dict):
                parts += patterns
        elif isinstance(part, list):
            parts += part
        elif isinstance(part, str) and (
            len(part) > _LONGEST_LITERAL or literal_length(part) > _LONGEST_LITERAL
        ):
            return True
    return False


def literal_length(pattern: str) -> int:
    """Return the literal characters of a regular expression, with counts written out."""
    groups, last = [0], 0
    for wildcard, least, most, other in _PARTS.findall(pattern):
        if least:
            groups[-1] += last * (_largest((least, most)) - 1)
        elif other == "(":
            groups.append(0)
        elif other == ")" and len(groups) > 1:
            last = groups.pop()
            groups[-1] += last
        else:
            last = 0 if wildcard or other in "|*+?^$" else 1
            groups[-1] += last
    return max(groups)


def _largest(counts: Iterable[str]) -> int:
    return max(1, *(int(each[:9]) for each in counts if each))


_COMMENTS = frozenset(("description", "title", "$comment", "default", "example", "examples"))
