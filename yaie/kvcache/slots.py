"""Which slots of the pool are free, kept as extents so that a path's slots stay in long runs.

Long runs matter because a kernel streams consecutive slots and gathers scattered ones. Called by
`RadixTree` only, which owns every slot that is not free.

    pool   [####......####.............####]     '#' held by a node, '.' free
    free         (4, 6)     (14, 13)             extents (start, length); neighbours are merged
"""

from __future__ import annotations

from collections import OrderedDict

from yaie.errors import InvariantViolated

Extent = tuple[int, int]  # (first slot, number of slots)

CRUMB = 16  # slots: extents shorter than this are better left until their neighbours are free too
ROOM = 128  # slots: where there are enough, those who grow keep this far apart
_SHARE_OF_CRUMBS = 32  # of a pool may lie free in extents that short
_CANDIDATES = 8  # extents of the fitting size class that are looked at for a snug fit


class OutOfSlots(Exception):
    """There are not enough free slots; nothing was changed. The scheduler handles it."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(f"{needed} slots needed, {available} free or evictable")
        self.needed = needed
        self.available = available


class SlotAllocator:
    """Free slots as maximal extents, in size classes of powers of two.

    Invariants: extents are disjoint, never adjacent (they would have been merged), and add up to
    `num_free`. All operations cost O(extents touched), never O(slots).
    """

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.num_free = 0
        self._length_at: dict[int, int] = {}  # start -> length
        self._start_before: dict[int, int] = {}  # end (exclusive) -> start
        # Size class c holds extents of 2**(c-1) to 2**c - 1 slots, oldest first. Not plain dicts:
        # to find their first key they walk past all that were removed before it.
        self._classes: list[OrderedDict[int, None]] = [
            OrderedDict() for _ in range(num_slots.bit_length() + 1)
        ]
        self._occupied = 0  # bit c: size class c is not empty
        self.num_crumbs = 0  # free slots in extents shorter than CRUMB
        self.most_crumbs = num_slots // _SHARE_OF_CRUMBS
        if num_slots:
            self._add(0, num_slots)
            self.num_free = num_slots

    def allocate(self, count: int) -> list[Extent]:
        """Take `count` slots as few extents as possible; a snug single one where there is one.

        Raises `OutOfSlots` and takes nothing if fewer are free.
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
        """Take this very slot if a free extent begins with it: how a path grows in place."""
        length = self._length_at.get(slot)
        if length is None:
            return False
        self._remove(slot)
        if length > 1:
            self._add(slot + 1, length - 1)
        self.num_free -= 1
        return True

    def take_with_room(self) -> int:
        """Take one slot with free ones behind it, so that the taker can grow on.

        It lies in the longest extent, at most ROOM slots from its start: sequences that grow side
        by side keep apart instead of taking turns in one run, but no further than that, as memory
        far behind what is in use is not there yet (`prefault.py`). An extent that is too short to
        share is taken from its start, which leaves one piece and not two.
        Raises `OutOfSlots` if none is free.
        """
        if not self.num_free:
            raise OutOfSlots(1, 0)
        start = next(iter(self._classes[self._occupied.bit_length() - 1]))
        length = self._length_at[start]
        slot = start + (min(ROOM, length // 2) if length >= 4 * CRUMB else 0)
        self._remove(start)
        if slot > start:
            self._add(start, slot - start)
        if slot + 1 < start + length:
            self._add(slot + 1, start + length - slot - 1)
        self.num_free -= 1
        return slot

    def free(self, start: int, length: int) -> None:
        """Give an extent back; it merges with free neighbours."""
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
        """Free slots but for the crumbs, of which a share of the pool may wait for neighbours."""
        return self.num_free - min(self.num_crumbs, self.most_crumbs)

    @property
    def extents(self) -> list[Extent]:
        """All free extents by start, for audits and statistics."""
        return sorted(self._length_at.items())

    def check(self) -> None:
        """Raise `InvariantViolated` unless the free extents are sound."""
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
        crumbs = sum(length for length in self._length_at.values() if length < CRUMB)
        if crumbs != self.num_crumbs:
            raise InvariantViolated(f"crumbs add up to {crumbs}, num_crumbs is {self.num_crumbs}")
        total = sum(self._length_at.values())
        if total != self.num_free:
            raise InvariantViolated(f"free extents add up to {total}, num_free is {self.num_free}")

    def _find(self, count: int) -> int:
        """Start of the extent to take `count` slots from; the longest if none is long enough."""
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
        if length < CRUMB:
            self.num_crumbs += length
        self._occupied |= 1 << size_class

    def _remove(self, start: int) -> None:
        length = self._length_at.pop(start)
        del self._start_before[start + length]
        size_class = length.bit_length()
        members = self._classes[size_class]
        del members[start]
        if length < CRUMB:
            self.num_crumbs -= length
        if not members:
            self._occupied &= ~(1 << size_class)
