"""Tokens of prompts without an answer: their number, their ids, and their text.

Runs in the text threads. A conversation is tokenized as by `/v1/chat/completions`, a prompt as by
`/v1/completions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.server.http.body import as_body
from yaie.server.requests.checks import check_common
from yaie.server.requests.prompt_tokens import read_prompts
from yaie.server.requests.translator import Translator
from yaie.server.schemas.chat import ChatBody
from yaie.server.schemas.completions import CompletionBody
from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.server.schemas.tokens import (
    CachedTokenCount,
    CountedBody,
    DetokenizeBody,
    DetokenizedText,
    TokenizeBody,
    TokenList,
)

MAX_LISTED_TOKENS = 2**20  # limit per reply or body


@dataclass(frozen=True, slots=True)
class Tokens:
    """Answer about the tokens of a body."""

    reply: ReplyStruct
    ignored: tuple[str, ...] = ()  # names of fields without effect
    prompts: tuple[tuple[int, ...], ...] = ()  # those whose cached tokens are asked for
    cache_salt: str = ""


def count_tokens(translator: Translator, body: CountedBody) -> Tokens:
    """Return the `prompt_tokens` that the usage of the whole request would have."""
    fields = body.fields
    prompts, ignored = _prompts(translator, fields)
    reply = CachedTokenCount(count=sum(map(len, prompts)), max_model_len=translator.max_model_len)
    if not body.return_cached_tokens:
        return Tokens(reply, ignored)
    return Tokens(reply, ignored, tuple(map(tuple, prompts)), fields.get("cache_salt") or "")


def tokenize(translator: Translator, body: TokenizeBody) -> Tokens:
    """Return the token ids of one prompt or conversation. Raises `InvalidRequest`."""
    fields = body.fields
    with_texts = fields.pop("return_token_strs", None)
    if body.messages is None and not isinstance(body.prompt, str):
        raise InvalidRequest("prompt must be a string; or send messages", param="prompt")
    (tokens,), ignored = _prompts(translator, fields)
    _check_number(len(tokens), "prompt" if body.messages is None else "messages")
    to_text = translator.tokenizer.fast.id_to_token
    reply = TokenList(
        count=len(tokens),
        max_model_len=translator.max_model_len,
        tokens=tokens,
        token_strs=[to_text(token) for token in tokens] if with_texts else None,
    )
    return Tokens(reply, ignored)


def detokenize(translator: Translator, body: DetokenizeBody) -> Tokens:
    """Return the text of tokens, special ones included. Raises `InvalidRequest`."""
    _check_number(len(body.tokens), "tokens")
    ids = translator.prompts.token_ids(body.tokens, "tokens")
    text = translator.tokenizer.decode(ids, skip_special_tokens=False)
    return Tokens(DetokenizedText(prompt=text))


def _prompts(
    translator: Translator, fields: dict[str, Any]
) -> tuple[list[list[int]], tuple[str, ...]]:
    """Return each prompt's token ids, and the names of fields without effect."""
    if fields.get("messages") is not None:
        if fields.get("prompt") is not None:
            raise InvalidRequest("prompt and messages exclude each other; send one of them")
        chat = as_body(fields, ChatBody)
        check_common(chat)
        return [translator.chat_prompt(chat)], translator.list_ignored(chat)
    if fields.get("prompt") is None:
        raise InvalidRequest("prompt or messages is required", param="prompt")
    text = as_body(fields, CompletionBody)
    check_common(text)
    given = read_prompts(text)
    prompts = [
        translator.prompts.encode_unchecked(prompt, text, name, text.max_tokens)
        for name, prompt in given.items()
    ]
    return prompts, translator.list_ignored(text)


def _check_number(number: int, name: str) -> None:
    if number > MAX_LISTED_TOKENS:
        raise InvalidRequest(
            f"{name} has {number} tokens; at most {MAX_LISTED_TOKENS} are listed. Send it in parts",
            param=name,
        )
