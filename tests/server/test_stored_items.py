"""Stored items that a few bytes name: they count as if the client had sent them."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.test_background import begin, fetch_end, hold
from yaie.server.http.body_memory import SHORT_BYTES
from yaie.server.models.service import Service
from yaie.server.responses_api import responses_translation
from yaie.server.responses_api.items import InputRead, read_input
from yaie.server.responses_api.response_store import Item, Link
from yaie.server.responses_api.stored_items import StoredItems
from yaie.server.schemas.responses import ResponsesBody

URL = "/v1/responses"
QUESTION = {"role": "user", "content": "the plan?"}


def thought(num_chars: int) -> dict[str, Any]:
    """Return an item that no template shows."""
    text = {"type": "summary_text", "text": "x" * num_chars}
    return {"type": "reasoning", "id": "rs_1", "summary": [text]}


def service_of(http: TestClient) -> Service:
    found: Service = http.app.state.service  # type: ignore[attr-defined]
    return found


def test_items_named_often_have_the_size_of_one_body_at_most(make_app: MakeApp) -> None:
    http, _ = make_app(max_body_bytes=100_000)
    assert http.post(URL, json={"input": [thought(40_000), QUESTION]}).status_code == 200
    reference = {"type": "item_reference", "id": "rs_1"}
    assert http.post(URL, json={"input": [reference] * 2 + [QUESTION]}).status_code == 200
    refused = http.post(URL, json={"input": [reference] * 500 + [QUESTION]})
    assert refused.status_code == 400, refused.text
    error = refused.json()["error"]
    assert error["param"] == "input" and "more than 100000 bytes" in error["message"]


def test_stored_items_and_conversations_count_with_the_bodies(make_app: MakeApp) -> None:
    http, _ = make_app()
    memory = service_of(http).body_memory
    first = http.post(URL, json={"input": [thought(2 * SHORT_BYTES), QUESTION]}).json()
    memory.max_bytes = SHORT_BYTES
    for body in (
        {"input": "more?", "previous_response_id": first["id"]},
        {"input": [{"type": "item_reference", "id": "rs_1"}, QUESTION]},
    ):
        refused = http.post(URL, json=body)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1"), refused.text
    assert http.post(URL, json={"input": "the plan?"}).status_code == 200
    assert memory.num_bytes == 0


def test_a_request_that_has_ended_counts_no_more_items(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text thread cannot be stopped, and reads an item after the request timed out."""
    http, _ = make_app()
    memory = service_of(http).body_memory
    first = http.post(URL, json={"input": [thought(2 * SHORT_BYTES), QUESTION]}).json()
    begins, has_ended, is_over = threading.Event(), threading.Event(), threading.Event()
    find, conversation = StoredItems.find, responses_translation._conversation

    def wait() -> None:
        begins.set()
        has_ended.wait(30)

    def find_late(items: StoredItems, item_id: str) -> Item | None:
        wait()
        try:
            return find(items, item_id)
        finally:
            is_over.set()

    def continue_late(body: ResponsesBody) -> Link | None:
        if body.previous_response_id is None:
            return None
        wait()
        try:
            return conversation(body)
        finally:
            is_over.set()

    monkeypatch.setattr(StoredItems, "find", find_late)
    monkeypatch.setattr(responses_translation, "_conversation", continue_late)
    for body in (
        {"input": [{"type": "item_reference", "id": "rs_1"}, QUESTION]},
        {"input": "more?", "previous_response_id": first["id"]},
    ):
        for event in (begins, has_ended, is_over):
            event.clear()
        while not begins.is_set():  # a request may end before it has a thread
            timed_out = http.post(URL, json={**body, "request_timeout_s": 0.02})
            assert timed_out.status_code == 504, timed_out.text
        has_ended.set()
        assert is_over.wait(30)
        assert memory.num_bytes == 0


def test_bodies_that_name_stored_items_have_the_threads_of_long_texts(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, _ = make_app()
    first = http.post(URL, json={"input": [thought(10), QUESTION]}).json()
    reference = {"type": "item_reference", "id": "rs_1"}
    bodies: list[tuple[dict[str, Any], str]] = [
        ({"input": [QUESTION]}, "short"),
        ({"input": ["text", QUESTION]}, "short"),
        ({"input": "more?", "previous_response_id": first["id"]}, "long"),
        ({"input": [QUESTION, reference]}, "long"),
    ]
    threads: list[str] = []

    def read_there(*arguments: Any) -> InputRead:
        threads.append(threading.current_thread().name)
        return read_input(*arguments)

    monkeypatch.setattr(responses_translation, "read_input", read_there)
    for url in (URL, f"{URL}/input_tokens"):
        for body, lane in bodies:
            http.post(url, json=body)
            assert threads.pop().startswith(f"yaie-text-{lane}"), body


def test_a_response_in_the_background_holds_its_body(make_app: MakeApp) -> None:
    http, engine = make_app()
    goes_on = hold(engine, 1)
    memory = service_of(http).body_memory
    begun = begin(http, input=[thought(2 * SHORT_BYTES), QUESTION])
    assert memory.num_bytes > 2 * SHORT_BYTES
    goes_on.set()
    assert fetch_end(http, begun["id"])["status"] == "completed"
    while memory.num_bytes:  # until its generation is closed
        fetch_end(http, begun["id"])
