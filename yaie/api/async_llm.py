"""`AsyncLLM`: text generation for programs with an event loop.

The engine runs in a supervised child process, or in this process behind an `LLM`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from yaie.api.embedding import Embeddings, Texts
from yaie.api.embedding_call import EmbeddingCall
from yaie.api.engine_facts import Described
from yaie.api.local_engine import engine_config
from yaie.api.outputs import RequestOutput, StreamPiece, make_output, take_piece
from yaie.api.prompt_kinds import (
    GrammarLike,
    Message,
    Prompt,
    Sampling,
    grammars_of,
    naming_index,
    samplings_of,
)
from yaie.api.prompts import ChatOptions, ReadPrompt
from yaie.api.ranking import Ranking, Scores
from yaie.api.ranking_call import RankingCall, check_ranking
from yaie.api.request_maker import CallOptions, RequestMaker, Tools
from yaie.base.engine_keywords import EngineKeywords
from yaie.base.errors import EngineUnavailable, YaieError
from yaie.base.queries import FlushCache
from yaie.base.settings import BUILTIN_MODEL, EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import EngineInfo, Grammar, SamplingParams, TokenDelta
from yaie.client.engine_client import EngineClient
from yaie.client.process_client import ProcessClient
from yaie.models.load.folder import open_folder
from yaie.text.answer import Answer
from yaie.text.tokenizer import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from yaie.api.llm import LLM

_TEXTS_AT_ONCE = 1024  # of a call for vectors or scores; the default queue takes four times as many

Samplings = Sampling | Sequence[Sampling]
Grammars = GrammarLike | Sequence[GrammarLike | None] | None


class AsyncLLM(Described):
    """One engine in a child process, restarted after a crash, with `LLM`'s methods.

    Takes the arguments of `LLM`, and `stall_s`, the time limit for a step in seconds. Use it as an
    asynchronous context manager, or call `start` and `close`. Call its methods on one event loop.
    Cancelling a call, or leaving a stream, ends its requests within one step.
    """

    def __init__(
        self,
        model: str | PathLike[str] = BUILTIN_MODEL,
        *,
        tokenizer: str | PathLike[str] | Tokenizer | None = None,
        config: EngineConfig | None = None,
        stall_s: float = 300.0,
        **keywords: Unpack[EngineKeywords],
    ) -> None:
        """Check the settings; `start` loads the model. Raises `ConfigError`."""
        self._config = engine_config(model, config, dict(keywords))
        self._client: EngineClient = ProcessClient(self._config, stall_s=stall_s)
        self._given_tokenizer = tokenizer
        self._starting: asyncio.Task[None] | None = None
        self._info: EngineInfo | None = None

    @classmethod
    def over(cls, llm: LLM) -> AsyncLLM:
        """Return one that shares the engine of an `LLM`, which stays its owner's to close.

        The `LLM` may be used at the same time, in other threads: all requests run in the same
        batches.
        """
        made = cls(config=llm.config, tokenizer=llm.tokenizer)
        made._client = llm.as_client()
        return made

    @property
    def info(self) -> EngineInfo:
        """Properties of the loaded model. Raises `EngineUnavailable` before the start."""
        if self._info is None:
            raise EngineUnavailable("this AsyncLLM has not been started; await start() first")
        return self._info

    @property
    def config(self) -> EngineConfig:
        """The settings of this engine."""
        return self._config

    @property
    def stats(self) -> EngineStats:
        """The latest statistics; each engine process counts from zero."""
        return self._client.stats

    async def start(self) -> None:
        """Load the model and wait until it takes requests; a later call waits for a restart.

        Raises `StartupError` with the reason, `EngineUnavailable` once closed.
        """
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)
        await self._client.wait_ready()

    async def _start(self) -> None:
        tokenizer = self._given_tokenizer
        if not isinstance(tokenizer, Tokenizer):  # a model that is missing is found here first
            folder = (await asyncio.to_thread(open_folder, self._config.source)).path
            tokenizer = await asyncio.to_thread(load_tokenizer, Path(tokenizer or folder))
        await self._client.start()
        self._info = await self._client.wait_ready()
        self._maker = RequestMaker(tokenizer, self._info, self._config, prefix="async")

    async def close(self) -> None:
        """Stop the engine; calls in progress end with an error."""
        if self._starting is not None:
            self._starting.cancel()
        await self._client.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        sampling_params: Samplings = None,
        *,
        grammar: Grammars = None,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> list[RequestOutput]:
        """Continue each prompt; return one output per prompt, in order. As `LLM.generate`.

        A wrong grammar is found by the engine: it is in the `error` of its output.
        """
        await self.start()
        read = await asyncio.to_thread(self._maker.read_prompts, prompts)
        samplings = samplings_of(sampling_params, len(read), self._maker.default_sampling)
        grammars = grammars_of(grammar, len(read))
        return await self._run(read, samplings, grammars, CallOptions(cache_salt, priority, lora))

    async def chat(
        self,
        messages: Sequence[Message] | Sequence[Sequence[Message]],
        sampling_params: Samplings = None,
        *,
        grammar: Grammars = None,
        tools: Tools | None = None,
        chat_template: str | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        add_generation_prompt: bool | None = None,
        continue_final_message: bool = False,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> list[RequestOutput]:
        """Answer one conversation, or each in a list. As `LLM.chat`."""
        await self.start()
        chat = ChatOptions(
            tools,
            chat_template_kwargs,
            chat_template,
            add_generation_prompt,
            continue_final_message,
        )
        read = await asyncio.to_thread(self._maker.read_conversations, messages, chat)
        samplings = samplings_of(sampling_params, len(read), self._maker.chat_sampling)
        grammars = grammars_of(grammar, len(read))
        return await self._run(read, samplings, grammars, CallOptions(cache_salt, priority, lora))

    async def stream(
        self,
        prompt: Prompt | Sequence[Message],
        sampling_params: Sampling = None,
        *,
        grammar: GrammarLike | None = None,
        tools: Tools | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> AsyncGenerator[StreamPiece, None]:
        """Continue one prompt or conversation; yield the text of each step as it comes.

        Raises the request's error, `InvalidRequest` or `RequestFailed`, while iterating.
        """
        await self.start()
        read, default = await asyncio.to_thread(
            self._maker.read_either, prompt, ChatOptions(tools, chat_template_kwargs)
        )
        (sampling,) = samplings_of(sampling_params, 1, default)
        (following,) = grammars_of(grammar, 1)
        options = CallOptions(cache_salt, priority, lora)
        request = self._maker.request(read, sampling, following, options)
        answer = self._maker.answer(request, read)
        deltas = self.grow({request.request_id: answer})
        try:
            async for delta in deltas:
                if answer.error is not None:
                    raise YaieError.from_wire(answer.error)
                piece = take_piece(answer, delta.index)
                if piece.token_ids or piece.text or piece.finish_reason or piece.reasoning:
                    yield piece
        finally:
            await deltas.aclose()

    async def embed(
        self,
        texts: Texts,
        *,
        prompt_name: str | None = None,
        dimensions: int | None = None,
        truncate: bool = False,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> Embeddings:
        """Return the vectors of texts. As `LLM.embed`."""
        await self.start()
        call = await asyncio.to_thread(
            EmbeddingCall,
            self._maker,
            texts,
            prompt_name=prompt_name,
            dimensions=dimensions,
            truncate=truncate,
            options=CallOptions(cache_salt, priority, lora),
        )
        await self._run_pooled(call.answers)
        return call.result()

    async def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        top_n: int | None = None,
        instruction: str | None = None,
        truncate: bool = False,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> Ranking:
        """Return the best documents for a query. As `LLM.rerank`."""
        check_ranking(query, top_n)
        options = CallOptions(cache_salt, priority, lora)
        return (await self._rank(query, documents, instruction, truncate, options)).ranking(top_n)

    async def score(
        self,
        text_1: str | Sequence[str],
        text_2: str | Sequence[str],
        *,
        instruction: str | None = None,
        truncate: bool = False,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> Scores:
        """Return the scores of pairs of texts. As `LLM.score`."""
        options = CallOptions(cache_salt, priority, lora)
        return (await self._rank(text_1, text_2, instruction, truncate, options)).scores()

    async def _rank(
        self,
        queries: str | Sequence[str],
        documents: str | Sequence[str],
        instruction: str | None,
        truncate: bool,
        options: CallOptions,
    ) -> RankingCall:
        await self.start()
        call = await asyncio.to_thread(
            RankingCall,
            self._maker,
            queries,
            documents,
            instruction=instruction,
            truncate=truncate,
            options=options,
        )
        await self._run_pooled(call.answers)
        return call

    async def _run_pooled(self, answers: Mapping[str, Answer]) -> None:
        left = iter(answers.items())
        while part := dict(itertools.islice(left, _TEXTS_AT_ONCE)):
            async for _ in self.grow(part):
                pass

    async def reset_prefix_cache(self) -> bool:
        """Evict every token that no running request needs; return True if none is left."""
        await self.start()
        await self._client.ask(FlushCache())
        return self._client.stats.num_live_slots == 0

    async def _run(
        self,
        read: list[ReadPrompt],
        samplings: list[SamplingParams],
        grammars: list[Grammar | None],
        options: CallOptions,
    ) -> list[RequestOutput]:
        answers: dict[str, Answer] = {}
        for index, each in enumerate(zip(read, samplings, grammars, strict=True)):
            with naming_index(index, len(read)):
                request = self._maker.request(*each, options)
                answers[request.request_id] = self._maker.answer(request, each[0])
        async for _ in self.grow(answers):
            pass
        return [
            make_output(answer, prompt.text)
            for answer, prompt in zip(answers.values(), read, strict=True)
        ]

    async def grow(self, answers: Mapping[str, Answer]) -> AsyncGenerator[TokenDelta, None]:
        """Run the requests of `answers`; yield each delta once its answer has grown by it."""
        arrived: asyncio.Queue[TokenDelta] = asyncio.Queue()
        submissions = {}
        num_left = len(answers)
        try:
            for request_id, answer in answers.items():
                submissions[request_id] = self._client.submit(answer.request, arrived.put_nowait)
            while num_left:
                delta = await arrived.get()
                answer = answers[delta.request_id]
                if answer.push(delta):
                    submissions[delta.request_id].abort(delta.index)
                num_left -= answer.is_over
                yield delta
        finally:
            for submission in submissions.values():
                submission.close()
