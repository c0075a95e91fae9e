"""Tables of fields in `docs/api.md`, written from the table of fields.

`python -m server.schemas.document` writes them into the page, between marks such as
`<!-- fields: chat -->` and `<!-- end -->`. A test compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from server.schemas.base import RequestBody
from server.schemas.field import Origin, State
from server.schemas.structured import StructuredFields
from server.schemas.table import FIELDS, ApiField

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
_BLOCK = re.compile(r"(<!-- fields: ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_CHAT = ("/v1/chat/completions",)
_TEXT = ("/v1/completions",)
_BOTH = (*_CHAT, *_TEXT)
_CONSTRAINTS = set(StructuredFields.model_fields) - set(RequestBody.model_fields)


def _used(rows: Iterable[ApiField]) -> str:
    lines = ["| field | type | default | |", "| --- | --- | --- | --- |"]
    lines += [f"| `{row.name}` | {row.type} | {row.default} | {row.meaning} |" for row in rows]
    return "\n".join(lines)


def _refused(rows: Iterable[ApiField]) -> str:
    lines = ["| field | endpoint | unused value | meaning |", "| --- | --- | --- | --- |"]
    for row in rows:
        harmless = ", ".join(f"`{json.dumps(value)}`" for value in row.harmless)
        lines.append(f"| `{row.name}` | {_endpoints(row)} | {harmless} | {row.meaning} |")
    return "\n".join(lines)


def _others(rows: Iterable[ApiField]) -> str:
    lines = ["| field | endpoint | |", "| --- | --- | --- |"]
    lines += [f"| `{row.name}` | {_endpoints(row)} | {row.meaning} |" for row in rows]
    return "\n".join(lines)


def _endpoints(row: ApiField) -> str:
    if len(row.endpoints) > 1:
        return "both"
    return "chat" if row.endpoints == _CHAT else "text"


def _of(endpoints: tuple[str, ...], *origins: Origin) -> list[ApiField]:
    return [
        row
        for row in FIELDS
        if row.state is State.USED
        and row.name not in _CONSTRAINTS
        and row.endpoints == endpoints
        and row.origin in origins
    ]


def _structured() -> list[ApiField]:
    return [row for row in FIELDS if row.name in _CONSTRAINTS]


def _in(*states: State) -> list[ApiField]:
    return [row for row in FIELDS if row.state in states]


TABLES: Mapping[str, Callable[[], str]] = {
    "chat": lambda: _used(_of(_CHAT, *Origin)),
    "text": lambda: _used(_of(_TEXT, *Origin)),
    "both": lambda: _used(_of(_BOTH, Origin.OPENAI)),
    "extensions": lambda: _used(_of(_BOTH, Origin.EXTENSION)),
    "structured": lambda: _used(_structured()),
    "accepted": lambda: _others(_in(State.ACCEPTED, State.REPORTED)),
    "refused": lambda: _refused(_in(State.REFUSED)),
    "other names": lambda: _others(_in(State.OTHER_NAME)),
}


def written(page: str) -> str:
    """Return the page with all its tables as they should be. Raises `KeyError` for unknown ones."""
    return _BLOCK.sub(lambda found: found[1] + TABLES[found[2]]() + "\n" + found[3], page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
