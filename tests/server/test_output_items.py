"""Output items of `/v1/responses`: event order, and independence of the cuts between parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseOutputItem, ResponseStreamEvent
from pydantic import TypeAdapter

from yaie.server.responses_api.client_tools import ClientTools
from yaie.server.responses_api.output_items import OutputItems, Status
from yaie.text.output_parts import Part, ReasoningPart, TextPart, ToolCallPart

EVENT = TypeAdapter[Any](ResponseStreamEvent)
ITEM = TypeAdapter[Any](ResponseOutputItem)
# Answers as their parts would be whole: reasoning, text, then calls, in any number.
TEXTS = st.text(min_size=1, max_size=8)
WHOLES = st.lists(
    st.one_of(
        st.builds(TextPart, TEXTS), st.builds(ReasoningPart, TEXTS), st.just(ToolCallPart(0))
    ),
    max_size=6,
)


def numbered(parts: Sequence[Part], arguments: str) -> list[Part]:
    """Number the calls and join equal neighbours, as a parser would give them."""
    found: list[Part] = []
    for each in parts:
        part = each
        if isinstance(part, ToolCallPart):
            at = sum(isinstance(other, ToolCallPart) for other in found)
            part = ToolCallPart(at, f"tool{at}", arguments, f"call_{at}")
        last = found[-1] if found else None
        if isinstance(part, TextPart) and isinstance(last, TextPart):
            found[-1] = TextPart(last.text + part.text)
        elif isinstance(part, ReasoningPart) and isinstance(last, ReasoningPart):
            found[-1] = ReasoningPart(last.text + part.text)
        else:
            found.append(part)
    return found


def cut(part: Part, size: int) -> Iterator[Part]:
    """Cut a part into pieces of at most `size` characters."""
    if isinstance(part, ToolCallPart):
        yield ToolCallPart(part.index, part.name, "", part.call_id)
        for at in range(0, len(part.arguments), size):
            yield ToolCallPart(part.index, arguments=part.arguments[at : at + size])
        return
    for at in range(0, len(part.text), size):
        yield type(part)(part.text[at : at + size])


def ran(parts: Sequence[Part], status: Status = "completed") -> tuple[list[Any], list[Any]]:
    """Return the events and the items of an answer."""
    items = OutputItems(ClientTools().find)
    events = [event for part in parts for event in items.push([part])]
    events += items.end(status)
    return events, items.items()


def without_ids(items: list[Any]) -> list[Any]:
    return [{name: value for name, value in item.items() if name != "id"} for item in items]


def joined(events: list[Any]) -> dict[int, str]:
    """Return the concatenated deltas of each item."""
    texts: dict[int, str] = {}
    for event in events:
        if event["type"].endswith(".delta"):
            texts[event["output_index"]] = texts.get(event["output_index"], "") + event["delta"]
    return texts


def text_of(item: Any) -> str:
    return str(item["arguments"] if "arguments" in item else item["content"][0]["text"])


@given(WHOLES, st.text(max_size=12), st.integers(1, 5))
def test_the_cuts_change_nothing_and_deltas_add_up(
    parts: list[Part], arguments: str, size: int
) -> None:
    whole = numbered(parts, arguments)
    pieces = [piece for part in whole for piece in cut(part, size)]
    _, items = ran(whole)
    events, same = ran(pieces)
    assert without_ids(same) == without_ids(items)
    assert len(items) == max(1, len(whole))
    deltas = joined(events)
    assert [text_of(item) for item in same] == [deltas.get(at, "") for at in range(len(same))]


@given(WHOLES, st.integers(1, 3))
def test_every_event_and_item_is_one_that_the_client_knows(parts: list[Part], size: int) -> None:
    pieces = [piece for part in numbered(parts, "{}") for piece in cut(part, size)]
    events, items = ran(pieces)
    for number, event in enumerate(events):
        known = EVENT.validate_python({**event, "sequence_number": number})
        assert known.type == event["type"]
    for item in items:
        assert ITEM.validate_python(item).type == item["type"]


def test_a_message_has_its_events_in_order() -> None:
    events, _ = ran([TextPart("The "), TextPart("tree.")])
    assert [event["type"] for event in events] == [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ]
    assert events[4]["text"] == events[6]["item"]["content"][0]["text"] == "The tree."


def test_reasoning_and_calls_have_items_and_events_of_their_own() -> None:
    events, items = ran(
        [
            ReasoningPart("Hm."),
            TextPart("So: "),
            ToolCallPart(0, "add", '{"a"', "c1"),
            ToolCallPart(0, arguments=":1}"),
            ToolCallPart(1, "add", "{}"),
        ]
    )
    assert [item["type"] for item in items] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]
    assert items[0]["content"] == [{"type": "reasoning_text", "text": "Hm."}]
    assert (items[2]["call_id"], items[2]["arguments"]) == ("c1", '{"a":1}')
    assert items[3]["call_id"].startswith("call_")
    types = [event["type"] for event in events if event.get("output_index") == 2]
    assert types == [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ]


def test_only_the_last_item_of_a_cut_answer_is_incomplete() -> None:
    _, items = ran([ReasoningPart("Hm."), TextPart("So")], "incomplete")
    assert [item["status"] for item in items] == ["completed", "incomplete"]


def test_an_empty_answer_is_an_empty_message() -> None:
    _, (message,) = ran([])
    assert (message["type"], text_of(message)) == ("message", "")


def test_logprobs_of_tokens_without_text_join_the_message() -> None:
    items = OutputItems(ClientTools().find)
    events = list(items.push([], ["a"]))
    events += items.push([TextPart("x")], ["b"])
    events += items.push([], ["end"])
    events += items.end("completed")
    deltas = [event for event in events if event["type"].endswith(".delta")]
    assert [event["logprobs"] for event in deltas] == [["a", "b"], ["end"]]
    assert items.items()[0]["content"][0]["logprobs"] == ["a", "b", "end"]
