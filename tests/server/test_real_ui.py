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

PREFIX = list(range(20, 84))


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


def test_the_feed_follows_the_tree_and_two_pages_get_the_same(server: Server) -> None:
    for last in (90, 91):
        complete(server, [*PREFIX, *[last] * 20])
    with following(server) as first, following(server) as second:
        assert next(first)[0] == next(second)[0] == "hello"
        trees = [until(each, lambda name, data: name == "tree") for each in (first, second)]
        assert trees[0] == trees[1]
        rows = {row[0]: row for row in trees[0]["nodes"]}
        (shared,) = [row for row in rows.values() if row[2:4] == [0, 64]]
        children = [row for row in rows.values() if row[1] == shared[0]]
        assert [row[2] for row in children] == [64, 64]
        complete(server, [*PREFIX, *[92] * 20])
        deltas = [until(each, lambda name, data: name == "delta") for each in (first, second)]
        assert deltas[0] == deltas[1]
        added = [row for row in deltas[0]["nodes"] if row[0] not in rows]
        assert [row[1:3] for row in added] == [[shared[0], 64]]
        now = until(first, lambda name, data: name == "now" and data["recent"])
        assert now["recent"][-1]["prompt"] == 84
        assert now["recent"][-1]["cached"] == 64
        assert now["window"]["missed_new"] > 0


def test_an_idle_server_asks_nothing_of_its_engine(server: Server) -> None:
    server.wait_idle()
    with following(server) as events:
        until(events, lambda name, data: name == "tree")
        names = [name for (name, _), _ in zip(events, range(6), strict=False)]
    assert set(names) == {"now"}, "the tree is not sent again"


def test_a_server_with_open_pages_stops_at_once(start: Callable[..., Server]) -> None:
    server = start()
    server.wait_ready()
    with following(server) as events:
        until(events, lambda name, data: name == "tree")
        began = time.monotonic()
        assert server.stop() in (0, -15)
        assert "graceful" not in server.log.read_text(), "no page held up the end"
        assert time.monotonic() - began < WAIT_S


def test_the_commands_show_the_same(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("YAIE_API_KEY", "YAIE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    complete(server, [*PREFIX, *[93] * 30])
    at = ["--url", server.url]
    assert run_command_line(["top", "--once", *at]) == 0
    shown = capsys.readouterr().out
    assert "of prompt tokens cached in 5 min" in shown
    assert "█" in shown
    assert run_command_line(["cache", "stats", *at]) == 0
    text = capsys.readouterr().out
    stats = server.stats()["stats"]
    assert f"{stats['cached_tokens']:,} of {stats['prompt_tokens']:,} prompt tokens" in text
    assert run_command_line(["cache", "stats", "--json", *at]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["missed_new_tokens"] == stats["missed_new_tokens"] > 0
    missed = [found[f"missed_{name}_tokens"] for name in ("new", "changed", "evicted")]
    computed = stats["prompt_tokens"] - stats["cached_tokens"]
    assert sum(missed) <= computed <= sum(missed) + stats["num_admitted"]


def test_a_changed_prompt_and_an_evicted_one_are_told_apart(start: Callable[..., Server]) -> None:
    server = start(YAIE_ADMIN_KEY="root")
    server.wait_ready()
    missed = "missed_{}_tokens"

    def grown(prompt: list[int]) -> dict[str, int]:
        before = server.stats()["stats"]
        complete(server, prompt)
        server.wait_idle()
        after = server.stats()["stats"]
        names = [missed.format(name) for name in ("new", "changed", "evicted")]
        return {name.split("_")[1]: after[name] - before[name] for name in names}

    rest = [7 + at % 300 for at in range(400)]
    assert grown([*PREFIX, 5, *rest]) == {"new": 465, "changed": 0, "evicted": 0}
    assert grown([*PREFIX, 6, *rest]) == {"new": 0, "changed": 401, "evicted": 0}
    server.post("/v1/cache/flush", {}, headers={"Authorization": "Bearer root"})
    found = grown([*PREFIX, 6, *rest])
    assert found["evicted"] >= 448
    assert sum(found.values()) == 465
