"""Fixtures of the client tests: real servers with the built-in model, and the table's record.

The first process starts the servers; workers of pytest-xdist inherit their addresses.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.clients import matrix
from tests.clients.questions import KEY
from tests.clients.servers import Launch, all_servers

READY, DRAINING, RETRIEVAL = (
    f"CLIENT_TESTS_{server}" for server in ("READY", "DRAINING", "RETRIEVAL")
)
_servers = ExitStack()
_outcomes: dict[str, matrix.Outcome] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--server-python",
        default=str(matrix.ROOT / ".venv/bin/python"),
        help="the Python that YAIE is installed in",
    )
    parser.addoption("--replicas", type=int, default=0, help="serve so many replicas on Ray")


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _launch(config: pytest.Config) -> Launch:
    return Launch(config.getoption("--server-python"), config.getoption("--replicas"))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the servers before the workers."""
    config = session.config
    if _is_worker(config) or config.option.collectonly:
        return
    logs = Path(_servers.enter_context(tempfile.TemporaryDirectory()))
    urls = _servers.enter_context(all_servers(_launch(config), logs))
    os.environ.update(zip((READY, DRAINING, RETRIEVAL), urls, strict=True))


@pytest.fixture(scope="session")
def launch(pytestconfig: pytest.Config) -> Launch:
    return _launch(pytestconfig)


@pytest.fixture(scope="session")
def url() -> str:
    """Return the address of the server."""
    return os.environ[READY]


@pytest.fixture(scope="session")
def base_url(url: str) -> str:
    return f"{url}/v1"


@pytest.fixture(scope="session")
def draining_url() -> str:
    """Return the address of a server that shuts down, and refuses each request with 503."""
    return os.environ[DRAINING]


@pytest.fixture(scope="session")
def retrieval_url() -> str:
    """Return the address of a server with an embedding model and a reranker."""
    return os.environ[RETRIEVAL]


@pytest.fixture(autouse=True)
def environment(
    base_url: str, draining_url: str, retrieval_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set the address where libraries look for one by default; keep them off other hosts."""
    monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    monkeypatch.setenv("DRAINING_BASE_URL", f"{draining_url}/v1")
    monkeypatch.setenv("RETRIEVAL_BASE_URL", f"{retrieval_url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


def _outcome(report: Any, call: pytest.CallInfo[None]) -> matrix.Outcome | None:
    expected = getattr(report, "wasxfail", "")
    if report.failed:
        return "fails", repr(call.excinfo.value).split(r"\n")[0] if call.excinfo else ""
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        return ("expected", expected) if expected else ("skipped", reason)
    return ("ok", "") if report.when == "call" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    given = item.callspec.params if hasattr(item, "callspec") else {}
    client = given.get("client") or item.path.stem.removeprefix("test_")
    feature = given.get("feature") or item.name.removeprefix("test_").partition("[")[0]
    outcome = _outcome(report, call)
    if outcome and client in matrix.CLIENTS and feature in matrix.FEATURES:
        report.user_properties.append((f"{client}/{feature}", outcome))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the outcome of a cell; of several tests the worst counts."""
    for cell, outcome in report.user_properties:
        if _outcomes.get(cell, ("ok",))[0] == "ok":
            _outcomes[cell] = tuple(outcome)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Save the outcomes, except with Ray: the table is about one engine."""
    config = session.config
    if _outcomes and not _is_worker(config) and not _launch(config).replicas:
        matrix.save(_outcomes)


def pytest_unconfigure() -> None:
    _servers.close()
