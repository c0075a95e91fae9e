"""Fair shares of a bounded store, compared with a plain model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yaie.base.fair_shares import FairShares

MOST = 100
TENANTS = "abcd"


@given(
    st.lists(
        st.tuples(st.sampled_from("puud"), st.sampled_from(TENANTS), st.integers(0, 5),
                  st.integers(1, 40)),
        max_size=80,
    )
)  # fmt: skip
def test_a_tenant_below_an_equal_share_loses_nothing(
    steps: list[tuple[str, str, int, int]],
) -> None:
    shares: FairShares[tuple[str, int]] = FairShares()
    held: dict[tuple[str, int], int] = {}  # the oldest use first

    def of(tenant: str) -> int:
        return sum(size for (owner, _), size in held.items() if owner == tenant)

    def remove(key: tuple[str, int]) -> None:
        shares.remove(key[0], key)
        shares.charge(key[0], -held.pop(key))

    for action, tenant, name, size in steps:
        key = (tenant, name)
        if action == "u" and key in held:
            shares.add(tenant, key)
            held[key] = held.pop(key)
        elif action == "d" and key in held:
            remove(key)
        elif action == "p" and key not in held:
            shares.add(tenant, key)
            shares.charge(tenant, size)
            held[key] = size
        while shares.num_bytes > MOST:
            leaving = shares.next_to_leave()
            most = max(map(of, TENANTS))
            assert of(leaving[0]) == most > MOST / len(TENANTS)
            assert leaving == next(each for each in held if each[0] == leaving[0])
            remove(leaving)
        assert shares.num_bytes == sum(held.values())
    for key in list(held):
        remove(key)
    assert not shares._shares


def test_the_tenant_with_the_most_entries_gives_one_up() -> None:
    shares: FairShares[str] = FairShares()
    for tenant, key, size in (("a", "large", 50), ("b", "old", 1), ("b", "new", 1)):
        shares.add(tenant, key)
        shares.charge(tenant, size)
    assert shares.next_to_leave() == "large"
    assert shares.next_to_leave(by_number=True) == "old"
    shares.add("b", "old")  # used again
    assert shares.next_to_leave(by_number=True) == "new"
