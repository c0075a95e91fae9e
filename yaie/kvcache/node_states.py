"""Node states: who holds each slot of the state pool, and the checkpoints on the tree's nodes.

A recurrent layer's state belongs to a position of a path. A checkpoint is a state that a node keeps
at one of its positions, so that a later sequence can resume there. Running sequences hold slots
too; a slot may have several holders and is then never overwritten. Checkpoints have a budget of
their own: the slots that no running sequence needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from yaie.base.errors import InvariantViolated
from yaie.kvcache.node import Node

NO_STATE = -1  # instead of a slot: a state of zeros
_COMPARED = 16  # oldest checkpoints, of which the one that saves least is evicted


class Checkpoint(NamedTuple):
    """The place of a state: after the first `offset` tokens of a node."""

    node: Node
    offset: int


class NodeStates:
    """The slots of a state pool. The tree calls its hooks when nodes change."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.num_evicted = 0  # checkpoints, since the start
        self._free = list(range(num_slots))[::-1]
        self._holders = [0] * num_slots
        self._by_node: dict[Node, dict[int, int]] = {}  # slots by offset
        self._places: dict[int, Checkpoint] = {}  # by slot, latest use last

    def __len__(self) -> int:
        """Return the number of checkpoints."""
        return len(self._places)

    def __contains__(self, slot: int) -> bool:
        """Return True if the slot is a checkpoint."""
        return slot in self._places

    @property
    def num_used(self) -> int:
        """Slots with a holder."""
        return self.num_slots - len(self._free)

    # -- slots ----------------------------------------------------------------------------------

    def take(self) -> int:
        """Return a slot with one holder; evict a checkpoint if none is free, else -1."""
        if not self._free and not self._evict():
            return NO_STATE
        slot = self._free.pop()
        self._holders[slot] = 1
        return slot

    def hold(self, slot: int) -> None:
        """Add a holder."""
        if slot != NO_STATE:
            self._holders[slot] += 1

    def release(self, slot: int) -> None:
        """Remove a holder; the last one frees the slot."""
        if slot == NO_STATE:
            return
        self._holders[slot] -= 1
        if not self._holders[slot]:
            self._free.append(slot)

    # -- checkpoints ----------------------------------------------------------------------------

    def find(self, node: Node | None, offset: int, limit: int) -> tuple[int, int]:
        """Return position and slot of the deepest checkpoint on a path, at `limit` or before.

        The path ends after `offset` tokens of `node`. (0, -1) without any.
        """
        while node is not None and node.parent is not None:
            most = min(offset, limit - node.start)
            held = self._by_node.get(node)
            if held and (best := max((each for each in held if each <= most), default=0)):
                return node.start + best, held[best]
            node = node.parent
            offset = len(node.tokens)
        return 0, NO_STATE

    def has(self, node: Node, offset: int) -> bool:
        """Return True if there is a checkpoint just there."""
        return offset in self._by_node.get(node, ())

    def keep(self, node: Node, offset: int, slot: int) -> None:
        """Make a held slot a checkpoint; it keeps the caller's hold. A second one is released."""
        if self.has(node, offset):
            self.release(slot)
        elif slot in self._places:
            raise InvariantViolated(f"state slot {slot} is a checkpoint at two places")
        else:
            self._by_node.setdefault(node, {})[offset] = slot
            self._places[slot] = Checkpoint(node, offset)

    def drop_path(self, node: Node | None) -> None:
        """Drop every checkpoint from a node up to its root."""
        while node is not None:
            for offset in list(self._by_node.get(node, ())):
                self._drop(node, offset)
            node = node.parent

    def note_use(self, slot: int) -> None:
        """Make a checkpoint the latest used."""
        place = self._places.pop(slot, None)
        if place is not None:
            self._places[slot] = place

    def checkpoints(self) -> Iterator[tuple[Node, int, int]]:
        """Yield node, offset and slot of each checkpoint."""
        for node, held in self._by_node.items():
            for offset, slot in held.items():
                yield node, offset, slot

    def _evict(self) -> bool:
        """Drop one of the oldest checkpoints, the one whose loss costs the fewest rows."""
        # A slot that a running sequence holds too would not become free.
        alone = (each for each in self._places.items() if self._holders[each[0]] == 1)
        oldest = list(islice(alone, _COMPARED))
        if not oldest:
            return False
        places = (place for _, place in oldest)
        self._drop(*min(places, key=self._count_saved))
        self.num_evicted += 1
        return True

    def _count_saved(self, place: Checkpoint) -> int:
        """Count the tokens from the checkpoint above to this one."""
        position = place.node.start + place.offset
        return position - self.find(place.node, place.offset, position - 1)[0]

    def _drop(self, node: Node, offset: int) -> None:
        held = self._by_node[node]
        slot = held.pop(offset)
        if not held:
            del self._by_node[node]
        del self._places[slot]
        self.release(slot)

    # -- hooks of the tree ----------------------------------------------------------------------

    def note_split(self, node: Node, upper: Node) -> None:
        """Move the checkpoints of the first part to `upper`, and shift the rest."""
        held = self._by_node.pop(node, None)
        keep = len(upper.tokens)
        for offset, slot in (held or {}).items():
            self._move(slot, upper if offset <= keep else node, offset - (offset > keep) * keep)

    def note_join(self, chain: list[Node]) -> None:
        """Move the checkpoints of all nodes, of which the last has all tokens now, to it."""
        node, before = chain[-1], 0
        found = [(part, self._by_node.pop(part, {})) for part in chain]
        for part, held in found:
            for offset, slot in held.items():
                self._move(slot, node, before + offset)
            before += len(part.tokens)

    def note_loss(self, leaf: Node, keep: int) -> None:
        """Drop the checkpoints after a leaf's first `keep` tokens."""
        for offset in [each for each in self._by_node.get(leaf, ()) if each > keep]:
            self._drop(leaf, offset)

    def clear(self) -> None:
        """Drop every checkpoint."""
        for node, offset, _ in list(self.checkpoints()):
            self._drop(node, offset)

    def _move(self, slot: int, node: Node, offset: int) -> None:
        self._by_node.setdefault(node, {})[offset] = slot
        self._places[slot] = Checkpoint(node, offset)  # keeps its place in the order

    def check(self, nodes: list[Node]) -> None:
        """Raise `InvariantViolated` if checkpoints and slots disagree with the tree's nodes."""
        known = set(nodes)
        for node, offset, slot in self.checkpoints():
            if node not in known or not 0 < offset <= node.num_computed:
                raise InvariantViolated(f"a state at {offset} of {node} has no computed token")
            if self._places.get(slot) != (node, offset) or self._holders[slot] < 1:
                raise InvariantViolated(f"state slot {slot} is not where its node says")
        if len(self._places) != sum(len(held) for held in self._by_node.values()):
            raise InvariantViolated("a checkpoint has no node")
        free = [slot for slot in range(self.num_slots) if not self._holders[slot]]
        if sorted(self._free) != free:
            raise InvariantViolated("the free state slots are not those without a holder")
