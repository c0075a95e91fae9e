"""Engines under other names: `InferenceEngine` of mini-vLLM, and EasyDeL's adapter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from os import PathLike
from typing import Any, Protocol

from yaie.api.async_llm import AsyncLLM
from yaie.api.llm import LLM
from yaie.api.prompt_kinds import Message, OnePrompt, Sampling, is_list_of_prompts, sampling_of
from yaie.api.prompt_output import Gathered, ReturnSample
from yaie.base.settings import BUILTIN_MODEL, Device
from yaie.text.answer import Answer
from yaie.text.tokenizer import Tokenizer


class InferenceEngineAdapter(Protocol):
    """Interface for any engine behind a server: texts in, samples out."""

    @property
    def model_name(self) -> str:
        """Name under which the model is served."""

    @property
    def processor(self) -> Any:
        """The tokenizer."""

    async def generate(
        self, prompts: Any, sampling_params: Any = None, stream: bool = False
    ) -> list[ReturnSample] | AsyncGenerator[ReturnSample, None]:
        """Answer prompts: return a list of samples, or with `stream` yield pieces as they come."""

    async def count_tokens(self, content: str | Sequence[Message]) -> int:
        """Return the number of prompt tokens for a text or a conversation."""

    def get_model_info(self) -> dict[str, Any]:
        """Return the model and its limits as plain values."""


class EngineAdapter:
    """`InferenceEngineAdapter` over an `AsyncLLM`, which it starts at its first call."""

    def __init__(self, engine: AsyncLLM) -> None:
        self._engine = engine

    @property
    def model_name(self) -> str:
        """Name under which the model is served. Raises `EngineUnavailable` before the start."""
        return self._engine.model_name

    @property
    def processor(self) -> Tokenizer:
        """The tokenizer. Raises `EngineUnavailable` before the start."""
        return self._engine.processor

    async def generate(
        self,
        prompts: OnePrompt | Sequence[OnePrompt],
        sampling_params: Sampling = None,
        stream: bool = False,
    ) -> list[ReturnSample] | AsyncGenerator[ReturnSample, None]:
        """Answer one prompt or conversation, or a list of them.

        Returns one sample per prompt, in order; with `stream` an asynchronous generator of pieces,
        each with the `index` of its prompt. The last piece of a prompt has a `finish_reason`, and
        `error` if the engine failed on it. Raises `TypeError` or `ValueError` for a wrong prompt.
        """
        await self._engine.start()
        sampling = sampling_of(sampling_params)
        listed = list(prompts) if is_list_of_prompts(prompts) else [prompts]
        answers = await asyncio.to_thread(
            lambda: [self._engine.open_answer(prompt, sampling) for prompt in listed]
        )
        pieces = self._pieces(answers)
        if stream:
            return pieces
        last: dict[int, ReturnSample] = {}
        async for piece in pieces:
            last[piece.index] = piece
        return [
            last[index].model_copy(update={"text": last[index].accumulated_text})
            for index in range(len(listed))
        ]

    async def count_tokens(self, content: str | Sequence[Message]) -> int:
        """Return the number of prompt tokens of a text or a conversation."""
        await self._engine.start()
        return await asyncio.to_thread(self._engine.count_tokens, content)

    def get_model_info(self) -> dict[str, Any]:
        """Return the model and its limits. Raises `EngineUnavailable` before the start."""
        return self._engine.get_model_info()

    async def _pieces(self, answers: list[Answer]) -> AsyncGenerator[ReturnSample, None]:
        by_id = {answer.request.request_id: answer for answer in answers}
        indices = {request_id: index for index, request_id in enumerate(by_id)}
        gathered = {request_id: Gathered() for request_id in by_id}
        began: dict[str, float] = {}
        deltas = self._engine.grow(by_id)
        try:
            async for delta in deltas:
                name, now = delta.request_id, time.perf_counter()
                text = gathered[name].take(by_id[name])
                elapsed_s = now - began.setdefault(name, now)
                if text or by_id[name].is_over:
                    yield gathered[name].sample(by_id[name], indices[name], text, elapsed_s)
        finally:
            await deltas.aclose()


class InferenceEngine(LLM):
    """An `LLM` whose limits have the names `max_num_seqs` and `max_num_tokens`."""

    def __init__(
        self,
        model_path: str | PathLike[str] = BUILTIN_MODEL,
        max_num_seqs: int = 256,
        max_num_tokens: int = 8192,
        device: Device = "auto",
        **settings: Any,
    ) -> None:
        """Load a model; see `LLM`.

        `max_num_seqs`: live sequences at a time. `max_num_tokens`: rows of one step.
        """
        super().__init__(
            model_path,
            max_running=max_num_seqs,
            max_step_rows=max_num_tokens,
            device=device,
            **settings,
        )
