"""`PromptMethods`: prompts, lists and conversations in one call, with output records.

`LLM` methods with the names of EasyDeL's vInference. They also take parameters as a mapping, and
report a rejected prompt in its list position.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any, Literal, overload

from yaie.api.concurrent_prompts import (
    ConcurrentPrompts,
    Progress,
    PromptEvent,
    check_arguments,
)
from yaie.api.local_engine import LocalEngine
from yaie.api.prompt_kinds import OnePrompt, Sampling, WrongValue, is_list_of_prompts, sampling_of
from yaie.api.prompt_output import Gathered, PromptOutput
from yaie.base.types import SamplingParams
from yaie.text.answer import Answer

PromptStream = Generator[str, None, PromptOutput]


class PromptMethods(LocalEngine):
    """Prompts to `PromptOutput`s."""

    @overload
    def process_prompt(
        self, prompt: Any, sampling_params: Sampling = None, *, stream: Literal[True]
    ) -> Any: ...

    @overload
    def process_prompt(
        self, prompt: str, sampling_params: Sampling = None, stream: Literal[False] = False
    ) -> PromptOutput: ...

    @overload
    def process_prompt(
        self, prompt: Any, sampling_params: Sampling = None, stream: bool = False
    ) -> Any: ...

    def process_prompt(
        self, prompt: Any, sampling_params: Sampling = None, stream: bool = False
    ) -> Any:
        """Answer one prompt or conversation, or each in a list in one batch.

        A single prompt returns a `PromptOutput`, a list returns a list in its order. With `stream`
        they are text generators whose return value is the `PromptOutput`.

        A rejected prompt in a list has the reason in `error`; other prompts are answered. Raises
        `TypeError` for a prompt or parameters of the wrong type and for messages to a model without
        a chat template, `ValueError` for a single prompt that the engine rejects.
        """
        self._require_open()
        sampling = sampling_of(sampling_params)
        if not is_list_of_prompts(prompt):
            opened = self.open_answer(prompt, sampling)
            return self._text_stream(opened) if stream else self._outputs([opened])[0]
        answers = [self._answer_or_refusal(each, sampling) for each in prompt]
        if stream:
            return [self._text_stream(each) for each in answers]
        return self._outputs(answers)

    @overload
    async def process_prompts_concurrently(
        self,
        prompts: Sequence[OnePrompt],
        max_concurrent_requests: int,
        sampling_params: Sampling = None,
        stream: Literal[False] = False,
        progress_callback: Progress | None = None,
    ) -> list[PromptOutput]: ...

    @overload
    async def process_prompts_concurrently(
        self,
        prompts: Sequence[OnePrompt],
        max_concurrent_requests: int,
        sampling_params: Sampling = None,
        *,
        stream: Literal[True],
        progress_callback: Progress | None = None,
    ) -> AsyncGenerator[PromptEvent, None]: ...

    async def process_prompts_concurrently(
        self,
        prompts: Sequence[OnePrompt],
        max_concurrent_requests: int,
        sampling_params: Sampling = None,
        stream: bool = False,
        progress_callback: Progress | None = None,
    ) -> list[PromptOutput] | AsyncGenerator[PromptEvent, None]:
        """Answer prompts and conversations while the event loop runs.

        At most `max_concurrent_requests` run at a time; 0 or less means one.
        `progress_callback(completed, total)` runs on the event loop after each prompt; its errors
        are logged.

        Returns outputs in prompt order, with a failure's reason in `error`. With `stream` returns
        an asynchronous generator of `(index, kind, data)`: "text" with a string, and for each
        prompt "final" with its output or "error" with the reason. Cancelling the task, or closing
        the generator, ends running requests within one step.

        Raises `ValueError` for wrong arguments, `RuntimeError` if the engine fails as a whole.
        """
        self._require_open()
        check_arguments(prompts, max_concurrent_requests, progress_callback)
        sampling = sampling_of(sampling_params)
        call = ConcurrentPrompts(
            prompts,
            max_concurrent_requests,
            progress_callback,
            open_answer=lambda prompt: self.open_answer(prompt, sampling),
            grow=self._grow,
        )
        return call.stream() if stream else await call.results()

    def _answer_or_refusal(
        self, prompt: object, sampling: SamplingParams | None
    ) -> Answer | PromptOutput:
        try:
            return self.open_answer(prompt, sampling)
        except WrongValue as error:
            return PromptOutput.refused(error.message)

    def _outputs(self, answers: Sequence[Answer | PromptOutput]) -> list[PromptOutput]:
        running = {each.request.request_id: each for each in answers if isinstance(each, Answer)}
        with contextlib.closing(self._grow(running)) as deltas:
            for _ in deltas:
                pass
        return [each if isinstance(each, PromptOutput) else _whole(each) for each in answers]

    def _text_stream(self, answer: Answer | PromptOutput) -> PromptStream:
        if isinstance(answer, PromptOutput):
            return answer
        gathered = Gathered()
        with contextlib.closing(self._grow({answer.request.request_id: answer})) as deltas:
            for _ in deltas:
                if text := gathered.take(answer):
                    yield text
        return gathered.output(answer)


def _whole(answer: Answer) -> PromptOutput:
    gathered = Gathered()
    gathered.take(answer)
    return gathered.output(answer)
