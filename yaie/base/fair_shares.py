"""`FairShares`: which entry leaves a bounded store next, so that no tenant empties another's share.

The tenant that holds the most gives up its least recently used entry. A tenant below an equal share
of the store therefore keeps all it has, whatever other tenants store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)


class _Share(Generic[_Key]):
    """Entries of one tenant, the latest use last, and their bytes."""

    def __init__(self) -> None:
        self.keys: OrderedDict[_Key, None] = OrderedDict()
        self.num_bytes = 0


class FairShares(Generic[_Key]):
    """Entries and bytes by tenant. The store itself holds the entries."""

    def __init__(self) -> None:
        self.num_bytes = 0
        self._shares: dict[str, _Share[_Key]] = {}

    def add(self, tenant: str, key: _Key) -> None:
        """Note an entry as the tenant's latest use; a known one is moved."""
        share = self._shares.setdefault(tenant, _Share())
        share.keys[key] = None
        share.keys.move_to_end(key)

    def charge(self, tenant: str, num_bytes: int) -> None:
        """Add to a tenant's bytes, or subtract from them."""
        self._shares.setdefault(tenant, _Share()).num_bytes += num_bytes
        self.num_bytes += num_bytes
        self._drop_if_empty(tenant)

    def remove(self, tenant: str, key: _Key) -> None:
        """Forget an entry; its bytes are subtracted by `charge`."""
        del self._shares[tenant].keys[key]
        self._drop_if_empty(tenant)

    def next_to_leave(self, *, by_number: bool = False) -> _Key:
        """Return the oldest entry of the tenant with the most bytes, or entries `by_number`."""
        holders = [each for each in self._shares.values() if each.keys]
        largest = max(holders, key=lambda each: len(each.keys) if by_number else each.num_bytes)
        return next(iter(largest.keys))

    def _drop_if_empty(self, tenant: str) -> None:
        share = self._shares[tenant]
        if not share.keys and not share.num_bytes:
            del self._shares[tenant]
