"""Logprobs in OpenAI's two formats.

JSON has no infinity: an excluded token is shown with `LOWEST`.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from yaie.base.types import GenerationRequest, TokenLogprobs
from yaie.server.schemas.generation_replies import (
    ChatLogprobs,
    PromptLogprob,
    TextLogprobs,
    TokenLogprob,
    TopLogprob,
)
from yaie.text.tokenizer import Tokenizer

LOWEST = -9999.0


def chat_logprobs(
    tokenizer: Tokenizer, given: Sequence[TokenLogprobs], *, by_id: bool = False
) -> ChatLogprobs:
    """Return `logprobs` of a chat choice: one entry per token, with its bytes."""
    return ChatLogprobs(content=token_logprobs(tokenizer, given, by_id=by_id))


def token_logprobs(
    tokenizer: Tokenizer, given: Sequence[TokenLogprobs], *, by_id: bool = False
) -> list[TokenLogprob]:
    """Return one entry per token, with its bytes and its most likely alternatives.

    by_id: tokens are named by their ids.
    """
    found = []
    for one in given:
        raw = tokenizer.token_bytes(one.token_id)
        entry = TokenLogprob(
            token=_chat_name(by_id, one.token_id, raw),
            logprob=max(one.logprob, LOWEST),
            bytes=list(raw),
            top_logprobs=[_top_logprob(tokenizer, by_id, *top) for top in one.top],
        )
        found.append(entry)
    return found


def _id_name(token_id: int) -> str:
    return f"token_id:{token_id}"


def _chat_name(by_id: bool, token_id: int, raw: bytes) -> str:
    return _id_name(token_id) if by_id else raw.decode("utf-8", "replace")


def _top_logprob(tokenizer: Tokenizer, by_id: bool, token_id: int, logprob: float) -> TopLogprob:
    raw = tokenizer.token_bytes(token_id)
    name = _chat_name(by_id, token_id, raw)
    return TopLogprob(token=name, logprob=max(logprob, LOWEST), bytes=list(raw))


def prompt_logprobs(
    tokenizer: Tokenizer, given: Sequence[TokenLogprobs | None], num_top: int
) -> msgspec.Raw:
    """Return vLLM's `prompt_logprobs` as JSON: null, then maps by token id.

    Each map has the prompt's own token and the `num_top` most likely ones.
    """
    return msgspec.Raw(
        msgspec.json.encode(
            [None if one is None else _by_id(tokenizer, one, num_top) for one in given]
        )
    )


def _by_id(tokenizer: Tokenizer, one: TokenLogprobs, num_top: int) -> dict[int, PromptLogprob]:
    top = [(token_id, logprob, at + 1) for at, (token_id, logprob) in enumerate(one.top[:num_top])]
    return {
        token_id: PromptLogprob(
            logprob=max(logprob, LOWEST),
            rank=rank,
            decoded_token=tokenizer.token_bytes(token_id).decode("utf-8", "replace"),
        )
        for token_id, logprob, rank in ((one.token_id, one.logprob, one.rank), *top)
    }


@dataclass(frozen=True, slots=True)
class EchoedLogprobs:
    """`logprobs` of an echoed prompt, encoded once for all its choices."""

    lists: dict[str, bytes]  # entries of each list as JSON, without the brackets
    text_len: int
    decoder_state: tuple[bytes, int]  # a prompt may end within a character

    def before(self, own: TextLogprobs) -> TextLogprobs:
        """Return the prompt's lists followed by the completion's lists."""
        joined: dict[str, Any] = {}
        for name, entries in self.lists.items():
            both = filter(None, (entries, msgspec.json.encode(getattr(own, name))[1:-1]))
            joined[name] = msgspec.Raw(b"[" + b",".join(both) + b"]")
        return TextLogprobs(**joined)


class CompletionLogprobs:
    """Writer of text completion `logprobs`; offsets continue from chunk to chunk."""

    def __init__(
        self, tokenizer: Tokenizer, skip_special_tokens: bool, *, by_id: bool = False
    ) -> None:
        """`by_id`: tokens are named by their ids."""
        self._tokenizer = tokenizer
        self._by_id = by_id
        self._skips = skip_special_tokens
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write_echo(
        self, token_ids: Sequence[int], given: Sequence[TokenLogprobs | None], echo: str
    ) -> EchoedLogprobs:
        """Return the logprobs of a prompt with the text `echo`."""
        lists = msgspec.structs.asdict(self.write(token_ids, given, echo))
        return EchoedLogprobs(
            {name: msgspec.json.encode(entries)[1:-1] for name, entries in lists.items()},
            len(echo),
            self._decoder.getstate(),
        )

    def continue_after(self, echoed: EchoedLogprobs) -> None:
        """Continue the offsets after the prompt."""
        self._offset = echoed.text_len
        self._decoder.setstate(echoed.decoder_state)

    def write(
        self,
        token_ids: Sequence[int],
        given: Sequence[TokenLogprobs | None],
        echo: str | None = None,
    ) -> TextLogprobs:
        """Return OpenAI's four parallel lists for some tokens; the first of a prompt has null.

        `echo`: text of the prompt if these are its tokens.
        """
        offsets = []
        for token_id in token_ids:
            offsets.append(self._offset)
            raw = self._tokenizer.token_bytes(token_id)
            is_shown = not self._skips or token_id not in self._tokenizer.special_ids
            if echo is not None and token_id in self._tokenizer.special_ids:
                # Shown if the client wrote it, hidden if the tokenizer added it.
                is_shown = echo.startswith(raw.decode("utf-8", "replace"), self._offset)
            if is_shown:
                self._offset += len(self._decoder.decode(raw))
        return TextLogprobs(
            tokens=[self._name(token_id) for token_id in token_ids],
            token_logprobs=[None if one is None else max(one.logprob, LOWEST) for one in given],
            top_logprobs=[None if one is None else self._top(one) for one in given],
            text_offset=offsets,
        )

    def _top(self, one: TokenLogprobs) -> dict[str, float]:
        top = one.top or ((one.token_id, one.logprob),)
        named: dict[str, float] = {}
        for token_id, logprob in top:
            # The first of several tokens with the same text is the most likely.
            named.setdefault(self._name(token_id), max(logprob, LOWEST))
        named.setdefault(self._name(one.token_id), max(one.logprob, LOWEST))
        return named

    def _name(self, token_id: int) -> str:
        """Return the token's text; a part of a character in OpenAI's form, so that names differ."""
        if self._by_id:
            return _id_name(token_id)
        raw = self._tokenizer.token_bytes(token_id)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)


def num_prompt_logprobs(requests: Iterable[GenerationRequest]) -> int:
    """Return the number of prompt log-probabilities that the requests will have."""
    return sum(
        (1 + request.sampling.prompt_logprobs) * (len(request.prompt_token_ids) - 1)
        for request in requests
        if request.sampling.prompt_logprobs is not None
    )


def num_logprobs(logprobs: Iterable[TokenLogprobs]) -> int:
    """Return the number of log-probabilities, alternatives included."""
    return sum(1 + len(each.top) for each in logprobs)
