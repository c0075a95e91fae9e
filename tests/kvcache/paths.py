"""Paths in a tree: open, compute and cache them. Used by the tests of the tree."""

from __future__ import annotations

from yaie.kvcache.node import Cursor, as_tokens
from yaie.kvcache.radix_tree import RadixTree


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
