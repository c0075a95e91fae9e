"""Coroutine tests, each in an event loop of its own, and a local client over a scripted core."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator

import pytest

from tests.client.local_calls import Core
from yaie.client.local_client import LocalClient

LIMIT_S = 200  # a test that hangs ends here and shows the line


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test to its end; leave all others to pytest."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def limited() -> None:
        async with asyncio.timeout(LIMIT_S):
            await pyfuncitem.obj(**arguments)

    asyncio.run(limited())
    return True


@pytest.fixture
def core() -> Core:
    return Core()


@pytest.fixture
def client(core: Core) -> Iterator[LocalClient]:
    client = LocalClient(core)
    yield client
    client.close()
