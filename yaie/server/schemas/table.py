"""Table of all endpoint fields: name, endpoints, type, default and state.

Used fields are annotated in the body classes, the rest are listed in `unused.py`. A `/v1/responses`
body also takes the chat extensions, which reach the chat unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from yaie.server.schemas.base import Origin, RequestBody, State, Used
from yaie.server.schemas.chat import ChatBody
from yaie.server.schemas.completions import CompletionBody
from yaie.server.schemas.messages import MessagesBody
from yaie.server.schemas.responses import ResponsesBody

BODIES: Mapping[str, type[RequestBody]] = {
    "/v1/chat/completions": ChatBody,
    "/v1/completions": CompletionBody,
    "/v1/responses": ResponsesBody,
    "/v1/messages": MessagesBody,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiField:
    """One field of one or more endpoints."""

    name: str
    endpoints: tuple[str, ...]  # paths
    type: str  # as in the documents, such as "string or list"
    default: str
    state: State
    origin: Origin
    meaning: str
    example: Any = None
    harmless: tuple[Any, ...] = ()  # values of a refused field that mean "unused"
    ours: str = ""  # our field of the same meaning


def _rows_of(path: str) -> list[ApiField]:
    body = BODIES[path]
    rows = list_used(body, path)
    if body is ResponsesBody:
        known = {*body.model_fields, *body.unused}
        rows += [row for row in list_used(ChatBody, path) if row.name not in known]
    rows += [
        ApiField(
            name=each.name,
            endpoints=(path,),
            type="any",
            default="none",
            state=each.state,
            origin=Origin.EXTENSION,
            meaning=each.meaning,
            harmless=each.harmless,
            ours=each.ours,
        )
        for each in body.unused.values()
        if each.name not in body.model_fields
    ]
    return rows


def list_used(body: type[RequestBody], path: str) -> list[ApiField]:
    """List a body class's fields. Raises `TypeError` for a field without annotation."""
    schemas = body.model_json_schema()["properties"]
    rows = []
    for name, about in body.model_fields.items():
        used = next((each for each in about.metadata if isinstance(each, Used)), None)
        if used is None:
            raise TypeError(f"{body.__name__}.{name} needs an annotation with `Used`")
        rows.append(
            ApiField(
                name=name,
                endpoints=(path,),
                type=type_name(schemas[name]),
                default=used.default,
                state=State.USED,
                origin=used.origin,
                meaning=used.meaning,
                example=used.example,
            )
        )
    return rows


_TYPE_ORDER = ("string", "integer", "number", "boolean", "object", "array", "any")


def type_name(schema: Mapping[str, Any]) -> str:
    """Return the type of a JSON schema in words; null, the same as omitted, is unnamed."""
    names: set[str] = set()
    for each in schema.get("anyOf", (schema,)):
        kinds = each.get("type", "object" if "$ref" in each else "any")
        names.update([kinds] if isinstance(kinds, str) else kinds)
    shown = sorted(names - {"null"}, key=_TYPE_ORDER.index)
    return " or ".join("list" if name == "array" else name for name in shown)


def _join_rows() -> tuple[ApiField, ...]:
    """Return the rows of all endpoints, equal rows as one."""
    rows: list[ApiField] = []
    for path in BODIES:
        for row in _rows_of(path):
            same = next((at for at, each in enumerate(rows) if _is_same(each, row)), None)
            if same is None:
                rows.append(row)
            else:
                rows[same] = replace(rows[same], endpoints=(*rows[same].endpoints, path))
    return tuple(rows)


def _is_same(one: ApiField, other: ApiField) -> bool:
    return replace(one, endpoints=()) == replace(other, endpoints=())


FIELDS: tuple[ApiField, ...] = _join_rows()
