"""`LLM`: a model in this process.

Takes prompts or conversations and returns answers in order; batching and prefix sharing are
automatic. Used by programs, by the command line and by the benchmarks.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from yaie.outputs import CompletionOutput, RequestOutput, StreamPiece
from yaie.prompts import Message, Prompt
from yaie.python.prompt_methods import PromptMethods
from yaie.python.request_maker import CallOptions
from yaie.request_arguments import GrammarLike, grammars_of, samplings_of
from yaie.types import SamplingParams

__all__ = ["LLM", "CompletionOutput", "RequestOutput", "StreamPiece"]


class LLM(PromptMethods):
    """One loaded model. Free it with `close()` or use it as a context manager.

    `model` is "builtin", a folder, a GGUF file or a Hugging Face repository id; `tokenizer` is a
    folder or a loaded one, in place of the model's own. `settings` are the fields of `EngineConfig`
    (`dtype`, `num_slots`, `max_model_len`, ...); they replace those of a whole `config`.

    Several threads may call the same `LLM` at once: their requests run in the same batches. The
    waiting threads compute the steps, with the help of the kernel library's and torch's threads,
    so requests advance only while a caller waits. After the first load of a model on a CPU a
    thread writes its packed weights to disk; `close()` cuts that short. Ctrl-C ends the requests of
    the interrupted call after the step in progress, and the `LLM` stays usable.

    Raises `StartupError`: `ConfigError`, `ModelNotFound`, `ModelUnsupported`, `NotEnoughMemory`.
    """

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
        read = self._maker.read_prompts(prompts)
        samplings = samplings_of(sampling_params, len(read), self._maker.default_sampling)
        grammars = grammars_of(grammar, len(read))
        return self._run(read, samplings, grammars, CallOptions(cache_salt, priority), progress)

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
        read = self._maker.read_conversations(messages, tools, chat_template_kwargs)
        samplings = samplings_of(sampling_params, len(read), self._maker.chat_sampling)
        grammars = grammars_of(grammar, len(read))
        return self._run(read, samplings, grammars, CallOptions(cache_salt, priority), progress)

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
        read, default = self._maker.read_either(prompt, tools, chat_template_kwargs)
        (sampling,) = samplings_of(sampling_params, 1, default)
        (following,) = grammars_of(grammar, 1)
        request = self._request(read, sampling, following, CallOptions(cache_salt, priority))
        return self._stream(self._maker.answer(request, read))
