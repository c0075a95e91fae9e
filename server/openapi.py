"""OpenAPI document, with errors, keys and media types added to FastAPI's."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from server.errors import MESSAGES
from server.middleware import OPEN_PATHS

_PROBES = frozenset({"/health", "/readiness", "/liveness"})
_COMPLETIONS = frozenset({"/v1/chat/completions", "/v1/completions", "/v1/responses", MESSAGES})
_ERRORS = {
    "400": "A field is missing, malformed, out of range or not supported",
    "401": "The API key is missing or wrong",
    "404": "The model is not served here, or the response not stored",
    "408": "The rest of the request did not arrive",
    "413": "The body is too large",
    "415": "The body is not uncompressed JSON",
    "429": "The waiting queue is full; Retry-After gives the time to wait",
    "500": "The request failed inside the engine",
    "503": "The engine is starting, draining or restarting",
    "504": "The request exceeded its time limit",
}
_ERROR_SCHEMA = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_MESSAGES_ERROR_SCHEMA = {
    "type": "object",
    "required": ["type", "error", "request_id"],
    "properties": {
        "type": {"const": "error"},
        "error": {
            "type": "object",
            "required": ["type", "message"],
            "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
        },
        "request_id": {"type": ["string", "null"]},
    },
}
_KEYS = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def describe(app: FastAPI, *, needs_key: bool) -> dict[str, Any]:
    """Return the document of the application. `needs_key`: API keys are configured."""
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    components = document.setdefault("components", {})
    # FastAPI's own describe its 422.
    components["schemas"] = {"Error": _ERROR_SCHEMA, "MessagesError": _MESSAGES_ERROR_SCHEMA}
    if needs_key:
        components["securitySchemes"] = _KEYS
        document["security"] = [{name: []} for name in _KEYS]
    for path, operations in document["paths"].items():
        is_open = path in OPEN_PATHS
        for operation in operations.values():
            if needs_key and is_open:
                operation["security"] = []
            _describe_responses(path, operation["responses"], needs_key=needs_key and not is_open)
    return document


def _describe_responses(path: str, responses: dict[str, Any], *, needs_key: bool) -> None:
    responses.pop("422", None)  # this server answers 400
    if path == "/metrics":
        responses["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
        return
    whole = {"application/json": {"schema": {"type": "object"}}}
    responses["200"]["content"] = whole
    if path in _PROBES:
        responses["503"] = {"description": "The state is another one", "content": whole}
        return
    if path in _COMPLETIONS:
        events = {"text/event-stream": {"schema": {"type": "string"}}}
        responses["200"]["content"] = whole | events
        statuses = set(_ERRORS)
    else:
        statuses = {"401"} | ({"404"} if "{" in path else set())
    name = "MessagesError" if path.startswith(MESSAGES) else "Error"
    error = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    for status in sorted(statuses if needs_key else statuses - {"401"}):
        responses[status] = {"description": _ERRORS[status], "content": error}
