"""`EndedCall`: the outcome of a call, for metrics, logs, traces, rate limits and the next turn."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from yaie.base.types import Timings, Usage
from yaie.server.metrics.prometheus import Metrics
from yaie.server.requests.call import Call, EndedTurn

logger = logging.getLogger(__name__)

_ANSWERED = frozenset({"stop", "length"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCall:
    """A call that was closed, with its usage and its times in seconds."""

    call: Call
    http_id: str  # the X-Request-ID
    outcome: str  # as in the metrics: stop, length, abort, disconnect, or an error's code
    finish_reasons: tuple[str, ...]
    usage: Usage  # total
    usages: tuple[Usage, ...]  # by prompt
    num_tokens: tuple[tuple[int, ...], ...]  # completion tokens of each choice, by prompt
    timings: tuple[Timings, ...]  # engine times of the sequences that have ended
    first_token_s: float | None  # from the submission to the first token that was read
    total_s: float
    is_lost: bool  # failed before its first token
    turn: EndedTurn | None  # set for a chat that may continue

    @property
    def is_answered(self) -> bool:
        """True if every choice ended by itself and was read."""
        return self.outcome in _ANSWERED


def report_end(ended: EndedCall, metrics: Metrics) -> None:
    """Count a call in the metrics and log it, without its prompt and answer.

    In JSON logs each value is a field.
    """
    usage, first_s = ended.usage, ended.first_token_s
    metrics.count_outcome(ended.outcome, usage, ended.total_s, is_lost=ended.is_lost)
    ids = {"request_id": ended.http_id, "response_id": ended.call.response_id}
    fields = {
        "outcome": ended.outcome,
        "prompt": usage.prompt_tokens,
        "cached": usage.cached_tokens,
        "completion": usage.completion_tokens,
        "first_token_s": None if first_s is None else round(first_s, 3),
        "total_s": round(ended.total_s, 3),
    }
    shown = " ".join(f"{name}={_show(value)}" for name, value in fields.items())
    logger.info("request %s, %s %s", *ids.values(), shown, extra={"fields": {**ids, **fields}})


def _show(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
