"""The log of sinks that raise. `Submissions`, which runs the sinks, does no input or output."""

from __future__ import annotations

import logging

from yaie.base.types import GenerationRequest

logger = logging.getLogger(__name__)


def log_sink_error(request: GenerationRequest, error: Exception) -> None:
    """Log the exception of a request's sink."""
    logger.error(
        "the sink of request %r failed; the request is ended", request.request_id, exc_info=error
    )
