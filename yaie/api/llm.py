"""`LLM`: a model in this process.

Takes prompts or conversations and returns answers in order; batching and prefix sharing are
automatic. Used by programs, by the command line and by the benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any, Self, Unpack

from yaie.api.fork import Fork
from yaie.api.in_thread import in_thread
from yaie.api.outputs import CompletionOutput, RequestOutput, StreamPiece
from yaie.api.persistence import SavedEngine
from yaie.api.pooled_methods import PooledMethods
from yaie.api.prompt_kinds import (
    GrammarLike,
    Message,
    Prompt,
    Sampling,
    grammars_of,
    samplings_of,
)
from yaie.api.prompt_methods import PromptMethods
from yaie.api.prompt_progress import ShowProgress
from yaie.api.prompts import ChatOptions, ReadPrompt
from yaie.api.ranked_choice import (
    Choice,
    Edge,
    best_choice,
    edges_of,
    encode_choices,
    sampling_of_edge,
)
from yaie.api.request_maker import CallOptions
from yaie.api.warmup_config import WARM_UP_SALT, WarmupConfig
from yaie.base.engine_keywords import EngineKeywords
from yaie.base.errors import RequestFailed, UnsupportedParameter
from yaie.base.types import Grammar, SamplingParams
from yaie.text.answer import Answer

__all__ = ["LLM", "CompletionOutput", "Engine", "RequestOutput", "StreamPiece"]


class LLM(PooledMethods, PromptMethods):
    """One loaded model. Free it with `close()` or use it as a context manager.

    Several threads may call the same `LLM` at once: their requests run in the same batches. The
    waiting threads compute the steps, with help from the kernel library's and torch's threads, so
    requests advance only while a caller waits. After a model's first load on a CPU, a thread writes
    its packed weights to disk; `close()` cuts that short. Ctrl-C ends the interrupted call's
    requests after the current step, and the `LLM` stays usable.
    """

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        sampling_params: Sampling | Sequence[Sampling] = None,
        *,
        grammar: GrammarLike | Sequence[GrammarLike | None] | None = None,
        progress: ShowProgress = True,
        use_tqdm: ShowProgress | None = None,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> list[RequestOutput]:
        """Continue each prompt; return one output per prompt, in order.

        A prompt is text, a list of token ids, or a mapping with the key "prompt" or
        "prompt_token_ids"; a single prompt returns a list of one. `sampling_params` is one value
        for all prompts or a list with one per prompt, and a mapping of fields is a value too; so is
        `grammar`, which constrains the output: a `Grammar`, a JSON schema, or a pydantic model.

        `progress` shows a bar on terminals and in notebooks, for lists of 8 prompts or after 2
        seconds; a function makes the bar, as `tqdm` does. `use_tqdm` is vLLM's name of it.

        Every prompt is checked before any runs: `InvalidRequest` names the index of the first wrong
        prompt. If the engine fails on a request, its output has the finish reason "error" and the
        cause in `error`; other requests continue.
        """
        self._require_open()
        read = self._maker.read_prompts(prompts)
        samplings = samplings_of(sampling_params, len(read), self._maker.default_sampling)
        grammars = grammars_of(grammar, len(read))
        shown = progress if use_tqdm is None else use_tqdm
        return self._run(read, samplings, grammars, CallOptions(cache_salt, priority, lora), shown)

    def chat(
        self,
        messages: Sequence[Message] | Sequence[Sequence[Message]],
        sampling_params: Sampling | Sequence[Sampling] = None,
        *,
        grammar: GrammarLike | Sequence[GrammarLike | None] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        chat_template: str | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        add_generation_prompt: bool | None = None,
        continue_final_message: bool = False,
        progress: ShowProgress = True,
        use_tqdm: ShowProgress | None = None,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> list[RequestOutput]:
        """Answer one conversation, or each in a list, through the model's chat template.

        Messages use OpenAI's format. Without `sampling_params` the model decides when to stop.
        `text` excludes reasoning and, with `tools`, tool-call markup: see `reasoning` and
        `tool_calls`. A grammar applies after the reasoning, and only to answers without tool calls.

        `chat_template` is the text of a template instead of the model's. With
        `continue_final_message` the answer continues the last message;
        `add_generation_prompt=False` omits the header of an answer. Raises as `generate` does.
        """
        self._require_open()
        chat = ChatOptions(
            tools,
            chat_template_kwargs,
            chat_template,
            add_generation_prompt,
            continue_final_message,
        )
        read = self._maker.read_conversations(messages, chat)
        samplings = samplings_of(sampling_params, len(read), self._maker.chat_sampling)
        grammars = grammars_of(grammar, len(read))
        shown = progress if use_tqdm is None else use_tqdm
        return self._run(read, samplings, grammars, CallOptions(cache_salt, priority, lora), shown)

    def stream(
        self,
        prompt: Prompt | Sequence[Message],
        sampling_params: Sampling = None,
        *,
        grammar: GrammarLike | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> Generator[StreamPiece, None, None]:
        """Continue one prompt or conversation; yield the text of each step as it comes.

        With `n` > 1 the pieces of all sequences are interleaved; `index` names the sequence.
        Leaving the loop ends the request. Raises `InvalidRequest` at once for a wrong prompt, and
        `RequestFailed` while iterating if the engine fails on it.
        """
        self._require_open()
        read, default = self._maker.read_either(prompt, ChatOptions(tools, chat_template_kwargs))
        (sampling,) = samplings_of(sampling_params, 1, default)
        (following,) = grammars_of(grammar, 1)
        return self._stream_read(read, sampling, following, CallOptions(cache_salt, priority, lora))

    generate_stream = stream

    async def generate_async(
        self,
        prompts: Prompt | Sequence[Prompt],
        sampling_params: Sampling | Sequence[Sampling] = None,
        *,
        grammar: GrammarLike | Sequence[GrammarLike | None] | None = None,
        cache_salt: str = "",
        priority: int = 0,
        lora: str = "",
    ) -> list[RequestOutput]:
        """Return the outputs of `generate` while the event loop runs.

        Cancelling the task ends the requests within one step.
        """
        self._require_open()
        options = CallOptions(cache_salt, priority, lora)
        outputs: list[RequestOutput] = []

        def run(is_stopped: Callable[[], bool]) -> Generator[None, None, None]:
            read = self._maker.read_prompts(prompts)
            samplings = samplings_of(sampling_params, len(read), self._maker.default_sampling)
            grammars = grammars_of(grammar, len(read))
            answers = self._open_answers(read, samplings, grammars, options)
            with closing(self._grow(answers, is_stopped=is_stopped)) as deltas:
                for _ in deltas:
                    yield
            outputs.extend(self._make_outputs(answers, read))

        async for _ in in_thread(run):
            pass
        return outputs

    def fork(
        self, prefix: Prompt | Sequence[Message], *, cache_salt: str = "", lora: str = ""
    ) -> Fork:
        """Return a prefix, a prompt or a conversation, to be continued in several ways.

        Nothing is computed before its first continuation. Raises `InvalidRequest`.
        """
        self._require_open()
        read, default = self._maker.read_either(prefix)
        return Fork(self, read, default, CallOptions(cache_salt, lora=lora))

    def choose(
        self,
        prompt: Prompt | Sequence[Message],
        choices: Sequence[str],
        *,
        per_token: bool = False,
        cache_salt: str = "",
        lora: str = "",
    ) -> Choice:
        """Return which of several texts most likely continues a prompt or a conversation.

        Compares sums of log-probabilities, which favour short choices; `per_token` compares means.
        The prompt is computed once, and so is each common beginning of choices. Raises
        `InvalidRequest`, and `RequestFailed` if the engine fails.
        """
        read, _ = self._maker.read_either(prompt)
        return self._rank(read, choices, CallOptions(cache_salt, lora=lora), per_token=per_token)

    def reset_prefix_cache(self) -> bool:
        """Evict every token that no running request needs; return True if none is left."""
        self.cache.clear()
        return self.stats.num_live_slots == 0

    def sleep(self, level: int = 1) -> None:
        """Refuse vLLM's sleep mode. Raises `UnsupportedParameter` with what to call instead."""
        raise UnsupportedParameter(
            "LLM.sleep is not supported: the weights stay where they are. close() frees the model "
            "and its memory, and a new LLM reads packed weights again; reset_prefix_cache() only "
            "empties the cache; a server frees idle models by --unload-idle-s",
            param="level",
        )

    def wake_up(self, tags: Sequence[str] | None = None) -> None:
        """Have no effect: an `LLM` is always awake. Raises `EngineUnavailable` once closed."""
        self._require_open()

    def warmup(self, config: WarmupConfig | None = None) -> bool:
        """Compute batches of the sizes in `config`, so that no caller waits for a first use.

        Returns False if an equal configuration is warm already. What it computes is never a hit
        for a request.
        """
        self._require_open()
        config = config or WarmupConfig()
        if config in self._warm_ups:
            return False
        sampling = SamplingParams(max_tokens=config.max_tokens, temperature=0.0, ignore_eos=True)
        for prompts in config.batches(self._info):
            self.generate(prompts, sampling, progress=False, cache_salt=WARM_UP_SALT)
        self._warm_ups.append(config)
        return True

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write settings and warm-ups into `folder`, for `load`; return the path of the file.

        Weights stay where they are.
        """
        named = self._given_tokenizer
        tokenizer = str(Path(named).resolve()) if isinstance(named, str | PathLike) else None
        return SavedEngine(self._config, tokenizer, tuple(self._warm_ups)).write(folder)

    @classmethod
    def load(cls, folder: str | PathLike[str], **keywords: Unpack[EngineKeywords]) -> Self:
        """Return an engine as `save` wrote it, with its warm-ups; `keywords` override settings.

        Raises `ConfigError` for a folder without one, and the constructor's errors.
        """
        saved = SavedEngine.read(folder)
        llm = cls.__new__(cls)
        # Not the constructor of a subclass, whose defaults would replace saved values.
        LLM.__init__(llm, config=saved.config, tokenizer=saved.tokenizer, **keywords)
        for config in saved.warm_ups:
            llm.warmup(config)
        return llm

    def start(self) -> None:
        """Have no effect: an `LLM` is started when it is made. Raises `EngineUnavailable`."""
        self._require_open()

    def stop(self) -> None:
        """Free the model; as `close`."""
        self.close()

    def _stream_read(
        self,
        read: ReadPrompt,
        sampling: SamplingParams,
        grammar: Grammar | None,
        options: CallOptions,
    ) -> Generator[StreamPiece, None, None]:
        self._require_open()
        request = self._request(read, sampling, grammar, options)
        return self._stream(self._maker.answer(request, read))

    def _read_continuation(self, continuation: str | Sequence[int]) -> ReadPrompt:
        """Read what follows a prefix: text without the special tokens of a whole prompt."""
        if isinstance(continuation, str):
            ids = self.tokenizer.encode(continuation, add_special_tokens=False)
            return ReadPrompt(continuation, tuple(ids))
        return self._maker.reader.read_prompt(continuation)

    def _rank(
        self, read: ReadPrompt, choices: Sequence[str], options: CallOptions, *, per_token: bool
    ) -> Choice:
        self._require_open()
        sequences = encode_choices(choices, self.tokenizer)
        edges: dict[str, Edge] = {}
        answers: dict[str, Answer] = {}
        for edge in edges_of(sequences):
            behind = ReadPrompt(None, read.token_ids + edge[0])
            request = self._request(behind, sampling_of_edge(edge), None, options)
            edges[request.request_id] = edge
            answers[request.request_id] = self._maker.answer(request, behind)
        with closing(self._grow(answers)) as deltas:
            for delta in deltas:
                if delta.error is not None:
                    raise RequestFailed(delta.error.message, code=delta.error.code)
        logprobs = {
            edges[request_id]: answer.take(0).logprobs[0].logprob
            for request_id, answer in answers.items()
        }
        usage = next(iter(answers.values())).usage  # first edge, right after the prompt
        return best_choice(choices, sequences, logprobs, usage, per_token=per_token)


Engine = LLM  # the name in which a server takes it
