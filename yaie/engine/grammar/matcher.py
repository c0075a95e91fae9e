"""Grammar state of one answer: its matcher, allowed next tokens and forced tokens.

`GrammarCompiler` makes it; the sequence's `SamplingState` keeps it, also over preemptions. The
sampler reads its mask, and `observe` advances it. Free of torch.

A state is followed in the engine's step while that is cheap. A grammar beyond its budget there, or
beyond llguidance's limits, is followed in the grammar process from then on.
"""

from __future__ import annotations

import numpy as np
from llguidance import LLMatcher
from numpy.typing import NDArray

from yaie.base.errors import InvalidRequest, YaieError
from yaie.engine.grammar.grammar_cost import GrammarCost, Spending
from yaie.engine.grammar.grammar_faults import LIMIT_ERRORS, explain_error
from yaie.engine.grammar.grammar_worker import GrammarWorker, RemoteMatcher

Mask = NDArray[np.uint32]  # bit i % 32 of word i // 32 is set if token i is allowed

_BITS = 32


class MaskPending(YaieError):
    """The mask of this step is not known yet: its sequence waits, without an error."""


class GrammarState:
    """One answer's state under a grammar.

    End tokens never reach the matcher: an end token is allowed where the text is complete.
    """

    __slots__ = (
        "_end_token_ids",
        "_is_ahead",
        "_keeps_going",
        "_mask",
        "_matcher",
        "_no_ends",
        "_tokens",
        "_worker",
        "cost",
        "is_over",
        "param",
        "spending",
    )

    def __init__(
        self,
        matcher: LLMatcher | RemoteMatcher,
        worker: GrammarWorker,
        cost: GrammarCost,
        *,
        param: str,
        vocab_size: int,
        end_token_ids: frozenset[int],
    ) -> None:
        """`param` is the caller's field, for errors; `end_token_ids` are the model's end tokens."""
        self._matcher = matcher
        self._worker = worker
        self.cost = cost
        self.spending = Spending()
        self._tokens: list[int] = []  # consumed so far
        self._end_token_ids = end_token_ids
        self._no_ends: Mask = np.full(-(-vocab_size // _BITS), 2**_BITS - 1, dtype=np.uint32)
        for token_id in end_token_ids:
            self._no_ends[token_id // _BITS] &= ~np.uint32(1 << token_id % _BITS)
        self._mask: Mask | None = None  # for the next token, once computed
        self.param = param
        self._keeps_going = False
        self._is_ahead = False  # of its answer, for a draft
        self.is_over = bool(matcher.is_stopped())  # nothing can follow

    def copy(self, *, param: str | None = None) -> GrammarState:
        """Return an independent state at the same position; with `param` for another request."""
        twin = self._twin()
        twin.spending = self.spending.share() if param is None else Spending()
        twin._tokens = list(self._tokens)
        twin.param = self.param if param is None else param
        if isinstance(twin._matcher, RemoteMatcher):
            twin._matcher.spending = twin.spending
        return twin

    @property
    def can_look_ahead(self) -> bool:
        """True while the grammar is followed in the engine's step."""
        return isinstance(self._matcher, LLMatcher) and not self.cost.is_costly

    def fork(self) -> GrammarState:
        """Return a state that looks ahead for a draft; it never moves to the grammar process."""
        twin = self._twin()
        twin._is_ahead = True
        return twin

    def _twin(self) -> GrammarState:
        twin = object.__new__(GrammarState)
        twin._worker = self._worker
        twin.cost = self.cost
        twin.spending = self.spending
        twin._tokens = []
        twin._end_token_ids = self._end_token_ids
        twin._no_ends = self._no_ends
        twin._mask = self._mask
        twin.param = self.param
        twin._keeps_going = self._keeps_going
        twin._is_ahead = self._is_ahead
        twin.is_over = self.is_over
        twin._matcher = self._matcher.deep_copy()
        return twin

    def move(self) -> None:
        """Follow the grammar in the grammar process from here on."""
        if isinstance(self._matcher, LLMatcher) and not self._is_ahead:
            self.cost.is_costly = True
            self._matcher = RemoteMatcher(
                self._worker, self.cost.source, list(self._tokens), self.spending
            )
            self._mask = None
            self.is_over = False

    @property
    def is_ready(self) -> bool:
        """False while the grammar process computes the next mask."""
        if isinstance(self._matcher, LLMatcher):
            if not self.cost.is_costly:
                return True
            self.move()
            return False
        if self._mask is None and not self._matcher.is_ready:
            return False
        self.is_over = self.is_over or self._matcher.is_stopped()
        return True

    @property
    def knows_end(self) -> bool:
        """False while the grammar process has yet to tell if anything can follow."""
        return isinstance(self._matcher, LLMatcher) or self.is_ready

    def keep_going(self) -> None:
        """Exclude end tokens from now on while the text can grow."""
        self._keeps_going = True
        self._mask = None

    def is_end(self, token_id: int) -> bool:
        """Return True for a token that ends an answer and is absent from the text."""
        return token_id in self._end_token_ids

    def allows(self, token_id: int) -> bool:
        """Return True if `token_id` may come next; cheaper than a mask. Raises as `mask` does."""
        if (
            self._mask is None
            and token_id not in self._end_token_ids
            and isinstance(self._matcher, LLMatcher)
        ):
            began_s = self.cost.now()
            is_allowed = self._matcher.validate_tokens([token_id]) == 1
            self.cost.charge(began_s)
            return is_allowed
        return bool(int(self.mask()[token_id // _BITS]) >> token_id % _BITS & 1)

    def mask(self) -> Mask:
        """Return the allowed tokens [ceil(vocabulary / 32)]; computed once for each token.

        Raises `InvalidRequest` if the grammar is too complex at this position, `MaskPending` if the
        grammar process is still computing, `EngineUnavailable` without one.
        """
        if self._mask is None:
            began_s = self.cost.now()
            if isinstance(self._matcher, RemoteMatcher) and not self._matcher.is_ready:
                raise MaskPending("the mask is being computed")
            filled = self._matcher.compute_bitmask()  # a word longer than needed
            self._check()
            mask = np.frombuffer(filled, dtype=np.uint32, count=len(self._no_ends))
            self.cost.charge(began_s)
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
        self._tokens.append(token_id)
        began_s = self.cost.now()
        if not self._matcher.consume_token(token_id):
            try:
                self._check()
            except MaskPending:  # it was moved
                return
        self.is_over = self._matcher.is_stopped()
        self.cost.charge(began_s)

    def find_forced(self) -> list[int]:
        """Return the tokens that must come next, whatever the logits are; often none.

        They are the tokens into which the tokenizer itself divides that text.
        """
        return [] if self.is_over else self._matcher.compute_ff_tokens()

    def _check(self) -> None:
        """Raise the matcher's error; one of size in the engine's step only moves the state."""
        if not self._matcher.is_error():
            return
        reason = self._matcher.get_error()
        if isinstance(self._matcher, RemoteMatcher):
            if self._matcher.failure is not None:
                raise self._matcher.failure
            raise InvalidRequest(
                f"{self.param} is too costly at output token {len(self._tokens)}: {reason}",
                param=self.param,
            )
        if any(each in reason for each in LIMIT_ERRORS):
            self.move()
            raise MaskPending("the grammar has moved to the grammar process")
        raise InvalidRequest(
            f"{self.param} cannot be followed any further: {explain_error(reason)}",
            param=self.param,
        )
