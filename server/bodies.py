"""Request bodies: bytes to a checked schema, with errors that name the field.

Used by the POST routes instead of FastAPI's own parsing, which takes NaN, cannot tell a wrong
content type from a wrong field, and answers 422.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from server.errors import WrongMediaType
from yaie.errors import InvalidRequest

Body = TypeVar("Body", bound=BaseModel)
# More is read in a thread, so that others run between the steps of it; each step keeps the
# interpreter. The worst ten megabytes of JSON take some 0.7 s.
LARGE_BYTES = 256 * 1024
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


async def read_body(request: Request, schema: type[Body]) -> Body:
    """Read and check a JSON body. Raises `InvalidRequest` or `WrongMediaType`."""
    _check_headers(request)
    raw = await request.body()
    if not raw.strip():
        raise _no_body(request)
    if len(raw) > LARGE_BYTES:
        return await asyncio.to_thread(_checked, raw, schema)
    return _checked(raw, schema)


def _checked(raw: bytes, schema: type[Body]) -> Body:
    fields = parse_json(raw)
    if not isinstance(fields, dict):
        raise InvalidRequest(f"the body must be a JSON object, not {_json_name(fields)}")
    try:
        return schema.model_validate(fields)
    except ValidationError as error:
        raise _refusal(error) from None


def parse_json(raw: bytes) -> Any:
    """Strict JSON in UTF-8. Raises `InvalidRequest`."""
    try:
        text = raw.decode("utf-8-sig")  # a byte order mark may be passed over (RFC 8259, 8.1)
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the body is not UTF-8: byte {error.start} is wrong") from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise InvalidRequest("the body is nested too deeply") from None
    except ValueError:
        raise InvalidRequest("the body holds a number of thousands of digits") from None
    if _SURROGATE_ESCAPE.search(raw):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InvalidRequest(
                "the body holds half of a surrogate pair, which is no character"
            ) from None
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
        raise WrongMediaType(
            f"bodies compressed with {encoding[:40]!r} are not read; send it plain"
        )


def _no_body(request: Request) -> InvalidRequest:
    offered = request.headers.get("upgrade")
    if offered is None or "upgrade" not in request.headers.get("connection", "").lower():
        return InvalidRequest("the body is empty; send a JSON object")
    return InvalidRequest(
        f"the body is empty: the request offers {offered[:40]!r} in its Upgrade header, and the "
        "HTTP parser read no further; send it without that header (with Java's HttpClient: "
        "version HTTP_1_1), or serve with `yaie serve` or `uvicorn --http h11`"
    )


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidRequest(f"the body is not JSON: {name} is no JSON number")


def _json_name(value: Any) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _refusal(error: ValidationError) -> InvalidRequest:
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    param = ""
    for part in problem["loc"]:
        param += f"[{part}]" if isinstance(part, int) else f".{part}" if param else str(part)
    reason = problem["msg"][:1].lower() + problem["msg"][1:]
    return InvalidRequest(f"{param or 'the body'}: {reason}", param=param or None)
