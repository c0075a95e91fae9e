"""`RequestMaker`: prompts and conversations as requests that the engine will take.

Shared by `LLM` and `AsyncLLM`, which differ in the way that requests travel.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from yaie.api.prompt_kinds import (
    Message,
    Prompt,
    is_conversation,
    list_prompts,
    naming_index,
)
from yaie.api.prompts import NO_CHAT_OPTIONS, ChatOptions, PromptReader, ReadPrompt
from yaie.base.adapter_info import unknown_adapter
from yaie.base.embedding_info import Pooling
from yaie.base.errors import InvalidRequest
from yaie.base.settings import EngineConfig
from yaie.base.types import EngineInfo, GenerationRequest, Grammar, SamplingParams
from yaie.engine.grammar.schema_keywords import check_schema
from yaie.engine.grammar.structured_outputs import read_structured
from yaie.engine.validation import validate_request
from yaie.text.answer import Answer
from yaie.text.tokenizer import Tokenizer

Tools = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Settings shared by the requests of one call."""

    cache_salt: str = ""
    priority: int = 0
    lora: str = ""  # name of a loaded adapter


NO_OPTIONS = CallOptions()


class RequestMaker:
    """Turns prompts into requests for one engine. Any thread may call it."""

    def __init__(
        self, tokenizer: Tokenizer, info: EngineInfo, config: EngineConfig, prefix: str
    ) -> None:
        self.tokenizer = tokenizer
        self.reader = PromptReader(
            tokenizer, config.tool_call_parser, trust_markers=config.trust_markers
        )
        self.info = info
        self.adapters = {each.name: each for each in info.adapters}  # that are loaded
        self._max_running = config.max_running
        self._prefix = prefix  # request id prefix
        self._numbers = itertools.count()
        # The loader has dropped recommended values out of a request's range.
        self.default_sampling = SamplingParams(**info.default_sampling)  # type: ignore[arg-type]
        self.chat_sampling = replace(self.default_sampling, max_tokens=None)

    def read_prompts(self, prompts: Prompt | Sequence[Prompt]) -> list[ReadPrompt]:
        """Read one prompt or a list. `InvalidRequest` names the index of the first wrong one."""
        listed = list_prompts(prompts)
        read = []
        for index, prompt in enumerate(listed):
            with naming_index(index, len(listed)):
                read.append(self.reader.read_prompt(prompt))
        return read

    def read_conversations(
        self,
        messages: Sequence[Message] | Sequence[Sequence[Message]],
        options: ChatOptions,
    ) -> list[ReadPrompt]:
        """Read one conversation or a list. Raises as `read_prompts` does."""
        if isinstance(messages, str):
            raise InvalidRequest(
                "chat takes a list of messages, not text; give [{'role': 'user', 'content': text}],"
                " or call generate(text)",
                param="messages",
            )
        listed = [messages] if is_conversation(messages) else list(messages)
        read = []
        for index, conversation in enumerate(listed):
            with naming_index(index, len(listed)):
                read.append(self.reader.read_conversation(conversation, options))
        return read

    def read_either(
        self,
        prompt: Prompt | Sequence[Message],
        options: ChatOptions = NO_CHAT_OPTIONS,
    ) -> tuple[ReadPrompt, SamplingParams]:
        """Read one prompt or one conversation; return it with its default parameters."""
        if is_conversation(prompt):
            read = self.reader.read_conversation(prompt, options)
            return read, self.chat_sampling
        if _holds_prompts(prompt):
            raise InvalidRequest(
                "stream takes one prompt or one conversation of messages with a role;"
                " for a list of them call generate or chat",
                param="prompt",
            )
        return self.reader.read_prompt(prompt), self.default_sampling

    def request(
        self,
        read: ReadPrompt,
        sampling: SamplingParams,
        grammar: Grammar | None = None,
        options: CallOptions = NO_OPTIONS,
    ) -> GenerationRequest:
        """Return a request that fits the engine. Raises `InvalidRequest`."""
        own = copy(sampling)  # the caller may change `sampling` while the request runs
        if own.structured_outputs is not None:
            if grammar is not None:
                raise InvalidRequest(
                    "grammar and structured_outputs both constrain the answer; give one",
                    param="structured_outputs",
                )
            grammar = read_structured(own.structured_outputs, "structured_outputs")
            own.structured_outputs = None
        request = GenerationRequest(
            request_id=f"{self._prefix}-{next(self._numbers)}",
            prompt_token_ids=read.token_ids,
            sampling=own,
            grammar=None if grammar is None else read.shape(check_schema(grammar)),
            cache_salt=options.cache_salt,
            priority=options.priority,
            adapter=options.lora,
        )
        self._check(request)
        return request

    def pooled(
        self, read: ReadPrompt, pooling: Pooling, options: CallOptions = NO_OPTIONS
    ) -> GenerationRequest:
        """Return a request for a pooled row that fits the engine. Raises `InvalidRequest`."""
        request = GenerationRequest(
            request_id=f"{self._prefix}-{next(self._numbers)}",
            prompt_token_ids=read.token_ids,
            pooling=pooling,
            cache_salt=options.cache_salt,
            priority=options.priority,
            adapter=options.lora,
        )
        self._check(request)
        return request

    def _check(self, request: GenerationRequest) -> None:
        if request.adapter and request.adapter not in self.adapters:
            raise unknown_adapter(request.adapter, list(self.adapters))
        validate_request(request, self.info, self._max_running)

    def answer(self, request: GenerationRequest, read: ReadPrompt) -> Answer:
        """Return the empty answer to `request`."""
        return Answer(request, self.tokenizer, read.make_parser)


def _holds_prompts(prompt: object) -> bool:
    """Return True for a list of prompts or conversations, False for a list of token ids."""
    if not isinstance(prompt, list | tuple):
        return False
    return any(isinstance(item, str | list | tuple | Mapping) for item in prompt)
