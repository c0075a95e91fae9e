"""Prompts of bodies for explanations: token ids, the text around one, and the field of each.

Runs in the text threads. A body is read as by the endpoint that it is meant for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.server.anthropic.blocks import chat_messages
from yaie.server.anthropic.messages_translation import chat_of, translate_error
from yaie.server.explain.prompt_fields import SYSTEM, ChatParts, PromptField, common_length
from yaie.server.http.body import as_body
from yaie.server.requests.checks import check_common
from yaie.server.requests.digests import Digest
from yaie.server.requests.legacy_functions import with_tools
from yaie.server.requests.prompt_tokens import read_prompts
from yaie.server.requests.translator import Translator
from yaie.server.responses_api.responses_translation import chat_of_response
from yaie.server.schemas.base import RequestBody
from yaie.server.schemas.chat import ChatBody
from yaie.server.schemas.completions import CompletionBody
from yaie.server.schemas.messages import CountedMessagesBody
from yaie.server.schemas.responses import ResponsesBody
from yaie.text.tokenizer import Tokenizer

_BLOCKS = (
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
)  # types in Anthropic's messages


@dataclass(frozen=True, slots=True)
class ExplainedPrompt:
    """One prompt, as the engine would get it."""

    tokenizer: Tokenizer
    token_ids: Sequence[int]
    cache_salt: str
    parts: ChatParts | None = None  # set for a conversation
    digest: Digest | None = None
    keeps_start: bool = False  # a truncation cut the end

    def text(self, first: int, end: int) -> str:
        """Return the text of some tokens, special ones included."""
        return self.tokenizer.decode(list(self.token_ids[max(0, first) : end]), False)

    def field_at(self, position: int) -> PromptField:
        """Return the field that a token comes from."""
        if self.parts is None:
            return PromptField("prompt", is_around=False)
        text = self.parts.text
        (encoding,) = self.tokenizer.fast.encode_batch([text], add_special_tokens=False)
        cut = 0 if self.keeps_start else len(encoding.ids) - len(self.token_ids)
        at = min(max(0, position + cut), len(encoding.ids) - 1)
        first, end = encoding.offsets[at]
        return self.parts.field_at(self._first_other(first, end))

    def _first_other(self, first: int, end: int) -> int:
        """Return the first character of a token that is more than space, if there is one."""
        assert self.parts is not None
        token = self.parts.text[first:end]
        return first + len(token) - len(token.lstrip()) if token.strip() else first


def read_prompt(translator: Translator, fields: dict[str, Any]) -> ExplainedPrompt:
    """Return the prompt of a body. Raises `InvalidRequest` or a subclass."""
    if fields.get("messages") is not None:
        if fields.get("prompt") is not None:
            raise InvalidRequest("prompt and messages exclude each other; send one of them")
        return _read_chat(translator, fields)
    if fields.get("prompt") is None:
        raise InvalidRequest("prompt or messages is required", param="prompt")
    body = as_body(fields, CompletionBody)
    check_common(body)
    given = read_prompts(body)
    if len(given) > 1:
        raise InvalidRequest(f"prompt has {len(given)} entries; send one prompt", param="prompt")
    ((name, prompt),) = given.items()
    ids = translator.prompts.encode_unchecked(prompt, body, name, body.max_tokens)
    return _check(translator, ids, body.cache_salt, name)


def prompt_of_body(translator: Translator, body: RequestBody) -> ExplainedPrompt:
    """Return the prompt of a checked body. Raises `InvalidRequest` or a subclass."""
    if isinstance(body, ResponsesBody):
        chat, names = chat_of_response(body)
        return _chat_prompt(translator, chat, names, chat.cache_salt)
    fields = body.model_dump(exclude_unset=True)
    if isinstance(body, CountedMessagesBody):
        return _read_messages(translator, fields)
    return read_prompt(translator, fields)


def _read_chat(translator: Translator, fields: dict[str, Any]) -> ExplainedPrompt:
    if is_anthropic(fields):
        return _read_messages(translator, fields)
    chat = as_body(fields, ChatBody)
    names = [f"messages[{at}]" for at in range(len(chat.messages))]
    return _chat_prompt(translator, chat, names, chat.cache_salt)


def _read_messages(translator: Translator, fields: dict[str, Any]) -> ExplainedPrompt:
    body = as_body(fields, CountedMessagesBody)
    chat = chat_of(translator, body)
    try:
        return _chat_prompt(translator, chat, _names_of(body), fields.get("cache_salt"))
    except InvalidRequest as error:
        raise translate_error(error) from None


def _chat_prompt(
    translator: Translator, chat: ChatBody, names: list[str], salt: Any
) -> ExplainedPrompt:
    check_common(chat)
    ids = translator.chat_prompt(chat)
    shown = with_tools(chat)
    parts = ChatParts(shown, translator.chat_text, names)
    prompt = _check(translator, ids, salt, "messages")
    return replace(
        prompt,
        parts=parts,
        digest=translator.digest(shown),
        keeps_start=chat.truncation_side == "right",
    )


def _check(
    translator: Translator,
    ids: Sequence[int],
    salt: Any,
    name: str,
) -> ExplainedPrompt:
    if not ids:
        raise InvalidRequest(f"{name} has no tokens; send at least one", param=name)
    if salt is not None and not isinstance(salt, str):
        raise InvalidRequest("cache_salt must be a string", param="cache_salt")
    return ExplainedPrompt(translator.tokenizer, ids, salt or "")


def is_anthropic(fields: dict[str, Any]) -> bool:
    """Return whether a conversation is in the form of Anthropic's API."""
    if fields.get("system") is not None or fields.get("thinking") is not None:
        return True
    tools = fields.get("tools")
    if isinstance(tools, list) and any("input_schema" in t for t in tools if isinstance(t, dict)):
        return True
    contents = [
        message.get("content") for message in fields["messages"] if isinstance(message, dict)
    ]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return any(block.get("type") in _BLOCKS for block in blocks if isinstance(block, dict))


def _names_of(body: CountedMessagesBody) -> list[str]:
    """Return the source field of each chat message that a body becomes."""
    names = [SYSTEM] * len(chat_messages(body.system, []))
    before: list[Any] = []
    for at, message in enumerate(body.messages):
        alone = len(chat_messages(None, before)) if before else 0
        both = chat_messages(None, [*before, message])  # neighbours of one role are joined
        names += [f"messages[{at}]"] * (len(both) - alone)
        before = [message]
    return names


def count_shared(one: ExplainedPrompt, other: ExplainedPrompt) -> int:
    """Return the number of leading tokens that two prompts share."""
    return common_length(list(one.token_ids), list(other.token_ids))
