"""Slot allocator: keeps the pool's free slots as extents, so that a path's slots stay in long runs.

A kernel streams consecutive slots and gathers scattered ones. Used by `RadixTree` only, the owner
of every other slot.

    pool   [####......####.............####]     '#' owned by a node, '.' free
    free         (4, 6)     (14, 13)             extents (start, length); neighbours are merged
"""

from __future__ import annotations

from collections import OrderedDict

from yaie.base.errors import InvariantViolated

Extent = tuple[int, int]  # (first slot, number of slots)

MIN_RUN = 16  # slots: a shorter free extent, a fragment, waits for its neighbours to become free
GROWTH_GAP = 128  # slots: the distance of growing sequences in a long extent
_FRAGMENT_SHARE = 32  # a pool's 32nd may stay free in fragments
_CANDIDATES = 8  # extents of the fitting size class that are tried for a best fit


class OutOfSlots(Exception):
    """Too few slots are free; all stay as they were. The scheduler handles it."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(f"{needed} slots needed, {available} free or evictable")


class SlotAllocator:
    """Free slots as maximal extents, in size classes of powers of two.

    Invariants: extents are disjoint, never adjacent (neighbours are merged), and add up to
    `num_free`. Operations cost O(extents touched), never O(slots).
    """

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.num_free = 0
        self._length_at: dict[int, int] = {}  # start -> length
        self._start_before: dict[int, int] = {}  # end (exclusive) -> start
        # Size class c holds extents of 2**(c-1) to 2**c - 1 slots, oldest first. A plain dict would
        # walk past all removed keys to find its first key.
        self._classes: list[OrderedDict[int, None]] = [
            OrderedDict() for _ in range(num_slots.bit_length() + 1)
        ]
        self._occupied = 0  # bit c: size class c is not empty
        self.num_in_fragments = 0  # free slots in extents shorter than MIN_RUN
        self.max_in_fragments = num_slots // _FRAGMENT_SHARE
        if num_slots:
            self._add(0, num_slots)
            self.num_free = num_slots

    def allocate(self, count: int) -> list[Extent]:
        """Take `count` slots in as few extents as possible, best fit first.

        Raises `OutOfSlots`, and leaves all slots free, if fewer are free.
        """
        if count > self.num_free:
            raise OutOfSlots(count, self.num_free)
        taken: list[Extent] = []
        while count:
            start = self._find(count)
            length = self._length_at[start]
            used = min(length, count)
            self._remove(start)
            if used < length:
                self._add(start + used, length - used)
            taken.append((start, used))
            count -= used
            self.num_free -= used
        return taken

    def take(self, slot: int) -> bool:
        """Take this slot if a free extent begins with it, so that a path grows in place."""
        length = self._length_at.get(slot)
        if length is None:
            return False
        self.num_free -= 1
        size_class = length.bit_length()
        if length <= MIN_RUN or (length - 1).bit_length() != size_class:
            self._remove(slot)
            if length > 1:
                self._add(slot + 1, length - 1)
            return True
        # Each sampled token of each sequence comes here. The extent stays in its class.
        del self._length_at[slot]
        self._length_at[slot + 1] = length - 1
        self._start_before[slot + length] = slot + 1
        members = self._classes[size_class]
        del members[slot]
        members[slot + 1] = None
        return True

    def take_with_room(self) -> int:
        """Take one slot followed by free slots, so that a sequence can grow in place.

        The slot is in the longest extent, at most GROWTH_GAP from its start: sequences that grow in
        parallel keep apart instead of alternating in one run. A larger gap would touch memory that
        is not prefaulted yet (`prefault.py`). An extent too short to share is taken from its start,
        which leaves one extent instead of two. Raises `OutOfSlots` if all are taken.
        """
        if not self.num_free:
            raise OutOfSlots(1, 0)
        start = next(iter(self._classes[self._occupied.bit_length() - 1]))
        length = self._length_at[start]
        slot = start + (min(GROWTH_GAP, length // 2) if length >= 4 * MIN_RUN else 0)
        self._remove(start)
        if slot > start:
            self._add(start, slot - start)
        if slot + 1 < start + length:
            self._add(slot + 1, start + length - slot - 1)
        self.num_free -= 1
        return slot

    def free(self, start: int, length: int) -> None:
        """Free an extent and merge it with free neighbours."""
        self.num_free += length
        before = self._start_before.get(start)
        if before is not None:
            length += self._length_at[before]
            start = before
            self._remove(before)
        after = start + length
        if after in self._length_at:
            length += self._length_at[after]
            self._remove(after)
        self._add(start, length)

    @property
    def num_in_runs(self) -> int:
        """Free slots, except fragments that may wait for their neighbours."""
        return self.num_free - min(self.num_in_fragments, self.max_in_fragments)

    @property
    def extents(self) -> list[Extent]:
        """All free extents by start; for audits and statistics."""
        return sorted(self._length_at.items())

    def check(self) -> None:
        """Raise `InvariantViolated` if the free extents or their indexes are inconsistent."""
        end = -1
        for start, length in self.extents:
            if length < 1 or start <= end or start + length > self.num_slots:
                raise InvariantViolated(f"free extent ({start}, {length}) touches {end}")
            end = start + length
            if self._start_before.get(end) != start:
                raise InvariantViolated(f"free extent ({start}, {length}) has no end entry")
            if start not in self._classes[length.bit_length()]:
                raise InvariantViolated(f"free extent ({start}, {length}) is in no size class")
        classed = sum(len(extents) for extents in self._classes)
        if not len(self._length_at) == len(self._start_before) == classed:
            raise InvariantViolated("the indexes of the free extents differ in size")
        fragments = sum(length for length in self._length_at.values() if length < MIN_RUN)
        if fragments != self.num_in_fragments:
            raise InvariantViolated(
                f"fragments add up to {fragments}, num_in_fragments is {self.num_in_fragments}"
            )
        total = sum(self._length_at.values())
        if total != self.num_free:
            raise InvariantViolated(f"free extents add up to {total}, num_free is {self.num_free}")

    def _find(self, count: int) -> int:
        """Return the start of an extent of `count` slots; of the longest if all are shorter."""
        fitting = count.bit_length()
        if self._occupied >> fitting & 1:
            for start, _ in zip(self._classes[fitting], range(_CANDIDATES), strict=False):
                if self._length_at[start] >= count:
                    return start
        longer = self._occupied >> (fitting + 1)
        if longer:
            size_class = fitting + 1 + (longer & -longer).bit_length() - 1
        else:
            size_class = self._occupied.bit_length() - 1
        return next(iter(self._classes[size_class]))

    def _add(self, start: int, length: int) -> None:
        self._length_at[start] = length
        self._start_before[start + length] = start
        size_class = length.bit_length()
        self._classes[size_class][start] = None
        if length < MIN_RUN:
            self.num_in_fragments += length
        self._occupied |= 1 << size_class

    def _remove(self, start: int) -> None:
        length = self._length_at.pop(start)
        del self._start_before[start + length]
        size_class = length.bit_length()
        members = self._classes[size_class]
        del members[start]
        if length < MIN_RUN:
            self.num_in_fragments -= length
        if not members:
            self._occupied &= ~(1 << size_class)
