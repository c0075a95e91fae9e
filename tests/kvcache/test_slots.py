"""The slot allocator alone, compared with a plain set of free slots."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attention.work import count_lines
from yaie.base.errors import InvariantViolated
from yaie.kvcache.slots import Extent, OutOfSlots, SlotAllocator


def slots_of(extents: list[Extent]) -> list[int]:
    return [slot for start, length in extents for slot in range(start, start + length)]


def carved(num_slots: int, *taken: Extent) -> SlotAllocator:
    """Return an allocator with exactly these extents taken."""
    allocator = SlotAllocator(num_slots)
    allocator.allocate(num_slots)
    end = 0
    for start, length in [*taken, (num_slots, 0)]:
        if start > end:
            allocator.free(end, start - end)
        end = start + length
    return allocator


def test_all_slots_are_free_at_first_in_one_extent():
    allocator = SlotAllocator(100)
    assert allocator.num_free == 100
    assert allocator.extents == [(0, 100)]
    allocator.check()


def test_a_request_that_fits_is_one_extent():
    allocator = SlotAllocator(100)
    taken = allocator.allocate(30)
    assert [length for _, length in taken] == [30]
    assert allocator.num_free == 70
    allocator.check()


def test_the_best_fit_is_preferred_to_splitting_a_long_extent():
    allocator = carved(100, (9, 1), (50, 10))  # free: (0, 9), (10, 40), (60, 40)
    assert allocator.allocate(9) == [(0, 9)]
    allocator.check()


def test_a_long_request_takes_few_long_extents():
    allocator = carved(100, (9, 1), (50, 10))
    taken = allocator.allocate(80)
    assert sorted(length for _, length in taken) == [40, 40]
    assert allocator.extents == [(0, 9)]
    allocator.check()


def test_neighbours_are_merged_on_both_sides():
    allocator = SlotAllocator(30)
    allocator.allocate(30)
    allocator.free(0, 10)
    allocator.free(20, 10)
    assert allocator.extents == [(0, 10), (20, 10)]
    allocator.free(10, 10)
    assert allocator.extents == [(0, 30)]
    allocator.check()


def test_out_of_slots_takes_nothing_and_counts_free_slots():
    allocator = carved(20, (5, 1))
    before = allocator.extents
    with pytest.raises(OutOfSlots, match=r"^20 slots needed, 19 free or evictable$"):
        allocator.allocate(20)
    assert allocator.extents == before and allocator.num_free == 19
    allocator.check()


def test_allocating_nothing_changes_nothing():
    allocator = SlotAllocator(4)
    assert allocator.allocate(0) == []
    assert allocator.extents == [(0, 4)]


def test_take_needs_a_free_extent_that_begins_at_the_slot():
    allocator = carved(20, (4, 2))  # free: (0, 4), (6, 14)
    assert not allocator.take(4)
    assert allocator.take(6)
    assert not allocator.take(6)
    assert allocator.extents == [(0, 4), (7, 13)]
    assert allocator.num_free == 17
    assert not allocator.take(20)
    allocator.check()


def test_the_last_free_slot_can_be_taken_either_way():
    for take in (lambda a: a.take(3), lambda a: a.take_with_room() == 3):
        allocator = carved(8, (0, 3), (4, 4))
        assert take(allocator)
        assert allocator.num_free == 0 and allocator.extents == []
        allocator.check()


def test_take_with_room_leaves_free_slots_after_its_own():
    allocator = carved(100, (10, 5))  # free: (0, 10), (15, 85)
    slot = allocator.take_with_room()
    assert 15 < slot < 99
    assert allocator.take(slot + 1)
    allocator.check()
    with pytest.raises(OutOfSlots):
        carved(4, (0, 4)).take_with_room()


def test_a_pool_without_slots_is_always_out_of_slots():
    allocator = SlotAllocator(0)
    allocator.check()
    with pytest.raises(OutOfSlots):
        allocator.allocate(1)
    with pytest.raises(OutOfSlots):
        allocator.take_with_room()
    assert not allocator.take(0)


@settings(max_examples=200)
@given(
    st.integers(0, 70),
    st.lists(st.tuples(st.sampled_from("afrts"), st.integers(0, 40)), max_size=60),
)
def test_random_operations_equal_those_on_a_plain_set(num_slots, operations):
    allocator = SlotAllocator(num_slots)
    free = set(range(num_slots))
    held: list[Extent] = []
    for kind, number in operations:
        taken: list[Extent] = []
        if kind == "a" and number <= len(free):
            taken = allocator.allocate(number)
            assert sum(length for _, length in taken) == number
        elif kind == "a":
            with pytest.raises(OutOfSlots):
                allocator.allocate(number)
        elif kind == "t" and allocator.take(number):
            taken = [(number, 1)]
        elif kind == "r" and free:
            taken = [(allocator.take_with_room(), 1)]
        elif kind in "fs" and held:
            start, length = held.pop(number % len(held))
            if kind == "s" and length > 1:  # a tail only
                held.append((start, length // 2))
                start, length = start + length // 2, length - length // 2
            allocator.free(start, length)
            free |= set(range(start, start + length))
        slots = slots_of(taken)
        assert len(set(slots)) == len(slots) and set(slots) <= free
        free -= set(slots)
        held += taken
        assert slots_of(allocator.extents) == sorted(free)
        assert allocator.num_free == len(free)
        allocator.check()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda a: a.free(2, 5), "touches"),  # overlaps a free extent
        (lambda a: a.free(5, 0), "touches"),
        (lambda a: a.free(20, 10), "touches"),  # beyond the pool
        (lambda a: a.free(0, 4), "fragments add up"),  # a second time
        (lambda a: setattr(a, "num_free", 3), "add up to"),
        (lambda a: setattr(a, "num_in_fragments", 3), "fragments add up"),
    ],
)
def test_check_finds_wrong_frees_and_counts(fault, message):
    allocator = carved(20, (4, 2))
    allocator.check()
    fault(allocator)
    with pytest.raises(InvariantViolated, match=message):
        allocator.check()


def keep_taken_extents(patch: pytest.MonkeyPatch) -> None:
    """A taken extent stays in the indexes."""
    patch.setattr(SlotAllocator, "_remove", lambda allocator, start: None)


def lose_extents(patch: pytest.MonkeyPatch) -> None:
    """A short free extent does not get into the indexes."""
    real = SlotAllocator._add

    def add(allocator: SlotAllocator, start: int, length: int) -> None:
        if length > 3:
            real(allocator, start, length)

    patch.setattr(SlotAllocator, "_add", add)


def enter_extents_twice(patch: pytest.MonkeyPatch) -> None:
    """A free extent is entered again, one slot shorter."""
    real = SlotAllocator._add

    def add(allocator: SlotAllocator, start: int, length: int) -> None:
        real(allocator, start, length)
        if length > 1:
            real(allocator, start, length - 1)

    patch.setattr(SlotAllocator, "_add", add)


def merge_nothing(patch: pytest.MonkeyPatch) -> None:
    """A freed extent stays apart from its neighbours."""

    def free(allocator: SlotAllocator, start: int, length: int) -> None:
        allocator.num_free += length
        allocator._add(start, length)

    patch.setattr(SlotAllocator, "free", free)


@pytest.mark.parametrize(
    "bug", [keep_taken_extents, lose_extents, enter_extents_twice, merge_nothing]
)
def test_check_finds_a_seeded_bug(bug, monkeypatch: pytest.MonkeyPatch):
    bug(monkeypatch)
    with pytest.raises(InvariantViolated):
        allocator = SlotAllocator(40)
        for length in (3, 5, 2, 8, 1, 4):
            allocator.allocate(length)
        for start, length in ((0, 3), (3, 5), (10, 8)):
            allocator.free(start, length)
        allocator.check()


def fragmented(num_extents: int) -> SlotAllocator:
    """Return an allocator with so many free extents of one slot."""
    return carved(2 * num_extents, *((2 * i, 1) for i in range(num_extents)))


def test_an_allocation_costs_the_same_among_many_extents():
    def work(num_extents: int) -> int:
        allocator = fragmented(num_extents)
        return count_lines(lambda: [allocator.allocate(1) for _ in range(num_extents // 2)])

    assert work(2_000) <= 10 * work(200) * 1.01


@pytest.mark.integration
def test_an_allocation_takes_the_same_time_among_many_extents():
    """Lines alone do not show the keys that a dict walks past to find its first one."""

    def seconds_each(num_extents: int) -> float:
        allocator = fragmented(num_extents)
        began = time.perf_counter()
        for _ in range(num_extents):
            allocator.allocate(1)
        return (time.perf_counter() - began) / num_extents

    few = min(seconds_each(1_000) for _ in range(5))
    assert min(seconds_each(50_000) for _ in range(2)) < 10 * few
