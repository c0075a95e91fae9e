"""Engine client with a script for its answers and a record of its requests.

For everything that a real engine does not do on demand: refuse, stall, die. The rest is tested
with the real one in `test_real_server.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, nullcontext

from msgspec.structs import replace

from yaie.base.errors import EngineUnavailable, RequestError
from yaie.base.queries import Answer, Query
from yaie.base.stats import EngineStats
from yaie.base.types import (
    EngineInfo,
    EngineState,
    ExpectedPrompt,
    GenerationRequest,
    TokenDelta,
    TokenLogprobs,
)
from yaie.client.submission import Sink, Submission
from yaie.engine.query_answers import QueryAnswers
from yaie.kvcache.namespaces import namespace_of
from yaie.kvcache.node import as_tokens
from yaie.kvcache.radix_tree import RadixTree

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
    warm_up_s=0.25,
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
    max_draft_tokens=8,
)


class ScriptedClient:
    """Implements `EngineClient`."""

    def __init__(self, answer: list[int]) -> None:
        self.answer = answer  # tokens of every sequence, one a step
        self.state = EngineState.READY
        self.state_reason = ""
        self.info: EngineInfo | None = INFO
        self.stats = EngineStats(num_steps=3, prompt_tokens=8, cached_tokens=6)
        self.num_restarts = 0
        self.script: Script = self.say
        self.requests: list[GenerationRequest] = []
        self.expected: list[ExpectedPrompt] = []
        self.refusal: Exception | None = None  # raised by `submit`
        self.ended: list[str] = []  # ids of closed and of finished requests
        self.aborted: list[tuple[str, int | None]] = []
        self.tree = RadixTree(INFO.num_slots)
        self._running: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Start; ready at once."""

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        """Return the info, or wait forever without one."""
        if self.state is EngineState.FAILED:
            raise EngineUnavailable("failed")
        while self.info is None:
            await asyncio.sleep(3600)
        return self.info

    def expect_request(self) -> AbstractContextManager[None]:
        """Announce a request, without effect: requests are answered at once."""
        return nullcontext()

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Follow the script."""
        if self.refusal is not None:
            raise self.refusal
        self.requests.append(request)
        submission = Submission(request, sink, self._abort)
        task = asyncio.get_running_loop().create_task(self._follow(submission))
        self._running[request.request_id] = task
        return submission

    async def _follow(self, submission: Submission) -> None:
        request = submission.request
        try:
            async for delta in self.script(request):
                if delta.finish_reason is not None:
                    submission.unfinished.discard(delta.index)
                    submission.is_open = delta.error is None and bool(submission.unfinished)
                submission.sink(delta)
        finally:
            if self._running.pop(request.request_id, None) is not None:
                self.hold(request)
                self.ended.append(request.request_id)

    def _abort(self, submission: Submission, index: int | None) -> None:
        request_id = submission.request.request_id
        if index is not None:
            self.aborted.append((request_id, index))
        elif task := self._running.pop(request_id, None):
            self.ended.append(request_id)
            task.cancel()

    def expect_prompt(self, prompt: ExpectedPrompt) -> None:
        """Record the prompt."""
        self.expected.append(prompt)

    async def ask(self, query: Query, timeout_s: float = 1.0) -> Answer:
        """Answer from `tree`, which holds the prompts of all finished requests."""
        if self.refusal is not None:
            raise self.refusal
        return QueryAnswers(self.tree, lambda: None).answer(query, 0.0)

    def hold(self, request: GenerationRequest) -> None:
        """Compute a prompt into `tree`."""
        tokens = as_tokens(request.prompt_token_ids)
        cursor = self.tree.open(namespace_of(request.owner, request.cache_salt), tokens)
        for node in self.tree.path(cursor):
            self.tree.mark_computed(node, len(node.tokens))
        self.tree.advance(len(tokens))
        self.tree.close(cursor)

    async def close(self) -> None:
        """Close the engine."""
        self.state = EngineState.DEAD

    async def say(self, request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        """Answer with `answer` for each sequence, until `max_tokens`."""
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
                    scored = [
                        _logprob(i, sampling.prompt_logprobs) for i in request.prompt_token_ids[1:]
                    ]
                    delta = replace(delta, prompt_logprobs=(None, *scored))
                yield delta
            await asyncio.sleep(0)


def _logprob(token_id: int, num_top: int) -> TokenLogprobs:
    top = ((token_id, -0.5), (token_id + 1, float("-inf")))[:num_top]
    return TokenLogprobs(token_id=token_id, logprob=-0.5, rank=1, top=top)


def error_script(error: RequestError, after: list[int] | None = None) -> Script:
    """Script that fails, after optional tokens."""

    async def fail(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        for token_id in after or []:
            yield TokenDelta(request_id=request.request_id, index=0, token_ids=(token_id,))
            await asyncio.sleep(0.02)
        yield TokenDelta(request_id=request.request_id, index=0, finish_reason="error", error=error)

    return fail


async def silent_script(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
    """Script without an answer."""
    await asyncio.Event().wait()
    yield TokenDelta(request_id=request.request_id, index=0)
