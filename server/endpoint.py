"""Completion endpoints, each as one value: body schema, translation and response form."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from server.accounts import Visit
from server.bodies import read_body
from server.cache.asking import explain_body
from server.cache.diagnostics import compare
from server.errors import RequestTimedOut, timed_out
from server.openapi import EVENTS, REFERENCE
from server.rendering import rendered
from server.responses.background import make_whole
from server.responses.base import GenerationResponse
from server.responses.sse import DONE_MARK
from server.schemas.base import RequestBody
from server.served_model import ServedModel
from server.service import Service
from server.streaming import (
    ClientGone,
    EventStream,
    answer_whole,
    first_pieces,
    unless_gone,
)
from server.tracing import trace_of
from server.translate import Call, Translator
from yaie.sampling_fields import Real, Whole
from yaie.types import SAMPLING_FIELDS

Body = TypeVar("Body", bound=RequestBody)
CLIENT_CLOSED = 499  # never sent; counted in the metrics


def as_it_is(request: Request, body: Body) -> Body:
    """Return the body."""
    return body


@dataclass(frozen=True, slots=True)
class _Asked(Generic[Body]):
    """A body that was read, its model, and the loop time of its timeout."""

    body: Body
    model: ServedModel
    deadline: float
    timeout_s: float  # from the request to the deadline


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Body]):
    """Everything that distinguishes one completion endpoint from another."""

    schema: type[Body]
    translate: Callable[[Translator, Body], Call]
    response: type[GenerationResponse]
    # Adds state of the server to a body before it is translated.
    prepare: Callable[[Request, Body], Body] = as_it_is
    examples: Mapping[str, Any] = field(default_factory=dict)  # bodies, by name

    @property
    def openapi(self) -> dict[str, Any]:
        """The request body for the OpenAPI page; `answer` reads the body itself."""
        return described_body(self.schema, self.examples)

    @property
    def answers(self) -> dict[int | str, dict[str, Any]]:
        """The answer with status 200 for the OpenAPI page, whole and as a stream."""
        answer: dict[str, Any] = {"description": "The answer, whole or as server-sent events"}
        if (whole := self.response.answer_schema) is not None:
            answer["model"] = whole
        data: dict[str, Any] = {"type": "string"}
        if (event := self.response.event_schema) is not None:
            described = event.model_json_schema(ref_template=REFERENCE)
            chunk = {**data, "contentMediaType": "application/json", "contentSchema": described}
            data = {"anyOf": [chunk, {"const": DONE_MARK}]}
        schema = {
            "type": "object",
            "description": "One server-sent event",
            "properties": {"event": {"type": "string"}, "data": data},
            "required": ["data"],
        }
        answer["content"] = {"text/event-stream": {"schema": schema}}
        return {200: answer}

    async def answer(self, request: Request) -> Response:
        """Answer a request, whole or as a stream. Raises `YaieError` while a status can be sent."""
        service: Service = request.app.state.service
        visit = service.accounts.enter(request)
        try:
            response = await self._answer(request, service, visit)
        except BaseException:
            visit.leave()
            raise
        if response.status_code == CLIENT_CLOSED:
            visit.leave()
        return response

    async def _answer(self, request: Request, service: Service, visit: Visit) -> Response:
        with ExitStack() as used:
            try:
                with service.expect_request():
                    asked = await self._read(request, service)
                    if asked.model.is_resident:
                        used.enter_context(service.residency.use(asked.model))
                        call = await self._translate(request, service, asked)
                    else:
                        call = None
                if call is None:  # an idle engine waits for no load of another model
                    with trace_of(request.scope).step("load"):
                        used.enter_context(
                            await service.use(asked.model, request.receive, asked.deadline)
                        )
                    call = await self._translate(request, service, asked)
            except (ClientDisconnect, ClientGone):
                return Response(status_code=CLIENT_CLOSED)
            except RequestTimedOut:
                raise timed_out(asked.timeout_s) from None
            return await self._generate(request, service, asked, call, visit)

    async def render(self, request: Request, *, only: bool = False) -> Response:
        """Answer with the engine requests of a body, or with its `only` one; see `rendered`."""
        service: Service = request.app.state.service
        try:
            asked = await self._read(request, service)
            with await service.use(asked.model, request.receive, asked.deadline):
                call = await self._translate(request, service, asked)
        except (ClientDisconnect, ClientGone):
            return Response(status_code=CLIENT_CLOSED)
        assert asked.model.info is not None  # the translator needed it
        found = rendered(call, asked.model.info.max_model_len)
        written = await service.write_in_thread(
            lambda: msgspec.json.encode(found[0] if only else found)
        )
        return Response(written, headers=_ignored(call), media_type="application/json")

    async def _read(self, request: Request, service: Service) -> _Asked[Body]:
        with trace_of(request.scope).step("read"):
            body = self.prepare(request, await read_body(request, self.schema))
        wanted_s = getattr(body, "request_timeout_s", None)  # checked by the translator
        timeout_s = service.settings.request_timeout_s
        if isinstance(wanted_s, int | float) and 0 < wanted_s < timeout_s:
            timeout_s = float(wanted_s)
        deadline = asyncio.get_running_loop().time() + timeout_s
        model = service.model(body.model)
        request.state.model = model.name  # a label of metrics
        return _Asked(body, model, deadline, timeout_s)

    async def _translate(self, request: Request, service: Service, asked: _Asked[Body]) -> Call:
        trace = trace_of(request.scope)
        with trace.step("translate"):
            call = await self._call(request, service, asked)
        trace.asked(call)
        return call

    async def _call(self, request: Request, service: Service, asked: _Asked[Body]) -> Call:
        # The client may leave while its body waits for a text thread.
        work = service.translate(asked.model, self.translate, asked.body, asked.deadline)
        call = await unless_gone(request.receive, work)
        tenant = getattr(request.state, "tenant", "") or asked.body.tenant
        call = call.of_tenant(tenant, service.owner(request))
        call = call.with_least_priority(service.accounts.least_priority(request))
        if getattr(asked.body, "explain_cache", None):
            explaining = explain_body(service, request, asked.model, asked.body, asked.deadline)
            explanation = await unless_gone(request.receive, explaining)
            call = replace(call, cache_explanation=explanation, include_usage=True)
        if call.is_compared and call.digest is not None:
            first = call.requests[0]
            compared = compare(
                service.recent, (first.owner, first.cache_salt), call.compared_with, call.digest
            )
            call = replace(call, compared=compared)
        # The answer has the name that the client knows.
        return replace(call, model=asked.body.model or asked.model.name)

    async def _generate(
        self,
        request: Request,
        service: Service,
        asked: _Asked[Body],
        call: Call,
        visit: Visit,
    ) -> Response:
        model, http_id = asked.model, request.state.request_id
        generation = service.open(model, call, http_id, asked.deadline, asked.timeout_s)
        generation.at_close.append(lambda: visit.leave(generation.usage))
        generation.at_close.append(lambda: trace_of(request.scope).generated(generation))
        headers = {**_ignored(call), **service.response_cache.watch(generation)}
        is_handed_over = False
        try:
            response = self.response(generation, model.tokenizer)
            if (begun := response.begun()) is not None:
                is_handed_over = True
                service.run_later(make_whole(generation, response, service.write_in_thread))
                if isinstance(begun, bytes):
                    return Response(begun, headers=headers, media_type="application/json")
                return StreamingResponse(begun, headers=headers, media_type=EVENTS)
            if not call.stream:
                return await answer_whole(
                    request.receive, generation, response, headers, service.write_in_thread
                )
            ping_s = service.settings.stream_ping_s
            first = await first_pieces(request.receive, generation, ping_s)
            is_handed_over = True
            write = service.write_in_thread
            return EventStream(generation, response, first, headers, write, ping_s=ping_s)
        except ClientGone:
            return Response(status_code=CLIENT_CLOSED)
        finally:
            if not is_handed_over:
                generation.close()


def described_body(schema: type[RequestBody], examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return a route's description of its body for the OpenAPI page; `examples` by name."""
    described = schema.model_json_schema(ref_template=REFERENCE)
    _add_ranges(described["properties"])
    content: dict[str, Any] = {"schema": described}
    if examples:
        content["examples"] = {name: {"value": body} for name, body in examples.items()}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def _add_ranges(properties: dict[str, Any]) -> None:
    """Add the ranges of sampling parameters to the schemas of body fields."""
    for name, described in properties.items():
        kind = SAMPLING_FIELDS[name].kind if name in SAMPLING_FIELDS else None
        if isinstance(kind, Whole | Real) and name != "max_tokens":  # 0 goes with echo
            for branch in (described, *described.get("anyOf", ())):
                if branch.get("type") in ("integer", "number"):
                    branch.update(minimum=kind.least, maximum=kind.most)


def _ignored(call: Call) -> dict[str, str]:
    return {"X-YAIE-Ignored-Params": ", ".join(call.ignored)} if call.ignored else {}
