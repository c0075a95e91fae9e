"""Replies of OpenAI-compatible servers: values that may be missing, events, and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from yaie.base.types import Usage

if TYPE_CHECKING:
    import requests


class StreamBroke(Exception):
    """The connection ended in the middle of an answer."""


def events_of(reply: requests.Response) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream up to its end, errors among them. Raises `StreamBroke`."""
    import requests

    try:
        for line in reply.iter_lines():
            if not line.startswith(b"data:"):
                continue
            data = line[len(b"data:") :].strip()
            if data == b"[DONE]":
                return
            yield as_object(json.loads(data))
    except (requests.RequestException, OSError, ValueError) as error:
        raise StreamBroke(str(error)) from error


def error_of(reply: requests.Response) -> Any:
    """Return the error of a refusal: an object, a text, or null for another body."""
    try:
        return reply.json()["error"]
    except (ValueError, LookupError, TypeError):
        return None


def usage_of(usage: Any) -> Usage:
    """Return the server's token counts; missing counts are 0."""
    counts = as_object(usage)
    details = as_object(counts.get("prompt_tokens_details"))
    of_answer = as_object(counts.get("completion_tokens_details"))
    return Usage(
        prompt_tokens=as_whole(counts.get("prompt_tokens")) or 0,
        completion_tokens=as_whole(counts.get("completion_tokens")) or 0,
        cached_tokens=as_whole(details.get("cached_tokens")) or 0,
        reasoning_tokens=as_whole(of_answer.get("reasoning_tokens")) or 0,
        accepted_prediction_tokens=as_whole(of_answer.get("accepted_prediction_tokens")) or 0,
        rejected_prediction_tokens=as_whole(of_answer.get("rejected_prediction_tokens")) or 0,
    )


def context_lengths(listed: Any) -> dict[str, int | None]:
    """Return each listed model's context length, null where the server hides it.

    Raises `ValueError` for another document.
    """
    try:
        return {str(each["id"]): as_whole(each.get("max_model_len")) for each in listed["data"]}
    except (LookupError, TypeError, AttributeError):
        raise ValueError("no list of models") from None


def recommended_sampling(listed: Any) -> dict[str, dict[str, float]]:
    """Return the default sampling of each listed model whose YAIE server tells it."""
    cards = [as_object(each) for each in as_object(listed).get("data") or ()]
    return {
        str(each["id"]): dict(each["default_sampling"])
        for each in cards
        if isinstance(each.get("default_sampling"), dict) and "id" in each
    }


def root_cause(error: BaseException) -> str:
    """Return the operating system's message, which requests wraps several times."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return str(seen.strerror)
        seen = seen.__cause__ or seen.__context__
    return str(error)


def as_object(value: Any) -> dict[str, Any]:
    """Return a JSON object, or an empty object for null or another type."""
    return value if isinstance(value, dict) else {}


def as_text(value: object) -> str:
    """Return a text, or an empty text for null or another type."""
    return value if isinstance(value, str) else ""


def as_whole(value: object) -> int | None:
    """Return an integer, or None for null or another type."""
    return value if isinstance(value, int) else None
