"""JSON bodies: requests are checked against a schema, replies are encoded.

`read_body` replaces FastAPI's parsing, which accepts NaN, reports a wrong content type as a wrong
field, and answers 422.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from yaie.base.errors import InvalidRequest, as_shown
from yaie.base.sliced_json import LARGE_BYTES, parse_body
from yaie.server.http.http_errors import OLLAMA, WrongMediaType, route_path
from yaie.text.text_threads import SHORT_BYTES, FairThreads

Body = TypeVar("Body", bound=BaseModel)
_Result = TypeVar("_Result")
# Media types of streams.
EVENTS = "text/event-stream"
NDJSON = "application/x-ndjson"  # one JSON object a line
# Large bodies are parsed one after another, tenants in turn: more threads would compete with the
# event loop for the interpreter lock.
_PARSER = FairThreads("yaie-parse", 1)
MAX_FIELDS = 1024  # of a body; pydantic checks them without a break
_MAX_SHOWN_CHARS = 40  # limit for a wrong value in an error


async def read_body(request: Request, schema: type[Body]) -> Body:
    """Read and check a JSON body. Raises `InvalidRequest` or `WrongMediaType`."""
    _check_headers(request)
    raw = await request.body()
    request.state.body_bytes = len(raw)
    if not raw or raw.isspace():
        raise InvalidRequest("the body is empty; send a JSON object")
    tenant: str = getattr(request.state, "tenant", "")
    return await parse_off_loop(lambda: _parse(raw, schema), len(raw), tenant)


def text_bytes(request: Request, body: BaseModel) -> int | None:
    """Return the bytes of a body's texts; None if a short body names stored texts."""
    found: int | None = getattr(request.state, "body_bytes", None)
    if found is None or found > SHORT_BYTES:  # items of a long one are not looked at here
        return found
    return None if getattr(body, "names_stored", False) else found


async def parse_off_loop(parse: Callable[[], _Result], num_bytes: int, tenant: str = "") -> _Result:
    """Return what `parse` does, of a body of `num_bytes`; a large one is parsed in a thread."""
    if num_bytes <= LARGE_BYTES:
        return parse()
    return await asyncio.wrap_future(_PARSER.submit(parse, tenant))


def json_reply(
    reply: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a reply as JSON."""
    body = msgspec.json.encode(reply)
    return Response(body, status, headers, media_type="application/json")


def _parse(raw: bytes, schema: type[Body]) -> Body:
    fields = parse_body(raw)
    if not isinstance(fields, dict):
        raise InvalidRequest(f"the body must be a JSON object, not {_json_name(fields)}")
    if len(fields) > MAX_FIELDS:
        raise InvalidRequest(f"the body has {len(fields)} fields; at most {MAX_FIELDS} are read")
    return as_body(fields, schema)


def as_body(fields: dict[str, Any], schema: type[Body]) -> Body:
    """Return a parsed body as its schema. Raises `InvalidRequest`."""
    try:
        return schema.model_validate(fields)
    except ValidationError as error:
        raise refusal(error) from None


def _check_headers(request: Request) -> None:
    media_type = request.headers.get("content-type", "application/json").split(";")[0].strip()
    kind = media_type.lower()
    is_json = kind == "application/json" or (kind.startswith("application/") and "+json" in kind)
    # Ollama reads any type, as `curl -d` sends it. With another type the page of another origin
    # could post without the browser's question; browsers name the origin.
    is_any = route_path(request.scope).startswith(OLLAMA) and "origin" not in request.headers
    if not (is_json or is_any):
        raise WrongMediaType(
            f"the content type is {media_type[:80]!r}; "
            "send JSON with Content-Type: application/json"
        )
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise WrongMediaType(f"the body is compressed with {encoding[:40]!r}; send it uncompressed")


def _json_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")


# By pydantic's type of error: the kind of value that a field must have.
_WANTED = {
    "bool_type": "a boolean",
    "dict_type": "an object",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "an integer",
    "list_type": "a list",
    "model_type": "an object",
    "string_type": "a string",
}


def refusal(error: ValidationError) -> InvalidRequest:
    """Rephrase pydantic's first error in the words of our other errors."""
    problem = error.errors(include_url=False)[0]
    param = ""
    for part in problem["loc"]:
        param += f"[{part}]" if isinstance(part, int) else f".{part}" if param else str(part)
    kind, limits = problem["type"], problem.get("ctx", {})
    if kind in _WANTED:
        reason = f"must be {_WANTED[kind]}, got {_show(problem['input'])}"
    elif kind == "missing":
        reason = "is required"
    elif kind == "string_too_long":
        reason = f"must have at most {limits['max_length']} characters"
    elif kind == "string_too_short" and limits["min_length"] == 1:
        reason = "must not be empty"
    elif kind == "too_long" and "max_length" in limits:  # ours has another limit in it
        number, most = limits["actual_length"], limits["max_length"]
        reason = f"has {number} entries; at most {most} are allowed"
    else:  # our validators word their errors as the rest of a sentence
        reason = problem["msg"]
    return InvalidRequest(f"{param} {reason}", param=param)


def _show(value: Any) -> str:
    if value is None or isinstance(value, bool | list | dict):
        return _json_name(value)
    shown = as_shown(value)
    return shown if len(shown) <= _MAX_SHOWN_CHARS else shown[:_MAX_SHOWN_CHARS] + "…"
