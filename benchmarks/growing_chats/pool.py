"""Known tokens that a small pool holds: chats that interleave, on the radix tree and its policies.

`python -m benchmarks.growing_chats.pool` prints JSON. The template drops the reasoning of earlier
turns. Three ways are compared: turns as generated, prepared, and prepared with the replaced tokens
given up. Token ids, times and turns are seeded; nothing is computed.
"""

from __future__ import annotations

import heapq
import itertools
import json
import random
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import numpy as np
import typer

from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.node import Cursor, Tokens
from yaie.kvcache.radix_tree import RadixTree

Way = Literal["generated", "prepared", "replaced"]
WAYS: tuple[Way, ...] = ("generated", "prepared", "replaced")
_POOLS = (0.3, 0.5, 0.8)  # of the tokens that all conversations have in the end


@dataclass(frozen=True, slots=True, kw_only=True)
class Chats:
    """Numbers of conversations and of their turns, and lengths in tokens."""

    conversations: int = 60
    turns: int = 10
    system: int = 100
    question: int = 30
    thought: int = 200
    answer: int = 80

    @property
    def total(self) -> int:
        """Tokens of all conversations in the end."""
        return self.system + self.conversations * self.turns * (self.question + self.answer)


def cached_share(chats: Chats, way: Way, policy: str, pool: float, seed: int) -> float:
    """Return the share of known tokens that were cached when a turn began."""
    pauses, ids = random.Random(seed), itertools.count()
    slots = int(pool * chats.total)
    tree = RadixTree(slots, make_eviction_policy(policy, slots))
    known = list(itertools.islice(ids, chats.system))
    histories = [list(known) for _ in range(chats.conversations)]
    due = [(pauses.expovariate(1.0), 1, chat) for chat in range(chats.conversations)]
    heapq.heapify(due)
    num_known = num_cached = 0
    while due:
        at, turn, chat = heapq.heappop(due)
        history = histories[chat]
        num_known += len(history)
        num_cached += tree.match("", _tokens(history)).num_computed
        prompt = [*history, *itertools.islice(ids, chats.question)]
        thought = list(itertools.islice(ids, chats.thought))
        answer = list(itertools.islice(ids, chats.answer))
        generated = _tokens([*prompt, *thought, *answer])
        _close_computed(tree, tree.open("", generated))
        histories[chat] = [*prompt, *answer]
        if way != "generated":
            _close_computed(tree, tree.open("", _tokens(histories[chat]), is_use=False))
        if way == "replaced":
            tree.abandon("", generated, len(prompt))
        if turn < chats.turns:
            heapq.heappush(due, (at + pauses.expovariate(1.0), turn + 1, chat))
    return num_cached / num_known


def _tokens(ids: list[int]) -> Tokens:
    return np.array(ids, dtype=np.int32)


def _close_computed(tree: RadixTree, cursor: Cursor) -> None:
    """Count all tokens of a path as computed, and end its sequence."""
    num_new = 0
    for node in tree.path(cursor):
        num_new += len(node.tokens) - node.num_computed
        tree.mark_computed(node, len(node.tokens))
    tree.advance(num_new)
    tree.close(cursor)


def main(seeds: Annotated[int, typer.Option(min=1, help="runs of each kind")] = 3) -> None:
    """Measure the cached shares of known tokens."""
    chats = Chats()
    rows = []
    for policy, pool in itertools.product(("adaptive", "lru"), _POOLS):
        row: dict[str, str | float] = {"policy": policy, "pool": pool}
        for way in WAYS:
            shares = [cached_share(chats, way, policy, pool, seed) for seed in range(seeds)]
            row[way] = round(sum(shares) / seeds, 3)
        rows.append(row)
    print(json.dumps({"benchmark": "chat_pool", "chats": asdict(chats), "rows": rows}, indent=2))


if __name__ == "__main__":
    typer.run(main)
