"""Room in a full queue: for a tenant with less in it than others, at their cost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.asking import Answers, MakeCore, ask, tokens_of
from yaie.base.errors import InvalidRequest, Overloaded
from yaie.base.settings import EngineConfig
from yaie.base.tenants import BATCHES
from yaie.base.types import GenerationRequest, Grammar
from yaie.engine.core import EngineCore
from yaie.engine.grammar import compile_pool
from yaie.engine.queue.queue_limits import Backlog
from yaie.engine.queue.tenant_queues import TenantQueues, _Queue
from yaie.engine.request import Request

from .fake_model import FakeSampling


def add(core: EngineCore, name: str, tenant: str, length: int = 20, **sampling: object) -> None:
    request = ask(name, tokens_of(hash(name) % 1000, length), **sampling)  # type: ignore[arg-type]
    core.add(replace(request, tenant=tenant))


def finish(core: EngineCore) -> Answers:
    answers = Answers()
    while core.has_work:
        answers.take(core.step())
    return answers


def test_a_tenant_that_fills_the_queue_keeps_nobody_out(make_core: MakeCore) -> None:
    core = make_core(max_waiting=4, max_running=1)
    for number in range(5):  # one more than may wait: the next step has a place
        add(core, f"ada {number}", "ada")
    for number in range(2):
        add(core, f"bob {number}", "bob")
    with pytest.raises(Overloaded):  # each has half of the queue
        add(core, "bob 2", "bob")
    with pytest.raises(Overloaded):
        add(core, "ada 5", "ada")
    answers = finish(core)
    for name in ("ada 4", "ada 3"):
        error = answers.last(name).error
        assert error is not None
        assert (error.status, error.code) == (429, "overloaded")
        assert "other tenants have fewer requests in it" in error.message
        assert error.retry_after_s
    for name in ("ada 0", "ada 1", "ada 2", "bob 0", "bob 1"):
        assert len(answers.tokens(name)) == 6
    assert core.stats.num_waiting == core.stats.num_waiting_tokens == 0


def test_a_bad_request_displaces_nothing(make_core: MakeCore) -> None:
    core = make_core(max_waiting=1, max_running=1)
    for number in range(2):
        add(core, f"ada {number}", "ada")
    with pytest.raises(InvalidRequest):
        add(core, "bob", "bob", n=5)
    answers = finish(core)
    assert all(len(answers.tokens(f"ada {number}")) == 6 for number in range(2))


def test_a_request_without_a_grammar_displaces_nothing(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its grammar is wrong, or too many grammars are being compiled."""
    core = make_core(max_waiting=2, max_running=1)
    for number in range(3):
        add(core, f"ada {number}", "ada")
    bob = replace(ask("bob", tokens_of(5, 20)), tenant="bob")
    core.add(replace(bob, grammar=Grammar.regex("(")))
    with monkeypatch.context() as patched:
        patched.setattr(compile_pool, "MAX_PENDING", 0)
        with pytest.raises(Overloaded, match="grammars"):
            core.add(replace(bob, request_id="bob 2", grammar=Grammar.regex("b+")))
    answers = finish(core)
    error = answers.last("bob").error
    assert error is not None
    assert error.status == 400
    assert all(len(answers.tokens(f"ada {number}")) == 6 for number in range(3))


def test_a_request_finds_room_once_its_grammar_is_compiled(make_core: MakeCore) -> None:
    """The first displaces another tenant's; the second finds equal shares."""
    core = make_core(max_waiting=2, max_running=1)
    add(core, "first", "ada")
    core.step()
    for number in range(2):
        add(core, f"ada {number}", "ada", max_tokens=500)
    bob = replace(ask("bob 0", tokens_of(5, 20)), tenant="bob", grammar=Grammar.regex("a+"))
    core.add(bob)
    core.add(replace(bob, request_id="bob 1"))
    core.check_grammar(Grammar.regex("a+"))
    answers = finish(core)
    failed = {name for (name, _), deltas in answers.deltas.items() if deltas[-1].error}
    assert failed == {"ada 1", "bob 1"}
    error = answers.last("bob 1").error
    assert error is not None
    assert error.status == 429


def test_room_in_tokens(make_core: MakeCore) -> None:
    """A step takes 16 tokens and 60 may wait."""
    core = make_core(max_waiting_tokens=60, max_step_rows=16, max_running=1)
    add(core, "first", "ada", 40)
    core.step()
    for number in range(3):
        add(core, f"ada {number}", "ada", 25)
    add(core, "bob", "bob", 30)  # displaces two: 25 + 25 + 25 + 30 are 29 more than the limit
    assert core.stats.num_waiting_tokens == 25 + 30
    with pytest.raises(Overloaded, match="prompt tokens waiting"):
        add(core, "eve", "eve", 35)  # more than anyone has
    answers = finish(core)
    assert [name for (name, _), deltas in answers.deltas.items() if deltas[-1].error] == [
        "ada 2",
        "ada 1",
    ]


def make(tenant: str, name: str, call: str = "", length: int = 2) -> Request:
    prompt = (1,) * length
    given = GenerationRequest(request_id=name, prompt_token_ids=prompt, tenant=tenant, call=call)
    return Request(given, namespace="", max_new_tokens=1, samplings=[FakeSampling()])


def arrive(
    backlog: Backlog,
    tenant: str,
    name: str,
    limit: int,
    *,
    call: str = "",
    length: int = 2,
    max_tokens: int = 0,
) -> list[Request] | None:
    """Return the displaced requests; None if the new one is refused."""
    request = make(tenant, name, call, length)
    config = EngineConfig(max_waiting=limit, max_waiting_tokens=max_tokens, max_step_rows=16)
    try:
        displaced = backlog.make_room(tenant, length, config, 0)
    except Overloaded:
        return None
    for each in displaced:
        backlog.remove(each)
    backlog.add(request)
    return displaced


@given(st.lists(st.sampled_from("aaaaaaaaabbbcd"), max_size=80), st.integers(1, 12))
@settings(deadline=None, max_examples=100)
def test_nobody_is_refused_below_a_fair_share(arrivals: list[str], limit: int) -> None:
    """Against a plain count: the queue never exceeds its limit, and who has least gets in."""
    backlog = Backlog()
    waiting: dict[str, list[str]] = {tenant: [] for tenant in "abcd"}
    for number, tenant in enumerate(arrivals):
        name = f"r{number}"
        total = sum(map(len, waiting.values()))
        most = max(len(each) for each in waiting.values())
        displaced = arrive(backlog, tenant, name, limit)
        if total < limit:
            assert displaced == []
        elif most > len(waiting[tenant]) + 1:
            assert displaced is not None
            (loser,) = displaced
            assert len(waiting[loser.tenant]) == most
            assert waiting[loser.tenant].pop() == loser.request_id, "its newest"
        else:
            assert displaced is None
            continue
        waiting[tenant].append(name)
        assert sum(map(len, waiting.values())) <= limit


def test_weights_divide_a_full_queue() -> None:
    """A batch yields to every live request."""
    backlog = Backlog(weights=EngineConfig(tenant_weights="ada=3").weights)
    for number in range(8):
        assert arrive(backlog, BATCHES, f"line {number}", 8) == []
    for number in range(7):
        assert arrive(backlog, "bob", f"bob {number}", 8) != []
    for number in range(6):
        displaced = arrive(backlog, "ada", f"ada {number}", 8)
        assert displaced is not None
        assert [each.tenant for each in displaced] == [BATCHES if number == 0 else "bob"]
    assert arrive(backlog, "ada", "more", 8) is None
    assert arrive(backlog, "bob", "more", 8) is None


def test_a_call_yields_whole_and_only_before_it_begins() -> None:
    backlog = Backlog()
    for call in ("old", "begun", "new"):
        for number in range(3):
            assert arrive(backlog, "ada", f"{call} {number}", 9, call=call) == []
    begun = next(each for each in backlog._waiting if each.request_id == "begun 0")
    backlog.remove(begun)  # it was admitted
    assert arrive(backlog, "ada", "begun 3", 9, call="begun") == []
    displaced = arrive(backlog, "bob", "bob 0", 9) or []
    assert [each.request_id for each in displaced] == ["new 2", "new 1", "new 0"]
    assert [arrive(backlog, "bob", f"bob {number}", 9) for number in (1, 2)] == [[], []]
    assert arrive(backlog, "bob", "bob 3", 9) is None, "4 of its own would be as many as 6 - 2"


def test_a_single_call_stays() -> None:
    """Its last request would leave from a tenant with no more than the newcomer."""
    backlog = Backlog()
    for number in range(3):
        assert arrive(backlog, "ada", f"ada {number}", 3, call="call") == []
    assert arrive(backlog, "bob", "bob", 3) is None


def test_a_long_prompt_yields_to_fewer_tokens() -> None:
    backlog = Backlog()
    assert arrive(backlog, "ada", "long", 99, length=700, max_tokens=984) == []
    for number in range(6):
        assert arrive(backlog, "bob", f"bob {number}", 99, length=50, max_tokens=984) == []
    (long,) = arrive(backlog, "bob", "bob 6", 99, length=50, max_tokens=984) or []
    assert long.request_id == "long"


def test_repeated_refusals_look_at_the_tenants_once(monkeypatch: pytest.MonkeyPatch) -> None:
    queues = TenantQueues()
    begun = [make("most", f"begun {number}", "call") for number in range(5)]
    for request in [*begun, *(make(f"tenant {number}", f"r{number}") for number in range(49))]:
        queues.add(request)
    queues.remove(begun[0])
    looks, levels = 0, _Queue.levels

    def count(queue: _Queue) -> tuple[float, float]:
        nonlocal looks
        looks += 1
        return levels(queue)

    monkeypatch.setattr(_Queue, "levels", count)
    for _ in range(20):
        assert queues.choose_displaced("tenant 0", 2, 1, 0) is None
    assert looks < 60


def test_an_older_call_may_yield_once_the_newest_begins() -> None:
    queues = TenantQueues()
    small, large = make("ada", "small"), [make("ada", f"{at}", "large") for at in range(3)]
    for request in (small, *large):
        queues.add(request)
    queues.add(make("bob", "bob"))
    assert queues.choose_displaced("bob", 2, 1, 0) is None, "3 requests would leave from 4"
    queues.remove(large[0])
    assert queues.choose_displaced("bob", 2, 1, 0) == [small]
