"""Coroutine tests: each runs in an event loop of its own."""

from __future__ import annotations

import asyncio
import inspect

import pytest

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
