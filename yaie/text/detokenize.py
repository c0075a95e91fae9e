"""Incremental detokenization: whole characters only, each token decoded once.

`SequenceText` has one `Detokenizer` per sequence. Byte-level tokenizers (most of today's) use an
incremental UTF-8 decoder over the tokens' bytes; all others use the DecodeStream of the
`tokenizers` library.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Protocol

from tokenizers.decoders import DecodeStream

from yaie.text.tokenizer import Tokenizer

_CONTEXT_TOKENS = 6  # prompt tokens that tell a stream decoder whether a word continues
_MAX_HELD_TOKENS = 32  # without text from the stream decoder


class Detokenizer(Protocol):
    """Decoder of one sequence's tokens."""

    def push(self, token_ids: Sequence[int]) -> str:
        """Add tokens; return the text certain now."""

    def flush(self) -> str:
        """Return the text still held back, at the end; unfinished characters as U+FFFD."""


def make_detokenizer(
    tokenizer: Tokenizer,
    prompt_token_ids: Sequence[int],
    skip_special_tokens: bool = True,
    markers: Collection[str] = (),
) -> Detokenizer:
    """Return the detokenizer for a continuation of `prompt_token_ids`.

    `markers` are special token texts that are shown all the same.
    """
    shown = {tokenizer.marker_ids[marker] for marker in markers if marker in tokenizer.marker_ids}
    skipped = tokenizer.special_ids - shown if skip_special_tokens else frozenset[int]()
    kind = ByteDetokenizer if tokenizer.is_byte_level else StreamDetokenizer
    return kind(tokenizer, prompt_token_ids, skipped)


class ByteDetokenizer:
    """Decoder for byte-level tokenizers; its text equals decoding all tokens at once."""

    def __init__(
        self, tokenizer: Tokenizer, prompt_token_ids: Sequence[int], skipped: frozenset[int]
    ) -> None:
        self._token_bytes = tokenizer.token_bytes
        self._skipped = skipped
        self._unfinished = b""  # beginning of a character
        # A prompt may end inside a character; the sequence completes it.
        tail = b"".join(map(self._token_bytes, prompt_token_ids[-4:]))[-4:]
        self._decode(tail)
        self._has_own_bytes = False  # until then an unfinished character is the prompt's

    def push(self, token_ids: Sequence[int]) -> str:
        """Add tokens; return the text certain now."""
        kept = [token_id for token_id in token_ids if token_id not in self._skipped]
        own_bytes = b"".join(map(self._token_bytes, kept))
        self._has_own_bytes = self._has_own_bytes or bool(own_bytes)
        return self._decode(own_bytes)

    def flush(self) -> str:
        """Return an unfinished character as U+FFFD, unless all of it is the prompt's."""
        rest = self._unfinished.decode(errors="replace")
        self._unfinished = b""
        return rest if self._has_own_bytes else ""

    def _decode(self, own_bytes: bytes) -> str:
        found = self._unfinished + own_bytes
        text, num_decoded = codecs.utf_8_decode(found, "replace", False)
        self._unfinished = found[num_decoded:]
        return text


class StreamDetokenizer:
    """Decoder for tokenizers whose text of a token depends on its neighbours."""

    def __init__(
        self, tokenizer: Tokenizer, prompt_token_ids: Sequence[int], skipped: frozenset[int]
    ) -> None:
        self._fast = tokenizer.fast
        self._skipped = skipped
        # The library skips all special tokens or none.
        self._skips_all = bool(skipped) and skipped == tokenizer.special_ids
        self._shown = self._context(prompt_token_ids)  # the last tokens with published text
        self._held: list[int] = []
        self._restart()

    def push(self, token_ids: Sequence[int]) -> str:
        """Add tokens; return the text certain now."""
        pieces = []
        for token_id in token_ids:
            if token_id in self._skipped and not self._skips_all:
                continue
            self._held.append(token_id)
            try:
                piece = self._stream.step(self._fast, token_id)
            except Exception:  # any error: the text so far would have been another
                pieces.append(self.flush())
                continue
            if piece is not None:
                pieces.append(piece)
                self._take_held()
            elif len(self._held) > _MAX_HELD_TOKENS:
                pieces.append(self.flush())
        return "".join(pieces)

    def flush(self) -> str:
        """Return the text still held back, unfinished characters as U+FFFD."""
        if not self._held:
            return ""
        text = self._decode(self._shown + self._held)
        while not text.startswith(before := self._decode(self._shown)):
            # An invalid byte breaks the characters before it, and those are published.
            del self._shown[-1]
            text = self._decode(self._shown + self._held)
        self._take_held()
        self._restart()
        return text[len(before) :]

    def _take_held(self) -> None:
        self._shown = self._context(self._shown + self._held)
        self._held = []

    def _context(self, token_ids: Sequence[int]) -> list[int]:
        """Return the last tokens with text."""
        shown = (token for token in reversed(token_ids) if token not in self._skipped)
        return list(islice(shown, _CONTEXT_TOKENS))[::-1]

    def _restart(self) -> None:
        for first in range(min(4, len(self._shown))):  # it may begin inside a character
            if not self._decode(self._shown[first:]).endswith("\ufffd"):
                self._shown = self._shown[first:]
                break
        while self._decode(self._shown).endswith("\ufffd"):
            del self._shown[-1]  # the stream would repeat a broken or unfinished end as new text
        self._stream = DecodeStream(ids=self._shown, skip_special_tokens=self._skips_all)

    def _decode(self, ids: list[int]) -> str:
        text: str = self._fast.decode(ids, skip_special_tokens=self._skips_all)
        return text
