"""Answers to queries, from the tree of an engine. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from yaie.errors import InvalidRequest
from yaie.kvcache.explain import explain
from yaie.kvcache.radix_tree import RadixTree
from yaie.queries import (
    Answer,
    CacheDescription,
    DescribeCache,
    ExplainPrompt,
    Explanation,
    FlushCache,
    Flushed,
    Query,
)

_MOST_SALTS = 256  # namespaces of one owner that are looked into, the newest


def namespace_of(owner: str, cache_salt: str) -> Hashable:
    """Return the namespace of a request."""
    return (owner, cache_salt)


def answer(tree: RadixTree, query: Query) -> Answer:
    """Answer a query. Raises `InvalidRequest` for one of an unknown kind."""
    if isinstance(query, ExplainPrompt):
        return _explain(tree, query)
    if isinstance(query, DescribeCache):
        return _describe(tree)
    if isinstance(query, FlushCache):
        evicted = tree.clear()
        return Flushed(evicted, tree.num_slots - tree.num_free)
    raise InvalidRequest(f"{type(query).__name__} is no query")


def _explain(tree: RadixTree, query: ExplainPrompt) -> Explanation:
    return explain(
        tree,
        namespace_of(query.owner, query.cache_salt),
        query.token_ids,
        elsewhere=_elsewhere(tree, query),
        num_shown=query.num_shown,
    )


def _elsewhere(tree: RadixTree, query: ExplainPrompt) -> list[Hashable]:
    """Return the namespaces that the answer may speak of."""
    if not query.names_salts:
        return [namespace_of(query.owner, "")]
    return [root for root, _ in zip(_of_owner(tree, query.owner), range(_MOST_SALTS), strict=False)]


def _of_owner(tree: RadixTree, owner: str) -> Iterator[Hashable]:
    return (
        root
        for root in reversed(tree.roots)
        if isinstance(root, tuple) and len(root) == 2 and root[0] == owner
    )


def _describe(tree: RadixTree) -> CacheDescription:
    return CacheDescription(
        num_slots=tree.num_slots,
        num_free=tree.num_free,
        num_live=tree.num_live,
        num_cached=tree.num_cached,
        num_nodes=tree.num_nodes,
        num_namespaces=len(tree.roots),
        clock=tree.clock,
        num_evicted_tokens=tree.num_evicted_tokens,
        num_evicted_nodes=tree.num_evicted_nodes,
        num_remembered_branches=len(tree.evicted),
        remembered_bytes=tree.evicted.num_bytes,
    )
