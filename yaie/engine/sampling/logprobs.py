"""Log-probabilities of tokens under the model, with ranks and top alternatives.

Called by the sampler for sampled tokens and by the engine core for prompt tokens.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence as SequenceOf
from typing import cast

import torch
from torch import Tensor

from yaie.base.errors import RequestFailed, YaieError
from yaie.base.types import TokenLogprobs
from yaie.device.available_memory import is_out_of_memory
from yaie.engine.request import Request, Sequence
from yaie.engine.sampling.sampling_errors import non_finite
from yaie.engine.scheduled_step import ScheduledStep

log = logging.getLogger(__name__)

CHUNK_ELEMENTS = 2**26  # logits per chunk: bounds a step's memory


def token_logprobs(
    logits: Tensor,
    rows: SequenceOf[int],
    token_ids: SequenceOf[int],
    num_top: SequenceOf[int],
    *,
    one_by_one: bool = False,
) -> list[TokenLogprobs]:
    """Return natural log-probabilities under the model's own `logits` [rows, vocab].

    For each i: of `token_ids[i]` in row `rows[i]`, with its rank, and of the `num_top[i]` most
    likely tokens. Lower ids come first among equals. `one_by_one` computes bits that do not depend
    on other rows: torch splits and rounds the sum over a row by the number of rows.
    """
    results: list[TokenLogprobs] = []
    size = 1 if one_by_one else max(1, CHUNK_ELEMENTS // logits.shape[1])
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        results += _chunk_logprobs(logits, rows[part], token_ids[part], num_top[part])
    return results


def prompt_logprobs(
    step: ScheduledStep, logits: Tensor, *, one_by_one: bool
) -> tuple[list[tuple[Request, list[TokenLogprobs]]], dict[Sequence, YaieError]]:
    """Return a step's prompt log-probabilities by request, and errors by prompt pass."""
    found = []
    errors: dict[Sequence, YaieError] = {}
    for rows in step.prompt_logits:
        request = rows.sequence.request
        # Row i is the distribution of the token after prompt position `first + i`.
        following = request.prompt[rows.first + 1 : rows.first + 1 + len(rows.logit_rows)]
        num_top = [request.params.prompt_logprobs or 0] * len(rows.logit_rows)
        try:
            logprobs = token_logprobs(
                logits, rows.logit_rows, following.tolist(), num_top, one_by_one=one_by_one
            )
            if any(math.isnan(each.logprob) for each in logprobs):
                errors[rows.sequence] = non_finite("a prompt token")
            found.append((request, logprobs))
        except Exception as error:
            if is_out_of_memory(error):
                raise
            log.exception("the logprobs of a prompt failed")
            errors[rows.sequence] = RequestFailed(
                f"the logprobs of the prompt failed: {type(error).__name__}: {error}"
            )
    return found, errors


def _chunk_logprobs(
    logits: Tensor, rows: SequenceOf[int], token_ids: SequenceOf[int], num_top: SequenceOf[int]
) -> list[TokenLogprobs]:
    vocab_size = logits.shape[1]
    own = logits.index_select(0, torch.tensor(rows, device=logits.device)).float()
    normaliser = own.logsumexp(dim=-1, keepdim=True)
    chosen = torch.tensor(token_ids, device=logits.device).unsqueeze(1)
    value = own.gather(1, chosen)
    ids = torch.arange(vocab_size, device=logits.device)
    above = (own > value) | ((own == value) & (ids < chosen))
    ranks = cast("list[int]", (above.sum(dim=-1) + 1).tolist())
    chosen_logprobs = cast("list[float]", (value - normaliser).squeeze(1).tolist())
    tops = _top_tokens(own, normaliser, max(num_top))
    return [
        TokenLogprobs(
            token_id=token_id,
            logprob=chosen_logprobs[i],
            rank=ranks[i],
            top=tuple(tops[i][: num_top[i]]),
        )
        for i, token_id in enumerate(token_ids)
    ]


def _top_tokens(own: Tensor, normaliser: Tensor, count: int) -> list[list[tuple[int, float]]]:
    """Return the `count` most likely (token id, logprob) of each row, equal ones by id."""
    if count == 0:
        return [[] for _ in range(own.shape[0])]
    count = min(count, own.shape[1])
    # One more than requested, to detect a tie across the border: topk orders ties arbitrarily.
    values, ids = own.topk(min(count + 1, own.shape[1]), dim=-1)
    if values.shape[1] > count:
        torn = (values[:, count - 1] == values[:, count]).nonzero().squeeze(1)
        if len(torn):
            exact, exact_ids = own[torn].sort(dim=-1, descending=True, stable=True)
            values[torn] = exact[:, : values.shape[1]]
            ids[torn] = exact_ids[:, : values.shape[1]]
    values, ids = values[:, :count], ids[:, :count]
    logprobs = (values - normaliser).tolist()
    lines = zip(values.tolist(), ids.tolist(), logprobs, strict=True)
    # Sort by logits: two of them may round to one log-probability, and topk's order of the two
    # depends on `count`.
    return [
        [
            (token_id, logprob)
            for _, token_id, logprob in sorted(
                zip(logits, line_ids, line, strict=True), key=lambda top: (-top[0], top[1])
            )
        ]
        for logits, line_ids, line in lines
    ]
