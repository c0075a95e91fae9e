"""Views of a tree: the nodes of most worth, after their parents, against a walk of the tree."""

from __future__ import annotations

import random

import pytest

from yaie.base.cache_changes import unpack_tokens
from yaie.base.queries import ViewedNode
from yaie.kvcache.node import Cursor, Node, as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.tree_view import view_nodes


def serve(tree: RadixTree, tokens: list[int], namespace: object = ("", "")) -> Cursor:
    cursor = tree.open(namespace, as_tokens(tokens))  # type: ignore[arg-type]
    for node in tree.path(cursor):
        tree.mark_computed(node, len(node.tokens))
    tree.advance(len(tokens))
    return cursor


def view(tree: RadixTree, live: tuple[Node, ...] = (), limit: int = 500) -> list[ViewedNode]:
    return view_nodes(tree, live, limit=limit, num_shown=4, time_of=float)[0]


def test_two_prompts_of_one_prefix_are_a_node_with_two_children() -> None:
    tree = RadixTree(256)
    for last in (8, 9):
        tree.close(serve(tree, [1, 2, 3, last, last]))
    top, *leaves = view(tree)
    assert (top.parent, top.start, top.num_tokens, top.num_uses) == (0, 0, 3, 2)
    assert [(each.parent, each.start, each.num_tokens) for each in leaves] == [
        (top.number, 3, 2)
    ] * 2
    assert {unpack_tokens(each.first_tokens)[0] for each in leaves} == {8, 9}
    assert [each.number for each in view(tree)] == [top.number, *(each.number for each in leaves)]
    tree.clear()
    assert view(tree) == []


def test_every_node_is_viewed_as_it_is_if_there_is_room() -> None:
    random.seed(3)
    tree = RadixTree(4096)
    for _ in range(60):
        length = random.randint(1, 30)
        tree.close(serve(tree, [random.randint(0, 2) for _ in range(length)]))
    seen = view(tree)
    assert len(seen) == tree.num_nodes
    assert sum(each.num_tokens for each in seen) == tree.num_cached
    numbers = {0}
    for each in seen:
        assert each.parent in numbers, "a node comes after its parent"
        numbers.add(each.number)
        assert each.num_hidden == 0


def test_a_small_view_keeps_live_paths_and_the_nodes_of_most_worth() -> None:
    tree = RadixTree(8192)
    for number in range(40):
        tree.close(serve(tree, [100, 101] + [number] * (2 + number)))
    live = serve(tree, [7, 8, 9])
    assert live.node is not None
    seen = view(tree, (live.node,), limit=6)
    assert len(seen) == 6
    assert (seen[0].num_live, seen[0].num_tokens) == (1, 3)
    shared = seen[1]
    assert shared.num_tokens == 2
    assert shared.num_hidden == 40 - 4
    assert [each.num_tokens for each in seen[2:]] == [41, 40, 39, 38], "the longest branches"


def test_a_path_longer_than_the_view_begins_at_its_root() -> None:
    tree = RadixTree(4096)
    path = list(range(40))
    for end in range(1, 40):
        tree.close(serve(tree, [*path[:end], 1000 + end]))
    live = serve(tree, path)
    assert live.node is not None
    seen = view(tree, (live.node,), limit=5)
    assert [each.start for each in seen] == [0, 1, 2, 3, 4]
    assert [each.parent for each in seen][1:] == [each.number for each in seen][:-1]


def test_a_namespace_has_its_owner_and_a_salt_is_marked() -> None:
    tree = RadixTree(256)
    for namespace in (("ada", ""), ("ada", "salt"), (("ada", ""), 7)):
        tree.close(serve(tree, [1, 2], namespace))
    found = {(each.owner, each.is_salted) for each in view(tree)}
    assert found == {("ada", False), ("ada", True), ("", True)}


@pytest.mark.parametrize("words", [([5], [6]), ([5], [6, 7, 8]), ([5, 6, 7, 8, 9], [4])])
def test_branches_that_differ_by_one_word_are_twins(words: tuple[list[int], list[int]]) -> None:
    random.seed(1)
    tree = RadixTree(8192)
    rest = [random.randint(10, 99) for _ in range(700)]
    for word in words:
        tree.close(serve(tree, [1, 2, 3, *word, *rest]))
    tree.close(serve(tree, [1, 2, 3, 9, 9, *rest[::-1]]))
    nodes, twins = view_nodes(tree, (), limit=500, num_shown=4, time_of=float)
    assert twins is not None
    starts = {each.number: unpack_tokens(each.first_tokens)[0] for each in nodes}
    assert {starts[twins.first], starts[twins.second]} == {words[0][0], words[1][0]}
    assert 700 - 16 <= twins.num_tokens <= 700


@pytest.mark.parametrize("at", [0, 20, 300])
def test_branches_that_differ_again_are_no_twins(at: int) -> None:
    """Seventeen other tokens are no word, and an early second difference ends the equal part."""
    random.seed(2)
    tree = RadixTree(8192)
    rest = [random.randint(10, 99) for _ in range(700)]
    other = [*rest[:at], *([1] * 17), *rest[at + 17 :]]
    for word, text in ((5, rest), (6, other)):
        tree.close(serve(tree, [1, 2, 3, word, *text]))
    assert view_nodes(tree, (), limit=500, num_shown=4, time_of=float)[1] is None
