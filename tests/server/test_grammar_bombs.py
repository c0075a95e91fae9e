"""Grammar bombs on a real server: each is answered, memory is bounded, other streams continue.

`YAIE_TEST_BOMB_LOG` names a file for the measured times; a test asserts no seconds but a hang's.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.server.real_server import WAIT_S, Server

pytestmark = pytest.mark.integration

AMBIGUOUS = 'start: s\ns: s s s | s s | "a"'
WORDS = [f"value-{number * 7919 % 10007}-{number}" for number in range(3000)]
DEEP: dict[str, Any] = {"type": "integer"}
for _ in range(30):
    DEEP = {"type": "object", "properties": {"a": DEEP}, "required": ["a"]}

BOMBS: dict[str, tuple[dict[str, Any], str | None]] = {  # body, words of its error
    "nested parentheses": ({"guided_regex": "(" * 30_000 + "a" + ")" * 30_000}, "levels deep"),
    "nested stars": ({"guided_regex": "((a+)+)+b"}, None),
    "repeated literal": ({"guided_regex": "(c{901}){1000}"}, "too costly to compile"),
    "late repeated literal": ({"guided_regex": "abcdefghijkl(c{901}){1000}"}, "too costly"),
    "huge count": ({"guided_regex": "a{1,1000000000}"}, None),
    "long class": ({"guided_regex": r"[\w]{100000}"}, None),
    "reference to itself": ({"guided_json": {"$ref": "#"}}, "endless"),
    "required recursion": (
        {
            "guided_json": {
                "type": "object",
                "properties": {"child": {"$ref": "#"}},
                "required": ["child"],
            }
        },
        "endless",
    ),
    "ambiguous": ({"guided_grammar": AMBIGUOUS, "max_tokens": 400}, "too costly at output token"),
    "ambiguous, 8 answers": (
        {"guided_grammar": AMBIGUOUS, "max_tokens": 400, "n": 8},
        "too costly",
    ),
    "endless rule": ({"guided_grammar": "start: a\na: b\nb: a"}, "no finite text"),
    "many alternatives": (
        {"guided_grammar": "start: " + " | ".join(f'"a{n}" "b"' for n in range(3000))},
        "too many alternatives",
    ),
    "huge enum": ({"guided_json": {"enum": WORDS}}, None),
    "deep schema": ({"guided_json": DEEP}, None),
    "states without end": ({"guided_regex": "(.{1,30}a){30}", "temperature": 1}, None),
}


def resident_mib(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                total += int(line.split()[1])
    return total / 1024


def ask(server: Server, body: dict[str, Any]) -> requests.Response:
    defaults = {"prompt": "answer: ", "temperature": 0, "max_tokens": 40, "ignore_eos": True}
    return server.post("/v1/completions", defaults | body)


def test_bombs_are_answered_and_the_memory_is_bounded(server: Server) -> None:
    ask(server, {"guided_regex": "[ab]{3}"})
    engine = server.engine_pid()
    before = resident_mib([engine])
    times = {}
    for name, (body, words) in BOMBS.items():
        began_s = time.monotonic()
        answer = ask(server, body)
        times[name] = round(time.monotonic() - began_s, 2)
        if words is None:
            assert answer.status_code == 200, answer.text
        else:
            assert answer.status_code == 400, (name, answer.text)
            assert words in answer.json()["error"]["message"]
    assert resident_mib([engine]) < before + 96
    for number in range(10):
        letter = chr(ord("d") + number)
        assert ask(server, {"guided_regex": f"({letter}{{90{number}}}){{1000}}"}).status_code == 400
    grown = resident_mib([engine]) - before
    assert grown < 96
    assert server.engine_pid() == engine
    assert ask(server, {"guided_json": {"type": "boolean"}}).json()["choices"][0]["text"] in (
        "true",
        "false",
    )
    if log := os.environ.get("YAIE_TEST_BOMB_LOG"):
        Path(log).write_text(json.dumps({"seconds": times, "engine_growth_mib": grown}, indent=1))


@pytest.mark.parametrize("name", ["ambiguous", "repeated literal"])
def test_a_stream_continues_while_a_bomb_is_computed(server: Server, name: str) -> None:
    """Its tokens arrive between the bomb's start and its end, and are those without a bomb."""
    plain = {"prompt": "a plain one: ", "max_tokens": 300}
    expected = ask(server, plain).json()["choices"][0]["text"]
    ended = threading.Event()

    def send() -> None:
        body, _ = BOMBS[name]
        ask(server, body | {"prompt": f"bomb of {name}: "})
        ended.set()

    bomb = threading.Thread(target=send)
    bomb.start()
    num_rounds = 0
    while not ended.is_set() or not num_rounds:
        assert ask(server, plain).json()["choices"][0]["text"] == expected
        num_rounds += 1
    bomb.join(WAIT_S)


def test_an_error_in_a_stream_is_an_event(server: Server) -> None:
    body, words = BOMBS["ambiguous"]
    answer = ask(server, body | {"stream": True})
    assert answer.status_code == 200
    events = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    assert words is not None
    assert words in json.loads(events[-1].removeprefix("data: "))["error"]["message"]
