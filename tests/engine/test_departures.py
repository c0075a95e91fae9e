"""Who left a queue is forgotten, also where nobody has looked at that end of it since."""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.engine.fake_model import FakeSampling
from yaie.engine.policy import make_policy
from yaie.engine.request import Request
from yaie.types import GenerationRequest


class Watched(Request):
    """A request that can be seen to be freed."""

    __slots__ = ("__weakref__",)


def waiting(number: int, priority: int) -> Watched:
    spec = GenerationRequest(request_id=str(number), prompt_token_ids=(1, 2, 3), priority=priority)
    request = Watched(spec, namespace="", max_new_tokens=1, samplings=[FakeSampling()])
    request.arrival = number
    return request


@pytest.mark.parametrize("name", ["prefix-aware", "fcfs", "lpm", "priority"])
def test_requests_that_were_given_up_are_not_kept_behind_urgent_ones(name: str) -> None:
    policy = make_policy(name, lambda request: 3, max_step_rows=64)
    urgent = waiting(0, priority=0)
    policy.add(urgent)
    given_up = []
    for number in range(1, 1001):
        request = waiting(number, priority=9)
        given_up.append(weakref.ref(request))
        policy.add(request)
        policy.remove(request)
        assert policy.next(number) is urgent
    del request
    gc.collect()
    assert sum(one() is not None for one in given_up) < 200
