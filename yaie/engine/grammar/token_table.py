"""Token table: builds llguidance's tokenizer for a model in chunks, between which the engine steps.

llguidance builds a tokenizer in calls that hold the interpreter lock. Reading a byte-level
tokenizer from JSON is the longest call, so its tokens are passed as bytes, and the tables that
speed up masks are built in a separate call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import msgspec
from llguidance import LLTokenizer

if TYPE_CHECKING:
    from llguidance import TokenizerWrapper

    from yaie.text.tokenizer import Tokenizer  # it imports transformers: seconds of a start

_SPECIAL = b"\xff"  # llguidance's mark of a token that is no text
_SLICE = 512  # tokens read at a time: a fraction of a millisecond
# Classes of tokens that a grammar often allows as a whole: text inside a JSON string, and a
# substring that fits under a maxLength. llguidance's other defaults save no time in JSON.
SLICES = [r'[^"\\\x00-\x1F\x7F]{1,30}', r'[^"\\\x00-\x1F\x7F]+']

_PAUSE_S = 1e-4  # long enough for a thread that waits for the interpreter lock
_LONG_PAUSE_S = 0.02  # for steps between two long calls, of a large vocabulary
_LARGE = 2**15


class PackedTokens(msgspec.Struct, frozen=True):
    """A model's tokenizer as plain values: its JSON, and its tokens as bytes if it has them."""

    vocab_size: int
    end_token_ids: list[int]
    json: str
    tokens: list[bytes] = []


def pack_tokens(
    tokenizer: Tokenizer, *, vocab_size: int, end_token_ids: Sequence[int]
) -> PackedTokens:
    """Return a tokenizer's tokens. Raises `ValueError` if it has more of them than logits."""
    ends, json = list(end_token_ids), tokenizer.fast.to_str()
    if not tokenizer.is_byte_level or not ends:
        return PackedTokens(vocab_size, ends, json)
    table = TokenTable(tokenizer, vocab_size=vocab_size, eos_token_id=ends[0])
    return PackedTokens(vocab_size, ends, json, list(table.tokens))


def _pause() -> None:
    time.sleep(_PAUSE_S)


class TokenTable:
    """Tokens of a byte-level tokenizer, with the interface of llguidance's `TokenizerWrapper`."""

    is_tokenizer_wrapper = True
    bos_token_id = None
    special_token_ids: Sequence[int] = ()  # `tokens` mark them

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        vocab_size: int,
        eos_token_id: int,
        pause: Callable[[], None] = _pause,
    ) -> None:
        """Read the tokens; `pause` lets other threads run and is called every few hundred tokens.

        `vocab_size` is the width of the logits: ids without a token get a name that is no text.
        Raises `ValueError` if the tokenizer has more tokens.
        """
        if tokenizer.vocab_size > vocab_size:
            raise ValueError(
                f"the tokenizer has {tokenizer.vocab_size} tokens, the model {vocab_size} logits"
            )
        self.eos_token_id = eos_token_id
        self._fast = tokenizer.fast
        added = tokenizer.fast.get_added_tokens_decoder()
        special = {
            token_id: token.content
            for token_id, token in added.items()
            if token.special or (token.content.startswith("<") and token.content.endswith(">"))
        }
        tokens: list[bytes] = []
        for start in range(0, vocab_size, _SLICE):
            for token_id in range(start, min(start + _SLICE, vocab_size)):
                if token_id in special:
                    tokens.append(_SPECIAL + special[token_id].encode())
                else:  # also of a vocabulary with gaps
                    tokens.append(tokenizer.bytes_of(token_id) or _SPECIAL + b"<[%d]>" % token_id)
            pause()
        self.tokens: Sequence[bytes] = tokens

    def __call__(self, text: str) -> list[int]:
        """Return `text` as token ids."""
        batch = self._fast.encode_batch_fast([text], add_special_tokens=False)
        ids: list[int] = batch[0].ids
        return ids

    def forget(self) -> None:
        """Free the tokens, once llguidance has read them."""
        self.tokens = ()


def make_tokenizer(
    tokenizer: Tokenizer, *, vocab_size: int, end_token_ids: Sequence[int]
) -> LLTokenizer:
    """Return llguidance's version of a tokenizer. Raises `ValueError` if it is unsupported."""
    if not tokenizer.is_byte_level or not end_token_ids:
        return LLTokenizer(
            tokenizer.fast.to_str(),
            n_vocab=vocab_size,
            eos_token=list(end_token_ids) or None,
            slices=SLICES,
        )
    pause_s = _LONG_PAUSE_S if vocab_size > _LARGE else 0.0
    time.sleep(pause_s)  # `tokenizer` may have been read just now
    table = TokenTable(tokenizer, vocab_size=vocab_size, eos_token_id=end_token_ids[0])
    unsliced = LLTokenizer(
        cast("TokenizerWrapper", table),
        n_vocab=vocab_size,
        eos_token=list(end_token_ids),
        slices=[],
    )
    table.forget()
    time.sleep(pause_s)
    return unsliced.with_slices(SLICES)
