"""`LLM`: a model in this process.

Takes prompts or conversations and returns answers in order; batching and prefix sharing are
automatic. Used by programs, by the command line and by the benchmarks.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from yaie.client.core import load_engine_core
from yaie.client.local import LocalClient
from yaie.config import BUILTIN_MODEL, ENGINE_SETTINGS, LARGEST_COUNT, EngineConfig
from yaie.engine.validation import validate_request
from yaie.errors import (
    ConfigError,
    EngineUnavailable,
    InvalidRequest,
    RequestFailed,
    nearest_name_hint,
)
from yaie.models.folder import open_folder
from yaie.outputs import CompletionOutput, RequestOutput, StreamPiece, make_output, take_piece
from yaie.progress import progress_bar
from yaie.prompts import (
    Message,
    Prompt,
    PromptReader,
    ReadPrompt,
    is_conversation,
    list_prompts,
    naming_index,
)
from yaie.request_arguments import GrammarLike, grammars_of, samplings_of
from yaie.stats import EngineStats
from yaie.text.answer import Answer
from yaie.text.tokenizer import Tokenizer, load_tokenizer
from yaie.types import EngineInfo, GenerationRequest, Grammar, SamplingParams, TokenDelta

__all__ = ["LLM", "CompletionOutput", "RequestOutput", "StreamPiece"]

logger = logging.getLogger(__name__)

UNBOUNDED_QUEUE = LARGEST_COUNT  # the caller holds its list of prompts in any case


@dataclass(frozen=True, slots=True)
class _Common:
    """Settings shared by the requests of one call."""

    cache_salt: str
    priority: int


class LLM:
    """One loaded model. Free it with `close()` or use it as a context manager.

    `model` is "builtin", a folder, a GGUF file or a Hugging Face repository id; `settings` are the
    fields of `EngineConfig` (`dtype`, `num_slots`, `max_model_len`, ...); `tokenizer` is a folder
    or a loaded one, in place of the model's own.

    Several threads may call the same `LLM` at once: their requests run in the same batches. The
    waiting threads compute the steps, with the help of the kernel library's and torch's threads,
    so requests advance only while a caller waits. After the first load of a model on a CPU a
    thread writes its packed weights to disk; `close()` cuts that short. Ctrl-C ends the requests of
    the interrupted call after the step in progress, and the `LLM` stays usable.

    Raises `StartupError`: `ConfigError`, `ModelNotFound`, `ModelUnsupported`, `NotEnoughMemory`.
    """

    def __init__(
        self,
        model: str | PathLike[str] = BUILTIN_MODEL,
        *,
        tokenizer: str | PathLike[str] | Tokenizer | None = None,
        **settings: Any,
    ) -> None:
        named = {"model": _name_of(model)}
        config = _engine_config({"max_waiting": UNBOUNDED_QUEUE, **settings, **named})
        if not isinstance(tokenizer, Tokenizer):  # first: it fails sooner than the weights
            folder = open_folder(config.model)  # a refused model may lack a tokenizer
            tokenizer = load_tokenizer(Path(tokenizer or folder.path))
        self._tokenizer = tokenizer
        self._reader = PromptReader(tokenizer, config.tool_call_parser)
        self._config = config
        core = load_engine_core(config)
        core.use_tokenizer(tokenizer)
        self._info = core.info
        self._client = LocalClient(core)
        self._is_open = True
        self._numbers = itertools.count()
        # The loader has dropped recommended values out of a request's range.
        self._default_sampling = SamplingParams(**core.info.default_sampling)  # type: ignore[arg-type]

    @property
    def info(self) -> EngineInfo:
        """Properties of the loaded model: architecture, dtype, device, context, pool, ..."""
        return self._info

    @property
    def stats(self) -> EngineStats:
        """Counters since the start and gauges of now."""
        return self._client.stats

    @property
    def default_sampling(self) -> SamplingParams:
        """Parameters of calls without `SamplingParams`: the model's recommendation, if any."""
        return self._default_sampling

    def get_tokenizer(self) -> Tokenizer:
        """Return the tokenizer, for counting tokens and for prompts of token ids."""
        return self._tokenizer

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        grammar: GrammarLike | Sequence[GrammarLike | None] | None = None,
        progress: bool = True,
        cache_salt: str = "",
        priority: int = 0,
    ) -> list[RequestOutput]:
        """Continue each prompt; return one output per prompt, in order.

        A prompt is text, a list of token ids, or a mapping with the key "prompt" or
        "prompt_token_ids"; a single one returns a list of one. `sampling_params` is one for all or
        one for each; so is `grammar`, which an answer follows: a `Grammar`, a JSON schema, or a
        pydantic model. `progress` shows a bar for lists of 8 or more on a terminal.

        Every prompt is checked before any runs: `InvalidRequest` names the index of the first
        wrong one. If the engine fails on a request, its output has the finish reason "error" and
        the cause in `error`; the others are not affected.
        """
        self._require_open()
        listed = list_prompts(prompts)
        read = []
        for index, prompt in enumerate(listed):
            with naming_index(index, len(listed)):
                read.append(self._reader.read_prompt(prompt))
        samplings = samplings_of(sampling_params, len(listed), self._default_sampling)
        grammars = grammars_of(grammar, len(listed))
        return self._run(read, samplings, grammars, _Common(cache_salt, priority), progress)

    def chat(
        self,
        messages: Sequence[Message] | Sequence[Sequence[Message]],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        grammar: GrammarLike | Sequence[GrammarLike | None] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        progress: bool = True,
        cache_salt: str = "",
        priority: int = 0,
    ) -> list[RequestOutput]:
        """Answer a conversation, or each of a list of them, through the model's chat template.

        Messages are in OpenAI's form. Without `sampling_params` the model decides about the length
        of an answer. Its `text` has no markup of reasoning or, with `tools`, of calls: these are
        `reasoning` and `tool_calls`. A grammar holds behind the reasoning, and for an answer
        without calls. Raises as `generate` does.
        """
        self._require_open()
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
                read.append(
                    self._reader.read_conversation(conversation, tools, chat_template_kwargs)
                )
        samplings = samplings_of(sampling_params, len(listed), self._chat_sampling())
        grammars = grammars_of(grammar, len(listed))
        return self._run(read, samplings, grammars, _Common(cache_salt, priority), progress)

    def stream(
        self,
        prompt: Prompt | Sequence[Message],
        sampling_params: SamplingParams | None = None,
        *,
        grammar: GrammarLike | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        cache_salt: str = "",
        priority: int = 0,
    ) -> Generator[StreamPiece, None, None]:
        """Continue one prompt or conversation; yield the text of each step as it comes.

        With `n` > 1 the pieces of all sequences are interleaved; `index` is their sequence.
        Leaving the loop ends the request. Raises `InvalidRequest` at once for a wrong prompt, and
        `RequestFailed` while iterating if the engine fails on it.
        """
        self._require_open()
        if is_conversation(prompt):
            read = self._reader.read_conversation(prompt, tools, chat_template_kwargs)
            default = self._chat_sampling()
        else:
            if _holds_prompts(prompt):
                raise InvalidRequest(
                    "stream takes one prompt or one conversation of messages with a role;"
                    " for a list of them call generate or chat",
                    param="prompt",
                )
            read = self._reader.read_prompt(prompt)
            default = self._default_sampling
        (sampling,) = samplings_of(sampling_params, 1, default)
        (following,) = grammars_of(grammar, 1)
        request = self._request(read, sampling, following, _Common(cache_salt, priority))
        return self._stream(Answer(request, self._tokenizer, read.make_parser))

    def wait_until_saved(self, timeout_s: float | None = None) -> bool:
        """Wait until the packed weights of a model's first start are on disk, or failed.

        A program that ends sooner packs them again at its next start. Returns True at once if
        there is nothing to write, False if writing goes on after `timeout_s`.
        """
        return self._client.wait_until_saved(timeout_s)

    def close(self) -> None:
        """Free the model and its memory; later calls raise `EngineUnavailable`.

        Waits for a step in progress. In a signal handler during a step of the same thread it
        returns at once, and the model is freed at the end of that step.
        """
        self._is_open = False
        self._client.close()

    def __repr__(self) -> str:
        info = self._info
        closed = "" if self._is_open else ", closed"
        return (
            f"LLM({info.model!r}, dtype={info.dtype!r}, device={info.device!r}, "
            f"num_slots={info.num_slots}{closed})"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _require_open(self) -> None:
        if not self._is_open:
            raise EngineUnavailable("this LLM is closed; make a new one to go on")

    def _chat_sampling(self) -> SamplingParams:
        return replace(self._default_sampling, max_tokens=None)

    def _request(
        self, read: ReadPrompt, sampling: SamplingParams, grammar: Grammar | None, common: _Common
    ) -> GenerationRequest:
        """Return a request that the engine will take. Raises `InvalidRequest`."""
        grammar = None if grammar is None else read.shape(grammar)
        request = GenerationRequest(
            request_id=f"llm-{next(self._numbers)}",
            prompt_token_ids=read.token_ids,
            sampling=sampling,
            grammar=grammar,
            cache_salt=common.cache_salt,
            priority=common.priority,
        )
        validate_request(request, self._info, self._config.max_running)
        if grammar is not None:
            self._client.check_grammar(grammar)
        return request

    def _run(
        self,
        read: list[ReadPrompt],
        samplings: list[SamplingParams],
        grammars: list[Grammar | None],
        common: _Common,
        progress: bool,
    ) -> list[RequestOutput]:
        answers: dict[str, Answer] = {}
        for index, each in enumerate(zip(read, samplings, grammars, strict=True)):
            with naming_index(index, len(read)):
                request = self._request(*each, common)
                answer = Answer(request, self._tokenizer, each[0].make_parser)
            answers[request.request_id] = answer
        num_done = 0
        with (
            contextlib.closing(self._grow(answers)) as deltas,
            progress_bar(len(read), progress) as show_done,
        ):
            for delta in deltas:
                if answers[delta.request_id].is_over:
                    num_done += 1
                    show_done(num_done)
        outputs = [
            make_output(answer, prompt.text)
            for answer, prompt in zip(answers.values(), read, strict=True)
        ]
        for index, output in enumerate(outputs):
            if output.error is not None:
                logger.warning("prompt %d failed in the engine: %s", index, output.error)
        return outputs

    def _stream(self, answer: Answer) -> Generator[StreamPiece, None, None]:
        with contextlib.closing(self._grow({answer.request.request_id: answer})) as deltas:
            for delta in deltas:
                if delta.error is not None:
                    raise RequestFailed(delta.error.message, code=delta.error.code)
                piece = take_piece(answer, delta.index)
                if piece.token_ids or piece.text or piece.finish_reason or piece.reasoning:
                    yield piece

    def _grow(self, answers: Mapping[str, Answer]) -> Generator[TokenDelta, None, None]:
        """Run the requests of `answers`; yield each delta once its answer has grown by it.

        Closing the generator ends within one step what still runs.
        """
        arrived: deque[TokenDelta] = deque()
        submissions = {
            request_id: self._client.prepare(answer.request, arrived.append)
            for request_id, answer in answers.items()
        }
        num_left = len(answers)
        try:
            self._client.send(list(submissions.values()))
            while num_left:
                self._client.wait_until(lambda: arrived)
                while arrived:
                    delta = arrived.popleft()
                    answer = answers[delta.request_id]
                    if answer.push(delta):
                        submissions[delta.request_id].abort(delta.index)
                    num_left -= answer.is_over
                    yield delta
        finally:
            self._client.close_submissions(list(submissions.values()))


def _engine_config(settings: dict[str, Any]) -> EngineConfig:
    """Return the settings, checked.

    Raises `ConfigError` for an unknown name, a wrong type or a value out of range.
    """
    for name in settings:
        if name not in ENGINE_SETTINGS:
            hint = nearest_name_hint(name, ENGINE_SETTINGS)
            raise ConfigError(f"{name} is not a setting of the engine{hint}", param=name)
    return EngineConfig(**settings)


def _name_of(model: object) -> str:
    if not isinstance(model, str | PathLike):
        raise ConfigError(
            f"model must be a name or a folder, not {type(model).__name__}", param="model"
        )
    return str(os.fspath(model))


def _holds_prompts(prompt: object) -> bool:
    """Return True for a list of prompts or conversations, False for one of token ids."""
    if not isinstance(prompt, list | tuple):
        return False
    return any(isinstance(item, str | list | tuple | Mapping) for item in prompt)
