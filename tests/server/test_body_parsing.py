"""Parsing of bodies: JSON, media types and pydantic's errors in our words."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from tests.server.bad_bodies import CASES, CHAT, IDS, TEXT, check_error, good
from yaie.base.errors import InvalidRequest, YaieError
from yaie.server.http import body
from yaie.server.http.body_memory import SHORT_BYTES, BodyMemory
from yaie.server.http.middleware import BodyLimit


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"5",
        b"true",
        b'{"prompt": "x"} more',
        b"{'prompt': 'x'}",
        b'{"prompt": "x", "temperature": NaN}',
        b'{"prompt": "x", "temperature": Infinity}',
        b'{"prompt": "x", "temperature": -Infinity}',
        b'{"prompt": "x", "temperature": 1e999}',
        b'{"prompt": "\xff\xfe"}',
        b'{"prompt": "\xc3"}',
        b"\xef\xbb\xbf{}",
        '{"prompt": "x"}'.encode("utf-16"),
        b'{"prompt": "\\ud800"}',
        b'{"prompt": "x", "stop": "\\udc00"}',
        b'{"prompt": "x", "user": "\\ud83d"}',
        b"[" * 100_000,
        b'{"prompt": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b'{"prompt": "x", "seed": ' + b"9" * 10_000 + b"}",
        b'{"prompt": "a\nb"}',
        b"\x00",
        b"prompt=x",
    ],
)
@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_invalid_json_is_refused(shared_http: TestClient, path: str, raw: bytes) -> None:
    response = shared_http.post(path, content=raw, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    check_error(response)


def test_deep_nesting_that_json_can_read(http: TestClient) -> None:
    for inner in ('"x"', '"\\ud83d\\ude42"'):
        deep = '{"a":[' * 450 + inner + "]}" * 450
        function = f'{{"name": "f", "parameters": {deep}}}'
        combined = function.replace('"a"', '"allOf"')
        for fields in (
            f'"tools": [{deep}]',
            f'"messages": [{deep}]',
            f'"messages": [{{"role": "user", "content": "x", "extra": {deep}}}]',
            f'"metadata": {deep}',
            f'"chat_template_kwargs": {{"shout": {deep}}}',
            f'"tools": [{{"type": "function", "function": {function}}}]',
            f'"tools": [{{"type": "function", "function": {combined}}}], "tool_choice": "required"',
        ):
            messages = '"messages": [{"role": "user", "content": "x"}]'
            body = f"{{{messages}, {fields}}}"
            response = http.post(
                CHAT, content=body.encode(), headers={"Content-Type": "application/json"}
            )
            assert response.status_code < 500, fields[:40]


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_wrong_media_types(http: TestClient, headers: dict[str, str]) -> None:
    response = http.post(TEXT, content=b'{"prompt": "x"}', headers=headers)
    assert response.status_code == 415
    assert check_error(response)["code"] == "unsupported_media_type"


@pytest.mark.parametrize(
    ("body", "headers", "said"),
    [
        (b"", {}, "the body is empty; send"),
        (b" \n", {}, "the body is empty; send"),
    ],
)
def test_an_empty_body_is_named(
    http: TestClient, body: bytes, headers: dict[str, str], said: str
) -> None:
    response = http.post(CHAT, content=body, headers={"Content-Type": "application/json"} | headers)
    assert response.status_code == 400
    assert said in check_error(response)["message"]


def test_a_byte_order_mark_is_passed_over(http: TestClient) -> None:
    body = b"\xef\xbb\xbf" + json.dumps(good(CHAT)).encode()
    response = http.post(CHAT, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 200


def test_long_lists_are_refused_before_their_entries(
    http: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_errors = []
    refusal = body.refusal

    def counted(error: ValidationError) -> InvalidRequest:
        num_errors.append(error.error_count())
        return refusal(error)

    monkeypatch.setattr(body, "refusal", counted)
    for field in ({"stop_token_ids": ["a"] * 5000}, {"logit_bias": dict.fromkeys(IDS, "a")}):
        response = http.post(TEXT, json={**good(TEXT), **field})
        assert "5000 entries" in check_error(response)["message"]
    assert num_errors == [1, 1]


@pytest.mark.parametrize(
    ("path", "fields", "message"),
    [
        (TEXT, {"max_tokens": "x"}, "max_tokens must be an integer, got 'x'"),
        (TEXT, {"max_tokens": 2.5}, "max_tokens must be an integer, got 2.5"),
        (TEXT, {"max_tokens": "9" * 99}, f"max_tokens must be an integer, got '{'9' * 39}…"),
        (TEXT, {"n": True}, "n must be an integer, got a boolean"),
        (TEXT, {"temperature": [1]}, "temperature must be a number, got a list"),
        (TEXT, {"stream": 1}, "stream must be a boolean, got 1"),
        (TEXT, {"model": 5}, "model must be a string, got 5"),
        (TEXT, {"logit_bias": [1]}, "logit_bias must be an object, got a list"),
        (TEXT, {"logit_bias": {"5": {}}}, "logit_bias.5 must be a number, got an object"),
        (TEXT, {"stop_token_ids": [5, "6"]}, "stop_token_ids[1] must be an integer, got '6'"),
        (TEXT, {"stop_token_ids": [1] * 1025}, "stop_token_ids has 1025 entries; at most 1024 are"),
        (TEXT, {"stream_options": 3}, "stream_options must be an object, got 3"),
        (CHAT, {"messages": None}, "messages must be a list, got null"),
        (CHAT, {"reasoning_effort": "x" * 33}, "reasoning_effort must have at most 32 characters"),
    ],
)
def test_errors_of_the_schema_are_in_our_words(
    http: TestClient, path: str, fields: dict[str, Any], message: str
) -> None:
    error = check_error(http.post(path, json={**good(path), **fields}))
    assert error["message"].startswith(message)


def test_a_missing_field_is_named(http: TestClient) -> None:
    assert check_error(http.post(CHAT, json={}))["message"] == "messages is required"
    assert check_error(http.post(TEXT, json={}))["message"] == "prompt is required"


def test_an_infinite_number_is_refused(http: TestClient) -> None:
    raw = b'{"prompt": "x", "temperature": 1e999}'
    response = http.post(TEXT, content=raw, headers={"Content-Type": "application/json"})
    assert check_error(response)["message"] == "temperature must be a finite number, got inf"


def test_no_error_speaks_in_pydantics_voice(http: TestClient) -> None:
    for path, fields, _ in CASES:
        assert "Input should" not in http.post(path, json={**good(path), **fields}).text


class HeldBody:
    """A request whose body arrives in `parts`, and an application that answers when told."""

    def __init__(self, *parts: int, declared: int | None = None, path: str = "/v1/x") -> None:
        length = [] if declared is None else [(b"content-length", str(declared).encode())]
        self.scope: Scope = {"type": "http", "path": path, "root_path": "", "headers": length}
        self.parts = list(parts)
        self.status = 0
        self.may_end = asyncio.Event()

    async def receive(self) -> Message:
        part = self.parts.pop(0)
        return {"type": "http.request", "body": b"x" * part, "more_body": bool(self.parts)}

    async def send(self, message: Message) -> None:
        self.status = message.get("status", self.status)


async def answer_when_told(scope: Scope, receive: Receive, send: Send) -> None:
    held: HeldBody = scope["held"]
    try:
        while (await receive())["more_body"]:
            pass
    except YaieError as error:
        held.status = error.status
        return
    await held.may_end.wait()
    await send({"type": "http.response.start", "status": 200, "headers": []})


async def _states(layer: BodyLimit, held: list[HeldBody]) -> list[int]:
    """Begin every request in turn; return the statuses before the first one ends."""
    tasks = []
    for each in held:
        scope = {**each.scope, "held": each}
        tasks.append(asyncio.create_task(layer(scope, each.receive, each.send)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    found = [each.status for each in held]
    for each in held:
        each.may_end.set()
    await asyncio.gather(*tasks)
    return found


def test_bodies_have_a_common_limit() -> None:
    """By declared length or while they arrive; short ones are always read."""
    big = 10 * SHORT_BYTES

    async def run() -> None:
        larger = {"/v1/files": 100 * big}
        layer = BodyLimit(answer_when_told, big, BodyMemory(big, 3 * big), larger)
        requests = [HeldBody(big, declared=big), HeldBody(big), HeldBody(big // 2, big // 2)]
        late = [HeldBody(big, declared=big), HeldBody(*[big // 4] * 4), HeldBody(SHORT_BYTES)]
        stored = HeldBody(50 * big, declared=50 * big, path="/v1/files")
        assert await _states(layer, [*requests, *late, stored]) == [0, 0, 0, 429, 429, 0, 0]
        assert [each.status for each in requests] == [200] * 3
        assert await _states(layer, [HeldBody(big) for _ in range(3)]) == [0] * 3  # all is free

    asyncio.run(run())
