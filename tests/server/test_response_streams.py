"""Streams of a response by its id: of stored ones, and of ones that other requests began."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import error_script
from tests.server.test_background import begin, hold
from tests.server.test_responses import EVENT, URL, ask, events_of
from yaie.base.errors import RequestError
from yaie.server.responses_api import response_object
from yaie.server.responses_api.client_tools import ClientTools
from yaie.server.responses_api.output_items import Cuts, OutputItems, replay
from yaie.text.output_parts import Part, ReasoningPart, TextPart, ToolCallPart

Events = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def holds_no_other_request(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The events that a reader missed are written in threads: a long response has many."""
    on_loop: list[bool] = []

    def noted(document: dict[str, Any], cuts: Cuts) -> Iterator[dict[str, Any]]:
        for event in replay(document, cuts):
            on_loop.append(asyncio._get_running_loop() is not None)
            yield event

    monkeypatch.setattr(response_object, "replay", noted)
    yield
    assert not any(on_loop)


def read(text: str) -> Events:
    events = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
        EVENT.validate_python(events[-1])
    return events


def stream(http: TestClient, response_id: str, **query: Any) -> Events:
    answer = http.get(f"{URL}/{response_id}", params={"stream": "true", **query})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return read(answer.text) if answer.text else []


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"include": ["message.output_text.logprobs"], "top_logprobs": 2},
        {"max_output_tokens": 2},
    ],
)
def test_a_stored_stream_is_repeated_from_any_event(http: TestClient, fields: Any) -> None:
    events = events_of(http, **fields)
    response_id = events[0]["response"]["id"]
    assert stream(http, response_id) == events
    for after in (0, 3, len(events) - 2):
        assert stream(http, response_id, starting_after=after) == events[after + 1 :]
    assert stream(http, response_id, starting_after=99) == []


def test_a_whole_response_has_a_stream_too(http: TestClient) -> None:
    whole = ask(http)
    events = stream(http, whole["id"])
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[0]["type"] == "response.created"
    assert (events[-1]["type"], events[-1]["response"]) == ("response.completed", whole)


@pytest.mark.parametrize("after", [None, 0, 4])
def test_a_stream_in_progress_is_followed(make_app: MakeApp, after: int | None) -> None:
    http, engine = make_app()
    goes_on = hold(engine, 3)
    query = {} if after is None else {"starting_after": after}
    with ThreadPoolExecutor() as threads:
        own = threads.submit(events_of, http)
        store = http.app.state.stored_responses  # type: ignore[attr-defined]
        while not (running := list(store._running.values())) or not running[0]._num_events:
            pass
        response_id = running[0].call.response_id
        followed = threads.submit(stream, http, response_id, **query)
        while not running[0]._followers:
            pass
        goes_on.set()
        events = own.result()
    first = 0 if after is None else after + 1
    assert followed.result() == events[first:] == stream(http, response_id, **query)


@pytest.mark.parametrize("after", [None, 2])
def test_a_response_in_the_background_is_followed(make_app: MakeApp, after: int | None) -> None:
    http, engine = make_app()
    goes_on = hold(engine, 1)
    begun = begin(http)
    query = {} if after is None else {"starting_after": after}
    with ThreadPoolExecutor() as threads:
        followed = threads.submit(stream, http, begun["id"], **query)
        store = http.app.state.stored_responses  # type: ignore[attr-defined]
        while not store.running("", begun["id"])._followers:
            pass
        goes_on.set()
    events = followed.result()
    assert events == stream(http, begun["id"], **query)
    assert events[-1]["response"]["status"] == "completed"


def test_a_stream_in_the_background_outlives_its_client(make_app: MakeApp) -> None:
    http, engine = make_app()
    events = events_of(http, background=True)
    assert events[-1]["response"]["status"] == "completed"
    assert events[-1]["response"]["background"] is True
    assert stream(http, events[0]["response"]["id"]) == events
    goes_on = hold(engine, 3)
    body = {"input": "the plan?", "background": True, "stream": True}

    async def first_event() -> Any:
        """Read the first event as a client that disconnects then."""
        sent: list[bytes] = []
        asked = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

        async def receive() -> Any:
            while not asked and not b"".join(sent).count(b"\n\n"):
                await asyncio.sleep(0)
            return asked.pop() if asked else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))

        scope = {
            "type": "http",
            "method": "POST",
            "path": URL,
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
            "http_version": "1.1",
        }
        await http.app(scope, receive, send)
        return read(b"".join(sent).decode())[0]

    begun = http.portal.call(first_event)  # type: ignore[union-attr]
    assert begun["type"] == "response.created"
    goes_on.set()
    rest = stream(http, begun["response"]["id"], starting_after=0)
    assert rest[-1]["response"]["status"] == "completed"
    assert [event["sequence_number"] for event in rest] == list(range(1, len(rest) + 1))


def test_other_ends_reach_the_followers(make_app: MakeApp) -> None:
    http, engine = make_app()
    hold(engine, 1)
    begun = begin(http)
    store = http.app.state.stored_responses  # type: ignore[attr-defined]
    with ThreadPoolExecutor() as threads:
        followed = threads.submit(stream, http, begun["id"])
        while not store.running("", begun["id"])._followers:
            pass
        cancelled = http.post(f"{URL}/{begun['id']}/cancel").json()
        assert followed.result()[-1] == {
            "type": "response.incomplete",
            "sequence_number": followed.result()[-1]["sequence_number"],
            "response": cancelled,
        }
    engine.script = error_script(RequestError("it broke", 500, "request_failed"))
    begun = begin(http)
    while http.get(f"{URL}/{begun['id']}").json()["status"] != "failed":
        pass
    *_, error, failed = stream(http, begun["id"])
    assert (error["type"], error["code"]) == ("error", "server_error")
    assert failed["response"]["status"] == "failed"


parts = st.lists(
    st.one_of(
        st.text("ab🙂", max_size=3).map(TextPart),
        st.text("ab", max_size=3).map(ReasoningPart),
        st.builds(
            ToolCallPart,
            index=st.integers(0, 1),
            name=st.just("f"),
            arguments=st.text("{}", max_size=2),
            call_id=st.just("c"),
        ),
    ),
    max_size=8,
)


@given(
    pushed=st.lists(st.tuples(parts, st.integers(0, 2)), max_size=5),
    status=st.sampled_from(["completed", "incomplete", None]),
)
def test_the_events_of_items_are_put_together_once_more(
    pushed: list[tuple[list[Part], int]], status: Any
) -> None:
    made = OutputItems(ClientTools().find)
    events = []
    for given_parts, num_logprobs in pushed:
        events += made.push(given_parts, [{"logprob": -1.0}] * num_logprobs)
    if status is not None:
        events += made.end(status)
    document = {"id": "r", "status": "in_progress", "output": made.items()}
    again = list(replay(document, made.cuts()))[2:]
    assert again == events


def test_readers_that_leave_are_forgotten_and_their_number_is_limited(make_app: MakeApp) -> None:
    http, engine = make_app()
    goes_on = hold(engine, 1)
    begun = begin(http)
    running = http.app.state.stored_responses.running("", begun["id"])  # type: ignore[attr-defined]

    async def leave() -> None:
        reading = asyncio.create_task(anext(aiter(running.follow(-1))))
        await asyncio.sleep(0.01)
        assert len(running._followers) == 1
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    async def follow_often() -> None:
        for _ in range(response_object.MAX_READERS):
            running.follow(-1)

    http.portal.call(leave)  # type: ignore[union-attr]
    assert not running._followers
    http.portal.call(follow_often)  # type: ignore[union-attr]
    refused = http.get(f"{URL}/{begun['id']}", params={"stream": "true"})
    assert refused.status_code == 429, refused.text
    goes_on.set()
    while http.get(f"{URL}/{begun['id']}").json()["status"] != "completed":
        pass
    assert stream(http, begun["id"])[-1]["response"]["status"] == "completed"


def test_the_replay_of_a_response_takes_linear_time() -> None:
    def seconds(num_deltas: int) -> float:
        items = OutputItems(ClientTools().find)
        for _ in range(num_deltas):
            deque(items.push([TextPart("word ")], [{"logprob": -1.0}]), maxlen=0)
        document = {"status": "in_progress", "output": items.items()}
        began_at = time.process_time()
        assert sum(1 for _ in replay(document, items.cuts())) == num_deltas + 4
        return time.process_time() - began_at

    assert min(seconds(24_000) for _ in range(2)) < 30 * min(seconds(3_000) for _ in range(3))
