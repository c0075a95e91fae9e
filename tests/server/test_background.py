"""Responses in the background: begun by one request, fetched or cancelled by others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from openai.types.responses import Response
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient, error_script
from yaie.base.errors import RequestError
from yaie.base.types import GenerationRequest, TokenDelta

URL = "/v1/responses"
SAID = "The tree 🙂 plan."


def begin(http: TestClient, **body: Any) -> Any:
    answer = http.post(URL, json={"input": "the plan?", "background": True, **body})
    assert answer.status_code == 200, answer.text
    Response.model_validate(answer.json(), strict=True)
    return answer.json()


def fetch(http: TestClient, response_id: str) -> Any:
    answer = http.get(f"{URL}/{response_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def fetch_end(http: TestClient, response_id: str) -> Any:
    """Poll as clients do: the response is found at every moment."""
    while (found := fetch(http, response_id))["status"] in ("queued", "in_progress"):
        assert found["output"] == [] and found["usage"] is None
    Response.model_validate(found, strict=True)
    return found


def hold(engine: ScriptedClient, num_first: int) -> threading.Event:
    """Let the engine say `num_first` tokens, and the others once the returned event is set."""
    goes_on = threading.Event()

    async def script(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        num_said = 0
        async for delta in engine.say(request):
            while num_said == num_first and not goes_on.is_set():
                await asyncio.sleep(0)
            yield delta
            num_said += 1

    engine.script = script
    return goes_on


def test_a_response_is_fetched_at_its_end(http: TestClient) -> None:
    begun = begin(http, metadata={"a": "b"})
    assert (begun["status"], begun["background"], begun["output"]) == ("queued", True, [])
    found = fetch_end(http, begun["id"])
    assert (found["status"], found["metadata"], found["store"]) == ("completed", {"a": "b"}, True)
    assert found["output"][0]["content"][0]["text"] == SAID
    whole = http.post(URL, json={"input": "the plan?"}).json()
    assert found["usage"] == whole["usage"]
    later = {"input": "more?", "previous_response_id": begun["id"]}
    assert http.post(URL, json=later).status_code == 200
    items = http.get(f"{URL}/{begun['id']}/input_items").json()["data"]
    assert items[0]["content"][0]["text"] == "the plan?"


def test_logprobs_are_kept(http: TestClient) -> None:
    begun = begin(http, include=["message.output_text.logprobs"], top_logprobs=1)
    (part,) = fetch_end(http, begun["id"])["output"][0]["content"]
    assert part["text"] == SAID and part["logprobs"]


@pytest.mark.parametrize("num_said", [0, 2])
def test_a_running_response_is_known_to_every_request(make_app: MakeApp, num_said: int) -> None:
    http, engine = make_app()
    first = http.post(URL, json={"input": "the tree?"}).json()
    goes_on = hold(engine, num_said)
    begun = begin(http, previous_response_id=first["id"])
    while num_said and fetch(http, begun["id"])["status"] == "queued":
        pass
    place = f"{URL}/{begun['id']}"
    items = http.get(f"{place}/input_items", params={"order": "asc"}).json()["data"]
    texts = [item["content"][0]["text"] for item in items]
    assert texts == ["the tree?", SAID, "the plan?"]
    deleted = http.delete(place)
    later = http.post(URL, json={"input": "more?", "previous_response_id": begun["id"]})
    for answer, param in ((deleted, "response_id"), (later, "previous_response_id")):
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "response_in_progress")
        assert error["param"] == param and "in progress" in error["message"]
    goes_on.set()
    assert fetch_end(http, begun["id"])["status"] == "completed"
    assert http.get(f"{place}/input_items", params={"order": "asc"}).json()["data"] == items
    assert http.delete(place).json()["deleted"] is True


def test_a_response_waits_and_then_is_in_progress(make_app: MakeApp) -> None:
    http, engine = make_app()
    goes_on = hold(engine, 0)
    begun = begin(http)
    assert fetch(http, begun["id"])["status"] == "queued"
    goes_on.set()
    assert fetch_end(http, begun["id"])["status"] == "completed"
    goes_on = hold(engine, 1)
    begun = begin(http)
    while fetch(http, begun["id"])["status"] != "in_progress":
        pass
    goes_on.set()
    assert fetch_end(http, begun["id"])["status"] == "completed"


def test_a_cancelled_response_stays_cancelled(make_app: MakeApp) -> None:
    http, engine = make_app()
    hold(engine, 1)
    begun = begin(http)
    cancelled = http.post(f"{URL}/{begun['id']}/cancel").json()
    assert cancelled["status"] == "cancelled"
    for answer in (http.get(f"{URL}/{begun['id']}"), http.post(f"{URL}/{begun['id']}/cancel")):
        assert answer.json() == cancelled
    assert len(engine.ended) == 1


@pytest.mark.parametrize("background", [True, False])
def test_a_finished_response_is_cancelled_in_the_background_only(
    make_app: MakeApp, background: bool
) -> None:
    http, _ = make_app()
    made = http.post(URL, json={"input": "a", "background": background}).json()
    finished = fetch_end(http, made["id"])
    reply = http.post(f"{URL}/{made['id']}/cancel")
    if background:
        assert (reply.status_code, reply.json()) == (200, finished)
        return
    error = reply.json()["error"]
    assert (reply.status_code, error["param"]) == (400, "response_id")
    assert "has ended" in error["message"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RequestError("it broke", 500, "request_failed"), "server_error"),
        (RequestError("the queue is full", 429, "overloaded"), "rate_limit_exceeded"),
    ],
)
def test_a_failure_is_kept(make_app: MakeApp, error: RequestError, code: str) -> None:
    http, engine = make_app()
    engine.script = error_script(error)
    found = fetch_end(http, begin(http)["id"])
    assert (found["status"], found["error"]["code"]) == ("failed", code)
    engine.script = engine.say
    assert fetch_end(http, begin(http)["id"])["status"] == "completed"


def test_the_end_of_the_server_ends_it(make_app: MakeApp) -> None:
    http, engine = make_app()
    hold(engine, 1)
    begun = begin(http)
    http.__exit__(None, None, None)
    store = http.app.state.stored_responses  # type: ignore[attr-defined]
    assert b'"status":"failed"' in store.document("", begun["id"])


def test_a_response_that_cannot_be_fetched_is_refused(http: TestClient) -> None:
    refused = http.post(URL, json={"input": "x", "background": True, "store": False})
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "background"


def test_without_a_store_it_is_refused(make_app: MakeApp) -> None:
    http, _ = make_app(response_store_bytes=0)
    refused = http.post(URL, json={"input": "x", "background": True})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "background")
    assert http.post(URL, json={"input": "x", "background": False}).status_code == 200
