"""Tables of request fields: writes them into the pages of `docs/reference` from the schemas.

`python -m yaie.server.schemas.docs_tables` writes them into the pages, between marks such as
`<!-- fields: chat -->` and `<!-- end -->`. A test compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from yaie.server.schemas.base import Origin, RequestBody, State, Unused
from yaie.server.schemas.embeddings import EmbeddingBody
from yaie.server.schemas.ollama_bodies import (
    OllamaBody,
    OllamaChatBody,
    OllamaGenerateBody,
)
from yaie.server.schemas.ranking import RerankBody, ScoreBody
from yaie.server.schemas.structured import StructuredFields
from yaie.server.schemas.table import BODIES, FIELDS, ApiField, list_used

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGES = tuple(
    DOCS / "reference" / f"{name}.md"
    for name in ("http-api", "responses", "messages", "ollama", "other-fields")
)
_BLOCK = re.compile(r"(<!-- fields: ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_CHAT, _TEXT, _RESPONSES, _MESSAGES = BODIES
_SHORT = dict(zip(BODIES, ("chat", "text", "responses", "messages"), strict=True))
_RETRIEVAL: Mapping[str, type[RequestBody]] = {
    "embeddings": EmbeddingBody,
    "rerank": RerankBody,
    "score": ScoreBody,
}
_TREATMENTS = {
    State.REFUSED: "400",
    State.OTHER_NAME: "400, unless ours is given",
    State.ACCEPTED: "none",
    State.REPORTED: "named in the header",
}
_CONSTRAINTS = set(StructuredFields.model_fields) - set(RequestBody.model_fields)


def _tabulate_used(rows: Iterable[ApiField]) -> str:
    lines = ["| field | type | default | |", "| --- | --- | --- | --- |"]
    lines += [f"| `{row.name}` | {row.type} | {row.default} | {row.meaning} |" for row in rows]
    return "\n".join(lines)


def _tabulate_refused(rows: Iterable[ApiField]) -> str:
    lines = ["| field | endpoint | unused value | meaning |", "| --- | --- | --- | --- |"]
    for row in rows:
        harmless = ", ".join(f"`{json.dumps(value)}`" for value in row.harmless)
        lines.append(f"| `{row.name}` | {_endpoints(row)} | {harmless} | {row.meaning} |")
    return "\n".join(lines)


def _tabulate_others(rows: Iterable[ApiField]) -> str:
    lines = ["| field | endpoint | |", "| --- | --- | --- |"]
    lines += [f"| `{row.name}` | {_endpoints(row)} | {row.meaning} |" for row in rows]
    return "\n".join(lines)


def _tabulate_retrieval() -> str:
    """Return a row for each name that embeddings or rankings know and have no effect."""
    lines = ["| field | endpoint | unused value | treatment | meaning |", "|" + " --- |" * 5]
    rows: dict[tuple[str, str], tuple[Unused, list[str]]] = {}
    for endpoint, body in _RETRIEVAL.items():
        for field in body.unused.values():
            rows.setdefault((field.name, field.meaning), (field, []))[1].append(endpoint)
    for field, endpoints in rows.values():
        harmless = ", ".join(f"`{json.dumps(value)}`" for value in field.harmless)
        treatment = _TREATMENTS[field.state]
        if field.state is State.REFUSED and field.advice:
            treatment += f"; {field.advice}"
        where = ", ".join(endpoints)
        lines.append(f"| `{field.name}` | {where} | {harmless} | {treatment} | {field.meaning} |")
    return "\n".join(lines)


def _endpoints(row: ApiField) -> str:
    if len(row.endpoints) == len(BODIES):
        return "all"
    return ", ".join(_SHORT[path] for path in row.endpoints)


def _of(chat: bool, text: bool, *origins: Origin) -> list[ApiField]:
    """Return the fields that exactly these of the two endpoints use."""
    return [
        row
        for row in FIELDS
        if row.state is State.USED
        and row.name not in _CONSTRAINTS
        and (_CHAT in row.endpoints, _TEXT in row.endpoints) == (chat, text)
        and row.origin in origins
    ]


def _of_body(path: str) -> list[ApiField]:
    """Return the used fields of a body's own class."""
    rows = {row.name: row for row in FIELDS if path in row.endpoints and row.state is State.USED}
    return [rows[name] for name in BODIES[path].model_fields]


def _of_ollama(body: type[RequestBody], but: type[RequestBody]) -> list[ApiField]:
    """Return the fields of a class of Ollama's API that `but` has not."""
    return [row for row in list_used(body, "") if row.name not in but.model_fields]


def _list_structured() -> list[ApiField]:
    return [row for row in FIELDS if row.name in _CONSTRAINTS and row.state is State.USED]


def _in(*states: State) -> list[ApiField]:
    return [row for row in FIELDS if row.state in states]


TABLES: Mapping[str, Callable[[], str]] = {
    "chat": lambda: _tabulate_used(_of(True, False, *Origin)),
    "text": lambda: _tabulate_used(_of(False, True, *Origin)),
    "both": lambda: _tabulate_used(_of(True, True, Origin.OPENAI)),
    "extensions": lambda: _tabulate_used(_of(True, True, Origin.EXTENSION)),
    "responses": lambda: _tabulate_used(_of_body(_RESPONSES)),
    "messages": lambda: _tabulate_used(_of_body(_MESSAGES)),
    "ollama": lambda: _tabulate_used(_of_ollama(OllamaBody, RequestBody)),
    "ollama chat": lambda: _tabulate_used(_of_ollama(OllamaChatBody, OllamaBody)),
    "ollama generate": lambda: _tabulate_used(_of_ollama(OllamaGenerateBody, OllamaBody)),
    "structured": lambda: _tabulate_used(_list_structured()),
    "accepted": lambda: _tabulate_others(_in(State.ACCEPTED)),
    "reported": lambda: _tabulate_others(_in(State.REPORTED)),
    "refused": lambda: _tabulate_refused(_in(State.REFUSED)),
    "retrieval": _tabulate_retrieval,
    "other names": lambda: _tabulate_others(_in(State.OTHER_NAME)),
}


def write_tables(page: str) -> str:
    """Return the page with all its tables as they should be. Raises `KeyError` for unknown ones."""
    return _BLOCK.sub(lambda found: found[1] + TABLES[found[2]]() + "\n" + found[3], page)


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(write_tables(each.read_text(encoding="utf-8")), encoding="utf-8")
