"""Nodes of a tree as rows of the feed: names, text and changes. Pure."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from yaie.base.cache_changes import unpack_tokens
from yaie.base.queries import TreeView, ViewedNode
from yaie.server.ui.viewer import Viewer
from yaie.text.tokenizer import Tokenizer

NUM_SHOWN = 48  # tokens of a node
_MOST_CHARS = 160
_MOST_TEXTS = 4096  # remembered
# The role that chat templates write before a message, without its markers.
_ROLE = re.compile(r"\s*(system|user|assistant|model|tool|developer)\s*\n\s*")
Row = tuple[int | str | None, ...]


class NodeTexts:
    """Role, text and digest of nodes by their first tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: OrderedDict[bytes, tuple[str, str, str]] = OrderedDict()
        self._secret = secrets.token_bytes(16)  # digests tell equal from different, not the text

    def of(self, first_tokens: bytes) -> tuple[str, str, str]:
        """Return role, text and digest of a node; the role is empty inside a message."""
        found = self._known.get(first_tokens)
        if found is None:
            text = self._tokenizer.decode(unpack_tokens(first_tokens), True)
            role = _ROLE.match(text)
            text = (text[role.end() :] if role else text).rstrip()[:_MOST_CHARS]
            digest = hashlib.blake2s(first_tokens, key=self._secret, digest_size=2).hexdigest()
            found = self._known[first_tokens] = (role[1] if role else "", text, digest)
            if len(self._known) > _MOST_TEXTS:
                self._known.popitem(last=False)
        return found


def rows_of(
    view: TreeView, viewer: Viewer, texts: NodeTexts, name_of: Callable[[str], str]
) -> dict[int, Row]:
    """Return the rows that a viewer may see, by node; `name_of`: an owner's public name."""
    offset_s = time.time() - time.perf_counter()
    return {
        node.number: _row(node, viewer, texts, name_of(node.owner), offset_s)
        for node in view.nodes
        if viewer.owner in (None, node.owner)
    }


def _row(node: ViewedNode, viewer: Viewer, texts: NodeTexts, owner: str, offset_s: float) -> Row:
    role, text, digest = texts.of(node.first_tokens)
    return (
        node.number,
        node.parent,
        node.start,
        node.num_tokens,
        node.num_uses,
        round(node.used_at + offset_s) if node.used_at else 0,
        owner,
        node.num_live,
        node.num_hidden,
        role,
        text if viewer.sees_text(is_salted=node.is_salted) else None,
        digest,
    )


def changes(before: dict[int, Row], after: dict[int, Row]) -> tuple[list[Row], list[int]]:
    """Return the rows that are new or different, and the nodes that are gone."""
    changed = [row for number, row in after.items() if before.get(number) != row]
    return changed, [number for number in before if number not in after]


def share_of_others(view: TreeView, rows: Iterable[Row]) -> float:
    """Return the share of the held tokens, among the viewed ones, that a viewer may not see."""
    total = sum(view.held_by_owner.values())
    seen = sum(int(row[3] or 0) for row in rows)
    return max(0.0, 1 - seen / total) if total else 0.0
