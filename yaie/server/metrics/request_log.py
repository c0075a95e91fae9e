"""The log line of a completion request, at its end. It never shows prompt or answer."""

from __future__ import annotations

import logging

from yaie.base.types import Usage

logger = logging.getLogger(__name__)


def log_end(
    request_id: str,
    response_id: str,
    outcome: str,
    usage: Usage,
    *,
    first_token_s: float | None,
    total_s: float,
) -> None:
    """Write the line; in JSON each value is a field. Times are in seconds."""
    ids = {"request_id": request_id, "response_id": response_id}
    fields = {
        "outcome": outcome,
        "prompt": usage.prompt_tokens,
        "cached": usage.cached_tokens,
        "completion": usage.completion_tokens,
        "first_token_s": None if first_token_s is None else round(first_token_s, 3),
        "total_s": round(total_s, 3),
    }
    shown = " ".join(f"{name}={_show(value)}" for name, value in fields.items())
    logger.info(
        "request %s, %s %s", request_id, response_id, shown, extra={"fields": {**ids, **fields}}
    )


def _show(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
