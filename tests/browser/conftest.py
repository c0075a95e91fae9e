"""Fixtures: one browser, and servers with and without keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.browser import Browser
from tests.server.conftest import model
from tests.server.real_server import Server

__all__ = ["model"]

AXE = Path(__file__).parent / "js/node_modules/axe-core/axe.min.js"


class PatientServer(Server):
    """A server that shares its processors with a browser."""

    wait_s = 200.0


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    found = Browser()
    yield found
    found.close()


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    chromium.resize(1280)
    chromium.driver.get("about:blank")  # the page of the test before retries its server
    chromium.errors()
    return chromium


@pytest.fixture(scope="session")
def server(
    chromium: Browser, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Serve tests that leave the server as it is; none is started without a browser."""
    server = PatientServer(model, tmp_path_factory.mktemp("log") / "server.log")
    try:
        server.wait_ready()
        yield server
    finally:
        server.stop()


@pytest.fixture
def start(chromium: Browser, model: Path, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start a server for one test."""
    started: list[Server] = []

    def make(**variables: str) -> Server:
        started.append(PatientServer(model, tmp_path / f"server{len(started)}.log", **variables))
        return started[-1]

    yield make
    for server in started:
        server.process.kill()
        server.process.wait()


@pytest.fixture
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (npm ci --prefix tests/browser/js)")
    return AXE.read_text()
