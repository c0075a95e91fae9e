"""`ResponseStore`: finished responses by id, for `previous_response_id` and their retrieval.

Bounded by bytes and by number; the tenant that holds the most loses its least recently used
response first. A response of one tenant does not exist for another.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakValueDictionary

import msgspec

from yaie.base.fair_shares import FairShares
from yaie.server.http.body_memory import BodyShare

Item = dict[str, Any]

MAX_RESPONSES = 10_000
OVERHEAD_BYTES = 1024  # objects around a response's JSON


class Link:
    """Items of one turn, input then output, linked to the turn before.

    Turns share the links of their common past. A link lives while a stored response needs it.
    """

    __slots__ = (
        "before", "item_ids", "num_bytes", "num_holders", "num_input", "raw", "share", "total_bytes"
    )  # fmt: skip

    def __init__(
        self, before: Link | None, input_items: Sequence[Item], output: Sequence[Item] = ()
    ) -> None:
        self.before = before
        self.num_input = len(input_items)
        items = [*input_items, *output]
        self.raw = msgspec.json.encode(items)
        self.item_ids = tuple(item["id"] for item in items)
        self.num_bytes = len(self.raw) + OVERHEAD_BYTES
        self.total_bytes: int = self.num_bytes + (0 if before is None else before.total_bytes)
        self.num_holders = 0  # stored responses and later links
        self.share = ""  # that its bytes count in, once it is held

    def items(self) -> list[Item]:
        """Return the items of the whole conversation up to this turn."""
        turns: list[list[Item]] = []
        link: Link | None = self
        while link is not None:
            turns.append(msgspec.json.decode(link.raw))
            link = link.before
        return [item for turn in reversed(turns) for item in turn]

    def input_items(self) -> list[Item]:
        """Return the items that the model saw in this turn."""
        before = [] if self.before is None else self.before.items()
        own: list[Item] = msgspec.json.decode(self.raw)
        return before + own[: self.num_input]


class RunningResponse(Protocol):
    """Response that is being generated."""

    @property
    def is_running(self) -> bool:
        """False once it has ended, also without its client."""

    def so_far(self) -> bytes:
        """Return the response as JSON, with the output so far."""

    def cancel(self) -> bytes:
        """End the generation; return the cancelled response as JSON."""

    def input_items(self) -> list[Item]:
        """Return the items that the model sees in this turn."""

    def follow(self, after: int) -> AsyncIterable[bytes]:
        """Return the events with numbers above `after`, those to come included."""


class _Stored:
    """One response: its document and the cuts of its stream as JSON, and the conversation."""

    __slots__ = ("cuts", "document", "link", "share")

    def __init__(self, document: bytes, link: Link, cuts: bytes, share: str) -> None:
        self.document = document
        self.link = link
        self.cuts = cuts
        self.share = share

    @property
    def num_bytes(self) -> int:
        return len(self.document) + len(self.cuts) + OVERHEAD_BYTES


class ResponseStore:
    """Store of at most `max_bytes` bytes and `max_responses` responses. Safe in any thread."""

    def __init__(self, max_bytes: int, max_responses: int = MAX_RESPONSES) -> None:
        self.max_bytes = max_bytes
        self.max_responses = max_responses
        self._responses: dict[tuple[str, str], _Stored] = {}
        self._shares: FairShares[tuple[str, str]] = FairShares()
        self._items: dict[tuple[str, str], Link] = {}
        self._running: WeakValueDictionary[tuple[str, str], RunningResponse] = WeakValueDictionary()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._responses)

    @property
    def num_bytes(self) -> int:
        """Bytes of all responses and their conversations."""
        return self._shares.num_bytes

    @property
    def is_on(self) -> bool:
        """True if the settings give the store room."""
        return self.max_bytes > 0

    def begin(self, tenant: str, response_id: str, running: RunningResponse) -> None:
        """Note a response that is being generated; its id is forgotten with the object."""
        self._running[tenant, response_id] = running

    def running(self, tenant: str, response_id: str) -> RunningResponse | None:
        """Return a response that is being generated, or None.

        Only the thread of `begin` may use more of it than its existence.
        """
        found = self._running.get((tenant, response_id))
        return found if found is not None and found.is_running else None

    def put(
        self,
        tenant: str,
        response_id: str,
        document: bytes,
        link: Link,
        cuts: bytes = b"",
        *,
        is_in_batch: bool = False,
    ) -> bool:
        """Store a response, or replace it; return False if the tenant has no room for it.

        `cuts`: its delta sizes as JSON, for streams. Responses of batches have a separate share, so
        that a batch removes no response of a client that waits.
        """
        key, share = (tenant, response_id), f"{tenant}\0batches" if is_in_batch else tenant
        stored = _Stored(document, link, cuts, share)
        if stored.num_bytes + link.total_bytes > self.max_bytes:
            return False
        with self._lock:
            if key in self._responses:
                self._remove(key)
            self._responses[key] = stored
            self._shares.add(share, key)
            self._shares.charge(share, stored.num_bytes)
            self._hold(tenant, share, link)
            while self.num_bytes > self.max_bytes:
                self._remove(self._shares.next_to_leave())
            while len(self._responses) > self.max_responses:
                self._remove(self._shares.next_to_leave(by_number=True))
            return key in self._responses

    def document(self, tenant: str, response_id: str) -> bytes | None:
        """Return a response as JSON, or None."""
        stored = self._find(tenant, response_id)
        return None if stored is None else stored.document

    def cuts(self, tenant: str, response_id: str) -> bytes:
        """Return the sizes of a stored response's deltas as JSON; empty without a response."""
        stored = self._find(tenant, response_id)
        return b"" if stored is None else stored.cuts

    def link(self, tenant: str, response_id: str) -> Link | None:
        """Return the conversation up to the end of a response, or None."""
        stored = self._find(tenant, response_id)
        return None if stored is None else stored.link

    def link_with(self, tenant: str, item_id: str) -> Link | None:
        """Return the turn that has an item, of any response, or None."""
        with self._lock:
            return self._items.get((tenant, item_id))

    def delete(self, tenant: str, response_id: str) -> bool:
        """Remove a response; return False if there is none. Later turns keep its items."""
        with self._lock:
            if (tenant, response_id) not in self._responses:
                return False
            self._remove((tenant, response_id))
        return True

    def _find(self, tenant: str, response_id: str) -> _Stored | None:
        with self._lock:
            stored = self._responses.get((tenant, response_id))
            if stored is not None:
                self._shares.add(stored.share, (tenant, response_id))
            return stored

    def _remove(self, key: tuple[str, str]) -> None:
        stored = self._responses.pop(key)
        self._shares.remove(stored.share, key)
        self._shares.charge(stored.share, -stored.num_bytes)
        self._release(key[0], stored.link)

    def _hold(self, tenant: str, share: str, held: Link) -> None:
        link: Link | None = held
        while link is not None:
            link.num_holders += 1
            if link.num_holders > 1:
                return  # counted, with all links before it
            link.share = share
            self._shares.charge(share, link.num_bytes)
            self._items.update({(tenant, item_id): link for item_id in link.item_ids})
            link = link.before

    def _release(self, tenant: str, held: Link) -> None:
        link: Link | None = held
        while link is not None:
            link.num_holders -= 1
            if link.num_holders:
                return
            self._shares.charge(link.share, -link.num_bytes)
            for item_id in link.item_ids:
                if self._items.get((tenant, item_id)) is link:
                    del self._items[tenant, item_id]
            link = link.before


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """The store that a request reads and writes, and the tenant that it belongs to."""

    store: ResponseStore
    tenant: str
    share: BodyShare  # of the request; what it reads counts in it
    max_item_bytes: int  # JSON of the items that its input names
    is_in_batch: bool = False
