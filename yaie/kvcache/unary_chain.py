"""What lies above a node as if it were one edge, kept from one step to the next.

A prompt that others left at many places is a chain of as many nodes, which cannot be joined; where
nobody runs along those branches, all of the chain is the same to a step. The planner asks for the
chain above each node where live sequences part or stand, and walks from one to the next.

    root ── A ── B ── C ── D ── E^       live: what stands at E and at F. The chain above E is
                 └─ x └─ F^ └─ x         D, the one above C is A and B; both end where refs change

Why what was kept can be trusted: as long as a sequence lives, every position of its path keeps its
slot. Splits and joins move slots from node to node, but never to another position; a node with
something live below it neither grows nor shrinks at its end. So the slots of a chain are right
for as long as its node has refs, and only its two ends have to be looked at. Refs never grow on
the way down, so that its first node having as many as the node below it says that all have.

What it costs: eight bytes a token. Only a node where somebody stands or parted at the last step
keeps a chain, which is dropped or taken over by one below it when that is no longer so.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

from yaie.kvcache.node import Node, SlotArray, slots_of


@dataclass(frozen=True, slots=True)
class Chain:
    """The nodes straight above one node through which the same live sequences pass."""

    top: Node  # the first of them
    first_position: int  # where that began
    slots: SlotArray  # of all their tokens, in order of position

    def leads_to(self, node: Node) -> bool:
        """Whether this, which was kept at the live node, is still a chain that ends above it."""
        top = self.top
        return (
            top.parent is not None  # it was not joined into another
            and top.start == self.first_position  # nor did a split or a join move its start
            and top.refs == node.refs  # nobody stands in between or parts there
            and self.first_position + len(self.slots) == node.start
        )


def make_chain_above(node: Node) -> Chain | None:
    """The longest chain that ends above the node, whatever has been kept; None: there is none.

    Costs nothing for each node of it while it stays as it was, and takes over what others on the
    way have kept.
    """
    kept = node.chain
    if kept is not None and kept.leads_to(node) and not _goes_on(kept.top):
        return kept
    parts: list[Node | Chain] = []
    top = node
    while True:
        kept = top.chain
        if kept is not None:
            top.chain = None
            if kept.leads_to(top):
                parts.append(kept)
                top = kept.top
                continue
        if not _goes_on(top):
            break
        assert top.parent is not None
        top = top.parent
        parts.append(top)
    if not parts:
        return None
    node.chain = Chain(top, top.start, _slots_of(parts[::-1]))
    return node.chain


def _goes_on(node: Node) -> bool:
    """Whether the node above is one through which the same live sequences pass."""
    above = node.parent
    return (
        above is not None and above.parent is not None and above.refs == node.refs and node.refs > 0
    )


def _slots_of(parts: list[Node | Chain]) -> SlotArray:
    """Of all of them; nodes that follow each other at once, since most have a few tokens."""
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
