"""Strict JSON, parsed in slices: other threads run between them.

The C parser of `json` holds the interpreter lock until its value is complete, 1.3 s for the worst
ten megabytes, and so does the release of millions of values. Here it parses values of at most
`SLICE_CHARS` characters, Python code walks the containers of larger ones, and the number of values
is limited.
"""

from __future__ import annotations

import contextlib
import json
import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from yaie.base.errors import InvalidRequest

# Larger bodies belong into a thread; the worst 64 KiB take a few milliseconds.
LARGE_BYTES = 64 * 1024
SLICE_CHARS = 16_384  # parsed at once, a millisecond at worst
MAX_VALUES = 131_072  # members of objects and entries of lists; numbers in lists are not counted
_MAX_DEPTH = 128  # of values with more characters than a slice
_NUMBERS = frozenset({int, float})

_SPACE = re.compile(r"[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_NUMBER = re.compile(r"[-+.eE0-9]*")
_NEXT = re.compile(r"[ \t\n\r]*([,\]}])[ \t\n\r]*")
_NUMBER_RUN = re.compile(r"(?:[-+.eE0-9]+[ \t\n\r]*,[ \t\n\r]*)+")
# A part of a string that ends between characters: after whole escapes and pairs of surrogates.
_STRING_PART = re.compile(
    r"""[^"\\]*(?:\\(?:[^u]|u(?:
            [dD][89abAB]..(?:\\u.{4}|(?=[^\\]))
            |(?![dD][89abAB]).{4}
        ))[^"\\]*)*""",
    re.DOTALL | re.VERBOSE,
)


def parse_body(raw: bytes) -> Any:
    """Parse strict JSON in UTF-8. Raises `InvalidRequest`."""
    try:
        text = raw.decode("utf-8-sig")  # RFC 8259, 8.1 allows to skip a byte order mark
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the body is not valid UTF-8 at byte {error.start}") from None
    may_have_surrogates = b"\\ud" in raw or b"\\uD" in raw
    try:
        return _SlicedParser(text, checks_surrogates=may_have_surrogates).parse()
    except JSONDecodeError as error:
        raise InvalidRequest(
            f"the body is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise InvalidRequest("the body is nested too deeply") from None
    except UnicodeEncodeError:
        raise InvalidRequest("the body contains an unpaired surrogate") from None
    except ValueError:
        raise InvalidRequest("the body contains a number with thousands of digits") from None


class _SlicedParser:
    """Parser of one text. A window of it, a slice long, moves along."""

    def __init__(self, text: str, *, checks_surrogates: bool) -> None:
        self._text = text
        self._checks_surrogates = checks_surrogates
        decoder: Any = json.JSONDecoder(parse_constant=_refuse_constant)
        self._scan = decoder.scan_once
        self._start = 0
        self._window = text[:SLICE_CHARS]
        self._depth = self._num_values = 0

    def parse(self) -> Any:
        """Return the value of the text. Raises `ValueError`s of `json`, and `InvalidRequest`."""
        value, at = self._value(_end(_SPACE, self._text, 0))
        at = _end(_SPACE, self._text, at)
        if at < len(self._text):
            self._fail("Extra data", at)
        return value

    def _value(self, at: int) -> tuple[Any, int]:
        """Return the value at a place, and the place after it."""
        if (found := self._scan_window(at)) is not None:
            return found
        first = self._text[at : at + 1]
        if first == '"':
            return self._string(at + 1)
        if first not in ("[", "{"):
            if _end(_NUMBER, self._text, at) - at > SLICE_CHARS - 3:
                raise ValueError("a number as long as a slice")
            self._fail("Expecting value", at)
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise RecursionError
        found = self._list(at + 1) if first == "[" else self._object(at + 1)
        self._depth -= 1
        return found

    def _scan_window(self, at: int) -> tuple[Any, int] | None:
        """Return a value and its end; None if no window has all of it, or it is invalid."""
        while True:
            end = self._start + len(self._window)
            if at < end:
                try:
                    value, stop = self._scan(self._window, at - self._start)
                except (StopIteration, JSONDecodeError):
                    pass
                else:  # a number may continue after the window, also as 1 of 1e+5
                    kind = type(value)
                    stop += self._start
                    if stop + 2 < end or kind not in _NUMBERS or end == len(self._text):
                        if kind is dict or kind is list:
                            self._count(value)
                        if self._checks_surrogates:
                            json.dumps(value, ensure_ascii=False).encode()
                        return value, stop
            if self._start == at or at >= len(self._text):
                return None
            self._start, self._window = at, self._text[at : at + SLICE_CHARS]

    def _list(self, at: int) -> tuple[list[Any], int]:
        """Return a list, and its end; `at`: after its bracket."""
        text, found = self._text, list[Any]()
        at = _end(_SPACE, text, at)
        if text.startswith("]", at):
            return found, at + 1
        while True:
            run = _NUMBER_RUN.match(text, at, at + SLICE_CHARS)
            if run is not None:
                numbers = run[0].rstrip(" \t\n\r,")
                with contextlib.suppress(
                    JSONDecodeError, StopIteration
                ):  # else the wrong one is found below
                    found += self._scan(f"[{numbers}]", 0)[0]
                    at = _end(_SPACE, text, run.end())
            value, at = self._value(at)
            found.append(value)
            self._add(1)
            mark, at = self._mark(at)
            if mark == "]":
                return found, at
            if mark != ",":
                self._fail("Expecting ',' delimiter", at - 1)

    def _object(self, at: int) -> tuple[dict[str, Any], int]:
        """Return an object, and its end; `at`: after its brace."""
        text, found = self._text, dict[str, Any]()
        at = _end(_SPACE, text, at)
        if text.startswith("}", at):
            return found, at + 1
        while True:
            if not text.startswith('"', at):
                self._fail("Expecting property name enclosed in double quotes", at)
            key, at = self._value(at)
            colon = _COLON.match(text, at)
            if colon is None:
                self._fail("Expecting ':' delimiter", at)
            found[key], at = self._value(colon.end())
            self._add(1)
            mark, at = self._mark(at)
            if mark == "}":
                return found, at
            if mark != ",":
                self._fail("Expecting ',' delimiter", at - 1)

    def _mark(self, at: int) -> tuple[str, int]:
        """Return the mark after a member, and the place where the next one begins."""
        found = _NEXT.match(self._text, at)
        if found is None:
            self._fail("Expecting ',' delimiter", _end(_SPACE, self._text, at))
        # Space after a bracket belongs to what follows it.
        return found[1], found.end() if found[1] == "," else found.end(1)

    def _string(self, at: int) -> tuple[str, int]:
        """Return a string, and its end; `at`: after its first quote."""
        parts = []
        while not self._text.startswith('"', at):
            part = _STRING_PART.match(self._text, at, at + SLICE_CHARS)
            assert part is not None  # it may be empty
            if not part[0]:
                self._fail("Unterminated string, invalid escape or unpaired surrogate", at)
            try:
                value, _ = scanstring(part[0] + '"', 0, True)
            except JSONDecodeError as error:
                self._fail(error.msg, at + error.pos)
            if self._checks_surrogates:
                value.encode()
            parts.append(value)
            at = part.end()
        return "".join(parts), at + 1

    def _count(self, value: Any) -> None:
        """Add the values of a container."""
        containers = [value]
        while containers:
            each = containers.pop()
            if type(each) is dict:
                self._add(len(each))
                inner = list(each.values())
            else:
                inner = [member for member in each if type(member) not in _NUMBERS]
                self._add(len(inner))
            containers += [member for member in inner if type(member) in (dict, list)]

    def _add(self, number: int) -> None:
        self._num_values += number
        if self._num_values > MAX_VALUES:
            raise InvalidRequest(
                f"the body has more than {MAX_VALUES} values (fields, and entries of lists except "
                "numbers); send fewer or shorter messages and tools"
            )

    def _fail(self, problem: str, at: int) -> NoReturn:
        raise JSONDecodeError(problem, self._text, at)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None  # it may be empty
    return found.end()


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidRequest(f"the body is not valid JSON: {name} is not a JSON number")
