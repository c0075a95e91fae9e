"""Queries: questions that clients ask the engine, and the engine's replies.

An engine replies between two steps. All are frozen and plain, so that msgspec can send them between
processes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from yaie.base.adapter_info import AdapterInfo

# Reasons why a token of a prompt has no keys and values, or has lost them.
Cause = Literal["no_state", "not_computed_yet", "evicted", "other_namespace", "never_seen"]
EvictionReason = Literal["capacity", "flushed"]
ENGINE_ANSWER_S = 15.0  # default limit; a step of a long prompt comes first


def least_explained(missing: int) -> int:
    """Return how many missing tokens a cause must account for: half of them.

    Prompts with one chat template share their first tokens, so a lost header is not the cause.
    """
    return (missing + 1) // 2


class ExplainPrompt(msgspec.Struct, frozen=True, tag=True):
    """Question: how far is this prompt cached, and why no further?"""

    token_ids: tuple[int, ...]
    owner: str = ""  # with the salt, the namespace; see `GenerationRequest`
    cache_salt: str = ""
    num_shown: int = 0  # tokens to return for each cached continuation
    names_salts: bool = False  # search all namespaces of the owner, else the unsalted one
    adapter: str = ""  # name; the third part of the namespace


class HeldBranch(msgspec.Struct, frozen=True):
    """A cached continuation at the point where a prompt leaves the tree."""

    token_ids: tuple[int, ...]  # the first ones
    num_tokens: int  # after the point, along the longest visited path
    last_used: int  # clock of the tree


class Eviction(msgspec.Struct, frozen=True):
    """Eviction of the first missing token of a prompt."""

    num_tokens: int  # prompt tokens evicted from there on
    clock: int  # tree clock, in processed tokens
    reason: EvictionReason
    age_s: float | None = None  # None if older than the engine's record of times


class Explanation(msgspec.Struct, frozen=True, tag=True):
    """Reply: how many prompt tokens are cached, and why the rest is missing."""

    num_tokens: int  # prompt tokens
    num_held: int  # leading tokens whose keys and values are in the pool
    # Leading tokens in the tree. After `num_held` they are not computed yet; with the cause
    # "no_state" all are computed.
    num_known: int
    cause: Cause | None  # None: only the last token is missing, which is always computed
    clock: int  # tree clock
    held: tuple[HeldBranch, ...] = ()  # after `num_known` tokens, latest use first
    eviction: Eviction | None = None
    num_held_elsewhere: int = 0  # leading tokens cached in another namespace of the owner


class DescribeCache(msgspec.Struct, frozen=True, tag=True):
    """Question: what is in the cache, in numbers?"""


class CacheDescription(msgspec.Struct, frozen=True, tag=True):
    """Reply: tokens, nodes and namespaces in the cache."""

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
    """Reply: tokens that were evicted, and tokens that remain."""

    num_evicted_tokens: int
    num_kept_tokens: int


class ListBranches(msgspec.Struct, frozen=True, tag=True):
    """Question: which are the largest branches in a namespace?"""

    owner: str = ""
    cache_salt: str = ""
    limit: int = 50
    num_shown: int = 0  # tokens of each
    adapter: str = ""  # name


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
    num_tokens: int  # tokens in the visited part of the namespace
    clock: int  # tree clock
    is_complete: bool  # False: the namespace has more


class ListBlocks(msgspec.Struct, frozen=True, tag=True):
    """Question: which blocks are cached? For routers; needs the setting `cache_events`."""

    limit: int = 4096  # names


class Blocks(msgspec.Struct, frozen=True, tag=True):
    """Reply: block names, latest use first; a path's parents come before its children."""

    names: bytes  # packed, see `yaie.base.cache_changes.unpack_names`
    num_omitted: int
    block_size: int  # tokens


class ViewTree(msgspec.Struct, frozen=True, tag=True):
    """Question: what do the tree and the queue look like now? For a page that shows them."""

    limit: int = 500  # nodes
    num_shown: int = 0  # tokens of each node
    num_requests: int = 20


class ViewedNode(msgspec.Struct, frozen=True, array_like=True):
    """One edge of the tree."""

    number: int  # its name, above 0; a split leaves it to the lower part
    parent: int  # 0: a root
    owner: str
    is_salted: bool  # in a namespace with a `cache_salt`
    start: int  # tokens above
    num_tokens: int
    num_uses: int  # sequences that passed
    used_at: float  # seconds of the engine's performance counter; 0: before its records
    num_live: int  # running sequences in or below
    num_hidden: int  # children that the view omits
    first_tokens: bytes  # 4 bytes each, see `yaie.base.cache_changes.unpack_tokens`


class ViewedRequest(msgspec.Struct, frozen=True, array_like=True):
    """One request that waits or runs."""

    request_id: str
    tenant: str
    owner: str
    is_running: bool
    num_prompt: int
    num_cached: int  # prompt tokens with keys and values now, or at its first token
    num_output: int  # tokens over all its sequences
    age_s: float
    node: int  # of its first cursor; 0 while it waits, or outside the view


class Twins(msgspec.Struct, frozen=True, array_like=True):
    """Two nodes with one parent whose tokens are equal except a few at their beginnings."""

    first: int  # numbers of the nodes
    second: int
    num_tokens: int  # equal ones


class Miss(msgspec.Struct, frozen=True, array_like=True):
    """The uncached part of one admitted request's prompt."""

    request_id: str
    num_cached: int
    num_evicted: int  # uncached tokens that were cached once
    kind: Literal["changed", "new"]  # of the remaining tokens


class TreeView(msgspec.Struct, frozen=True, tag=True):
    """Reply: nodes of most worth, parents before children, and the oldest requests."""

    nodes: tuple[ViewedNode, ...]
    requests: tuple[ViewedRequest, ...]
    num_nodes: int  # in the tree
    num_held: int  # tokens in the tree
    num_more: int  # requests that the view omits
    num_more_tokens: int  # their prompt tokens
    misses: tuple[Miss, ...]  # of the last admitted requests
    held_by_owner: dict[str, int]  # tokens of the nodes in the view
    twins: Twins | None  # the largest pair in the view
    seconds: float  # time that the view took the engine


class LoadAdapter(msgspec.Struct, frozen=True, tag=True):
    """Order: load a LoRA adapter for later requests."""

    name: str
    path: str  # its folder
    replaces: bool = False  # a loaded one of that name; else it is refused


class UnloadAdapter(msgspec.Struct, frozen=True, tag=True):
    """Order: refuse an adapter's later requests, and free it when its last one has ended."""

    name: str


class AdapterChanged(msgspec.Struct, frozen=True, tag=True):
    """Reply: the adapter that was loaded or unloaded."""

    adapter: AdapterInfo


Query = (
    ExplainPrompt
    | DescribeCache
    | FlushCache
    | ListBranches
    | ListBlocks
    | ViewTree
    | LoadAdapter
    | UnloadAdapter
)
Answer = Explanation | CacheDescription | Flushed | Branches | Blocks | TreeView | AdapterChanged
