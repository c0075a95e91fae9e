"""`yaie cache` against the application, without a socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import MakeApp
from yaie.cli import cache
from yaie.cli.main import run_command_line

Run = Callable[..., str]
CHAT = {"messages": [{"role": "user", "content": "What is a radix tree?"}]}
OTHER = {"messages": [{"role": "user", "content": "What is a radix plan?"}]}


@pytest.fixture
def run(
    make_app: MakeApp,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Run:
    """Run a command; the files `a.json` and `b.json` hold two chats."""
    http, _ = make_app(admin_key="root")
    http.post("/v1/chat/completions", json=CHAT | {"max_tokens": 1}).raise_for_status()
    (tmp_path / "a.json").write_text(json.dumps(CHAT))
    (tmp_path / "b.json").write_text(json.dumps(OTHER))
    monkeypatch.chdir(tmp_path)

    class Server:
        def __init__(self, key: str | None) -> None:
            self._headers = {"X-API-Key": key} if key else {}

        def post(self, route: str, body: dict[str, Any]) -> Any:
            reply = http.post(route, json=body, headers=self._headers)
            assert reply.status_code == 200, reply.text
            return reply.json()

    monkeypatch.setattr(cache, "_open", lambda url, key, model: Server(key))

    def run(*arguments: str, code: int = 0) -> str:
        assert run_command_line(["cache", *arguments]) == code
        shown = capsys.readouterr()
        return shown.err if code else shown.out

    return run


def test_a_request_is_explained(run: Run) -> None:
    assert "cached: every token" in run("explain", "a.json")
    shown = run("explain", "b.json")
    assert "never seen" in shown and "in messages[0].content" in shown
    (yours,) = (line for line in shown.splitlines() if line.startswith("  yours"))
    (cached,) = (line for line in shown.splitlines() if line.startswith("  cached"))
    assert "plan" in yours and "tree" in cached
    assert json.loads(run("explain", "b.json", "--json"))["cause"] == "never_seen"


def test_two_requests_are_compared(run: Run) -> None:
    shown = run("explain", "a.json", "b.json")
    assert "b.json shares" in shown
    assert shown.count("messages[0].content:") == 2
    assert "has the same prompt" in run("explain", "a.json", "a.json")


def test_the_branches_are_listed(run: Run) -> None:
    head, first = run("ls").splitlines()[:2]
    assert head.split() == ["tokens", "below", "uses", "age", "text"]
    assert "What is a radix" in first
    assert len(json.loads(run("ls", "--json"))["branches"]) == 1


def test_the_cache_is_warmed(run: Run, tmp_path: Path) -> None:
    lines = [json.dumps(each) for each in (CHAT, OTHER, {"prompt": "A plan of the tree"})]
    (tmp_path / "all.jsonl").write_text("\n\n".join(lines))
    assert run("warm", "all.jsonl").startswith("3 prompts, ")
    assert "cached: every token" in run("explain", "b.json")
    (tmp_path / "all.jsonl").write_text(f"{lines[0]}\n[]")
    assert "line 2 of all.jsonl is not a request" in run("warm", "all.jsonl", code=2)


def test_the_cache_is_cleared(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "admin key" in run("clear", code=2)
    monkeypatch.setenv("YAIE_ADMIN_KEY", "root")
    assert run("clear").endswith("tokens evicted, 0 in use kept\n")
    shown = run("explain", "a.json")
    assert "evicted: " in shown and "(flushed)" in shown


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_a_file_without_a_request_is_an_error(run: Run, tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "c.json").write_text(text)
    assert "c.json is not a request as JSON" in run("explain", "c.json", code=2)


def test_a_server_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("YAIE_BASE_URL", raising=False)
    monkeypatch.setattr("yaie.remote.discovery.find_server", lambda **_: None)
    assert run_command_line(["cache", "ls"]) == 5
    assert "no YAIE server runs" in capsys.readouterr().err
