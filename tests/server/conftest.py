"""Fixtures: applications over a scripted engine, and real servers."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.server.real_server import Server
from tests.server.scripted_client import ScriptedClient
from tests.server.wire import VirtualLoop, Wire
from tests.server.wire_app import make_app as make_wire_app
from yaie.base.errors import YaieError
from yaie.base.settings import Settings
from yaie.server.app import create_app
from yaie.text.tokenizer import Tokenizer, load_tokenizer

MakeApp = Callable[..., tuple[TestClient, ScriptedClient]]


@pytest.fixture(scope="session")
def tokenizer(tiny_model_dir: Path) -> Tokenizer:
    return load_tokenizer(tiny_model_dir)


@contextmanager
def applications(tiny_model_dir: Path, tokenizer: Tokenizer) -> Iterator[MakeApp]:
    """Start applications, ready ones by default."""
    with ExitStack() as stack:

        def make(
            engine: ScriptedClient | None = None, *, is_ready: bool = True, **settings: object
        ) -> tuple[TestClient, ScriptedClient]:
            engine = engine or ScriptedClient(tokenizer.encode("The tree 🙂 plan."))

            defaults = {"model": str(tiny_model_dir), "served_model_name": "tiny"}

            def fatal(error: YaieError) -> None:
                raise AssertionError(error)

            app = create_app(
                Settings(**defaults | settings),  # type: ignore[arg-type]
                make_client=lambda config: engine,
                on_fatal=fatal,
            )
            http = stack.enter_context(TestClient(app, raise_server_exceptions=False))
            while is_ready and http.get("/readiness").status_code != 200:
                assert app.state.service.failure is None
                time.sleep(0.005)  # the engine's thread needs the processor
            return http, engine

        yield make


@pytest.fixture
def make_app(tiny_model_dir: Path, tokenizer: Tokenizer) -> Iterator[MakeApp]:
    with applications(tiny_model_dir, tokenizer) as make:
        yield make


@pytest.fixture
def http(make_app: MakeApp) -> TestClient:
    return make_app()[0]


@pytest.fixture(scope="module")
def shared_http(tiny_model_dir: Path, tokenizer: Tokenizer) -> Iterator[TestClient]:
    """Serve the tests of a module whose requests leave nothing behind, as refused ones."""
    with applications(tiny_model_dir, tokenizer) as make:
        yield make()[0]


@pytest.fixture(scope="session")
def model(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model folder with greedy sampling as its recommendation, as the built-in model."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    shutil.copytree(tiny_model_dir, folder)
    config = {"temperature": 0.0, "eos_token_id": 1}
    (folder / "generation_config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="session")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(model, tmp_path_factory.mktemp("log") / "server.log")
    try:
        server.wait_ready()
        yield server
    finally:
        server.stop()


@pytest.fixture
def start(model: Path, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start a server for one test."""
    started: list[Server] = []

    def make(folder: Path | None = None, **variables: str) -> Server:
        log = tmp_path / f"server{len(started)}.log"
        started.append(Server(folder or model, log, **variables))
        return started[-1]

    yield make
    for server in started:
        server.process.kill()
        server.process.wait()


@pytest.fixture
def app() -> Starlette:
    """Application of the protocol tests."""
    return make_wire_app()


@pytest.fixture
def connect(app: Starlette) -> Iterator[Callable[[], Wire]]:
    """Open connections on one virtual clock."""
    loop = VirtualLoop()
    yield lambda: Wire(loop, app)
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


@pytest.fixture
def wire(connect: Callable[[], Wire]) -> Wire:
    return connect()
