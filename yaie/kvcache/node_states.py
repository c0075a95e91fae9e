"""Node states: who holds each slot of the state pool, and the checkpoints on the tree's nodes.

A recurrent layer's state belongs to a position of a path. A checkpoint is a state that a node keeps
at one of its positions, so that a later sequence can resume there. Running sequences hold slots
too; a slot may have several holders and is then never overwritten. Checkpoints have a budget of
their own: the slots that no running sequence needs.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

from yaie.base.errors import InvariantViolated
from yaie.kvcache.node import Node

NO_STATE = -1  # instead of a slot: a state of zeros
STATE_INTERVAL = 512  # tokens between the checkpoints of a long path
_INNER_SHARE = 8  # about one in so many next requests resumes before a path's last state
_HALF_WORTH = 512  # rows that are worth as many checkpoints of age as there are slots
_NUM_LOWERED = 2  # checkpoints above a new one that it makes inner ones
_NEAR = 16  # tokens before a branch, for which a state serves it


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
        self._places: dict[int, Checkpoint] = {}  # by slot
        self._clock = 0  # checkpoints made and used
        self._used_at: dict[int, int] = {}  # by slot
        self._ranks: dict[int, float] = {}  # by slot, the lowest is evicted first
        self._by_rank: list[tuple[float, int]] = []  # heap; entries without their rank are stale
        self._spaced: set[int] = set()  # slots of checkpoints at intervals
        self._surplus: dict[int, None] = {}  # those that are evicted first

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

    def keep(self, node: Node, offset: int, slot: int, *, is_spaced: bool = False) -> None:
        """Make a held slot a checkpoint; it keeps the caller's hold. A second one is released.

        `is_spaced`: it is kept for its interval alone.
        """
        if self.has(node, offset):
            self.release(slot)
            if not is_spaced:
                self.note_want(node, offset)
        elif slot in self._places:
            raise InvariantViolated(f"state slot {slot} is a checkpoint at two places")
        else:
            self._by_node.setdefault(node, {})[offset] = slot
            self._places[slot] = Checkpoint(node, offset)
            self.note_use(slot)
            self._rank_above(node, offset)
            if is_spaced:
                self._spaced.add(slot)
                self._thin(node, (node.start + offset) // STATE_INTERVAL)

    def note_want(self, node: Node, offset: int) -> None:
        """Note that a checkpoint is wanted for another reason than its interval."""
        slot = self._by_node[node][offset]
        self._spaced.discard(slot)
        self._surplus.pop(slot, None)

    def _rank_above(self, node: Node, offset: int) -> None:
        """Rank the nearest checkpoints above a new one again: it has lowered their worth."""
        position = node.start + offset
        for _ in range(_NUM_LOWERED):
            position, slot = self.find(node, offset, position - 1)
            if slot == NO_STATE:
                return
            self._set_rank(slot, self._rank(slot))

    def _thin(self, node: Node | None, last: int) -> None:
        """Have some checkpoints at intervals above the `last` one evicted first.

        The rest are at distances that double: number n stays while the last one is at most n + 2 *
        d, if d is the largest power of two that divides n.
        """
        while node is not None:
            for offset, slot in self._by_node.get(node, {}).items():
                number = (node.start + offset) // STATE_INTERVAL
                if slot in self._spaced and last - number > 2 * (number & -number):
                    self._surplus[slot] = None
            node = node.parent

    def drop_path(self, node: Node | None) -> None:
        """Drop every checkpoint from a node up to its root."""
        while node is not None:
            for offset in list(self._by_node.get(node, ())):
                self._drop(node, offset)
            node = node.parent

    def note_use(self, slot: int) -> None:
        """Make a checkpoint the latest used."""
        self._surplus.pop(slot, None)
        if slot in self._places:
            self._clock += 1
            self._used_at[slot] = self._clock
            self._set_rank(slot, self._rank(slot))

    def checkpoints(self) -> Iterator[tuple[Node, int, int]]:
        """Yield node, offset and slot of each checkpoint."""
        for node, held in self._by_node.items():
            for offset, slot in held.items():
                yield node, offset, slot

    def _evict(self) -> bool:
        """Drop a surplus checkpoint, else the one of the lowest rank."""
        # A slot that a running sequence holds too would not become free.
        victim = next((slot for slot in self._surplus if self._holders[slot] == 1), NO_STATE)
        if victim == NO_STATE and (victim := self._find_lowest()) == NO_STATE:
            return False
        self._drop(*self._places[victim])
        self.num_evicted += 1
        return True

    def _find_lowest(self) -> int:
        """Return the slot of the lowest rank that would become free, else -1."""
        held = []
        lowest = NO_STATE
        while self._by_rank and lowest == NO_STATE:
            entry = rank, slot = heapq.heappop(self._by_rank)
            if self._ranks.get(slot) != rank:
                continue
            if self._holders[slot] > 1:
                held.append(entry)
            elif (now := self._rank(slot)) > rank:  # states above it have been evicted meanwhile
                self._set_rank(slot, now)
            else:
                lowest = slot
        for entry in held:
            heapq.heappush(self._by_rank, entry)
        return lowest

    def _set_rank(self, slot: int, rank: float) -> None:
        if self._ranks.get(slot) != rank:
            self._ranks[slot] = rank
            heapq.heappush(self._by_rank, (rank, slot))
            if len(self._by_rank) > 64 + 2 * len(self._ranks):
                self._by_rank = [(each, slot) for slot, each in self._ranks.items()]
                heapq.heapify(self._by_rank)

    def _rank(self, slot: int) -> float:
        """Return the last use, later by the checkpoint's worth: by two rounds of slots at most."""
        worth = self._worth(self._places[slot])
        return self._used_at[slot] + 2 * self.num_slots * worth / (worth + _HALF_WORTH)

    def _worth(self, place: Checkpoint) -> float:
        """Return about how many rows a checkpoint saves the next request that comes to its path.

        Most requests continue a path at its end or leave it where others did.
        """
        node, offset = place
        position = node.start + offset
        saved = position - self.find(node, offset, position - 1)[0]
        if not node.children:
            # The last but one too: the next turn may lack the answer's reasoning.
            is_last = sum(each > offset for each in self._by_node[node]) < 2
            return saved if is_last else saved / _INNER_SHARE
        if len(node.tokens) - offset >= _NEAR or len(node.children) < 2:
            return saved / _INNER_SHARE
        return saved * (len(node.children) - 1) / (len(node.children) + 1)

    def _drop(self, node: Node, offset: int) -> None:
        held = self._by_node[node]
        slot = held.pop(offset)
        if not held:
            del self._by_node[node]
        del self._places[slot]
        del self._used_at[slot], self._ranks[slot]
        self._spaced.discard(slot)
        self._surplus.pop(slot, None)
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
        self._places[slot] = Checkpoint(node, offset)

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
        if not self._surplus.keys() <= self._spaced <= self._places.keys():
            raise InvariantViolated("a state at an interval is no checkpoint")
        if not set(self._by_rank) >= {(rank, slot) for slot, rank in self._ranks.items()}:
            raise InvariantViolated("a checkpoint cannot be evicted")
        free = [slot for slot in range(self.num_slots) if not self._holders[slot]]
        if sorted(self._free) != free:
            raise InvariantViolated("the free state slots are not those without a holder")
