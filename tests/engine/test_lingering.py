"""Ended turns keep their conversation in the pool until the next turn can arrive."""

from __future__ import annotations

from tests.engine.fake_model import Bench, continuation
from tests.engine.fake_model import make_prompt as prompt
from yaie.engine.queue.turn_grace import LINGER_S, Lingering
from yaie.kvcache.node import as_tokens
from yaie.kvcache.radix_tree import RadixTree

TURN = prompt(1, 40)  # the model stops after six tokens
ANSWER = continuation(TURN, 12, stops=True)
NEXT_TURN = [*TURN, *ANSWER, 50, 51, 52]


def make_bench(num_slots: int = 142) -> Bench:
    return Bench(num_slots=num_slots, max_step_rows=128)


def end_a_turn(bench: Bench) -> None:
    """Serve a turn beside a long answer, while a prompt waits that needs its slots."""
    bench.add("answer", prompt(2, 20), max_new=40)
    bench.add("turn", TURN, max_new=12, stops=True)
    bench.step()
    bench.add("waiting", prompt(3, 80), max_new=2)
    while bench.answers["turn", 0].last is None:
        bench.step()
    assert "waiting" in bench.scheduler
    assert not bench.answers["waiting", 0].tokens


def cached_tokens(bench: Bench, name: str) -> int:
    while bench.answers[name, 0].last is None:
        bench.step()
    answer = bench.answers[name, 0].last
    assert answer is not None
    return answer.num_cached_tokens


def test_a_conversation_outlives_the_step_after_its_turn() -> None:
    bench = make_bench()
    end_a_turn(bench)
    bench.step()  # would serve the waiting prompt in the slots of the conversation
    bench.add("next", NEXT_TURN, max_new=2)
    assert cached_tokens(bench, "next") == len(TURN) + len(ANSWER) - 1
    bench.run()
    bench.expect_all()


def test_a_turn_lingers_for_its_time_and_at_least_a_step() -> None:
    bench = make_bench()
    end_a_turn(bench)
    assert len(bench.scheduler.lingering) == 1
    bench.now += 2 * LINGER_S
    bench.step()
    assert len(bench.scheduler.lingering) == 1
    bench.step()
    assert len(bench.scheduler.lingering) == 0

    bench = make_bench()
    end_a_turn(bench)
    for _ in range(3):
        bench.step()
    assert len(bench.scheduler.lingering) == 1
    bench.now += LINGER_S
    bench.step()
    assert len(bench.scheduler.lingering) == 0


def test_a_cut_answer_and_an_abort_do_not_linger() -> None:
    bench = make_bench()
    bench.add("answer", prompt(2, 20), max_new=40)
    bench.add("cut", TURN, max_new=2, stops=True)
    bench.add("aborted", NEXT_TURN, max_new=9)
    bench.step()
    bench.step()
    bench.abort("aborted")
    assert not bench.scheduler.waiting
    assert len(bench.scheduler.running) == 1
    assert len(bench.scheduler.lingering) == 0


def test_a_lingering_turn_yields_to_growth() -> None:
    bench = make_bench(num_slots=20 + len(TURN) + len(ANSWER) + 14)
    bench.add("turn", TURN, max_new=12, stops=True)
    bench.add("answer", prompt(2, 20), max_new=40)
    bench.run()
    assert bench.scheduler.stats.num_preemptions == 0
    bench.expect_all()


def test_the_engine_does_not_stand_still_for_a_caller() -> None:
    bench = make_bench(num_slots=100)
    bench.add("turn", TURN, max_new=12, stops=True)
    bench.step()
    bench.add("waiting", prompt(3, 80), max_new=2)
    while bench.answers["turn", 0].last is None:
        bench.step()
    assert len(bench.scheduler.lingering) == 1
    bench.step()
    assert bench.answers["waiting", 0].tokens
    assert len(bench.scheduler.lingering) == 0


def test_an_idle_engine_pins_nothing() -> None:
    bench = make_bench()
    bench.add("turn", TURN, max_new=12, stops=True)
    bench.run()
    assert bench.answers["turn", 0].tokens == ANSWER
    assert len(bench.scheduler.lingering) == 0
    assert bench.tree.num_live == 0


def test_lingering_turns_yield_to_suspended_sequences() -> None:
    tree = RadixTree(20)
    lingering = Lingering(tree, clock=lambda: 0.0)
    for first in (1, 2):
        lingering.hold(tree.open("", as_tokens([first, 5, 6])))
    lingering.begin_step(yields=False)
    assert len(lingering) == 2
    lingering.begin_step(yields=True)
    assert len(lingering) == 0
    assert tree.num_live == 0


def test_a_tenant_with_less_service_takes_lingering_slots_before_running_ones() -> None:
    bench = Bench(num_slots=215, max_step_rows=64)
    bench.add("turn", TURN, max_new=12, stops=True, tenant="flood")
    for number in range(3):
        bench.add(f"flood {number}", prompt(10 + number, 8), max_new=40, tenant="flood")
    bench.step()
    while bench.answers["turn", 0].last is None:
        bench.step()
    bench.add("polite", prompt(5, 60), max_new=2, tenant="polite")
    bench.step()
    assert bench.answers["polite", 0].tokens
    assert bench.scheduler.stats.num_preemptions == 0
    assert len(bench.scheduler.lingering) == 0
