"""Beginnings of later prompts: computed in idle moments, and never at the cost of others."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tests.engine.asking import MakeCore, ask, run, spent, tokens_of
from tests.engine.watched_executor import Execute
from yaie.attention.plan import StepPlan
from yaie.base.types import ExpectedPrompt
from yaie.engine import prefill_ahead
from yaie.engine.core import EngineCore


@pytest.fixture(autouse=True)
def one(one_thread: None) -> None:
    """Run on one thread."""


def expect(core: EngineCore, *prompts: tuple[int, ...], salt: str = "") -> None:
    for prompt in prompts:
        core.expect(ExpectedPrompt(token_ids=prompt, cache_salt=salt))


def idle(core: EngineCore) -> int:
    """Use all idle moments; return their number."""
    return sum(1 for _ in iter(core.use_idle_moment, False))


def cached(core: EngineCore, prompt: tuple[int, ...], salt: str = "") -> int:
    """Return the cached tokens of a request with this prompt."""
    core.add(replace(ask("probe", prompt, max_tokens=1), cache_salt=salt))
    (delta,) = core.step()
    return delta.num_cached_tokens


def test_an_expected_prompt_is_cached_when_it_comes(make_core: MakeCore) -> None:
    core, prompt = make_core(), tokens_of(1, 300)
    expect(core, prompt)
    assert not core.has_work
    assert core.stats.num_expected_prompts == 1
    idle(core)
    stats = core.stats
    assert (stats.num_expected_prompts, stats.num_live_slots) == (0, 0)
    assert (stats.idle_rows_computed, stats.rows_computed, stats.prompt_tokens) == (300, 0, 0)
    assert cached(core, (*prompt, 7)) == 300


def test_only_the_tokens_that_differ_are_computed(make_core: MakeCore) -> None:
    core, prompt = make_core(), tokens_of(1, 100)
    said = run(core, ask("a", prompt, max_tokens=20)).tokens("a")
    before = core.stats
    conversation = (*prompt, *said[:12], *tokens_of(2, 9))
    expect(core, conversation, conversation)
    idle(core)
    assert spent(core, before).idle_rows_computed == 9
    assert cached(core, (*conversation, 7)) == len(conversation)


def test_answers_are_the_same_with_and_without(make_core: MakeCore) -> None:
    prompt = tokens_of(3, 200)
    cold = run(make_core(), ask("a", prompt)).tokens("a")
    core = make_core()
    expect(core, prompt[:170])
    idle(core)
    assert run(core, ask("a", prompt)).tokens("a") == cold


def test_work_interrupts_and_the_computed_part_counts(make_core: MakeCore) -> None:
    core, prompt = make_core(), tokens_of(1, 400)
    expect(core, prompt)
    assert core.use_idle_moment()
    num_done = core.stats.idle_rows_computed
    assert 0 < num_done < 400
    core.add(ask("other", tokens_of(9, 5), max_tokens=1))
    assert core.step()
    assert core.stats.num_live_slots == 0  # neither holds a token
    assert cached(core, prompt) == num_done
    idle(core)
    assert core.stats.num_expected_prompts == 0


def test_nothing_in_use_is_evicted(make_core: MakeCore) -> None:
    core = make_core(num_slots=256)
    running = tokens_of(4, 100)
    core.add(ask("a", running, max_tokens=40))
    core.step()
    expect(core, tokens_of(5, 150))
    while core.has_work:
        core.step()
    run(core, ask("b", tokens_of(6, 110), max_tokens=1))
    before = core.stats
    assert before.num_free_slots < 150
    idle(core)  # would have to evict for more than a 16th of the pool
    after = spent(core, before)
    assert (after.num_dropped_prompts, after.num_evicted_tokens) == (1, 0)
    expect(core, (*running, *tokens_of(7, 12)))
    idle(core)
    assert spent(core, before).idle_rows_computed == 12
    core.check()


def test_a_pool_full_of_live_tokens_drops_the_prompt(make_core: MakeCore) -> None:
    core = make_core(num_slots=64)
    core.add(ask("a", tokens_of(4, 50), max_tokens=3))
    core.step()
    expect(core, tokens_of(5, 30))
    assert core.use_idle_moment()
    assert core.stats.num_dropped_prompts == 1
    while core.has_work:
        core.step()


def test_the_oldest_of_too_many_is_dropped(make_core: MakeCore) -> None:
    core = make_core()
    prompts = [tokens_of(seed, 8) for seed in range(prefill_ahead.MAX_WAITING + 3)]
    expect(core, *prompts)
    assert core.stats.num_expected_prompts == prefill_ahead.MAX_WAITING
    assert core.stats.num_dropped_prompts == 3
    idle(core)
    assert cached(core, (*prompts[-1], 9)) == 8
    assert cached(core, (*prompts[0], 9)) < 8


@pytest.mark.parametrize("ids", [(), (-1, 5), (5, 10**6), tuple(range(3, 400)) * 40])
def test_an_invalid_prompt_is_ignored(make_core: MakeCore, ids: tuple[int, ...]) -> None:
    core = make_core()
    expect(core, ids)
    assert core.stats.num_expected_prompts == 0


def test_namespaces_are_kept_apart(make_core: MakeCore) -> None:
    core, prompt = make_core(), tokens_of(1, 30)
    expect(core, prompt, salt="one")
    idle(core)
    assert cached(core, (*prompt, 7)) == 0
    assert cached(core, (*prompt, 7), salt="one") == 30


def test_without_a_prefix_cache_nothing_is_computed(make_core: MakeCore) -> None:
    core = make_core(prefix_cache=False)
    expect(core, tokens_of(1, 30))
    assert core.stats.num_expected_prompts == 0


def test_a_fault_drops_the_prompt_and_the_engine_goes_on(make_core: MakeCore) -> None:
    def fails(plan: StepPlan, compute: Execute) -> torch.Tensor:
        if not plan.logit_rows.size:
            raise RuntimeError("out of memory")
        return compute(plan)

    core = make_core(fails)
    expect(core, tokens_of(1, 30))
    idle(core)
    assert core.stats.num_dropped_prompts == 1
    assert core.stats.num_live_slots == 0
    assert run(core, ask("a", tokens_of(1, 30))).last("a").finish_reason == "length"
    core.check()


def test_eviction_does_not_learn_from_it(make_core: MakeCore) -> None:
    """An expected prompt is not counted as a use of the tokens before it."""
    core, prompt = make_core(), tokens_of(1, 50)
    run(core, ask("a", prompt, max_tokens=1))
    uses = [node.uses for node in core.scheduler.tree.nodes()]
    expect(core, (*prompt, *tokens_of(2, 5)))
    idle(core)
    assert sorted(node.uses for node in core.scheduler.tree.nodes())[-1] == max(uses)


@pytest.mark.parametrize("seed", range(3))
def test_random_chats_between_other_requests(make_core: MakeCore, seed: int) -> None:
    """Answers equal those of an engine without expected prompts; the tree is audited throughout."""
    rng = random.Random(seed)
    core, plain = make_core(num_slots=700, max_step_rows=64), make_core(num_slots=4096)
    chats = [tokens_of(100 + each, 20) for each in range(4)]
    for turn in range(12):
        at = rng.randrange(4)
        prompt = (*chats[at], *tokens_of(1000 * seed + turn, rng.randint(1, 12)))
        core.add(ask(f"{turn}", prompt, max_tokens=rng.randint(1, 9)))
        answer = []
        while core.has_work:
            if rng.random() < 0.2:  # as if the worker thought that it is idle
                expect(core, tokens_of(rng.randrange(5), rng.randint(1, 60)))
            answer += [token for delta in core.step() for token in delta.token_ids]
        wanted = run(plain, ask(f"{turn}", prompt, max_tokens=len(answer))).tokens(f"{turn}")
        assert answer == wanted
        kept = answer[: rng.randint(0, len(answer))]
        chats[at] = (*prompt, *kept, *tokens_of(turn, rng.randint(0, 5)))[:200]
        expect(core, chats[at])
        for _ in range(rng.randint(0, 6)):
            core.use_idle_moment()
    idle(core)
    assert core.stats.num_live_slots == 0
    core.check()


@pytest.mark.parametrize(
    ("seconds", "rows"),
    [
        (lambda rows: 0.0001 * rows, 64),  # 6.4 ms: twice as many would take over 10 ms
        (lambda rows: 0.03 + 0.001 * rows, 32),  # 62 ms: over half of three single rows
        (lambda rows: 0.0, 2048),
    ],
)
def test_steps_are_as_long_as_their_time_allows(
    make_core: MakeCore, seconds: Callable[[int], float], rows: int
) -> None:
    expected = make_core(max_step_rows=2048)._expected
    for _ in range(20):
        expected._adapt(expected._rows, seconds(expected._rows))
    assert expected._rows == rows


def test_tokens_that_a_prompt_replaces_are_evicted_first(make_core: MakeCore) -> None:
    core, prompt = make_core(num_slots=256, eviction="lru"), tokens_of(1, 40)
    older = tokens_of(8, 40)
    run(core, ask("older", older, max_tokens=1))
    said = run(core, ask("a", prompt, max_tokens=30)).tokens("a")
    conversation = (*prompt, *said[20:], *tokens_of(2, 9))  # without the reasoning
    generated = (*prompt, *said)
    core.expect(ExpectedPrompt(token_ids=conversation, replaces=generated, num_kept=len(prompt)))
    idle(core)
    core.scheduler.tree.evict(20)
    assert cached(core, (*conversation, 7)) == len(conversation)
    assert cached(core, (*older, 7)) == len(older)
    assert cached(core, (*generated, 7)) < len(generated) - 10
    core.check()


def test_a_replaced_turn_that_is_used_again_counts_as_others_do(make_core: MakeCore) -> None:
    core, prompt = make_core(num_slots=256, eviction="lru"), tokens_of(1, 40)
    generated = (*prompt, *run(core, ask("a", prompt, max_tokens=20)).tokens("a"))
    new = (*prompt, *tokens_of(2, 9))
    core.expect(ExpectedPrompt(token_ids=new, replaces=generated, num_kept=len(prompt)))
    idle(core)
    assert cached(core, (*generated, 7)) >= len(generated) - 1
    core.scheduler.tree.evict(9)
    assert cached(core, (*generated, 7)) >= len(generated) - 1
