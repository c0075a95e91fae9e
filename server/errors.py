"""Errors as HTTP: those that only HTTP has, and one form of body for all of them.

Used by the routes, the middleware and streams. The body is OpenAI's: `{"error": {message, type,
param, code}}`; the request's id goes into the `X-Request-ID` header.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
from starlette.responses import Response

from yaie import errors
from yaie.errors import RequestError, YaieError

MAX_MESSAGE_CHARS = 2000


class NotFound(errors.InvalidRequest):
    """There is no such path."""

    status = 404
    code = "not_found"


class MethodNotAllowed(errors.InvalidRequest):
    """The path exists, but not with this method."""

    status = 405
    code = "method_not_allowed"


class BodyTooLarge(errors.InvalidRequest):
    """The request's body is larger than the server reads."""

    status = 413
    code = "request_too_large"


class HeadTooLarge(errors.InvalidRequest):
    """The request's head is larger than the server reads."""

    status = 431
    code = "request_head_too_large"


class RequestIncomplete(YaieError):
    """The rest of a request did not come; its connection was closed."""

    status = 408
    type = "timeout_error"
    code = "request_incomplete"


class WrongMediaType(errors.InvalidRequest):
    """The request's body is not plain JSON."""

    status = 415
    code = "unsupported_media_type"


class HttpVersionNotSupported(errors.InvalidRequest):
    """The client speaks another version of HTTP."""

    status = 505
    code = "http_version_not_supported"


class RequestTimedOut(YaieError):
    """The request took longer than the server allows; it was ended."""

    status = 504
    type = "timeout_error"
    code = "request_timeout"


def timed_out(timeout_s: float) -> RequestTimedOut:
    """What to say of a request that was not finished in time."""
    return RequestTimedOut(
        f"the request was not finished within {timeout_s:g} s and was ended; "
        "ask for fewer tokens or raise YAIE_REQUEST_TIMEOUT_S"
    )


class AnswerTooLarge(errors.InvalidRequest):
    """The answer outgrew what the server keeps of one until it is written; it was ended."""

    code = "answer_too_large"


class ClientTooSlow(YaieError):
    """The client does not read its stream; the request was ended."""

    status = 408
    type = "timeout_error"
    code = "client_too_slow"


def error_body(error: YaieError) -> dict[str, Any]:
    """The JSON body for an error, also sent as the last event of a stream that fails."""
    message = error.message
    if len(message) > MAX_MESSAGE_CHARS:
        message = message[:MAX_MESSAGE_CHARS] + "…"
    return {
        "error": {
            # An escaped surrogate in a request must not make the answer unwritable.
            "message": message.encode("utf-8", "replace").decode(),
            "type": error.type,
            "param": None if error.param is None else error.param[:200],
            "code": error.code,
        }
    }


def error_headers(error: YaieError) -> dict[str, str]:
    """The headers that tell a client whether and when to try again."""
    headers = {}
    retry_after_s = getattr(error, "retry_after_s", None)
    if retry_after_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(retry_after_s)))
    if isinstance(error, errors.AuthenticationFailed):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, errors.EngineDraining):
        headers["Connection"] = "close"
    if isinstance(error, RequestTimedOut):
        headers["X-Should-Retry"] = "false"  # it would take as long again
    return headers


def error_response(error: YaieError) -> Response:
    """The response for an error."""
    return Response(
        msgspec.json.encode(error_body(error)),
        status_code=error.status,
        headers=error_headers(error),
        media_type="application/json",
    )


def public_error(error: RequestError) -> YaieError:
    """Return an engine's error as a client may see it: faults inside it without their details."""
    known = YaieError.from_wire(error)
    if known.status != errors.RequestFailed.status:
        return known
    if isinstance(known, errors.LogitsNotFinite):
        return errors.LogitsNotFinite(
            "the model computed non-finite logits for this request and it was ended; other "
            "requests are not affected and no result of it stays cached"
        )
    # The details are for the operator's log, not for the client.
    return errors.RequestFailed(
        "this request failed inside the engine and was ended; others are not affected. "
        "The server's log says more under the id in X-Request-ID"
    )
