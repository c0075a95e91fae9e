"""Requests that come together reach an idle engine together; nobody else waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from yaie.client import gathering
from yaie.client.gathering import Gathering


def run(test: Callable[[Gathering, list[str]], Awaitable[None]]) -> None:
    """The test in a loop of its own, with a list of what was sent."""

    async def main() -> None:
        await test(Gathering(), [])

    asyncio.run(main())


def send(gathered: Gathering, sent: list[str], name: str, *, is_idle: bool) -> None:
    gathered.send(lambda: sent.append(name), is_idle=is_idle)


def test_one_alone_is_sent_at_once() -> None:
    async def test(gathered: Gathering, sent: list[str]) -> None:
        with gathered.arriving():
            pass
        send(gathered, sent, "a", is_idle=True)
        assert sent == ["a"]

    run(test)


def test_those_that_come_together_are_sent_together_in_order() -> None:
    async def test(gathered: Gathering, sent: list[str]) -> None:
        with gathered.arriving():
            send(gathered, sent, "a", is_idle=True)
            send(gathered, sent, "b", is_idle=False)  # nothing runs: "a" is still here
            assert sent == []
        send(gathered, sent, "c", is_idle=False)
        assert sent == ["a", "b", "c"]

    run(test)


def test_a_request_that_is_refused_holds_nobody_back() -> None:
    async def test(gathered: Gathering, sent: list[str]) -> None:
        with pytest.raises(ValueError, match="bad body"), gathered.arriving():
            send(gathered, sent, "a", is_idle=True)
            raise ValueError("bad body")
        await asyncio.sleep(0)
        assert sent == ["a"]

    run(test)


def test_a_busy_engine_is_sent_everything_at_once() -> None:
    async def test(gathered: Gathering, sent: list[str]) -> None:
        with gathered.arriving():
            send(gathered, sent, "a", is_idle=False)
            assert sent == ["a"]

    run(test)


def test_nobody_waits_longer_than_the_longest_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "LONGEST_S", 0.01)

    async def test(gathered: Gathering, sent: list[str]) -> None:
        with gathered.arriving():
            send(gathered, sent, "a", is_idle=True)
            assert sent == []
            while not sent:
                await asyncio.sleep(0.005)
            # Its client takes its time to send it.
            send(gathered, sent, "b", is_idle=True)
            assert sent == ["a", "b"]

    run(test)
