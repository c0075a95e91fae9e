"""HTTP errors, and the body formats of all errors.

The body is OpenAI's: `{"error": {message, type, param, code}, request_id, timestamp}`. Below
`/v1/messages` it is Anthropic's: `{"type": "error", "error": {type, message}, "request_id"}`;
below `/v1/models` with the header of its clients. Below `/api` it is Ollama's:
`{"error": message}`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import msgspec
from starlette.responses import Response
from starlette.types import Scope

from yaie.base import errors
from yaie.base.errors import RequestError, YaieError
from yaie.server.schemas.probes import (
    ErrorDetails,
    ErrorReply,
    MessagesErrorDetails,
    MessagesErrorReply,
    OllamaErrorReply,
)

MAX_MESSAGE_CHARS = 2000
MESSAGES = "/v1/messages"  # the path of Anthropic's API
MODELS = "/v1/models"
OLLAMA = "/api/"  # the prefix of Ollama's API
# Anthropic's types of errors, by status.
_MESSAGES_TYPES = {
    401: "authentication_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
}


class NotFound(errors.InvalidRequest):
    """The path does not exist."""

    status = 404
    code = "not_found"


class MethodNotAllowed(errors.InvalidRequest):
    """The path exists, but not with this method."""

    status = 405
    code = "method_not_allowed"


class BodyTooLarge(errors.InvalidRequest):
    """The request body exceeds the limit."""

    status = 413
    code = "request_too_large"


class HeadTooLarge(errors.InvalidRequest):
    """The request head exceeds the limit."""

    status = 431
    code = "request_head_too_large"


class RequestIncomplete(YaieError):
    """The rest of a request did not arrive; its connection was closed."""

    status = 408
    type = "timeout_error"
    code = "request_incomplete"


class RateLimited(YaieError):
    """A client has sent more than its limits allow."""

    status = 429
    type = "rate_limit_error"
    code = "rate_limit_exceeded"
    retry_after_s = 1.0


class WrongMediaType(errors.InvalidRequest):
    """The request body is not uncompressed JSON."""

    status = 415
    code = "unsupported_media_type"


class RequestTimedOut(YaieError):
    """The request exceeded its time limit and was ended."""

    status = 504
    type = "timeout_error"
    code = "request_timeout"


def timeout_error(timeout_s: float) -> RequestTimedOut:
    """Return the error for a request beyond its time limit."""
    return RequestTimedOut(
        f"the request exceeded the timeout of {timeout_s:g} s; request fewer tokens or raise "
        f"YAIE_REQUEST_TIMEOUT_S"
    )


class ResponseCancelled(errors.InvalidRequest):
    """Another request of the client cancelled the response."""

    status = 409
    code = "response_cancelled"


class AnswerTooLarge(errors.InvalidRequest):
    """The response exceeded the size that the server buffers; it was ended."""

    code = "answer_too_large"


class ClientTooSlow(YaieError):
    """The client does not read its stream; the request was ended."""

    status = 408
    type = "timeout_error"
    code = "client_too_slow"


def error_reply(error: YaieError, request_id: str | None = None) -> ErrorReply:
    """Return an error's body, which is also the last event of a failed stream."""
    details = ErrorDetails(
        message=_limit_message(error),
        type=error.type,
        param=None if error.param is None else error.param[:200],
        code=error.code,
    )
    return ErrorReply(error=details, request_id=request_id, timestamp=int(time.time()))


def messages_error_reply(error: YaieError, request_id: str | None) -> MessagesErrorReply:
    """Return an error's body in Anthropic's format."""
    kind = _MESSAGES_TYPES.get(error.status, "invalid_request_error")
    details = MessagesErrorDetails(type=kind, message=_limit_message(error))
    return MessagesErrorReply(error=details, request_id=request_id)


def ollama_error_reply(error: YaieError, request_id: str | None = None) -> OllamaErrorReply:
    """Return an error's body in Ollama's format, which has no place for the id."""
    return OllamaErrorReply(error=_limit_message(error))


ErrorBody = ErrorReply | MessagesErrorReply | OllamaErrorReply


def error_format(path: str) -> Callable[[YaieError, str | None], ErrorBody]:
    """Return the function that makes the error bodies of a path's API."""
    if path == MESSAGES or path.startswith(f"{MESSAGES}/"):
        return messages_error_reply
    return ollama_error_reply if path.startswith(OLLAMA) else error_reply


def _limit_message(error: YaieError) -> str:
    message = error.message
    if len(message) > MAX_MESSAGE_CHARS:
        message = message[:MAX_MESSAGE_CHARS] + "…"
    # A lone surrogate from a request could not be encoded.
    return message.encode("utf-8", "replace").decode()


def route_path(scope: Scope) -> str:
    """Return the path without uvicorn's --root-path."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def is_of_messages(scope: Scope) -> bool:
    """Return whether the request is of Anthropic's API, by its path.

    Models are listed by both APIs on one path; there the header of Anthropic's clients decides.
    """
    path = route_path(scope)
    if path == MODELS or path.startswith(f"{MODELS}/"):
        return any(name == b"anthropic-version" for name, _ in scope["headers"])
    return path == MESSAGES or path.startswith(f"{MESSAGES}/")


def error_headers(error: YaieError) -> dict[str, str]:
    """Return the headers of an error, such as Retry-After."""
    headers = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    if isinstance(error, errors.AuthenticationFailed):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, errors.EngineDraining):
        headers["Connection"] = "close"
    if isinstance(error, RequestTimedOut):
        headers["X-Should-Retry"] = "false"  # a retry would take as long
    return headers


def error_response(error: YaieError, scope: Scope) -> Response:
    """Return the response for an error, in the form of the API that the path belongs to."""
    make = messages_error_reply if is_of_messages(scope) else error_format(route_path(scope))
    body = make(error, scope.get("state", {}).get("request_id"))
    return Response(
        msgspec.json.encode(body),
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
            "the model computed non-finite logits for this request, which was aborted; its tokens "
            "are removed from the cache, and other requests continue"
        )
    # The details are for the operator's log, not for the client.
    return errors.RequestFailed(
        "this request failed inside the engine, and other requests continue; see the X-Request-ID "
        "in the server log"
    )
