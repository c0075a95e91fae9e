"""Requests for scripted engines, and their deltas as iterators and lists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from yaie.base.errors import EngineUnavailable, YaieError
from yaie.base.types import GenerationRequest, SamplingParams, TokenDelta
from yaie.client.engine_client import EngineClient

ENDLESS = 100_000


def ask(
    request_id: str, first: int = 10, max_tokens: int = 5, n: int = 1, **sampling: object
) -> GenerationRequest:
    return GenerationRequest(
        request_id=request_id,
        prompt_token_ids=(first,),
        sampling=SamplingParams(max_tokens=max_tokens, n=n, **sampling),  # type: ignore[arg-type]
    )


async def generate(
    client: EngineClient, request: GenerationRequest
) -> AsyncGenerator[TokenDelta, None]:
    """Yield the request's deltas; raise the error of an engine that died.

    Closing the generator closes the submission.
    """
    arrived: asyncio.Queue[TokenDelta] = asyncio.Queue()
    submission = client.submit(request, arrived.put_nowait)
    try:
        while submission.is_open or not arrived.empty():
            delta = await arrived.get()
            if delta.error is not None:
                error = YaieError.from_wire(delta.error)
                if isinstance(error, EngineUnavailable):
                    raise error
            yield delta
    finally:
        submission.close()


async def collect(client: EngineClient, request: GenerationRequest) -> list[TokenDelta]:
    return [delta async for delta in generate(client, request)]


async def drawn(client: EngineClient, request: GenerationRequest) -> list[int]:
    deltas = await collect(client, request)
    return [token for delta in deltas for token in delta.token_ids]


async def until(holds: Callable[[], bool], limit_s: float = 30.0) -> None:
    async with asyncio.timeout(limit_s):
        while not holds():
            await asyncio.sleep(0.005)
