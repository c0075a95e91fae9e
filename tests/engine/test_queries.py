"""Queries to the engine core: causes, times of evictions, and a flush between steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engine.asking import Answers, MakeCore, ask, run, tokens_of
from tests.kvcache.block_consumer import BlockConsumer
from yaie.base.cache_changes import unpack_names
from yaie.base.errors import InvalidRequest
from yaie.base.queries import (
    Blocks,
    Branches,
    CacheDescription,
    DescribeCache,
    ExplainPrompt,
    Explanation,
    FlushCache,
    Flushed,
    ListBlocks,
    ListBranches,
)
from yaie.engine.query_answers import ClockTimes
from yaie.kvcache.block_names import block_names, root_name, routing_names
from yaie.kvcache.namespaces import namespace_of
from yaie.kvcache.node import as_tokens

pytestmark = pytest.mark.usefixtures("one_thread")


def explained(core, prompt, **fields) -> Explanation:
    found = core.answer(ExplainPrompt(token_ids=prompt, **fields))
    assert isinstance(found, Explanation)
    return found


def test_owners_and_salts_share_no_token(make_core: MakeCore) -> None:
    core = make_core()
    prompt = tokens_of(0, 60)
    request = ask("a", prompt)
    run(core, replace(request, owner="one"))
    others = [
        replace(request, request_id="b", owner="two"),
        replace(request, request_id="c"),
        replace(request, request_id="d", owner="one", cache_salt="s"),
        replace(request, request_id="e", cache_salt="one"),
    ]
    for other in others:
        assert run(core, other).last(other.request_id).num_cached_tokens == 0
    again = run(core, replace(request, request_id="f", owner="one"))
    assert again.last("f").num_cached_tokens == 59
    assert explained(core, prompt, owner="three").cause == "never_seen"
    told = explained(core, prompt, owner="two", cache_salt="t", names_salts=True)
    assert told.cause == "other_namespace"


def test_misses_are_counted_by_cause(make_core: MakeCore) -> None:
    core = make_core()

    def missed(name: str, prompt: tuple[int, ...]) -> tuple[int, int, int]:
        before = core.stats
        run(core, ask(name, prompt))
        grown = core.stats.since(before)
        return (grown.missed_new_tokens, grown.missed_changed_tokens, grown.missed_evicted_tokens)

    prefix, rest = tokens_of(5, 64), tokens_of(6, 400)
    assert missed("first", (*prefix, 5, *rest)) == (465, 0, 0)
    assert missed("changed", (*prefix, 6, *rest)) == (0, 401, 0)
    core.answer(FlushCache())
    new, changed, evicted = missed("again", (*prefix, 6, *rest))
    assert evicted >= 448
    assert (new + evicted, changed) == (465, 0)


def test_the_life_of_a_prompt_is_explained(make_core: MakeCore) -> None:
    core = make_core()
    prompt = tokens_of(1, 80)
    assert explained(core, prompt).cause == "never_seen"
    core.add(ask("a", prompt, max_tokens=4))
    assert explained(core, prompt).cause == "never_seen"  # it still waits
    answers = Answers()
    answers.take(core.step())
    assert explained(core, prompt).num_held == 80
    flushed = core.answer(FlushCache())
    assert isinstance(flushed, Flushed) and flushed.num_kept_tokens >= 80  # a sequence runs on it
    while core.has_work:
        answers.take(core.step())
    assert explained(core, prompt).cause is None
    core.answer(FlushCache())
    found = explained(core, prompt)
    assert found.cause == "evicted" and found.eviction is not None
    assert (found.eviction.num_tokens, found.eviction.reason) == (80, "flushed")
    assert found.eviction.age_s is not None and found.eviction.age_s >= 0
    description = core.answer(DescribeCache())
    assert isinstance(description, CacheDescription)
    assert description.num_free == description.num_slots
    core.check()


def test_a_prompt_computed_in_pieces_is_not_computed_yet(make_core: MakeCore) -> None:
    core = make_core(max_step_rows=32)
    prompt = tokens_of(2, 200)
    core.add(ask("a", prompt))
    core.step()
    found = explained(core, prompt)
    assert (found.cause, found.num_known) == ("not_computed_yet", 200)
    assert 0 < found.num_held <= 64
    while core.has_work:
        core.step()


def test_flushes_between_steps_change_no_answer(make_core: MakeCore) -> None:
    prompts = [(*tokens_of(3, 40), *tokens_of(10 + i, 10)) for i in range(4)]
    requests = [ask(f"r{i}", prompt, n=2, max_tokens=12) for i, prompt in enumerate(prompts)]
    expected = run(make_core(audit=True), *requests)
    core, got = make_core(audit=True), Answers()
    for request in requests:
        core.add(request)
        got.take(core.step())
        core.answer(FlushCache())
        core.check()
    while core.has_work:
        got.take(core.step())
        core.answer(FlushCache())
        core.check()
    for key in expected.deltas:
        assert got.tokens(*key) == expected.tokens(*key)


def test_the_branches_of_a_namespace(make_core: MakeCore) -> None:
    core = make_core()
    stem = tokens_of(4, 50)
    run(core, *(ask(f"r{i}", (*stem, 5 + i, 9, 9), max_tokens=1) for i in range(3)))
    found = core.answer(ListBranches(num_shown=5))
    assert isinstance(found, Branches) and found.is_complete
    first, *leaves = found.branches
    assert (first.token_ids, first.num_tokens, first.num_tokens_below) == (stem[:5], 50, 9)
    assert sorted(leaf.token_ids[0] for leaf in leaves) == [5, 6, 7]
    assert all((leaf.start, leaf.depth, leaf.num_live) == (50, 1, 0) for leaf in leaves)


def test_times_of_the_clock() -> None:
    times = ClockTimes()
    assert times.age_s(5, 100.0) is None
    for clock, now in ((10, 100.0), (15, 100.5), (20, 101.0), (40, 102.5)):
        times.note(clock, now)
    assert times.age_s(9, 110.0) is None
    assert times.age_s(10, 110.0) == 10.0
    assert times.age_s(19, 110.0) == 10.0  # noted once a second
    assert times.age_s(39, 110.0) == 9.0
    assert times.age_s(99, 110.0) == 7.5


def test_blocks_are_listed_under_names_that_replicas_share(make_core: MakeCore) -> None:
    core = make_core(cache_events="names", served_model_name="chat")
    prompt = tokens_of(3, 60)
    run(core, replace(ask("a", prompt), owner="one", cache_salt="s"))
    listed = core.answer(ListBlocks())
    assert isinstance(listed, Blocks)
    root = root_name("chat", namespace_of("one", "s"))
    assert unpack_names(listed.names)[:3] == routing_names(as_tokens(prompt), root)
    assert (listed.num_omitted, listed.block_size) == (0, 16)
    assert core.take_cache_changes() == ()  # names only


@pytest.mark.parametrize(("setting", "salts"), [("unsalted", {""}), ("all", {"", "s"})])
def test_changes_of_salted_namespaces_are_kept_only_if_asked_for(
    make_core: MakeCore, setting: str, salts: set[str]
) -> None:
    core = make_core(cache_events=setting, kv_block_size=8)
    consumer = BlockConsumer()
    for salt in ("", "s"):
        run(core, replace(ask(f"id-{salt}", tokens_of(4, 20)), owner="one", cache_salt=salt))
        consumer.take(core.take_cache_changes())
    roots = [root_name(core._config.model, namespace_of("one", salt)) for salt in salts]
    prompts = [block_names(as_tokens(tokens_of(4, 20)), root, 8) for root in roots]
    assert {name for names in prompts for name in names} <= consumer.parents.keys()
    assert len(consumer.parents) == 3 * len(salts)  # 25 of 26 tokens are computed
    core.answer(FlushCache())
    consumer.take(core.take_cache_changes())
    assert not consumer.parents


def test_a_list_of_blocks_needs_its_setting(make_core: MakeCore) -> None:
    with pytest.raises(InvalidRequest, match="--cache-events names"):
        make_core().answer(ListBlocks())
