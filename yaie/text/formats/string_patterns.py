"""Regular expressions for the strings that a JSON schema allows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = (
    r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?([zZ]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)
_BYTE = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(\.{_LABEL})*"
_HEX4 = r"[0-9a-fA-F]{1,4}"
# Of JSON Schema; some are narrower than the format.
STRING_FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}[tT]{_TIME}",
    "duration": r"P([0-9]+W|[0-9]+[YMD]|[0-9]+Y[0-9]+M([0-9]+D)?|[0-9]+M[0-9]+D"
    r"|([0-9]+D)?T([0-9]+H)?([0-9]+M)?[0-9]+S|([0-9]+D)?T([0-9]+H)?[0-9]+M|([0-9]+D)?T[0-9]+H)",
    "email": rf"[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*@{_HOST}",
    "hostname": _HOST,
    "ipv4": rf"({_BYTE}\.){{3}}{_BYTE}",
    "ipv6": rf"({_HEX4}:){{7}}{_HEX4}|({_HEX4}:){{1,6}}:{_HEX4}|({_HEX4}:){{1,7}}:|::({_HEX4})?",
    "uuid": r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?#@!$&'()*+,;=%\[\]-]+",
}


def string_patterns(schemas: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield regular expressions that match, as a whole, the strings that follow all schemas."""
    for schema in schemas:
        if isinstance(pattern := schema.get("pattern"), str):
            yield _whole(pattern)
        shortest, longest = (_length(schema.get(key)) for key in ("minLength", "maxLength"))
        if shortest or longest is not None:
            yield f"(?s:.{{{shortest or 0},{'' if longest is None else longest}}})"
        if (known := STRING_FORMATS.get(str(schema.get("format")))) is not None:
            yield known


def _length(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _whole(pattern: str) -> str:
    """Return a regular expression that matches the whole texts in which `pattern` is found."""
    written = []
    for each in _alternatives(pattern):
        before = "" if each.startswith("^") else "(?s:.*)"
        is_anchored = re.search(r"(?<!\\)(\\\\)*\$$", each) is not None
        rest = each.removeprefix("^")
        written.append(before + (rest[:-1] if is_anchored else f"{rest}(?s:.*)"))
    return "|".join(written)


def _alternatives(pattern: str) -> list[str]:
    """Split a regular expression at the bars outside of its brackets."""
    found, depth, is_class = [""], 0, False
    for token in re.findall(r"\\.|.", pattern, flags=re.DOTALL):
        if is_class:
            is_class = token != "]"
        elif token == "[":
            is_class = True
        elif token == "|" and depth == 0:
            found.append("")
            continue
        else:
            depth += {"(": 1, ")": -1}.get(token, 0)
        found[-1] += token
    return found
