"""`AsyncClient` against the application: results, the limit, and cancelling."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from tests.remote.conftest import ANSWER, Served, wait_until
from tests.server.scripted_client import silent_script
from yaie import AsyncClient
from yaie.base.errors import ContextLengthExceeded, Overloaded
from yaie.base.types import GenerationRequest, TokenDelta

CHAT = [{"role": "user", "content": "What is a tree?"}]


def test_the_methods_are_those_of_the_client(served: Served) -> None:
    async def run() -> None:
        async with AsyncClient(served.url) as client:
            outputs = await client.generate(["A", "B", "C"])
            assert [output.text for output in outputs] == [ANSWER] * 3
            assert (await client.chat(CHAT))[0].text == ANSWER
            pieces = [piece async for piece in client.stream(CHAT)]
            assert "".join(piece.text for piece in pieces) == ANSWER
            assert await client.count_tokens(CHAT) == outputs[0].usage.prompt_tokens + (
                served.client.count_tokens(CHAT) - served.client.count_tokens("A")
            )
            assert "cached_tokens" in await client.explain(CHAT)
            assert await client.models() == ["tiny"]
            assert (await client.health())["server"] == "yaie"
            with pytest.raises(ContextLengthExceeded, match="prompt 1: "):
                await client.generate(["A", "tree " * 400])

    asyncio.run(run())


def test_no_more_requests_run_than_the_limit(served: Served) -> None:
    running, most = 0, 0

    async def say(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        yield TokenDelta(
            request_id=request.request_id, index=0, token_ids=(5,), finish_reason="stop"
        )

    async def run() -> None:
        async with AsyncClient(served.url, max_concurrent=2) as client:
            assert len(await client.generate(["A"] * 7)) == 7

    served.engine.script = say
    asyncio.run(run())
    assert most == 2


def test_cancelling_closes_the_connection(served: Served) -> None:
    async def run() -> None:
        async with AsyncClient(served.url) as client:
            calls = [
                asyncio.ensure_future(client.generate(["A", "B"])),
                asyncio.ensure_future(client.stream(CHAT).__anext__()),
            ]
            while len(served.engine.requests) < 3:
                await asyncio.sleep(0.005)
            for call in calls:
                call.cancel()
            await asyncio.wait(calls, timeout=10)
            assert all(call.cancelled() for call in calls)
            served.engine.script = served.engine.say
            assert (await client.generate("A"))[0].text == ANSWER

    served.engine.script = silent_script
    asyncio.run(run())
    wait_until(lambda: len(served.engine.ended) == 4)


def test_cancelling_ends_the_wait_before_a_retry(served: Served) -> None:
    async def run() -> None:
        async with AsyncClient(served.url) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.generate("A"), 0.2)

    served.engine.refusal = Overloaded("busy", retry_after_s=29)
    asyncio.run(run())
