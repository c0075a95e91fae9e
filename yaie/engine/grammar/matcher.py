"""Grammar state of one answer: its matcher, allowed next tokens and forced tokens.

`GrammarCompiler` makes it; the sequence's `SamplingState` keeps it, also over preemptions. The
sampler reads its mask, and `observe` advances it. Free of torch.
"""

from __future__ import annotations

import numpy as np
from llguidance import LLMatcher
from numpy.typing import NDArray

from yaie.base.errors import InvalidRequest, first_line

Mask = NDArray[np.uint32]  # bit i % 32 of word i // 32 is set if token i is allowed

_BITS = 32


class GrammarState:
    """One answer's state under a grammar.

    End tokens never reach the matcher: an end token is allowed where the text is complete.
    """

    __slots__ = (
        "_end_token_ids",
        "_keeps_going",
        "_mask",
        "_matcher",
        "_no_ends",
        "is_over",
        "param",
    )

    def __init__(
        self, matcher: LLMatcher, *, param: str, vocab_size: int, end_token_ids: frozenset[int]
    ) -> None:
        """`param` is the caller's field, for errors; `end_token_ids` are the model's end tokens."""
        self._matcher = matcher
        self._end_token_ids = end_token_ids
        self._no_ends: Mask = np.full(-(-vocab_size // _BITS), 2**_BITS - 1, dtype=np.uint32)
        for token_id in end_token_ids:
            self._no_ends[token_id // _BITS] &= ~np.uint32(1 << token_id % _BITS)
        self._mask: Mask | None = None  # for the next token, once computed
        self.param = param
        self._keeps_going = False
        self.is_over = bool(matcher.is_stopped())  # nothing can follow

    def copy(self, *, param: str | None = None) -> GrammarState:
        """Return an independent state at the same position."""
        twin = object.__new__(GrammarState)
        twin._matcher = self._matcher.deep_copy()
        twin._end_token_ids = self._end_token_ids
        twin._no_ends = self._no_ends
        twin._mask = self._mask
        twin.param = self.param if param is None else param
        twin._keeps_going = self._keeps_going
        twin.is_over = self.is_over
        return twin

    def keep_going(self) -> None:
        """Exclude end tokens from now on while the text can grow."""
        self._keeps_going = True
        self._mask = None

    def is_end(self, token_id: int) -> bool:
        """Return True for a token that ends an answer and is absent from the text."""
        return token_id in self._end_token_ids

    def allows(self, token_id: int) -> bool:
        """Return True if `token_id` may come next; cheaper than a mask."""
        if self._mask is None and token_id not in self._end_token_ids:
            return self._matcher.validate_tokens([token_id]) == 1
        return bool(int(self.mask()[token_id // _BITS]) >> token_id % _BITS & 1)

    def mask(self) -> Mask:
        """Return the allowed tokens [ceil(vocabulary / 32)]; computed once for each token.

        Raises `InvalidRequest` if the grammar is too complex at this position.
        """
        if self._mask is None:
            filled = self._matcher.compute_bitmask()  # a word longer than needed
            mask = np.frombuffer(filled, dtype=np.uint32, count=len(self._no_ends))
            self._check()
            self._mask = mask
            if self._keeps_going and (growing := mask & self._no_ends).any():
                self._mask = growing
        return self._mask

    def must_end(self) -> bool:
        """Return True if only end tokens may come next."""
        return self.is_over or (
            self._matcher.is_accepting() and not (self.mask() & self._no_ends).any()
        )

    def observe(self, token_id: int) -> None:
        """Advance by one token.

        Raises `InvalidRequest` if the grammar is too complex, or excludes the token.
        """
        self._mask = None
        if token_id in self._end_token_ids:
            self.is_over = True
            return
        if not self._matcher.consume_token(token_id):
            self._check()
        self.is_over = self._matcher.is_stopped()

    def find_forced(self) -> list[int]:
        """Return the tokens that must come next, whatever the logits are; often none.

        They are the tokens into which the tokenizer itself divides that text.
        """
        return [] if self.is_over else self._matcher.compute_ff_tokens()

    def _check(self) -> None:
        if self._matcher.is_error():
            reason = first_line(ValueError(self._matcher.get_error()))
            raise InvalidRequest(
                f"{self.param} exceeded a limit of the grammar engine: {reason}; simplify it",
                param=self.param,
            )
