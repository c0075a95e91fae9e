"""Prompts of the next turns of chats, rendered while the server is idle.

An engine computes them in its idle moments, so that the next turn finds the conversation in the
cache as its template renders it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from yaie.client.base import EngineClient
from yaie.errors import YaieError
from yaie.text.next_turn import Message, answer_message, known_prompts
from yaie.text.parts import Part
from yaie.types import ExpectedPrompt, GenerationRequest

logger = logging.getLogger(__name__)

MAX_WAITING = 64  # ended turns; the oldest is dropped for another one
MAX_WAITING_TOKENS = 2**20  # of their prompts
PAUSE_S = 0.02  # without a request: a program's next turn arrives sooner


def as_chat(parts: Sequence[Part]) -> list[Message]:
    """Return an answer as a client of chat completions sends it back."""
    return [answer_message(parts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextTurn:
    """Everything that the next turn of a chat will repeat, and the form of the answer in it."""

    messages: list[Message]
    render: Callable[[list[Message]], list[int]]  # token ids of a conversation
    sent_back: Callable[[Sequence[Part]], list[Message]] = as_chat
    names_results: bool = False  # of tools, by their names


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that has ended, with the parts of its answer."""

    turn: NextTurn
    request: GenerationRequest
    parts: Sequence[Part]

    def prompts(self) -> list[ExpectedPrompt]:
        """Return the beginnings of the next prompt. Raises what the rendering raises."""
        turn, request = self.turn, self.request
        found = known_prompts(
            turn.messages,
            turn.sent_back(self.parts),
            turn.render,
            names_results=turn.names_results,
        )
        return [
            ExpectedPrompt(
                token_ids=tuple(ids),
                tenant=request.tenant,
                owner=request.owner,
                cache_salt=request.cache_salt,
            )
            for ids in found
        ]


class NextTurns:
    """Ended turns of all models, oldest first, and the thread that renders them.

    `is_idle`: whether all requests have been answered.
    """

    def __init__(self, is_idle: Callable[[], bool]) -> None:
        self._is_idle = is_idle
        self._waiting: deque[tuple[EngineClient, EndedTurn]] = deque()
        self._num_tokens = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="yaie-next")
        self._task: asyncio.Task[None] | None = None

    def add(self, client: EngineClient, ended: EndedTurn) -> None:
        """Queue a turn; drop the oldest ones if there are too many."""
        self._waiting.append((client, ended))
        self._num_tokens += len(ended.request.prompt_token_ids)
        while len(self._waiting) > MAX_WAITING or self._num_tokens > MAX_WAITING_TOKENS:
            self._take()

    def resume(self) -> None:
        """Render the waiting turns while the server is idle."""
        if self._waiting and self._task is None:
            self._task = asyncio.create_task(self._render(), name="yaie-next-turns")

    def stop(self) -> None:
        """Drop the waiting turns and end the thread."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _take(self) -> tuple[EngineClient, EndedTurn]:
        client, ended = self._waiting.popleft()
        self._num_tokens -= len(ended.request.prompt_token_ids)
        return client, ended

    async def _render(self) -> None:
        try:
            await asyncio.sleep(PAUSE_S)
            while self._waiting and self._is_idle():
                client, ended = self._take()
                for prompt in await self._prompts(ended):
                    client.expect_prompt(prompt)
        finally:
            self._task = None

    async def _prompts(self, ended: EndedTurn) -> list[ExpectedPrompt]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, ended.prompts)
        except YaieError as error:  # a template may refuse the answer, or the next one is too long
            logger.debug("the next turn was not rendered: %s", error.message)
        except Exception:
            logger.exception("the next turn could not be rendered")
        return []
