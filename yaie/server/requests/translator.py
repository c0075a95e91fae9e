"""Translation of checked bodies into engine requests.

It refuses every client mistake with the field's name, before the engine sees the request. Runs in
the text threads, since it tokenizes; without torch and asyncio.
"""

from __future__ import annotations

import copy
import hashlib
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Self

import msgspec

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.base.model_tasks import check_generates
from yaie.base.own_package import read_version
from yaie.base.types import (
    MAX_SEQUENCES_PER_REQUEST,
    EngineInfo,
    GenerationRequest,
    SamplingParams,
)
from yaie.server.requests.call import Call, Caller, NextTurn
from yaie.server.requests.checks import (
    MAX_NAMED_IGNORED,
    chat_logprobs,
    check_common,
    first_given,
    list_ignored,
    prediction_text,
    prompt_logprobs,
    thinking_budget,
)
from yaie.server.requests.conversation import Conversation, make_conversation
from yaie.server.requests.custom_tools import with_functions
from yaie.server.requests.digests import Digest
from yaie.server.requests.embedding_inputs import make_embedding_call
from yaie.server.requests.grammar_fields import grammar_of
from yaie.server.requests.legacy_functions import (
    calls_functions,
    read_echo,
    restore_name,
    with_tools,
)
from yaie.server.requests.prompt_tokens import Prompts, bad_word_ids, read_prompts
from yaie.server.requests.ranking_inputs import make_ranking_call, read_pairs
from yaie.server.requests.request_defaults import RequestDefaults
from yaie.server.requests.sampling_params import limit_tokens, sampling_of
from yaie.server.requests.tool_use import answer_format, check_tools
from yaie.server.schemas.chat import ChatBody
from yaie.server.schemas.completions import CompletionBody
from yaie.server.schemas.embeddings import EmbeddingBody
from yaie.server.schemas.ranking import RankingBody, RerankBody
from yaie.server.schemas.shared_fields import GenerationBody
from yaie.text.chat_template import ChatPrompt, ChatTemplate
from yaie.text.tokenizer import Tokenizer

_SETTINGS = (
    "architecture", "attention_backend", "device", "dtype", "exact", "execution", "kv_dtype",
    "max_model_len", "model", "model_path", "num_parameters", "quantization", "vocab_size",
)  # fmt: skip

_PREDICTED_CHARS = 16  # of a prediction are read for each token of the context; texts have 3 to 6


class Translator:
    """Translator of bodies into calls, for one tokenizer and one ready engine."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        info: EngineInfo,
        tool_call_parser: str = "auto",
        defaults: RequestDefaults | None = None,
        *,
        trust_markers: bool = False,
    ) -> None:
        self.tokenizer = tokenizer
        self._chat = ChatTemplate(tokenizer, tool_call_parser, trust_markers=trust_markers)
        self.prompts = Prompts(tokenizer, info)
        self._info = info
        self._defaults = defaults or RequestDefaults()
        self._fingerprint = fingerprint(info)
        self._caller = Caller()

    def for_caller(self, caller: Caller) -> Self:
        """Return this translator for the requests of `caller`."""
        found = copy.copy(self)
        found._caller = caller
        return found

    @property
    def max_model_len(self) -> int:
        """Longest prompt plus answer, in tokens."""
        return self._info.max_model_len

    def embedding(self, body: EmbeddingBody) -> Call:
        """Translate a request for embeddings. Raises as `chat`."""
        call = make_embedding_call(body, self.tokenizer, self._info, self._caller)
        self._check_capacity(len(call.requests), 1, "input")
        self._check_waiting_tokens([each.prompt_token_ids for each in call.requests], "input")
        return call

    def ranking(self, body: RankingBody) -> Call:
        """Translate a request for scores. Raises as `chat`."""
        name = "documents" if isinstance(body, RerankBody) else "text_2"
        pairs = read_pairs(body, self._info)
        self._check_capacity(len(pairs), 1, name)
        call = make_ranking_call(body, pairs, self.tokenizer, self._info, self._caller)
        self._check_waiting_tokens([each.prompt_token_ids for each in call.requests], name)
        return call

    def chat(self, body: ChatBody) -> Call:
        """Translate a chat completion. Raises `InvalidRequest` or a subclass."""
        check_generates(self._info)
        custom = with_functions(body)
        call = self._chat_call(with_tools(custom.body))
        if custom.names:
            ignored = (*call.ignored, *custom.ignored)[:MAX_NAMED_IGNORED]
            call = replace(call, custom_tools=custom.names, ignored=ignored)
        if not calls_functions(body):
            return call
        ignored = tuple(map(restore_name, call.ignored))
        return replace(call, calls_functions=True, ignored=ignored, next_turn=None)

    def _chat_call(self, body: ChatBody) -> Call:
        check_common(body)
        self._defaults.check_tools(body.tools)
        tool_use = check_tools(body)
        sampling = sampling_of(
            body,
            self._info,
            max_tokens=first_given(body.max_completion_tokens, body.max_tokens),
            logprobs=chat_logprobs(body),
            prompt_logprobs=prompt_logprobs(body),
        )
        conversation = make_conversation(body, tool_use, self._chat.reads)
        longest = self._info.max_model_len
        rendered = self._make_prompt(conversation, longest=longest)
        prompt = self._encode(conversation, rendered, longest=longest)
        self.prompts.check(prompt, body.names.messages, body)
        call = self._call("chatcmpl", body, [prompt], sampling)
        form = self._chat.format
        (request,) = call.requests
        answered = answer_format(tool_use, form, self.tokenizer, prompt, answer=request.grammar)
        request = replace(request, grammar=answered.grammar)
        request = replace(request, prediction=self._predict(request, prediction_text(body)))
        ignored = call.ignored + answered.ignored
        if (budget := thinking_budget(body)) is not None:
            thinking = form.thinking_in(self.tokenizer, prompt)
            limit = form.reasoning_limit(budget, self.tokenizer, thinking)
            if limit is not None and limit.closer_id >= self._info.vocab_size:
                limit = None  # without a logit
            request = replace(request, reasoning_limit=limit)
            ignored += ("thinking_token_budget",) if limit is None else ()
        return replace(
            call,
            requests=(request,),
            digest=conversation.digest(self._info.model, len(prompt)),
            make_parser=answered.make_parser,
            echoes=read_echo(body),
            hides_reasoning=body.include_reasoning is False,
            ignored=ignored[:MAX_NAMED_IGNORED],
            folds=rendered.folds,
            next_turn=self._next_turn(conversation),
        )

    def _predict(self, request: GenerationRequest, text: str) -> tuple[int, ...]:
        """Return the tokens of a predicted answer, as far as an answer can be; () if unused.

        A tokenizer may have more tokens than the model; the first such token ends the prediction.
        """
        is_used = self._info.max_draft_tokens and request.speculate and request.grammar is None
        if not text or not is_used:
            return ()
        longest, vocab_size = self._info.max_model_len, self._info.vocab_size
        ids = self.tokenizer.encode(text[: longest * _PREDICTED_CHARS], add_special_tokens=False)
        return tuple(takewhile(lambda each: each < vocab_size, ids[:longest]))

    def _next_turn(self, conversation: Conversation) -> NextTurn | None:
        """Return the parts of a chat for its next turn; None if they cannot be known."""
        body = conversation.body
        is_whole = body.truncate_prompt_tokens is None and body.add_generation_prompt is not False
        if (body.n or 1) > 1 or not is_whole or body.continue_final_message or body.echo:
            return None

        def render(messages: list[dict[str, Any]]) -> list[int]:
            longest = self._info.max_model_len
            prompt = self._make_prompt(conversation, messages, longest)
            return self._encode(conversation, prompt, longest)

        return NextTurn(messages=body.messages, render=render)

    def chat_prompt(self, body: ChatBody) -> list[int]:
        """Return the token ids of a conversation. Raises as `chat`."""
        conversation = self._read(with_tools(body))
        return self._encode(conversation, self._make_prompt(conversation))

    def chat_text(self, body: ChatBody) -> str:
        """Return the text of a conversation's prompt, before truncation. Raises as `chat`."""
        return self._make_prompt(self._read(with_tools(body))).text

    def digest(self, body: ChatBody) -> Digest:
        """Return the digest of a conversation. Raises as `chat`."""
        return self._read(body).digest(self._info.model)

    def _read(self, body: ChatBody) -> Conversation:
        return make_conversation(body, check_tools(body), self._chat.reads)

    def _make_prompt(
        self,
        conversation: Conversation,
        messages: list[Any] | None = None,
        longest: int | None = None,
    ) -> ChatPrompt:
        """Return the prompt of a conversation, or of other messages with its options.

        Raises `InvalidRequest` if it is to be whole and certainly has more than `longest` tokens.
        """
        body = conversation.body
        given = body.messages if messages is None else messages
        is_whole = body.truncate_prompt_tokens is None
        return self._chat.make_prompt(
            given, **conversation.options, max_tokens=longest if is_whole else None
        )

    def _encode(
        self, conversation: Conversation, prompt: ChatPrompt, longest: int | None = None
    ) -> list[int]:
        """Return the token ids of a conversation's prompt.

        Raises `ContextLengthExceeded` if they are many more than `longest`.
        """
        body = conversation.body
        max_tokens = first_given(body.max_completion_tokens, body.max_tokens)
        kept = self.prompts.find_kept(body, max_tokens)
        ids = self._chat.encode(prompt, *self.prompts.limit(longest if kept is None else None))
        return ids if kept is None else ids[kept]

    def completion(self, body: CompletionBody) -> Call:
        """Translate a text completion of one or several prompts. Raises as `chat`."""
        check_generates(self._info)
        check_common(body)
        n = 1 if body.n is None else body.n
        if body.best_of is not None and body.best_of != n:
            raise UnsupportedParameter(
                f"best_of must equal n ({n}), got {body.best_of}; omit best_of and choose by "
                f"logprobs",
                param="best_of",
            )
        prompt_only = body.max_tokens == 0 and bool(body.echo)
        if prompt_only and (body.min_tokens or 0) > 0:
            raise InvalidRequest("min_tokens must be at most max_tokens (0)", param="min_tokens")
        sampling = sampling_of(
            body,
            self._info,
            max_tokens=1 if prompt_only else body.max_tokens,
            logprobs=body.logprobs,
            prompt_logprobs=prompt_logprobs(body, body.logprobs if body.echo else None),
        )
        if prompt_only:  # the sampled token is not shown and must not decide the finish reason
            sampling = replace(
                sampling,
                stop=(),
                stop_regex=(),
                stop_token_ids=(),
                allowed_token_ids=None,
                ignore_eos=True,
            )
        given = read_prompts(body)
        if len(given) * sampling.n > MAX_SEQUENCES_PER_REQUEST:
            raise InvalidRequest(
                f"{len(given)} prompts with n={sampling.n} are {len(given) * sampling.n} "
                f"sequences; a request may have at most {MAX_SEQUENCES_PER_REQUEST}",
                param="prompt",
            )
        self._check_capacity(len(given), sampling.n)
        max_tokens = None if prompt_only else body.max_tokens
        prompts = [
            self.prompts.encode(prompt, body, name, max_tokens) for name, prompt in given.items()
        ]
        self._check_waiting_tokens(prompts)
        echoes: tuple[str, ...] = ()
        if body.echo:
            echoes = tuple(
                text
                if isinstance(text, str) and body.truncate_prompt_tokens is None
                else self.tokenizer.decode(prompt, sampling.skip_special_tokens)
                for text, prompt in zip(given.values(), prompts, strict=True)
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
        grammar = grammar_of(body)
        if body.bad_words and not prompt_only:
            runs = bad_word_ids(body.bad_words, self.tokenizer)
            sampling = replace(sampling, bad_words_token_ids=runs)
        wanted = body.priority or 0
        priority = self._caller.limit_priority(wanted)
        ignored = self.list_ignored(body)
        if wanted not in (0, priority) and "priority" not in ignored:
            ignored = (*ignored, "priority")
        requests = tuple(
            GenerationRequest(
                request_id=f"{response_id}-{at}" if at else response_id,
                call=response_id,
                prompt_token_ids=tuple(prompt),
                sampling=limit_tokens(
                    sampling, body, self._info, len(prompt), self._defaults.max_tokens
                ),
                grammar=None if prompt_only else grammar,
                tenant=self._caller.tenant,
                owner=self._caller.owner,
                cache_salt=body.cache_salt or "",
                priority=priority,
                queue_timeout_s=body.queue_timeout_s,
                speculate=body.speculate is not False,
                adapter=self._caller.adapter,
                adapter_path=self._caller.adapter_path,
            )
            for at, prompt in enumerate(prompts)
        )
        options = body.stream_options
        include_usage = options is not None and bool(options.include_usage)
        return Call(
            response_id=response_id,
            created=int(time.time()),
            model=self._caller.model or self._info.model,
            requests=requests,
            sampling=sampling,
            stream=bool(body.stream),
            include_usage=include_usage or bool(body.explain_cache),
            return_token_ids=bool(body.return_token_ids),
            ignored=ignored,
            echoes=echoes,
            prompt_only=prompt_only,
            continuous_usage=include_usage and bool(options and options.continuous_usage_stats),
            system_fingerprint=self._fingerprint,
            service_tier=None if body.service_tier is None else "default",
            prompt_logprobs=body.prompt_logprobs,
            names_by_id=bool(body.return_tokens_as_token_ids),
            prompt_copies=1 if prefix == "chatcmpl" or body.prompt_logprobs is None else sampling.n,
        )

    @property
    def has_chat_template(self) -> bool:
        """True if the tokenizer has a chat template."""
        return self.tokenizer.has_chat_template

    def reads(self, name: str) -> bool:
        """Return whether the chat template reads a variable."""
        return self._chat.reads(name)

    def list_ignored(self, body: GenerationBody) -> tuple[str, ...]:
        """Return the names of a body's fields without effect."""
        return list_ignored(body, self._chat.reads, self._info.policy)

    def _check_capacity(self, num_prompts: int, n: int, name: str = "prompt") -> None:
        """Refuse a call with more prompts than running sequences and waiting queue together.

        An idle server would otherwise answer "retry later" forever.
        """
        running, waiting = self._info.max_running, self._info.max_waiting
        if num_prompts > waiting + running // n:
            raise InvalidRequest(
                f"{num_prompts} prompts with n={n} exceed this server's capacity "
                f"(max_running={running} sequences, max_waiting={waiting} requests); send fewer "
                "prompts in one request",
                param=name,
            )

    def _check_waiting_tokens(self, prompts: Sequence[Sequence[int]], name: str = "prompt") -> None:
        """Refuse a call whose prompts together are more than the waiting queue ever takes."""
        limit, rows = self._info.max_waiting_tokens, self._info.max_step_rows
        total = sum(map(len, prompts))
        if limit and len(prompts) > 1 and total > limit + rows:
            raise InvalidRequest(
                f"{len(prompts)} prompts of {total} tokens exceed this server's queue "
                f"(max_waiting_tokens={limit}, and max_step_rows={rows}); send fewer prompts in "
                "one request",
                param=name,
            )


def fingerprint(info: EngineInfo) -> str:
    """Return `system_fingerprint`: equal for equal model, version and settings."""
    facts = [read_version(), *(getattr(info, name) for name in _SETTINGS)]
    return "fp_" + hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:12]
