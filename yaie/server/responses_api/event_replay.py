"""Events of a response that has been made: those of its stream, put together once more.

A stored response has its items, and the sizes of the deltas that they arrived in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yaie.server.responses_api.output_items import Cuts, Event, OutputItems
from yaie.text.output_parts import Part, ReasoningPart, TextPart, ToolCallPart

_OF_THE_END = ("completed_at", "error", "incomplete_details", "usage")


def replayed(document: dict[str, Any], cuts: Cuts) -> Iterator[Event]:
    """Yield the events of a response, without numbers; the last one only if it has ended."""
    status = document["status"]
    is_running = status in ("queued", "in_progress")
    begun = {name: value for name, value in document.items() if name != "tool_parse_error"}
    begun |= dict.fromkeys(_OF_THE_END) | {"status": "in_progress", "output": []}
    for name in ("created", "in_progress"):
        yield {"type": f"response.{name}", "response": begun}
    yield from _items(document["output"], cuts)
    if status == "failed":
        yield {"type": "error", **document["error"], "param": None}
        yield {"type": "response.failed", "response": document}
    elif not is_running:
        name = "completed" if status == "completed" else "incomplete"
        yield {"type": f"response.{name}", "response": document}


def _items(output: list[Any], cuts: Cuts) -> Iterator[Event]:
    ids = iter([item["id"] for item in output])
    made = OutputItems(lambda prefix: next(ids))
    for at, item in enumerate(output):
        is_call = item["type"] == "function_call"
        if is_call:
            yield from made.push([ToolCallPart(at, item["name"], "", item["call_id"])])
        content = {} if is_call else item["content"][0]
        text = item["arguments"] if is_call else content["text"]
        logprobs = content.get("logprobs", [])
        for num_characters, num_logprobs in cuts.deltas[at] if at < len(cuts.deltas) else ():
            piece, text = text[:num_characters], text[num_characters:]
            parts = [_part(item["type"], at, piece)] if piece else []
            yield from made.push(parts, logprobs[:num_logprobs])
            logprobs = logprobs[num_logprobs:]
    if output and cuts.num_ended == len(output):
        yield from made.end(output[-1]["status"])


def _part(kind: str, index: int, text: str) -> Part:
    if kind == "function_call":
        return ToolCallPart(index, arguments=text)
    return ReasoningPart(text) if kind == "reasoning" else TextPart(text)
