"""Requests that arrive together reach an idle engine together; others are sent at once."""

from __future__ import annotations

import pytest

from tests.client.fake_engine import ManualClock
from yaie.client.burst import MAX_DELAY_S, Burst


class Bench:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.burst = Burst(self.clock)
        self.sent: list[str] = []

    def send(self, name: str, *, is_idle: bool) -> None:
        self.burst.send(lambda: self.sent.append(name), is_idle=is_idle)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_single_request_is_sent_at_once(bench: Bench) -> None:
    with bench.burst.expect_request():
        pass
    bench.send("a", is_idle=True)
    assert bench.sent == ["a"]


def test_a_burst_is_sent_together_in_order(bench: Bench) -> None:
    with bench.burst.expect_request():
        bench.send("a", is_idle=True)
        bench.send("b", is_idle=False)  # not idle only because of "a", which is still here
        assert bench.sent == []
    bench.send("c", is_idle=False)
    assert bench.sent == ["a", "b", "c"]


def test_a_request_that_is_refused_delays_no_other(bench: Bench) -> None:
    with pytest.raises(ValueError, match="bad body"), bench.burst.expect_request():
        bench.send("a", is_idle=True)
        raise ValueError("bad body")
    bench.clock.advance(0)
    assert bench.sent == ["a"]


def test_a_busy_engine_is_sent_everything_at_once(bench: Bench) -> None:
    with bench.burst.expect_request():
        bench.send("a", is_idle=False)
        assert bench.sent == ["a"]


def test_no_request_is_delayed_for_longer_than_the_limit(bench: Bench) -> None:
    with bench.burst.expect_request():
        bench.clock.advance(MAX_DELAY_S / 2)
        bench.send("a", is_idle=True)
        bench.clock.advance(MAX_DELAY_S * 0.99)
        assert bench.sent == []
        bench.clock.advance(MAX_DELAY_S * 0.02)
        assert bench.sent == ["a"]
        bench.send("b", is_idle=True)  # the client of the expected request is slow to send it
        assert bench.sent == ["a", "b"]
