"""The tree case by case: each invariant by its name, the audit's eyesight, and the corner cases."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import yaie
from yaie.errors import InvariantViolated
from yaie.kvcache.eviction import rank_lfu
from yaie.kvcache.node import Cursor, Node, as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import OutOfSlots

from .fuzz import Fuzzer
from .pair import Pair, read_tree

PACKAGE = Path(yaie.__file__).parent


def open_path(tree: RadixTree, path: list[int], namespace: str = "") -> Cursor:
    return tree.open(namespace, as_tokens(path))


def compute(tree: RadixTree, cursor: Cursor) -> None:
    for node in tree.path(cursor):
        tree.mark_computed(node, len(node.tokens))


def hold(tree: RadixTree, path: list[int], namespace: str = "") -> None:
    cursor = open_path(tree, path, namespace)
    compute(tree, cursor)
    tree.close(cursor)


def known(tree: RadixTree, path: list[int], namespace: str = "") -> int:
    return tree.match(namespace, as_tokens(path)).num_known


def shape(tree: RadixTree) -> list[tuple[int, list[int], int, int]]:
    """(start, tokens, computed, refs) of every node, sorted."""
    return sorted(
        (node.start, node.tokens.tolist(), node.num_computed, node.refs) for node in tree.nodes()
    )


def fingerprint(tree: RadixTree) -> object:
    """Everything that a look-up could have changed."""
    nodes = [
        (
            *(node.start, bytes(node.tokens), bytes(node.extents), node.num_computed),
            *(node.refs, node.last_used, node.uses, node.entry, sorted(node.children or ())),
        )
        for node in tree.nodes()
    ]
    return (sorted(nodes), tree.clock, tree.num_live, tree.num_free, len(tree.evictable))


# -- the invariants of the design, by number ------------------------------------------------------


def test_invariant_1_every_slot_is_free_or_owned_by_one_node():
    tree = RadixTree(30)
    cursors = [open_path(tree, path) for path in ([1, 2, 3, 4], [1, 2, 9], [5], [1, 2, 3, 4, 7])]
    held = sum(len(node.tokens) for node in tree.nodes())
    assert held == 7  # 1 2 3 4, 9, 5, 7: shared tokens are held once
    assert tree.num_free + held == tree.num_slots
    slots = np.concatenate([node.slots() for node in tree.nodes()])
    assert len(set(slots.tolist())) == held
    for cursor in cursors:
        tree.close(cursor)
    assert tree.num_free == 30  # nothing was computed, so nothing is worth keeping


def test_invariant_2_children_differ_in_their_first_token_and_tokens_are_compared():
    tree = RadixTree(30)
    hold(tree, [1, 2, 3])
    hold(tree, [1, 2, 4])
    hold(tree, [1, 5])
    hold(tree, [6])
    assert [(start, tokens) for start, tokens, _, _ in shape(tree)] == [
        (0, [1]),
        (0, [6]),
        (1, [2]),
        (1, [5]),
        (2, [3]),
        (2, [4]),
    ]
    # Large ids whose low bytes are equal are different tokens.
    hold(tree, [70_000, 70_000 + 65_536])
    assert known(tree, [70_000, 70_000 + 131_072]) == 1
    assert known(tree, [70_000 - 65_536]) == 0


def test_invariant_3_computed_tokens_have_computed_ancestors():
    tree = RadixTree(30)
    cursor = open_path(tree, [1, 2, 3, 4, 5, 6])
    tree.mark_computed(cursor.node, 4)
    found = tree.match("", as_tokens([1, 2, 3, 4, 5, 6]))
    assert (found.num_known, found.num_computed) == (6, 4)
    other = open_path(tree, [1, 2, 9])  # splits inside what is computed
    assert [(s, t, c) for s, t, c, _ in shape(tree)] == [
        (0, [1, 2], 2),
        (2, [3, 4, 5, 6], 2),
        (2, [9], 0),
    ]
    third = open_path(tree, [1, 2, 3, 4, 5, 8])  # and behind it
    assert [(s, c) for s, _, c, _ in shape(tree)] == [(0, 2), (2, 2), (2, 0), (5, 0), (5, 0)]
    tree.mark_computed(tree.path(third)[0], 1)  # never goes back
    assert tree.path(third)[0].num_computed == 2
    tree.check()
    for c in (cursor, other, third):
        tree.close(c)
    assert [(s, t, c) for s, t, c, _ in shape(tree)] == [(0, [1, 2], 2), (2, [3, 4], 2)]
    tree.check()


def test_invariant_4_refs_are_the_live_sequences_in_or_below():
    tree = RadixTree(30)
    cursors = [open_path(tree, path) for path in ([1, 2, 3], [1, 2, 4], [1, 2], [1, 2, 3, 5])]
    root = tree.roots[""]
    assert root.refs == 4
    refs = {tuple(node.tokens): node.refs for node in tree.nodes()}
    assert refs == {(1, 2): 4, (3, 5): 2, (4,): 1}
    tree.close(cursors.pop(0))
    assert root.refs == 3
    tree.check()


def test_invariant_5_only_leaves_without_refs_are_evicted():
    tree = RadixTree(12)
    hold(tree, [1, 2, 3, 4])
    hold(tree, [1, 2, 5, 6])
    cursor = open_path(tree, [1, 2, 3, 4])
    assert tree.evict(100) == 2  # 5 6; not 1 2, of which 3 4 is a live child
    assert known(tree, [1, 2, 3, 4]) == 4
    assert tree.tokens(cursor).tolist() == [1, 2, 3, 4]
    tree.check()


@pytest.mark.parametrize("computed", [0, 3, 6])
def test_invariant_6_ending_is_one_operation_and_leaves_nothing_behind(computed):
    tree = RadixTree(20)
    cursor = open_path(tree, [1, 2, 3, 4])
    for token in (5, 6):
        tree.append(cursor, token)
    tree.mark_computed(cursor.node, computed)
    tree.close(cursor)
    assert cursor.node is None
    assert tree.num_live == 0
    assert tree.num_cached == computed
    assert tree.num_free == 20 - computed
    tree.check()
    tree.clear()
    assert (tree.num_free, tree.num_nodes, tree.roots) == (20, 0, {})


def test_invariant_7_same_namespace_and_tokens_same_slots():
    tree = RadixTree(40)
    path = [1, 2, 3, 4, 5, 6]
    hold(tree, path)
    before, _ = read_tree(tree)
    hold(tree, [1, 2, 3, 9])  # splits it
    again = open_path(tree, path)
    assert tree.num_live == 6
    other = open_path(tree, path, "tenant")
    slots = [np.concatenate([n.slots() for n in tree.path(c)]) for c in (again, other)]
    assert slots[0].tolist() == [before["", bytes(path[:i])] for i in range(1, 7)]
    assert not set(slots[0]) & set(slots[1])


def test_invariant_8_only_the_engine_touches_the_tree():
    may = {"kvcache", "engine", "attention", "bench"}
    touching = set()
    for file in PACKAGE.rglob("*.py"):
        for statement in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = []
            if isinstance(statement, ast.ImportFrom):
                names = [statement.module or ""]
            elif isinstance(statement, ast.Import):
                names = [alias.name for alias in statement.names]
            if any(name.startswith("yaie.kvcache.radix_tree") for name in names):
                touching.add(file.relative_to(PACKAGE).parts[0])
    assert "kvcache" in touching
    assert touching <= may


def test_invariant_9_match_is_pure():
    fuzzer = Fuzzer(5, check_every=50)
    fuzzer.run(300)
    tree = fuzzer.pair.tree
    before = fingerprint(tree)
    for namespace, path in [*fuzzer.pair.model.held, ("", b""), ("nowhere", b"\1\2")]:
        tree.match(namespace, as_tokens(path + b"\1\0\1"))
    assert fingerprint(tree) == before
    assert "nowhere" not in tree.roots


def test_invariant_10_a_run_can_be_replayed_and_reads_no_clock():
    runs = []
    for _ in range(2):
        fuzzer = Fuzzer(11, check_every=50)
        fuzzer.run(600)
        runs.append((fingerprint(fuzzer.pair.tree), read_tree(fuzzer.pair.tree)))
    assert runs[0] == runs[1]
    for name in ("slots", "node", "radix_tree", "eviction", "audit"):
        source = ast.parse((PACKAGE / "kvcache" / f"{name}.py").read_text(encoding="utf-8"))
        imported = {
            alias.name.split(".")[0]
            for statement in ast.walk(source)
            if isinstance(statement, ast.Import)
            for alias in statement.names
        } | {
            (statement.module or "").split(".")[0]
            for statement in ast.walk(source)
            if isinstance(statement, ast.ImportFrom)
        }
        assert not imported & {"time", "datetime", "random", "torch", "os", "threading", "socket"}


# -- the audit sees each kind of fault ------------------------------------------------------------


def grown_tree() -> tuple[RadixTree, Cursor, Cursor]:
    """Live [1 2 3 4] and, partly computed, [1 2 5]; evictable [7 8]; and another namespace."""
    tree = RadixTree(40)
    hold(tree, [7, 8])
    hold(tree, [7, 8], "tenant")
    first = open_path(tree, [1, 2, 3, 4])
    compute(tree, first)
    second = open_path(tree, [1, 2, 5, 6])
    tree.mark_computed(second.node, 1)
    tree.check()
    return tree, first, second


def node_of(tree: RadixTree, *tokens: int) -> Node:
    return next(node for node in tree.nodes() if node.tokens.tolist() == list(tokens))


FAULTS = {
    "a slot of a node is free too": (
        lambda t: t.allocator.free(int(node_of(t, 3, 4).slots()[1]), 1),
        "slot|extent",
    ),
    "a slot has no owner": (lambda t: t.allocator.allocate(1), "has 0 owners"),
    "two nodes own a slot": (
        lambda t: node_of(t, 3, 4).extents.__setitem__(0, node_of(t, 1, 2).extents[0]),
        "owners",
    ),
    "a slot is outside the pool": (
        lambda t: node_of(t, 3, 4).extents.__setitem__(0, 39),
        "out of pool",
    ),
    "an extent is empty": (lambda t: node_of(t, 3, 4).extents.extend((9, 0)), "empty extent"),
    "tokens without slots": (lambda t: node_of(t, 3, 4).tokens.append(9), "slots for its tokens"),
    "a child under a wrong token": (
        lambda t: node_of(t, 3, 4).tokens.__setitem__(0, 9),
        "filed under",
    ),
    "a child that forgot its parent": (
        lambda t: setattr(node_of(t, 3, 4), "parent", node_of(t, 7, 8)),
        "parent",
    ),
    "an empty table of children": (
        lambda t: setattr(node_of(t, 3, 4), "children", {}),
        "empty child table",
    ),
    "computed beyond the tokens": (
        lambda t: setattr(node_of(t, 3, 4), "num_computed", 3),
        "beyond its tokens",
    ),
    "computed before its parent": (
        lambda t: setattr(node_of(t, 1, 2), "num_computed", 1),
        "before its parent",
    ),
    "kept without being computed": (
        lambda t: setattr(node_of(t, 7, 8), "num_computed", 1),
        "without being computed",
    ),
    "a wrong start": (lambda t: setattr(node_of(t, 3, 4), "start", 3), "does not begin"),
    "a missing ref": (lambda t: setattr(node_of(t, 1, 2), "refs", 1), "should have 2 refs"),
    "a ref too many": (lambda t: setattr(node_of(t, 3, 4), "refs", 2), "should have 1 refs"),
    "a root with a ref too many": (
        lambda t: setattr(t.roots["tenant"], "refs", 1),
        "should have 0 refs",
    ),
    "num_live is off": (lambda t: setattr(t, "num_live", 5), "num_live is 5"),
    "num_nodes is off": (lambda t: setattr(t, "num_nodes", 9), "num_nodes 9"),
    "an evictable leaf is not offered": (
        lambda t: t.evictable.discard(node_of(t, 7, 8)),
        "eviction queue",
    ),
    "a live leaf is offered": (lambda t: t.evictable.add(node_of(t, 3, 4)), "eviction queue"),
    "a root holds nothing": (lambda t: t.roots.update(x=Node(None, 0)), "holds nothing"),
    "a root has tokens": (lambda t: t.roots[""].tokens.append(3), "is no root|does not begin"),
    "a cursor beyond its node": (
        lambda t: [setattr(c, "offset", 3) for c in node_of(t, 3, 4).cursors],
        "cursor beyond",
    ),
    "a cursor that stands elsewhere": (
        lambda t: [setattr(c, "node", t.roots[""]) for c in node_of(t, 3, 4).cursors],
        "stands elsewhere",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_audit_finds(name):
    fault, message = FAULTS[name]
    tree, _, _ = grown_tree()
    fault(tree)
    with pytest.raises(InvariantViolated, match=message):
        tree.check()


# -- growing --------------------------------------------------------------------------------------


def test_a_lone_sequence_extends_its_leaf_in_place_and_its_slots_stay_in_a_run():
    tree = RadixTree(100)
    cursor = open_path(tree, [1, 2, 3])
    for token in range(10, 30):
        tree.append(cursor, token)
    assert tree.num_nodes == 1
    assert len(cursor.node.extent_list()) == 1
    assert cursor.position == 23 and tree.tokens(cursor).tolist() == [1, 2, 3, *range(10, 30)]
    tree.check()


def test_sequences_that_grow_side_by_side_get_runs_of_their_own():
    tree = RadixTree(4096)
    cursors = [open_path(tree, [9, 9, i]) for i in range(4)]
    for step in range(100):
        for cursor in cursors:
            tree.append(cursor, step)
    assert max(len(cursor.node.extent_list()) for cursor in cursors) <= 3
    tree.check()


def test_cursors_at_one_place_share_a_token_and_part_when_they_differ():
    tree = RadixTree(30)
    a, b, c = (open_path(tree, [1, 2]) for _ in range(3))
    for cursor in (a, b, c):
        tree.append(cursor, 3)
    assert tree.num_nodes == 1 and tree.num_live == 3
    tree.append(a, 4)
    assert (b.node, b.offset) == (a.node, 3)  # b stands inside the edge now
    tree.append(b, 5)
    assert tree.tokens(a).tolist() == [1, 2, 3, 4]
    assert tree.tokens(b).tolist() == [1, 2, 3, 5]
    assert tree.tokens(c).tolist() == [1, 2, 3]
    assert c.node.children.keys() == {4, 5}
    tree.append(c, 4)
    assert (c.node, c.offset) == (a.node, a.offset)
    tree.check()


def test_a_cursor_walks_into_what_is_held_already():
    tree = RadixTree(30)
    hold(tree, [1, 2, 3, 4, 5])
    cursor = open_path(tree, [1, 2])
    assert cursor.offset == 2 and len(cursor.node.tokens) == 5
    free = tree.num_free
    for token in (3, 4, 5):
        tree.append(cursor, token)
    assert tree.num_free == free and tree.num_nodes == 1
    tree.append(cursor, 6)
    assert tree.num_free == free - 1
    assert cursor.node.num_computed == 5


def test_an_empty_prompt_stands_on_the_root():
    tree = RadixTree(4)
    cursor = open_path(tree, [])
    assert cursor.position == 0 and tree.tokens(cursor).tolist() == []
    assert tree.path(cursor) == []
    tree.append(cursor, 7)
    assert tree.tokens(cursor).tolist() == [7]
    tree.check()
    tree.close(cursor)
    assert tree.roots == {}


def test_a_long_edge_is_compared_to_the_last_token():
    tree = RadixTree(20_000)
    path = list(np.random.default_rng(0).integers(0, 150_000, 8192))
    hold(tree, path)
    assert known(tree, path) == 8192
    for place in (0, 1, 4095, 8191):
        other = list(path)
        other[place] += 1
        assert known(tree, other) == place
    assert known(tree, [*path, 1]) == 8192


def test_as_tokens_makes_contiguous_int32():
    for given in ([1, 2, 3], (1, 2, 3), iter([1, 2, 3]), np.array([1, 2, 3]), range(1, 4)):
        tokens = as_tokens(given)
        assert tokens.dtype == np.int32 and tokens.flags.c_contiguous
        assert tokens.tolist() == [1, 2, 3]
    assert as_tokens(np.arange(10)[::2]).tolist() == [0, 2, 4, 6, 8]
    assert as_tokens([]).tolist() == []


# -- namespaces -----------------------------------------------------------------------------------


def test_namespaces_share_nothing_and_their_roots_go_with_their_last_token():
    tree = RadixTree(30)
    hold(tree, [1, 2, 3], "a")
    assert known(tree, [1, 2, 3], "b") == 0
    assert tree.match("b", as_tokens([1])).node is None
    cursor = tree.open(("model", 7), as_tokens([1, 2, 3]))  # any hashable value
    assert tree.num_free == 24
    tree.check()
    tree.close(cursor)
    assert set(tree.roots) == {"a"}
    tree.clear()
    assert tree.roots == {}
    tree.check()


# -- no room --------------------------------------------------------------------------------------


def test_out_of_slots_at_open_leaves_what_lives_untouched():
    tree = RadixTree(10)
    live = open_path(tree, [1, 2, 3, 4, 5, 6])
    with pytest.raises(OutOfSlots) as caught:
        open_path(tree, [1, 2, 3, 7, 7, 7, 7, 7])
    assert (caught.value.needed, caught.value.available) == (5, 4)
    assert (tree.num_live, tree.num_free) == (6, 4)
    assert tree.tokens(live).tolist() == [1, 2, 3, 4, 5, 6]
    assert tree.roots[""].refs == 1
    tree.check()
    with pytest.raises(OutOfSlots):
        open_path(tree, [1] * 11, "new")
    assert "new" not in tree.roots
    tree.check()


def test_out_of_slots_at_append_leaves_the_cursor_where_it_stood():
    tree = RadixTree(6)
    a = open_path(tree, [1, 2, 3, 4])
    b = open_path(tree, [1, 2, 3, 4, 5, 6])
    before = read_tree(tree)
    for cursor, token in ((b, 7), (a, 9)):  # at the end of a leaf, and inside an edge
        path = tree.tokens(cursor).tolist()
        with pytest.raises(OutOfSlots):
            tree.append(cursor, token)
        assert tree.tokens(cursor).tolist() == path
        tree.check()
    assert read_tree(tree) == before
    tree.append(a, 5)  # held already: needs no room
    tree.check()


def test_what_is_cached_makes_room_for_what_lives():
    tree = RadixTree(10)
    hold(tree, [1, 2, 3, 4, 5, 6, 7, 8])
    cursor = open_path(tree, [1, 2, 9, 9, 9, 9])
    assert known(tree, [1, 2, 3, 4, 5, 6, 7, 8]) == 6  # two tokens at the end made room
    assert tree.num_free == 0
    for _ in range(4):
        tree.append(cursor, 9)
    assert known(tree, [1, 2, 3]) == 2
    with pytest.raises(OutOfSlots):
        tree.append(cursor, 9)
    tree.check()


def test_the_edge_ahead_of_a_live_cursor_is_pinned_until_slots_are_wanted():
    tree = RadixTree(10)
    hold(tree, [1, 2, 3, 4, 5, 6, 7, 8])
    cursor = open_path(tree, [1, 2, 3])
    assert tree.num_live == 8  # the whole edge
    other = open_path(tree, [9, 9, 9, 9])
    assert known(tree, [1, 2, 3, 4, 5, 6, 7, 8]) == 6
    assert tree.tokens(cursor).tolist() == [1, 2, 3]
    assert tree.num_live == 7
    tree.check()
    assert tree.evict(100) == 3
    assert tree.tokens(other).tolist() == [9, 9, 9, 9]
    tree.check()


def test_evict_counts_released_tails_that_were_never_computed():
    tree = RadixTree(10)
    ahead = open_path(tree, [1, 2, 3, 4, 5, 6])
    behind = open_path(tree, [1, 2])
    hold(tree, [8, 8])
    tree.close(ahead)
    assert tree.num_free == 2  # 3 to 6 are ahead of `behind`, though nothing computed them
    assert tree.evict(4) == 6  # two cached ones, then the tail goes as a whole
    assert (tree.num_free, tree.num_evicted_tokens) == (8, 2)
    assert tree.tokens(behind).tolist() == [1, 2]
    tree.check()


def test_released_tails_spare_what_is_cached_behind_them():
    """Slots that a tail gave back are counted before anything more is evicted."""
    tree = RadixTree(8)
    hold(tree, [1, 2, 3, 4])
    inside = open_path(tree, [1, 2])
    ahead = open_path(tree, [5, 6, 7])
    behind = open_path(tree, [5])
    tree.close(ahead)
    assert tree.num_free == 1
    tree.open("", as_tokens([9, 9, 9]))
    assert known(tree, [1, 2, 3, 4]) == 4  # releasing 6 7 was enough
    assert (inside.position, behind.position) == (2, 1)
    assert tree.num_evicted_tokens == 0
    tree.check()


# -- counts ---------------------------------------------------------------------------------------


def test_the_counts_of_slots_add_up():
    tree = RadixTree(20)
    hold(tree, [1, 2, 3])
    cursor = open_path(tree, [4, 5])
    assert (tree.num_free, tree.num_cached, tree.num_live) == (15, 3, 2)
    assert tree.num_available == 18
    tree.close(cursor)
    assert (tree.num_free, tree.num_cached, tree.num_live) == (17, 3, 0)


def test_uses_and_time_of_use_follow_the_sequences():
    tree = RadixTree(20, rank_lfu)
    hold(tree, [1, 2, 3])
    tree.advance(7)
    cursor = open_path(tree, [1, 2, 4])
    uses = {tuple(node.tokens): (node.uses, node.last_used) for node in tree.nodes()}
    assert uses[1, 2] == (2, 7) and uses[(4,)] == (1, 7)
    tree.advance(5)
    tree.close(cursor)
    assert tree.roots[""].children[1].last_used == 12


def test_a_path_of_many_nodes_is_no_matter_of_recursion():
    tree = RadixTree(3000)
    cursor = open_path(tree, [0])
    path, others = [0], []
    for _ in range(1200):  # a branch at every token
        others.append(open_path(tree, [*path, 1]))
        tree.append(cursor, 0)
        path.append(0)
    assert len(tree.path(cursor)) == 1201
    compute(tree, cursor)
    tree.check()
    for other in [*others, cursor]:
        tree.close(other)
    tree.check()
    assert tree.clear() == 1201
    assert tree.num_free == 3000


def test_a_pair_that_ends_everything_gives_all_slots_back():
    pair = Pair(32)
    numbers = [pair.open("", bytes([1, 2, i])) for i in range(5)]
    for number in numbers:
        pair.mark(number, 2)
        pair.close(number)
    assert pair.evict(32) == 2
    assert pair.tree.num_free == 32
