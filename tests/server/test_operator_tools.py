"""Functions that the operator registers: listed, checked, run within limits, and switched off."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from starlette.testclient import TestClient

from tests.server.scripted_client import ScriptedClient
from yaie.base.errors import ConfigError
from yaie.base.settings import Settings
from yaie.server.app import create_app
from yaie.server.ops.operator_tools import (
    MAX_RUNNING,
    OperatorTool,
    OperatorTools,
    ToolError,
)

KEY = {"X-Tool-Key": "secret"}
release = threading.Event()


def get_weather(city: str, unit: Literal["c", "f"] = "c", days: int = 1) -> dict[str, object]:
    """Tell the weather."""
    return {"city": city, "unit": unit, "days": days}


async def shout(text: str) -> str:
    await asyncio.sleep(0)
    return text.upper()


def fail() -> str:
    raise ToolError("the station is offline")


def leak() -> str:
    raise RuntimeError("password 1234")


def give_up() -> str:
    raise TimeoutError("the station took 10 s")


def leave() -> str:
    sys.exit(3)


async def interrupt() -> str:
    raise KeyboardInterrupt


ENDS: dict[str, BaseException] = {
    "exit": SystemExit(3),
    "interrupt": KeyboardInterrupt(),
    "generator": GeneratorExit(),
    "cancelled": asyncio.CancelledError(),
    "future": concurrent.futures.CancelledError(),
    "stop": StopIteration(5),
    "stop async": StopAsyncIteration(),
    "group": BaseExceptionGroup("several", [SystemExit(3), ValueError()]),
    "timeout": TimeoutError(),
    "base": BaseException("rare"),
}


def throw(kind: str) -> str:
    raise ENDS[kind]


async def throw_later(kind: str) -> str:
    await asyncio.sleep(0)
    raise ENDS[kind]


def wait() -> str:
    release.wait(10)
    return "done"


TOOLS = [
    get_weather,
    OperatorTool(shout, name="loud", description="Shout."),
    fail,
    leave,
    interrupt,
    leak,
    give_up,
    throw,
    throw_later,
    wait,
]
OFF = OperatorTool(shout, name="off", enabled=False)


@pytest.fixture
def serve(tiny_model_dir: Path) -> Iterator[Callable[..., TestClient]]:
    opened = []

    def start(**settings: Any) -> TestClient:
        settings = {"model": str(tiny_model_dir), "tool_key": "secret", **settings}
        app = create_app(Settings(**settings), lambda _: ScriptedClient([5]), tools=[*TOOLS, OFF])
        http = TestClient(app, raise_server_exceptions=False)
        opened.append(http)
        http.__enter__()
        while http.get("/readiness").status_code != 200:
            time.sleep(0.005)
        return http

    yield start
    release.set()
    for http in opened:
        http.__exit__(None, None, None)


def run(http: TestClient, name: str, arguments: object = None, **headers: str) -> Any:
    body = {"name": name, "arguments": {} if arguments is None else arguments}
    return http.post("/v1/tools/execute", json=body, headers=KEY | headers)


@pytest.mark.parametrize("name", ["throw", "throw_later"])
def test_whatever_a_function_raises_ends_its_call_alone(
    serve: Callable[..., TestClient], name: str
) -> None:
    http = serve()
    for kind in ENDS:
        for _ in range(MAX_RUNNING + 1):  # its place is free again
            answer = run(http, name, {"kind": kind})
            assert answer.status_code == 200, (kind, answer.text)
            assert answer.json()["is_error"], kind
            assert "log" in answer.json()["content"]
    assert http.get("/readiness").status_code == 200
    assert run(http, "loud", {"text": "alive"}).json()["content"] == "ALIVE"


def test_tools_are_listed_with_their_schemas(serve: Callable[..., TestClient]) -> None:
    answer = serve().get("/v1/tools").json()
    names = [each["function"]["name"] for each in answer["data"]]
    assert names[:4] == ["get_weather", "loud", "fail", "leave"]
    assert names[-2:] == ["wait", "off"]
    assert [each["enabled"] for each in answer["data"]] == [True] * 10 + [False]
    weather = answer["data"][0]["function"]
    assert weather["description"] == "Tell the weather."
    assert weather["parameters"]["required"] == ["city"]
    assert weather["parameters"]["properties"]["unit"]["enum"] == ["c", "f"]
    assert answer["execution"] is True
    assert list(answer["parsers"].values()) == ["json"]


@pytest.mark.parametrize(
    ("name", "arguments", "content", "is_error"),
    [
        ("get_weather", {"city": "Paris"}, '{"city":"Paris","unit":"c","days":1}', False),
        (
            "get_weather",
            '{"city": "Rome", "unit": "f"}',
            '{"city":"Rome","unit":"f","days":1}',
            False,
        ),
        ("loud", {"text": "hi"}, "HI", False),
        ("fail", "", "the station is offline", True),
        ("leak", {}, "the tool failed; the server's log has the reason", True),
        ("leave", {}, "the tool failed; the server's log has the reason", True),
        ("interrupt", {}, "the tool failed; the server's log has the reason", True),
    ],
)
def test_results(
    name: str, arguments: object, content: str, is_error: bool, serve: Callable[..., TestClient]
) -> None:
    answer = run(serve(), name, arguments)
    assert answer.status_code == 200
    assert answer.json() == {
        "object": "tool.result", "name": name, "content": content, "is_error": is_error,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "status", "message"),
    [
        ("get_weather", {}, 400, "arguments.city is required"),
        ("get_weather", {"city": 3}, 400, "arguments.city must be"),
        ("get_weather", {"city": "x", "unit": "k"}, 400, "arguments.unit"),
        ("get_weather", {"city": "x", "town": "y"}, 400, "arguments.town is not a parameter"),
        ("get_weather", "[1]", 400, "arguments must be a JSON object"),
        ("get_weather", "{", 400, "not valid JSON"),
        ("off", {"text": "x"}, 404, "this server runs 'get_weather', 'loud'"),
        ("os.system", {"command": "ls"}, 404, "'os.system' is not registered"),
    ],
)
def test_wrong_calls_are_refused(
    name: str, arguments: object, status: int, message: str, serve: Callable[..., TestClient]
) -> None:
    answer = run(serve(), name, arguments)
    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]


def test_execution_needs_its_own_key(serve: Callable[..., TestClient]) -> None:
    http = serve(api_key="client")
    own = {"Authorization": "Bearer client"}
    body = {"name": "loud", "arguments": {"text": "x"}}
    assert http.post("/v1/tools/execute", json=body, headers=KEY).status_code == 401
    assert http.post("/v1/tools/execute", json=body, headers=own).status_code == 401
    assert http.post("/v1/tools/execute", json=body, headers=own | KEY).status_code == 200
    off = serve(tool_key=None)
    assert run(off, "loud", {"text": "x"}).status_code == 404
    assert off.get("/v1/tools").json()["execution"] is False


def test_limits_of_time_and_number(serve: Callable[..., TestClient]) -> None:
    release.clear()
    http = serve(tool_timeout_s=0.05)
    assert run(http, "wait").status_code == 504
    # A thread that goes on keeps its place.
    assert {run(http, "wait").status_code for _ in range(MAX_RUNNING - 1)} == {504}
    assert run(http, "loud", {"text": "x"}).status_code == 429
    release.set()
    while run(http, "loud", {"text": "x"}).status_code == 429:
        pass
    assert run(http, "wait").json()["content"] == "done"


def test_a_timeout_of_the_function_is_its_failure(serve: Callable[..., TestClient]) -> None:
    answer = run(serve(), "give_up")
    assert answer.status_code == 200
    assert answer.json()["is_error"] is True


def test_tools_can_be_switched_off(serve: Callable[..., TestClient]) -> None:
    http = serve(tools=False)
    assert http.get("/v1/tools").status_code == 404
    assert run(http, "loud", {"text": "x"}).status_code == 404
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
    for path in ("/v1/chat/completions", "/v1/chat/completions/render"):
        refused = http.post(path, json=body | {"tools": [tool]})
        assert refused.status_code == 400
        assert refused.json()["error"]["param"] == "tools"
    assert http.post("/v1/chat/completions", json=body).status_code == 200


@pytest.mark.parametrize(
    ("functions", "reason"),
    [
        ([lambda text: text], "is not a tool name"),
        ([OperatorTool(lambda text: text, name="echo")], "no type for its parameter 'text'"),
        ([get_weather, get_weather], "two functions are named 'get_weather'"),
        ([OperatorTool(3, name="three")], "'three' is not a function"),  # type: ignore[arg-type]
    ],
)
def test_a_function_without_a_schema_is_refused(functions: list[Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        OperatorTools(functions, 1.0)


def test_functions_are_named_by_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_tools.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    app = create_app(Settings(tool_functions="some_tools:add"))
    (only,) = app.state.operator_tools.describe()
    assert only.function.name == "add"
    for wrong in ("some_tools", "some_tools:sub", "no_such_module:add", ":add"):
        with pytest.raises(ConfigError, match="tool_functions"):
            create_app(Settings(tool_functions=wrong))
    sys.modules.pop("some_tools")
