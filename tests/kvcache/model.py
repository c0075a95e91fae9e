"""The plain model of the tree: one dict from prefixes to slots.

`PrefixModel` holds the cached prefixes with their slots, the computed ones, the live sequences,
and the prefix last written to each slot. The tests compare the real tree with it (`pair.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

Namespace = str
Key = tuple[Namespace, bytes]  # a non-empty prefix, one byte a token: stands for its last token


def prefixes(namespace: Namespace, path: bytes, first: int = 0) -> Iterator[Key]:
    """Yield all prefixes of a path that are longer than `first`."""
    return ((namespace, path[:end]) for end in range(first + 1, len(path) + 1))


class PrefixModel:
    """Prefixes, slots and live sequences, without structure."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.held: dict[Key, int] = {}
        self.computed: set[Key] = set()
        self.live: dict[int, Key] = {}  # by number of the sequence; the path may be empty
        self.pool: list[Key | None] = [None] * num_slots  # the prefix written there last

    @property
    def num_free(self) -> int:
        return self.num_slots - len(self.held)

    def num_known(self, namespace: Namespace, path: bytes) -> int:
        """Count the leading tokens of the path with a slot."""
        return self._leading(self.held, namespace, path)

    def num_computed(self, namespace: Namespace, path: bytes) -> int:
        """Count the leading computed tokens of the path."""
        return self._leading(self.computed, namespace, path)

    def needed(self) -> set[Key]:
        """Return the prefixes of live sequences."""
        return {key for namespace, path in self.live.values() for key in prefixes(namespace, path)}

    def fits(self, namespace: Namespace, path: bytes) -> bool:
        """Return True if a path and all live ones fit into the pool."""
        return len(self.needed().union(prefixes(namespace, path))) <= self.num_slots

    def compute(self, namespace: Namespace, path: bytes) -> None:
        """Compute every token of the path; write the uncomputed ones."""
        for key in prefixes(namespace, path):
            if key not in self.computed:
                self.computed.add(key)
                self.pool[self.held[key]] = key

    def is_ahead_of_a_live_sequence(self, key: Key) -> bool:
        """Return True if a live path is a prefix of this one."""
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
