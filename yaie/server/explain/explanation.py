"""Replies of `POST /v1/cache/explain`: the engine's explanation, in words and text. Pure."""

from __future__ import annotations

from yaie.base.queries import Explanation
from yaie.server.explain.explained_prompt import ExplainedPrompt, count_shared
from yaie.server.schemas.cache import (
    Cause,
    Comparison,
    Divergence,
    EvictedTokens,
    HeldText,
    Place,
    UsageExplanation,
)

NUM_SHOWN = 24  # tokens of a text after the first missing one
_NUM_BEFORE = 12

_REASONS = {
    None: "every token that a cache can save is held; only the last is computed",
    "no_state": "resumed at {cached:,} of {held:,} held tokens: no later state of the recurrent "
    "layers is held; this prompt leaves one where it parts",
    "not_computed_yet": "another request computes these tokens now; they are held in a moment",
    "evicted": "these tokens were held, and have lost their slots",
    "other_namespace": "these tokens are held in another namespace of this key",
    "template_changed": "the conversation was seen before, with other tools, another system prompt "
    "or other options of the template",
    "never_seen": "no request had this prompt, or that is forgotten",
}


def explain(
    prompt: ExplainedPrompt, found: Explanation, changed: tuple[str, ...] = ()
) -> UsageExplanation:
    """Return the reply for the engine's explanation.

    `changed`: parts around the conversation that its last turn had otherwise.
    """
    last = found.num_tokens - 1
    place = None if found.cause is None else _divergence(prompt, found)
    cause: Cause | None = found.cause
    is_doubtful = cause == "never_seen" and bool(changed)
    if is_doubtful and prompt.field_at(min(found.num_held, last)).is_around:
        cause = "template_changed"
    return UsageExplanation(
        prompt_tokens=found.num_tokens,
        cached_tokens=min(found.num_held, last),
        cause=cause,
        reason=reason_for(cause, found),
        changed=list(changed) if cause == "template_changed" else [],
        divergence=place,
        eviction=_eviction(found),
        cached_tokens_elsewhere=min(found.num_held_elsewhere, last),
    )


def reason_for(cause: Cause | None, found: Explanation) -> str:
    """Return a cause in words."""
    cached = min(found.num_held, found.num_tokens - 1)
    return _REASONS[cause].format(cached=cached, held=found.num_known)


def _divergence(prompt: ExplainedPrompt, found: Explanation) -> Divergence:
    at = min(found.num_held, found.num_tokens - 1)
    held = [
        HeldText(
            text=prompt.tokenizer.decode(branch.token_ids, False),
            tokens=branch.num_tokens,
            age_tokens=found.clock - branch.last_used,
        )
        for branch in found.held
        if found.num_known == at
    ]
    place = _place(prompt, at)
    return Divergence(
        position=at, field=place.field, before=place.before, text=place.text, held=held
    )


def _place(prompt: ExplainedPrompt, at: int) -> Place:
    return Place(
        field=prompt.field_at(at).name,
        before=prompt.text(at - _NUM_BEFORE, at),
        text=prompt.text(at, at + NUM_SHOWN),
    )


def _eviction(found: Explanation) -> EvictedTokens | None:
    if found.eviction is None:
        return None
    return EvictedTokens(
        tokens=found.eviction.num_tokens,
        clock=found.eviction.clock,
        age_tokens=found.clock - found.eviction.clock,
        age_s=found.eviction.age_s,
        reason=found.eviction.reason,
    )


def compare_prompts(prompt: ExplainedPrompt, other: ExplainedPrompt) -> Comparison:
    """Return the position where two prompts diverge."""
    shared = count_shared(prompt, other)
    is_same_namespace = prompt.cache_salt == other.cache_salt
    places = [
        _place(each, shared) if shared < len(each.token_ids) else None for each in (prompt, other)
    ]
    return Comparison(
        prompt_tokens=len(other.token_ids),
        shared_tokens=shared if is_same_namespace else 0,
        is_same_namespace=is_same_namespace,
        position=shared if any(places) else None,
        this=places[0],
        other=places[1],
    )
