"""`LineSender`: the requests of a batch through the server's own endpoints, without a socket.

An answer is the one that a client gets, since the same handler makes it.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Scope

from yaie.base.errors import RequestFailed, YaieError
from yaie.batch.batch_run import LineReply
from yaie.server.http.body_memory import BodyMemory, BodyShare
from yaie.server.http.http_errors import error_response

logger = logging.getLogger(__name__)

Handler = Callable[..., Awaitable[Response]]


class LineSender:
    """The endpoints of an application by path; `state` is added to the state of each request.

    Bodies share `memory` with the bodies of clients; without one they have a separate memory.
    """

    def __init__(
        self,
        app: Any,
        handlers: Mapping[str, Handler],
        memory: BodyMemory | None = None,
        **state: Any,
    ) -> None:
        self._app = app
        self._handlers = handlers
        self._memory = memory or BodyMemory(0)
        self._state = state

    async def send(self, url: str, body: bytes) -> LineReply:
        """Return the answer to a body; cancelling the task ends its request within one step."""
        request_id = uuid.uuid4().hex
        share = BodyShare(self._memory)
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": url,
            "root_path": "",
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
            "client": None,
            "server": None,
            "app": self._app,
            "state": {"request_id": request_id, "body_share": share, **self._state},
        }
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if unread:
                return unread.pop()
            await asyncio.Event().wait()  # it never disconnects
            raise AssertionError

        parts: list[bytes] = []

        async def collect(message: Message) -> None:
            parts.append(message.get("body", b""))

        retry_after_s: float | None = None
        try:
            share.add(len(body))
            response = await self._handlers[url](Request(scope, receive))
        except YaieError as error:
            response, retry_after_s = error_response(error, scope), error.retry_after_s
        except Exception:  # other requests continue, as with sockets
            logger.exception("request %s of a batch failed inside the server", request_id)
            fault = RequestFailed(f"the server failed; see {request_id} in its log")
            response = error_response(fault, scope)
        finally:
            share.release()
        await response(scope, receive, collect)
        return LineReply(response.status_code, request_id, b"".join(parts), retry_after_s)
