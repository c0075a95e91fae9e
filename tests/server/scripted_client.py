"""An engine client that says what a test tells it to, and remembers what it was asked.

For what a real engine cannot be made to do on demand: refuse, stall, die. Everything else is
tested with the real one in `test_real_server.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from yaie.errors import EngineUnavailable, RequestError
from yaie.stats import EngineStats
from yaie.types import (
    EngineInfo,
    EngineState,
    GenerationRequest,
    TokenDelta,
    TokenLogprobs,
)

Script = Callable[[GenerationRequest], AsyncGenerator[TokenDelta, None]]

INFO = EngineInfo(
    model="tiny",
    model_path="tiny",
    architecture="LlamaForCausalLM",
    dtype="float32",
    quantization="int4",
    kv_dtype="float32",
    device="cpu",
    attention_backend="reference",
    vocab_size=420,
    max_model_len=256,
    num_slots=1024,
    kv_bytes_per_token=64,
    weight_bytes=1,
    num_parameters=1,
    policy="prefix-aware",
    eviction="lru",
    max_step_rows=64,
    max_running=256,
    max_waiting=4096,
)


class ScriptedClient:
    """Implements `EngineClient`."""

    def __init__(self, answer: list[int]) -> None:
        self.answer = answer  # what every sequence says, one token a step
        self.state = EngineState.READY
        self.state_reason = ""
        self.info: EngineInfo | None = INFO
        self.stats = EngineStats(num_steps=3, prompt_tokens=8, cached_tokens=6)
        self.num_restarts = 0
        self.script: Script = self.say
        self.requests: list[GenerationRequest] = []
        self.ended: list[str] = []  # ids of requests whose iterator was closed or ran out
        self.aborted: list[tuple[str, int | None]] = []

    async def start(self) -> None:
        """Nothing to start."""

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        """Ready, or waiting for ever."""
        if self.state is EngineState.FAILED:
            raise EngineUnavailable("failed")
        while self.info is None:
            await asyncio.sleep(3600)
        return self.info

    def arriving(self) -> AbstractContextManager[None]:
        """Nothing: what is asked is answered at once."""
        return nullcontext()

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        """Follow the script."""
        self.requests.append(request)
        try:
            async for delta in self.script(request):
                yield delta
        finally:
            self.ended.append(request.request_id)

    async def abort(self, request_id: str, index: int | None = None) -> None:
        """Remember who was aborted."""
        self.aborted.append((request_id, index))

    async def close(self) -> None:
        """The engine is gone."""
        self.state = EngineState.DEAD

    async def say(self, request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        """Every sequence says `answer`, then stops, or is cut at `max_tokens`."""
        sampling = request.sampling
        limit = sampling.max_tokens or len(self.answer)
        said = self.answer[:limit]
        for place, token_id in enumerate(said):
            is_last = place == len(said) - 1
            reason = ("length" if len(self.answer) > limit else "stop") if is_last else None
            for index in range(sampling.n):
                delta = TokenDelta(
                    request_id=request.request_id,
                    index=index,
                    token_ids=(token_id,),
                    finish_reason=reason,  # type: ignore[arg-type]
                    num_cached_tokens=len(request.prompt_token_ids) - 1,
                )
                if sampling.logprobs is not None:
                    delta = replace(delta, logprobs=(_logprob(token_id, sampling.logprobs),))
                if place == 0 and sampling.prompt_logprobs is not None:
                    scored = [_logprob(i, 1) for i in request.prompt_token_ids[1:]]
                    delta = replace(delta, prompt_logprobs=(None, *scored))
                yield delta
            await asyncio.sleep(0)


def _logprob(token_id: int, num_top: int) -> TokenLogprobs:
    top = ((token_id, -0.5), (token_id + 1, float("-inf")))[:num_top]
    return TokenLogprobs(token_id=token_id, logprob=-0.5, rank=1, top=top)


def error_script(error: RequestError) -> Script:
    """A script that refuses at once."""

    async def refuse(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        yield TokenDelta(
            request_id=request.request_id,
            index=0,
            finish_reason="error",
            error=error,
        )

    return refuse


def raising_script(error: Exception, after: list[int] | None = None) -> Script:
    """A script that raises, after some tokens where they are given."""

    async def fail(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        for token_id in after or []:
            yield TokenDelta(request_id=request.request_id, index=0, token_ids=(token_id,))
            await asyncio.sleep(0.02)
        raise error

    return fail


async def silent_script(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
    """A script that never says anything."""
    await asyncio.Event().wait()
    yield TokenDelta(request_id=request.request_id, index=0)
