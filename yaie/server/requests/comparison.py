"""Cache diagnostics in the formats of Anthropic's and OpenAI's API.

Both compare a request with an earlier request, named by its response. Digests of both requests tell
the changed parts, the later request's cached tokens the missed tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.server.requests.digests import Digest, Namespace, RecentDigests
from yaie.server.schemas.cache import UsageExplanation
from yaie.server.schemas.message_replies import CacheMissReason, MessageDiagnostics
from yaie.server.schemas.response_replies import CacheDiagnostics

NOT_FOUND, NAMESPACE, MESSAGES = "not_found", "namespace", "messages"
# By the part that changed first, in the order of a prompt. A salt counts as a setting.
_ANTHROPIC: dict[str, Any] = {
    "model": "model_changed",
    "system": "system_changed",
    "tools": "tools_changed",
    "options": "messages_changed",  # they change how the messages are rendered
    MESSAGES: "messages_changed",
    NOT_FOUND: "previous_message_not_found",
    NAMESPACE: "unavailable",
}
_OPENAI = {
    "model": "model_changed",
    "system": "input_changed",
    "tools": "tools_changed",
    "options": "settings_changed",
    NAMESPACE: "settings_changed",
    MESSAGES: "input_changed",
}


@dataclass(frozen=True, slots=True)
class CacheNotes:
    """Facts about the prefix cache that the reply of a request shows."""

    explanation: UsageExplanation | None = None  # made before the request starts
    compared: Compared | None = None


NO_NOTES = CacheNotes()


@dataclass(frozen=True, slots=True)
class Compared:
    """Difference of a request from an earlier one."""

    change: str | None  # a part that changed, `not_found`, or None
    num_tokens: int = 0  # length of the earlier prompt


def compare(
    recent: RecentDigests, namespace: Namespace, response_id: str | None, digest: Digest
) -> Compared | None:
    """Compare a request with the one of a response; None without a response."""
    if response_id is None:
        return None
    found = recent.find(namespace[0], response_id)
    if found is None:
        return Compared(NOT_FOUND)
    earlier, other = found
    changed = digest.changes(other)
    if earlier != namespace:
        return Compared(NAMESPACE, other.num_tokens)
    if changed:
        return Compared(changed[0], other.num_tokens)
    return Compared(None if digest.continues(other) else MESSAGES, other.num_tokens)


def anthropic_diagnostics(
    compared: Compared | None, cached_tokens: int
) -> MessageDiagnostics | None:
    """Return the field `diagnostics` of a message."""
    if compared is None or compared.change is None:
        return None
    reason = CacheMissReason(type=_ANTHROPIC[compared.change])
    if reason.type.endswith("_changed"):
        reason.cache_missed_input_tokens = max(0, compared.num_tokens - cached_tokens)
    return MessageDiagnostics(cache_miss_reason=reason)


def openai_diagnostics(
    compared: Compared | None, prompt_tokens: int, cached_tokens: int
) -> CacheDiagnostics | None:
    """Return the field `prompt_cache_diagnostics` of a response."""
    if compared is None:
        return None
    if compared.change == NOT_FOUND:
        return CacheDiagnostics(type="comparison_response_not_found")
    reusable = min(compared.num_tokens, prompt_tokens) - 1  # the last token is always computed
    if compared.change is None and cached_tokens >= reusable:
        return CacheDiagnostics(type="cache_hit")
    return CacheDiagnostics(
        type="cache_miss",
        reason="evicted" if compared.change is None else _OPENAI[compared.change],
        cache_missed_tokens=max(0, compared.num_tokens - cached_tokens),
        comparison_reusable_tokens=compared.num_tokens,
    )


def read_response_id(given: dict[str, Any] | None, field: str, name: str) -> str | None:
    """Return the id in a field of a body. Raises `InvalidRequest` unless it is a string or null."""
    value = (given or {}).get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidRequest(f"{field}.{name} must be a string", param=f"{field}.{name}")
    return value
