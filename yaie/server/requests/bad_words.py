"""Texts that an answer must not contain, as the runs of tokens that the tokenizer makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from yaie.base.errors import InvalidRequest
from yaie.server.requests.checks import MAX_STOP_CHARS
from yaie.text.tokenizer import Tokenizer


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
