"""Explanation of a look-up: how far a prompt is cached, what is cached instead, and why. Pure.

The cause concerns the first missing token. It must account for some tokens after it, see
`least_explained`. Among several causes the furthest-reaching is named.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from yaie.base.queries import Cause, Eviction, Explanation, HeldBranch, least_explained
from yaie.kvcache.match import Match
from yaie.kvcache.node import Node, as_tokens
from yaie.kvcache.radix_tree import RadixTree

_MOST_BRANCHES = 4  # per answer


def explain(
    tree: RadixTree,
    namespace: Hashable,
    token_ids: Iterable[int],
    *,
    elsewhere: Iterable[Hashable] = (),
    num_shown: int = 0,
) -> Explanation:
    """Explain a prompt's look-up, without any change.

    `elsewhere`: namespaces that the caller may know about. `num_shown`: tokens of each cached
    continuation in the answer; 0 leaves the continuations out.
    """
    tokens = as_tokens(token_ids)
    match = tree.match(namespace, tokens)
    goal = len(tokens) - 1  # the last token is computed for its logits in any case
    loss = tree.evicted.loss(namespace, tokens, match.num_known)
    others = (tree.match(other, tokens).num_resumable for other in elsewhere if other != namespace)
    best_elsewhere = max(others, default=0)
    reaches: dict[Cause, int] = {
        "no_state": match.num_computed if tree.states is not None else 0,
        "not_computed_yet": match.num_known,
        "evicted": match.num_known + loss.num_tokens if loss else 0,
        "other_namespace": best_elsewhere,
    }
    held = match.num_resumable
    cause: Cause | None = None
    if held < goal:
        furthest = max(reaches, key=lambda each: reaches[each])  # the first of equal ones
        gained = min(reaches[furthest], goal) - held
        cause = furthest if gained >= least_explained(goal - held) else "never_seen"
    return Explanation(
        num_tokens=len(tokens),
        num_held=held,
        num_known=match.num_known,
        cause=cause,
        clock=tree.clock,
        held=list_branches(match, num_shown) if match.num_known < len(tokens) else (),
        eviction=Eviction(loss.num_tokens, loss.clock, loss.reason) if loss else None,
        num_held_elsewhere=best_elsewhere,
    )


def list_branches(match: Match, num_shown: int) -> tuple[HeldBranch, ...]:
    """Return the tree's continuations after a match, latest use first."""
    node = match.node
    if node is None or not num_shown:
        return ()
    if match.offset < len(node.tokens):
        return (_branch(node, match.offset, num_shown),)
    children = sorted((node.children or {}).values(), key=lambda each: -each.last_used)
    return tuple(_branch(child, 0, num_shown) for child in children[:_MOST_BRANCHES])


def _branch(node: Node, offset: int, num_shown: int) -> HeldBranch:
    """Follow the most recently used path down from a node's token."""
    start, last_used = node.start + offset, node.last_used
    shown = node.tokens[offset : offset + num_shown]
    while node.children:
        node = max(node.children.values(), key=lambda each: each.last_used)
        shown.extend(node.tokens[: num_shown - len(shown)])
    return HeldBranch(tuple(shown), node.end - start, last_used)
