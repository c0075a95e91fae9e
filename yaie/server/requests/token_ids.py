"""Lists of token ids in bodies: checked ids, and banned words as token sequences."""

from __future__ import annotations

from collections.abc import Sequence

from yaie.base.errors import InvalidRequest
from yaie.server.requests.checks import MAX_STOP_CHARS
from yaie.text.tokenizer import Tokenizer

_INT64 = 2**63


def checked_ids(ids: Sequence[int] | None, param: str, vocab_size: int) -> tuple[int, ...]:
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
    """Return the runs of tokens of each word, with and without a space in front.

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
