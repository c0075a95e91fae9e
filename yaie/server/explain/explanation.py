"""Answers of `POST /v1/cache/explain`: the engine's explanation, in words and text. Pure."""

from __future__ import annotations

from typing import Any

from yaie.base.queries import Explanation
from yaie.server.explain.explained_prompt import ExplainedPrompt, count_shared

NUM_SHOWN = 24  # tokens of a text after the first missing one
_NUM_BEFORE = 12

_REASONS = {
    None: "every token that a cache can save is held; only the last is computed",
    "not_computed_yet": "another request computes these tokens now; they are held in a moment",
    "evicted": "these tokens were held, and have lost their slots",
    "other_namespace": "these tokens are held in another namespace of this key",
    "template_changed": "the conversation was seen before, with other tools, another system prompt "
    "or other options of the template",
    "never_seen": "no request had this prompt, or that is forgotten",
}


def document_of(
    prompt: ExplainedPrompt, found: Explanation, changed: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return an explanation as JSON values; see `CacheExplanation`.

    `changed`: parts around the conversation that its last turn had otherwise.
    """
    last = found.num_tokens - 1
    place = None if found.cause is None else _divergence(prompt, found)
    cause: str | None = found.cause
    is_doubtful = cause == "never_seen" and bool(changed)
    if is_doubtful and prompt.field_at(min(found.num_held, last)).is_around:
        cause = "template_changed"
    return {
        "object": "cache.explanation",
        "prompt_tokens": found.num_tokens,
        "cached_tokens": min(found.num_held, last),
        "cause": cause,
        "reason": _REASONS[cause],
        "changed": list(changed) if cause == "template_changed" else [],
        "divergence": place,
        "eviction": _eviction(found),
        "cached_tokens_elsewhere": min(found.num_held_elsewhere, last),
    }


def _divergence(prompt: ExplainedPrompt, found: Explanation) -> dict[str, Any]:
    at = min(found.num_held, found.num_tokens - 1)
    held = [
        {
            "text": prompt.tokenizer.decode(branch.token_ids, False),
            "tokens": branch.num_tokens,
            "age_tokens": found.clock - branch.last_used,
        }
        for branch in found.held
        if found.num_known == at
    ]
    return {"position": at, **_around(prompt, at), "held": held}


def _around(prompt: ExplainedPrompt, at: int) -> dict[str, Any]:
    return {
        "field": prompt.field_at(at).name,
        "before": prompt.text(at - _NUM_BEFORE, at),
        "text": prompt.text(at, at + NUM_SHOWN),
    }


def _eviction(found: Explanation) -> dict[str, Any] | None:
    if found.eviction is None:
        return None
    return {
        "tokens": found.eviction.num_tokens,
        "clock": found.eviction.clock,
        "age_tokens": found.clock - found.eviction.clock,
        "age_s": found.eviction.age_s,
        "reason": found.eviction.reason,
    }


def comparison_of(prompt: ExplainedPrompt, other: ExplainedPrompt) -> dict[str, Any]:
    """Return where two prompts part."""
    shared = count_shared(prompt, other)
    is_same_namespace = prompt.cache_salt == other.cache_salt
    places = [
        _around(each, shared) if shared < len(each.token_ids) else None for each in (prompt, other)
    ]
    return {
        "prompt_tokens": len(other.token_ids),
        "shared_tokens": shared if is_same_namespace else 0,
        "is_same_namespace": is_same_namespace,
        "position": shared if any(places) else None,
        "this": places[0],
        "other": places[1],
    }
