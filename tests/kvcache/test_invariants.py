"""Each invariant of the design by its number, and the audit's detection of violations."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import yaie
from yaie.base.errors import InvariantViolated
from yaie.kvcache.node import Cursor, Node, as_tokens
from yaie.kvcache.radix_tree import RadixTree

from .fuzz import Fuzzer
from .pair import read_tree
from .paths import compute, hold, known, open_path

PACKAGE = Path(yaie.__file__).parent


def shape(tree: RadixTree) -> list[tuple[int, list[int], int, int]]:
    """Return (start, tokens, computed, refs) of every node, sorted."""
    return sorted(
        (node.start, node.tokens.tolist(), node.num_computed, node.refs) for node in tree.nodes()
    )


def fingerprint(tree: RadixTree) -> object:
    """Return all state that a look-up could change."""
    nodes = [
        (
            *(node.start, bytes(node.tokens), bytes(node.extents), node.num_computed),
            *(node.refs, node.last_used, node.uses, node.entry, sorted(node.children or ())),
        )
        for node in tree.nodes()
    ]
    return (sorted(nodes), tree.clock, tree.num_live, tree.num_free, len(tree.evictable))


def test_invariant_1_every_slot_is_free_or_owned_by_one_node():
    tree = RadixTree(30)
    cursors = [open_path(tree, path) for path in ([1, 2, 3, 4], [1, 2, 9], [5], [1, 2, 3, 4, 7])]
    held = sum(len(node.tokens) for node in tree.nodes())
    assert held == 7  # 1 2 3 4, 9, 5, 7: shared tokens have one slot
    assert tree.num_free + held == tree.num_slots
    slots = np.concatenate([node.slots() for node in tree.nodes()])
    assert len(set(slots.tolist())) == held
    for cursor in cursors:
        tree.close(cursor)
    assert tree.num_free == 30  # uncomputed tokens are not cached


def test_invariant_2_children_differ_in_their_first_token():
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
    # Large ids with equal low bytes are different tokens.
    hold(tree, [70_000, 70_000 + 65_536])
    assert known(tree, [70_000, 70_000 + 131_072]) == 1
    assert known(tree, [70_000 - 65_536]) == 0


def test_invariant_3_computed_tokens_have_computed_ancestors():
    tree = RadixTree(30)
    cursor = open_path(tree, [1, 2, 3, 4, 5, 6])
    tree.mark_computed(cursor.node, 4)
    found = tree.match("", as_tokens([1, 2, 3, 4, 5, 6]))
    assert (found.num_known, found.num_computed) == (6, 4)
    other = open_path(tree, [1, 2, 9])  # splits inside the computed tokens
    assert [(s, t, c) for s, t, c, _ in shape(tree)] == [
        (0, [1, 2], 2),
        (2, [3, 4, 5, 6], 2),
        (2, [9], 0),
    ]
    third = open_path(tree, [1, 2, 3, 4, 5, 8])  # and after them
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
    assert tree.evict(100) == 2  # 5 6; not 1 2, the parent of the live 3 4
    assert known(tree, [1, 2, 3, 4]) == 4
    assert tree.tokens(cursor).tolist() == [1, 2, 3, 4]
    tree.check()


@pytest.mark.parametrize("computed", [0, 3, 6])
def test_invariant_6_ending_is_one_operation(computed):
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
    for name in (
        "slots",
        "node",
        "match",
        "release",
        "tree_edits",
        "radix_tree",
        "eviction",
        "audit",
    ):
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
    """Return a tree with live [1 2 3 4] and [1 2 5 6], evictable [7 8] and another namespace."""
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
        "under the key",
    ),
    "a child with a wrong parent": (
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
    "cached but not computed": (
        lambda t: setattr(node_of(t, 7, 8), "num_computed", 1),
        "cached but not computed",
    ),
    "a wrong start": (lambda t: setattr(node_of(t, 3, 4), "start", 3), "does not start"),
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
    "a root is empty": (lambda t: t.roots.update(x=Node(None, 0)), "is empty"),
    "a root has tokens": (
        lambda t: t.roots[""].tokens.append(3),
        "has tokens or a parent|does not start",
    ),
    "a cursor beyond its node": (
        lambda t: [setattr(c, "offset", 3) for c in node_of(t, 3, 4).cursors],
        "cursor beyond",
    ),
    "an uncounted cursor inside an edge": (
        lambda t: [setattr(c, "offset", 1) for c in node_of(t, 3, 4).cursors],
        "inside edges",
    ),
    "a counted edge without a cursor inside": (
        lambda t: t.inside.update({node_of(t, 5, 6): 1}),
        "inside edges",
    ),
    "a cursor of another node": (
        lambda t: [setattr(c, "node", t.roots[""]) for c in node_of(t, 3, 4).cursors],
        "and its node disagree",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_audit_finds(name):
    fault, message = FAULTS[name]
    tree, _, _ = grown_tree()
    fault(tree)
    with pytest.raises(InvariantViolated, match=message):
        tree.check()
