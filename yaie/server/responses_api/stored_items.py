"""`StoredItems`: items of earlier responses that an input names by their ids."""

from __future__ import annotations

import msgspec

from yaie.base.errors import InvalidRequest
from yaie.server.responses_api.response_store import Item, Link, StoreAccess


class StoredItems:
    """Reader of the items that one request names, as often as it names them.

    Together they have the size of one body at most: a reference has a few bytes, and its item may
    have megabytes.
    """

    def __init__(self, place: StoreAccess) -> None:
        self._place = place
        self._num_bytes = 0
        self._links: dict[Link, dict[str, msgspec.Raw]] = {}

    def find(self, item_id: str) -> Item | None:
        """Return an item, or None. Raises `InvalidRequest` or `Overloaded` beyond a limit."""
        place = self._place
        link = place.store.link_with(place.tenant, item_id)
        if link is None:
            return None
        if link not in self._links:
            raw_items = msgspec.json.decode(link.raw, type=list[msgspec.Raw])
            self._links[link] = dict(zip(reversed(link.item_ids), reversed(raw_items), strict=True))
        raw = self._links[link][item_id]
        num_bytes = memoryview(raw).nbytes
        self._num_bytes += num_bytes
        if self._num_bytes > place.max_item_bytes:
            raise InvalidRequest(
                f"the stored items that input names have more than {place.max_item_bytes} bytes "
                "together; name fewer or shorter items",
                param="input",
            )
        place.share.add(num_bytes)
        found: Item = msgspec.json.decode(raw)
        return found
