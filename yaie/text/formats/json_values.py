"""JSON values in streamed text, read character by character.

Texts of models are nearly JSON: a raw line break inside a string is read as its escape, a backslash
that begins no escape as one of the text, and half a surrogate pair as U+FFFD.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from yaie.text.formats.reader import Reader, Steps

_MAX_DEPTH = 512
_PAIRS = {"{": "}", "[": "]"}
_PLAIN = re.compile(r'[^"{}\[\]<]+')  # outside strings
_IN_STRING = re.compile(r'[^"\\\x00-\x1f<]+')
_UNIT = re.compile(r"u[0-9a-fA-F]{4}")
_LOW_HALF = re.compile(r"\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_SCALAR_ENDS = frozenset(",]} \t\r\n<[")


class Malformed(Exception):
    """Text that is not JSON."""


def read_value(
    reader: Reader, show: Callable[[str], None], ends: tuple[str, ...] = ()
) -> Steps[None]:
    """Read one value and pass its text to `show` as it arrives.

    No string has a mark of `ends` in it. Raises `Malformed` where brackets do not match, or the
    text ends; all before it was shown.
    """
    first = yield from reader.peek()
    if first == '"':
        yield from _read_string(reader, show, ends)
    elif first in _PAIRS:
        yield from _read_nested(reader, show, ends)
    else:
        yield from _read_scalar(reader, show)


def refuse_constant(constant: str) -> None:
    """Raise `ValueError` for `NaN` and `Infinity`, which Python's parser takes."""
    raise ValueError(f"{constant} is not JSON")


def read_text(reader: Reader) -> Steps[str]:
    """Read a string and return its characters. Raises `Malformed` if there is none."""
    parts: list[str] = []
    if (yield from reader.peek()) != '"':
        raise Malformed("a string is missing")
    yield from _read_string(reader, parts.append, ())
    return characters("".join(parts))


def characters(written: str) -> str:
    """Return the characters of a JSON string as `read_value` shows it."""
    return str(json.loads(written))


def _read_nested(reader: Reader, show: Callable[[str], None], ends: tuple[str, ...]) -> Steps[None]:
    closers: list[str] = []
    while True:
        if plain := reader.run_of(_PLAIN):
            show(plain)
        found = yield from reader.peek()
        if not found:
            raise Malformed("the text ended inside a value")
        if found == '"':
            yield from _read_string(reader, show, ends)
            continue
        if found in _PAIRS:
            closers.append(_PAIRS[found])
            if len(closers) > _MAX_DEPTH:
                raise Malformed(f"a value is nested more than {_MAX_DEPTH} deep")
        elif found in "]}":
            if closers.pop() != found:
                raise Malformed(f"{found!r} closes no bracket")
        elif found == "<":  # starts a marker
            raise Malformed(f"{found!r} is outside a string")
        show((yield from reader.take()))
        if not closers:
            return


def _read_string(reader: Reader, show: Callable[[str], None], ends: tuple[str, ...]) -> Steps[None]:
    show((yield from reader.take()))
    while True:
        if plain := reader.run_of(_IN_STRING):
            show(plain)
        found = yield from reader.peek()
        if found == "\\":
            show((yield from _read_escape(reader)))
            continue
        for end in ends:
            if (yield from reader.starts_with(end)):
                raise Malformed("a string has no end")
        found = yield from reader.take()
        if not found:
            raise Malformed("the text ended inside a string")
        if found == '"':
            show(found)
            return
        elif found < " ":
            show(json.dumps(found)[1:-1])
        else:
            show(found)


def _read_escape(reader: Reader) -> Steps[str]:
    yield from reader.take()
    found = yield from reader.peek()
    if found != "" and found in '"\\/bfnrt':
        return "\\" + (yield from reader.take())
    unit = yield from reader.ahead(5)
    if not _UNIT.fullmatch(unit):
        return "\\\\" if found else ""
    yield from _take(reader, 5)
    if "d800" <= unit[1:].lower() < "dc00":
        low = yield from reader.ahead(6)
        if _LOW_HALF.fullmatch(low):
            return f"\\{unit}" + (yield from _take(reader, 6))
    return "\\ufffd" if "d800" <= unit[1:].lower() < "e000" else f"\\{unit}"


def _take(reader: Reader, length: int) -> Steps[str]:
    taken = ""
    for _ in range(length):
        taken += yield from reader.take()
    return taken


def _read_scalar(reader: Reader, show: Callable[[str], None]) -> Steps[None]:
    is_empty = True
    while (found := (yield from reader.peek())) and found not in _SCALAR_ENDS:
        show((yield from reader.take()))
        is_empty = False
    if is_empty:
        raise Malformed("a value is missing")
