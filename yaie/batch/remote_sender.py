"""`RemoteSender`: sends the requests of a batch to a running server, in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import msgspec
import requests

from yaie.api.in_thread import in_thread
from yaie.base.errors import EngineUnavailable
from yaie.batch.batch_run import LineReply
from yaie.remote.address import KEY_REFUSED
from yaie.remote.transport import Exchange, Sender, retry_after_s

SILENCE_S = 24 * 3600.0  # a request may wait behind a whole batch
# Every answer is a result, except to a key that no request may use.
_RESULTS = tuple(status for status in range(300, 600) if status not in KEY_REFUSED)


class RemoteSender:
    """A server; cancelling a call closes its connection, which ends the request there."""

    def __init__(self, url: str, key: str | None, at_once: int) -> None:
        self._sender = Sender(url, key, SILENCE_S, 0, at_once)

    async def send(self, url: str, body: bytes) -> LineReply:
        """Return the answer. Raises `EngineUnavailable` without one.

        `AuthenticationFailed`: the server refuses the key.
        """
        call = Exchange()
        replies: list[LineReply] = []

        def run(_: Callable[[], bool]) -> Generator[None, None, None]:
            replies.append(self._exchange(call, url, body))
            yield

        async for _ in in_thread(run, call.cancel):
            pass
        return replies[0]

    async def models(self) -> list[str]:
        """Return the names of the server's models. Raises `YaieError`."""
        listed = await asyncio.to_thread(self._sender.document, "GET", "/v1/models", Exchange())
        cards: Any = listed.get("data")
        try:
            return [str(each["id"]) for each in cards]
        except (LookupError, TypeError):
            why = "/v1/models did not return a list of models"
            raise self._sender.not_openai(why) from None

    def close(self) -> None:
        """Close the connections that are kept alive."""
        self._sender.close()

    def _exchange(self, call: Exchange, url: str, body: bytes) -> LineReply:
        fields = msgspec.json.decode(body)
        with self._sender.sent("POST", url, call, fields, accepted=_RESULTS) as reply:
            try:
                content = reply.content
            except requests.RequestException as error:
                call.check()
                raise EngineUnavailable(f"the reply of {url} broke off ({error})") from error
            name = reply.headers.get("X-Request-ID", "")
            return LineReply(reply.status_code, name, content, retry_after_s(reply))
