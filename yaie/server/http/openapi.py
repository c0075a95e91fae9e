"""OpenAPI document: FastAPI's, with errors, keys, headers and the schemas that routes carry."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from yaie.base import errors
from yaie.base.errors import YaieError
from yaie.base.server_settings import ServerConfig
from yaie.server.http.http_errors import (
    BodyTooLarge,
    NotFound,
    RequestIncomplete,
    ResponseCancelled,
    WrongMediaType,
    error_format,
    timeout_error,
)
from yaie.server.http.middleware import PROBES
from yaie.server.schemas.reply_struct import REFERENCE, add_schemas, reference_to

_JSON = "application/json"

_ABOUT = """OpenAI's API for chat and text completions, with extensions, probes and metrics.

Errors use OpenAI's format, or Anthropic's and Ollama's on the paths of these APIs; `code` is
stable. A stream that
fails after its first event ends with the error as its last event.
"""
_TAGS = {
    "completions": "Generation of text",
    "responses": "OpenAI's Responses API, with a store of answers",
    "messages": "Anthropic's Messages API",
    "ollama": "Ollama's API",
    "models": "The served models",
    "tokens": "Number, ids and text of tokens",
    "cache": "The prefix cache",
    "render": "Token ids of requests, for routers",
    "operation": "Probes, metrics and statistics",
    "about": "The server itself",
    "tools": "Functions that the operator has registered",
    "extensions": "Endpoints that the operator has added",
}
_KEYS = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "The API key"},
    "header": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The API key, behind proxies that use Authorization for their own login",
    },
}
_HEADERS = {
    "X-Request-ID": "Id of the request in the server's log: the client's own, or a new one",
    "X-YAIE-Folded-Messages": "Changes by which the chat template takes the messages",
    "X-YAIE-Ignored-Params": "Names of fields without effect, separated by commas",
    "X-YAIE-Replica": "Engine replica that answered, of several",
    "X-YAIE-Max-Tokens": "Token limit of the answer, where `max_tokens` exceeds the context",
    "Retry-After": "Seconds to wait before a retry",
    "WWW-Authenticate": "Bearer",
    "X-Should-Retry": "false: a retry would take as long",
}
_HEADERS_OF = {
    "401": ["WWW-Authenticate"],
    "429": ["Retry-After"],
    "503": ["Retry-After"],
    "504": ["X-Should-Retry"],
}
# By status: its meaning and an example.
_ERRORS: dict[str, tuple[str, YaieError]] = {
    "400": (
        "A field is missing, malformed, out of range or not supported",
        errors.InvalidRequest("temperature must be between 0 and 100, got -1", param="temperature"),
    ),
    "401": (
        "The API key is missing or wrong",
        errors.AuthenticationFailed("the API key is wrong; send Authorization: Bearer <key>"),
    ),
    "404": (
        "The name is not known here",
        errors.UnknownModel("the model 'x' is not served here; this server has 'y'", param="model"),
    ),
    "408": (
        "The rest of the request did not arrive",
        RequestIncomplete("the rest of the request did not arrive within a minute"),
    ),
    "409": (
        "Another request cancelled this response",
        ResponseCancelled("the response was cancelled by a request"),
    ),
    "413": ("The body is too large", BodyTooLarge("the body is larger than 10485760 bytes")),
    "415": (
        "The body is not uncompressed JSON",
        WrongMediaType("the content type is 'text/plain'; send JSON"),
    ),
    "429": (
        "The waiting queue is full; Retry-After gives the time to wait",
        errors.Overloaded("the waiting queue is full; retry later"),
    ),
    "500": (
        "The request failed inside the engine",
        errors.RequestFailed("this request failed inside the engine and was ended"),
    ),
    "503": (
        "The engine is starting, draining or restarting, or the request waited too long",
        errors.EngineStarting("the model is loading; retry in a moment"),
    ),
    "504": ("The request exceeded its time limit", timeout_error(600)),
}
_READING = frozenset({"400", "404", "408", "413", "415", "500", "503", "504"})


def describe(app: FastAPI, open_paths: Collection[str], settings: ServerConfig) -> dict[str, Any]:
    """Return the document of the application; `open_paths` need no key."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description or _ABOUT,
        routes=app.routes,
        tags=[
            {"name": name, "description": meaning}
            for name, meaning in _TAGS.items()
            if any(name in getattr(route, "tags", ()) for route in app.routes)
        ],
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for own in ("HTTPValidationError", "ValidationError"):  # FastAPI's, of its 422
        schemas.pop(own, None)
    components["headers"] = {
        name: {"description": meaning, "schema": {"type": "string"}}
        for name, meaning in _HEADERS.items()
    }
    if settings.auth_ui:  # the page shows its Authorize button for these schemes
        components["securitySchemes"] = _KEYS
        keys: list[dict[str, list[str]]] = [{name: []} for name in _KEYS]
        # An empty entry: a key is optional.
        document["security"] = keys if settings.has_keys else [{}, *keys]
    for path, operations in document["paths"].items():
        for operation in operations.values():
            _describe_operation(path, operation, schemas)
            if path not in open_paths:
                continue
            operation["responses"].pop("401", None)
            if settings.auth_ui:
                operation["security"] = []
    add_schemas(document, schemas)
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    return document


def _describe_operation(path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)  # this server answers 400
    for content in _contents(operation):
        content["schema"] = _collect(content["schema"], schemas) or {"type": "object"}
    statuses = {"401"}
    if "requestBody" in operation:
        is_answered = not {"render", "tokens", "cache"} & set(operation["tags"])  # by the engine
        statuses |= _READING | ({"429"} if is_answered else set())
    if "cache" in operation["tags"]:
        statuses.add("503")
    if path == "/v1/responses":
        statuses.add("409")
    if "{" in path or "batches" in operation["tags"]:  # 404 where batches are disabled
        statuses.add("404")
    if any(each["in"] == "query" for each in operation.get("parameters", ())):
        statuses.add("400")
    for status in sorted(statuses - responses.keys()):
        meaning, error = _ERRORS[status]
        if status == "404" and "requestBody" not in operation and "model" not in path:
            error = NotFound("the id is not known here")
        responses[status] = {"description": meaning, "content": {_JSON: _error(path, error)}}
    for status, response in responses.items():
        names = ["X-Request-ID", *_HEADERS_OF.get(status, [])]
        if status == "200" and "requestBody" in operation:
            names += [name for name in _HEADERS if name.startswith("X-YAIE-")]
        response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    if path in PROBES and "503" in responses:
        responses["503"]["description"] = "The engine is in another state"


def _error(path: str, error: YaieError) -> dict[str, Any]:
    """Return an error's schema and example in the path's format."""
    reply = error_format(path)(error, "4c1f")
    return {"schema": reference_to(type(reply)), "example": msgspec.to_builtins(reply)}


def _contents(operation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the contents of an operation that have a schema, by media type."""
    parts = [operation.get("requestBody", {}), *operation["responses"].values()]
    contents = [content for part in parts for content in part.get("content", {}).values()]
    return [content for content in contents if "schema" in content]


def _collect(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Move a schema of pydantic, and its definitions, to the components; return a reference."""
    schema = dict(schema)
    for name, definition in schema.pop("$defs", {}).items():
        schemas.setdefault(name, definition)
    if "properties" not in schema or "title" not in schema:
        return schema
    schemas.setdefault(schema["title"], schema)
    return {"$ref": REFERENCE.format(model=schema["title"])}
