"""The tree as it should be, in the plainest form: one dict from prefixes to slots.

No nodes, no extents, no refs. `PrefixModel` knows which prefixes are held and where, which are
computed, which sequences live, and what each slot's keys and values were computed from. The tests
run it beside the real tree (see `pair.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

Namespace = str
Key = tuple[Namespace, bytes]  # a non-empty prefix, one byte a token: stands for its last token


def prefixes(namespace: Namespace, path: bytes, first: int = 0) -> Iterator[Key]:
    """All prefixes of a path that are longer than `first`."""
    return ((namespace, path[:end]) for end in range(first + 1, len(path) + 1))


class PrefixModel:
    """Prefixes, slots and live sequences, without any structure."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.held: dict[Key, int] = {}
        self.computed: set[Key] = set()
        self.live: dict[int, Key] = {}  # by number of the sequence; the path may be empty
        self.pool: list[Key | None] = [None] * num_slots  # what was written there last

    @property
    def num_free(self) -> int:
        return self.num_slots - len(self.held)

    def num_known(self, namespace: Namespace, path: bytes) -> int:
        """How many tokens of the path are held."""
        return self._leading(self.held, namespace, path)

    def num_computed(self, namespace: Namespace, path: bytes) -> int:
        """How many tokens of the path, from the front, are computed."""
        return self._leading(self.computed, namespace, path)

    def needed(self) -> set[Key]:
        """Prefixes that some live sequence has."""
        return {key for namespace, path in self.live.values() for key in prefixes(namespace, path)}

    def fits(self, namespace: Namespace, path: bytes) -> bool:
        """Whether a path could be held beside what lives, if all else went."""
        return len(self.needed().union(prefixes(namespace, path))) <= self.num_slots

    def compute(self, namespace: Namespace, path: bytes) -> None:
        """Every token of the path is computed now: those that were not are written."""
        for key in prefixes(namespace, path):
            if key not in self.computed:
                self.computed.add(key)
                self.pool[self.held[key]] = key

    def is_ahead_of_a_live_sequence(self, key: Key) -> bool:
        """Whether a live sequence stands on the way to this prefix."""
        namespace, prefix = key
        return any(
            owner == namespace and prefix.startswith(path) for owner, path in self.live.values()
        )

    @staticmethod
    def _leading(keys: dict[Key, int] | set[Key], namespace: Namespace, path: bytes) -> int:
        length = 0
        for key in prefixes(namespace, path):
            if key not in keys:
                break
            length += 1
        return length
