"""`GatheredReply`: the output of a request from a server's whole reply or from its events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from yaie.api.outputs import CompletionOutput, RequestOutput, StreamPiece
from yaie.api.prompt_output import PromptOutput, decode_rate
from yaie.base.types import FinishReason, Timings, TokenLogprobs, Usage
from yaie.remote.replies import as_object, as_text, as_whole, usage_of
from yaie.remote.request_bodies import Question
from yaie.text.output_parts import ToolCallPart, calls_of

_NOTHING = Usage(prompt_tokens=0, completion_tokens=0, cached_tokens=0)


@dataclass(slots=True)
class _Sequence:
    """One choice of a reply so far."""

    text: str = ""
    reasoning: str = ""
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    calls: list[ToolCallPart] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    stop_reason: str | int | None = None
    fault: str = ""
    first_s: float = 0.0
    total_s: float = 0.0


class GatheredReply:
    """Reply to a question so far.

    It takes the events of a stream, or a whole reply as a single event.
    """

    def __init__(self, question: Question, *, is_streamed: bool) -> None:
        self._question = question
        self._is_streamed = is_streamed  # a whole reply tells no time of the first token
        self._began = time.perf_counter()
        self._id = ""
        self._usage = _NOTHING
        self._prompt_ids: tuple[int, ...] = ()
        self._sequences: dict[int, _Sequence] = {}

    @property
    def is_whole(self) -> bool:
        """True once each of the requested sequences has a finish reason."""
        ended = [each for each in self._sequences.values() if each.finish_reason]
        return len(ended) >= (as_whole(self._question.body.get("n")) or 1)

    def take(self, event: Mapping[str, Any]) -> Iterator[StreamPiece]:
        """Gather an event; yield the growth of each of its choices."""
        self._id = as_text(event.get("id")) or self._id
        self._prompt_ids = _ids(event.get("prompt_token_ids")) or self._prompt_ids
        if event.get("usage"):
            self._usage = usage_of(event["usage"])
        for each in event.get("choices") or ():
            choice = as_object(each)
            self._prompt_ids = _ids(choice.get("prompt_token_ids")) or self._prompt_ids
            index = as_whole(choice.get("index")) or 0
            yield self._grow(index, self._sequences.setdefault(index, _Sequence()), choice)

    def output(self) -> RequestOutput:
        """Return the output of the whole reply."""
        choices = sorted(self._sequences.items()) or [(0, _Sequence(finish_reason="error"))]
        return RequestOutput(
            request_id=self._id,
            prompt=self._question.text,
            prompt_token_ids=self._prompt_ids,
            choices=tuple(_completion(index, each) for index, each in choices),
            usage=self._usage,
        )

    def failed(self, message: str) -> RequestOutput:
        """Return the output of a request on which the engine failed."""
        return RequestOutput(
            request_id=self._id,
            prompt=self._question.text,
            prompt_token_ids=self._prompt_ids,
            choices=(_completion(0, _Sequence(finish_reason="error")),),
            usage=self._usage,
            error=message,
        )

    def _grow(self, index: int, sequence: _Sequence, choice: dict[str, Any]) -> StreamPiece:
        growth = as_object(choice.get("delta") or choice.get("message") or choice)
        text = as_text(growth.get("content")) or as_text(growth.get("text"))
        reasoning = as_text(growth.get("reasoning_content"))
        calls = _calls(growth.get("tool_calls"))
        token_ids, logprobs = _ids(choice.get("token_ids")), _logprobs(choice.get("logprobs"))
        now_s = time.perf_counter() - self._began
        if self._is_streamed and not sequence.first_s and (text or reasoning or calls or token_ids):
            sequence.first_s = now_s
        sequence.total_s = now_s
        sequence.text += text
        sequence.reasoning += reasoning
        sequence.calls += calls
        sequence.token_ids += token_ids
        sequence.logprobs += logprobs
        sequence.fault = as_text(choice.get("tool_parse_error")) or sequence.fault
        finish_reason = _finish_reason(choice.get("finish_reason"))
        sequence.finish_reason = finish_reason or sequence.finish_reason
        stop = choice.get("stop_reason")
        sequence.stop_reason = stop if isinstance(stop, str | int) else sequence.stop_reason
        return StreamPiece(
            request_id=self._id,
            index=index,
            text=text,
            token_ids=token_ids,
            logprobs=tuple(logprobs),
            finish_reason=finish_reason,
            stop_reason=sequence.stop_reason if finish_reason else None,
            usage=self._usage,
            reasoning=reasoning,
            tool_calls=tuple(calls),
        )


def prompt_output_of(output: RequestOutput) -> PromptOutput:
    """Return an output of one sequence as a record."""
    num_tokens, timings = output.usage.completion_tokens, output.timings
    first_s = timings.first_token_s
    return PromptOutput(
        text=output.text,
        generated_tokens=num_tokens,
        tokens_per_second=decode_rate(num_tokens, timings) if first_s else None,
        error=output.error,
        finish_reason=output.finish_reason,
        prompt_tokens=output.usage.prompt_tokens,
        cached_tokens=output.usage.cached_tokens,
        ttft=first_s or None,
        token_ids=output.token_ids,
        reasoning=output.reasoning,
    )


def _completion(index: int, sequence: _Sequence) -> CompletionOutput:
    return CompletionOutput(
        index=index,
        text=sequence.text,
        token_ids=tuple(sequence.token_ids),
        finish_reason=sequence.finish_reason or "error",
        stop_reason=sequence.stop_reason,
        logprobs=tuple(sequence.logprobs) or None,
        timings=Timings(first_token_s=sequence.first_s, total_s=sequence.total_s),
        reasoning=sequence.reasoning,
        tool_calls=calls_of(sequence.calls),
        parse_fault=sequence.fault,
    )


def _finish_reason(given: object) -> FinishReason | None:
    """Return a server's finish reason as ours: calls of tools, and filters, are stops."""
    if not isinstance(given, str) or not given:
        return None
    return given if given in ("length", "abort", "error") else "stop"  # type: ignore[return-value]


def _calls(given: Any) -> list[ToolCallPart]:
    """Return tool calls, or their growth, as parts; whole calls are numbered in order."""
    parts = []
    for position, each in enumerate(given if isinstance(given, list) else ()):
        call = as_object(each)
        function, index = as_object(call.get("function")), as_whole(call.get("index"))
        parts.append(
            ToolCallPart(
                position if index is None else index,
                as_text(function.get("name")),
                as_text(function.get("arguments")),
                as_text(call.get("id")),
            )
        )
    return parts


def _ids(given: Any) -> tuple[int, ...]:
    is_list = isinstance(given, list) and all(isinstance(each, int) for each in given)
    return tuple(given) if is_list else ()


def _logprobs(given: Any) -> list[TokenLogprobs]:
    """Return log-probabilities of tokens that the server names by their ids."""
    fields = as_object(given)
    if isinstance(fields.get("content"), list):  # chat logprobs
        entries = [
            (each.get("token"), each.get("logprob"), _tops(each.get("top_logprobs")))
            for each in map(as_object, fields["content"])
        ]
    else:
        lists = [fields.get(name) or () for name in ("tokens", "token_logprobs", "top_logprobs")]
        entries = [
            (token, logprob, list(as_object(top).items()))
            for token, logprob, top in zip(*lists, strict=False)
        ]
    found = []
    for name, logprob, top in entries:
        token_id = _find_id(name)
        if token_id is None or not isinstance(logprob, int | float):
            continue
        known = [(each, value) for text, value in top if (each := _find_id(text)) is not None]
        ranked = tuple(sorted(known, key=lambda pair: -pair[1]))
        rank = 1 + sum(value > logprob for _, value in ranked)
        found.append(TokenLogprobs(token_id=token_id, logprob=logprob, rank=rank, top=ranked))
    return found


def _tops(given: Any) -> list[tuple[str, float]]:
    entries = map(as_object, given if isinstance(given, list) else ())
    return [(as_text(each.get("token")), each.get("logprob", 0.0)) for each in entries]


def _find_id(name: object) -> int | None:
    digits = as_text(name).removeprefix("token_id:")
    return int(digits) if digits != name and digits.isdecimal() else None
