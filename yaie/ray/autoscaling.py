"""Number of replicas by queued tokens and running sequences; Ray calls it every few seconds.

Ray sends the source of this module to its controller, so nothing here imports YAIE.
"""

from __future__ import annotations

import math
from typing import Any

QUEUED, RUNNING = "queued_tokens", "running_share"


class QueuedTokens:
    """Policy: as many replicas as full batches run, and one more for each `queued_tokens` waiting.

    Replicas report both numbers (`EngineReplica.record_autoscaling_stats`); Ray averages them over
    `look_back_period_s`, and applies bounds and delays to the result.
    """

    def __init__(self, queued_tokens: float = 8192.0) -> None:
        """`queued_tokens`: waiting prompt tokens that are worth a further replica."""
        self._queued_tokens = queued_tokens

    def __call__(self, context: Any) -> tuple[int, dict[str, Any]]:
        """Return the wanted number of replicas; `context` is Ray's `AutoscalingContext`."""
        found = context.aggregated_metrics or {}
        queued = sum(found.get(QUEUED, {}).values())
        running = sum(found.get(RUNNING, {}).values())
        wanted = math.ceil(running + queued / self._queued_tokens)
        if not found.get(QUEUED):  # no report yet
            wanted = context.target_num_replicas
        return max(1, wanted), dict(context.policy_state or {})
