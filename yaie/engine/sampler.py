"""From logits to tokens: every draw of a step, vectorised over draws with the same needs.

Called by the engine core once a step. A draw is a function of its logits row and of (seed,
sequence index, position) alone, so neither the rest of the batch nor a preemption changes it.

The order in which parameters act, as in vLLM: min_tokens, logit_bias, repetition_penalty,
frequency_penalty and presence_penalty; temperature; min_p, top_k, top_p; the draw. What is cut by
min_p, top_k or top_p is in each case the tail of the tokens ordered by (probability, lowest id
first); top_p is a share of what the two before it left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from yaie.engine.logprobs import CHUNK_ELEMENTS, token_logprobs
from yaie.engine.sampling_state import SamplingState
from yaie.engine.step import SampledToken, SampleTask
from yaie.engine.truncation import apply_top_k_top_p_min_p
from yaie.errors import (
    InvalidRequest,
    InvariantViolated,
    LogitsNotFinite,
    RequestFailed,
    YaieError,
)
from yaie.kernels.library import Library
from yaie.kernels.sampling import best_tokens, draw_tokens
from yaie.types import TokenLogprobs

_BLOCK = 256  # tokens whose weights are summed before the running sum: one pass instead of two
_COLDEST = 1e-20  # smaller temperatures are not different in float32


class Sampler:
    """Draws tokens for one model."""

    def __init__(
        self,
        vocab_size: int,
        device: torch.device,
        *,
        exact: bool = False,
        kernels: Library | None = None,
    ) -> None:
        """With `exact` each draw is computed by itself: equal logits give equal bits.

        With `kernels`, draws that weigh every token are made by the kernel library, which reads
        the logits where they are; the others copy their rows.
        """
        self._vocab_size = vocab_size
        self._exact = exact
        self._device = device
        self._kernels = kernels

    def sample(self, logits: Tensor, tasks: Sequence[SampleTask]) -> list[SampledToken | YaieError]:
        """Return one result per task, in order, from `logits` [rows, vocab].

        States are not changed: the core calls `observe` on those whose token it accepts.
        An unusable row or a faulty state gives an error in place of its own draws only.
        Raises `InvariantViolated` when the shape of `logits` is wrong.
        """
        if logits.ndim != 2 or logits.shape[1] != self._vocab_size:
            raise InvariantViolated(
                f"logits have shape {tuple(logits.shape)}, expected [rows, {self._vocab_size}]"
            )
        if not tasks:
            return []
        logits = logits.float()
        best, best_ids = self._best(logits)
        results: list[int | YaieError | None] = [None] * len(tasks)
        weighed: list[int] = []  # by the kernel library
        copied: list[int] = []  # drawn from copies of their rows, as they are
        changed: list[int] = []  # from copies that are changed
        for i, task in enumerate(tasks):
            try:
                row = _checked_row(task.logit_row, len(best))
                if not math.isfinite(best[row]):
                    results[i] = _unusable_logits(task.state)
                elif task.state.takes_best(best_ids[row]):
                    results[i] = best_ids[row]
                elif self._kernels is not None and _weighs_all(task.state, best_ids[row]):
                    weighed.append(i)
                else:
                    (changed if task.state.changes_logits else copied).append(i)
            except Exception as error:
                results[i] = _failed(error)
        if weighed:
            self._weigh_all(logits, best, tasks, weighed, results)
        for places in (*self._chunks(copied), *self._chunks(changed)):
            self._each_on_its_own_fault(logits, tasks, places, results)
        return self._with_logprobs(logits, tasks, results)

    def _best(self, logits: Tensor) -> tuple[list[float], list[int]]:
        """The largest of each row and its lowest id. NaN wins every comparison: one NaN shows."""
        if self._kernels is not None:
            return best_tokens(self._kernels, logits.numpy())
        best, best_ids = logits.max(dim=-1)
        return cast("list[float]", best.tolist()), cast("list[int]", best_ids.tolist())

    def _weigh_all(
        self,
        logits: Tensor,
        best: Sequence[float],
        tasks: Sequence[SampleTask],
        places: list[int],
        results: list[int | YaieError | None],
    ) -> None:
        """Fill `results` at `places` by the kernel library."""
        assert self._kernels is not None
        drawn = []
        uniforms = []
        for i in places:
            try:
                uniforms.append(tasks[i].state.next_uniform())
                drawn.append(i)
            except Exception as error:
                results[i] = _failed(error)
        rows = [tasks[i].logit_row for i in drawn]
        params = [tasks[i].state.params for i in drawn]
        tokens = draw_tokens(
            self._kernels,
            logits.numpy(),
            rows=rows,
            best=[best[row] for row in rows],
            temperatures=[max(each.temperature, _COLDEST) for each in params],
            min_ps=[each.min_p for each in params],
            uniforms=uniforms,
            forbidden=[_forbidden(tasks[i].state) for i in drawn],
        )
        for i, token_id in zip(drawn, tokens, strict=True):
            results[i] = _nothing_left(tasks[i].state) if token_id < 0 else token_id

    def _chunks(self, places: list[int]) -> list[list[int]]:
        size = 1 if self._exact else max(1, CHUNK_ELEMENTS // self._vocab_size)
        return [places[start : start + size] for start in range(0, len(places), size)]

    def _each_on_its_own_fault(
        self,
        logits: Tensor,
        tasks: Sequence[SampleTask],
        places: list[int],
        results: list[int | YaieError | None],
    ) -> None:
        """Fill `results` at `places`, together where that works, else one by one."""
        try:
            tokens = self._draw(logits, [tasks[i] for i in places])
        except Exception as error:
            if len(places) == 1:
                results[places[0]] = _failed(error)
                return
            for i in places:
                self._each_on_its_own_fault(logits, tasks, [i], results)
            return
        for i, token_id in zip(places, tokens, strict=True):
            results[i] = _nothing_left(tasks[i].state) if token_id < 0 else token_id

    def _draw(self, logits: Tensor, tasks: Sequence[SampleTask]) -> list[int]:
        """Tokens of draws that need their own copy of a row; -1 where no token is possible."""
        states = [task.state for task in tasks]
        rows = torch.tensor([task.logit_row for task in tasks], device=logits.device)
        own = logits.index_select(0, rows)
        _change_logits(own, states)
        best, tokens = own.max(dim=-1)
        usable = torch.isfinite(best)
        at_random = [i for i, state in enumerate(states) if not state.params.is_greedy]
        if at_random:
            if len(at_random) < len(states):
                chosen = torch.tensor(at_random, device=own.device)
                drawn = _draw_at_random(own[chosen], best[chosen], [states[i] for i in at_random])
                tokens = tokens.index_copy(0, chosen, drawn)
            else:
                tokens = _draw_at_random(own, best, states)
        return cast("list[int]", torch.where(usable, tokens, -1).tolist())

    def _with_logprobs(
        self, logits: Tensor, tasks: Sequence[SampleTask], results: list[int | YaieError | None]
    ) -> list[SampledToken | YaieError]:
        asked = [
            (i, tasks[i].logit_row, token_id, tasks[i].state.params.logprobs)
            for i, token_id in enumerate(results)
            if isinstance(token_id, int) and tasks[i].state.params.logprobs is not None
        ]
        found: dict[int, TokenLogprobs] = {}
        if asked:
            wanted = token_logprobs(
                logits,
                rows=[row for _, row, _, _ in asked],
                token_ids=[token_id for _, _, token_id, _ in asked],
                num_top=[num_top or 0 for _, _, _, num_top in asked],
                one_by_one=self._exact,
            )
            found = {i: logprobs for (i, *_), logprobs in zip(asked, wanted, strict=True)}
        return [
            result
            if isinstance(result, YaieError)
            else SampledToken(cast("int", result), found.get(i))
            for i, result in enumerate(results)
        ]


def _weighs_all(state: SamplingState, best_id: int) -> bool:
    """Whether a draw at random takes the logits as they are, whatever a token's rank.

    Tokens may be forbidden, but for the best one: the others are weighed against it.
    """
    params = state.params
    ranks = params.top_p < 1.0 or params.top_k > 0
    loses_best = state.forbids_ends and best_id in state.forbidden_at_first
    return not (params.is_greedy or ranks or state.changes_by_value or loses_best)


_NONE = np.empty(0, dtype=np.int64)


def _forbidden(state: SamplingState) -> NDArray[np.int64]:
    return state.forbidden_at_first if state.forbids_ends else _NONE


def _change_logits(own: Tensor, states: Sequence[SamplingState]) -> None:
    """Apply min_tokens, logit_bias and the penalties to `own` [draws, vocab], in place."""
    vocab_size = own.shape[1]
    flat = own.view(-1)
    masked = [
        (i, state.forbidden_at_first, None) for i, state in enumerate(states) if state.forbids_ends
    ]
    if masked:
        flat[_places(masked, vocab_size, own.device)] = -math.inf
    biased = [
        (i, state.bias[0], state.bias[1])
        for i, state in enumerate(states)
        if state.bias is not None
    ]
    if biased:
        flat[_places(biased, vocab_size, own.device)] += _amounts(biased, own.device)
    repeated = [
        (i, token_ids, np.full(len(token_ids), state.params.repetition_penalty, np.float32))
        for i, state in enumerate(states)
        if state.seen is not None
        for token_ids in state.seen.parts
    ]
    if repeated:
        places = _places(repeated, vocab_size, own.device)
        factors = _amounts(repeated, own.device)
        values = flat[places]
        flat[places] = torch.where(values > 0, values / factors, values * factors)
    present = [
        (
            i,
            state.output.token_ids,
            (
                state.params.frequency_penalty * state.output.counts + state.params.presence_penalty
            ).astype(np.float32),
        )
        for i, state in enumerate(states)
        if state.output is not None and state.num_drawn > 0
    ]
    if present:
        flat[_places(present, vocab_size, own.device)] -= _amounts(present, own.device)


_Change = tuple[int, NDArray[np.int64], NDArray[np.float32] | None]


def _places(changes: Sequence[_Change], vocab_size: int, device: torch.device) -> Tensor:
    """Indices into the flattened [draws, vocab]; distinct, since ids of one draw are."""
    ids = np.concatenate([token_ids for _, token_ids, _ in changes])
    if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size):
        # Checked here because on a GPU a wrong index ends the process, not the request.
        raise InvariantViolated(f"a counted token id is outside the vocabulary of {vocab_size}")
    lengths = [len(token_ids) for _, token_ids, _ in changes]
    ids += np.repeat(np.array([i for i, _, _ in changes], dtype=np.int64) * vocab_size, lengths)
    return torch.from_numpy(ids).to(device)


def _amounts(changes: Sequence[_Change], device: torch.device) -> Tensor:
    parts = [amounts for _, _, amounts in changes if amounts is not None]
    return torch.from_numpy(np.concatenate(parts)).to(device)


def _draw_at_random(own: Tensor, best: Tensor, states: Sequence[SamplingState]) -> Tensor:
    """Token ids [draws] by inverse CDF over `own` [draws, vocab], whose line maxima are `best`.

    Overwrites `own`. A line whose maximum is not finite gives an arbitrary valid id.
    """
    temperatures = [max(state.params.temperature, _COLDEST) for state in states]
    uniforms = [state.next_uniform() for state in states]
    # The maximum goes first: no temperature can then overflow, and the largest weight is 1.
    own -= best.unsqueeze(1)
    own /= torch.tensor(temperatures, device=own.device).unsqueeze(1)
    apply_top_k_top_p_min_p(own, states)
    return _inverse_cdf(own.exp_(), torch.tensor(uniforms, dtype=torch.float64, device=own.device))


def _inverse_cdf(weights: Tensor, uniforms: Tensor) -> Tensor:
    """The first token at which the running sum of `weights` passes `uniforms` of the whole.

    Sums are taken in blocks and then inside the one block that matters, in float64, so the
    vocabulary is read once and no running sum of its length is written.
    """
    draws, vocab_size = weights.shape
    padding = -vocab_size % _BLOCK
    blocks = torch.nn.functional.pad(weights, (0, padding)) if padding else weights
    blocks = blocks.view(draws, -1, _BLOCK)
    sums = blocks.sum(dim=-1, dtype=torch.float64)
    running = sums.cumsum(dim=-1)
    target = uniforms.unsqueeze(1) * running[:, -1:]
    block = _first_above(running, target, sums)
    before = running.gather(1, block) - sums.gather(1, block)
    inside = blocks[torch.arange(draws, device=weights.device), block.squeeze(1)].double()
    offset = _first_above(inside.cumsum(dim=-1), target - before, inside)
    return (block * _BLOCK + offset).squeeze(1).clamp(max=vocab_size - 1)


def _first_above(running: Tensor, target: Tensor, parts: Tensor) -> Tensor:
    """Index [draws, 1] of the first running sum above target; never one of an empty part."""
    length = running.shape[1]
    first = (running <= target).sum(dim=-1, keepdim=True)
    # Rounding may put the target at or beyond the last sum: then the last part that has any.
    positions = torch.arange(length, device=running.device)
    last = torch.where(parts > 0, positions, 0).amax(dim=-1, keepdim=True)
    return torch.minimum(first, last)


def _checked_row(row: int, num_rows: int) -> int:
    if not 0 <= row < num_rows:
        raise InvariantViolated(f"a draw names logits row {row}, the step has {num_rows}")
    return row


def _unusable_logits(state: SamplingState) -> YaieError:
    return LogitsNotFinite(
        f"the model's logits for output token {state.num_drawn} are not finite numbers; the "
        "weights or the numeric type are at fault, try dtype float32"
    )


def _nothing_left(state: SamplingState) -> YaieError:
    return InvalidRequest(  # what the request forbids is the caller's doing
        f"no token is allowed at output position {state.num_drawn}: min_tokens "
        f"({state.params.min_tokens}) forbids every token that has a finite logit",
        param="min_tokens",
    )


def _failed(error: Exception) -> YaieError:
    if isinstance(error, YaieError):
        return error
    return RequestFailed(f"drawing a token failed: {type(error).__name__}: {error}")
