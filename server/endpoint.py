"""Completion endpoints, each as one value: body schema, translation and response form."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from server.bodies import read_body
from server.responses.base import GenerationResponse
from server.schemas.base import RequestBody
from server.served_model import ServedModel
from server.service import Service
from server.streaming import ClientGone, EventStream, answer_whole, unless_gone
from server.translate import Call, Translator

Body = TypeVar("Body", bound=RequestBody)
CLIENT_CLOSED = 499  # never sent; counted in the metrics


def _as_it_is(request: Request, body: Body) -> Body:
    return body


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Body]):
    """Everything that distinguishes one completion endpoint from another."""

    schema: type[Body]
    translate: Callable[[Translator, Body], Call]
    response: type[GenerationResponse]
    # Adds state of the server to a body before it is translated.
    prepare: Callable[[Request, Body], Body] = _as_it_is

    @property
    def openapi(self) -> dict[str, Any]:
        """The request body for the OpenAPI page; `answer` reads the body itself."""
        described = self.schema.model_json_schema()
        # OpenAPI allows no definitions inside a route.
        described = _inlined(described, described.pop("$defs", {}))
        content = {"application/json": {"schema": described}}
        return {"requestBody": {"required": True, "content": content}}

    async def answer(self, request: Request) -> Response:
        """Answer a request, whole or as a stream. Raises `YaieError` while a status can be sent."""
        service: Service = request.app.state.service
        with service.expect_request():
            try:
                body = self.prepare(request, await read_body(request, self.schema))
            except ClientDisconnect:
                return Response(status_code=CLIENT_CLOSED)
            deadline = asyncio.get_running_loop().time() + service.settings.request_timeout_s
            model = service.model(body.model)
            try:
                # The client may leave while its body waits for a text thread.
                work = service.translate(model, self.translate, body, deadline)
                call = await unless_gone(request.receive, work)
                call = call.of_tenant(getattr(request.state, "tenant", None) or body.tenant)
            except ClientGone:
                return Response(status_code=CLIENT_CLOSED)
        return await self._generate(request, service, model, call, deadline)

    async def _generate(
        self,
        request: Request,
        service: Service,
        model: ServedModel,
        call: Call,
        deadline: float,
    ) -> Response:
        headers = {"X-YAIE-Ignored-Params": ", ".join(call.ignored)} if call.ignored else {}
        generation = service.open(model, call, request.state.request_id, deadline)
        is_streaming = False
        try:
            response = self.response(generation, model.tokenizer)
            if not call.stream:
                return await answer_whole(
                    request.receive, generation, response, headers, service.write_in_thread
                )
            first = await unless_gone(request.receive, generation.next())
            is_streaming = True
            return EventStream(generation, response, first, headers, service.write_in_thread)
        except ClientGone:
            return Response(status_code=CLIENT_CLOSED)
        finally:
            if not is_streaming:
                generation.close()


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a JSON schema with its references to `definitions` replaced."""
    if isinstance(schema, list):
        return [_inlined(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {name: _inlined(value, definitions) for name, value in schema.items()}
