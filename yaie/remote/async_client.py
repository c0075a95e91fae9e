"""`AsyncClient`: `Client` for an event loop. Its requests run in threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from typing import Any, Self, TypeVar

from yaie.api.embedding import Embeddings, Texts, join
from yaie.api.in_thread import in_thread
from yaie.api.outputs import RequestOutput, StreamPiece
from yaie.api.prompt_kinds import GrammarLike, Message, Prompt
from yaie.api.ranking import Ranking, Scores
from yaie.remote.client import Client, Grammars, Messages, one_question
from yaie.remote.request_bodies import Sampling, chat_questions, text_questions
from yaie.remote.transport import Exchange

Result = TypeVar("Result")


class AsyncClient:
    """A server and one of its models, for asyncio; takes the arguments of `Client`.

    At most `max_concurrent` requests run at a time, over all calls; further requests wait.
    Cancelling a task, or closing a stream, closes the connection, which aborts the request on the
    server.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        model: str | None = None,
        *,
        timeout_s: float = 600.0,
        max_retries: int = 3,
        max_concurrent: int = 16,
    ) -> None:
        self._client = Client(
            url,
            api_key,
            model,
            timeout_s=timeout_s,
            max_retries=max_retries,
            max_concurrent=max_concurrent,
        )
        self.url = self._client.url
        self._places = asyncio.Semaphore(max_concurrent)

    async def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        sampling_params: Sampling | Sequence[Sampling] = None,
        *,
        grammar: Grammars = None,
        **fields: Any,
    ) -> list[RequestOutput]:
        """Continue each prompt, as `Client.generate` does."""
        questions = text_questions(prompts, sampling_params, grammar, fields)
        return await self._each(self._client.numbered(questions))

    async def chat(
        self,
        messages: Messages | Sequence[Messages],
        sampling_params: Sampling | Sequence[Sampling] = None,
        *,
        grammar: Grammars = None,
        **fields: Any,
    ) -> list[RequestOutput]:
        """Answer one conversation, or each in a list, as `Client.chat` does."""
        questions = chat_questions(messages, sampling_params, grammar, fields)
        return await self._each(self._client.numbered(questions))

    async def stream(
        self,
        prompt: Prompt | Sequence[Message],
        sampling_params: Sampling = None,
        *,
        grammar: GrammarLike | None = None,
        **fields: Any,
    ) -> AsyncGenerator[StreamPiece, None]:
        """Continue one prompt or conversation; yield its pieces. Raises as `Client.stream` does."""
        question, call = one_question(prompt, sampling_params, grammar, fields), Exchange()

        def run(_: Callable[[], bool]) -> Generator[StreamPiece, None, None]:
            yield from self._client.pieces(question, call)

        async with self._places:
            pieces = in_thread(run, call.cancel)
            try:
                async for piece in pieces:
                    yield piece
            finally:
                await pieces.aclose()

    async def embed(
        self, texts: Texts, *, dimensions: int | None = None, **fields: Any
    ) -> Embeddings:
        """Return the vectors of texts, as `Client.embed` does."""
        works = self._client.embedding_works(texts, {"dimensions": dimensions, **fields})
        return join(await self._each(works))

    async def rerank(
        self, query: str, documents: Sequence[str], *, top_n: int | None = None, **fields: Any
    ) -> Ranking:
        """Return the best documents for a query, as `Client.rerank` does."""
        return await self._one(
            lambda call: self._client.rerank(query, documents, top_n=top_n, call=call, **fields)
        )

    async def score(
        self, text_1: str | Sequence[str], text_2: str | Sequence[str], **fields: Any
    ) -> Scores:
        """Return the scores of pairs of texts, as `Client.score` does."""
        return await self._one(lambda call: self._client.score(text_1, text_2, call=call, **fields))

    async def count_tokens(
        self,
        content: Messages | Prompt,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> int:
        """Return the number of prompt tokens that a text or a conversation has."""
        return await self._one(
            lambda call: self._client.count_tokens(content, tools=tools, call=call)
        )

    async def explain(
        self,
        content: Messages | Prompt,
        *,
        compare_with: Messages | Prompt | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Return how many tokens of a prompt are cached, as `Client.explain` does."""
        return await self._one(
            lambda call: self._client.explain(
                content, compare_with=compare_with, call=call, **fields
            )
        )

    async def models(self) -> list[str]:
        """Return the names of the server's models."""
        return await self._one(lambda call: self._client.models(call=call))

    async def health(self) -> dict[str, Any]:
        """Return the server's state and load, also while it refuses requests."""
        return await self._one(lambda call: self._client.health(call=call))

    async def close(self) -> None:
        """Close the connections that are kept alive."""
        self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _one(self, work: Callable[[Exchange], Result]) -> Result:
        """Return the result of a call in a thread; cancelling the task cancels it."""
        call = Exchange()
        results: list[Result] = []

        def run(_: Callable[[], bool]) -> Generator[None, None, None]:
            results.append(work(call))
            yield

        async with self._places:
            async for _ in in_thread(run, call.cancel):
                pass
        return results[0]

    async def _each(self, works: Sequence[Callable[[Exchange], Result]]) -> list[Result]:
        """Return the results of several calls; a failure cancels the remaining calls."""
        tasks = [asyncio.ensure_future(self._one(work)) for work in works]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
