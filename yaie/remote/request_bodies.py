"""Request bodies for a server, from the arguments of `LLM`'s methods."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yaie.api.prompt_kinds import (
    GrammarLike,
    Message,
    Prompt,
    grammars_of,
    is_conversation,
    list_prompts,
    naming_index,
    plain_prompt,
)
from yaie.base.errors import InvalidRequest
from yaie.base.types import SAMPLING_FIELDS, Grammar, SamplingParams

CHAT, COMPLETION = "/v1/chat/completions", "/v1/completions"
Sampling = SamplingParams | Mapping[str, Any] | None
# A server's defaults for these differ, mostly by the model's recommendation.
_ALWAYS_SENT = ("max_tokens", "temperature", "top_p")


@dataclass(frozen=True, slots=True)
class Question:
    """One request: its route, its body without the model, and its prompt if that is text."""

    route: str
    body: dict[str, Any]
    text: str | None = None


def text_questions(
    prompts: Prompt | Sequence[Prompt],
    samplings: Sampling | Sequence[Sampling],
    grammar: GrammarLike | Sequence[GrammarLike | None] | None,
    fields: Mapping[str, Any],
) -> list[Question]:
    """Return one request for each prompt. Raises `InvalidRequest` with the index of a wrong one."""
    listed = list_prompts(prompts)
    plain: list[str | tuple[int, ...]] = []
    for index, prompt in enumerate(listed):
        with naming_index(index, len(listed)):
            plain.append(plain_prompt(prompt))
    shared = _bodies(len(listed), samplings, grammar, fields, is_chat=False)
    return [
        Question(COMPLETION, {"prompt": prompt} | body, prompt if isinstance(prompt, str) else None)
        for prompt, body in zip(plain, shared, strict=True)
    ]


def chat_questions(
    messages: str | Sequence[Message] | Sequence[str | Sequence[Message]],
    samplings: Sampling | Sequence[Sampling],
    grammar: GrammarLike | Sequence[GrammarLike | None] | None,
    fields: Mapping[str, Any],
) -> list[Question]:
    """Return one request for each conversation; text is one message of the user.

    Raises `InvalidRequest` with the index of the first wrong one.
    """
    is_one = isinstance(messages, str) or is_conversation(messages)
    listed: list[Any] = [messages] if is_one else list(messages)
    shared = _bodies(len(listed), samplings, grammar, fields, is_chat=True)
    questions = []
    for index, (conversation, body) in enumerate(zip(listed, shared, strict=True)):
        with naming_index(index, len(listed)):
            questions.append(Question(CHAT, {"messages": _messages(conversation)} | body))
    return questions


def either_body(content: str | Sequence[Message] | Prompt) -> dict[str, Any]:
    """Return the body field for a prompt or a conversation. Raises `InvalidRequest`."""
    if is_conversation(content):
        return {"messages": list(content)}
    return {"prompt": plain_prompt(content)}


def _messages(conversation: object) -> list[Message]:
    if isinstance(conversation, str):
        return [{"role": "user", "content": conversation}]
    if not is_conversation(conversation):
        raise InvalidRequest(
            "a conversation must be text, or a list of messages, each a mapping with a role",
            param="messages",
        )
    return list(conversation)


def _bodies(
    count: int,
    samplings: Sampling | Sequence[Sampling],
    grammar: GrammarLike | Sequence[GrammarLike | None] | None,
    fields: Mapping[str, Any],
    *,
    is_chat: bool,
) -> list[dict[str, Any]]:
    """Return each request's fields in addition to the prompt, without unset fields."""
    given = {name: value for name, value in fields.items() if value is not None}
    listed = samplings if isinstance(samplings, list | tuple) else [samplings] * count
    if len(listed) != count:
        raise InvalidRequest(
            f"{len(listed)} sampling_params for {count} prompts; give one, or one for each",
            param="sampling_params",
        )
    return [
        {**sampling_fields(sampling, is_chat=is_chat), **fields_of(each), **given}
        for sampling, each in zip(listed, grammars_of(grammar, count), strict=True)
    ]


def sampling_fields(given: object, *, is_chat: bool) -> dict[str, Any]:
    """Return parameters as body fields; a mapping already contains such fields.

    `SamplingParams` fields at their default are omitted, except `max_tokens`, `temperature` and
    `top_p`. Raises `InvalidRequest` for parameters that servers lack.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, SamplingParams):
        raise InvalidRequest(
            f"sampling_params must be SamplingParams or a mapping, got {type(given).__name__}",
            param="sampling_params",
        )
    fields: dict[str, Any] = {}
    for name, each in SAMPLING_FIELDS.items():
        value = getattr(given, name)
        if value is not None and (name in _ALWAYS_SENT or value != each.default):
            fields[name] = value
    if "bad_words_token_ids" in fields:
        raise InvalidRequest(
            "the HTTP API has no bad_words_token_ids; give bad_words=[text, ...]",
            param="bad_words_token_ids",
        )
    if (most := fields.pop("logprobs", None)) is not None:
        fields |= {"logprobs": True, "top_logprobs": most} if is_chat else {"logprobs": most}
        fields["return_tokens_as_token_ids"] = True  # outputs name tokens by their ids
    return fields


def fields_of(grammar: Grammar | None) -> dict[str, Any]:
    """Return the body fields for a grammar, OpenAI's fields where they exist."""
    if grammar is None:
        return {}
    if grammar.kind == "json_schema":
        schema = json.loads(grammar.source)
        form = {"name": "answer", "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    value = json.loads(grammar.source) if grammar.kind == "choice" else grammar.source
    return {"structured_outputs": {grammar.kind: value}}
