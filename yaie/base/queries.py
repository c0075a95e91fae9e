"""Queries: questions to the engine that generate nothing, and their answers.

An engine answers between two steps. All are frozen and plain, so that msgspec can send them
between processes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

# Reasons why a token of a prompt has no keys and values, or has lost them.
Cause = Literal["not_computed_yet", "evicted", "other_namespace", "never_seen"]
EvictionReason = Literal["capacity", "flushed"]
ENGINE_ANSWER_S = 15.0  # default limit; a step of a long prompt comes first


def least_explained(missing: int) -> int:
    """Return the number of missing tokens that a cause must account for: half of them.

    Prompts of one chat template begin alike; a lost or foreign header is not the cause.
    """
    return (missing + 1) // 2


class ExplainPrompt(msgspec.Struct, frozen=True, tag=True):
    """Question: how far is this prompt cached, and why no further?"""

    token_ids: tuple[int, ...]
    owner: str = ""  # with the salt, the namespace; see `GenerationRequest`
    cache_salt: str = ""
    num_shown: int = 0  # tokens of each held continuation in the answer
    names_salts: bool = False  # looks into all namespaces of the owner, else into the unsalted one


class HeldBranch(msgspec.Struct, frozen=True):
    """One continuation that the tree holds where a prompt leaves it."""

    token_ids: tuple[int, ...]  # the first ones
    num_tokens: int  # behind the point, along the longest path that was visited
    last_used: int  # clock of the tree


class Eviction(msgspec.Struct, frozen=True):
    """Loss of the first missing token of a prompt."""

    num_tokens: int  # of the prompt that follow and were evicted too
    clock: int  # of the tree, in tokens processed
    reason: EvictionReason
    age_s: float | None = None  # None if older than the engine's record of times


class Explanation(msgspec.Struct, frozen=True, tag=True):
    """Answer: the part of a prompt that is held, and the cause of the rest."""

    num_tokens: int  # of the prompt
    num_held: int  # leading ones with their keys and values in the pool
    num_known: int  # leading ones that the tree has; those after `num_held` are to be computed
    cause: Cause | None  # None: all but the last token are held, which is always computed
    clock: int  # of the tree
    held: tuple[HeldBranch, ...] = ()  # after `num_known` tokens, latest use first
    eviction: Eviction | None = None
    num_held_elsewhere: int = 0  # leading ones that another namespace of the owner holds


class DescribeCache(msgspec.Struct, frozen=True, tag=True):
    """Question: what is in the cache, in numbers?"""


class CacheDescription(msgspec.Struct, frozen=True, tag=True):
    """Answer: numbers of tokens, nodes and namespaces."""

    num_slots: int
    num_free: int
    num_live: int
    num_cached: int
    num_nodes: int
    num_namespaces: int
    clock: int
    num_evicted_tokens: int
    num_evicted_nodes: int
    num_remembered_branches: int  # evicted ones
    remembered_bytes: int


class FlushCache(msgspec.Struct, frozen=True, tag=True):
    """Order: evict every token that no live or lingering sequence needs."""


class Flushed(msgspec.Struct, frozen=True, tag=True):
    """Answer: number of tokens that were evicted, and of those that stay."""

    num_evicted_tokens: int
    num_kept_tokens: int


class ListBranches(msgspec.Struct, frozen=True, tag=True):
    """Question: what are the largest branches of a namespace?"""

    owner: str = ""
    cache_salt: str = ""
    limit: int = 50
    num_shown: int = 0  # tokens of each


class Branch(msgspec.Struct, frozen=True):
    """One edge of the tree."""

    token_ids: tuple[int, ...]  # the first ones
    start: int  # tokens above
    num_tokens: int
    num_tokens_below: int
    depth: int  # edges above
    num_live: int  # sequences in or below
    num_uses: int
    last_used: int  # clock of the tree


class Branches(msgspec.Struct, frozen=True, tag=True):
    """Answer: branches, parents before children."""

    branches: tuple[Branch, ...]
    num_tokens: int  # of the namespace, as far as it was visited
    clock: int  # of the tree
    is_complete: bool  # False: the namespace has more


Query = ExplainPrompt | DescribeCache | FlushCache | ListBranches
Answer = Explanation | CacheDescription | Flushed | Branches
