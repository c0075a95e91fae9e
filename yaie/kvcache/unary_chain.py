"""Unary chains: cache the nodes above a live node as one run of slots, across steps.

A prompt that other requests left at many positions is a chain of that many nodes. They cannot be
joined, but between two branch points of live sequences a step treats them alike. The planner visits
only nodes where live sequences end or fork, and reads the chain above each.

    root ── A ── B ── C ── D ── E^       live: the sequences at E and F. The chain above E is D,
                 └─ x └─ F^ └─ x         the one above C is A and B; both end where refs change

A kept chain stays valid as long as its node has refs. While a sequence lives, every position of its
path keeps its slot: splits and joins move slots between nodes, never between positions. A node
above a live one keeps its end. Only the two ends of a chain are therefore checked. Refs never grow
on the way down, so equal refs at the top and below the chain mean equal refs between.

Cost: eight bytes a token. Only nodes where sequences ended or forked in the last step keep a chain.
It is dropped, or taken over by a chain further down, once that changes.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

from yaie.kvcache.node import Node, SlotArray, slots_of


@dataclass(frozen=True, slots=True)
class UnaryChain:
    """The nodes directly above one node with the same live sequences as that node."""

    top: Node  # the first of them
    first_position: int  # position of `top` when the chain was made
    slots: SlotArray  # all tokens' slots, by position

    def leads_to(self, node: Node) -> bool:
        """Return True if the chain cached at the live `node` is still valid and ends above it."""
        top = self.top
        return (
            top.parent is not None  # not joined into another edge
            and top.start == self.first_position  # its start was not split or joined away
            and top.refs == node.refs  # all live sequences pass
            and self.first_position + len(self.slots) == node.start
        )


def make_chain_above(node: Node) -> UnaryChain | None:
    """Return the longest chain that ends above the node, or None, and keep it there.

    Takes over cached chains on the way, so that an unchanged chain costs O(1) at any length.
    """
    kept = node.chain
    if kept is not None and kept.leads_to(node) and not _continues(kept.top):
        return kept
    parts: list[Node | UnaryChain] = []
    top = node
    while True:
        kept = top.chain
        if kept is not None:
            top.chain = None
            if kept.leads_to(top):
                parts.append(kept)
                top = kept.top
                continue
        if not _continues(top):
            break
        assert top.parent is not None
        top = top.parent
        parts.append(top)
    if not parts:
        return None
    node.chain = UnaryChain(top, top.start, _slots_of(parts[::-1]))
    return node.chain


def _continues(node: Node) -> bool:
    """Return True if the parent has the same live sequences and is not a root."""
    above = node.parent
    return (
        above is not None and above.parent is not None and above.refs == node.refs and node.refs > 0
    )


def _slots_of(parts: list[Node | UnaryChain]) -> SlotArray:
    """Concatenate the nodes' slots; runs of nodes at once, as most have a few tokens."""
    found: list[SlotArray] = []
    extents = array("i")
    for part in parts:
        if isinstance(part, Node):
            extents.extend(part.extents)
            continue
        if extents:
            found.append(slots_of(extents))
            extents = array("i")
        found.append(part.slots)
    if extents:
        found.append(slots_of(extents))
    return np.concatenate(found)
