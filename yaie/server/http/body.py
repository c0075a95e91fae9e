"""JSON bodies: requests are checked against a schema, replies are encoded.

`read_body` replaces FastAPI's parsing, which accepts NaN, reports a wrong content type as a wrong
field, and answers 422.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from yaie.base.errors import InvalidRequest, as_shown
from yaie.server.http.http_errors import WrongMediaType

Body = TypeVar("Body", bound=BaseModel)
# Larger bodies are parsed in a thread: other requests run between its steps, each of which holds
# the interpreter lock. The worst ten megabytes of JSON take about 0.7 s.
LARGE_BYTES = 256 * 1024
_MAX_SHOWN_CHARS = 40  # limit for a wrong value in an error
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


async def read_body(request: Request, schema: type[Body]) -> Body:
    """Read and check a JSON body. Raises `InvalidRequest` or `WrongMediaType`."""
    _check_headers(request)
    raw = await request.body()
    if not raw.strip():
        raise _no_body(request)
    if len(raw) > LARGE_BYTES:
        return await asyncio.to_thread(_parse, raw, schema)
    return _parse(raw, schema)


def json_reply(
    reply: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a reply as JSON."""
    body = msgspec.json.encode(reply)
    return Response(body, status, headers, media_type="application/json")


def _parse(raw: bytes, schema: type[Body]) -> Body:
    fields = parse_json(raw)
    if not isinstance(fields, dict):
        raise InvalidRequest(f"the body must be a JSON object, not {_json_name(fields)}")
    return as_body(fields, schema)


def as_body(fields: dict[str, Any], schema: type[Body]) -> Body:
    """Return a parsed body as its schema. Raises `InvalidRequest`."""
    try:
        return schema.model_validate(fields)
    except ValidationError as error:
        raise refusal(error) from None


def parse_json(raw: bytes) -> Any:
    """Parse strict JSON in UTF-8. Raises `InvalidRequest`."""
    try:
        text = raw.decode("utf-8-sig")  # RFC 8259, 8.1 allows to skip a byte order mark
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the body is not valid UTF-8 at byte {error.start}") from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"the body is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise InvalidRequest("the body is nested too deeply") from None
    except ValueError:
        raise InvalidRequest("the body contains a number with thousands of digits") from None
    if _SURROGATE_ESCAPE.search(raw):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InvalidRequest("the body contains an unpaired surrogate") from None
        except RecursionError:
            raise InvalidRequest("the body is nested too deeply") from None
    return value


def _check_headers(request: Request) -> None:
    media_type = request.headers.get("content-type", "application/json").split(";")[0].strip()
    kind = media_type.lower()
    if kind != "application/json" and not (kind.startswith("application/") and "+json" in kind):
        raise WrongMediaType(
            f"the content type is {media_type[:80]!r}; "
            "send JSON with Content-Type: application/json"
        )
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise WrongMediaType(f"the body is compressed with {encoding[:40]!r}; send it uncompressed")


def _no_body(request: Request) -> InvalidRequest:
    offered = request.headers.get("upgrade")
    if offered is None or "upgrade" not in request.headers.get("connection", "").lower():
        return InvalidRequest("the body is empty; send a JSON object")
    return InvalidRequest(
        f"the body is empty: uvicorn's parser stops at the Upgrade header ({offered[:40]!r}); send "
        "the request without it (Java's HttpClient: version HTTP_1_1), or serve with `yaie serve` "
        "or `uvicorn --http h11`"
    )


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidRequest(f"the body is not valid JSON: {name} is not a JSON number")


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
    else:  # our validators word their errors as the rest of a sentence
        reason = problem["msg"]
    return InvalidRequest(f"{param} {reason}", param=param)


def _show(value: Any) -> str:
    if value is None or isinstance(value, bool | list | dict):
        return _json_name(value)
    shown = as_shown(value)
    return shown if len(shown) <= _MAX_SHOWN_CHARS else shown[:_MAX_SHOWN_CHARS] + "…"
