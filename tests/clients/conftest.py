"""Fixtures of the client tests: one real server with the built-in model, and the table's record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import matrix
from tests.server.real_server import Server

_outcomes: dict[str, matrix.Outcome] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--server-python",
        default=str(matrix.ROOT / ".venv/bin/python"),
        help="the Python that YAIE is installed in",
    )


@pytest.fixture(scope="session")
def server(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    class ServerElsewhere(Server):
        python = pytestconfig.getoption("--server-python")
        wait_s = 200.0  # the first start compiles kernels

    log = tmp_path_factory.mktemp("log") / "server.log"
    running = ServerElsewhere(
        Path("builtin"), log, YAIE_SERVED_MODEL_NAME="builtin", YAIE_AUDIT="false"
    )
    try:
        running.wait_ready()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def base_url(server: Server) -> str:
    return f"{server.url}/v1"


@pytest.fixture(autouse=True)
def environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the address where libraries look for one by default; keep them off other hosts."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    given = item.callspec.params if hasattr(item, "callspec") else {}
    client = given.get("client") or item.path.stem.removeprefix("test_")
    feature = given.get("feature") or item.name.removeprefix("test_").partition("[")[0]
    if client in matrix.CLIENTS and feature in matrix.FEATURES:
        expected = getattr(report, "wasxfail", "")
        outcome = None
        if report.failed:
            outcome = ("fails", str(call.excinfo.value).splitlines()[0] if call.excinfo else "")
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            outcome = ("expected", expected) if expected else ("skipped", reason)
        elif report.when == "call":
            outcome = ("ok", "")
        before = _outcomes.get(f"{client}/{feature}", ("ok", ""))
        if outcome and before[0] != "fails":
            _outcomes[f"{client}/{feature}"] = outcome
    return report


def pytest_sessionfinish() -> None:
    if _outcomes:
        matrix.save(_outcomes)
