"""A consumer of cache changes, as routers keep one: it refuses what they would drop."""

from __future__ import annotations

from yaie.base.cache_changes import (
    BlocksCleared,
    BlocksRemoved,
    BlocksStored,
    CacheChange,
    unpack_names,
    unpack_tokens,
)


class BlockConsumer:
    """The blocks that a stream of changes leaves, by name."""

    def __init__(self) -> None:
        self.parents: dict[int, int | None] = {}
        self.tokens: dict[int, tuple[int, ...]] = {}
        self.num_stored = self.num_removed = 0
        self._num_children: dict[int, int] = {}

    def take(self, changes: tuple[CacheChange, ...]) -> None:
        for change in changes:
            if isinstance(change, BlocksStored):
                self._store(change)
            elif isinstance(change, BlocksRemoved):
                self._remove(unpack_names(change.names))
            else:
                assert isinstance(change, BlocksCleared)
                self.parents.clear()
                self.tokens.clear()
                self._num_children.clear()

    def path(self, name: int) -> list[int]:
        """Return the tokens from the root to the end of a block."""
        parts: list[tuple[int, ...]] = []
        above: int | None = name
        while above is not None:
            parts.append(self.tokens[above])
            above = self.parents[above]
        return [token for part in reversed(parts) for token in part]

    def _store(self, change: BlocksStored) -> None:
        names, tokens = unpack_names(change.names), unpack_tokens(change.token_ids)
        size, parent = change.block_size, change.parent
        assert names, "stored nothing"
        assert len(tokens) == len(names) * size
        for index, name in enumerate(names):
            assert name not in self.parents, "stored twice"
            assert parent is None or parent in self.parents, "stored before its parent"
            self.parents[name] = parent
            self.tokens[name] = tuple(tokens[index * size : (index + 1) * size])
            if parent is not None:
                self._num_children[parent] = self._num_children.get(parent, 0) + 1
            parent = name
            self.num_stored += 1

    def _remove(self, names: list[int]) -> None:
        assert names, "removed nothing"
        for name in names:
            assert name in self.parents, "removed, but was not stored"
            assert not self._num_children.get(name), "removed before its children"
            parent = self.parents.pop(name)
            del self.tokens[name]
            if parent is not None:
                self._num_children[parent] -= 1
            self.num_removed += 1
