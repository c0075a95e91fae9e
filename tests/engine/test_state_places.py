"""Places of states: borders of messages, doubling intervals, and rows that chats compute."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.engine.fake_model import Bench, FakeModel, continuation, make_prompt
from tests.sizes import large, size
from yaie.attention.plan import StepPlan
from yaie.engine.scheduled_step import ScheduledStep
from yaie.engine.scheduler import Scheduler
from yaie.engine.step.state_places import find_borders, find_places
from yaie.kvcache.node import Node
from yaie.kvcache.node_states import NO_STATE, STATE_INTERVAL, NodeStates

END = 99  # of a turn
HEADER = (200, 201)


def _prompt(*lengths: int) -> np.ndarray:
    """Return messages of these lengths, each with its end, and the header of an answer."""
    tokens: list[int] = []
    for length in lengths:
        tokens += [*HEADER, *[1] * (length - 3), END]
    return np.array([*tokens, *HEADER], dtype=np.int32)


@pytest.mark.parametrize(
    ("lengths", "borders"),
    [
        ((), ()),
        ((30,), (30,)),
        ((30, 40), (30, 70)),
        ((30, 5, 40), (30, 75)),  # one of two that are near, and always the first
        ((30, 5), (30,)),
        ((30, 10, 10, 10), (30, 60)),  # a run of short ones
        ((30, 10, 10, 10, 10, 10), (30, 50, 80)),
        ((100, 20, 30, 40, 50, 60), (100, 190, 240, 300)),  # the first and the last three
    ],
)
def test_borders_of_the_system_prompt_and_of_the_last_messages(
    lengths: tuple[int, ...], borders: tuple[int, ...]
) -> None:
    assert find_borders(_prompt(*lengths), [END, 98]) == borders
    assert find_borders(_prompt(*lengths), []) == ()


def test_a_border_replaces_the_end_of_a_prompt_just_behind_it() -> None:
    path = [_node(0, 700)]
    assert _places(path, 0, 700, borders=(100, 698)) == ({100, 698}, {512})
    assert _places(path, 0, 700, borders=(100,)) == ({100, 699}, {512})
    assert _places(path, 90, 600, above=90, borders=(100, 698)) == ({90}, {512})


def test_a_branch_replaces_a_border_just_before_it() -> None:
    path = [_node(0, 103), _node(103, 600)]
    path[0].children = {1: path[1], 2: _node(103, 50)}
    assert _places(path, 0, 400, borders=(100, 698)) == ({103}, set())
    assert _places(path, 0, 101, borders=(100, 698)) == (set(), set())  # comes with the next step


def test_a_state_just_before_a_branch_is_among_those_it_serves() -> None:
    path = [_node(0, 515), _node(515, 185)]
    assert _places(path, 512, 600, above=512, borders=()) == (set(), set())
    path[0].children = {1: path[1], 2: _node(515, 50)}
    assert _places(path, 512, 600, above=512, borders=()) == ({512}, set())
    assert _places(path, 512, 600, above=400, borders=()) == ({515}, set())


def _node(start: int, length: int) -> Node:
    node = Node(None, start)
    node.tokens.extend([1] * length)
    node.num_computed = length
    return node


def _places(
    path: list[Node], first: int, end: int, *, borders: tuple[int, ...], above: int = 0
) -> tuple[set[int], set[int]]:
    return find_places(path, first, end, above=above, num_prompt=700, borders=borders)


def test_the_distances_of_states_at_intervals_double() -> None:
    """A long prompt in few states keeps them behind its end, and the rest of the states."""
    states = NodeStates(20)
    root, count = Node(None, 0), 64
    node = _node(0, count * STATE_INTERVAL)
    node.parent = root
    states.keep(node, 100, states.take())  # the end of a system prompt
    for number in range(1, count + 1):
        states.keep(node, number * STATE_INTERVAL, states.take(), is_spaced=True)
        states.check([node])
    held = sorted(offset for _, offset, _ in states.checkpoints())
    assert len(held) == 20 and held[0] == 100
    gaps = [count - offset // STATE_INTERVAL for offset in held[1:]]
    for distance in (1, 2, 4, 8, 16):
        assert any(distance <= gap <= 2 * distance for gap in gaps), gaps
    states.clear()
    assert states.num_used == 0


def test_a_state_at_an_interval_that_a_branch_wants_is_not_evicted_as_surplus() -> None:
    bench = _Chats(100)
    shared, place = make_prompt(0, 5_000)[:1_540], 3 * STATE_INTERVAL
    bench.add("long", [*shared, *[9] * 4_000], max_new=1)
    bench.run()
    states = bench.tree.states
    assert states is not None
    assert len(states._surplus) > 1
    bench.add("other", [*shared, *[8] * 4_000], max_new=1)
    bench.run()
    assert bench.requests["other"].num_cached == place
    while states._surplus:
        states._evict()
    assert place in {node.start + offset for node, offset, _ in states.checkpoints()}


def test_surplus_states_stay_while_there_is_room() -> None:
    states = NodeStates(100)
    node = _node(0, 64 * STATE_INTERVAL)
    node.parent = Node(None, 0)
    for number in range(1, 65):
        states.keep(node, number * STATE_INTERVAL, states.take(), is_spaced=True)
    assert len(states) == 64 and not states.num_evicted


def test_the_state_that_saves_few_rows_is_evicted_before_one_that_saves_many() -> None:
    states = NodeStates(3)
    node = _node(0, 1_030)
    node.parent = Node(None, 0)
    other = _node(0, 40)
    other.parent = node.parent
    for place in ((node, 1_000), (node, 1_030), (other, 40)):
        states.keep(*place, states.take())
    order = []
    while len(states):
        before = {(node, offset) for node, offset, _ in states.checkpoints()}
        assert states._evict()
        after = {(node, offset) for node, offset, _ in states.checkpoints()}
        order += [offset for _, offset in before - after]
    assert order == [1_030, 40, 1_000]
    assert states.take() != NO_STATE


def test_the_last_state_of_a_chat_outlives_old_states_inside_another() -> None:
    """The states of earlier turns lose their worth when later ones are kept."""
    states = NodeStates(5)
    root = Node(None, 0)
    chat, other = _node(0, 4_000), _node(0, 600)
    chat.parent = other.parent = root
    for offset in (1_000, 2_000):
        states.keep(chat, offset, states.take())
    states.keep(other, 600, states.take())
    for offset in (3_000, 4_000):
        states.keep(chat, offset, states.take())
    assert states._evict() and states._evict()
    assert {(node, offset) for node, offset, _ in states.checkpoints()} == {
        (chat, 3_000),
        (chat, 4_000),
        (other, 600),
    }


class _PlainOrder(NodeStates):
    """Node states that compare all ranks at each eviction."""

    def _find_lowest(self) -> int:
        while alone := [slot for slot in self._places if self._holders[slot] == 1]:
            lowest = min(alone, key=self._ranks.__getitem__)
            before, self._ranks[lowest] = self._ranks[lowest], self._rank(lowest)
            if self._ranks[lowest] <= before:
                return lowest
        return NO_STATE


@large
def test_states_are_evicted_in_the_order_of_all_ranks() -> None:
    """Held ones stay."""
    root = Node(None, 0)
    nodes = [_node(0, 2_000) for _ in range(6)]
    for node in nodes:
        node.parent = root
        nodes += [_node(2_000, 500)] if len(nodes) < 9 else []
    for node in nodes[6:]:
        node.parent = nodes[0]
    nodes[0].children = dict(enumerate(nodes[6:]))
    found = []
    for kind in (NodeStates, _PlainOrder):
        rng = random.Random(0)
        states = kind(40)
        held: list[int] = []
        log: list[set[tuple[int, int]]] = []
        for _ in range(size(5_000)):
            node = rng.choice(nodes)
            states.keep(node, rng.randrange(1, len(node)), states.take())
            slot = rng.choice(list(states._places))
            if rng.random() < 0.2:
                states.hold(slot)
                held.append(slot)
            elif rng.random() < 0.5:
                states.note_use(slot)
            if len(held) > 5:
                states.release(held.pop(rng.randrange(6)))
            log.append({(nodes.index(at), offset) for at, offset, _ in states.checkpoints()})
        assert states.num_evicted > len(log) // 2
        found.append(log)
        if kind is NodeStates:
            states.check(nodes)
    assert found[0] == found[1]


class _LastRows(FakeModel):
    """A fake model that reads the prefixes of sampled rows only."""

    def compute(self, plan: StepPlan) -> tuple[list[list[int]], list[list[int]]]:
        self.tokens[plan.slots[plan.written_rows]] = plan.token_ids[plan.written_rows]
        return [self._read(plan, row) for row in plan.logit_rows.tolist()], []


class _Chats(Bench):
    """Chats over one system prompt, a few at a time, in any order."""

    def __init__(self, num_states: int, num_slots: int = 20_000) -> None:
        super().__init__(num_slots=num_slots)
        self.model = _LastRows(num_slots)
        self.scheduler = Scheduler(  # type: ignore[assignment]
            self.tree,
            clock=lambda: self.now,
            max_step_rows=256,
            max_running=6,
            num_states=num_states,
            turn_ends=(END,),
        )

    def check(self) -> None:
        pass

    def step(self) -> ScheduledStep | None:
        step = self.scheduler.schedule()
        if step is not None:
            prefixes, _ = self.model.compute(step.plan)
            tasks = step.sample_tasks
            self._take(
                self.scheduler.update(
                    step, [self._sample(task, step, prefixes[task.logit_row]) for task in tasks]
                )
            )
        return step

    def run_chats(
        self, *, count: int, turns: int, system: int, drops: bool, user: tuple[int, int]
    ) -> int:
        """Run all turns; return the computed rows.

        `drops`: half of an answer is not sent back. `user`: tokens of a user's message.
        """
        rng = random.Random(count)
        start = [*HEADER, *self._text(rng, system), END, *HEADER]
        chats = [(number, 0, start) for number in range(count)]
        while chats:
            number, turn, history = chats.pop(rng.randrange(min(6, len(chats))))
            prompt = [*history, *self._text(rng, rng.randint(*user)), END, *HEADER]
            name, new = f"{number}-{turn}", rng.randint(10, 60)
            self.add(name, prompt, max_new=new)
            for _ in range(rng.choice([0, 1])):
                self.step()
            while rng.random() < 0.8 and self.step():
                pass
            answer = continuation(prompt, new)
            kept = answer[new // 2 :] if drops else answer
            if turn + 1 < turns:
                chats.insert(0, (number, turn + 1, [*prompt, *kept, END, *HEADER]))
        self.run()
        self.expect_all()
        return self.scheduler.stats.rows_computed

    @staticmethod
    def _text(rng: random.Random, count: int) -> list[int]:
        return [100 + rng.randrange(50) for _ in range(count)]


def test_a_new_chat_resumes_at_the_end_of_the_system_prompt_before_a_short_message() -> None:
    bench = _Chats(100)
    system = [*HEADER, *[1] * 397, END]
    for name, text in (("first", [7] * 5), ("second", [8] * 5)):
        bench.add(name, [*system, *HEADER, *text, END, *HEADER], max_new=4)
        bench.run()
    assert bench.requests["second"].num_cached == len(system)


@large
@pytest.mark.parametrize(("shared", "own"), [(1_600, 600), (1_500, 700)])
def test_all_prompts_but_the_first_resume(shared: int, own: int) -> None:
    """The second one at an interval, later ones where they part."""
    bench = _Chats(400, num_slots=60_000)
    for number in range(size(64)):
        bench.add(f"r{number}", make_prompt(number, shared + own, shared=shared), max_new=1)
        bench.run()
    cached = [request.num_cached for request in bench.requests.values()]
    assert cached == [0, shared // STATE_INTERVAL * STATE_INTERVAL, *[shared] * (len(cached) - 2)]


@large
@pytest.mark.parametrize("user", [(20, 120), (3, 12)])
@pytest.mark.parametrize("drops", [False, True])
def test_chats_over_one_system_prompt_compute_little_more_than_without_states(
    drops: bool, user: tuple[int, int]
) -> None:
    """With eight states for each running sequence, at most 1.12 times the rows."""
    workload: dict[str, Any] = {
        "count": size(50),
        "turns": 5,
        "system": 400,
        "drops": drops,
        "user": user,
    }
    best = _Chats(0).run_chats(**workload)
    assert _Chats(48).run_chats(**workload) <= 1.12 * best
