"""Endpoints that answer about tokens from a text thread; of the engine they ask its cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from yaie.server.explain.explain_queries import count_cached
from yaie.server.http.body import read_body
from yaie.server.models.request_hook import Body
from yaie.server.models.service import Service
from yaie.server.replies.delivery import ClientGone, unless_gone
from yaie.server.requests.token_counts import Tokens
from yaie.server.requests.translator import Translator
from yaie.server.routes.endpoint import CLIENT_CLOSED, as_it_is, described_body


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
        return described_body(self.schema, self.examples)

    async def answer(self, request: Request) -> Response:
        """Answer a request. Raises `YaieError`."""
        service: Service = request.app.state.service
        try:
            body = self.prepare(request, await read_body(request, self.schema))
            deadline = asyncio.get_running_loop().time() + service.settings.request_timeout_s
            model = service.model(body.model)
            with await service.use(model, request.receive, deadline):
                work = service.translate(model, self.work, body, deadline)
                found = await unless_gone(request.receive, work)
                if found.prompts:
                    asked = count_cached(service, request, model, found.prompts, found.cache_salt)
                    cached = await unless_gone(request.receive, asked)
                    found.document["cached_tokens"] = cached
        except (ClientDisconnect, ClientGone):
            return Response(status_code=CLIENT_CLOSED)
        written = await service.write_in_thread(lambda: msgspec.json.encode(found.document))
        headers = {"X-YAIE-Ignored-Params": ", ".join(found.ignored)} if found.ignored else {}
        return Response(written, headers=headers, media_type="application/json")
