"""The real tree and the plain model, compared after every operation.

Used by the state machine, the fuzzer and the seeded bugs. A difference raises `Mismatch`, a broken
invariant `InvariantViolated`.
"""

from __future__ import annotations

from collections.abc import Mapping

from yaie.kvcache.eviction import EvictionQueue, Rank, RankFunction, make_eviction_policy
from yaie.kvcache.node import Cursor, Node, as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.release import SlotRelease
from yaie.kvcache.slots import OutOfSlots

from .model import Key, Namespace, PrefixModel, prefixes


class Mismatch(AssertionError):
    """The tree and the model differ."""


def require(holds: bool, *what: object) -> None:
    if not holds:
        raise Mismatch(" ".join(map(str, what)))


class WatchedQueue(EvictionQueue):
    """An eviction queue that compares every choice with a search through all leaves.

    A rank is that of the leaf's entry: `adaptive` learns, and ranks a later entry otherwise.
    """

    def __init__(self, rank: RankFunction) -> None:
        super().__init__(rank)
        self._ranks: dict[Node, Rank] = {}

    def add(self, node: Node) -> None:
        super().add(node)
        self._ranks[node] = self.rank(node)

    def rank_again(self) -> None:
        super().rank_again()
        self._ranks = {node: self.rank(node) for node in self}

    def pop(self) -> Node | None:
        ranks = [self._ranks[node] for node in self]
        node = super().pop()
        require((node is None) == (not ranks), "popped", node, "of", len(ranks), "leaves")
        if node is not None:
            require(self._ranks[node] == min(ranks), "evicted", node, "before one of lower rank")
            require(node.refs == 0, "evicted", node, "that a live sequence needs")
            require(node.children is None, "evicted", node, "that has children")
        return node


class Pair:
    """One tree, one model. Paths are bytes, one byte a token."""

    def __init__(
        self,
        num_slots: int,
        policy: str = "lru",
        check_every: int = 1,
        release: SlotRelease | None = None,
    ) -> None:
        eviction = make_eviction_policy(policy, num_slots)
        self.tree = RadixTree(num_slots, eviction, release)
        self.tree.evictable = WatchedQueue(eviction.rank)
        self.model = PrefixModel(num_slots)
        self.cursors: dict[int, Cursor] = {}
        self.num_operations = 0
        self.num_refused = 0
        self._check_every = check_every
        self._next_sequence = 0
        self._evicted_before = 0

    # -- operations -----------------------------------------------------------------------------

    def match(self, namespace: Namespace, path: bytes) -> None:
        known = self.model.num_known(namespace, path)
        computed = self.model.num_computed(namespace, path)
        found = self.tree.match(namespace, as_tokens(path))
        require(found.num_known == known, "match knows", found, "expected", known)
        require(found.num_computed == computed, "match computed", found, "expected", computed)
        self._compare()

    def open(self, namespace: Namespace, path: bytes) -> int | None:
        """Open a sequence and return its number, if it fits."""
        known = self.model.num_known(namespace, path)
        missing = len(path) - known - self.model.num_free
        fits = missing <= 0 or self.model.fits(namespace, path)
        if known < len(path):
            missing += self.tree.allocator.max_in_fragments  # these may stay free
        try:
            tokens = as_tokens(path)
            cursor = self.tree.open(namespace, tokens, self.tree.match(namespace, tokens))
        except OutOfSlots:
            require(not fits, "open found no room, but there is")
            self.num_refused += 1
            self._compare(may_evict=missing)
            return None
        require(fits, "open found room that is not there")
        number = self._next_sequence
        self._next_sequence += 1
        self.cursors[number] = cursor
        self.model.live[number] = (namespace, path)
        self._compare(set(prefixes(namespace, path, known)), may_evict=missing)
        return number

    def fork(self, number: int) -> int:
        """Open a second sequence with the same path; return its number."""
        twin = self._next_sequence
        self._next_sequence += 1
        self.cursors[twin] = self.tree.fork(self.cursors[number])
        self.model.live[twin] = self.model.live[number]
        self._compare()
        return twin

    def append(self, number: int, token: int) -> bool:
        """Append a token; False without room."""
        namespace, path = self.model.live[number]
        grown = path + bytes([token])
        added = {(namespace, grown)} - self.model.held.keys()
        missing = len(added) - self.model.num_free
        fits = missing <= 0 or self.model.fits(namespace, grown)
        if added:
            missing = self.tree.room_to_grow  # evicted at once, for later tokens
        try:
            self.tree.append(self.cursors[number], token)
        except OutOfSlots:
            require(not fits, "append found no room, but there is")
            self.num_refused += 1
            self._compare(may_evict=missing)
            return False
        require(fits, "append found room that is not there")
        self.model.live[number] = (namespace, grown)
        self._compare(added, may_evict=missing)
        return True

    def draft(self, guesses: Mapping[int, tuple[bytes, int]]) -> None:
        """Draft for several sequences, as a step does.

        `guesses`: tokens by number, and how many of them turn out right. Inside an edge the guess
        is the computed tokens that follow, as many as there are guessed ones.
        """
        added: set[Key] = set()
        drafted: list[Cursor] = []
        right: dict[int, bytes] = {}
        for number, (guess, count) in guesses.items():
            cursor = self.cursors[number]
            node, first = cursor.node, cursor.offset
            assert node is not None
            if first < len(node.tokens):
                end = min(first + len(guess), node.num_computed)
                tokens = bytes(node.tokens[first:end].tolist())
            else:
                free = self.tree.num_free
                held = self.tree.draft(cursor, guess)
                require(held in (0, min(len(guess), free)), "drafted", held, "of", len(guess))
                tokens = guess[:held]
                drafted.append(cursor)
            right[number] = tokens[:count]
        for number, tokens in right.items():
            for token in tokens:
                self.tree.append(self.cursors[number], token)
            namespace, path = self.model.live[number]
            self.model.live[number] = namespace, path + tokens
            added.update(prefixes(namespace, path + tokens, len(path)))
        for cursor in drafted:
            self.tree.retract(cursor)
        self._compare(added - self.model.held.keys())

    def mark(self, number: int, position: int) -> None:
        """Mark the first `position` tokens of the sequence as computed, like a step."""
        namespace, path = self.model.live[number]
        for node in self.tree.path(self.cursors[number]):
            if node.start < position:
                self.tree.mark_computed(node, min(len(node.tokens), position - node.start))
        self.model.compute(namespace, path[:position])
        self._compare()

    def close(self, number: int) -> Key:
        """Close the sequence; return its path, to open it again after a preemption."""
        self.tree.close(self.cursors.pop(number))
        path = self.model.live.pop(number)
        self._compare()
        return path

    def evict(self, count: int) -> int:
        free = self.tree.num_free
        freed = self.tree.evict(count)
        gained = self.tree.num_free - free
        self._compare(may_evict=count)
        require(freed == gained, "evict says", freed, "slots, but freed", gained)
        if freed < count:
            require(self.model.held.keys() == self.model.needed(), "evict left more than lives")
        return freed

    def advance(self, num_tokens: int) -> None:
        self.tree.advance(num_tokens)
        self._compare()

    # -- comparison -----------------------------------------------------------------------------

    def _compare(self, added: frozenset[Key] | set[Key] = frozenset(), may_evict: int = 0) -> None:
        """Require the old tokens plus `added`, minus at most `may_evict` computed ones."""
        model = self.model
        self.num_operations += 1
        held, computed = read_tree(self.tree)
        evicted = self.tree.num_evicted_tokens - self._evicted_before
        self._evicted_before = self.tree.num_evicted_tokens
        gone = model.held.keys() - held.keys()
        require(held.keys() - model.held.keys() == added, "wrong tokens were added, not", added)
        if gone:
            require(not gone & model.needed(), "a token of a live sequence is gone")
        num_lost = len(gone & model.computed)
        require(num_lost == evicted, num_lost, "computed tokens lost,", evicted, "evicted")
        require(evicted <= max(0, may_evict), evicted, "evicted, allowed were", may_evict)
        require(computed == model.computed - gone, "other tokens are computed than were")
        for key in held.keys() & model.held.keys():
            require(held[key] == model.held[key], key, "moved to another slot")
        model.held, model.computed = held, computed
        self._compare_slots()
        if self.num_operations % self._check_every == 0:
            self.compare_all()

    def _compare_slots(self) -> None:
        model = self.model
        slots = model.held.values()
        require(len(set(slots)) == len(slots), "two tokens share a slot")
        require(self.tree.num_free == model.num_free, "num_free is", self.tree.num_free)
        for key in model.computed:
            require(model.pool[model.held[key]] == key, key, "was overwritten")
        for key in model.held.keys() - model.computed - model.needed():
            require(model.is_ahead_of_a_live_sequence(key), key, "is kept without being computed")

    def compare_all(self) -> None:
        """Run the tree's audit, and compare facts that only the model has."""
        tree, model = self.tree, self.model
        tree.check()
        for number, cursor in self.cursors.items():
            namespace, path = model.live[number]
            require(bytes(tree.tokens(cursor).tolist()) == path, "a cursor left its path", path)
            require(cursor.position == len(path), "a cursor counts wrongly")
            nodes = tree.path(cursor)
            top = nodes[0].parent if nodes else cursor.node
            require(top is tree.roots[namespace], "a cursor is under another namespace")
        live = [
            (len(node.tokens), node.refs) for namespace, path, node in walk(tree)
            if self._expect_refs(namespace, path, node)
        ]  # fmt: skip
        require(tree.num_live == sum(length for length, _ in live), "num_live is", tree.num_live)
        unneeded = tree.num_slots - len(model.needed())
        available = tree.num_available + tree.count_trimmable()
        require(available == unneeded, "what can be made free is", available)
        require(tree.num_free + tree.num_cached + tree.num_live == tree.num_slots, "counts differ")
        require(set(tree.roots) == {name for name, _ in [*model.held, *model.live.values()]})

    def _expect_refs(self, namespace: Namespace, path: bytes, node: Node) -> int:
        inside = path[: node.start + 1]
        refs = sum(
            owner == namespace and live.startswith(inside)
            for owner, live in self.model.live.values()
        )
        require(node.refs == refs, node, "should have refs", refs)
        return refs


def walk(tree: RadixTree) -> list[tuple[Namespace, bytes, Node]]:
    """Return every node but the roots, with the path to its end."""
    found: list[tuple[Namespace, bytes, Node]] = []
    stack = [(str(namespace), b"", root) for namespace, root in tree.roots.items()]
    while stack:
        namespace, above, node = stack.pop()
        path = above + bytes(node.tokens.tolist())
        if node.parent is not None:
            found.append((namespace, path, node))
        require(len(found) <= tree.num_slots, "the tree has more nodes than slots")
        stack += [(namespace, path, child) for child in (node.children or {}).values()]
    return found


def read_tree(tree: RadixTree) -> tuple[dict[Key, int], set[Key]]:
    """Return the slots of all prefixes in the tree, and the computed prefixes."""
    held: dict[Key, int] = {}
    computed: set[Key] = set()
    for namespace, path, node in walk(tree):
        slots = node.slots().tolist()
        length = len(node.tokens)
        first = len(path) - length
        require(len(slots) == length, node, "has", len(slots), "slots")
        for i in range(length):
            key = (namespace, path[: first + i + 1])
            require(key not in held, key, "is held twice")
            held[key] = slots[i]
            if i < node.num_computed:
                computed.add(key)
    return held, computed
