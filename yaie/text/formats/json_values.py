"""JSON values in streamed text, read character by character.

Texts of models are nearly JSON: a raw line break inside a string is read as its escape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from yaie.text.formats.reader import Reader, Steps

_MAX_DEPTH = 512
_PAIRS = {"{": "}", "[": "]"}
_PLAIN = re.compile(r'[^"{}\[\]<]+')  # outside strings
_IN_STRING = re.compile(r'[^"\\\x00-\x1f]+')
_SCALAR_ENDS = frozenset(",]} \t\r\n<[")


class Malformed(Exception):
    """Text that is not JSON."""


def read_value(reader: Reader, show: Callable[[str], None]) -> Steps[None]:
    """Read one value and pass its text to `show` as it arrives.

    Raises `Malformed` where brackets do not match, or the text ends; all before it was shown.
    """
    first = yield from reader.peek()
    if first == '"':
        yield from _read_string(reader, show)
    elif first in _PAIRS:
        yield from _read_nested(reader, show)
    else:
        yield from _read_scalar(reader, show)


def refuse_constant(constant: str) -> None:
    """Raise `ValueError` for `NaN` and `Infinity`, which Python's parser takes."""
    raise ValueError(f"{constant} is not JSON")


def read_text(reader: Reader) -> Steps[str]:
    """Read a string and return its characters. Raises `Malformed`."""
    parts: list[str] = []
    if (yield from reader.peek()) != '"':
        raise Malformed("a string is missing")
    yield from _read_string(reader, parts.append)
    return characters("".join(parts))


def characters(written: str) -> str:
    """Return the characters of a JSON string. Raises `Malformed`."""
    try:
        text: str = json.loads(written)
        text.encode()
    except ValueError:  # or UnicodeError, a subclass
        raise Malformed("a string has a broken escape") from None
    return text


def _read_nested(reader: Reader, show: Callable[[str], None]) -> Steps[None]:
    closers: list[str] = []
    while True:
        if plain := reader.run_of(_PLAIN):
            show(plain)
        found = yield from reader.peek()
        if not found:
            raise Malformed("the text ended inside a value")
        if found == '"':
            yield from _read_string(reader, show)
            continue
        if found in _PAIRS:
            closers.append(_PAIRS[found])
            if len(closers) > _MAX_DEPTH:
                raise Malformed(f"a value is nested more than {_MAX_DEPTH} deep")
        elif found in "]}":
            if closers.pop() != found:
                raise Malformed(f"{found!r} closes no bracket")
        elif found == "<":  # of a marker
            raise Malformed(f"{found!r} is outside a string")
        show((yield from reader.take()))
        if not closers:
            return


def _read_string(reader: Reader, show: Callable[[str], None]) -> Steps[None]:
    show((yield from reader.take()))
    while True:
        if plain := reader.run_of(_IN_STRING):
            show(plain)
        found = yield from reader.take()
        if not found:
            raise Malformed("the text ended inside a string")
        if found == "\\":
            found += yield from reader.take()
            show(found)
        elif found == '"':
            show(found)
            return
        elif found < " ":
            show(json.dumps(found)[1:-1])
        else:
            show(found)


def _read_scalar(reader: Reader, show: Callable[[str], None]) -> Steps[None]:
    is_empty = True
    while (found := (yield from reader.peek())) and found not in _SCALAR_ENDS:
        show((yield from reader.take()))
        is_empty = False
    if is_empty:
        raise Malformed("a value is missing")
