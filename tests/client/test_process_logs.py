"""Log lines of the supervising client about the death and the return of its engine."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.client.asking import ENDLESS, ask, drawn, generate
from tests.client.fake_engine import running, settle
from yaie.base.errors import EngineDied, StartupError
from yaie.client.supervision import FIRST_BACK_OFF_S


@pytest.mark.parametrize(("number", "lost"), [(1, "1 request"), (2, "2 requests")])
async def test_a_death_and_the_recovery_are_logged(
    number: int, lost: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running() as bench:
        streams = [generate(bench.client, ask(f"s{i}", max_tokens=ENDLESS)) for i in range(number)]
        await asyncio.gather(*(anext(stream) for stream in streams))
        bench.engine.child.die()
        for stream in streams:
            with pytest.raises(EngineDied):
                while True:
                    await anext(stream)
        with caplog.at_level(logging.INFO, "yaie.client"):
            await bench.restart(FIRST_BACK_OFF_S)
        assert await drawn(bench.client, ask("next", max_tokens=1)) == [10]
    told = [record.getMessage() for record in caplog.records]
    assert f"lost {lost} in flight" in told
    assert told[-1] == f"ready again after {FIRST_BACK_OFF_S:.1f} s"


async def test_a_failed_start_is_left_to_the_caller_to_report(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(ready=False) as bench:
        bench.engine.loads = False
        await settle()
        bench.engine.child.die()
        with pytest.raises(StartupError):
            await bench.client.wait_ready(30)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
