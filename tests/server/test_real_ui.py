"""The feed of `/ui` on a real server, and the commands that read it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests

from tests.server.real_server import WAIT_S, Server
from yaie.cli.main import run_command_line

pytestmark = pytest.mark.integration

# Other tests ask the same server: none of their prompts begins with this token.
PREFIX = [411, *range(20, 83)]
MISSED = [f"missed_{kind}_tokens" for kind in ("new", "changed", "evicted")]


@contextmanager
def following(server: Server, **headers: str) -> Iterator[Iterator[tuple[str, Any]]]:
    """Follow the feed: pairs of an event's name and its data."""

    def events(reply: requests.Response) -> Iterator[tuple[str, Any]]:
        name = ""
        for line in reply.iter_lines():
            if line.startswith(b"event: "):
                name = line[7:].decode()
            elif line.startswith(b"data: "):
                yield name, json.loads(line[6:])

    reply = requests.get(f"{server.url}/ui/events", headers=headers, stream=True, timeout=WAIT_S)
    with reply:
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        yield events(reply)


def until(events: Iterator[tuple[str, Any]], is_so: Callable[[str, Any], Any]) -> Any:
    end = time.monotonic() + WAIT_S
    for name, data in events:
        if is_so(name, data):
            return data
        assert time.monotonic() < end
    raise AssertionError("the feed ended")


def complete(server: Server, prompt: Any, **fields: Any) -> Any:
    answer = server.post("/v1/completions", {"prompt": prompt, "max_tokens": 2, **fields})
    assert answer.status_code == 200
    return answer.json()


def grown(server: Server, prompt: list[int]) -> dict[str, int]:
    """Return what a prompt adds to the engine's counts, which are published after it."""
    server.wait_idle()
    before = server.stats()["stats"]
    complete(server, prompt)
    expected = before["prompt_tokens"] + len(prompt)

    def after() -> Any:
        stats = server.stats()["stats"]
        return stats if stats["prompt_tokens"] >= expected else None

    found = server.wait_until(after, "the prompt is counted")
    assert found["prompt_tokens"] == expected, "no other request runs"
    return {name: found[name] - before[name] for name in (*MISSED, "cached_tokens")}


def test_the_feed_follows_the_tree_and_two_pages_get_the_same(server: Server) -> None:
    for last in (90, 91):
        complete(server, [*PREFIX, *[last] * 100])
    server.wait_idle()
    with following(server) as first, following(server) as second:
        assert next(first)[0] == next(second)[0] == "hello"
        trees = [until(each, lambda name, data: name == "tree") for each in (first, second)]
        assert trees[0] == trees[1]
        rows = {row[0]: row for row in trees[0]["nodes"]}
        parents = {row[1] for row in rows.values()}
        (shared,) = [
            row
            for row in rows.values()
            if row[2:4] == [0, 64] and row[0] in parents and row[4] == 2
        ]
        children = [row for row in rows.values() if row[1] == shared[0]]
        assert [row[2] for row in children] == [64, 64]
        complete(server, [*PREFIX, *[92] * 100])

        def is_there(name: str, data: Any) -> bool:
            return name == "delta" and any(row[1] == shared[0] for row in data["nodes"])

        deltas = [until(each, is_there) for each in (first, second)]
        assert deltas[0] == deltas[1]
        added = [row for row in deltas[0]["nodes"] if row[0] not in rows]
        assert [row[1:3] for row in added] == [[shared[0], 64]]
        now = until(first, lambda name, data: name == "now" and data["recent"])
        assert now["recent"][-1]["prompt"] == 164
        assert now["recent"][-1]["cached"] == 64
        assert now["window"]["missed_new"] > 0
        server.wait_idle()
        until(first, lambda name, data: name == "now" and not data["running"])
        names = [name for (name, _), _ in zip(first, range(4), strict=False)]
        assert set(names) == {"now"}, "an idle server's tree is not sent again"


def test_the_commands_show_the_same(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("YAIE_API_KEY", "YAIE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    found = grown(server, [*PREFIX, *[93] * 30])
    missed = sum(found[name] for name in MISSED)
    computed = 94 - found["cached_tokens"]
    assert missed <= computed <= missed + 1
    at = ["--url", server.url]
    assert run_command_line(["top", "--once", *at]) == 0
    shown = capsys.readouterr().out
    assert "of prompt tokens cached in 5 min" in shown
    assert "█" in shown
    stats = server.stats()["stats"]
    assert run_command_line(["cache", "stats", *at]) == 0
    text = capsys.readouterr().out
    assert f"{stats['cached_tokens']:,} of {stats['prompt_tokens']:,} prompt tokens" in text
    assert run_command_line(["cache", "stats", "--json", *at]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [told[name] for name in MISSED] == [stats[name] for name in MISSED]
