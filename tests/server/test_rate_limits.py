"""Limits and counters of clients: keys, or addresses on a server without keys."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from tests.server.conftest import MakeApp
from tests.server.scripted_client import silent_script
from tests.server.test_operation import samples
from yaie.base.settings import Settings
from yaie.base.types import Usage
from yaie.server.http.http_errors import RateLimited
from yaie.server.metrics.prometheus import Metrics
from yaie.server.ops import rate_limits
from yaie.server.ops.rate_limits import RateLimits

BODY = {"prompt": "x", "max_tokens": 2}


class Bench:
    """Rate limits on a clock of the test."""

    def __init__(self, **settings: Any) -> None:
        self.now = 0.0
        self.limits = RateLimits(
            Settings(**settings), Metrics(dict), lambda tenant: tenant, lambda: self.now
        )

    def enter(
        self, address: str = "1.2.3.4", key: str = "", *, is_in_batch: bool = False
    ) -> rate_limits.Lease:
        state = SimpleNamespace(tenant=key, is_in_batch=is_in_batch)
        client = SimpleNamespace(host=address)
        return self.limits.enter(SimpleNamespace(state=state, client=client))  # type: ignore[arg-type]

    def wait_s(self, **whose: Any) -> float:
        with pytest.raises(RateLimited) as refused:
            self.enter(**whose)
        assert refused.value.retry_after_s is not None
        return refused.value.retry_after_s


def test_requests_flow_back_evenly() -> None:
    bench = Bench(requests_per_minute=6)
    for _ in range(6):
        bench.enter().leave()
    assert bench.wait_s() == 10
    bench.now += 10
    bench.enter().leave()
    assert bench.wait_s() == 10
    bench.now += 600
    for _ in range(6):
        bench.enter().leave()
    assert bench.wait_s() == 10


def test_tokens_are_charged_at_the_end() -> None:
    bench = Bench(tokens_per_minute=60)
    first, second = bench.enter(), bench.enter()
    first.leave(Usage(prompt_tokens=50, completion_tokens=40, cached_tokens=0))
    first.leave(Usage(prompt_tokens=50, completion_tokens=40, cached_tokens=0))  # counts once
    assert bench.wait_s() == 31  # 30 tokens too many, a second each
    second.leave()
    bench.now += 31
    bench.enter()


def test_tokens_of_a_day_flow_back_over_a_day() -> None:
    bench = Bench(tokens_per_day=24, tokens_per_minute=1000)  # one an hour
    bench.enter().leave(Usage(prompt_tokens=20, completion_tokens=6, cached_tokens=0))
    assert bench.wait_s() == 3 * 3600
    bench.enter(address="5.6.7.8")
    bench.now += 3 * 3600
    bench.enter()


def test_requests_at_a_time() -> None:
    bench = Bench(max_concurrent=2)
    first, _ = bench.enter(), bench.enter()
    assert bench.wait_s() == 1
    bench.enter(address="5.6.7.8")
    first.leave()
    bench.enter()


def test_lines_of_batches_take_no_place_of_live_requests() -> None:
    bench = Bench(max_concurrent=1, requests_per_minute=4)
    lines = [bench.enter(key="a", is_in_batch=True) for _ in range(2)]
    live = bench.enter(key="a")
    lines.append(bench.enter(key="a", is_in_batch=True))
    for each in (*lines, live):
        each.leave()
    assert bench.wait_s(key="a", is_in_batch=True) == 15  # the other limits count them
    bench.now += 30
    bench.enter(key="a")
    assert bench.wait_s(key="a") == 1


def test_clients_are_keys_and_else_addresses() -> None:
    bench = Bench(requests_per_minute=1)
    bench.enter(key="a")
    bench.enter(key="b")
    bench.enter(address="5.6.7.8")
    assert bench.wait_s(key="a", address="9.9.9.9") == 60
    assert bench.wait_s(address="5.6.7.8") == 60


def test_remembered_clients_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MAX_REMEMBERED", 10)
    bench = Bench(requests_per_minute=5)
    busy = bench.enter(address="busy")
    for number in range(100):
        bench.enter(address=str(number)).leave()
        assert len(bench.limits._clients) <= 11
    busy.leave()


def test_the_server_refuses_with_the_time_to_wait(make_app: MakeApp) -> None:
    http, engine = make_app(requests_per_minute=2)
    for path in ("/v1/completions", "/v1/messages"):
        messages = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 2}
        body = messages if "messages" in path else BODY
        assert http.post(path, json=body).status_code == 200
    refused = http.post("/v1/completions", json=BODY)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert 1 <= int(refused.headers["Retry-After"]) <= 30
    assert http.get("/v1/models").status_code == 200
    assert samples(http)["yaie_rate_limited_total", ""] == 1
    assert len(engine.requests) == 2


def test_every_end_of_a_request_frees_its_place(make_app: MakeApp) -> None:
    http, engine = make_app(max_concurrent=1)
    stream = {**BODY, "stream": True}
    for body in (BODY, stream, {"prompt": 5}, {**BODY, "model": "other"}, stream):
        assert http.post("/v1/completions", json=body).status_code in (200, 400, 404)
    engine.script = silent_script
    late = http.post("/v1/completions", json={**BODY, "request_timeout_s": 0.1})
    assert late.status_code == 504
    engine.script = engine.say
    assert http.post("/v1/completions", json=BODY).status_code == 200


def test_a_second_request_at_a_time_is_refused(make_app: MakeApp) -> None:
    http, engine = make_app(max_concurrent=1, request_timeout_s=20)
    engine.script = silent_script
    begun = threading.Event()
    submit = engine.submit
    engine.submit = lambda *given: (begun.set(), submit(*given))[1]  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(http.post, "/v1/completions", json=BODY)
        assert begun.wait(20)
        assert http.post("/v1/completions", json=BODY).status_code == 429
        request_id = engine.requests[0].request_id
        engine.script = engine.say
        http.portal.call(end_all, http)  # type: ignore[union-attr]
        assert waiting.result().status_code == 503, request_id
    assert http.post("/v1/completions", json=BODY).status_code == 200


async def end_all(http: Any) -> None:
    http.app.state.service.end_all()


def test_each_key_is_counted(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="a,b")
    usage = http.post("/v1/completions", json=BODY, headers={"X-API-Key": "a"}).json()["usage"]
    http.post("/v1/completions", json=BODY, headers={"X-API-Key": "wrong"})
    found = samples(http, {"X-API-Key": "b"})
    (key,) = (labels for name, labels in found if name == "yaie_key_requests_total")
    assert found["yaie_key_requests_total", key] == 1
    for kind in ("prompt", "completion"):
        assert found["yaie_key_tokens_total", f"{key},kind={kind}"] == usage[f"{kind}_tokens"]
