"""Sampling state of a sequence: parameters, token counts, random stream position, end tokens.

Free of torch. The engine core creates it with the request. It survives preemption, so that a
resumed sequence continues with the same tokens.
"""

from __future__ import annotations

import copy
import hashlib
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from yaie.base.types import FinishReason, ReasoningLimit, SamplingParams
from yaie.engine.reasoning_budget import ReasoningBudget

if TYPE_CHECKING:
    from yaie.engine.grammar.matcher import GrammarState

_UINT64 = 2**64
_INITIAL_CAPACITY = 16
_SECOND_TRY = 2**32  # added to the index of the sequence, which is far below


def uniform(seed: int, index: int, position: int) -> float:
    """Return a number in [0, 1) that is a function of the arguments, equal on every machine.

    It is the first 53 bits of BLAKE2b over the three as little-endian 64-bit words. A hash is
    stateless, and its results for neighbouring arguments are unrelated.
    """
    words = struct.pack("<QQQ", seed % _UINT64, index % _UINT64, position % _UINT64)
    digest = hashlib.blake2b(words, digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


class TokenCounts:
    """Distinct tokens with their counts, in arrays that grow as tokens are added."""

    __slots__ = ("_counts", "_ids", "_places")

    def __init__(self) -> None:
        self._ids: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._counts: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._places: dict[int, int] = {}

    def add(self, token_id: int) -> None:
        """Count one more `token_id`; amortised O(1)."""
        place = self._places.get(token_id)
        if place is None:
            place = len(self._places)
            if place == len(self._ids):
                capacity = max(2 * place, _INITIAL_CAPACITY)
                self._ids = np.resize(self._ids, capacity) if place else np.empty(capacity, "i8")
                self._counts = (
                    np.resize(self._counts, capacity) if place else np.empty(capacity, "i8")
                )
            self._places[token_id] = place
            self._ids[place] = token_id
            self._counts[place] = 0
        self._counts[place] += 1

    def copy(self) -> TokenCounts:
        """Return an equal one that counts on by itself."""
        other = TokenCounts()
        other._ids, other._counts = self._ids.copy(), self._counts.copy()
        other._places = dict(self._places)
        return other

    @property
    def token_ids(self) -> NDArray[np.int64]:
        """The distinct tokens, by first appearance."""
        return self._ids[: len(self._places)]

    @property
    def counts(self) -> NDArray[np.int64]:
        """The count for each entry of `token_ids`."""
        return self._counts[: len(self._places)]


class DistinctTokens:
    """A prompt's distinct tokens, computed at first use and then cached."""

    __slots__ = ("_found", "_token_ids")

    def __init__(self, token_ids: NDArray[np.int32]) -> None:
        self._token_ids = token_ids
        self._found: NDArray[np.int64] | None = None

    @property
    def token_ids(self) -> NDArray[np.int64]:
        """The ids in ascending order, read-only because sequences share them."""
        if self._found is None:
            self._found = np.unique(self._token_ids).astype(np.int64)
            self._found.flags.writeable = False
            self._token_ids = np.empty(0, np.int32)
        return self._found

    def __contains__(self, token_id: int) -> bool:
        ids = self.token_ids
        place = int(ids.searchsorted(token_id))
        return place < len(ids) and int(ids[place]) == token_id


class SeenTokens:
    """The distinct tokens of prompt and output; a request's sequences share the prompt's tokens."""

    __slots__ = ("_added", "prompt")

    def __init__(self, prompt: DistinctTokens) -> None:
        self.prompt = prompt
        self._added = TokenCounts()

    def add(self, token_id: int) -> None:
        """Add a token of the output."""
        if token_id not in self.prompt:
            self._added.add(token_id)

    def copy(self) -> SeenTokens:
        """Return an equal one that grows by itself, over the same prompt."""
        other = SeenTokens(self.prompt)
        other._added = self._added.copy()
        return other

    @property
    def parts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Two disjoint arrays of ids: of the prompt, and of the output beyond it."""
        return self.prompt.token_ids, self._added.token_ids


class AllowedTokens:
    """The only tokens that a request may sample; its sequences share them."""

    __slots__ = ("_mask", "_others", "_set", "_vocab_size", "num_others", "token_ids")

    def __init__(self, token_ids: Sequence[int], vocab_size: int) -> None:
        self._set = frozenset(token_ids)
        self.token_ids = np.array(sorted(self._set), dtype=np.int64)
        self.num_others = vocab_size - len(self._set)
        self._vocab_size = vocab_size
        self._others: NDArray[np.int64] | None = None
        self._mask: NDArray[np.uint32] | None = None

    @property
    def mask(self) -> NDArray[np.uint32]:
        """Bits [ceil(vocabulary / 32)], computed at first use: bit i % 32 of word i // 32."""
        if self._mask is None:
            is_allowed = np.zeros(-(-self._vocab_size // 32) * 32, dtype=np.bool_)
            is_allowed[self.token_ids] = True
            self._mask = np.packbits(is_allowed, bitorder="little").view(np.uint32)
            self._mask.flags.writeable = False
        return self._mask

    @property
    def others(self) -> NDArray[np.int64]:
        """The other token ids in ascending order, computed at first use and then cached."""
        if self._others is None:
            is_other = np.ones(self._vocab_size, dtype=np.bool_)
            is_other[self.token_ids] = False
            self._others = np.flatnonzero(is_other)
            self._others.flags.writeable = False
        return self._others

    def __contains__(self, token_id: int) -> bool:
        return token_id in self._set


class BadWords:
    """Token runs that an output must not contain, and the tokens that would complete one."""

    __slots__ = ("_continued", "_single", "_tail", "completing")

    def __init__(self, runs: Sequence[tuple[int, ...]]) -> None:
        self._single = np.array(sorted({run[0] for run in runs if len(run) == 1}), np.int64)
        self._continued: dict[int, list[tuple[int, ...]]] = {}  # by the last token but one
        for run in runs:
            if len(run) > 1:
                self._continued.setdefault(run[-2], []).append(run)
        self._start()

    def _start(self) -> None:
        self._tail: list[int] = []
        self.completing = self._single  # distinct ids, forbidden as the next token

    def fresh(self) -> BadWords:
        """Return the state of another output."""
        other = copy.copy(self)
        other._start()
        return other

    def copy(self) -> BadWords:
        """Return an equal one that grows by itself."""
        other = copy.copy(self)
        other._tail = self._tail.copy()
        return other

    def add(self, token_id: int) -> None:
        """Add a token of the output."""
        self._tail.append(token_id)
        last = {
            run[-1]
            for run in self._continued.get(token_id, ())
            if tuple(self._tail[1 - len(run) :]) == run[:-1]
        }
        self.completing = self._single
        if last:
            ids = np.array(sorted(last), np.int64)
            self.completing = np.union1d(self._single, ids)


class SamplingState:
    """One sequence's sampling state. Token ids have been validated with the request."""

    __slots__ = (
        "_eos_token_ids",
        "_resumed",
        "_seed",
        "_stop_token_ids",
        "allowed",
        "bad_words",
        "bias",
        "end_token_ids",
        "grammar",
        "index",
        "num_output",
        "output",
        "params",
        "reasoning",
        "rules",
        "seen",
    )

    def __init__(
        self,
        params: SamplingParams,
        *,
        index: int,
        prompt_token_ids: Sequence[int],
        eos_token_ids: Sequence[int],
        vocab_size: int,
        fallback_seed: int,
        reasoning_limit: ReasoningLimit | None = None,
        num_resumed: int = 0,
    ) -> None:
        """`num_resumed`: last prompt tokens that count as output; only for the first sequence."""
        self.params = params
        self.index = index
        self.num_output = 0  # tokens so far
        self.rules: tuple[Any, ...] | None = None  # logit rules, set at the first token
        self.grammar: GrammarState | None = None  # set once it is compiled
        self._seed = fallback_seed if params.seed is None else params.seed
        self._eos_token_ids = frozenset() if params.ignore_eos else frozenset(eos_token_ids)
        self._stop_token_ids = frozenset(params.stop_token_ids)
        # A model may name an end token beyond its logits; it is never sampled.
        ends = {token_id for token_id in eos_token_ids if 0 <= token_id < vocab_size}
        self.end_token_ids = np.array(sorted(ends | self._stop_token_ids), dtype=np.int64)
        self.allowed: AllowedTokens | None = None
        if params.allowed_token_ids is not None:
            self.allowed = AllowedTokens(params.allowed_token_ids, vocab_size)
        self.bad_words: BadWords | None = None
        if params.bad_words_token_ids:
            self.bad_words = BadWords(params.bad_words_token_ids)
        self.bias: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None
        if params.logit_bias:
            self.bias = (
                np.fromiter(params.logit_bias.keys(), dtype=np.int64),
                np.fromiter(params.logit_bias.values(), dtype=np.float32),
            )
        self.seen: SeenTokens | None = None  # in prompt and output
        if params.repetition_penalty != 1.0:
            self.seen = SeenTokens(DistinctTokens(np.array(prompt_token_ids, dtype=np.int32)))
        self.reasoning: ReasoningBudget | None = None
        if reasoning_limit is not None:
            self.reasoning = ReasoningBudget(reasoning_limit)
        self.output: TokenCounts | None = None
        if params.presence_penalty != 0.0 or params.frequency_penalty != 0.0:
            self.output = TokenCounts()
        self._resumed = tuple(prompt_token_ids[len(prompt_token_ids) - num_resumed :])
        for token_id in self._resumed:
            self.observe(token_id)

    def for_sequence(self, index: int) -> SamplingState:
        """Return another sequence's initial state, for the same request."""
        state = copy.copy(self)
        state.index = index
        state.num_output = 0
        if self.bad_words is not None:
            state.bad_words = self.bad_words.fresh()
        if self.reasoning is not None:
            state.reasoning = self.reasoning.fresh()
        if self.seen is not None:
            state.seen = SeenTokens(self.seen.prompt)
        if self.output is not None:
            state.output = TokenCounts()
        return state

    def ahead(self, token_id: int) -> SamplingState:
        """Return the state after one more token; this state stays as it is.

        Raises the grammar's error.
        """
        state = copy.copy(self)
        if self.grammar is not None:
            state.grammar = self.grammar.fork()
        if self.bad_words is not None:
            state.bad_words = self.bad_words.copy()
        if self.reasoning is not None:
            state.reasoning = copy.copy(self.reasoning)
        if self.seen is not None:
            state.seen = self.seen.copy()
        if self.output is not None:
            state.output = self.output.copy()
        state.observe(token_id)
        return state

    @property
    def samples_next(self) -> bool:
        """True if the next token is sampled: no grammar forces it, and none is at its end."""
        is_over = self.grammar is not None and self.grammar.is_over
        return not is_over and not self.find_forced()

    def may_end(self, token_id: int) -> bool:
        """Return True if the token can end the sequence, now or later."""
        return token_id in self._stop_token_ids or token_id in self._eos_token_ids

    def take_grammar(self, grammar: GrammarState) -> None:
        """Set the output's grammar, before its first token."""
        if self.params.ignore_eos:
            grammar.keep_going()
        for token_id in self._resumed:
            grammar.observe(token_id)
        self.grammar = grammar

    def grammar_allows(self, token_id: int) -> bool:
        """Return True unless a grammar excludes the token. Raises the grammar's error."""
        return self.grammar is None or self.grammar.allows(token_id)

    def next_uniform(self, *, again: bool = False) -> float:
        """Return the number in [0, 1) that selects the next token; repeated calls agree.

        `again` gives an unrelated number, for a second try.
        """
        return uniform(self._seed, self.index + again * _SECOND_TRY, self.num_output)

    def observe(self, token_id: int) -> None:
        """Count a token that joined the output. Raises the grammar's error."""
        self.num_output += 1
        if self.grammar is not None:
            self.grammar.observe(token_id)
        if self.bad_words is not None:
            self.bad_words.add(token_id)
        if self.reasoning is not None:
            self.reasoning.add(token_id)
        if self.seen is not None:
            self.seen.add(token_id)
        if self.output is not None:
            self.output.add(token_id)

    def find_forced(self) -> list[int]:
        """Return the next tokens of the output, as far as the grammar leaves no choice.

        None with logprobs: forced tokens are not sampled, so they have no logprobs. None with
        allowed tokens or bad words: the sampler checks each token against them.
        """
        if self.grammar is None or self.params.logprobs is not None:
            return []
        if self.allowed is not None or self.bad_words is not None:
            return []
        return self.grammar.find_forced()

    def finish_reason(self, token_id: int) -> tuple[FinishReason, int | None] | None:
        """Return the reason and the stop token if `token_id` ends the sequence, else None.

        May be called before or after `observe`: a token forbidden by `min_tokens` is never sampled.
        A grammar that nothing can follow ends the sequence before `min_tokens` too.
        """
        if self.grammar is not None and self.grammar.is_over:
            return "stop", token_id if self.grammar.is_end(token_id) else None
        if self.num_output < self.params.min_tokens:
            return None
        return ("stop", token_id) if self.may_end(token_id) else None
