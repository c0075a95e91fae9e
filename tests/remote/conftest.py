"""Fixture: the application over a scripted engine, on a socket of this process."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn

from tests.server.scripted_client import ScriptedClient
from yaie import Client
from yaie.base.settings import Settings
from yaie.server.app import create_app
from yaie.text.tokenizer import Tokenizer, load_tokenizer

ANSWER = "The tree 🙂 plan."


class Served:
    """A running application, its engine and a client."""

    def __init__(self, url: str, engine: ScriptedClient) -> None:
        self.url = url
        self.engine = engine
        self.client = Client(url, "key")


Serve = Callable[..., Served]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("YAIE_API_KEY", "OPENAI_API_KEY", "YAIE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def tokenizer(tiny_model_dir: Path) -> Tokenizer:
    return load_tokenizer(tiny_model_dir)


@pytest.fixture
def serve(tiny_model_dir: Path, tokenizer: Tokenizer) -> Iterator[Serve]:
    """Start applications; they end with the test."""
    with contextlib.ExitStack() as stack:

        def start(**settings: object) -> Served:
            engine = ScriptedClient(tokenizer.encode(ANSWER))
            app = create_app(
                Settings(model=str(tiny_model_dir), served_model_name="tiny", **settings),  # type: ignore[arg-type]
                make_client=lambda config: engine,
            )
            server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
            thread = threading.Thread(target=server.run)
            thread.start()
            stack.callback(thread.join)
            stack.callback(setattr, server, "should_exit", True)
            wait_until(lambda: server.started)
            port = server.servers[0].sockets[0].getsockname()[1]
            served = Served(f"http://127.0.0.1:{port}", engine)
            stack.callback(served.client.close)
            wait_until(lambda: served.client.health()["status"] == "healthy")
            return served

        yield start


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for a condition, or fail after 20 s."""
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)
