"""Prompts answered at the same time, with their events as they come and a limit on their number."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import Any, Literal, Protocol

from yaie.api.in_thread import in_thread
from yaie.api.prompt_kinds import WrongValue, processing_failed
from yaie.api.prompt_output import Gathered, PromptOutput
from yaie.base.errors import InvalidRequest, YaieError
from yaie.base.types import TokenDelta
from yaie.text.answer import Answer

logger = logging.getLogger(__name__)

Kind = Literal["text", "error", "final"]
PromptEvent = tuple[int, Kind, Any]
Progress = Callable[[int, int], object]


class Grow(Protocol):
    """Runs requests and grows their answers; see `LocalEngine`."""

    def __call__(
        self, answers: Mapping[str, Answer], limit: int | None, is_stopped: Callable[[], bool]
    ) -> Generator[TokenDelta, None, None]:
        """Yield each delta once its answer has grown by it."""


def check_arguments(prompts: object, limit: object, progress_callback: object) -> None:
    """Raise `WrongValue` for arguments that no prompt could be run with."""
    if not isinstance(prompts, Sequence) or isinstance(prompts, str | bytes):
        raise WrongValue(
            f"prompts must be a list of prompts or conversations, got {type(prompts).__name__}",
            param="prompts",
        )
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise WrongValue(
            f"max_concurrent_requests must be a whole number, got {limit!r:.40}",
            param="max_concurrent_requests",
        )
    if progress_callback is not None and not callable(progress_callback):
        raise WrongValue(
            "progress_callback must be a function of two numbers: completed prompts and total "
            "prompts",
            param="progress_callback",
        )


class ConcurrentPrompts:
    """One call: its prompts, by the functions of its engine."""

    def __init__(
        self,
        prompts: Sequence[Any],
        limit: int,
        progress_callback: Progress | None,
        *,
        open_answer: Callable[[Any], Answer],
        grow: Grow,
    ) -> None:
        self._prompts = prompts
        self._limit = max(1, limit)  # 0 or less: one at a time
        self._progress_callback = progress_callback
        self._open_answer = open_answer
        self._grow = grow
        self._num_done = 0

    async def results(self) -> list[PromptOutput]:
        """Return one output per prompt, in order; a fault is in the output of its prompt."""
        outputs = [PromptOutput()] * len(self._prompts)
        async for index, kind, data in self._watch():
            if kind != "text":
                outputs[index] = data
        return outputs

    async def stream(self) -> AsyncGenerator[PromptEvent, None]:
        """Yield `(index, "text", str)` and, last of each prompt, "final" or "error"."""
        async for index, kind, data in self._watch():
            yield index, kind, data.error if kind == "error" else data

    async def _watch(self) -> AsyncGenerator[PromptEvent, None]:
        events = in_thread(self._events)
        try:
            async for event in events:
                if event[1] != "text":
                    self._report()
                yield event
        except YaieError as error:
            raise processing_failed(error) from error
        finally:
            await events.aclose()

    def _report(self) -> None:
        self._num_done += 1
        if self._progress_callback is None:
            return
        try:
            self._progress_callback(self._num_done, len(self._prompts))
        except Exception:  # the caller's error: its prompts continue
            logger.exception("progress_callback failed; the prompts continue")

    def _events(self, is_stopped: Callable[[], bool]) -> Generator[PromptEvent, None, None]:
        answers: dict[str, Answer] = {}
        indices: dict[str, int] = {}
        for index, prompt in enumerate(self._prompts):
            try:
                answer = self._open_answer(prompt)
            except InvalidRequest as error:
                yield index, "error", PromptOutput.refused(error.message)
                continue
            answers[answer.request.request_id] = answer
            indices[answer.request.request_id] = index
        # Neighbours in this order share the longest prefixes: they run close to each other.
        ordered = sorted(answers.items(), key=lambda each: each[1].request.prompt_token_ids)
        gathered = {request_id: Gathered() for request_id in answers}
        with closing(self._grow(dict(ordered), self._limit, is_stopped)) as deltas:
            for delta in deltas:
                index, growth = indices[delta.request_id], gathered[delta.request_id]
                answer = answers[delta.request_id]
                if text := growth.take(answer):
                    yield index, "text", text
                if answer.is_over:
                    output = growth.output(answer)
                    yield index, "final" if output.error is None else "error", output
