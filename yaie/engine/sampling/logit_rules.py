"""Logit rules: masks, bias, penalties and truncation of a row's logits.

`RULES` lists them in the order in which they act. The sampler derives all paths from this list: the
argmax of unchanged logits, the sampling kernel, and torch on a copy of the row. Every path
therefore obeys a rule that defines `is_enabled` and `apply`; `keeps_best` and `forbidden` admit the
rule to the fast paths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from yaie.base.errors import InvariantViolated
from yaie.engine.sampling.truncation import apply_top_k_top_p_min_p
from yaie.engine.sampling_state import SamplingState

Rows = Sequence[tuple[int, SamplingState]]  # (logits row, state of its sequence)

_MOST_IN_KERNEL = 1024  # forbidden tokens
NO_TOKENS = np.empty(0, dtype=np.int64)


class LogitRule:
    """One change of logits. Subclasses define `enabled` and `apply`; defaults are the slow path."""

    param: ClassVar[str | None] = None  # the request's parameter, where the rule forbids tokens
    after_temperature: ClassVar[bool] = False  # True: act on scaled logits of random samples

    def is_enabled(self, state: SamplingState) -> bool:
        """Return True if the rule may ever change a row of this sequence."""
        raise NotImplementedError

    def applies(self, state: SamplingState) -> bool:
        """Return True if the rule changes the row of the next token; `is_enabled` is True."""
        return True

    def keeps_best(self, state: SamplingState, best_id: int) -> bool:
        """Return True if `best_id` stays the most likely token under this rule."""
        return False

    def forbidden(self, state: SamplingState) -> NDArray[np.int64] | None:
        """Return the token ids to remove from a row that is otherwise unchanged.

        None if the rule does more; the sampling kernel then leaves the row to torch.
        """
        return None

    def apply(self, own: Tensor, rows: Rows) -> None:
        """Change the rows of `own` [rows, vocab] that `rows` names, in place."""
        raise NotImplementedError


Changes = Sequence[tuple[NDArray[np.int64], NDArray[np.float32]]]  # token ids and their numbers


class SparseRule(LogitRule):
    """Rule that changes few tokens of a row: one gather and one scatter for all rows.

    The device sampler asks for both methods below, and never for `apply`.
    """

    def changes(self, state: SamplingState) -> Changes:
        """Return the tokens of one row with their numbers, in disjoint arrays."""
        raise NotImplementedError

    def combine(self, values: Tensor, numbers: Tensor) -> Tensor:
        """Return the new logits of tokens from their `values` and numbers."""
        raise NotImplementedError

    def apply(self, own: Tensor, rows: Rows) -> None:
        """Change the tokens of all rows together."""
        changes = [
            (row, ids, numbers) for row, state in rows for ids, numbers in self.changes(state)
        ]
        places = _flat_indices([(row, ids) for row, ids, _ in changes], own.shape[1], own.device)
        numbers = torch.from_numpy(np.concatenate([numbers for *_, numbers in changes]))
        flat = own.view(-1)
        flat[places] = self.combine(flat[places], numbers.to(own.device))


class MaskRule(LogitRule):
    """Rule that forbids the tokens without a bit in a mask."""

    def mask(self, state: SamplingState) -> NDArray[np.uint32]:
        """Return bits [ceil(vocabulary / 32)]: bit i % 32 of word i // 32 is set if i is allowed.

        Raises the error of a grammar.
        """
        raise NotImplementedError


class GrammarMask(MaskRule):
    """Forbid every token that the grammar of the answer excludes."""

    def is_enabled(self, state: SamplingState) -> bool:
        """Return True if the request has a grammar."""
        return state.grammar is not None

    def keeps_best(self, state: SamplingState, best_id: int) -> bool:
        """Return True if the grammar allows the best token."""
        return state.grammar_allows(best_id)

    def mask(self, state: SamplingState) -> NDArray[np.uint32]:
        """Return the mask of the next token."""
        assert state.grammar is not None
        return state.grammar.mask()

    def apply(self, own: Tensor, rows: Rows) -> None:
        """Set the logits of all other tokens to minus infinity."""
        masks = np.stack([self.mask(state) for _, state in rows])
        bits = np.unpackbits(masks.view(np.uint8), axis=1, count=own.shape[1], bitorder="little")
        excluded = torch.from_numpy(bits == 0).to(own.device)
        if len(rows) == len(own):  # each row once, in order
            own.masked_fill_(excluded, -math.inf)
            return
        for (row, _), each in zip(rows, excluded, strict=True):
            own[row].masked_fill_(each, -math.inf)


class AllowedTokenIds(MaskRule):
    """Forbid every token outside `allowed_token_ids`."""

    param = "allowed_token_ids"

    def is_enabled(self, state: SamplingState) -> bool:
        """Return True if the request has `allowed_token_ids`."""
        return state.allowed is not None

    def applies(self, state: SamplingState) -> bool:
        """Return True unless a grammar leaves end tokens only: those are no text."""
        return state.grammar is None or not state.grammar.must_end()

    def keeps_best(self, state: SamplingState, best_id: int) -> bool:
        """Return True if the best token is allowed."""
        assert state.allowed is not None
        return best_id in state.allowed

    def forbidden(self, state: SamplingState) -> NDArray[np.int64] | None:
        """Return the rest of the vocabulary if it is short; the kernel reads it for each block."""
        assert state.allowed is not None
        is_short = state.allowed.num_others <= _MOST_IN_KERNEL
        return state.allowed.others if is_short else None

    def mask(self, state: SamplingState) -> NDArray[np.uint32]:
        """Return the list as a mask."""
        assert state.allowed is not None
        return state.allowed.mask

    def apply(self, own: Tensor, rows: Rows) -> None:
        """Set the logits of all other tokens to minus infinity."""
        allowed = [
            (row, state.allowed.token_ids) for row, state in rows if state.allowed is not None
        ]
        places = _flat_indices(allowed, own.shape[1], own.device)
        flat = own.view(-1)
        kept = flat[places]
        own[[row for row, _ in rows]] = -math.inf
        flat[places] = kept


class MinTokens(SparseRule):
    """Forbid end and stop tokens until the output has `min_tokens` tokens."""

    param = "min_tokens"

    def is_enabled(self, state: SamplingState) -> bool:
        """Return True if a minimum is set and there is an end token to forbid."""
        return state.params.min_tokens > 0 and len(state.end_token_ids) > 0

    def applies(self, state: SamplingState) -> bool:
        """Return True while the output is shorter than the minimum and its grammar lets it grow."""
        if state.num_output >= state.params.min_tokens:
            return False
        return state.grammar is None or not state.grammar.must_end()

    def keeps_best(self, state: SamplingState, best_id: int) -> bool:
        """Return True unless the best token would end the sequence."""
        return best_id not in state.end_token_ids

    def forbidden(self, state: SamplingState) -> NDArray[np.int64]:
        """Return end and stop tokens."""
        return state.end_token_ids

    def changes(self, state: SamplingState) -> Changes:
        """Return end and stop tokens, with minus infinity."""
        ids = state.end_token_ids
        return [(ids, np.full(len(ids), -math.inf, np.float32))]

    def combine(self, values: Tensor, numbers: Tensor) -> Tensor:
        """Replace the logits."""
        return numbers


class BadWordsMask(SparseRule):
    """Forbid the tokens that would complete one of the bad words."""

    param = "bad_words"

    def is_enabled(self, state: SamplingState) -> bool:
        """Return True if the request has bad words."""
        return state.bad_words is not None

    def applies(self, state: SamplingState) -> bool:
        """Return True if the next token may complete one."""
        return state.bad_words is not None and len(state.bad_words.completing) > 0

    def keeps_best(self, state: SamplingState, best_id: int) -> bool:
        """Return True unless the best token would complete one."""
        assert state.bad_words is not None
        return best_id not in state.bad_words.completing

    def forbidden(self, state: SamplingState) -> NDArray[np.int64]:
        """Return the completing tokens."""
        assert state.bad_words is not None
        return state.bad_words.completing

    def changes(self, state: SamplingState) -> Changes:
        """Return the completing tokens, with minus infinity."""
        ids = self.forbidden(state)
        return [(ids, np.full(len(ids), -math.inf, np.float32))]

    def combine(self, values: Tensor, numbers: Tensor) -> Tensor:
        """Replace the logits."""
        return numbers


class ReasoningEnd(LogitRule):
    """Leave the token alone that ends the reasoning, beyond the limit on its tokens."""

    def is_enabled(self, state: SamplingState) -> bool:
        """Return True if the request has a reasoning budget."""
        return state.reasoning is not None

    def applies(self, state: SamplingState) -> bool:
        """Return True if the reasoning has to end; in a grammar's text not inside a character."""
        closer = None if state.reasoning is None else state.reasoning.forced
        return closer is not None and state.grammar_allows(closer)

    def keeps_best(self, state: SamplingState, best_id: int) -> bool:
        """Return True if the best token is the one that ends it."""
        return state.reasoning is not None and best_id == state.reasoning.forced

    def apply(self, own: Tensor, rows: Rows) -> None:
        """Set the logits of all other tokens to minus infinity, even if it was forbidden."""
        for row, state in rows:
            if state.reasoning is not None and state.reasoning.forced is not None:
                own[row] = -math.inf
                own[row, state.reasoning.forced] = 0.0


class LogitBias(SparseRule):
    """Add `logit_bias` to the logits of its tokens."""

    def is_enabled(self, state: SamplingState) -> bool:
        """Return True if the request has a bias."""
        return state.bias is not None

    def changes(self, state: SamplingState) -> Changes:
        """Return the tokens with a bias."""
        assert state.bias is not None
        return [state.bias]

    def combine(self, values: Tensor, numbers: Tensor) -> Tensor:
        """Add the bias."""
        return values + numbers


class RepetitionPenalty(SparseRule):
    """Divide positive logits of prompt and output tokens by the penalty, multiply negative ones."""

    def is_enabled(self, state: SamplingState) -> bool:
        """Return True if the penalty differs from 1."""
        return state.seen is not None

    def changes(self, state: SamplingState) -> Changes:
        """Return the seen tokens, with the penalty."""
        assert state.seen is not None
        penalty = state.params.repetition_penalty
        return [(ids, np.full(len(ids), penalty, np.float32)) for ids in state.seen.parts]

    def combine(self, values: Tensor, numbers: Tensor) -> Tensor:
        """Divide or multiply by the penalty."""
        return torch.where(values > 0, values / numbers, values * numbers)


class OutputPenalties(SparseRule):
    """Subtract `presence_penalty` once and `frequency_penalty` per use from tokens of the output.

    One rule for both penalties, since they count the same tokens and their sum is rounded once.
    """

    def is_enabled(self, state: SamplingState) -> bool:
        """Return True if one of the penalties differs from 0."""
        return state.output is not None

    def applies(self, state: SamplingState) -> bool:
        """Return True once there is output."""
        return state.num_output > 0

    def changes(self, state: SamplingState) -> Changes:
        """Return the tokens of the output, with the sum of their penalties."""
        assert state.output is not None
        params = state.params
        total = params.frequency_penalty * state.output.counts + params.presence_penalty
        return [(state.output.token_ids, total.astype(np.float32))]

    def combine(self, values: Tensor, numbers: Tensor) -> Tensor:
        """Subtract the penalties."""
        return values - numbers


class Truncation(LogitRule):
    """Keep the most likely tokens only: min_p, then top_k, then top_p of what is left."""

    after_temperature = True

    def is_enabled(self, state: SamplingState) -> bool:
        """Return True if one of the three is set and a token is sampled at random."""
        params = state.params
        return not params.is_greedy and (params.min_p > 0 or self._by_rank(state))

    def keeps_best(self, state: SamplingState, best_id: int) -> bool:
        """Return True: each truncation keeps at least one token."""
        return True

    def forbidden(self, state: SamplingState) -> NDArray[np.int64] | None:
        """Return an empty array for min_p alone, which the sampling kernel applies itself."""
        return None if self._by_rank(state) else NO_TOKENS

    def apply(self, own: Tensor, rows: Rows) -> None:
        """Set the logits of all other tokens to minus infinity."""
        apply_top_k_top_p_min_p(own, rows)

    @staticmethod
    def _by_rank(state: SamplingState) -> bool:
        return state.params.top_p < 1.0 or state.params.top_k > 0


RULES: tuple[LogitRule, ...] = (
    GrammarMask(),
    AllowedTokenIds(),
    MinTokens(),
    BadWordsMask(),
    LogitBias(),
    RepetitionPenalty(),
    OutputPenalties(),
    Truncation(),
    ReasoningEnd(),
)


def select_rules(rules: Sequence[LogitRule], state: SamplingState) -> tuple[LogitRule, ...]:
    """Return the rules that may ever change a row of this sequence; the state caches them."""
    if state.rules is None:
        state.rules = tuple(rule for rule in rules if rule.is_enabled(state))
    return state.rules


def join_forbidden(rules: Sequence[LogitRule], state: SamplingState) -> NDArray[np.int64] | None:
    """Return the tokens that the applying `rules` forbid; None if one of the rules does more."""
    if not rules:
        return NO_TOKENS
    parts = []
    for rule in rules:
        ids = rule.forbidden(state)
        if ids is None:
            return None
        parts.append(ids)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _flat_indices(
    parts: Sequence[tuple[int, NDArray[np.int64]]], vocab_size: int, device: torch.device
) -> Tensor:
    """Return indices into the flattened [rows, vocab]; they are distinct, as are ids of a row."""
    ids = np.concatenate([token_ids for _, token_ids in parts])
    if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size):
        # Checked here because on a GPU a wrong index ends the process, not the request.
        raise InvariantViolated(f"a counted token id is outside the vocabulary of {vocab_size}")
    lengths = [len(token_ids) for _, token_ids in parts]
    ids += np.repeat(np.array([row for row, _ in parts], dtype=np.int64) * vocab_size, lengths)
    return torch.from_numpy(ids).to(device)
