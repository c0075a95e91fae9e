"""Endpoints as values: body schema, translation and reply of completions and token counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Generic

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from yaie.base.queries import ExplainPrompt
from yaie.base.sampling_fields import Real, Whole
from yaie.base.types import SAMPLING_FIELDS
from yaie.server.explain.explain_queries import count_cached
from yaie.server.http.body import EVENTS, read_body, text_bytes
from yaie.server.http.body_memory import BodyShare
from yaie.server.http.http_errors import RequestTimedOut, timeout_error
from yaie.server.models.request_hook import AtEnd, Body, ReadRequest
from yaie.server.models.service import Service
from yaie.server.ops.tracing import trace_of
from yaie.server.replies.chunked_reply import DONE_MARK
from yaie.server.replies.delivery import (
    ClientGone,
    EventStream,
    first_pieces,
    reply_whole,
    unless_gone,
)
from yaie.server.replies.ended_call import EndedCall
from yaie.server.replies.reply import GenerationReply
from yaie.server.requests.call import Call, Caller, render_call
from yaie.server.requests.comparison import NO_NOTES, CacheNotes
from yaie.server.requests.token_counts import Tokens
from yaie.server.requests.translator import Translator
from yaie.server.schemas.base import RequestBody
from yaie.server.schemas.reply_struct import REFERENCE, describe_reply, reference_to
from yaie.server.schemas.tokens import CachedTokenCount

CLIENT_CLOSED = 499  # never sent; counted in the metrics


def as_it_is(request: Request, body: Body) -> Body:
    """Return the body."""
    return body


Command = Callable[[Service, ReadRequest[Any]], Awaitable[Response]]


def no_command(body: object) -> Command | None:
    """Return None: every body wants text."""
    return None


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Body]):
    """Everything that distinguishes one completion endpoint from another."""

    schema: type[Body]
    translate: Callable[[Translator, Body], Call]
    reply: type[GenerationReply]
    # Adds state of the server to a body before it is translated.
    prepare: Callable[[Request, Body], Body] = as_it_is
    examples: Mapping[str, Any] = field(default_factory=dict)  # bodies, by name
    # Returns the answer to a body that wants no text, such as the load of a model.
    command_of: Callable[[Body], Command | None] = no_command

    @property
    def openapi(self) -> dict[str, Any]:
        """The request body for the OpenAPI page; `answer` reads the body itself."""
        return describe_body(self.schema, self.examples)

    @property
    def answers(self) -> dict[int | str, dict[str, Any]]:
        """The answer with status 200 for the OpenAPI page, whole and as a stream."""
        answer = describe_reply(self.reply.whole)
        if self.reply.media_type != EVENTS:
            answer["description"] = "The answer, whole or as one JSON object a line"
            line = {"schema": reference_to(self.reply.event)}
            answer["content"][self.reply.media_type] = line
            return {200: answer}
        answer["description"] = "The answer, whole or as server-sent events"
        chunk = {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": reference_to(self.reply.event),
        }
        data = {"anyOf": [chunk, {"const": DONE_MARK}]}
        schema = {
            "type": "object",
            "description": "One server-sent event",
            "properties": {"event": {"type": "string"}, "data": data},
            "required": ["data"],
        }
        answer["content"][EVENTS] = {"schema": schema}
        return {200: answer}

    async def answer(self, request: Request) -> Response:
        """Answer a request, whole or as a stream. Raises `YaieError` while a status can be sent."""
        service: Service = request.app.state.service
        ends = _Ends()
        try:
            for hook in service.hooks:
                ends.add(hook.admit(request))
            response = await self._answer(request, service, ends)
        except BaseException:
            ends.run(None)
            raise
        if response.status_code == CLIENT_CLOSED:
            ends.run(None)
        return response

    async def _answer(self, request: Request, service: Service, ends: _Ends) -> Response:
        with ExitStack() as used:
            try:
                with service.expect_request():
                    read = await self._read(request, service)
                    command = self.command_of(read.body)
                    if command is None and read.model.is_resident:
                        used.enter_context(service.model_pool.use(read.model))
                        call = await self._translate(service, read)
                    else:
                        call = None
                if command is not None:
                    answer = await command(service, read)
                    ends.run(None)
                    return answer
                if call is None:  # an idle engine waits for no load of another model
                    with trace_of(request.scope).step("load"):
                        used.enter_context(
                            await service.use(read.model, request.receive, read.deadline)
                        )
                    load_s = asyncio.get_running_loop().time() - read.arrived_at
                    read = replace(read, load_s=load_s)
                    call = await self._translate(service, read)
                notes = NO_NOTES
                for hook in service.hooks:
                    notes = await hook.before_open(read, call, notes)
            except (ClientDisconnect, ClientGone):
                return Response(status_code=CLIENT_CLOSED)
            except RequestTimedOut:
                raise timeout_error(read.timeout_s) from None
            return await self._generate(service, read, call, notes, ends)

    async def render(self, request: Request, *, only: bool = False) -> Response:
        """Answer with the engine requests of a body, or with its `only` one; see `render_call`."""
        service: Service = request.app.state.service
        try:
            read = await self._read(request, service)
            with await service.use(read.model, request.receive, read.deadline):
                call = await self._translate(service, read)
        except (ClientDisconnect, ClientGone):
            return Response(status_code=CLIENT_CLOSED)
        assert read.model.info is not None  # the translator needed it
        found = render_call(call, read.model.info.max_model_len)
        written = await service.write_in_thread(
            lambda: msgspec.json.encode(found[0] if only else found)
        )
        return Response(written, headers=_report(call), media_type="application/json")

    async def _read(self, request: Request, service: Service) -> ReadRequest[Body]:
        with trace_of(request.scope).step("read"):
            body = self.prepare(request, await read_body(request, self.schema))
        wanted_s = getattr(body, "request_timeout_s", None)  # checked by the translator
        timeout_s = getattr(request.state, "timeout_s", service.settings.request_timeout_s)
        if isinstance(wanted_s, int | float) and 0 < wanted_s < timeout_s:
            timeout_s = float(wanted_s)
        deadline = asyncio.get_running_loop().time() + timeout_s
        model = service.model(body.model)
        request.state.model = model.name  # a label of metrics
        return ReadRequest(request, body, model, deadline, timeout_s)

    async def _translate(self, service: Service, read: ReadRequest[Body]) -> Call:
        request, body = read.http, read.body
        tenant = service.tenant(request) or body.tenant
        # The answer has the name that the client knows.
        name = body.model or read.model.name
        adapter = read.model.adapters.named(body.model)
        caller = Caller(
            tenant=tenant,
            owner=service.owner(request),
            model=name,
            adapter=adapter,
            adapter_path=read.model.adapters.folder_of(adapter),
        )
        for hook in service.hooks:
            caller = hook.identify(request, caller)
        with trace_of(request.scope).step("translate"):
            # The client may leave while its body waits for a text thread.
            work = service.translate(
                read.model,
                self.translate,
                body,
                read.deadline,
                caller,
                tenant=tenant,
                num_bytes=text_bytes(request, body),
            )
            return await unless_gone(request.receive, work)

    async def _generate(
        self,
        service: Service,
        read: ReadRequest[Body],
        call: Call,
        notes: CacheNotes,
        ends: _Ends,
    ) -> Response:
        request, model = read.http, read.model
        share: BodyShare = request.state.body_share
        generation = service.open(
            model,
            call,
            request.state.request_id,
            read.deadline,
            timeout_s=read.timeout_s,
            load_s=read.load_s,
            num_bytes=share.num_bytes,
        )
        share.keep()
        generation.at_close += [ends.run, lambda _: share.release()]
        for hook in service.hooks:
            hook.on_open(request, generation)
        headers = {**_report(call), **service.response_cache.watch(generation)}
        is_handed_over = False
        try:
            reply = self.reply(generation, model.tokenizer, notes)
            begun = reply.begin(service.run_later, service.write_in_thread)
            if begun is not None:
                is_handed_over = True
                if isinstance(begun, bytes):
                    return Response(begun, headers=headers, media_type="application/json")
                return StreamingResponse(begun, headers=headers, media_type=EVENTS)
            if not call.stream:
                return await reply_whole(
                    request.receive, generation, reply, headers, service.write_in_thread
                )
            ping_s = service.settings.stream_ping_s
            first = await first_pieces(request.receive, generation, ping_s)
            is_handed_over = True
            headers.update(reply.origin())
            write = service.write_in_thread
            return EventStream(generation, reply, first, headers, write, ping_s=ping_s)
        except ClientGone:
            return Response(status_code=CLIENT_CLOSED)
        finally:
            if not is_handed_over:
                generation.close()


class _Ends:
    """Functions that hooks want called at the end of a request; they run once."""

    def __init__(self) -> None:
        self._waiting: list[AtEnd] = []

    def add(self, end: AtEnd | None) -> None:
        if end is not None:
            self._waiting.append(end)

    def run(self, ended: EndedCall | None) -> None:
        waiting, self._waiting = self._waiting, []
        for end in waiting:
            end(ended)


def describe_body(schema: type[RequestBody], examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return a route's description of its body for the OpenAPI page; `examples` by name."""
    described = schema.model_json_schema(ref_template=REFERENCE)
    _add_ranges(described["properties"])
    content: dict[str, Any] = {"schema": described}
    if examples:
        content["examples"] = {name: {"value": body} for name, body in examples.items()}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def _add_ranges(properties: dict[str, Any]) -> None:
    """Add sampling parameter ranges to the schemas of body fields."""
    for name, described in properties.items():
        kind = SAMPLING_FIELDS[name].kind if name in SAMPLING_FIELDS else None
        if isinstance(kind, Whole | Real) and name != "max_tokens":  # 0 goes with echo
            for branch in (described, *described.get("anyOf", ())):
                if branch.get("type") in ("integer", "number"):
                    branch.update(minimum=kind.least, maximum=kind.most)


def _report(call: Call) -> dict[str, str]:
    """Return the headers that tell what a call does differently from its body."""
    headers = _name_ignored(call.ignored)
    if call.folds:
        headers["X-YAIE-Folded-Messages"] = ", ".join(call.folds)
    if (limit := call.clipped_to) is not None:
        headers["X-YAIE-Max-Tokens"] = str(limit)
    return headers


def _name_ignored(names: Sequence[str]) -> dict[str, str]:
    return {"X-YAIE-Ignored-Params": ", ".join(names)} if names else {}


@dataclass(frozen=True, slots=True)
class TokenEndpoint(Generic[Body]):
    """Everything that distinguishes one such endpoint from another."""

    schema: type[Body]
    work: Callable[[Translator, Body], Tokens]
    examples: Mapping[str, Any] = field(default_factory=dict)  # bodies, by name
    # Adds state of the server to a body before it is translated.
    prepare: Callable[[Request, Body], Body] = as_it_is

    @property
    def openapi(self) -> dict[str, Any]:
        """The request body for the OpenAPI page."""
        return describe_body(self.schema, self.examples)

    async def answer(self, request: Request) -> Response:
        """Answer a request. Raises `YaieError`."""
        service: Service = request.app.state.service
        try:
            body = self.prepare(request, await read_body(request, self.schema))
            deadline = asyncio.get_running_loop().time() + service.settings.request_timeout_s
            model = service.model(body.model)
            with await service.use(model, request.receive, deadline):
                work = service.translate(
                    model,
                    self.work,
                    body,
                    deadline,
                    tenant=service.tenant(request),
                    num_bytes=text_bytes(request, body),
                )
                found = await unless_gone(request.receive, work)
                if found.prompts:
                    queries = [
                        ExplainPrompt(
                            token_ids=prompt,
                            owner=service.owner(request),
                            cache_salt=found.cache_salt,
                            adapter=model.adapters.named(body.model),
                        )
                        for prompt in filter(None, found.prompts)
                    ]
                    asked = count_cached(model, queries)
                    cached = await unless_gone(request.receive, asked)
                    assert isinstance(found.reply, CachedTokenCount)
                    found.reply.cached_tokens = cached
        except (ClientDisconnect, ClientGone):
            return Response(status_code=CLIENT_CLOSED)
        written = await service.write_in_thread(lambda: msgspec.json.encode(found.reply))
        headers = _name_ignored(found.ignored)
        return Response(written, headers=headers, media_type="application/json")
