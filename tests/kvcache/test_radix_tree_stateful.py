"""A state machine: Hypothesis searches for operations on which tree and model differ."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.sizes import IS_WHOLE, large, size

from .fuzz import POLICIES
from .model import Key
from .pair import Pair

paths = st.binary(max_size=12).map(lambda raw: bytes(byte & 1 for byte in raw))
namespaces = st.sampled_from(["", "tenant"])
choices = st.integers(0, 1_000_000)


class TreeAndModel(RuleBasedStateMachine):
    """Every rule ends in a full comparison and `tree.check()` (see `Pair`)."""

    pair: Pair

    def __init__(self) -> None:
        super().__init__()
        self.preempted: list[Key] = []

    @initialize(num_slots=st.integers(1, 24), policy=st.sampled_from(POLICIES))
    def begin(self, num_slots: int, policy: str) -> None:
        self.pair = Pair(num_slots, policy)

    def _pick(self, choice: int) -> int:
        live = sorted(self.pair.model.live)
        return live[choice % len(live)]

    def _held(self, choice: int) -> Key:
        held = sorted(self.pair.model.held)
        return held[choice % len(held)]

    @rule(namespace=namespaces, path=paths)
    def match(self, namespace: str, path: bytes) -> None:
        self.pair.match(namespace, path)

    @rule(namespace=namespaces, path=paths)
    def open(self, namespace: str, path: bytes) -> None:
        self.pair.open(namespace, path)

    @precondition(lambda self: self.pair.model.held)
    @rule(choice=choices, rest=paths)
    def open_after_a_cached_path(self, choice: int, rest: bytes) -> None:
        namespace, path = self._held(choice)
        self.pair.open(namespace, path + rest)

    @precondition(lambda self: self.pair.model.held)
    @rule(choice=choices, rest=paths)
    def open_with_a_divergence(self, choice: int, rest: bytes) -> None:
        namespace, path = self._held(choice)
        other = bytes([path[-1] ^ 1])
        self.pair.open(namespace, path[:-1] + other + rest)

    @precondition(lambda self: self.pair.model.live)
    @rule(choice=choices)
    def fork(self, choice: int) -> None:
        self.pair.fork(self._pick(choice))

    @precondition(lambda self: self.pair.model.live)
    @rule(choice=choices, tokens=paths)
    def append(self, choice: int, tokens: bytes) -> None:
        number = self._pick(choice)
        for token in tokens:
            if not self.pair.append(number, token):
                break

    @rule(drafts=st.lists(st.tuples(paths, st.integers(0, 12)), max_size=4))
    def draft(self, drafts: list[tuple[bytes, int]]) -> None:
        for number, (_, path) in self.pair.model.live.items():
            self.pair.mark(number, len(path))
        self.pair.draft(dict(zip(sorted(self.pair.model.live), drafts, strict=False)))

    @precondition(lambda self: self.pair.model.live)
    @rule(choice=choices, all_but=st.integers(0, 6))
    def mark_computed(self, choice: int, all_but: int) -> None:
        number = self._pick(choice)
        _, path = self.pair.model.live[number]
        self.pair.mark(number, max(0, len(path) - all_but))

    @precondition(lambda self: self.pair.model.live)
    @rule(choice=choices)
    def end(self, choice: int) -> None:
        self.pair.close(self._pick(choice))

    @precondition(lambda self: self.pair.model.live)
    @rule(choice=choices)
    def preempt(self, choice: int) -> None:
        self.preempted.append(self.pair.close(self._pick(choice)))

    @precondition(lambda self: self.preempted)
    @rule()
    def resume(self) -> None:
        self.pair.open(*self.preempted.pop())

    @rule(count=st.integers(0, 30))
    def evict(self, count: int) -> None:
        self.pair.evict(count)

    @rule(num_tokens=st.integers(1, 9))
    def advance(self, num_tokens: int) -> None:
        self.pair.advance(num_tokens)

    def teardown(self) -> None:
        if hasattr(self, "pair"):
            for number in sorted(self.pair.model.live):
                self.pair.close(number)
            self.pair.evict(self.pair.tree.num_slots)
            assert self.pair.tree.num_free == self.pair.tree.num_slots
            assert not self.pair.tree.roots


@large
class TestTreeAndModel(TreeAndModel.TestCase):  # type: ignore[misc]
    """Random operations on the tree and on the model, compared after each."""

    settings = settings(max_examples=size(200), stateful_step_count=60 if IS_WHOLE else 40)
