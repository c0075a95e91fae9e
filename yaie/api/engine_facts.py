"""`Described`: names, numbers and token counts of an engine, for `LLM` and `AsyncLLM`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from yaie.api.prompt_kinds import (
    Message,
    WrongType,
    as_builtin_errors,
    is_conversation,
    is_tokens,
    kind_of,
)
from yaie.api.prompts import ChatOptions
from yaie.api.request_maker import RequestMaker
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats, metrics
from yaie.base.types import EngineInfo, SamplingParams
from yaie.text.answer import Answer
from yaie.text.template_features import abilities_of
from yaie.text.tokenizer import Tokenizer


class Described(ABC):
    """Facts about one loaded engine, also under the names that other engines use."""

    _maker: RequestMaker

    @property
    @abstractmethod
    def info(self) -> EngineInfo:
        """Properties of the loaded model: architecture, dtype, device, context, pool, ..."""

    @property
    @abstractmethod
    def config(self) -> EngineConfig:
        """The settings of this engine."""

    @property
    @abstractmethod
    def stats(self) -> EngineStats:
        """Counters since the start and gauges of now."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer: `encode`, `decode`, and transformers' own one in `hf`."""
        return self._maker.tokenizer

    @property
    def processor(self) -> Tokenizer:
        """The tokenizer, under the name of engines that read images too."""
        return self.tokenizer

    @property
    def model_name(self) -> str:
        """Name under which the model is served."""
        return self.info.model

    @property
    def inference_name(self) -> str:
        """Name under which the model is served."""
        return self.info.model

    @property
    def default_sampling(self) -> SamplingParams:
        """Parameters of calls without `SamplingParams`: the model's recommendation, if any."""
        return copy(self._maker.default_sampling)

    def get_default_sampling_params(self) -> SamplingParams:
        """Return the parameters of calls without `SamplingParams`, to be changed freely."""
        return self.default_sampling

    @property
    def model_prefill_length(self) -> int:
        """Longest prompt in tokens that leaves room for an answer of the default length."""
        return self.max_prompt_len(self.default_sampling.max_tokens or 1)

    def max_prompt_len(self, max_tokens: int = 1) -> int:
        """Return the longest prompt in tokens for an answer of `max_tokens`; 0 if none fits."""
        return max(0, self.info.max_model_len - max_tokens)

    def get_tokenizer(self) -> Tokenizer:
        """Return the tokenizer, for counting tokens and for prompts of token ids."""
        return self.tokenizer

    def get_stats(self) -> EngineStats:
        """Return the counters since the start and the gauges of now."""
        return self.stats

    def metrics(self) -> dict[str, float]:
        """Return the statistics by the names that the server's `/metrics` gives them."""
        values = self.stats.values()
        return {
            each.series: float(values[each.field]) for each in metrics() if each.field in values
        }

    def get_model_info(self) -> dict[str, Any]:
        """Return the model and its limits as plain values; lengths and sizes are in tokens."""
        info = self.info
        abilities = abilities_of(self.tokenizer, self.config.tool_call_parser)
        return {
            "name": info.model,
            "architecture": info.architecture,
            "num_parameters": info.num_parameters,
            "dtype": info.dtype,
            "quantization": info.quantization,
            "device": info.device,
            "max_model_len": info.max_model_len,
            "vocab_size": info.vocab_size,
            "kv_bytes_per_token": info.kv_bytes_per_token,
            "cache_capacity": info.num_slots,
            "has_chat_template": self.tokenizer.has_chat_template,
            "tool_parser": abilities.tool_format,
        }

    def count_tokens(
        self,
        content: str | Sequence[Message],
        oai_like: bool = False,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> int:
        """Return the number of prompt tokens for a text or a conversation.

        It equals `prompt_tokens` of a request with the same content. Content part lists are always
        read, so `oai_like` has no effect. Raises `TypeError` or `ValueError`.
        """
        with as_builtin_errors():
            if isinstance(content, str):
                return len(self.tokenizer.encode(content))
            self._check_conversation(content)
            read = self._maker.reader.read_conversation(
                content, ChatOptions(tools, chat_template_kwargs)
            )
            return len(read.token_ids)

    def open_answer(self, prompt: object, sampling: SamplingParams | None) -> Answer:
        """Return the empty answer to a prompt or a conversation.

        Raises `TypeError` or `ValueError`.
        """
        with as_builtin_errors():
            if is_conversation(prompt):
                self._check_conversation(prompt)
                read = self._maker.reader.read_conversation(prompt)
                default = self._maker.chat_sampling
            elif isinstance(prompt, str | Mapping) or is_tokens(prompt):
                read = self._maker.reader.read_prompt(prompt)
                default = self._maker.default_sampling
            else:
                raise WrongType(
                    "a prompt must be text, a list of token ids or a list of messages, each a "
                    f"mapping with a role; got {kind_of(prompt)}",
                    param="prompt",
                )
            return self._maker.answer(self._maker.request(read, sampling or default), read)

    def _check_conversation(self, content: object) -> None:
        if not is_conversation(content):
            raise WrongType(
                "a conversation must be a list of messages, each a mapping with a role; got "
                f"{kind_of(content)}",
                param="messages",
            )
        if not self.tokenizer.has_chat_template:
            raise WrongType(
                f"{self.info.model} has no chat template; give it text instead of messages",
                param="messages",
            )
