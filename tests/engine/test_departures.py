"""Finished and aborted requests are freed at once."""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.engine.fake_model import FakeSampling
from yaie.base.errors import YaieError
from yaie.base.types import GenerationRequest, SamplingParams
from yaie.engine.queue.policies import make_policy
from yaie.engine.request import Request
from yaie.engine.scheduled_step import SampledToken
from yaie.engine.scheduler import Scheduler
from yaie.kvcache.radix_tree import RadixTree


class Watched(Request):
    """A request with weak references."""

    __slots__ = ("__weakref__",)


def waiting(number: int, priority: int) -> Watched:
    spec = GenerationRequest(request_id=str(number), prompt_token_ids=(1, 2, 3), priority=priority)
    request = Watched(spec, namespace="", max_new_tokens=1, samplings=[FakeSampling()])
    request.arrival = number
    return request


@pytest.mark.integration
@pytest.mark.parametrize("name", ["prefix-aware", "fcfs", "lpm", "priority"])
def test_aborted_requests_do_not_pile_up_in_the_queue(name: str) -> None:
    policy = make_policy(name, lambda request: 3, max_step_rows=64)
    urgent = waiting(0, priority=0)
    policy.add(urgent)
    aborted = []
    for number in range(1, 1001):
        request = waiting(number, priority=9)
        aborted.append(weakref.ref(request))
        policy.add(request)
        policy.remove(request)
        assert policy.next(number) is urgent
    del request
    gc.collect()
    assert sum(one() is not None for one in aborted) < 200


@pytest.mark.parametrize("end", ["length", "error", "abort", "abort one by one", "while it waits"])
def test_ended_requests_are_freed_without_the_collector(end: str) -> None:
    scheduler = Scheduler(RadixTree(100), clock=lambda: 0.0)
    spec = GenerationRequest(
        request_id="r", prompt_token_ids=(1, 2, 3), sampling=SamplingParams(n=2, max_tokens=2)
    )
    samplings = [FakeSampling(), FakeSampling()]
    request = Watched(spec, namespace="", max_new_tokens=2, samplings=list(samplings))
    watched = [weakref.ref(request), *map(weakref.ref, samplings)]
    gc.collect()
    gc.disable()
    try:
        scheduler.add(request)
        del request, samplings
        if end != "while it waits":
            for _ in range(2 if end == "length" else 1):
                step = scheduler.schedule()
                assert step is not None
                failed = YaieError("no token") if end == "error" else None
                scheduler.update(step, [failed or SampledToken(7) for _ in step.sample_tasks])
            del step
        assert [one() is None for one in watched] == [end in ("length", "error")] * 3
        for index in {"abort one by one": (0, 1), "length": (), "error": ()}.get(end, (None,)):
            scheduler.abort("r", index)
        assert [one() for one in watched] == [None, None, None]
    finally:
        gc.enable()
    assert not scheduler.has_work
