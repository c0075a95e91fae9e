"""Prompts of bodies as token ids: their forms, their truncation and the room in the context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yaie.base.errors import ContextLengthExceeded, InvalidRequest
from yaie.base.types import MAX_SEQUENCES_PER_REQUEST, EngineInfo
from yaie.server.requests.checks import MAX_STOP_CHARS
from yaie.server.schemas.completions import CompletionBody
from yaie.server.schemas.shared_fields import GenerationBody
from yaie.text.tokenizer import TextKind, Tokenizer, tokens_of

_INT64 = 2**63
_LEAST_MOST_TOKENS, _MAX_CONTEXTS = 2**17, 4  # the larger: about a second's work


class Prompts:
    """Reader of prompts for one tokenizer and one ready engine."""

    def __init__(self, tokenizer: Tokenizer, info: EngineInfo) -> None:
        self._tokenizer = tokenizer
        self._info = info

    def encode(
        self, prompt: object, body: CompletionBody, name: str, max_tokens: int | None
    ) -> list[int]:
        """Return a prompt's token ids, checked before the next prompt is encoded.

        `max_tokens`: the client's own limit. Raises `InvalidRequest` or a subclass.
        """
        ids = self.encode_unchecked(prompt, body, name, max_tokens, self._info.max_model_len)
        self.check(ids, name, body)
        return ids

    def encode_unchecked(
        self,
        prompt: object,
        body: CompletionBody,
        name: str,
        max_tokens: int | None,
        longest: int | None = None,
    ) -> list[int]:
        """Return a prompt's token ids. Raises as `encode`, if far over `longest`.

        A text without `longest`, or to be truncated, is limited by `most_tokens`.
        """
        kept = self.find_kept(body, max_tokens)
        if isinstance(prompt, str):
            adds = body.add_special_tokens is not False
            limit = self.limit(longest if kept is None else None)
            ids = self._tokenizer.encode(prompt, adds, limit[0], name, limit[1])
        else:
            ids = self.token_ids(prompt, name)
        return ids if kept is None else ids[kept]

    def limit(self, longest: int | None) -> tuple[int, TextKind]:
        """Return a prompt's most tokens and its kind; without `longest` it is a long prompt."""
        if longest is not None:
            return longest, "prompt"
        return most_tokens(self._info), "long prompt"

    def find_kept(self, body: GenerationBody, max_tokens: int | None) -> slice | None:
        """Return which of a prompt's tokens to keep; None keeps all.

        Raises `InvalidRequest` for an unknown side or a number that is out of range.
        """
        side = body.truncation_side or "left"
        if side not in ("left", "right"):
            raise InvalidRequest(
                f"truncation_side must be 'left' or 'right', got {side!r}", param="truncation_side"
            )
        kept = body.truncate_prompt_tokens
        if kept is None:
            return None
        longest = self._info.max_model_len
        if kept == -1:
            kept = longest - reserve_tokens(max_tokens, longest)
        if not 1 <= kept < longest:
            raise InvalidRequest(
                f"truncate_prompt_tokens must be -1, or between 1 and {longest - 1}, got {kept}",
                param="truncate_prompt_tokens",
            )
        return slice(kept) if side == "right" else slice(-kept, None)

    def token_ids(self, ids: object, where: str) -> list[int]:
        """Return the ids if they are a list of this model's. Raises `InvalidRequest`."""
        if not isinstance(ids, list):
            raise InvalidRequest(f"{where} must be a string or a list of token ids", param=where)
        if set(map(type, ids)) - {int}:  # bool is a subclass of int
            at = next(at for at, each in enumerate(ids) if type(each) is not int)
            raise InvalidRequest(f"{where}[{at}] must be a token id", param=f"{where}[{at}]")
        if ids:
            for token_id in (min(ids), max(ids)):
                if not 0 <= token_id < self._info.vocab_size:
                    param = f"{where}[{ids.index(token_id)}]"
                    raise no_such_token(token_id, param, self._info.vocab_size)
        return ids

    def check(self, prompt: list[int], name: str, body: GenerationBody) -> None:
        """Refuse a prompt without room for one token, or for `min_tokens`.

        Raises `InvalidRequest` or `ContextLengthExceeded`.
        """
        longest = self._info.max_model_len
        length = len(prompt)
        if not prompt:
            raise InvalidRequest(f"{tokens_of(name, 'no')}; send at least one", param=name)
        if length >= longest:
            raise ContextLengthExceeded(
                f"{context_limit(self._info)}, but {tokens_of(name, length)} and the completion "
                "needs at least one, so the prompt is too long; shorten it",
                param=name,
            )
        room = longest - length
        if (body.min_tokens or 0) > room:
            raise ContextLengthExceeded(
                f"{context_limit(self._info)}, but {tokens_of(name, length)} and min_tokens is "
                f"{body.min_tokens}; shorten the prompt or lower min_tokens to {room}",
                param="min_tokens",
            )


def most_tokens(info: EngineInfo) -> int:
    """Return the most tokens of a text that is counted, listed or truncated."""
    return max(_LEAST_MOST_TOKENS, _MAX_CONTEXTS * info.max_model_len)


def reserve_tokens(max_tokens: int | None, max_model_len: int) -> int:
    """Return how many tokens a truncated prompt leaves to the answer.

    Half of the context for a `max_tokens` that no prompt could leave.
    """
    wanted = max_tokens or 1
    return wanted if wanted < max_model_len else max_model_len // 2


def context_limit(info: EngineInfo) -> str:
    """Return the fact in OpenAI's words: client libraries recognize the error by them.

    Others look for Anthropic's words, "prompt is too long".
    """
    return f"this model's maximum context length is {info.max_model_len} tokens"


def read_prompts(body: CompletionBody) -> dict[str, Any]:
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


def check_ids(ids: Sequence[int] | None, param: str, vocab_size: int) -> tuple[int, ...]:
    """Return the ids of field `param`. Raises `InvalidRequest` with the place of a wrong one."""
    for at, token_id in enumerate(ids or ()):
        if not 0 <= token_id < vocab_size:
            raise no_such_token(token_id, f"{param}[{at}]", vocab_size)
    return tuple(ids or ())


def no_such_token(token_id: int, param: str, vocab_size: int) -> InvalidRequest:
    """Return the error of an id beyond the vocabulary."""
    shown = str(token_id) if abs(token_id) < _INT64 else "a number of more than 64 bits"
    return InvalidRequest(
        f"{param} has the token id {shown}; this model's ids are 0 to {vocab_size - 1}",
        param=param,
    )


def bad_word_ids(words: Sequence[str], tokenizer: Tokenizer) -> tuple[tuple[int, ...], ...]:
    """Tokenize each word with and without a leading space.

    Raises `InvalidRequest` with the place of a word that is empty or too long.
    """
    runs: dict[tuple[int, ...], None] = {}
    for at, word in enumerate(words):
        param = f"bad_words[{at}]"
        if not word.strip() or len(word) > MAX_STOP_CHARS:
            raise InvalidRequest(
                f"{param} must have 1 to {MAX_STOP_CHARS} characters, not only spaces", param=param
            )
        for text in (word.lstrip(), " " + word.lstrip()):
            if run := tuple(tokenizer.encode(text, add_special_tokens=False)):
                runs[run] = None
    return tuple(runs)
