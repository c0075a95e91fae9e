"""`NextTurnPrefill`: renders the prompts of next turns while the server is idle.

An idle engine prefills them, so the next turn finds the conversation in the cache as its template
renders it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from yaie.base.errors import YaieError
from yaie.base.types import ExpectedPrompt
from yaie.client.engine_client import EngineClient
from yaie.server.requests.call import EndedTurn

logger = logging.getLogger(__name__)

MAX_WAITING = 64  # ended turns; the newest replaces the oldest
MAX_WAITING_TOKENS = 2**20  # total over their prompts
MAX_WAITING_BYTES = 32 * 1024**2  # of their conversations; a template may show a part of one
PAUSE_S = 0.02  # without a request: a program's next turn arrives sooner


class NextTurnPrefill:
    """Ended turns of all models, oldest first, and the thread that renders them.

    `is_idle`: true when all requests have been answered. `is_on`: false ignores all turns.
    """

    def __init__(self, is_idle: Callable[[], bool], *, is_on: bool = True) -> None:
        self._is_idle = is_idle
        self._is_on = is_on
        self._waiting: deque[tuple[EngineClient, EndedTurn, int]] = deque()
        self._num_tokens = self._num_bytes = 0
        self._is_rendering = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="yaie-next")
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._waiting) + self._is_rendering

    def add(self, client: EngineClient, ended: EndedTurn | None, num_bytes: int) -> None:
        """Queue a turn, if it is one; drop the oldest ones if there are too many.

        A turn that is too large alone drops none. `num_bytes`: of its conversation.
        """
        if ended is None or not self._is_on:
            return
        num_tokens = len(ended.request.prompt_token_ids)
        if num_tokens > MAX_WAITING_TOKENS or num_bytes > MAX_WAITING_BYTES:
            return
        self._waiting.append((client, ended, num_bytes))
        self._num_tokens += num_tokens
        self._num_bytes += num_bytes
        while (
            len(self._waiting) > MAX_WAITING
            or self._num_tokens > MAX_WAITING_TOKENS
            or self._num_bytes > MAX_WAITING_BYTES
        ):
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
        client, ended, num_bytes = self._waiting.popleft()
        self._num_tokens -= len(ended.request.prompt_token_ids)
        self._num_bytes -= num_bytes
        return client, ended

    async def _render(self) -> None:
        try:
            await asyncio.sleep(PAUSE_S)
            while self._waiting and self._is_idle():
                client, ended = self._take()
                self._is_rendering = True
                for prompt in await self._prompts(ended):
                    client.expect_prompt(prompt)
                self._is_rendering = False
        finally:
            self._task, self._is_rendering = None, False

    async def _prompts(self, ended: EndedTurn) -> list[ExpectedPrompt]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, ended.prompts)
        except YaieError as error:  # a template may refuse the answer, or the next one is too long
            logger.debug("the next turn was not rendered: %s", error.message)
        except Exception:
            logger.exception("the next turn could not be rendered")
        return []
