"""Translation of checked bodies into engine requests.

Every mistake of a client is refused here with the name of the field, before the engine sees the
request. Runs in the text threads, since it tokenizes; without torch and asyncio.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from server.checks import (
    INT64,
    chat_logprobs,
    check_common,
    check_tools,
    field_name,
    first_given,
    ignored,
    stops,
)
from server.schemas.chat import ChatBody
from server.schemas.common import GenerationBody
from server.schemas.completions import CompletionBody
from yaie.errors import (
    ContextLengthExceeded,
    InvalidRequest,
    UnsupportedParameter,
)
from yaie.text.chat import ChatTemplate
from yaie.text.parts import OutputParser, PlainText
from yaie.text.tokenizer import Tokenizer, tokens_of
from yaie.types import (
    MAX_SEQUENCES_PER_REQUEST,
    EngineInfo,
    GenerationRequest,
    SamplingParams,
)

DEFAULT_COMPLETION_TOKENS = 16  # OpenAI's, for text completions
_GREEDY_TOP_P = 1e-9  # leaves one token
# Sampling fields in another form in a body.
_CONVERTED = {"stop", "stop_token_ids", "logit_bias"}
_PASSED_ON = tuple(
    field.name
    for field in fields(SamplingParams)
    if field.name in GenerationBody.model_fields and field.name not in _CONVERTED
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One API request, ready to run: one engine request per prompt, each with `n` choices."""

    response_id: str
    created: int  # unix time, seconds
    model: str
    requests: tuple[GenerationRequest, ...]
    sampling: SamplingParams
    stream: bool
    include_usage: bool
    return_token_ids: bool
    ignored: tuple[str, ...]  # names of fields without effect
    echoes: tuple[str, ...] = ()  # text of each prompt, with `echo`
    prompt_only: bool = False  # max_tokens 0: the single sampled token is not shown
    make_parser: Callable[[], OutputParser] = PlainText  # of each choice
    body: object = None  # the body of another API that was translated into this call

    @property
    def num_choices(self) -> int:
        """Number of sequences over all prompts."""
        return len(self.requests) * self.sampling.n

    def of_tenant(self, tenant: str) -> Call:
        """Return the call with its requests charged to a tenant."""
        requests = (replace(request, tenant=tenant) for request in self.requests)
        return replace(self, requests=tuple(requests))


class Translator:
    """Translator of bodies into calls, for one tokenizer and one ready engine."""

    def __init__(self, tokenizer: Tokenizer, info: EngineInfo) -> None:
        self._tokenizer = tokenizer
        self._chat = ChatTemplate(tokenizer)
        self._info = info

    @property
    def max_model_len(self) -> int:
        """Longest prompt plus answer, in tokens."""
        return self._info.max_model_len

    def chat(self, body: ChatBody) -> Call:
        """Translate a chat completion. Raises `InvalidRequest` or a subclass."""
        check_common(body)
        tools = check_tools(body)
        sampling = self._sampling(
            body,
            max_tokens=first_given(body.max_completion_tokens, body.max_tokens),
            logprobs=chat_logprobs(body),
        )
        template_kwargs = dict(body.chat_template_kwargs or {})
        if body.reasoning_effort is not None:
            template_kwargs.setdefault("reasoning_effort", body.reasoning_effort)
        prompt = self._chat.render(
            body.messages,
            tools=tools,
            add_generation_prompt=body.add_generation_prompt is not False,
            template_kwargs=template_kwargs,
            max_tokens=self._info.max_model_len,
        )
        limit_name = "max_tokens" if body.max_completion_tokens is None else "max_completion_tokens"
        self._check_prompt(prompt, "messages", body, sampling.max_tokens, limit_name)
        return self._call("chatcmpl", body, [prompt], sampling)

    def completion(self, body: CompletionBody) -> Call:
        """Translate a text completion of one or several prompts. Raises as `chat`."""
        check_common(body)
        n = 1 if body.n is None else body.n
        if body.best_of is not None and body.best_of != n:
            raise UnsupportedParameter(
                f"best_of must equal n ({n}), got {body.best_of}; leave best_of out and choose by "
                "logprobs",
                param="best_of",
            )
        prompt_only = body.max_tokens == 0 and bool(body.echo)
        if prompt_only and (body.min_tokens or 0) > 0:
            raise InvalidRequest("min_tokens must be at most max_tokens (0)", param="min_tokens")
        sampling = self._sampling(
            body,
            max_tokens=1 if prompt_only else body.max_tokens,
            logprobs=body.logprobs,
            prompt_logprobs=body.logprobs if body.echo else None,
        )
        if prompt_only:  # the sampled token is not shown and must not decide the finish reason
            sampling = replace(sampling, stop=(), stop_token_ids=(), ignore_eos=True)
        given = _given_prompts(body)
        if len(given) * sampling.n > MAX_SEQUENCES_PER_REQUEST:
            raise InvalidRequest(
                f"{len(given)} prompts with n={sampling.n} are {len(given) * sampling.n} "
                f"sequences; a request may have at most {MAX_SEQUENCES_PER_REQUEST}",
                param="prompt",
            )
        self._check_capacity(len(given), sampling.n)
        max_tokens = None if prompt_only else body.max_tokens
        prompts = [self._encoded(prompt, body, name, max_tokens) for name, prompt in given.items()]
        echoes: tuple[str, ...] = ()
        if body.echo:
            echoes = tuple(
                prompt
                if isinstance(prompt, str)
                else self._tokenizer.decode(prompt, sampling.skip_special_tokens)
                for prompt in given.values()
            )
        return self._call("cmpl", body, prompts, sampling, echoes=echoes, prompt_only=prompt_only)

    def _call(
        self,
        prefix: str,
        body: GenerationBody,
        prompts: list[list[int]],
        sampling: SamplingParams,
        *,
        echoes: tuple[str, ...] = (),
        prompt_only: bool = False,
    ) -> Call:
        response_id = f"{prefix}-{uuid.uuid4().hex}"
        requests = tuple(
            GenerationRequest(
                request_id=f"{response_id}-{at}" if at else response_id,
                prompt_token_ids=tuple(prompt),
                sampling=self._limited(sampling, body, len(prompt)),
                cache_salt=body.cache_salt or "",
                priority=body.priority or 0,
            )
            for at, prompt in enumerate(prompts)
        )
        include_usage = body.stream_options is not None and bool(body.stream_options.include_usage)
        return Call(
            response_id=response_id,
            created=int(time.time()),
            model=self._info.model,
            requests=requests,
            sampling=sampling,
            stream=bool(body.stream),
            include_usage=include_usage,
            return_token_ids=bool(body.return_token_ids),
            ignored=ignored(body, self._chat.reads, self._info.policy),
            echoes=echoes,
            prompt_only=prompt_only,
        )

    def _sampling(
        self,
        body: GenerationBody,
        *,
        max_tokens: int | None,
        logprobs: int | None,
        prompt_logprobs: int | None = None,
    ) -> SamplingParams:
        given = {name: getattr(body, name) for name in _PASSED_ON}
        fields: dict[str, Any] = {
            # Defaults for fields left out: the recommendations of the model's authors.
            **self._info.default_sampling,
            **{name: value for name, value in given.items() if value is not None},
        }
        if (fields.get("top_k") or 0) > self._info.vocab_size:
            fields["top_k"] = 0  # off, since it would keep every token
        if fields.get("top_p") == 0:
            fields["top_p"] = _GREEDY_TOP_P  # allowed by OpenAI
        if (fields.get("min_tokens") or 0) > self._info.max_model_len:
            raise InvalidRequest(
                f"min_tokens is {body.min_tokens}, but {self._context()}",
                param="min_tokens",
            )
        try:
            return SamplingParams(
                **fields,
                max_tokens=max_tokens,
                logprobs=logprobs,
                prompt_logprobs=prompt_logprobs,
                stop=stops(body.stop),
                stop_token_ids=tuple(self._listed_ids(body.stop_token_ids or [])),
                logit_bias=self._logit_bias(body.logit_bias),
            )
        except InvalidRequest as error:
            renamed = field_name(error.param, body)
            if renamed == error.param or error.param is None:
                raise
            message = error.message.replace(error.param, renamed or error.param, 1)
            raise InvalidRequest(message, param=renamed) from None

    def _check_capacity(self, num_prompts: int, n: int) -> None:
        """Refuse a call with more prompts than running sequences and waiting queue together.

        An idle server would otherwise answer "retry later" forever.
        """
        running, waiting = self._info.max_running, self._info.max_waiting
        if num_prompts > waiting + running // n:
            raise InvalidRequest(
                f"{num_prompts} prompts with n={n} exceed this server's capacity "
                f"(max_running={running} sequences, max_waiting={waiting} requests); send fewer "
                "prompts in one request",
                param="prompt",
            )

    def _limited(
        self, sampling: SamplingParams, body: GenerationBody, prompt_len: int
    ) -> SamplingParams:
        """Limit a text completion without `max_tokens` to OpenAI's default, or the context."""
        if sampling.max_tokens is not None or not isinstance(body, CompletionBody):
            return sampling
        room = self._info.max_model_len - prompt_len
        wanted = max(DEFAULT_COMPLETION_TOKENS, sampling.min_tokens)
        return replace(sampling, max_tokens=min(wanted, room))

    def _listed_ids(self, ids: list[int]) -> list[int]:
        for at, token_id in enumerate(ids):
            if not 0 <= token_id < self._info.vocab_size:
                raise self._no_such_token(token_id, f"stop_token_ids[{at}]")
        return ids

    def _logit_bias(self, given: dict[str, float] | None) -> dict[int, float] | None:
        if not given:
            return None
        biases = {}
        for key, bias in given.items():
            if not re.fullmatch(r"[0-9]{1,10}", key, re.ASCII):
                raise InvalidRequest(
                    f"logit_bias keys must be token ids, got {key[:40]!r}",
                    param="logit_bias",
                )
            if int(key) >= self._info.vocab_size:
                raise self._no_such_token(int(key), "logit_bias")
            biases[int(key)] = bias
        return biases

    def _no_such_token(self, token_id: int, param: str) -> InvalidRequest:
        shown = str(token_id) if abs(token_id) < INT64 else "a number of more than 64 bits"
        return InvalidRequest(
            f"{param} has the token id {shown}; this model's ids are 0 to "
            f"{self._info.vocab_size - 1}",
            param=param,
        )

    def _encoded(
        self, prompt: object, body: CompletionBody, name: str, max_tokens: int | None
    ) -> list[int]:
        """Return a prompt's token ids, checked before the next prompt is encoded."""
        if isinstance(prompt, str):
            adds = body.add_special_tokens is not False
            ids = self._tokenizer.encode(prompt, adds, self._info.max_model_len, name)
        else:
            ids = self._token_ids(prompt, name)
        self._check_prompt(ids, name, body, max_tokens, "max_tokens")
        return ids

    def _token_ids(self, ids: object, where: str) -> list[int]:
        if not isinstance(ids, list):
            raise InvalidRequest(f"{where} must be a string or a list of token ids", param=where)
        if set(map(type, ids)) - {int}:  # bool is a subclass of int
            at = next(at for at, each in enumerate(ids) if type(each) is not int)
            raise InvalidRequest(f"{where}[{at}] must be a token id", param=f"{where}[{at}]")
        if ids:
            for token_id in (min(ids), max(ids)):
                if not 0 <= token_id < self._info.vocab_size:
                    raise self._no_such_token(token_id, f"{where}[{ids.index(token_id)}]")
        return ids

    def _check_prompt(
        self,
        prompt: list[int],
        name: str,
        body: GenerationBody,
        max_tokens: int | None,
        limit_name: str,
    ) -> None:
        """Refuse a prompt without room for the completion. `max_tokens`: the client's own limit."""
        longest = self._info.max_model_len
        length = len(prompt)
        if not prompt:
            raise InvalidRequest(f"{tokens_of(name, 'no')}; send at least one", param=name)
        if length >= longest:
            raise ContextLengthExceeded(
                f"{self._context()}, but {tokens_of(name, length)} and the completion needs at "
                "least one; shorten the prompt",
                param=name,
            )
        room = longest - length
        if max_tokens is not None and max_tokens > room:
            raise ContextLengthExceeded(
                f"{self._context()}, but {tokens_of(name, length)} and {limit_name} is "
                f"{max_tokens}, together {length + max_tokens}; shorten the prompt or lower "
                f"{limit_name} to {room}",
                param=limit_name,
            )
        if (body.min_tokens or 0) > room:
            raise ContextLengthExceeded(
                f"{self._context()}, but {tokens_of(name, length)} and min_tokens is "
                f"{body.min_tokens}; shorten the prompt or lower min_tokens to {room}",
                param="min_tokens",
            )

    def _context(self) -> str:
        # In OpenAI's words: client libraries recognize the error by them.
        return f"this model's maximum context length is {self._info.max_model_len} tokens"


def _given_prompts(body: CompletionBody) -> dict[str, Any]:
    """Return the prompts of a body by the names that errors give them."""
    given = body.prompt
    if given is None:
        raise InvalidRequest("prompt is required", param="prompt")
    if isinstance(given, str):
        return {"prompt": given}
    if not isinstance(given, list) or not given:
        raise InvalidRequest(
            "prompt must be a non-empty string, a list of strings, a list of token ids or a list "
            "of lists of token ids",
            param="prompt",
        )
    if type(given[0]) is int:
        return {"prompt": given}
    if len(given) == 1:
        return {"prompt" if isinstance(given[0], str) else "prompt[0]": given[0]}
    if len(given) > MAX_SEQUENCES_PER_REQUEST:
        raise InvalidRequest(
            f"prompt has {len(given)} entries; at most {MAX_SEQUENCES_PER_REQUEST} are allowed",
            param="prompt",
        )
    return {f"prompt[{at}]": prompt for at, prompt in enumerate(given)}
