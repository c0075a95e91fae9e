"""An index of block names: the replicas that hold each, and how often prompts had it lately.

Sets of replicas are masks: a bit for each. Names are chained, so along a prompt the masks and the
counts only shrink.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from yaie.kvcache.block_names import BLOCK_SIZE

_STRIDE = 8  # blocks: uses are counted at every eighth one


class BlockIndex:
    """Block names of all replicas. Times are in seconds of the caller's clock."""

    def __init__(self, sent_s: float, uses_s: float) -> None:
        """Make an empty index.

        `sent_s`: least time in which a sent prompt counts as held. `uses_s`: least time in which
        it counts as a use. Both are forgotten after at most twice that time.
        """
        self._reported: dict[int, int] = {}  # name: mask
        self._sent = _Recent(sent_s)  # name: mask
        self._uses = _Recent(uses_s)  # name: number of prompts

    def report(self, bit: int, before: AbstractSet[int], names: AbstractSet[int]) -> None:
        """Replace the names that a replica reported `before`."""
        reported = self._reported
        for name in names - before:
            reported[name] = reported.get(name, 0) | bit
        for name in before - names:
            _clear(reported, name, bit)

    def remove(self, bit: int) -> None:
        """Forget a replica."""
        for masks in (self._reported, self._sent.new, self._sent.old):
            for name in [name for name, mask in masks.items() if mask & bit]:
                _clear(masks, name, bit)

    def expire(self, now_s: float) -> bool:
        """Forget old uses and sent prompts; return True if a period of sent prompts has begun."""
        self._uses.expire(now_s)
        return self._sent.expire(now_s)

    def send(self, bit: int, names: Sequence[int]) -> None:
        """Count the names of a prompt as held by a replica, for a while."""
        sent = self._sent.new
        known = bisect_left(names, True, key=lambda name: name not in sent)
        held = bisect_left(names, True, hi=known, key=lambda name: not sent[name] & bit)
        for name in names[held:known]:
            sent[name] |= bit
        sent.update(dict.fromkeys(names[known:], bit))

    def use(self, names: Sequence[int]) -> None:
        """Count a use of a prompt's names."""
        uses = self._uses.new
        for name in names[_STRIDE - 1 :: _STRIDE]:
            uses[name] = uses.get(name, 0) + 1

    def depths(self, names: Sequence[int], bits: Sequence[int]) -> dict[int, int]:
        """Return how many of the first blocks each replica holds, by bit."""
        reported, sent, sent_before = self._reported.get, self._sent.new.get, self._sent.old.get
        depths = dict.fromkeys(bits, 0)
        holders, place = sum(depths), 0

        def lacks_one(name: int) -> bool:
            return (reported(name, 0) | sent(name, 0) | sent_before(name, 0)) & holders != holders

        while holders:
            place = bisect_left(names, True, place, key=lacks_one)
            remaining = 0
            if place < len(names):
                name = names[place]
                remaining = (reported(name, 0) | sent(name, 0) | sent_before(name, 0)) & holders
            gone = holders & ~remaining
            while gone:
                bit = gone & -gone
                depths[bit] = place
                gone ^= bit
            holders = remaining
        return depths

    def own_costs(self, names: Sequence[int], num_replicas: int) -> list[float]:
        """Return a prompt's price in tokens, after 0, 128, 256, ... tokens that are cached.

        If each of the replicas has u later uses of a token, one prompt's part of its price is
        1 / (1 + u). The list ends where earlier prompts end; from there each token costs 1.
        """
        new, old = self._uses.new, self._uses.old
        shared = [0.0]  # tokens that others pay
        for name in names[_STRIDE - 1 :: _STRIDE]:
            uses = new.get(name, 0) + old.get(name, 0)
            if not uses:
                break
            shared.append(shared[-1] + TOKENS_PER_COST * uses / (num_replicas + uses))
        return [each - shared[-1] for each in shared]


class _Recent:
    """Numbers by name, of the present period and of the one before."""

    def __init__(self, period_s: float) -> None:
        self.new: dict[int, int] = {}
        self.old: dict[int, int] = {}
        self._period_s, self._end_s = period_s, 0.0

    def expire(self, now_s: float) -> bool:
        """Begin a period if the last one is over; return True if so."""
        if now_s < self._end_s:
            return False
        is_late = now_s >= self._end_s + self._period_s
        self.old, self.new = {} if is_late else self.new, {}
        self._end_s = now_s + self._period_s
        return True


TOKENS_PER_COST = _STRIDE * BLOCK_SIZE


def _clear(masks: dict[int, int], name: int, bit: int) -> None:
    """Remove a replica from the mask of a name."""
    left = masks[name] & ~bit
    if left:
        masks[name] = left
    else:
        del masks[name]
