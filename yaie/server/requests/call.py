"""`Call`: one API request, ready to run, and the `Caller` that sent it.

A `Translator` makes a call once; nothing changes it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from yaie.base.embedding_info import EmbeddingInfo
from yaie.base.ranking_info import RankingInfo
from yaie.base.types import ExpectedPrompt, GenerationRequest, SamplingParams
from yaie.server.requests.digests import Digest
from yaie.server.schemas.generation_replies import RenderedRequest
from yaie.text.answer import TextPiece
from yaie.text.next_turn import Message, answer_message, common_length, known_prompts
from yaie.text.output_parts import (
    OutputParser,
    Part,
    PlainText,
    TextPart,
    ToolCallPart,
    with_call_id,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The client of a request: its tenant, its cache namespace and its priority limit."""

    tenant: str = ""
    owner: str = ""  # cached prefixes are shared among requests with one owner
    least_priority: int | None = None  # lowest priority number allowed; None sets no limit
    model: str | None = None  # the name by which the client knows the model
    adapter: str = ""  # name of the LoRA adapter that the request names as its model
    adapter_path: str = ""

    def limit_priority(self, wanted: int) -> int:
        """Return the priority number of a request that wants `wanted`."""
        return wanted if self.least_priority is None else max(wanted, self.least_priority)


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
    folds: tuple[str, ...] = ()  # changes by which the chat template takes the messages
    echoes: tuple[str, ...] = ()  # text before the answers of each prompt, with `echo`
    prompt_only: bool = False  # max_tokens 0: the single sampled token is not shown
    make_parser: Callable[[], OutputParser] = PlainText  # one for each choice
    continuous_usage: bool = False  # usage so far in each chunk
    system_fingerprint: str = ""
    service_tier: str | None = None  # named in the answer if the request named one
    prompt_logprobs: int | None = None  # most likely tokens to show next to prompt tokens
    names_by_id: bool = False  # tokens in logprobs
    prompt_copies: int = 1  # times that the logprobs of each prompt are written
    call_id_prefix: str = "call_"  # for tool calls to which the model gives no id
    next_turn: NextTurn | None = None  # set for a chat with one answer
    digest: Digest | None = None  # set for a chat
    is_compared: bool = False  # diagnostics were requested
    compared_with: str | None = None  # id of an earlier response
    hides_reasoning: bool = False
    custom_tools: frozenset[str] = frozenset()  # names of a chat's tools that take a text
    calls_functions: bool = False  # a chat's calls are written in OpenAI's older form
    body: object = None  # the body of an API other than completions
    embedding: EmbeddingInfo | None = None  # the answers are vectors, and no texts
    ranking: RankingInfo | None = None  # the answers are scores, and no texts

    @property
    def is_pooled(self) -> bool:
        """True if the answers are vectors or scores."""
        return self.embedding is not None or self.ranking is not None

    @property
    def num_choices(self) -> int:
        """Number of sequences over all prompts."""
        return len(self.requests) * self.sampling.n

    @property
    def clipped_to(self) -> int | None:
        """The smallest limit of an answer if the client's `max_tokens` exceeds the context."""
        wanted = self.sampling.max_tokens
        limits = [each.sampling.max_tokens or 0 for each in self.requests]
        return min(limits) if wanted is not None and min(limits) < wanted else None


def render_call(call: Call, max_model_len: int) -> list[RenderedRequest]:
    """Return the engine requests of a call for a reply."""
    return [_render_request(call, request, max_model_len) for request in call.requests]


def _render_request(call: Call, request: GenerationRequest, max_model_len: int) -> RenderedRequest:
    sampling = request.sampling
    if sampling.max_tokens is None:
        sampling = replace(sampling, max_tokens=max_model_len - len(request.prompt_token_ids))
    return RenderedRequest(
        request_id=request.request_id,
        model=call.model,
        token_ids=request.prompt_token_ids,
        sampling_params=sampling,
        stream=call.stream,
        cache_salt=request.cache_salt or None,
        priority=request.priority,
    )


def as_chat(parts: Sequence[Part]) -> list[Message]:
    """Return an answer as a client of chat completions sends it back."""
    return [answer_message(parts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextTurn:
    """Everything that a chat's next turn will repeat, and the answer's format in it."""

    messages: list[Message]
    render: Callable[[list[Message]], list[int]]  # token ids of a conversation
    sent_back: Callable[[Sequence[Part]], list[Message]] = as_chat
    names_results: bool = False  # tool results carry the tool's name


class TurnRecorder:
    """Records the answer to a chat for the chat's next turn, and gives ids to its tool calls."""

    __slots__ = ("_call", "_parts", "_token_ids")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._parts: list[Part] = []
        self._token_ids: list[int] = []

    def record(self, piece: TextPiece) -> TextPiece:
        """Add a piece; return it with ids in its tool calls."""
        parts = piece.parts
        is_text = len(parts) == 1 and type(parts[0]) is TextPart  # true of most pieces
        if not is_text and any(isinstance(part, ToolCallPart) for part in parts):
            prefix = self._call.call_id_prefix
            parts = tuple(with_call_id(part, prefix) for part in parts)
            piece = msgspec.structs.replace(piece, parts=parts)
        if self._call.next_turn is not None:
            self._parts += parts
            self._token_ids += piece.token_ids
        return piece

    def end(self) -> EndedTurn | None:
        """Return the turn; None for a call that has no next turn."""
        turn = self._call.next_turn
        if turn is None:
            return None
        return EndedTurn(turn, self._call.requests[0], self._parts, self._token_ids)


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that has ended, with the parts and the tokens of its answer."""

    turn: NextTurn
    request: GenerationRequest
    parts: Sequence[Part]
    token_ids: Sequence[int]

    def prompts(self) -> list[ExpectedPrompt]:
        """Return the beginnings of the next prompt. Raises what the rendering raises.

        The last one names the generated tokens that no next turn uses, so they can be evicted.
        """
        turn, request = self.turn, self.request
        found = known_prompts(
            turn.messages,
            turn.sent_back(self.parts),
            turn.render,
            names_results=turn.names_results,
        )
        prompts = [
            ExpectedPrompt(
                token_ids=tuple(ids),
                owner=request.owner,
                cache_salt=request.cache_salt,
                adapter=request.adapter,
            )
            for ids in found
        ]
        if prompts:
            generated = (*request.prompt_token_ids, *self.token_ids)
            num_kept = max(common_length(generated, ids) for ids in found)
            if num_kept < len(generated):
                prompts[-1] = replace(prompts[-1], replaces=generated, num_kept=num_kept)
        return prompts
