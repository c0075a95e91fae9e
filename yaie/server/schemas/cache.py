"""Bodies and replies of `/v1/cache`."""

from __future__ import annotations

from typing import Any, Literal

from yaie.base.errors import InvalidRequest, as_shown
from yaie.server.schemas.base import RequestBody
from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.server.schemas.shared_fields import WholeNumber
from yaie.server.schemas.tokens import CountBody

Cause = Literal[
    "no_state", "not_computed_yet", "evicted", "other_namespace", "template_changed", "never_seen"
]


MOST_BRANCHES = 1000


class ExplainBody(CountBody):
    """A completion, chat or message body; only its prompt is read."""

    compare_with: dict[str, Any] | None = None  # another such body

    @property
    def fields(self) -> dict[str, Any]:
        """All fields of the explained body."""
        return self.model_dump(exclude_unset=True, exclude={"compare_with"})


class BranchesBody(RequestBody):
    """A namespace whose branches are listed."""

    cache_salt: str | None = None
    limit: WholeNumber | None = None  # default 50

    def check_limit(self) -> int:
        """Return the number of branches to list. Raises `InvalidRequest`."""
        limit = 50 if self.limit is None else self.limit
        if not 1 <= limit <= MOST_BRANCHES:
            raise InvalidRequest(
                f"limit must be between 1 and {MOST_BRANCHES}, got {as_shown(limit)}", param="limit"
            )
        return limit


class CacheBranch(ReplyStruct, kw_only=True):
    """One edge of the tree: consecutive tokens after which paths diverge or end."""

    text: str
    """Its first tokens; empty where other keys share the namespace."""
    start: int
    """Tokens above it."""
    tokens: int
    tokens_below: int
    depth: int
    """Edges above it."""
    live: int
    """Running sequences in or below it."""
    uses: int
    """Sequences that passed it."""
    age_tokens: int
    """Tokens that the engine has processed since its last use."""


class CacheBranches(ReplyStruct, kw_only=True):
    """The largest branches of a namespace, with all tokens below them counted."""

    object: Literal["cache.branches"] = "cache.branches"
    model: str
    tokens: int
    """Of the namespace."""
    is_complete: bool
    """False if the namespace has more branches."""
    branches: list[CacheBranch]


class ModelCache(ReplyStruct, kw_only=True):
    """Cache numbers of one model. Running sequences use the live tokens."""

    model: str
    num_slots: int
    num_free: int
    num_live: int
    num_cached: int
    num_nodes: int
    num_namespaces: int
    clock: int
    """Tokens processed so far."""
    num_evicted_tokens: int
    num_evicted_nodes: int
    num_remembered_branches: int
    """Evicted branches that explanations know."""
    remembered_bytes: int


class CacheStats(ReplyStruct, kw_only=True):
    """Cache numbers of all loaded models."""

    object: Literal["list"] = "list"
    data: list[ModelCache]


class FlushedCache(ReplyStruct, kw_only=True):
    """Tokens that a flush evicted, and those that running sequences need."""

    object: Literal["cache.flushed"] = "cache.flushed"
    evicted_tokens: int
    kept_tokens: int


class HeldText(ReplyStruct, kw_only=True):
    """One cached continuation at the position where the prompt leaves the cache."""

    text: str
    """Its first tokens."""
    tokens: int
    """Number of its tokens, along the path of latest use."""
    age_tokens: int
    """Tokens that the engine has processed since its last use."""


class Place(ReplyStruct, kw_only=True):
    """One token of a prompt."""

    field: str
    """The field it comes from, as `messages[2].content` or `tools`; `template` for the rest."""
    before: str
    """The text before it."""
    text: str
    """The text from it on."""


class Divergence(Place, kw_only=True):
    """The first token that is not cached."""

    position: int
    """Number of the token, from 0."""
    held: list[HeldText]
    """The cached continuations at this position, latest use first."""


class EvictedTokens(ReplyStruct, kw_only=True):
    """Prompt tokens that were cached before."""

    tokens: int
    clock: int
    """Tokens that the engine had processed when the first of them was evicted."""
    age_tokens: int
    """Tokens that the engine has processed since."""
    age_s: float | None
    """Seconds since; null if older than the engine's record of times."""
    reason: Literal["capacity", "flushed"]


class Comparison(ReplyStruct, kw_only=True):
    """The position where two prompts diverge."""

    prompt_tokens: int
    """Of the other prompt."""
    shared_tokens: int
    """Leading tokens that one prompt can use of the other; 0 in another namespace."""
    is_same_namespace: bool
    position: int | None
    """The first token that differs; null for equal prompts."""
    this: Place | None
    """Null where the prompt has ended."""
    other: Place | None


class UsageExplanation(ReplyStruct, kw_only=True):
    """Cached part of a prompt, and why the rest is not cached."""

    prompt_tokens: int
    cached_tokens: int
    """The `cached_tokens` that the request would have now."""
    cause: Cause | None
    """Null if only the last token is missing, which is always computed."""
    reason: str
    """The cause as a sentence."""
    changed: list[str]
    """With the cause `template_changed`: the parts that the last turn had otherwise."""
    divergence: Divergence | None
    eviction: EvictedTokens | None
    """Null if the first missing token was never evicted, or that is forgotten."""
    cached_tokens_elsewhere: int
    """Leading tokens that are cached in another namespace of the same key."""


class CacheExplanation(UsageExplanation, kw_only=True):
    """Answer of `POST /v1/cache/explain`."""

    object: Literal["cache.explanation"] = "cache.explanation"
    model: str
    comparison: Comparison | None
    """With `compare_with`."""
