"""Nodes and cursors alone: slots of a part, extents merged and cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaie.kvcache.node import Cursor, Node


def node_with(*extents: tuple[int, int]) -> Node:
    node = Node(None, 5)
    node.add_extents(extents)
    node.tokens.extend(range(sum(length for _, length in extents)))
    return node


@st.composite
def extents(draw) -> list[tuple[int, int]]:
    """Extents in any order, some of them adjacent."""
    found, end = [], 0
    for gap, length in draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), min_size=1, max_size=6)
    ):
        found.append((end + gap, length))
        end += gap + length
    return draw(st.sampled_from([found, found[::-1]]))


@given(extents(), st.data())
def test_slots_of_any_part_are_those_of_the_whole(given_extents, data):
    node = node_with(*given_extents)
    whole = [slot for start, length in given_extents for slot in range(start, start + length)]
    assert node.slots().tolist() == whole
    first = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(first, len(whole)))
    assert node.slots(first, end).tolist() == whole[first:end]
    assert node.slots(first).tolist() == whole[first:]


@given(extents())
def test_adjacent_extents_are_merged(given_extents):
    joined = node_with(*given_extents).extent_list()
    for (start, length), (after, _) in itertools.pairwise(joined):
        assert start + length != after
    assert sum(length for _, length in joined) == sum(length for _, length in given_extents)


@given(extents(), st.data())
def test_cutting_extents_keeps_the_front_and_returns_the_rest(given_extents, data):
    node = node_with(*given_extents)
    whole = node.slots().tolist()
    keep = data.draw(st.integers(0, len(whole)))
    rest = node.cut_extents(keep)
    assert [s for a, n in node.extent_list() for s in range(a, a + n)] == whole[:keep]
    assert [s for a, n in rest for s in range(a, a + n)] == whole[keep:]
    assert all(length > 0 for _, length in [*node.extent_list(), *rest])


def test_positions_of_a_node_and_of_a_cursor():
    node = node_with((10, 4))
    assert (len(node), node.end) == (4, 9)
    assert bool(Node(None, 0)) and len(Node(None, 0)) == 0
    assert Cursor(node, 3).position == 8
    assert node.view().tolist() == [0, 1, 2, 3]
    assert "start=5, tokens=4" in repr(node)
    cursor = Cursor(node, 3)
    cursor.node = None
    with pytest.raises(AssertionError, match="closed"):
        _ = cursor.position
