"""The store of responses: bounds, tenants, and conversations that share their past."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from yaie.server.http.body_memory import BodyMemory, BodyShare
from yaie.server.responses_api.response_store import (
    OVERHEAD_BYTES,
    Link,
    ResponseStore,
    StoreAccess,
)
from yaie.server.responses_api.stored_items import StoredItems


def item(name: str, size: int = 0) -> dict[str, Any]:
    return {"id": name, "text": "x" * size}


def find_item(store: ResponseStore, tenant: str, name: str) -> dict[str, Any] | None:
    """Return a stored item as a request finds it."""
    return StoredItems(StoreAccess(store, tenant, BodyShare(BodyMemory(0)), 10**6)).find(name)


def test_a_conversation_outlives_its_earlier_responses() -> None:
    store = ResponseStore(10**6)
    first = Link(None, [item("a")])
    second = Link(first, [item("b")])
    store.put("t", "r1", b"{}", first)
    store.put("t", "r2", b"{}", second)
    assert store.delete("t", "r1") and not store.delete("t", "r1")
    assert store.document("t", "r1") is None
    link = store.link("t", "r2")
    assert link is not None and [each["id"] for each in link.items()] == ["a", "b"]
    assert find_item(store, "t", "a") == item("a")
    store.delete("t", "r2")
    assert store.num_bytes == 0
    assert find_item(store, "t", "a") is None


def test_tenants_do_not_see_each_other() -> None:
    store = ResponseStore(10**6)
    store.put("t", "r", b"{}", Link(None, [item("a")]))
    for tenant in ("", "u"):
        assert store.document(tenant, "r") is None
        assert store.link(tenant, "r") is None
        assert find_item(store, tenant, "a") is None
        assert not store.delete(tenant, "r")
    assert store.document("t", "r") == b"{}"


def test_the_least_recently_used_response_leaves_first() -> None:
    store = ResponseStore(10**6, max_responses=2)
    for name in ("r1", "r2"):
        store.put("t", name, b"{}", Link(None, [item(name)]))
    store.document("t", "r1")
    store.put("t", "r3", b"{}", Link(None, [item("c")]))
    assert [store.document("t", name) is not None for name in ("r1", "r2", "r3")] == [
        True,
        False,
        True,
    ]


def test_a_response_beyond_the_store_removes_no_other() -> None:
    store = ResponseStore(4 * OVERHEAD_BYTES)
    assert store.put("t", "small", b"{}", Link(None, [item("a")]))
    assert not store.put("t", "large", b"{}", Link(None, [item("b", 4 * OVERHEAD_BYTES)]))
    assert store.document("t", "small") is not None


def test_a_tenant_that_stores_much_removes_its_own_responses_only() -> None:
    store = ResponseStore(40 * OVERHEAD_BYTES)
    assert store.put("bob", "b", b"{}", Link(None, [item("b")]))
    for number in range(100):
        assert store.put("ada", f"a{number}", b"{}", Link(None, [item(f"a{number}", 2000)]))
    assert store.document("bob", "b") is not None
    assert store.document("ada", "a0") is None
    assert store.document("ada", "a99") is not None
    by_number = ResponseStore(10**6, max_responses=3)
    for tenant, name in (("bob", "b"), ("ada", "a1"), ("ada", "a2"), ("ada", "a3")):
        assert by_number.put(tenant, name, b"{}", Link(None, [item(name)]))
    assert [by_number.document("ada", f"a{n}") is None for n in (1, 2, 3)] == [True, False, False]
    assert by_number.document("bob", "b") is not None


def test_a_batch_removes_no_response_of_a_client_that_waits() -> None:
    store = ResponseStore(40 * OVERHEAD_BYTES)
    live = Link(None, [item("live")])
    assert store.put("ada", "live", b"{}", live)
    for number in range(100):
        link = Link(None, [item(f"b{number}", 2000)])
        assert store.put("ada", f"b{number}", b"{}", link, is_in_batch=True)
    assert store.document("ada", "live") is not None
    assert store.document("ada", "b99") is not None
    after = Link(store.link("ada", "b99"), [item("after")])  # a chat continues a batch's response
    assert store.put("ada", "after", b"{}", after)
    assert find_item(store, "ada", "b99") is not None
    for name in ("live", "after", *(f"b{number}" for number in range(100))):
        store.delete("ada", name)
    assert store.num_bytes == 0


def test_a_store_of_no_bytes_is_off() -> None:
    assert not ResponseStore(0).is_on


@given(
    st.lists(
        st.tuples(
            st.sampled_from("pbdu"), st.integers(0, 9), st.integers(0, 9), st.integers(0, 3000)
        ),
        max_size=40,
    )
)
def test_bytes_are_those_of_the_links_in_use(steps: list[tuple[str, int, int, int]]) -> None:
    store = ResponseStore(20 * OVERHEAD_BYTES, max_responses=5)
    links: dict[str, Link] = {}
    for number, (action, at, before, size) in enumerate(steps):
        name = f"r{at}"
        if action == "d":
            store.delete("t", name)
        elif action == "u":
            store.document("t", name)
        else:
            # The link before may have left the store since it was looked up.
            link = Link(links.get(f"r{before}"), [item(f"i{number}", size)])
            if store.put("t", name, b"{}", link, is_in_batch=action == "b"):
                links[name] = link
    kept = [name for name in sorted(links) if store.link("t", name)]
    needed: set[int] = set()
    total = 0
    for name in kept:
        total += 2 + OVERHEAD_BYTES
        link_at = store.link("t", name)
        while link_at is not None:
            if id(link_at) not in needed:
                needed.add(id(link_at))
                total += link_at.num_bytes
            link_at = link_at.before
    assert store.num_bytes == total <= store.max_bytes
    assert len(store) == len(kept) <= store.max_responses
    for name in kept:
        link_at = store.link("t", name)
        assert link_at is not None
        for each in link_at.items():
            assert find_item(store, "t", each["id"]) == each
