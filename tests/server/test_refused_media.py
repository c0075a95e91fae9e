"""Images, audio, video and files in requests: a 400 that names the part and the text it reads.

An image in a tool's result, which no client can take back, is a note.
"""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from yaie.server.requests.checks import IMAGE_NOTE

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
DATA = "data:image/png;base64,iVBORw0KGgo="
TEXT = {"type": "text", "text": "what is this?"}
IN_CHAT = (
    {"type": "image_url", "image_url": {"url": DATA, "detail": "high"}},
    {"type": "image_url", "image_url": "https://x.example/a.png"},
    {"type": "image", "image": DATA},
    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    {"type": "audio_url", "audio_url": {"url": DATA}},
    {"type": "video_url", "video_url": {"url": DATA}},
    {"type": "file", "file": {"file_id": "file-1"}},
)
IN_RESPONSES = (
    {"type": "input_image", "image_url": DATA, "detail": "auto"},
    {"type": "input_image", "file_id": "file-1"},
    {"type": "input_file", "filename": "a.pdf", "file_data": DATA},
    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
)
IN_MESSAGES = (
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
    {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf"}},
)
Body = dict[str, Any]


def of_user(*parts: Body) -> list[Body]:
    return [{"role": "user", "content": [*parts]}]


def bodies() -> list[Any]:
    found: list[tuple[str, Body, Body, str]] = []
    for part in IN_CHAT:
        found.append((CHAT, part, {"messages": of_user(TEXT, part)}, "messages[0].content[1]"))
        result = {"role": "tool", "tool_call_id": "a", "content": [part]}
        call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        asked = {"role": "assistant", "tool_calls": [call]}
        turns = [*of_user(TEXT), asked, result]
        found.append((CHAT, part, {"messages": turns}, "messages[2].content[0]"))
    for part in IN_RESPONSES:
        text = {"type": "input_text", "text": "what?"}
        found.append((RESPONSES, part, {"input": of_user(text, part)}, "input[0].content[1]"))
    for part in IN_MESSAGES:
        found.append((MESSAGES, part, {"messages": of_user(TEXT, part)}, "messages[0].content[1]"))
        if part["type"] == "image":
            continue
        result = {"type": "tool_result", "tool_use_id": "a", "content": [part]}
        use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
        turns = [*of_user(TEXT), {"role": "assistant", "content": [use]}, *of_user(result)]
        found.append((MESSAGES, part, {"messages": turns}, "messages[2].content[0].content[0]"))
    return [pytest.param(*each, id=f"{each[0]} {each[1]['type']} {each[3]}") for each in found]


@pytest.mark.parametrize(("path", "part", "body", "where"), bodies())
def test_other_parts_than_text_are_refused(
    path: str, part: Body, body: Body, where: str, make_app: MakeApp
) -> None:
    http, engine = make_app()
    limit = {} if path == RESPONSES else {"max_tokens": 9}
    for stream in (False, True):
        response = http.post(path, json={"stream": stream, **limit, **body})
        assert response.status_code == 400, response.text
        message = response.json()["error"]["message"]
        assert f"{where}.type is {part['type']!r}" in message
        assert "text" in message
    assert engine.requests == []


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
@pytest.mark.parametrize("image", IN_RESPONSES[:2])
def test_an_image_in_a_result_of_responses_is_a_note(
    kind: str, image: Body, make_app: MakeApp
) -> None:
    http, engine = make_app()
    field = "arguments" if kind == "function_call" else "input"
    items = [
        {"role": "user", "content": "see"},
        {"type": kind, "call_id": "a", "name": "view_image", field: "{}"},
        {
            "type": f"{kind}_output",
            "call_id": "a",
            "output": [{"type": "input_text", "text": "saved"}, image],
        },
    ]
    reply = http.post(RESPONSES, json={"input": items})
    assert reply.status_code == 200, reply.text
    assert reply.headers["x-yaie-ignored-params"] == "input.input_image"
    later = {"input": "and now?", "previous_response_id": reply.json()["id"]}
    assert http.post(RESPONSES, json=later).status_code == 200
    assert len(engine.requests) == 2
    counted = http.post(f"{RESPONSES}/input_tokens", json={"input": items})
    assert counted.status_code == 200
    assert counted.json()["input_tokens"] == len(engine.requests[0].prompt_token_ids)


@pytest.mark.parametrize("image", IN_MESSAGES[:2])
def test_an_image_in_a_result_of_messages_is_a_note(image: Body, make_app: MakeApp) -> None:
    http, engine = make_app()
    use = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    asked = [*of_user(TEXT), {"role": "assistant", "content": [use]}]

    def send(*content: Body) -> Any:
        result = {"type": "tool_result", "tool_use_id": "a", "content": [*content]}
        reply = http.post(MESSAGES, json={"max_tokens": 9, "messages": [*asked, *of_user(result)]})
        assert reply.status_code == 200, reply.text
        return reply

    assert send(TEXT, image).headers["x-yaie-ignored-params"] == "messages.image"
    written = send(TEXT, {"type": "text", "text": IMAGE_NOTE})
    assert "x-yaie-ignored-params" not in written.headers
    noted, told = engine.requests
    assert noted.prompt_token_ids == told.prompt_token_ids


def test_the_rest_of_the_chat_api(http: TestClient) -> None:
    """Rendering and counting refuse what generating refuses."""
    body = {"messages": of_user(TEXT, IN_CHAT[0])}
    assert http.post(f"{CHAT}/render", json=body).status_code == 400
    image = {"messages": of_user(TEXT, IN_MESSAGES[0])}
    assert http.post(f"{MESSAGES}/count_tokens", json=image).status_code == 400
    parts = {"input": of_user(IN_RESPONSES[0])}
    assert http.post(f"{RESPONSES}/input_tokens", json=parts).status_code == 400
    assert http.post(CHAT, json=body | {"modalities": ["text", "audio"]}).status_code == 400


def test_a_model_is_listed_as_reading_text(http: TestClient) -> None:
    (model,) = http.get("/v1/models").json()["data"]
    assert model["capabilities"]["input_modalities"] == ["text"]
